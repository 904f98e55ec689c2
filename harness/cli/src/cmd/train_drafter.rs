//! `specimen train-drafter`: a head that drafts for any model, from a specification, resumable.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use specimen_runner::images::out_of_memory::within_memory;
use specimen_train::{
    head_spec::HeadSpec,
    head_trainer::{HeadResult, train_head},
    trial::gain_in_words,
};

use crate::{
    cmd::head_training::Opened,
    console::{Console, answer, answer_json},
    shared_args::Format,
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
    let opened = Opened::of(&spec, console)?;
    let training = opened.training(&spec)?;
    console.say(format!(
        "training {} for {} on {}",
        spec.rest.head.kind().as_written(),
        training.model.name,
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
        text.push_str(&format!("; gain {}, over {} prompts", gain_in_words(gain), gain.n_pairs));
    }
    text.push('\n');
    if let Some((standard, gain)) = &trial.standard {
        text.push_str(&format!("standard head of the model  {standard:.3}"));
        if let Some(gain) = gain {
            text.push_str(&format!("; the trained one {}", gain_in_words(gain)));
        }
        text.push('\n');
    }
    text
}
