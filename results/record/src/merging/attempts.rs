//! What the attempts of all shards hold together: one winning record for each item, and the timings of
//! every attempt. An item may have been tried more than once; the first success wins, and a second
//! success must be the same to the byte.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::checks::rows::{Counts, Times};
use crate::files::canonical_row::{OpenFiles, RowPlace, for_each_placed};
use crate::run::images::Images;
use crate::{
    ItemKey, MachineRow, PlanFile, Record, RecordError, RunDir, Seed, Status, TimingRow, TornTail, read_rows,
};

/// How far a run is along its plan; all lists in plan order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// Items with an image.
    pub ok: Vec<ItemKey>,
    /// Items whose every attempt failed.
    pub failed: Vec<ItemKey>,
    /// Items without a record.
    pub missing: Vec<ItemKey>,
    /// Items with the record of an image that is gone. On a network file system an image that another machine
    /// has just written may seem to be.
    pub lost: Vec<ItemKey>,
    /// Rows that were never finished.
    pub torn: Vec<TornTail>,
    /// The attempts, as shard and number, that made an image of each item of `ok`.
    makers: BTreeMap<ItemKey, BTreeSet<(u32, u32)>>,
}

impl Coverage {
    /// Whether one attempt made all of `keys`. Times are compared within one attempt only, so a timed block
    /// is finished when this holds, not when each of its items has an image from somewhere.
    pub fn in_one_attempt<'k>(&self, keys: impl IntoIterator<Item = &'k ItemKey>) -> bool {
        let mut common: Option<BTreeSet<(u32, u32)>> = None;
        for key in keys {
            let Some(makers) = self.makers.get(key) else { return false };
            common = Some(match common {
                None => makers.clone(),
                Some(before) => &before & makers,
            });
        }
        common.is_none_or(|attempts| !attempts.is_empty())
    }
}

/// A timing row and the shard it was measured in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timed {
    /// Index of the shard; attempts are numbered within it.
    pub shard: u32,
    /// The row.
    pub row: TimingRow,
    /// What was observed as one: an image by its prompt, or the batch that shares one time, by the images in it. The same in
    /// every session and run that decoded these images together.
    pub unit: String,
}

impl Timed {
    /// All rows of one attempt of a shard, in their order.
    pub fn of_attempt(shard: u32, rows: Vec<TimingRow>) -> Vec<Timed> {
        let batch =
            |row: &TimingRow| row.batch.map(|batch| (row.key.cell(), row.block, batch.index, row.warmup));
        let mut images: BTreeMap<_, Vec<String>> = BTreeMap::new();
        for row in &rows {
            if let Some(batch) = batch(row) {
                images.entry(batch).or_default().push(format!(
                    "{} {}",
                    row.key.prompt_id(),
                    row.key.sample()
                ));
            }
        }
        images.values_mut().for_each(|images| images.sort());
        let timed = |row: TimingRow| {
            let unit = batch(&row).map_or_else(|| row.key.prompt_id(), |batch| images[&batch].join(", "));
            Timed { shard, row, unit }
        };
        rows.into_iter().map(timed).collect()
    }
}

/// The timings of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timings {
    /// By shard, attempt and file order.
    pub rows: Vec<Timed>,
    /// Rows that were never finished.
    pub torn: Vec<TornTail>,
}

/// Compares what the attempts hold with the plan. Writes nothing.
pub fn coverage(run: &RunDir, plan: &PlanFile) -> Result<Coverage, RecordError> {
    let mut lost = BTreeSet::new();
    let mut index = Index::new(run);
    for shard in run.shards()? {
        let images = Images::of_shard(run, shard)?;
        index.read_shard(shard, |record| {
            if let Some(name) = &record.image
                && !images.has(name)?
            {
                lost.insert(record.key.clone());
            }
            Ok(())
        })?;
    }
    index.check_against(plan)?;
    let mut coverage = Coverage {
        ok: Vec::new(),
        failed: Vec::new(),
        missing: Vec::new(),
        lost: Vec::new(),
        torn: index.torn,
        makers: index.makers,
    };
    for item in &plan.items {
        let list = match index.winners.get(&item.key).map(|w| w.status) {
            Some(Status::Ok) if lost.contains(&item.key) => &mut coverage.lost,
            Some(Status::Ok) => &mut coverage.ok,
            Some(Status::Err) => &mut coverage.failed,
            None => &mut coverage.missing,
        };
        list.push(item.key.clone());
    }
    Ok(coverage)
}

