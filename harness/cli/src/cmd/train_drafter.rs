//! `specimen train-drafter`: a head that drafts for any model, from a specification, resumable.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use specimen_experiments::prompts;
use specimen_runner::images::{
    load::{Models, device_of, kind_of},
    out_of_memory::within_memory,
};
use specimen_train::{
    head_spec::HeadSpec,
    head_trainer::{HeadResult, HeadTraining, train_head},
};

use crate::{
    args::Format,
    console::{Console, answer, answer_json},
    spec_args::data_root,
};

/// What to train.
#[derive(Debug, Args)]
pub struct TrainDrafterArgs {
    /// The training specification, a TOML file, such as those of experiments/specs/train
    pub spec: PathBuf,
    /// Folder for the head (model.safetensors, config.json), its curve and results, the images that it is trained on, and
    /// the state that an interrupted training resumes from [default: results/runs/train-<name>]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct TrainedAnswer {
    schema: u32,
    weights: PathBuf,
    /// Measures on held-out prompts, by name.
    results: serde_json::Map<String, serde_json::Value>,
}

/// Trains the head.
pub(crate) fn train_drafter(args: &TrainDrafterArgs, console: &Console) -> anyhow::Result<()> {
    let spec = HeadSpec::read(&args.spec)?;
    let out =
        args.out.clone().unwrap_or_else(|| PathBuf::from(format!("results/runs/train-{}", spec.rest.name)));
    let root = data_root();
    let set = prompts::open(&spec.dataset, root.as_ref())?;
    let model = Models::new(root).get(&spec.model)?;
    model.warnings.iter().for_each(|what| console.warn(what));
    let training = HeadTraining {
        spec: &spec,
        model: &model,
        kind: kind_of(spec.model.dtype),
        device: device_of(&spec.model.device)?,
        prompts: set.prompts().iter().map(|prompt| prompt.text.as_str()).collect(),
        dataset: format!("{} {}", set.name(), set.digest()),
    };
    console.say(format!(
        "training {} for {} on {}",
        spec.rest.head.kind().as_written(),
        model.name,
        spec.model.device
    ));
    let result = within_memory(&spec.model, None, || Ok(train_head(&training, &out)))??;
    let weights = out.join("model.safetensors");
    let named: Vec<(String, f64)> = result.values.iter().cloned().chain(result.trial.named()).collect();
    match console.format() {
        Format::Json => {
            let results = named.into_iter().map(|(name, value)| (name, serde_json::json!(value))).collect();
            answer_json(&TrainedAnswer { schema: 1, weights, results })
        }
        Format::Human => answer(&human(&result, &weights)),
    }
}

fn human(result: &HeadResult, weights: &std::path::Path) -> String {
    let trial = &result.trial;
    let mut text = format!("head      {}\n", weights.display());
    for (name, value) in &result.values {
        text.push_str(&format!("{name}  {value:.4}\n"));
    }
    text.push_str(&format!(
        "accepted tokens a step  {:.3} trained, {:.3} before",
        trial.trained, trial.untrained
    ));
    if let Some(gain) = &trial.gain {
        text.push_str(&format!(
            "; gain {:+.3}, 95 % interval {:.3} to {:.3}, over {} prompts",
            gain.value, gain.interval.lower, gain.interval.upper, gain.n_pairs
        ));
    }
    text.push('\n');
    text
}
