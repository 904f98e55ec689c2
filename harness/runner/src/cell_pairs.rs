//! Two cells of a finished run compared in pairs: metrics of their images of the same prompt, sample and seed. The run is
//! read and stays as it is.

use specimen_datasets::data_root::DataRoot;
use specimen_experiments::spec::{MetricSpec, Spec};
use specimen_foundation::{fail, failure};
use specimen_record::{
    Manifest, MetricFile, Part, PlanFile, Record, RunDir, read_document, read_rows, seal_complaints,
};

use crate::{
    error::RunError,
    images::load::Models,
    pair_scores::PairScorer,
    plan::stored_plan::{plan_of_stored, spec_of},
    process::stop_request::StopRequest,
    score::{CellImages, check_images, known},
    token_pairs::DIFFERENCE_GAP,
};

/// What was measured between two cells.
pub struct CellPairs {
    /// The cell whose images are compared, and the one that they are compared with.
    pub cells: [String; 2],
    /// A value of each metric, under the name of the first cell.
    pub files: Vec<MetricFile>,
}

/// Compares the images of two cells by `metrics`, or by those of the run's spec that compare images in pairs if there are none;
/// `cells` is `A,B`.
pub fn compare_cells(
    run: &RunDir,
    cells: &str,
    metrics: &[MetricSpec],
    data_root: Option<&DataRoot>,
    stop: &StopRequest,
) -> Result<CellPairs, RunError> {
    if let Some(complaint) = seal_complaints(run, Part::All).first() {
        let mend = "cells are compared in runs that are as they were sealed; continue it with `specimen run SPEC --out RUN --resume`";
        return Err(RunError::damaged(run, complaint, mend));
    }
    let manifest: Manifest = read_document(&run.manifest())?;
    let spec = spec_of(run, &manifest)?;
    let names = two_cells(&spec, cells)?;
    let metrics = of_pairs(&spec, metrics)?;
    let open = |metric: &MetricSpec| PairScorer::open(metric, data_root);
    let scorers = metrics.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let plan = plan_of_stored(spec, &read_document::<PlanFile>(&run.plan())?)?;
    let mut records = read_rows::<Record>(&run.merged_records())?.rows;
    records.retain(|record| names.contains(&record.cell));
    check_images(run, &records)?;
    let images_of = |name: &String| {
        let cell = plan.spec.cells.iter().find(|cell| cell.name == *name);
        CellImages::of(&plan, &records, cell.expect("both are cells of the spec"))
    };
    let [ours, theirs] = [images_of(&names[0]), images_of(&names[1])];
    let mut models = Models::new(data_root.cloned());
    let mut files = Vec::new();
    for scorer in &scorers {
        stop.check()?;
        files.push(scorer.score(run, &ours, Some(&theirs), &mut models)?);
    }
    Ok(CellPairs { cells: names, files })
}

/// The two cells that `A,B` means. A cell of a sweep can have a comma in its name, so every comma is tried.
fn two_cells(spec: &Spec, cells: &str) -> Result<[String; 2], RunError> {
    let is_cell = |name: &str| spec.cells.iter().any(|cell| cell.name == name);
    let commas = cells.match_indices(',').map(|(at, _)| [cells[..at].trim(), cells[at + 1..].trim()]);
    match commas.into_iter().find(|pair| pair.iter().all(|name| is_cell(name))) {
        Some([a, b]) if a == b => {
            Err(failure!(Spec: "--cells: `{a}` twice; a cell is compared with another one").into())
        }
        Some(pair) => Ok(pair.map(str::to_owned)),
        None => {
            let known: Vec<&str> = spec.cells.iter().map(|cell| cell.name.as_str()).collect();
            let known = known.join(", ");
            Err(failure!(Spec: "--cells: `{cells}` is not two cells of the run, A,B; it has {known}").into())
        }
    }
}

/// `metrics`, or those of `spec`, which must compare images in pairs.
fn of_pairs(spec: &Spec, metrics: &[MetricSpec]) -> Result<Vec<MetricSpec>, RunError> {
    let mut found = Vec::new();
    for metric in if metrics.is_empty() { &spec.metrics[..] } else { metrics } {
        // The gap of a draw says something of an exact cell next to its own baseline only.
        let is_of_pairs = known(metric)?.needs.baseline() && metric.name != DIFFERENCE_GAP;
        match is_of_pairs {
            true => found.push(metric.clone()),
            false if metrics.is_empty() => {}
            false => {
                let why = format!("--cells: `{}` is no metric of two cells", metric.name);
                fail!(Spec: "{why}");
            }
        }
    }
    if found.is_empty() {
        let why = "--cells: the spec of the run has no metric of pairs; name one with `--metric token-match` or `--protocol skimage`";
        fail!(Spec: "{why}");
    }
    Ok(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use specimen_experiments::parse::SpecText;

    use super::*;

    #[test]
    fn a_name_with_commas_in_brackets_is_one_of_the_two() {
        let text = include_str!("../../../experiments/specs/ci/stub.toml");
        let mut spec = SpecText::parse("stub.toml", text).unwrap().resolve().unwrap();
        spec.cells[1].name = "casc[tau_pos=0.85,tau_seq=0.5]".to_owned();
        let pair = |cells: &str| two_cells(&spec, cells).map_err(|error| error.to_string());
        let casc = "casc[tau_pos=0.85,tau_seq=0.5]".to_owned();
        assert_eq!(pair("casc[tau_pos=0.85,tau_seq=0.5],ar").unwrap(), [casc.clone(), "ar".to_owned()]);
        assert_eq!(pair("ar, casc[tau_pos=0.85,tau_seq=0.5]").unwrap(), ["ar".to_owned(), casc]);
        assert!(pair("ar,ar").unwrap_err().contains("`ar` twice"));
        assert!(pair("ar,casc[tau_pos=0.85").unwrap_err().contains("is not two cells of the run"));
    }
}
