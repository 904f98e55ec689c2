//! The networks by name, in the order in which they need one another: the tokenizer first, the target and the
//! evaluator on its tokens, the drafter on the target.

use std::path::{Path, PathBuf};

use anyhow::Context;
use specimen_models::tiny::{TinyBackbone, Vq};
use specimen_weights::{Checkpoint, use_threads};
use tch::{Device, Kind};

use crate::{drafter, features, spec::TrainSpec, stage::StageFiles, target, tokenizer};

/// A network of the embedded model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Pictures to tokens and back.
    Tokenizer,
    /// Captions to tokens.
    Target,
    /// The EAGLE-1 head.
    Drafter,
    /// The evaluator.
    Features,
}

impl Network {
    /// All, each after those it needs.
    pub const ALL: [Self; 4] = [Self::Tokenizer, Self::Target, Self::Drafter, Self::Features];

    /// Its name, the stem of its files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tokenizer => "tokenizer",
            Self::Target => "target",
            Self::Drafter => "drafter",
            Self::Features => "features",
        }
    }
}

/// Where training reads and writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// Weights, configurations, curves and results of tokenizer, target and drafter.
    pub networks: PathBuf,
    /// The same of the evaluator.
    pub evaluator: PathBuf,
    /// The states that interrupted training resumes from.
    pub work: PathBuf,
}

impl Folders {
    /// The file with the finished weights of `network`.
    #[must_use]
    pub fn weights_file(&self, network: Network) -> PathBuf {
        self.weights_of(network).join(format!("{}.safetensors", network.name()))
    }

    fn weights_of(&self, network: Network) -> &Path {
        match network {
            Network::Features => &self.evaluator,
            _ => &self.networks,
        }
    }
}

/// Trains one network to the end of its schedule, from its saved state if there is one.
///
/// # Errors
/// A network it needs that was not trained yet or is damaged, unwritable files, divergence.
pub fn train(spec: &TrainSpec, network: Network, folders: &Folders) -> anyhow::Result<()> {
    // Replicas are threads of their own; each computes on one.
    use_threads(1);
    let files = StageFiles::new(network.name(), folders.weights_of(network), &folders.work)?;
    let vq = || open_tokenizer(spec, folders);
    match network {
        Network::Tokenizer => tokenizer::train(spec, &files),
        Network::Target => target::train(spec, &vq()?, &files),
        Network::Drafter => drafter::train(spec, &vq()?, &|| open_target(spec, folders), &files),
        Network::Features => features::train(spec, &vq()?, &files),
    }
}

fn open_tokenizer(spec: &TrainSpec, folders: &Folders) -> anyhow::Result<Vq> {
    let path = folders.weights_file(Network::Tokenizer);
    tokenizer::open(&path, spec, Kind::BFloat16).context("the tokenizer has to be trained first")
}

fn open_target(spec: &TrainSpec, folders: &Folders) -> anyhow::Result<TinyBackbone> {
    let open = || -> anyhow::Result<TinyBackbone> {
        let path = folders.weights_file(Network::Target);
        let mut checkpoint = Checkpoint::open(&path, Some(Kind::BFloat16), Device::Cpu)?;
        let target = TinyBackbone::new(&mut checkpoint, &spec.target.model)?;
        checkpoint.finish()?;
        Ok(target)
    };
    open().context("the target has to be trained first")
}
