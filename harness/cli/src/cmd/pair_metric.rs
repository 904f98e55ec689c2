//! The metrics of pictures in pairs as subcommands, one each: arguments and help follow from what the catalog says of the
//! metric.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, Subcommand};
use specimen_catalog::metric::MetricCommand;
use specimen_measure::{
    metrics::{PAIR_METRICS, PairMetric, pair_metric},
    network::{Networks, NoNetworks},
    pair_protocol::PairProtocol,
    pairs::{Intervals, PairMeasurement, Pairs, measure_pairs},
    per_image::write_per_pair,
};

use crate::{
    cmd::{
        metric_args::{NetworkArgs, digits, shown},
        per_image_args::PerImageArgs,
    },
    console::{Console, answer, answer_json},
    shared_args::Format,
};

/// A metric of pairs with its arguments.
#[derive(Debug)]
pub struct PairCall {
    metric: &'static PairMetric,
    protocol: String,
    args: PairArgs,
    /// Absent for a metric without a network.
    network: Option<NetworkArgs>,
}

/// What is compared, and how.
#[derive(Debug, Args)]
struct PairArgs {
    /// A folder, .zip, list (.txt) or .npy of pictures, or one picture
    #[arg(index = 1)]
    a: PathBuf,
    /// What is compared with it: as A. Pictures are paired by their names, with folders and without endings
    #[arg(index = 2)]
    b: PathBuf,
    /// Compute an interval of 95 %: a BCa bootstrap over the pairs
    #[arg(long)]
    ci: bool,
    #[command(flatten)]
    table: PerImageArgs,
}

impl Subcommand for PairCall {
    fn augment_subcommands(command: Command) -> Command {
        PAIR_METRICS.iter().fold(command, |command, metric| command.subcommand(subcommand(metric)))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        pair_metric(name).is_some()
    }
}

impl FromArgMatches for PairCall {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (name, matches) = matches.subcommand().expect("a subcommand is required");
        let metric = pair_metric(name).expect("clap knows the metrics only");
        let protocol = matches.get_one::<String>("protocol").cloned().unwrap_or_default();
        let network = command_of(metric).network.then(|| NetworkArgs::from_arg_matches(matches));
        let args = PairArgs::from_arg_matches(matches)?;
        Ok(Self { metric, protocol, args, network: network.transpose()? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The subcommand of `metric`.
fn subcommand(metric: &'static PairMetric) -> Command {
    let known = command_of(metric);
    let protocol = Arg::new("protocol").long("protocol").value_name("NAME|FILE");
    let protocol = protocol
        .default_value(known.protocol.as_str())
        .help("A built-in protocol of pairs or the path of a .toml file");
    let mut command = PairArgs::augment_args(Command::new(metric.name).arg(protocol));
    if known.network {
        command = NetworkArgs::augment_args(command);
    }
    // After the arguments, whose type has lines of its own.
    command.about(known.about.as_str()).long_about(None::<&str>)
}

fn command_of(metric: &PairMetric) -> &'static MetricCommand {
    metric.entry().command.as_ref().expect("a metric under a protocol is tested to have a command")
}

/// Measures it and prints its value.
pub(crate) fn measure(call: &PairCall, console: &Console) -> anyhow::Result<()> {
    let PairCall { metric, protocol, args: PairArgs { a, b, ci, table }, network } = call;
    table.check()?;
    let protocol = PairProtocol::find(protocol)?;
    protocol.metric(metric.name)?;
    let networks: Box<dyn Networks> = match network {
        Some(args) => args.networks(),
        None => Box::new(NoNetworks),
    };
    let measure = (metric.open)(&protocol, &*networks)?;
    let identity = measure.extractor().unwrap_or_default();
    measure.provenance().iter().for_each(|weights| console.detail(format!("{identity}: {weights}")));
    let pairs = Pairs::open(a, b)?;
    let intervals = if *ci { Intervals::OverPairs } else { Intervals::No };
    let n = pairs.names().count();
    let on_done = |n_done: usize| console.detail(format!("{n_done} of {n} pairs"));
    let outcome = measure_pairs((metric, &protocol), measure.as_ref(), &pairs, intervals, on_done)?;
    if let Some(path) = &table.per_image {
        write_per_pair(path, &outcome)?;
    }
    outcome.measured.notes.iter().for_each(|note| console.warn(note));
    match console.format() {
        Format::Json => answer_json(&outcome.measured),
        Format::Human => answer(&human(&outcome.measured)),
    }
}

/// The value, and below it what it depends on.
fn human(measured: &PairMeasurement) -> String {
    let PairMeasurement { metric, value, ci95, protocol, n, extractor, why, details, .. } = measured;
    let interval = ci95.map(|[lower, upper]| format!("  [{}, {}]", digits(lower), digits(upper)));
    let value = match (value, why) {
        (Some(value), _) => format!("{}{}", digits(*value), interval.unwrap_or_default()),
        (None, why) => format!("no value: {}", why.as_deref().unwrap_or("no reason was given")),
    };
    let mut lines: Vec<(&str, String)> =
        details.iter().map(|(key, value)| (key.as_str(), shown(value))).collect();
    lines.push(("pairs", n[0].to_string()));
    lines.extend(extractor.as_ref().map(|extractor| ("network", extractor.clone())));
    lines.push(("protocol", protocol.clone()));
    let width = lines.iter().map(|(key, _)| key.len() + 2).max().unwrap_or(0).max(16);
    let lines: Vec<String> =
        lines.into_iter().map(|(key, value)| format!("  {key:width$}{value}\n")).collect();
    format!("{metric:9}  {value}\n{}", lines.concat())
}
