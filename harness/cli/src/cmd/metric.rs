//! The metrics as subcommands, one each: arguments and help follow from what the catalog says of the metric.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, Subcommand, ValueEnum};
use specimen_catalog::metric::{MetricCommand, Needs, Setting};
use specimen_foundation::fail;
use specimen_measure::{
    captions::{Captions, Choice},
    metrics::{CaptionsOf, METRICS, Metric, Outcome, Sides, metric},
    per_image::{write_per_image, write_scores},
    protocol::MetricSettings,
};

use crate::{
    cmd::{
        metric_args::{Answer, MetricArgs},
        per_image_args::PerImageArgs,
        setting_args::{NeighbourArgs, SeedArgs, SubsetArgs},
        stats::check_out,
    },
    console::Console,
};

/// A metric with its arguments.
#[derive(Debug)]
pub struct MetricCall {
    metric: &'static Metric,
    protocol: String,
    sides: SideArgs,
    settings: MetricSettings,
    shared: MetricArgs,
}

/// What is measured.
#[derive(Debug)]
enum SideArgs {
    Two(TwoSides),
    /// Two sides of which each may be statistics.
    Saving(TwoSides, SaveStats),
    One(OneSide),
    /// One side of which every picture has a value.
    Scored(OneSide, PerImageArgs),
    Captioned(Captioned),
}

/// Two sets that are compared.
#[derive(Debug, Args)]
struct TwoSides {
    /// The reference: a folder, .zip, list (.txt) or .npy of pictures, features (.npy, .npz)
    #[arg(index = 1)]
    real: PathBuf,
    /// What is measured: as the reference
    #[arg(index = 2)]
    generated: PathBuf,
}

/// A file for the next comparison with the same reference.
#[derive(Debug, Args)]
struct SaveStats {
    /// Write the statistics of REAL to this file (.npz: mu, sigma, n), for the next comparison
    #[arg(long, value_name = "FILE")]
    save_stats: Option<PathBuf>,
    /// Replace the file of `--save-stats` if it is there
    #[arg(long, requires = "save_stats")]
    force: bool,
}

/// One set.
#[derive(Debug, Args)]
struct OneSide {
    /// A folder, .zip, list (.txt) or .npy of pictures, or features (.npy, .npz); logits without the last bias for `is`
    images: PathBuf,
}

/// Pictures with captions.
#[derive(Debug, Args)]
struct Captioned {
    /// A folder, .zip, list (.txt) or .npy of pictures; or embeddings (.npy), then CAPTIONS are embeddings too
    images: PathBuf,
    /// Captions with ids: COCO .json, .json by id, .jsonl, .csv or .tsv, also .gz; or embeddings (.npy), row by row
    captions: PathBuf,
    /// Which caption counts where a picture has several; without it that is an error
    #[arg(long, value_enum)]
    caption: Option<CaptionChoice>,
    #[command(flatten)]
    table: PerImageArgs,
}

/// A caption of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CaptionChoice {
    /// The first in the file.
    First,
    /// The longest (LANTERN).
    Longest,
    /// As SJD's evaluation takes it, with its bug.
    Sjd,
}

impl Subcommand for MetricCall {
    fn augment_subcommands(command: Command) -> Command {
        METRICS.iter().fold(command, |command, metric| command.subcommand(subcommand(metric)))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        metric(name).is_some()
    }
}

