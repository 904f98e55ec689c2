//! A finished run computed again from its own rows: whoever receives one learns so whether its numbers follow from what it
//! holds. Digests and images are [`verify_run`](specimen_record::verify_run)'s, images made again those of
//! [`replay`](crate::images::replay).
//!
//! Rows that were invented and fit each other, above all times, are not found out here: only the same machine could.

mod manifest;

use std::collections::BTreeMap;

use serde_json::Value;
use specimen_datasets::{PromptId, PromptSet, data_root::DataRoot};
use specimen_experiments::{plan::Plan, prompts, spec::Spec};
use specimen_measure::{pair_protocol::PairProtocol, protocol::Protocol};
use specimen_record::{
    Git, Manifest, MetricFile, PlanFile, Record, RecordError, RunDir, Summary, UNKNOWN_DATASET, compare_json,
    described, file_digest, read_document, read_rows,
    summary::{
        hardware::RunHardware,
        summarise::{Inputs, summarise},
    },
};

use self::manifest::Sources;
use crate::{
    error::RunError,
    imported_scores,
    plan::stored_plan::{plan_file, plan_of, plan_of_stored, spec_of},
};

/// What came of computing a run again.
#[derive(Debug, Default)]
pub struct Rechecked {
    /// What contradicts, each with its file and what was expected and found; empty for a good run.
    pub complaints: Vec<String>,
    /// What could not be computed again here, and why.
    pub not_checked: Vec<String>,
}

/// Makes the plan and the summary of `run` again, and compares its manifest and the protocols of its metrics with what
/// this program, built from the sources `git`, knows of them.
pub fn recheck(run: &RunDir, data_root: Option<&DataRoot>, git: &Git) -> Result<Rechecked, RunError> {
    let mut found = Rechecked::default();
    let manifest: Manifest = read_document(&run.manifest())?;
    let file: PlanFile = read_document(&run.plan())?;
    let spec = spec_of(run, &manifest)?;
    protocols(run, &spec, &mut found)?;
    let stored = plan_of_stored(spec.clone(), &file);
    let prompts = if spec.cells.iter().any(|cell| cell.imported.is_some()) {
        prompts_of_import(run, &spec, &file, data_root, &mut found);
        None
    } else {
        plan(run, spec.clone(), &file, data_root, &mut found)
    };
    Sources { run, spec: &spec, file: &file, prompts: prompts.as_ref(), git }.check(&manifest, &mut found)?;
    match stored {
        Ok(plan) => summary(run, &manifest, &plan, &mut found)?,
        Err(error) => found.complaints.push(error.to_string()),
    }
    Ok(found)
}

/// The items that the spec gives over its dataset, against those of `plan.json`; gives the dataset.
fn plan(
    run: &RunDir,
    spec: Spec,
    file: &PlanFile,
    data_root: Option<&DataRoot>,
    found: &mut Rechecked,
) -> Option<PromptSet> {
    let again = plan_of(spec, data_root).and_then(|(plan, prompts)| Ok((plan_file(&plan)?, prompts)));
    let path = run.plan();
    let (again, prompts) = match again {
        Ok(again) => again,
        Err(why) => {
            found.not_checked.push(format!("the plan: {why}"));
            return None;
        }
    };
    if again.items != file.items || again.blocks != file.blocks {
        let first = again.items.iter().zip(&file.items).find(|(again, stored)| again != stored);
        let what = match first {
            Some((again, stored)) => {
                let [again, stored] =
                    [again, stored].map(|item| serde_json::to_value(item).unwrap_or_default());
                let differences = described(&compare_json(&again, &stored)).unwrap_or_default();
                format!("an item of the spec {differences}")
            }
            None => format!("the spec gives {} items, it has {}", again.items.len(), file.items.len()),
        };
        found.complaints.push(format!("{}: {what}", path.display()));
    }
    Some(prompts)
}

