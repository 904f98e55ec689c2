//! How far a run is, cell by cell, from the heads of its records: cheap enough to ask again and again
//! while the run is made. `coverage` and `merge` read the rows whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::files::read::{for_each_line, parse};
use crate::run::images::Images;
use crate::{Block, ItemKey, PlanFile, Record, RecordError, RunDir, Status, TornTail};

/// How far a run is along its plan, in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunProgress {
    /// The plan's cells, in the order of their first items.
    pub cells: Vec<CellProgress>,
    /// Shards that have a folder, ascending.
    pub shards: Vec<u32>,
    /// Those of them that have their marker, ascending.
    pub finished: Vec<u32>,
    /// Blocks with some of their images and not all, ascending.
    pub begun: Vec<u32>,
    /// Items without an image.
    pub unmade: BTreeSet<ItemKey>,
    /// Images that records name and no shard has, each where its record's shard should have it.
    pub lost: Vec<PathBuf>,
    /// Records that were never finished; of a run under way, perhaps one that is being written.
    pub torn: Vec<TornTail>,
}

/// The items of one cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellProgress {
    /// Name of the cell.
    pub cell: String,
    /// Items with an image.
    pub n_ok: u64,
    /// Items whose every attempt failed.
    pub n_failed: u64,
    /// Items without a record, or whose image is gone.
    pub n_missing: u64,
}

impl CellProgress {
    /// Items of the cell.
    pub fn n_planned(&self) -> u64 {
        self.n_ok + self.n_failed + self.n_missing
    }
}

/// Counts what the attempts of a run hold. Of a record only schema, key and status are read where its image
/// is in its shard under the usual name: what follows them in the row is neither parsed nor checked.
pub fn run_progress(run: &RunDir, plan: &PlanFile) -> Result<RunProgress, RecordError> {
    let places: BTreeMap<&str, usize> =
        plan.items.iter().enumerate().map(|(at, item)| (item.key.as_str(), at)).collect();
    let mut found: Vec<Option<Status>> = vec![None; plan.items.len()];
    let shards = run.shards()?;
    let (mut torn, mut lost) = (Vec::new(), BTreeSet::new());
    for &shard in &shards {
        let images = Images::of_shard(run, shard)?;
        for attempt in run.attempts(shard)? {
            let path = run.attempt_records(shard, attempt);
            if !path.is_file() {
                continue; // The worker died before its first record.
            }
            torn.extend(for_each_line(&path, |line, place| {
                let head = Head::of(line, &path, place.line)?;
                let Some(&at) = places.get(head.key.as_str()) else {
                    let (path, key) = (path.clone(), head.key);
                    return Err(RecordError::NotInPlan { path, line: place.line, key });
                };
                if head.status == Status::Ok && !images.lists(&head.key.file_name("png")) {
                    // Rare enough to read the row whole: it says what its image is called.
                    let record: Record = parse(line, &path, place.line)?;
                    if let Some(name) = record.image
                        && !images.has(&name)?
                    {
                        lost.insert(run.image(shard, &name)?);
                        return Ok(());
                    }
                }
                if found[at] != Some(Status::Ok) {
                    found[at] = Some(head.status);
                }
                Ok(())
            })?);
        }
    }
    let finished = shards.iter().copied().filter(|&k| run.done(k).is_file()).collect();
    let n_made =
        |keys: &[ItemKey]| keys.iter().filter(|key| found[places[key.as_str()]] == Some(Status::Ok)).count();
    let is_begun = |block: &&Block| (1..block.items.len()).contains(&n_made(&block.items));
    let begun = plan.blocks.iter().filter(is_begun).map(|block| block.index).collect();
    let lost = lost.into_iter().collect();
    let unmade = plan.items.iter().zip(&found).filter(|(_, status)| **status != Some(Status::Ok));
    let unmade = unmade.map(|(item, _)| item.key.clone()).collect();
    Ok(RunProgress { cells: by_cell(plan, &found), shards, finished, begun, unmade, lost, torn })
}

/// `found` holds the status of each item, `[n_items]`.
fn by_cell(plan: &PlanFile, found: &[Option<Status>]) -> Vec<CellProgress> {
    let mut cells: Vec<CellProgress> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (item, status) in plan.items.iter().zip(found) {
        let at = *places.entry(&item.cell).or_insert_with(|| {
            cells.push(CellProgress { cell: item.cell.clone(), n_ok: 0, n_failed: 0, n_missing: 0 });
            cells.len() - 1
        });
        match status {
            Some(Status::Ok) => cells[at].n_ok += 1,
            Some(Status::Err) => cells[at].n_failed += 1,
            None => cells[at].n_missing += 1,
        }
    }
    cells
}

/// The part of a record that counts here.
struct Head {
    key: ItemKey,
    status: Status,
}

impl Head {
    /// Reads a row up to the last of the three fields. A head that is not as it should be is left to the
    /// reader of whole rows, for its words.
    fn of(line: &[u8], path: &Path, number: usize) -> Result<Head, RecordError> {
        let mut head = Partial { schema: None, key: None, status: None };
        // The parser was left in the middle of the row, so its verdict on the rest means nothing.
        let _unread = serde_json::Deserializer::from_slice(line).deserialize_map(&mut head);
        match head {
            Partial { schema: Some(crate::SCHEMA), key: Some(key), status: Some(status) } => {
                Ok(Head { key, status })
            }
            _ => parse::<Record>(line, path, number).map(|row| Head { key: row.key, status: row.status }),
        }
    }
}

struct Partial {
    schema: Option<u32>,
    key: Option<ItemKey>,
    status: Option<Status>,
}

impl<'de> Visitor<'de> for &mut Partial {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut row: A) -> Result<(), A::Error> {
        while self.schema.is_none() || self.key.is_none() || self.status.is_none() {
            match row.next_key::<&str>()? {
                Some("schema") => self.schema = Some(row.next_value()?),
                Some("key") => self.key = Some(row.next_value()?),
                Some("status") => self.status = Some(row.next_value()?),
                Some(_) => {
                    row.next_value::<IgnoredAny>()?;
                }
                None => return Err(de::Error::custom("a record has schema, key and status")),
            }
        }
        Ok(())
    }
}
