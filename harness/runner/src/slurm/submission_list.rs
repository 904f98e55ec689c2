//! The submissions of a run, on disk before anything is submitted and after every change, so that any driver
//! on any login node finds the arrays again.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::SystemTime,
};

use specimen_record::{
    Digest, ItemKey, RunDir, SCHEMA, Submissions, SubmittedArray, read_document, write_document,
};

use crate::{error::RunError, plan::shard_map::ShardMap};

/// The submissions of a run.
pub(crate) struct SubmissionList<'a> {
    run: &'a RunDir,
    pub(crate) list: Submissions,
}

impl<'a> SubmissionList<'a> {
    /// Those of the run; `None` where nothing was ever submitted.
    pub(crate) fn open(run: &'a RunDir) -> Result<Option<Self>, RunError> {
        let path = run.submissions();
        if !path.is_file() {
            return Ok(None);
        }
        Ok(Some(Self { run, list: read_document(&path)? }))
    }

    /// None yet, and not yet on disk.
    pub(crate) fn new(run: &'a RunDir, map: ShardMap) -> Self {
        let now =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        // Two runs of one plan must not mistake each other's jobs for their own.
        let seed = format!("{} {now} {}", run.root().display(), crate::process::lock::holder());
        let list = Submissions {
            schema: SCHEMA,
            run_id: Digest::of(seed.as_bytes()).to_string()[..8].to_owned(),
            timed: map.timed,
            untimed: map.untimed,
            arrays: Vec::new(),
            bad_ends: BTreeMap::new(),
            given_up: BTreeMap::new(),
            deaths: BTreeMap::new(),
        };
        Self { run, list }
    }

    /// The name of the run's jobs.
    pub(crate) fn job_name(&self) -> String {
        format!("specimen-{}", self.list.run_id)
    }

    /// The cut that arrays were submitted with.
    pub(crate) fn map(&self) -> ShardMap {
        ShardMap { timed: self.list.timed, untimed: self.list.untimed }
    }

    /// Shards that arrays still owe, with their array.
    pub(crate) fn owed(&self) -> BTreeMap<u32, SubmittedArray> {
        let of_array = |array: &SubmittedArray| {
            let array = array.clone();
            array.owed.clone().into_keys().map(move |shard| (shard, array.clone()))
        };
        self.list.arrays.iter().flat_map(of_array).collect()
    }

    /// How many shards arrays still owe.
    pub(crate) fn n_owed(&self) -> u32 {
        self.list.arrays.iter().map(|array| array.owed.len() as u32).sum()
    }

    /// Notes that no array owes the shard any more.
    pub(crate) fn settle(&mut self, shard: u32) {
        for array in &mut self.list.arrays {
            array.owed.remove(&shard);
        }
        self.list.arrays.retain(|array| !array.owed.is_empty());
    }

    /// Items that have killed `most` workers.
    pub(crate) fn skipped(&self, most: u32) -> BTreeSet<ItemKey> {
        let deaths = self.list.deaths.iter().filter(|(_, n)| **n >= most);
        deaths.map(|(key, _)| key.clone()).collect()
    }

    /// Writes them to disk.
    pub(crate) fn save(&self) -> Result<(), RunError> {
        Ok(write_document(&self.run.submissions(), &self.list)?)
    }
}
