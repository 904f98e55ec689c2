//! Diagnostics of a few images of each cell that no number sums up, made from the tokens and seeds of the
//! records after the run: nothing is recorded while anything is timed. One file per diagnostic and cell.

mod confidence;
mod draft_paths;
mod features;
mod histogram;
mod risen_tokens;

use std::{cell::RefCell, rc::Rc};

use specimen_decode::{
    clock::MonotonicClock,
    decoder::decode,
    dist::TokenId,
    generation::Generation,
    rng::Uniforms,
    schedule::{AlwaysVerify, Observer, Watched},
};
use specimen_experiments::spec::DiagnosticSpec;
use specimen_foundation::fail;
use specimen_models::seam::{generation::ModelGeneration, loaded_model::LoadedModel};
use specimen_record::{DiagnosticFile, Record};

use crate::{
    driver::{events::DriverEvent, executor::Context},
    error::RunError,
    images::{load::Models, method::method_on},
    score::CellImages,
};

/// Makes every diagnostic of the spec for every cell.
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

/// The diagnostic of a cell, from the images of it.
pub fn look(
    diagnostic: &DiagnosticSpec,
    images: &CellImages<'_>,
    models: &mut Models,
) -> Result<DiagnosticFile, RunError> {
    let cell = images.cell;
    let mut file = DiagnosticFile::new(&diagnostic.name, &cell.name);
    let is_elsewhere = cell.is_of_another_program();
    if images.records.is_empty() || is_elsewhere {
        let why = if is_elsewhere { "its images were made by another program" } else { "no image" };
        file.why = Some(why.to_owned());
        return Ok(file);
    }
    let model = models.get(&cell.model)?;
    match diagnostic.name.as_str() {
        "feature-rows" => features::rows(&mut file, images, &model)?,
        "feature-pairs" => features::pairs(&mut file, images, &model)?,
        "draft-paths" => draft_paths::look(&mut file, images, &model)?,
        "confidence" => confidence::look(&mut file, images, &model)?,
        "risen-tokens" => risen_tokens::look(&mut file, images, &model)?,
        other => fail!(Spec: "diagnostic `{other}` is unknown"),
    }
    Ok(file)
}

/// What sees images that are decoded again.
trait ImageObserver: Observer {
    /// An image begins; `is_forced` says of each of its positions whether the format fixes its token.
    fn begin(&mut self, is_forced: &[bool]) {
        let _ = is_forced;
    }

    /// The image is done.
    fn end(&mut self, tokens: &[TokenId]) {
        let _ = tokens;
    }
}

/// Decodes each image again before the eyes of `observer`. How many came out as recorded.
fn decode_again<O: ImageObserver + 'static>(
    images: &CellImages<'_>,
    model: &LoadedModel,
    observer: &Rc<RefCell<O>>,
) -> Result<u64, RunError> {
    let cell = images.cell;
    let mut n_repeated = 0;
    for (record, prompt) in images.records.iter().zip(&images.prompts) {
        let mut generation = model.open(prompt, &cell.sampling, cell.method.max_tree_nodes())?;
        observer.borrow_mut().begin(&forced(&generation));
        let (mut method, _) = method_on(&cell.method, model, &generation)?;
        let inside = std::mem::replace(&mut method.scheduler, Box::new(AlwaysVerify));
        method.scheduler = Box::new(Watched::new(inside, observer.clone()));
        let uniforms = Uniforms::new(record.seed.0).coupled(cell.sampling.coupled);
        let decoded = decode(&mut method, &mut generation, &uniforms, &MonotonicClock::new());
        observer.borrow_mut().end(&decoded.tokens);
        let is_same = decoded.tokens.iter().map(|token| token.0).eq(record.tokens.iter().copied());
        n_repeated += u64::from(is_same);
    }
    Ok(n_repeated)
}

fn forced(generation: &ModelGeneration) -> Vec<bool> {
    (0..generation.n_tokens()).map(|position| generation.forced(position).is_some()).collect()
}

/// Says why there is nothing, if the cell drafts nothing.
fn drafts_nothing(file: &mut DiagnosticFile, images: &CellImages<'_>) -> bool {
    let is_plain = images.cell.is_autoregressive();
    if is_plain {
        file.why = Some("it drafts nothing".to_owned());
    }
    is_plain
}
