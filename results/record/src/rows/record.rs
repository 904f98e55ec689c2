//! The row of one image: what was generated and how the draft fared. Nothing in it depends on when,
//! where or how fast it ran, so two runs of one plan give the same bytes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::document::plain_document;
use crate::{Digest, Document, Item, ItemKey, SCHEMA, Seed};

/// Whether an item gave an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It did.
    Ok,
    /// It did not; `err` says why.
    Err,
}

/// A count that is never 0, which the file has as 0 where it is not known.
mod zero_is_none {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[allow(clippy::ref_option)] // the form that serde calls
    pub(super) fn serialize<S: Serializer>(count: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
        count.unwrap_or(0).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
        u64::deserialize(from).map(|count| Some(count).filter(|&count| count > 0))
    }
}

/// One line of `records.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Schema number.
    pub schema: u32,
    /// Key of the item.
    pub key: ItemKey,
    /// Name of the cell.
    pub cell: String,
    /// Id of the prompt.
    pub prompt_id: String,
    /// Which image of the prompt.
    pub sample: u32,
    /// Key of the random source; 0 for an imported image of which it is not known.
    pub seed: Seed,
    /// Whether it gave an image.
    pub status: Status,
    /// Why it did not; free of paths, hosts and times.
    pub err: Option<String>,
    /// The image tokens kept, `[n_tokens]`; none where another program made the image and does not report
    /// them.
    pub tokens: Vec<u32>,
    /// [`Digest::of_tokens`] of `tokens`.
    pub tokens_digest: Digest,
    /// File name relative to the `images` folder of the shard that made it.
    pub image: Option<String>,
    /// Digest of the raw RGB bytes of the image.
    pub image_digest: Option<Digest>,
    /// Pixels; 0 without an image.
    pub width: u32,
    /// Pixels; 0 without an image.
    pub height: u32,
    /// Tokens kept.
    pub n_tokens: u64,
    /// Target forwards, with the prefill; none without an image, or where another program made it and does
    /// not report them. On disk that is 0.
    #[serde(with = "zero_is_none")]
    #[schemars(with = "u64")]
    pub nfe: Option<u64>,
    /// Steps of the decode loop; 0 for another program's image, of which the counts that follow are not known either.
    pub n_steps: u64,
    /// Drafter forwards.
    pub n_draft_forwards: u64,
    /// Draft tokens accepted, summed over verifications.
    pub accepted: u64,
    /// Tokens that verifications gave, summed: accepted + 1 each, of rows side by side what all of them get. Tokens past the end
    /// of the image count.
    pub emitted: u64,
    /// Steps without verification.
    pub skipped_steps: u64,
    /// Tokens committed in those.
    pub skipped_tokens: u64,
    /// Tokens the format forced.
    pub forced: u64,
    /// Tokens committed to which the target gave probability 0.
    pub out_of_support: u64,
    /// Corrections drawn from the target because the residual had no mass.
    pub residual_fallbacks: u64,
    /// Total variation distance spent, summed over verifications.
    pub tvd_spent: f64,
    /// Verified steps that reached each depth and had candidates there, `[depth]`; forced positions are left out.
    pub tested_by_depth: Vec<u32>,
    /// Those of them that accepted a candidate, `[depth]`.
    pub accepted_by_depth: Vec<u32>,
    /// Tokens at the end of the prompt that the model did not read; left out where it read all of them. Programs of before it
    /// was counted refuse a row with it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub prompt_tokens_cut: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the form that serde calls
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Record {
    /// The row of an item that gave no image.
    pub fn failed(item: &Item, err: &str) -> Record {
        Record {
            schema: SCHEMA,
            key: item.key.clone(),
            cell: item.cell.clone(),
            prompt_id: item.prompt_id.clone(),
            sample: item.sample,
            seed: item.seed,
            status: Status::Err,
            err: Some(err.to_owned()),
            tokens: Vec::new(),
            tokens_digest: Digest::of_tokens(&[]),
            image: None,
            image_digest: None,
            width: 0,
            height: 0,
            n_tokens: 0,
            nfe: None,
            n_steps: 0,
            n_draft_forwards: 0,
            accepted: 0,
            emitted: 0,
            skipped_steps: 0,
            skipped_tokens: 0,
            forced: 0,
            out_of_support: 0,
            residual_fallbacks: 0,
            tvd_spent: 0.0,
            tested_by_depth: Vec::new(),
            accepted_by_depth: Vec::new(),
            prompt_tokens_cut: 0,
        }
    }
}

