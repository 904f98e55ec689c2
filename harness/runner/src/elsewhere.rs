//! What a summary can say of images that another program made: their whole time, and what that program tells of its
//! forwards. Everything else is null, with the reason.

use std::collections::BTreeMap;

use specimen_experiments::spec::Cell;
use specimen_models::target::Picture;
use specimen_record::{Digest, Item, Origin, Record, Status, WallSeconds};

/// Why there is no ratio of decode times.
pub(crate) const NO_INSIDE: &str =
    "the images are another program's, timed from prompt to image as a whole: see speedup_e2e";
/// Why nothing is said of steps.
pub(crate) const NO_STEPS: &str = "the images are another program's, which shows no steps of its decoding";

/// What another program tells of its images.
pub(crate) struct Told {
    /// Where they come from.
    pub(crate) origin: Origin,
    /// Mean target forwards per image, where it tells those of every image.
    pub(crate) nfe: Option<f64>,
    /// Mean tokens per target forward, where it tells both of every image.
    pub(crate) step_compression: Option<f64>,
    /// Why the rest is null, by quantity.
    pub(crate) why: BTreeMap<String, String>,
}

/// What is told of `records`, the images of `cell`; `None` where this program made them.
pub(crate) fn of(cell: &Cell, records: &[&Record]) -> Option<Told> {
    if !cell.is_elsewhere() {
        return None;
    }
    let n = records.len() as f64;
    let tells = |all: fn(&Record) -> bool| !records.is_empty() && records.iter().all(|record| all(record));
    let mean = |of: fn(&Record) -> f64| records.iter().map(|record| of(record)).sum::<f64>() / n;
    let has_forwards = tells(|record| record.nfe > 0);
    let has_both = has_forwards && tells(|record| record.n_tokens > 0);
    let nfe = has_forwards.then(|| mean(|record| record.nfe as f64));
    let step_compression = has_both.then(|| mean(|record| record.n_tokens as f64 / record.nfe as f64));
    let mut why = BTreeMap::new();
    for name in ["accepted_per_step", "tokens_per_forward", "tpf", "overhead_fraction", "tvd_spent"] {
        why.insert(name.to_owned(), NO_STEPS.to_owned());
    }
    why.insert("wall_s".to_owned(), NO_INSIDE.to_owned());
    let silent =
        if records.is_empty() { "no image" } else { "the program that made the images does not tell" };
    for (name, value) in [("nfe", nfe), ("step_compression", step_compression)] {
        if value.is_none() {
            why.insert(name.to_owned(), silent.to_owned());
        }
    }
    let origin = if cell.imported.is_some() { Origin::Imported } else { Origin::External };
    Some(Told { origin, nfe, step_compression, why })
}

/// What another program tells of one image beside its pixels.
pub(crate) struct Facts {
    /// Its tokens; none where it does not tell.
    pub(crate) tokens: Vec<u32>,
    /// Target forwards; 0 where it does not tell.
    pub(crate) forwards: u64,
    /// Drafter forwards; 0 where it does not tell.
    pub(crate) draft_forwards: u64,
}

/// The row of an image that another program made; `name` is that of its file in the run.
pub(crate) fn record(item: &Item, name: String, picture: &Picture, facts: Facts) -> Record {
    let Facts { tokens, forwards, draft_forwards } = facts;
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
        nfe: forwards,
        n_draft_forwards: draft_forwards,
        ..Record::failed(item, "")
    }
}

/// Times of which only the whole is known.
pub(crate) fn wall(e2e: Option<f64>) -> WallSeconds {
    WallSeconds {
        text_encode: None,
        prefill: None,
        draft: None,
        target: None,
        verify: None,
        update: None,
        vq_decode: None,
        save: None,
        decode: None,
        e2e,
    }
}
