//! The rows of one cell.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use specimen_experiments::spec::Cell;
use specimen_stats::{
    decode_metrics::{DecodeSummary, DecodeTotals, DepthCounts, ImageCounts},
    statistic::Statistic,
};

use crate::{ItemKey, Record, Status, StepsRow, Timed, summary::error::SummaryError};

/// What two times must share to be compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PairKey {
    /// Shard and attempt.
    pub(crate) attempt: (u32, u32),
    pub(crate) prompt_id: String,
    sample: u32,
}

impl PairKey {
    pub(crate) fn new(attempt: (u32, u32), key: &ItemKey) -> Self {
        Self { attempt, prompt_id: key.prompt_id(), sample: key.sample() }
    }
}

/// The rows of one cell, and what they count.
pub(crate) struct CellData<'a> {
    pub(crate) cell: &'a Cell,
    /// Those with an image.
    pub(crate) records: Vec<&'a Record>,
    /// Times without warm-ups; none of an untimed cell.
    pub(crate) timings: BTreeMap<PairKey, &'a Timed>,
    /// Attempts that timed every timed cell of the run; all attempts if there is no such. Mean times of a table are
    /// theirs, so that its rows can be compared where cells were added to a run.
    pub(crate) whole_attempts: Option<BTreeSet<(u32, u32)>>,
    /// The same rows with the shard they were measured in.
    pub(crate) timed: Vec<&'a Timed>,
    /// Absent without an image, and for images of another program.
    pub(crate) counts: Option<DecodeSummary>,
    /// Nodes of a verification, root included; mean over all of them. Absent without one.
    pub(crate) nodes: Option<f64>,
}

impl<'a> CellData<'a> {
    /// The rows of `cell` among those of the run; `path` is where the records are.
    pub(crate) fn of(
        cell: &'a Cell,
        (records, path): (&'a [Record], &Path),
        timings: &'a [Timed],
        steps: &BTreeMap<ItemKey, StepsRow>,
    ) -> Result<Self, SummaryError> {
        let ok: Vec<&Record> =
            records.iter().filter(|r| r.cell == cell.name && r.status == Status::Ok).collect();
        let keys: BTreeSet<&ItemKey> = ok.iter().map(|record| &record.key).collect();
        // Images of an untimed cell are made side by side: how long each took means nothing.
        let rows = timings.iter().filter(|timed| cell.timed && !timed.row.warmup);
        let timed: Vec<&Timed> = rows.filter(|timed| keys.contains(&timed.row.key)).collect();
        let rows = timed
            .iter()
            .map(|timed| (PairKey::new((timed.shard, timed.row.attempt), &timed.row.key), *timed))
            .collect();
        let counts = if cell.is_of_another_program() { None } else { counts((&ok, path), steps)? };
        let nodes = nodes_per_verification(&ok, steps);
        Ok(Self { cell, timings: rows, whole_attempts: None, timed, records: ok, counts, nodes })
    }
}

impl CellData<'_> {
    /// Whether a time counts in the mean times of tables.
    pub(crate) fn is_in_tables(&self, key: &PairKey) -> bool {
        self.whole_attempts.as_ref().is_none_or(|whole| whole.contains(&key.attempt))
    }
}

/// Finds the attempts that timed every timed cell, for each cell.
pub(crate) fn find_whole_attempts(all: &mut [CellData<'_>]) {
    let of = |data: &CellData<'_>| data.timings.keys().map(|key| key.attempt).collect::<BTreeSet<_>>();
    let timed = all.iter().filter(|data| !data.timings.is_empty()).map(of);
    let whole = timed.reduce(|a, b| &a & &b).filter(|whole| !whole.is_empty());
    for data in all {
        data.whole_attempts.clone_from(&whole);
    }
}

/// Means by unit, which is what is resampled: samples of one prompt, repeats of one item in several attempts and the images of
/// one batch are not independent.
pub(crate) fn by_unit(values: impl Iterator<Item = (String, f64)>) -> Vec<(String, f64)> {
    let mut sums: BTreeMap<String, (f64, u32)> = BTreeMap::new();
    for (unit, value) in values {
        let (sum, n) = sums.entry(unit).or_default();
        *sum += value;
        *n += 1;
    }
    sums.into_iter().map(|(unit, (sum, n))| (unit, sum / f64::from(n))).collect()
}

/// Drafted tokens and the root, mean over all steps with a target forward.
fn nodes_per_verification(records: &[&Record], steps: &BTreeMap<ItemKey, StepsRow>) -> Option<f64> {
    let of_records = records.iter().filter_map(|record| steps.get(&record.key));
    let verified = of_records.flat_map(|row| &row.steps).filter(|step| step[3] > 0);
    let (n_nodes, n) = verified.fold((0, 0), |(nodes, n), step| (nodes + u64::from(step[0]) + 1, n + 1_u64));
    (n > 0).then(|| n_nodes as f64 / n as f64)
}

fn counts(
    (records, path): (&[&Record], &Path),
    steps: &BTreeMap<ItemKey, StepsRow>,
) -> Result<Option<DecodeSummary>, SummaryError> {
    if records.is_empty() {
        return Ok(None);
    }
    let mut totals = DecodeTotals::default();
    for record in records {
        let trace = steps.get(&record.key).map_or(&[][..], |row| &row.steps);
        let of_verifies = |column: usize| {
            trace.iter().filter(|step| step[3] > 0).map(|step| u64::from(step[column])).collect()
        };
        // Acceptance by depth leaves forced positions out, where it is certain.
        let n_unforced = record.accepted_by_depth.iter().map(|&n| u64::from(n)).sum::<u64>();
        let depths = record.tested_by_depth.iter().zip(&record.accepted_by_depth);
        let counts = ImageCounts {
            n_tokens: record.n_tokens,
            n_target_forwards: record.nfe.unwrap_or_default(),
            n_accepted_by_verify: of_verifies(1),
            n_emitted_by_verify: of_verifies(2),
            n_forced_accepted: record.accepted.saturating_sub(n_unforced),
            n_committed_by_skip: trace.iter().filter(|s| s[3] == 0).map(|s| u64::from(s[2])).collect(),
            depths: depths
                .map(|(&t, &a)| DepthCounts { n_tested: u64::from(t), n_accepted: u64::from(a) })
                .collect(),
        };
        let pushed = totals.push(&counts).map_err(SummaryError::from);
        pushed.map_err(|error| error.of_rows(path, &format!("item {}", record.key)))?;
    }
    Ok(Some(totals.value()?))
}