/// The timing rows of all attempts, warm-ups included, without those of interrupted blocks: a row counts nowhere if its
/// attempt did not end the block and one that did has timed the item again.
pub fn read_timings(run: &RunDir) -> Result<Timings, RecordError> {
    let mut timings = Timings { rows: Vec::new(), torn: Vec::new() };
    let mut ended: BTreeMap<u32, BTreeSet<(u32, u32)>> = BTreeMap::new();
    for shard in run.shards()? {
        for attempt in run.attempts(shard)? {
            let (path, machine) = (run.attempt_timing(shard, attempt), run.attempt_machine(shard, attempt));
            if path.is_file() {
                let read = read_rows::<TimingRow>(&path)?;
                timings.rows.extend(Timed::of_attempt(shard, read.rows));
                timings.torn.extend(read.torn);
            }
            if machine.is_file() {
                // The row is written when a block ends.
                for row in read_rows::<MachineRow>(&machine)?.rows {
                    ended.entry(row.block).or_default().insert((shard, attempt));
                }
            }
        }
    }
    let is_whole = |timed: &Timed| {
        ended.get(&timed.row.block).is_some_and(|by| by.contains(&(timed.shard, timed.row.attempt)))
    };
    let again: BTreeSet<ItemKey> =
        timings.rows.iter().filter(|timed| is_whole(timed)).map(|timed| timed.row.key.clone()).collect();
    timings.rows.retain(|timed| is_whole(timed) || !again.contains(&timed.row.key));
    Ok(timings)
}

/// Where the record that counts for an item is.
#[derive(Clone, Debug)]
pub(crate) struct Winner {
    pub(crate) shard: u32,
    pub(crate) attempt: u32,
    pub(crate) place: RowPlace,
    pub(crate) status: Status,
    pub(crate) counts: Counts,
    seed: Seed,
}

/// The winning record of every item in some shards. Only places are kept: a large run does not fit in
/// memory twice.
#[derive(Debug)]
pub(crate) struct Index<'a> {
    run: &'a RunDir,
    pub(crate) winners: BTreeMap<ItemKey, Winner>,
    pub(crate) torn: Vec<TornTail>,
    /// The attempts that made an image of each item.
    makers: BTreeMap<ItemKey, BTreeSet<(u32, u32)>>,
    /// Items that failed in each attempt.
    n_failed: BTreeMap<(u32, u32), u32>,
}

