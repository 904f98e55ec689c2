//! `specimen train`: the networks of the embedded model, from a seed, resumable.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use specimen_train::{
    pipeline::{Folders, Network, train as train_network},
    spec::TrainSpec,
};

use crate::{
    exit::CliError,
    talk::{Talk, message_of},
};

/// What to train.
#[derive(Debug, Args)]
pub struct TrainArgs {
    /// The network; the target and the evaluator need the tokenizer, drafters need both, `drafter-further` and
    /// `drafter-cascade` the drafter too
    #[arg(value_enum)]
    pub network: Choice,
    /// The training specification, a TOML file
    pub spec: PathBuf,
    /// Folder for weights, configurations, curves and results [default: where the program is built from,
    /// harness/models/weights/tiny, and metrics/extract/weights for the evaluator]
    #[arg(long, value_name = "DIR")]
    pub weights: Option<PathBuf>,
    /// Folder for the state that an interrupted training resumes from
    #[arg(long, value_name = "DIR", default_value = "results/runs/train-tiny")]
    pub work: PathBuf,
}

/// A network, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Choice {
    /// Pictures to 256 tokens and back.
    Tokenizer,
    /// Captions to tokens.
    Target,
    /// The EAGLE-1 head that drafts for the target.
    Drafter,
    /// That head trained on, with images of the target's own.
    DrafterFurther,
    /// The same with CASCADE's weights on redundant tokens.
    DrafterCascade,
    /// The EAGLE-3 head.
    DrafterEagle3,
    /// The evaluator behind scene-clip, attribute-accuracy and fd-scenes.
    Features,
    /// All, in this order.
    All,
}

impl Choice {
    fn networks(self) -> &'static [Network] {
        match self {
            Self::Tokenizer => &[Network::Tokenizer],
            Self::Target => &[Network::Target],
            Self::Drafter => &[Network::Drafter],
            Self::DrafterFurther => &[Network::DrafterFurther],
            Self::DrafterCascade => &[Network::DrafterCascade],
            Self::DrafterEagle3 => &[Network::DrafterEagle3],
            Self::Features => &[Network::Features],
            Self::All => &Network::ALL,
        }
    }
}

/// Trains.
pub(crate) fn train(args: &TrainArgs, talk: &Talk) -> anyhow::Result<()> {
    let spec = TrainSpec::read(&args.spec).map_err(|error| CliError::Spec(message_of(&error)))?;
    let folders = match &args.weights {
        Some(folder) => {
            Folders { networks: folder.clone(), evaluator: folder.clone(), work: args.work.clone() }
        }
        None => in_checkout(args.work.clone())?,
    };
    for &network in args.network.networks() {
        let name = network.name();
        talk.say(format!("training the {name} with {} threads", network.n_replicas(&spec)));
        train_network(&spec, network, &folders).with_context(|| format!("training the {name}"))?;
        talk.say(format!("weights: {}", folders.weights_file(network).display()));
    }
    Ok(())
}

/// The folders that the next build embeds.
fn in_checkout(work: PathBuf) -> Result<Folders, CliError> {
    let folders = Folders {
        networks: PathBuf::from("harness/models/weights/tiny"),
        evaluator: PathBuf::from("metrics/extract/weights"),
        work,
    };
    let absent = [&folders.networks, &folders.evaluator].into_iter().find(|folder| !folder.is_dir()).cloned();
    match absent {
        None => Ok(folders),
        Some(folder) => Err(CliError::Usage(format!(
            "{}: there is no such folder here; start in the root of a checkout, or name a folder with --weights",
            folder.display()
        ))),
    }
}