/// The prompts of an import against those of the dataset that it names.
fn prompts_of_import(
    run: &RunDir,
    spec: &Spec,
    file: &PlanFile,
    data_root: Option<&DataRoot>,
    found: &mut Rechecked,
) {
    if spec.dataset.name == UNKNOWN_DATASET {
        let why = "the prompts: the images were imported without --dataset, so there is nothing to compare them with";
        return found.not_checked.push(why.to_owned());
    }
    let set = match prompts::open(&spec.dataset, data_root) {
        Ok(set) => set,
        Err(why) => return found.not_checked.push(format!("the prompts: {why}")),
    };
    let texts: BTreeMap<&str, &str> =
        file.items.iter().map(|item| (item.prompt_id.as_str(), item.prompt.as_str())).collect();
    let of_set = |id: &str| Some(set.get(&PromptId::new(id).ok()?)?.text.as_str());
    let mut absent = Vec::new();
    for (id, text) in texts {
        match of_set(id) {
            None => absent.push(id),
            Some(other) if other == text => {}
            Some(other) => found.complaints.push(format!(
                "{}: the prompt `{id}` is \"{}\", in `{}` it is \"{}\"",
                run.plan().display(),
                text.escape_debug(),
                set.name(),
                other.escape_debug()
            )),
        }
    }
    if let Some(first) = absent.first() {
        let n = absent.len();
        found
            .not_checked
            .push(format!("{n} of the prompts: `{}` does not have them; the first is `{first}`", set.name()));
    }
}

/// The summary that the rows give, against `summary.json`.
fn summary(run: &RunDir, manifest: &Manifest, plan: &Plan, found: &mut Rechecked) -> Result<(), RunError> {
    let records = read_rows::<Record>(&run.merged_records())?.rows;
    let result_digest = file_digest(&run.merged_records())?;
    let path = run.summary();
    let stored: Summary = match read_document(&path) {
        Err(older @ RecordError::OlderSchema { .. }) => {
            found.not_checked.push(older.to_string());
            return Ok(());
        }
        read => read?,
    };
    let again = RunHardware::of(run, &manifest.hardware).and_then(|hardware| {
        let (records, result_digest) = (&records, &result_digest);
        summarise(&Inputs { run, plan, records, manifest, hardware: &hardware, result_digest })
    });
    match again {
        Err(why) => found.complaints.push(format!("{}: the rows give no summary: {why}", path.display())),
        Ok(again) => {
            // What differs is told as a change from what the rows give.
            let json = |summary: &Summary| serde_json::to_value(summary).unwrap_or(Value::Null);
            if let Some(differences) = described(&compare_json(&json(&again), &json(&stored))) {
                found
                    .complaints
                    .push(format!("{}: it is not what the rows give: {differences}", path.display()));
            }
        }
    }
    Ok(())
}

/// The digest next to each metric's protocol, against this program's protocol of that name.
fn protocols(run: &RunDir, spec: &Spec, found: &mut Rechecked) -> Result<(), RunError> {
    for path in run.metric_files()? {
        let file: MetricFile = match read_document(&path) {
            Ok(file) => file,
            Err(error @ RecordError::Io { .. }) => return Err(error.into()),
            Err(error) => {
                found.complaints.push(error.to_string());
                continue;
            }
        };
        if let Some(imported) = &file.imported
            && let Some(value) = file.value
        {
            let per_item = file.per_item.as_ref();
            let again =
                per_item.map(|rows| imported_scores::value_of(rows, imported.groups.as_ref(), spec.seed));
            let again = again.transpose()?;
            if again != Some((value, file.ci95)) {
                let what = format!("{value} and its interval are not what its rows give: {again:?}");
                found.complaints.push(format!("{}: {what}", path.display()));
            }
        }
        let of_spec = spec.metrics.iter().find(|metric| metric.values().contains(&file.metric));
        let Some(name) = of_spec.and_then(|metric| metric.protocol.as_deref()) else { continue };
        // Without a value there is no digest.
        if file.value.is_none() {
            continue;
        }
        let metric = of_spec.map_or("", |metric| &metric.name);
        let of_pairs = specimen_catalog::metric(metric).is_some_and(|known| known.needs.baseline());
        let expected = match of_pairs {
            true => PairProtocol::find(name).map(|protocol| protocol.label(metric)),
            false => Protocol::find(name).map(|protocol| protocol.label(metric)),
        };
        match expected {
            Err(why) => found.not_checked.push(format!("the protocol of `{}`: {why}", file.metric)),
            Ok(expected) => {
                if !file.protocol.contains(&expected) {
                    found.complaints.push(format!(
                        "{}: `protocol`: expected {expected}, this program's, found {}",
                        path.display(),
                        file.protocol
                    ));
                }
            }
        }
    }
    Ok(())
}