impl<'a> Index<'a> {
    /// Nothing yet.
    fn new(run: &'a RunDir) -> Index<'a> {
        let (winners, torn, makers, n_failed) = Default::default();
        Index { run, winners, torn, makers, n_failed }
    }

    /// Reads the records of these shards.
    pub(crate) fn of_shards(run: &'a RunDir, shards: &[u32]) -> Result<Index<'a>, RecordError> {
        let mut index = Index::new(run);
        for &shard in shards {
            index.read_shard(shard, |_| Ok(()))?;
        }
        Ok(index)
    }

    /// Reads the records of a shard, and hands each over.
    fn read_shard(
        &mut self,
        shard: u32,
        mut look: impl FnMut(&Record) -> Result<(), RecordError>,
    ) -> Result<(), RecordError> {
        for attempt in self.run.attempts(shard)? {
            let path = self.run.attempt_records(shard, attempt);
            if !path.is_file() {
                continue; // The worker died before its first record.
            }
            let torn = for_each_placed::<Record>(&path, |record, place| {
                look(&record)?;
                let (status, seed, counts) = (record.status, record.seed, Counts::of_record(&record));
                self.add(record.key, Winner { shard, attempt, place, status, counts, seed })
            })?;
            self.torn.extend(torn);
        }
        Ok(())
    }

    fn add(&mut self, key: ItemKey, later: Winner) -> Result<(), RecordError> {
        let by = (later.shard, later.attempt);
        match later.status {
            Status::Ok => {
                self.makers.entry(key.clone()).or_default().insert(by);
            }
            Status::Err => *self.n_failed.entry(by).or_default() += 1,
        }
        match self.winners.get(&key) {
            Some(earlier) if earlier.status == Status::Ok => {
                if later.status == Status::Ok && later.place.digest != earlier.place.digest {
                    let places = [earlier, &later].map(|one| (self.path(one), one.place));
                    return Err(conflict(&key, places)?);
                }
            }
            _ => {
                self.winners.insert(key, later);
            }
        }
        Ok(())
    }

    /// Whether every record belongs to an item of the plan and ran with its seed.
    pub(crate) fn check_against(&self, plan: &PlanFile) -> Result<(), RecordError> {
        let planned = plan.by_key();
        for (key, winner) in &self.winners {
            let (path, line, key) = (self.path(winner), winner.place.line(), key.clone());
            match planned.get(key.as_str()) {
                None => return Err(RecordError::NotInPlan { path, line, key }),
                Some((_, item)) if item.seed != winner.seed => {
                    let (expected, found) = (item.seed, winner.seed);
                    return Err(crate::error::wrong_seed(&path, line, &key, expected, found));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Whether the times of all attempts are in the order in which these worked.
    pub(crate) fn check_times(&self) -> Result<(), RecordError> {
        for shard in self.run.shards()? {
            for attempt in self.run.attempts(shard)? {
                let (path, machine) =
                    (self.run.attempt_timing(shard, attempt), self.run.attempt_machine(shard, attempt));
                if !path.is_file() {
                    continue;
                }
                let rows =
                    if machine.is_file() { read_rows::<MachineRow>(&machine)?.rows } else { Vec::new() };
                let n_failed = self.n_failed.get(&(shard, attempt)).copied().unwrap_or(0);
                let mut times = Times::new(attempt, n_failed, rows.iter().map(|row| row.block).collect());
                for_each_placed::<TimingRow>(&path, |row, place| {
                    times.add(&row).map_err(|what| contradicted(&path, place, &row.key, what))
                })?;
            }
        }
        Ok(())
    }

    pub(crate) fn path(&self, winner: &Winner) -> PathBuf {
        self.run.attempt_records(winner.shard, winner.attempt)
    }
}

/// A row that another of its attempt contradicts.
pub(crate) fn contradicted(path: &Path, place: RowPlace, key: &ItemKey, what: String) -> RecordError {
    RecordError::Contradicted { path: path.to_owned(), line: place.line(), key: key.clone(), what }
}

/// That an item has two results, with the first field in which they differ.
pub(crate) fn conflict(
    key: &ItemKey,
    [(first, earlier), (second, later)]: [(PathBuf, RowPlace); 2],
) -> Result<RecordError, RecordError> {
    let mut files = OpenFiles::default();
    let mut fields = |path: &PathBuf, place: RowPlace| -> Result<serde_json::Value, RecordError> {
        let record: Record = files.row(path, place)?;
        Ok(serde_json::to_value(&record).expect("a record has text keys only"))
    };
    let (a, b) = (fields(&first, earlier)?, fields(&second, later)?);
    let names = a.as_object().expect("a record is a JSON object");
    let field = names.iter().find(|(name, value)| b.get(name.as_str()) != Some(value));
    Ok(RecordError::Conflict {
        key: key.clone(),
        field: field.map_or_else(|| "spelling".to_owned(), |(name, _)| name.clone()),
        first,
        first_line: earlier.line(),
        second,
        second_line: later.line(),
    })
}
