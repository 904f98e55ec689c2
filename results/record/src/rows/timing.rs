//! How long one image took, phase by phase. Beside the records, never in them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Document, ItemKey};

/// Nanoseconds per named phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// Prompt to embedding.
    pub text_encode: u64,
    /// First target forward.
    pub prefill: u64,
    /// Drafter forwards.
    pub draft: u64,
    /// Decisions of the scheduler whether to verify; 0 in rows of earlier versions, which counted them as update.
    #[serde(default)]
    pub schedule: u64,
    /// Target forwards after the prefill.
    pub target: u64,
    /// Acceptance walk on the host.
    pub verify: u64,
    /// Growing the tree on the host, and cache and state bookkeeping after a step.
    pub update: u64,
    /// Tokens to pixels.
    pub vq_decode: u64,
    /// Pixels to a file.
    pub save: u64,
}

/// The images that were decoded together with one. Its times are an equal share of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// Its place among the batches of its cell in the block, from 0.
    pub index: u32,
    /// Images that share the time, this one among them; at least 1.
    pub size: u32,
}

/// One line of `timing.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimingRow {
    /// Schema number.
    pub schema: u32,
    /// Key of the item.
    pub key: ItemKey,
    /// The attempt of its shard in which it ran; ratios are formed within one attempt only.
    pub attempt: u32,
    /// The block it ran in.
    pub block: u32,
    /// Its place in the order in which the block ran, from 0.
    pub order: u32,
    /// Whether it was a warm-up; kept, and left out of every mean.
    pub warmup: bool,
    /// Nanoseconds per phase.
    pub phases_ns: Phases,
    /// Nanoseconds from the start of the prefill to the last token; of another process, which shows no
    /// inside, the same as `e2e_ns`.
    pub decode_ns: u64,
    /// Nanoseconds from the prompt to the saved image; of another process, from the request to its answer.
    pub e2e_ns: u64,
    /// What another process reports of its phases, by its own names and its own clock, in nanoseconds; absent
    /// for images of this program, whose phases are `phases_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_ns: Option<BTreeMap<String, u64>>,
    /// Where the image was decoded together with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<Batch>,
}

impl Document for TimingRow {
    const KIND: &'static str = "timing row";

    fn schema(&self) -> u32 {
        self.schema
    }

    fn check(&self) -> Result<(), String> {
        let Self { key, decode_ns, e2e_ns, .. } = self;
        match (1..=*e2e_ns).contains(decode_ns) {
            true => Ok(()),
            false => Err(format!(
                "{key}: `decode_ns` is {decode_ns}, expected more than 0 and at most `e2e_ns`, {e2e_ns}"
            )),
        }
    }
}
