//! `specimen plan` of a training specification: images, tokens, steps, disk, and the time of a GPU.

use serde::Serialize;
use specimen_datasets::DatasetError;
use specimen_experiments::{names::is_prompt_file, prompts};
use specimen_foundation::fail;
use specimen_record::free_bytes;
use specimen_train::{head_estimate::TrainingEstimate, head_spec::HeadSpec};

use super::plan::PlanArgs;
use crate::{
    console::{Console, answer, answer_json},
    free_space,
    shared_args::Format,
    spec_args::data_root,
};

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct TrainingAnswer {
    schema: u32,
    training: TrainingEstimate,
    /// Why the prompts are not there; their number is then the limit of the spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
    /// Free bytes on the disk of the default folder; null if unknown.
    free_bytes: Option<u64>,
    warnings: Vec<String>,
}

/// Plans the training by `spec`, and prints the estimate.
pub(crate) fn plan_training(spec: &HeadSpec, args: &PlanArgs, console: &Console) -> anyhow::Result<()> {
    let overrides = [!args.spec.set.is_empty(), !args.spec.sweep.is_empty(), args.spec.limit.is_some()];
    if overrides.contains(&true) || args.items || args.probe || args.bandwidth.is_some() {
        let why = "a training specification is planned as it is written; leave the other options out";
        fail!(Usage: "{why}");
    }
    let root = data_root();
    let (n_prompts, missing) = match (prompts::open(&spec.dataset, root.as_ref()), spec.dataset.limit) {
        (Ok(set), _) => (set.prompts().len(), None),
        (Err(error), Some(limit)) if is_absent(&error, &spec.dataset.name) => {
            (limit, Some(error.to_string()))
        }
        (Err(error), _) => return Err(error.into()),
    };
    let training = TrainingEstimate::of(spec, n_prompts as u64);
    let training = training.expect("the grammar of specs has the models of the catalog");
    let free_bytes = free_bytes(&args.out_of(&spec.rest.name));
    let exported = if spec.rest.features.is_some() { training.features } else { Some(0) };
    let most = training.disk.total().zip(exported).map(|(training, features)| training + features);
    let warnings = free_space::complaint(most, free_bytes).into_iter().collect();
    let answered = TrainingAnswer { schema: 1, training, missing, free_bytes, warnings };
    match console.format() {
        Format::Json => answer_json(&answered),
        Format::Human => {
            let missing = answered.missing.iter().map(|what| format!("missing {what}\n"));
            let warnings = answered.warnings.iter().map(|what| format!("warning {what}\n"));
            answer(&format!("{}{}", answered.training, missing.chain(warnings).collect::<String>()))
        }
    }
}

/// Whether the prompts are only not there.
fn is_absent(error: &DatasetError, name: &str) -> bool {
    match error {
        DatasetError::Absent { .. } => true,
        DatasetError::UnknownName { .. } => is_prompt_file(name),
        _ => false,
    }
}