/// The counts of an image that are known. Of another program's images, that is what it reports; of an item that gave no
/// image, nothing. [`Record`] has 0 in their place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownCounts {
    /// Pixels across and down.
    pub size: Option<[u32; 2]>,
    /// As [`Record::n_tokens`].
    pub n_tokens: Option<u64>,
    /// As [`Record::nfe`].
    pub nfe: Option<u64>,
    /// As [`Record::n_draft_forwards`].
    pub n_draft_forwards: Option<u64>,
    /// As [`Record::n_steps`].
    pub n_steps: Option<u64>,
    /// As [`Record::accepted`].
    pub accepted: Option<u64>,
    /// As [`Record::emitted`].
    pub emitted: Option<u64>,
    /// As [`Record::skipped_steps`].
    pub skipped_steps: Option<u64>,
    /// As [`Record::skipped_tokens`].
    pub skipped_tokens: Option<u64>,
    /// As [`Record::forced`].
    pub forced: Option<u64>,
    /// As [`Record::out_of_support`].
    pub out_of_support: Option<u64>,
    /// As [`Record::tvd_spent`].
    pub tvd_spent: Option<f64>,
}

impl Record {
    /// What is known: every image of this program has steps, and no other program reports them.
    pub fn known(&self) -> KnownCounts {
        let reported = |n: u64| Some(n).filter(|&n| n > 0);
        let has_steps = self.n_steps > 0;
        let counted = |n: u64| has_steps.then_some(n);
        KnownCounts {
            size: self.image.as_ref().map(|_| [self.width, self.height]),
            n_tokens: reported(self.n_tokens),
            nfe: self.nfe,
            n_draft_forwards: counted(self.n_draft_forwards).or_else(|| reported(self.n_draft_forwards)),
            n_steps: reported(self.n_steps),
            accepted: counted(self.accepted),
            emitted: counted(self.emitted),
            skipped_steps: counted(self.skipped_steps),
            skipped_tokens: counted(self.skipped_tokens),
            forced: counted(self.forced),
            out_of_support: counted(self.out_of_support),
            tvd_spent: has_steps.then_some(self.tvd_spent),
        }
    }
}

impl Record {
    /// Verifications: target forwards after the prefill. `None` where they are not known or there was none.
    pub fn n_verifies(&self) -> Option<u64> {
        self.nfe?.checked_sub(1).filter(|&n| n > 0 && self.n_steps > 0)
    }
}

impl Document for Record {
    const KIND: &'static str = "record";

    fn schema(&self) -> u32 {
        self.schema
    }

    fn check(&self) -> Result<(), String> {
        let key = &self.key;
        if *key != ItemKey::new(&self.cell, &self.prompt_id, self.sample) {
            return Err(format!("key {key} does not fit its cell, prompt id and sample"));
        }
        let failed = self.status == Status::Err;
        if failed != self.err.is_some() {
            return Err(format!("{key}: `err` must be there exactly when the status is err"));
        }
        if failed && self.image.is_some() {
            return Err(format!("{key}: a failed item has no image"));
        }
        if self.image.is_some() != self.image_digest.is_some() {
            return Err(format!("{key}: an image and its digest come together"));
        }
        if usize::try_from(self.n_tokens) != Ok(self.tokens.len()) {
            return Err(format!("{key}: n_tokens is {}, {} tokens follow", self.n_tokens, self.tokens.len()));
        }
        if Digest::of_tokens(&self.tokens) != self.tokens_digest {
            return Err(format!("{key}: tokens_digest is not the digest of the tokens"));
        }
        let more = self.accepted_by_depth.iter().zip(&self.tested_by_depth).any(|(a, t)| a > t);
        if more || self.accepted_by_depth.len() != self.tested_by_depth.len() {
            return Err(format!("{key}: accepted_by_depth does not fit tested_by_depth"));
        }
        Ok(())
    }
}

/// One line of `steps.jsonl`: the trace of one image. Written before the image's record, so that an
/// item with a record has its trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepsRow {
    /// Schema number.
    pub schema: u32,
    /// Key of the item.
    pub key: ItemKey,
    /// Per step: drafted, accepted, emitted, target forwards, draft forwards; `[n_steps, 5]`.
    /// A step without a verification has accepted the tokens that it takes.
    pub steps: Vec<[u32; 5]>,
}

plain_document!(StepsRow, "steps row");
