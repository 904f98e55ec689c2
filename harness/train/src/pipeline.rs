//! The networks by name, in the order in which they need one another: the tokenizer first, the target and the
//! evaluator on its tokens, the drafters on the target.

use std::path::{Path, PathBuf};

use anyhow::Context;
use specimen_models::families::tiny::{TinyBackbone, Vq};
use specimen_weights::{Checkpoint, use_threads};
use tch::{Device, Kind};

use crate::{
    drafter, features,
    further::{self, Given},
    head_loss::Redundancy,
    own_images::DrawnFrom,
    spec::TrainSpec,
    stage::StageFiles,
    target, tokenizer,
};

/// A network of the embedded model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Pictures to tokens and back.
    Tokenizer,
    /// Captions to tokens.
    Target,
    /// The EAGLE-1 head.
    Drafter,
    /// The EAGLE-1 head trained on, all slots alike.
    DrafterFurther,
    /// The EAGLE-1 head trained on, with CASCADE's weights.
    DrafterCascade,
    /// The EAGLE-3 head.
    DrafterEagle3,
    /// The network whose features fd-scenes compares.
    Features,
}

impl Network {
    /// All, each after those it needs.
    pub const ALL: [Self; 7] = [
        Self::Tokenizer,
        Self::Target,
        Self::Drafter,
        Self::DrafterFurther,
        Self::DrafterCascade,
        Self::DrafterEagle3,
        Self::Features,
    ];

    /// Its name, the stem of its files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tokenizer => "tokenizer",
            Self::Target => "target",
            Self::Drafter => "drafter",
            Self::DrafterFurther => "drafter-further",
            Self::DrafterCascade => "drafter-cascade",
            Self::DrafterEagle3 => "drafter-eagle3",
            Self::Features => "features",
        }
    }
}

impl Network {
    /// Threads of its training.
    pub fn n_replicas(self, spec: &TrainSpec) -> usize {
        match self {
            Self::DrafterFurther | Self::DrafterCascade => spec.further.n_replicas,
            Self::DrafterEagle3 => spec.eagle3.n_replicas,
            _ => spec.n_replicas,
        }
    }

    /// How slots are weighed in the training of an EAGLE-1 head beyond its first end; the plain one weighs all
    /// alike, and knows the threshold for the share of redundant slots that it reports.
    pub fn redundancy(self, spec: &TrainSpec) -> Redundancy {
        match self {
            Self::DrafterCascade => spec.further.redundancy,
            _ => Redundancy { c: 1.0, ..spec.further.redundancy },
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
    pub fn weights_file(&self, network: Network) -> PathBuf {
        self.weights_of(network).join(format!("{}.safetensors", network.name()))
    }

    /// The file with the curve of `network`.
    pub fn curve_file(&self, network: Network) -> PathBuf {
        self.weights_of(network).join(format!("{}.csv", network.name()))
    }

    fn weights_of(&self, network: Network) -> &Path {
        match network {
            Network::Features => &self.evaluator,
            _ => &self.networks,
        }
    }
}

/// Trains one network to the end of its schedule, from its saved state if there is one.
pub fn train(spec: &TrainSpec, network: Network, folders: &Folders) -> anyhow::Result<()> {
    // Replicas are threads of their own; each computes on one.
    use_threads(1);
    let files = StageFiles::new(network.name(), folders.weights_of(network), &folders.work)?;
    let vq = || open_tokenizer(spec, folders);
    match network {
        Network::Tokenizer => tokenizer::train(spec, &files),
        Network::Target => target::train(spec, &vq()?, &files),
        Network::Drafter => drafter::train(spec, &vq()?, &|| open_target(spec, folders), &files),
        Network::DrafterFurther | Network::DrafterCascade => {
            let redundancy = network.redundancy(spec);
            let from =
                Checkpoint::open(&folders.weights_file(Network::Drafter), Some(Kind::Float), Device::Cpu)
                    .context("the drafter has to be trained first")?;
            on_own_images(spec, folders, spec.further.n_images, |given| {
                further::train_on(given, redundancy, from, &files)
            })
        }
        Network::DrafterEagle3 => {
            on_own_images(spec, folders, spec.eagle3.n_images, |given| further::train_eagle3(given, &files))
        }
        Network::Features => features::train(spec, &vq()?, &files),
    }
}

/// Runs a stage on images of the target's own, which are in the folder of the training states.
fn on_own_images(
    spec: &TrainSpec,
    folders: &Folders,
    n_images: u64,
    stage: impl FnOnce(&Given<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let vq = open_tokenizer(spec, folders)?;
    let open_target = || open_target(spec, folders);
    let mut target = open_target()?;
    target.prepare();
    let file = folders.work.join("own-images.safetensors");
    let weights = Checkpoint::open(&folders.weights_file(Network::Target), None, Device::Cpu)?;
    let from = DrawnFrom {
        target: &target,
        weights: weights.digest(),
        seed: spec.seed ^ 0x0E,
        n_scenes: spec.n_scenes,
    };
    let images = spec.own_images.of(&from, n_images, &file)?;
    stage(&Given { spec, vq: &vq, open_target: &open_target, images: &images })
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