impl FromArgMatches for MetricCall {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (name, matches) = matches.subcommand().expect("a subcommand is required");
        let metric = metric(name).expect("clap knows the metrics only");
        let known = command_of(metric);
        let sides = match metric.entry().needs {
            _ if known.captions => SideArgs::Captioned(Captioned::from_arg_matches(matches)?),
            Needs::ProtocolAndReal if known.statistics => {
                SideArgs::Saving(TwoSides::from_arg_matches(matches)?, SaveStats::from_arg_matches(matches)?)
            }
            Needs::ProtocolAndReal => SideArgs::Two(TwoSides::from_arg_matches(matches)?),
            _ if known.per_image => SideArgs::Scored(
                OneSide::from_arg_matches(matches)?,
                PerImageArgs::from_arg_matches(matches)?,
            ),
            _ => SideArgs::One(OneSide::from_arg_matches(matches)?),
        };
        let mut settings = MetricSettings::default();
        for setting in &known.settings {
            match setting {
                Setting::Subsets => {
                    let SubsetArgs { subset_size, subsets } = SubsetArgs::from_arg_matches(matches)?;
                    (settings.subset_size, settings.n_subsets) = (subset_size, subsets);
                }
                Setting::Seed => settings.seed = SeedArgs::from_arg_matches(matches)?.seed,
                Setting::K => settings.k = NeighbourArgs::from_arg_matches(matches)?.k,
            }
        }
        let protocol = matches.get_one::<String>("protocol").cloned().unwrap_or_default();
        Ok(Self { metric, protocol, sides, settings, shared: MetricArgs::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The subcommand of `metric`.
fn subcommand(metric: &'static Metric) -> Command {
    let known = command_of(metric);
    let command = Command::new(metric.name);
    let mut command = match metric.entry().needs {
        _ if known.captions => Captioned::augment_args(command),
        Needs::ProtocolAndReal => TwoSides::augment_args(command),
        _ if known.per_image => PerImageArgs::augment_args(OneSide::augment_args(command)),
        _ => OneSide::augment_args(command),
    };
    if known.statistics {
        command = SaveStats::augment_args(command).mut_arg("real", |real| {
            real.help(
                "The reference: a folder, .zip, list (.txt) or .npy of pictures, features (.npy, .npz) or statistics (.npz)",
            )
        });
    }
    let protocol = Arg::new("protocol").long("protocol").value_name("NAME|FILE");
    command = command.arg(
        protocol
            .default_value(known.protocol.as_str())
            .help("A built-in protocol or the path of a .toml file"),
    );
    for setting in &known.settings {
        command = match setting {
            Setting::Subsets => SubsetArgs::augment_args(command),
            Setting::Seed => SeedArgs::augment_args(command),
            Setting::K => NeighbourArgs::augment_args(command),
        };
    }
    // After the arguments, whose types have lines of their own.
    command = MetricArgs::augment_args(command).about(known.about.as_str()).long_about(None::<&str>);
    match &known.interval {
        Some(help) => command.mut_arg("ci", |ci| ci.help(help.as_str())),
        None => command,
    }
}

fn command_of(metric: &Metric) -> &'static MetricCommand {
    metric.entry().command.as_ref().expect("every metric under a protocol is tested to have a command")
}

/// Measures it and prints its values.
pub(crate) fn measure(call: &MetricCall, console: &Console) -> anyhow::Result<()> {
    let MetricCall { metric, protocol, sides, settings, shared } = call;
    check(sides)?;
    shared.run_with(metric.name, protocol, settings, console, |meter| {
        let outcome = match sides {
            SideArgs::Two(TwoSides { real, generated }) => (metric.run)(meter, &Sides::two(real, generated))?,
            SideArgs::Saving(TwoSides { real, generated }, SaveStats { save_stats, .. }) => {
                let save_real = save_stats.as_deref();
                (metric.run)(meter, &Sides { save_real, ..Sides::two(real, generated) })?
            }
            SideArgs::One(OneSide { images }) => (metric.run)(meter, &Sides::one(images))?,
            SideArgs::Scored(OneSide { images }, table) => {
                let outcome = (metric.run)(meter, &Sides::one(images))?;
                if let Some(path) = &table.per_image {
                    write_scores(path, metric.name, &outcome.pictures)?;
                }
                outcome
            }
            SideArgs::Captioned(args) if args.are_embeddings() => {
                let captions = Some(CaptionsOf::Embeddings(&args.captions));
                (metric.run)(meter, &Sides { captions, ..Sides::one(&args.images) })?
            }
            SideArgs::Captioned(args) => {
                let captions = Captions::read(&args.captions, args.choice())?;
                let captions = Some(CaptionsOf::File(&captions));
                let outcome = (metric.run)(meter, &Sides { captions, ..Sides::one(&args.images) })?;
                if let Some(path) = &args.table.per_image {
                    write_per_image(path, metric.name, &outcome.pictures)?;
                }
                outcome
            }
        };
        let Outcome { mut values, .. } = outcome;
        Ok(match values.len() {
            1 => values.remove(0).into(),
            _ => Answer::Several(values),
        })
    })
}

/// Fails where a file could not be written, or an option has no meaning; before anything is computed.
fn check(sides: &SideArgs) -> anyhow::Result<()> {
    match sides {
        SideArgs::Saving(_, SaveStats { save_stats: Some(path), force }) => check_out(path, *force),
        SideArgs::Scored(_, table) => table.check(),
        SideArgs::Captioned(args) => args.check(),
        _ => Ok(()),
    }
}

impl Captioned {
    fn are_embeddings(&self) -> bool {
        self.captions.extension().is_some_and(|extension| extension == "npy")
    }

    fn choice(&self) -> Choice {
        match self.caption {
            None => Choice::Only,
            Some(CaptionChoice::First) => Choice::First,
            Some(CaptionChoice::Longest) => Choice::Longest,
            Some(CaptionChoice::Sjd) => Choice::Sjd,
        }
    }

    fn check(&self) -> anyhow::Result<()> {
        if self.are_embeddings() && (self.caption.is_some() || self.table.per_image.is_some()) {
            let option = if self.caption.is_some() { "--caption" } else { "--per-image" };
            let path = self.captions.display();
            let why = format!(
                "{path} holds embeddings without ids and captions, so `{option}` has no meaning there"
            );
            fail!(Usage: "{why}");
        }
        self.table.check()
    }
}
