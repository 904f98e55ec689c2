//! Diagnostics of a few images of each cell that no number sums up, made from the tokens and seeds of the
//! records after the run: nothing is recorded while anything is timed. One file per diagnostic and cell.

use std::{cell::RefCell, rc::Rc};

use specimen_decode::{
    clock::MonotonicClock,
    decoder::decode,
    dist::TokenId,
    method::Needs,
    methods::vvs::{path_similarity, rows},
    rng::Uniforms,
    schedule::{AlwaysVerify, Watched},
    tree::TokenTree,
    vectors::TokenVectors,
};
use specimen_experiments::spec::DiagnosticSpec;
use specimen_models::seam::feature_rows::feature_rows;
use specimen_record::{DiagnosticFile, DraftPaths, FeatureRows, Record, SCHEMA};

use crate::{
    driver::{context::Context, events::DriverEvent},
    error::RunError,
    images::{load::Models, method::method_on},
    score::CellImages,
};

/// Bins of the similarities of paths.
const N_BINS: usize = 40;

/// The least and the largest similarity of paths.
const RANGE: [f64; 2] = [-1.0, 1.0];

/// Weight of a position of a path relative to the one before it; VVS's.
const ALPHA: f64 = 0.9;

/// Makes every diagnostic of the spec for every cell.
///
/// # Errors
/// Weights that cannot be read; a request to stop. A diagnostic that does not apply is a file with its
/// reason.
pub(crate) fn diagnose(
    context: &Context<'_>,
    records: &[Record],
    models: &mut Models,
) -> Result<(), RunError> {
    let &Context { run, plan, disk, report, .. } = context;
    for diagnostic in &plan.spec.diagnostics {
        for cell in &plan.spec.cells {
            disk.stop().check()?;
            report(DriverEvent::Scoring { metric: diagnostic.name.clone(), cell: cell.name.clone() });
            let images = CellImages::of(plan, records, cell);
            let file = look(diagnostic, &images.first(diagnostic.images), models)?;
            disk.put(&run.diagnostic(&diagnostic.name, &cell.name), &file)?;
        }
    }
    Ok(())
}

fn look(
    diagnostic: &DiagnosticSpec,
    images: &CellImages<'_>,
    models: &mut Models,
) -> Result<DiagnosticFile, RunError> {
    let mut file = DiagnosticFile {
        schema: SCHEMA,
        diagnostic: diagnostic.name.clone(),
        cell: images.cell.name.clone(),
        feature_rows: Vec::new(),
        draft_paths: None,
        why: images.records.is_empty().then(|| "no image".to_owned()),
    };
    if file.why.is_some() {
        return Ok(file);
    }
    match diagnostic.name.as_str() {
        "feature-rows" => along_features(&mut file, images, models)?,
        "draft-paths" => along_paths(&mut file, images, models)?,
        other => return Err(RunError::Spec(format!("diagnostic `{other}` is unknown"))),
    }
    Ok(file)
}

/// Cosines of the target's features of each image.
fn along_features(
    file: &mut DiagnosticFile,
    images: &CellImages<'_>,
    models: &mut Models,
) -> Result<(), RunError> {
    let model = models.get(&images.cell.model)?;
    let sampling = images.cell.sampling;
    for (record, prompt) in images.records.iter().zip(&images.prompts) {
        let n_cols = record.tokens.len().isqrt();
        if n_cols * n_cols != record.tokens.len() {
            let n = record.tokens.len();
            file.why = Some(format!("{n} tokens form no square, so it is not known which stand in one row"));
            return Ok(());
        }
        let generation = model.open(prompt, &sampling, 1)?;
        let tokens: Vec<TokenId> = record.tokens.iter().map(|&token| TokenId(token)).collect();
        let found = feature_rows(&generation, &tokens, n_cols);
        let n = u32::try_from(n_cols).expect("an image has fewer rows than that");
        file.feature_rows.push(FeatureRows {
            key: record.key.clone(),
            n_rows: n,
            n_cols: n,
            between: found.between.into_iter().map(rounded).collect(),
            last_row: found.last_row.into_iter().map(rounded).collect(),
        });
    }
    Ok(())
}

/// Four decimals: more is not seen, and takes space.
fn rounded(cosine: f64) -> f64 {
    (cosine * 1e4).round() / 1e4
}

/// Decodes each image again and compares the paths of every tree on the way.
fn along_paths(
    file: &mut DiagnosticFile,
    images: &CellImages<'_>,
    models: &mut Models,
) -> Result<(), RunError> {
    let cell = images.cell;
    if cell.is_autoregressive() {
        file.why = Some("it drafts nothing".to_owned());
        return Ok(());
    }
    let model = models.get(&cell.model)?;
    let needs = Needs { codebook: true, ..Needs::default() };
    let Some(codebook) = model.tables.parts(&needs).codebook else {
        file.why = Some(format!("model `{}` has no codebook", cell.model.name));
        return Ok(());
    };
    let seen = Rc::new(RefCell::new(Histogram::default()));
    let sampling = cell.sampling;
    let mut n_repeated = 0;
    for (record, prompt) in images.records.iter().zip(&images.prompts) {
        let mut generation = model.open(prompt, &sampling, cell.method.max_tree_nodes())?;
        let (mut method, _) = method_on(&cell.method, &model, &generation)?;
        let inside = std::mem::replace(&mut method.scheduler, Box::new(AlwaysVerify));
        let (seen, codebook) = (seen.clone(), codebook.clone());
        let watch = move |tree: &TokenTree| seen.borrow_mut().push(tree, &codebook);
        method.scheduler = Box::new(Watched::new(inside, Box::new(watch)));
        let uniforms = Uniforms::new(record.seed.0);
        let decoded = decode(&mut method, &mut generation, &uniforms, &MonotonicClock::new());
        let same = decoded.tokens.iter().map(|token| token.0).eq(record.tokens.iter().copied());
        n_repeated += u64::from(same);
    }
    let seen = seen.borrow();
    let n: u64 = seen.counts.iter().sum();
    file.draft_paths = Some(DraftPaths {
        alpha: ALPHA,
        range: RANGE,
        counts: seen.counts.to_vec(),
        n_single: seen.n_single,
        mean: (n > 0).then(|| seen.sum / n as f64),
        n_images: images.records.len() as u64,
        n_repeated,
    });
    Ok(())
}

/// Similarities of trees by bin.
struct Histogram {
    counts: [u64; N_BINS],
    sum: f64,
    n_single: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [0; N_BINS], sum: 0.0, n_single: 0 }
    }
}

impl Histogram {
    fn push(&mut self, tree: &TokenTree, codebook: &TokenVectors) {
        match path_similarity(tree, &rows(tree), codebook, ALPHA) {
            None => self.n_single += 1,
            Some(similarity) => {
                self.counts[bin_of(similarity)] += 1;
                self.sum += similarity;
            }
        }
    }
}

/// The bin of a similarity; the last one has its upper end.
fn bin_of(similarity: f64) -> usize {
    let share = (similarity - RANGE[0]) / (RANGE[1] - RANGE[0]);
    ((share * N_BINS as f64).floor().max(0.0) as usize).min(N_BINS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_of_one_width_and_hold_both_ends() {
        assert_eq!([-1.0, -0.951, -0.949, 0.0, 0.999, 1.0, 1.000001].map(bin_of), [0, 0, 1, 20, 39, 39, 39]);
    }

    #[test]
    fn cosines_keep_four_decimals() {
        assert_eq!([0.123_449, 0.999_96, -0.000_04].map(rounded), [0.1234, 1.0, -0.0]);
    }
}
