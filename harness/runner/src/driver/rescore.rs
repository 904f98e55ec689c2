//! The scores of a finished run made again.

use std::cell::RefCell;

use specimen_datasets::data_root::DataRoot;
use specimen_experiments::spec::MetricSpec;
use specimen_foundation::{fail, failure};
use specimen_record::{Manifest, PlanFile, Record, RunDir, read_document, read_rows};

use crate::{
    driver::{
        events::DriverEvent,
        executor::Context,
        finish::{Outcome, finish},
        open_run::LOCK_PATIENCE,
        renewal::{Renewal, renew_manifest},
        weights::weights_of,
    },
    error::RunError,
    images::load::{Models, device_of},
    plan::stored_plan::{plan_file, plan_of, plan_of_stored, spec_of},
    process::{
        disk_wait::{DiskWait, Wait},
        lock::Lock,
        stop_request::StopRequest,
    },
    protocol_scores,
    score::{asks_model, check_images},
};

/// Scores the images of a run again, by the metrics of its spec and by those of `add`, which become part of
/// it; one that gives a value of the same name is replaced.
pub fn rescore(
    run: &RunDir,
    add: &[MetricSpec],
    data_root: Option<&DataRoot>,
    stop: &StopRequest,
    report: &mut dyn FnMut(DriverEvent),
) -> Result<Outcome, RunError> {
    let report = RefCell::new(report);
    let report = |event: DriverEvent| report.borrow_mut()(event);
    let on_wait = |wait: Wait| report(wait.into());
    let disk = DiskWait::new(stop, None, &on_wait);
    let _lock = Lock::wait(&run.lock(), LOCK_PATIENCE, &StopRequest::never())?;
    let manifest: Manifest = read_document(&run.manifest())?;
    let mut spec = spec_of(run, &manifest)?;
    let is_import = spec.cells.iter().any(|cell| cell.imported.is_some());
    if let Some(metric) =
        add.iter().find(|metric| !is_import && asks_model(metric) && metric.device.is_some())
    {
        fail!(Spec: "`{}` is computed by the run's own models, on the devices of its cells; leave --device \
            out", metric.name);
    }
    add.iter().filter(|metric| asks_model(metric)).filter_map(|metric| metric.device.as_ref()).try_for_each(
        // Before anything is scored.
        |device| device_of(device).map(drop),
    )?;
    add_metrics(&mut spec.metrics, add);
    protocol_scores::check(&spec, data_root)?;
    let file: PlanFile = read_document(&run.plan())?;
    let plan = match is_import {
        // What was taken in has its prompts with it.
        true => plan_of_stored(spec, &file)?,
        false => plan_of(spec, data_root)?.0,
    };
    let now = plan_file(&plan)?;
    if now.digest != file.digest {
        return Err(crate::error::other_plan(
            run.root(),
            &now.digest,
            &file.digest,
            "the prompts are others than those the run was made with",
        ));
    }
    // Before anything of the run is changed: a run that is refused stays as it is.
    if run.merged_records().is_file() {
        check_images(run, &read_rows::<Record>(&run.merged_records())?.rows)?;
    }
    let mut models = Models::of(&plan.spec, data_root.cloned());
    let asks_model = plan.spec.metrics.iter().any(asks_model);
    let weights =
        if asks_model { weights_of(&plan, &mut models, true, &report)?.0 } else { manifest.weights };
    let spec = serde_json::to_value(&plan.spec).map_err(|e| failure!(Spec: "{e}"))?;
    let renew = |spec| {
        renew_manifest(run, Renewal { spec, weights: &weights, larger: None, git: None }, disk, &report)
    };
    renew(spec)?;
    let context = Context { run, plan: &plan, file: &file, data_root, disk, report: &report };
    let finished = finish(&context, &mut models, &[]);
    if finished.is_err() && !add.is_empty() {
        // What could not be scored is not part of the run; the next command that finishes it seals it again.
        renew(manifest.spec)?;
    }
    finished
}

/// Puts those of `add` after the others of `metrics`, in place of what gave the same values; what these say of the fewest images
/// holds where the new ones say nothing.
fn add_metrics(metrics: &mut Vec<MetricSpec>, add: &[MetricSpec]) {
    let (replaced, kept): (Vec<_>, Vec<_>) =
        metrics.drain(..).partition(|old| add.iter().any(|new| new.values() == old.values()));
    *metrics = kept;
    metrics.extend(add.iter().map(|new| {
        let old = replaced.iter().find(|old| old.values() == new.values());
        MetricSpec { min_n: new.min_n.or(old.and_then(|old| old.min_n)), ..new.clone() }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_that_is_added_again_keeps_its_least_number_unless_it_says_one() {
        let of = |name: &str, min_n: Option<usize>| MetricSpec { min_n, ..MetricSpec::named(name) };
        let mut metrics = vec![of("fd-scenes", Some(4)), of("target-nll", None)];
        add_metrics(&mut metrics, &[of("fd-scenes", None), of("fd-lenet", Some(9))]);
        assert_eq!(metrics, [of("target-nll", None), of("fd-scenes", Some(4)), of("fd-lenet", Some(9))]);
        add_metrics(&mut metrics, &[of("fd-scenes", Some(2))]);
        assert_eq!(metrics, [of("target-nll", None), of("fd-lenet", Some(9)), of("fd-scenes", Some(2))]);
    }
}
