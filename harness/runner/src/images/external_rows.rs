//! The record of an image that another program made.

use specimen_models::seam::loaded_model::Picture;
use specimen_record::{Digest, Item, Record, Status};

/// What another program reports of one image besides its pixels.
pub(crate) struct ExternalFacts {
    /// Its tokens; none where it does not report them.
    pub(crate) tokens: Vec<u32>,
    /// Target forwards, where it reports them.
    pub(crate) forwards: Option<u64>,
    /// Drafter forwards; 0 where it does not report them.
    pub(crate) draft_forwards: u64,
}

/// The row of an image that another program made; `name` is that of its file in the run.
pub(crate) fn record(item: &Item, name: String, picture: &Picture, facts: ExternalFacts) -> Record {
    let ExternalFacts { tokens, forwards, draft_forwards } = facts;
    Record {
        status: Status::Ok,
        err: None,
        tokens_digest: Digest::of_tokens(&tokens),
        n_tokens: tokens.len() as u64,
        tokens,
        image: Some(name),
        image_digest: Some(Digest::of(&picture.rgb)),
        width: picture.width,
        height: picture.height,
        nfe: forwards.filter(|&n| n > 0),
        n_draft_forwards: draft_forwards,
        ..Record::failed(item, "")
    }
}
