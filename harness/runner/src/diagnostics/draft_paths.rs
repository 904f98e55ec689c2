//! How alike the paths of every draft tree are in the codebook.

use std::{cell::RefCell, rc::Rc};

use specimen_decode::{
    dist::TokenId,
    method::Needs,
    methods::vvs::{path_similarity, rows},
    schedule::Observer,
    tree::TokenTree,
    vectors::TokenVectors,
};
use specimen_models::seam::loaded_model::LoadedModel;
use specimen_record::{DiagnosticFile, DraftPaths};

use crate::{
    diagnostics::{ImageObserver, decode_again, drafts_nothing, histogram::Histogram},
    error::RunError,
    score::CellImages,
};

/// The least and the largest similarity of paths.
const RANGE: [f64; 2] = [-1.0, 1.0];

/// Weight of a position of a path relative to the one before it; VVS's.
const ALPHA: f64 = 0.9;

struct Similarities {
    codebook: Rc<TokenVectors>,
    bins: Histogram<40>,
    sum: f64,
    n_single: u64,
}

impl Observer for Similarities {
    fn drafted(&mut self, tree: &TokenTree, _: &[TokenId]) {
        match path_similarity(tree, &rows(tree), &self.codebook, ALPHA) {
            None => self.n_single += 1,
            Some(similarity) => {
                self.bins.push(similarity);
                self.sum += similarity;
            }
        }
    }
}

impl ImageObserver for Similarities {}

pub(crate) fn look(
    file: &mut DiagnosticFile,
    images: &CellImages<'_>,
    model: &LoadedModel,
) -> Result<(), RunError> {
    if drafts_nothing(file, images) {
        return Ok(());
    }
    let needs = Needs { codebook: true, ..Needs::default() };
    let Some(codebook) = model.tables.parts(&needs).codebook else {
        file.why = Some(format!("model `{}` has no codebook", images.cell.model.name));
        return Ok(());
    };
    let seen = Similarities { codebook, bins: Histogram::new(RANGE), sum: 0.0, n_single: 0 };
    let seen = Rc::new(RefCell::new(seen));
    let n_repeated = decode_again(images, model, &seen)?;
    let seen = seen.borrow();
    let n = seen.bins.n();
    file.draft_paths = Some(DraftPaths {
        alpha: ALPHA,
        range: RANGE,
        counts: seen.bins.counts(),
        n_single: seen.n_single,
        mean: (n > 0).then(|| seen.sum / n as f64),
        n_images: images.records.len() as u64,
        n_repeated,
    });
    Ok(())
}
