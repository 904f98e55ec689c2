//! Scores of another tool taken into a finished run: the metric becomes part of its spec, the scores files of its own, and the
//! run is summarised and sealed again. Nothing else is computed again, so the run must be as it was sealed.

use std::{cell::RefCell, collections::BTreeSet, path::Path};

use specimen_catalog::Metric;
use specimen_datasets::data_root::DataRoot;
use specimen_experiments::spec::MetricSpec;
use specimen_foundation::failure;
use specimen_record::{
    ItemKey, Manifest, MetricFile, Part, PlanFile, RunDir, read_document, seal_complaints,
};

use crate::{
    driver::{
        events::DriverEvent,
        executor::Context,
        finish::{Outcome, conclude, merged},
        open_run::LOCK_PATIENCE,
        renewal::{Renewal, renew_manifest},
    },
    error::RunError,
    imported_scores::{self, Scores},
    plan::stored_plan::{plan_of_stored, spec_of},
    process::{
        disk_wait::{DiskWait, Wait},
        lock::Lock,
        stop_request::StopRequest,
    },
    score::CellImages,
};

/// What was taken in.
pub struct Imported {
    /// The run, summarised again.
    pub outcome: Outcome,
    /// The files of the cells that the scores are of, in the order of the cells and of the metric's values.
    pub files: Vec<MetricFile>,
}

/// Takes the scores of a metric in `results` into `run`.
pub fn import_scores(
    run: &RunDir,
    results: &Path,
    metric: &'static Metric,
    data_root: Option<&DataRoot>,
    stop: &StopRequest,
    report: &mut dyn FnMut(DriverEvent),
) -> Result<Imported, RunError> {
    let report = RefCell::new(report);
    let report = |event: DriverEvent| report.borrow_mut()(event);
    let on_wait = |wait: Wait| report(wait.into());
    let disk = DiskWait::new(stop, None, &on_wait);
    let _lock = Lock::wait(&run.lock(), LOCK_PATIENCE, &StopRequest::never())?;
    if let Some(complaint) = seal_complaints(run, Part::All).first() {
        let mend = "scores are taken into runs that are as they were sealed; continue it with `specimen run SPEC --out RUN --resume`";
        return Err(RunError::damaged(run, complaint, mend));
    }
    let manifest: Manifest = read_document(&run.manifest())?;
    let mut spec = spec_of(run, &manifest)?;
    let file: PlanFile = read_document(&run.plan())?;
    let images: BTreeSet<ItemKey> = file.items.iter().map(|item| item.key.clone()).collect();
    let scores = Scores::read(results, metric, &images)?;
    if !spec.metrics.iter().any(|known| known.name == metric.name) {
        spec.metrics.push(MetricSpec::named(&metric.name));
    }
    let as_json = serde_json::to_value(&spec).map_err(|error| failure!(Spec: "{error}"))?;
    let plan = plan_of_stored(spec, &file)?;
    let context = Context { run, plan: &plan, file: &file, data_root, disk, report: &report };
    let (_, records) = merged(&context)?;
    let images_of = |name: &str| {
        let cell =
            plan.spec.cells.iter().find(|cell| cell.name == name).expect("scores are of cells of the plan");
        CellImages::of(&plan, &records, cell)
    };
    let mut files = Vec::new();
    for cell in scores.cells() {
        files.extend(scores.files(&images_of(&cell), plan.spec.seed)?);
    }
    renew_manifest(
        run,
        Renewal { spec: as_json, weights: &manifest.weights, larger: None, git: None },
        disk,
        &report,
    )?;
    for file in &files {
        disk.put(&run.metrics(&file.metric, &file.cell), file)?;
    }
    // Cells without a result say so.
    for cell in &plan.spec.cells {
        for file in imported_scores::kept(run, &images_of(&cell.name), &MetricSpec::named(&metric.name))? {
            disk.put(&run.metrics(&file.metric, &cell.name), &file)?;
        }
    }
    let (merged, records) = merged(&context)?;
    Ok(Imported { outcome: conclude(&context, &merged, &records)?, files })
}
