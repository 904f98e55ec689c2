//! `specimen train`: the networks of the embedded model, from a seed, resumable.

use std::{fs, path::PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};
use specimen_foundation::{bounded_read::read_text, fail, failure, failure::FailureMessage};
use specimen_record::write_atomic;
use specimen_report::training_figure;
use specimen_train::{
    pipeline::{Folders, Network, train as train_network},
    spec::TrainSpec,
};

use crate::console::{Console, message_of};

/// Most bytes of a curve that is drawn.
const MOST_BYTES_OF_A_CURVE: u64 = 64 << 20;

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
    /// Folder for the state that an interrupted training resumes from, and for curves as PNG
    #[arg(long, value_name = "DIR", default_value = "results/runs/train-tiny")]
    pub work: PathBuf,
    /// Only draw the curves of trained networks again
    #[arg(long)]
    pub curves: bool,
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
    /// That head, trained further on images of the target.
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

/// Trains the networks that the arguments name, or draws their curves.
pub(crate) fn train(args: &TrainArgs, console: &Console) -> anyhow::Result<()> {
    let spec = TrainSpec::read(&args.spec).map_err(|error| failure!(Spec: "{}", message_of(&error)))?;
    let folders = match &args.weights {
        Some(folder) => {
            Folders { networks: folder.clone(), evaluator: folder.clone(), work: args.work.clone() }
        }
        None => in_checkout(args.work.clone())?,
    };
    for &network in args.network.networks() {
        let name = network.name();
        if args.curves {
            draw(network, &folders, console)?;
            continue;
        }
        console.say(format!("training the {name} with {} threads", network.n_replicas(&spec)));
        train_network(&spec, network, &folders).with_context(|| format!("training the {name}"))?;
        console.say(format!("weights: {}", folders.weights_file(network).display()));
        draw(network, &folders, console)?;
    }
    Ok(())
}

/// Draws the curve of a network as SVG next to its numbers, and as PNG next to the states.
fn draw(network: Network, folders: &Folders, console: &Console) -> anyhow::Result<()> {
    let path = folders.curve_file(network);
    let csv = read_text(&path, MOST_BYTES_OF_A_CURVE)
        .map_err(|source| specimen_report::error::unreadable(&path, source))?;
    let figure = training_figure(network.name(), &path, &csv)?;
    // The picture in pixels is large and can be drawn again: it is not stored with the weights.
    let (svg, png) = (path.with_extension("svg"), folders.work.join(format!("{}.png", network.name())));
    fs::create_dir_all(&folders.work)
        .with_context(|| format!("{}: cannot make the folder", folders.work.display()))?;
    write_atomic(&svg, figure.svg.as_bytes())?;
    write_atomic(&png, &figure.png)?;
    console.say(format!("curve: {} and {}", svg.display(), png.display()));
    Ok(())
}

/// The folders that the next build embeds.
fn in_checkout(work: PathBuf) -> Result<Folders, FailureMessage> {
    let folders = Folders {
        networks: PathBuf::from("harness/models/weights/tiny"),
        evaluator: PathBuf::from("metrics/extract/weights"),
        work,
    };
    let absent = [&folders.networks, &folders.evaluator].into_iter().find(|folder| !folder.is_dir()).cloned();
    match absent {
        None => Ok(folders),
        Some(folder) => fail!(Usage: "{}: there is no such folder here; start in the root of a checkout, or \
            name a folder with --weights", folder.display()),
    }
}
