//! Puts the shards together: one record for each item in plan order, and the traces next to them. The
//! result does not depend on how many shards, attempts or workers there were.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::Write;
use std::path::PathBuf;

use crate::checks::rows::Counts;
use crate::files::atomic::write_atomic_with;
use crate::files::canonical_row::{OpenFiles, RowPlace, for_each_placed};
use crate::merging::attempts::{Index, Winner, contradicted};
use crate::{Digest, ItemKey, PlanFile, Record, RecordError, RunDir, Status, StepsRow, TornTail};

/// What a merge wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Records written, failures included.
    pub n_records: u64,
    /// Failures among them.
    pub n_failed: u64,
    /// Digest of `merged/records.jsonl`: the run's result.
    pub result_digest: Digest,
    /// Digest of `merged/steps.jsonl`.
    pub steps_digest: Digest,
    /// Items with an image and without a trace, in plan order.
    pub without_steps: Vec<ItemKey>,
    /// Rows that were never finished.
    pub torn: Vec<TornTail>,
}

/// Writes `merged/steps.jsonl`, then `merged/records.jsonl`.
pub fn merge(run: &RunDir, plan: &PlanFile) -> Result<Merged, RecordError> {
    let mut index = Index::of_shards(run, &run.shards()?)?;
    index.check_against(plan)?;
    let mut missing = plan.items.iter().filter(|item| !index.winners.contains_key(&item.key));
    if let Some(first) = missing.next() {
        let (n_missing, n_planned) = (1 + missing.count(), plan.items.len());
        return Err(crate::error::incomplete(n_missing, n_planned, &first.key));
    }

    index.check_times()?;

    let mut torn = std::mem::take(&mut index.torn);
    let mut traces = Traces { run, places: BTreeMap::new(), files: OpenFiles::default() };
    let mut without_steps = Vec::new();
    let steps_digest = write_digested(run.merged_steps(), |out| {
        for (key, winner) in in_plan_order(plan, &index) {
            if winner.status == Status::Err {
                continue;
            }
            match traces.of(key, winner, &mut torn)? {
                Some((row, counts)) => match winner.counts.contradiction(counts) {
                    None => out.row(row)?,
                    Some(what) => return Err(contradicted(&index.path(winner), winner.place, key, what)),
                },
                None => without_steps.push(key.clone()),
            }
        }
        Ok(())
    })?;

    let mut n_failed = 0;
    let mut files = OpenFiles::default();
    let result_digest = write_digested(run.merged_records(), |out| {
        for (_, winner) in in_plan_order(plan, &index) {
            n_failed += u64::from(winner.status == Status::Err);
            out.row(files.canonical::<Record>(&index.path(winner), winner.place)?)?;
        }
        Ok(())
    })?;
    let n_records = plan.items.len() as u64;
    Ok(Merged { n_records, n_failed, result_digest, steps_digest, without_steps, torn })
}

fn in_plan_order<'a>(
    plan: &'a PlanFile,
    index: &'a Index<'_>,
) -> impl Iterator<Item = (&'a ItemKey, &'a Winner)> {
    plan.items.iter().map(|item| {
        (&item.key, index.winners.get(&item.key).expect("the items without a record were counted before"))
    })
}

/// The traces of the attempts that winning records come from, found when first asked for.
struct Traces<'a> {
    run: &'a RunDir,
    places: BTreeMap<(u32, u32), BTreeMap<ItemKey, (RowPlace, Counts)>>,
    files: OpenFiles,
}

impl Traces<'_> {
    /// The canonical row of an item's trace from the attempt that made its record, with what it counts; `None` when there
    /// is none.
    fn of(
        &mut self,
        key: &ItemKey,
        winner: &Winner,
        torn: &mut Vec<TornTail>,
    ) -> Result<Option<(&[u8], &Counts)>, RecordError> {
        let path = self.run.attempt_steps(winner.shard, winner.attempt);
        let places = match self.places.entry((winner.shard, winner.attempt)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let mut places = BTreeMap::new();
                if path.is_file() {
                    torn.extend(for_each_placed::<StepsRow>(&path, |row, place| {
                        let counts = Counts::of_trace(&row);
                        places.insert(row.key, (place, counts));
                        Ok(())
                    })?);
                }
                unknown.insert(places)
            }
        };
        let Some((place, counts)) = places.get(key) else { return Ok(None) };
        Ok(Some((self.files.canonical::<StepsRow>(&path, *place)?, counts)))
    }
}

/// Writes a file in one piece and digests what goes into it.
fn write_digested(
    path: PathBuf,
    fill: impl FnOnce(&mut Digesting<'_>) -> Result<(), RecordError>,
) -> Result<Digest, RecordError> {
    let mut hasher = blake3::Hasher::new();
    write_atomic_with(&path, |file| fill(&mut Digesting { path: path.clone(), file, hasher: &mut hasher }))?;
    Ok(Digest::from(hasher.finalize()))
}

struct Digesting<'a> {
    path: PathBuf,
    file: &'a mut dyn Write,
    hasher: &'a mut blake3::Hasher,
}

impl Digesting<'_> {
    fn row(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        self.hasher.update(bytes);
        self.file.write_all(bytes).map_err(RecordError::io(&self.path, "write"))
    }
}
