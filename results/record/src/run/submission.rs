//! What a driver must find again when its workers are a cluster's: which arrays were submitted, which shards
//! they still owe, and how often each shard has failed. And the error that such a worker leaves on disk.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::document::plain_document;
use crate::{Document, ItemKey, Timestamp};

/// `slurm/submissions.json`: written before and after every array is submitted, and whenever a task is
/// settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Submissions {
    /// Schema number.
    pub schema: u32,
    /// Eight hex digits that the names of this run's jobs end with: job numbers are used again, these are
    /// not.
    pub run_id: String,
    /// Shards that the timed blocks are cut into, in the arrays that are owed.
    pub timed: u32,
    /// Shards that the other blocks are cut into.
    pub untimed: u32,
    /// Arrays that still owe a shard.
    pub arrays: Vec<SubmittedArray>,
    /// By shard: bad ends in a row, no image made between.
    pub bad_ends: BTreeMap<u32, u32>,
    /// Shards that are not submitted again, with the reason.
    pub given_up: BTreeMap<u32, String>,
    /// By item: workers that died while they made it.
    pub deaths: BTreeMap<ItemKey, u32>,
}

/// One array of jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmittedArray {
    /// The number of the job that is the array.
    pub job: u64,
    /// When it was submitted.
    pub submitted: Timestamp,
    /// Task 0 is this shard.
    pub first_shard: u32,
    /// Shards of it that are neither done nor settled, with the records each had when it was submitted.
    pub owed: BTreeMap<u32, u64>,
}

impl Document for Submissions {
    const KIND: &'static str = "list of submissions";

    fn schema(&self) -> u32 {
        self.schema
    }

    fn check(&self) -> Result<(), String> {
        let is_id = self.run_id.len() == 8 && self.run_id.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_id {
            return Err(format!("`run_id` is {:?}, not eight hex digits", self.run_id));
        }
        let mut owed = BTreeSet::new();
        for (&shard, array) in self.arrays.iter().flat_map(|a| a.owed.keys().map(move |k| (k, a))) {
            if shard < array.first_shard || shard >= self.timed + self.untimed {
                return Err(format!("job {} owes shard {shard}, which it does not have", array.job));
            }
            if !owed.insert(shard) {
                return Err(format!("two arrays owe shard {shard}"));
            }
        }
        Ok(())
    }
}

/// `shards/<k>/end.json`: why the last worker of the shard ended before its end. A worker that was killed
/// leaves none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerEnd {
    /// Schema number.
    pub schema: u32,
    /// The number of its array; null outside of one.
    pub job: Option<u64>,
    /// Its exit code.
    pub code: i32,
    /// Its last words.
    pub why: String,
}

plain_document!(WorkerEnd, "worker's end");
