//! The rows of one image.

use specimen_decode::trace::{Decoded, StepTrace};
use specimen_models::seam::loaded_model::Picture;
use specimen_record::{Digest, Item, Record, SCHEMA, Status, StepsRow};

use crate::images::{
    external_processes::ExternalImage,
    external_rows::{ExternalFacts, record as external_record},
    generate::Generated,
};

/// An image, before it is saved.
pub(crate) enum Finished {
    /// This program's.
    Own(Box<Generated>),
    /// Another process's.
    External(ExternalImage),
}

impl Finished {
    /// Its pixels.
    pub(crate) fn picture(&self) -> &Picture {
        match self {
            Self::Own(generated) => &generated.picture,
            Self::External(made) => &made.picture,
        }
    }
}

/// The trace of an image; empty for one of another process, which reports no steps.
pub(crate) fn steps_row(item: &Item, finished: &Finished) -> StepsRow {
    let row = |step: &StepTrace| {
        [step.n_drafted, step.n_accepted, step.n_emitted, step.n_target_forwards, step.n_draft_forwards]
    };
    let steps = match finished {
        Finished::Own(generated) => generated.decoded.steps.iter().map(row).collect(),
        Finished::External(_) => Vec::new(),
    };
    StepsRow { schema: SCHEMA, key: item.key.clone(), steps }
}

/// The record of an image; `name` is that of its file in the run.
pub(crate) fn record(item: &Item, name: String, finished: &Finished) -> Record {
    match finished {
        Finished::Own(generated) => own_record(item, name, generated),
        Finished::External(ExternalImage { picture, made, .. }) => {
            let facts = ExternalFacts {
                tokens: made.tokens.clone().unwrap_or_default(),
                forwards: made.forwards,
                draft_forwards: made.draft_forwards.unwrap_or(0),
            };
            external_record(item, name, picture, facts)
        }
    }
}

fn own_record(item: &Item, name: String, generated: &Generated) -> Record {
    let decoded: &Decoded = &generated.decoded;
    let tokens: Vec<u32> = decoded.tokens.iter().map(|token| token.0).collect();
    let verified = || decoded.steps.iter().filter(|step| step.n_target_forwards > 0);
    let skipped = || decoded.steps.iter().filter(|step| step.n_target_forwards == 0);
    Record {
        schema: SCHEMA,
        key: item.key.clone(),
        cell: item.cell.clone(),
        prompt_id: item.prompt_id.clone(),
        sample: item.sample,
        seed: item.seed,
        status: Status::Ok,
        err: None,
        tokens_digest: Digest::of_tokens(&tokens),
        n_tokens: tokens.len() as u64,
        tokens,
        image: Some(name),
        image_digest: Some(Digest::of(&generated.picture.rgb)),
        width: generated.picture.width,
        height: generated.picture.height,
        nfe: Some(u64::from(decoded.nfe())),
        n_steps: decoded.steps.len() as u64,
        n_draft_forwards: generated.n_draft_forwards,
        accepted: verified().map(|step| u64::from(step.n_accepted)).sum(),
        emitted: verified().map(|step| u64::from(step.n_emitted)).sum(),
        skipped_steps: skipped().count() as u64,
        skipped_tokens: skipped().map(|step| u64::from(step.n_emitted)).sum(),
        forced: u64::from(decoded.forced),
        out_of_support: u64::from(decoded.out_of_support),
        residual_fallbacks: u64::from(decoded.n_residual_fallbacks),
        tvd_spent: decoded.tvd_spent,
        tested_by_depth: decoded.tested_by_depth.clone(),
        accepted_by_depth: decoded.accepted_by_depth.clone(),
        prompt_tokens_cut: generated.n_prompt_cut,
    }
}
