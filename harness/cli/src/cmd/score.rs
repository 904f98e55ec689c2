//! `specimen score`: metrics of a run's images, again or under further protocols.

use std::path::PathBuf;

use clap::Args;
use specimen_catalog::{METRICS, metric};
use specimen_experiments::spec::MetricSpec;
use specimen_foundation::{fail, failure, failure::FailureMessage, names::suggestion};
use specimen_measure::{pair_protocol::PairProtocol, protocol::Protocol};
use specimen_record::RunDir;
use specimen_runner::{
    driver::{events::DriverEvent, rescore::rescore},
    process::stop_request::StopRequest,
    score::asks_model,
};

use crate::{
    cmd::{report, score_cells::score_cells},
    console::Console,
    progress::Progress,
    seal_check::refuse_rehearsal,
    spec_args::data_root,
};

/// What to score, and how.
#[derive(Debug, Args)]
pub struct ScoreArgs {
    /// Folder of a complete run
    pub run: PathBuf,
    /// Add the metrics of this protocol, a built-in one or a .toml file, to those of the run's spec; may be repeated
    #[arg(long, value_name = "NAME|FILE")]
    pub protocol: Vec<String>,
    /// Add only these: metrics of --protocol, or metrics that need none. Those of the run's spec are computed again too
    #[arg(long, value_name = "NAME,NAME…", value_delimiter = ',')]
    pub metric: Vec<String>,
    /// What images are compared with: pictures, features or statistics, as for `specimen fid`
    #[arg(long, value_name = "PATH", requires = "protocol")]
    pub real: Option<PathBuf>,
    /// The network's weights, instead of where they are looked for
    #[arg(long, value_name = "FILE", requires = "protocol")]
    pub weights: Option<PathBuf>,
    /// Where the network of a protocol computes, and the model that scores the tokens of imported images: `cpu`, `cuda` or
    /// `cuda:N` [default: cpu]
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// With fewer images than this in a cell a distance that is added is null, with the reason [default: that of the run's
    /// spec, else 500]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pub min_n: Option<u32>,
    /// Compare the images of two cells in pairs, A with B, and print the values; the run stays as it is. By the metrics
    /// of --protocol and --metric, or by those of the run's spec
    #[arg(long, value_name = "A,B", conflicts_with_all = ["real", "min_n", "quality", "rows", "costs"])]
    pub cells: Option<String>,
    #[command(flatten)]
    pub look: report::Look,
}

/// Scores, writes tables and figures again, and prints the table.
pub(crate) fn score(args: &ScoreArgs, console: &Console) -> anyhow::Result<()> {
    let stop = StopRequest::on_signals()?;
    // As in `run`: the same digits.
    specimen_weights::use_threads(1);
    let run = RunDir::open(&args.run)?;
    refuse_rehearsal(&run)?;
    let add = args.metrics()?;
    if let Some(cells) = &args.cells {
        return score_cells(&run, cells, &add, &stop, console);
    }
    let mut progress = Progress::new(console, &[]);
    let scored =
        rescore(&run, &add, data_root().as_ref(), &stop, &mut |stage: DriverEvent| progress.on(&stage));
    drop(progress);
    let outcome = scored?;
    let summary = report::write(&run, &args.look, &[], console)?;
    report::show(&summary, console)?;
    Ok(outcome.check()?)
}

impl ScoreArgs {
    /// A metric that no protocol defines.
    fn without_protocol(&self, name: &str) -> MetricSpec {
        let metric = MetricSpec::named(name);
        let device = self.device.clone().filter(|_| asks_model(&metric));
        MetricSpec { device, min_n: self.min_n_of(name), ..metric }
    }

    /// What the arguments say of the fewest images of a metric.
    fn min_n_of(&self, name: &str) -> Option<usize> {
        let compares = metric(name).is_some_and(|known| known.compares);
        self.min_n.filter(|_| compares).map(|n| n as usize)
    }

    /// An option that none of `metrics` takes is refused: it would change nothing.
    fn refuse_unused(&self, metrics: &[MetricSpec]) -> Result<(), FailureMessage> {
        let is_taken = |takes: fn(&MetricSpec) -> bool| metrics.iter().any(takes);
        let options = [
            (
                "--real",
                self.real.is_some(),
                is_taken(|m| m.real.is_some()),
                "metrics that compare with pictures",
            ),
            (
                "--weights",
                self.weights.is_some(),
                is_taken(|m| m.weights.is_some()),
                "a --protocol with a network",
            ),
            (
                "--device",
                self.device.is_some(),
                is_taken(|m| m.device.is_some()),
                "a --protocol with a network, and for target-nll of imported images",
            ),
            (
                "--min-n",
                self.min_n.is_some(),
                is_taken(|m| m.min_n.is_some()),
                "distances, such as fid or fd-scenes, which --protocol or --metric must name",
            ),
        ];
        let Some((option, _, _, what)) =
            options.iter().find(|(_, is_given, is_taken, _)| *is_given && !is_taken)
        else {
            return Ok(());
        };
        Err(failure!(Usage: "{option} is for {what}; leave it out"))
    }

    /// The metrics that the protocols define and the arguments ask for.
    fn metrics(&self) -> anyhow::Result<Vec<MetricSpec>> {
        let needs_nothing =
            |name: &&String| METRICS.iter().any(|metric| metric.name == **name && !metric.needs.protocol());
        let mut metrics: Vec<MetricSpec> =
            self.metric.iter().filter(needs_nothing).map(|name| self.without_protocol(name)).collect();
        let wanted: Vec<&String> = self.metric.iter().filter(|name| !needs_nothing(name)).collect();
        if let Some(first) = wanted.first().filter(|_| self.protocol.is_empty()) {
            let known: Vec<&str> = METRICS.iter().map(|metric| metric.name.as_str()).collect();
            let why = match known.contains(&first.as_str()) {
                true => format!("--metric {first} needs --protocol, which defines it"),
                false => format!("there is no metric `{first}`, {}", suggestion(first, known)),
            };
            fail!(Usage: "{why}");
        }
        let absolute = |path: &Option<PathBuf>| -> anyhow::Result<Option<String>> {
            let path = path.as_ref().map(std::path::absolute).transpose()?;
            Ok(path.map(|path| path.to_string_lossy().into_owned()))
        };
        let (real, weights) = (absolute(&self.real)?, absolute(&self.weights)?);
        let mut defined = Vec::new();
        for name in &self.protocol {
            if PairProtocol::is_meant(name) {
                let protocol = PairProtocol::find(name)?;
                let has_network = protocol.recipe().network().is_some();
                for metric in protocol.recipe().metrics() {
                    defined.push(metric.name);
                    if self.metric.is_empty() || wanted.iter().any(|wanted| *wanted == metric.name) {
                        metrics.push(MetricSpec {
                            protocol: Some(name.clone()),
                            weights: weights.clone().filter(|_| has_network),
                            device: self.device.clone().filter(|_| has_network),
                            ..MetricSpec::named(metric.name)
                        });
                    }
                }
                continue;
            }
            let protocol = Protocol::find(name)?;
            for metric in protocol.recipe().metrics() {
                let (metric, compares) = (metric.name, metric.compares());
                defined.push(metric);
                if !self.metric.is_empty() && !wanted.iter().any(|wanted| *wanted == metric) {
                    continue;
                }
                if compares && real.is_none() {
                    let why = format!(
                        "{metric} under {name} compares the images with others: give --real, or leave it out with --metric"
                    );
                    fail!(Usage: "{why}");
                }
                metrics.push(MetricSpec {
                    min_n: self.min_n_of(metric),
                    protocol: Some(name.clone()),
                    real: real.clone().filter(|_| compares),
                    weights: weights.clone(),
                    device: self.device.clone(),
                    ..MetricSpec::named(metric)
                });
            }
        }
        if let Some(unknown) = wanted.iter().find(|wanted| !defined.contains(&wanted.as_str())) {
            let known = defined.join(", ");
            fail!(Usage: "no protocol given defines `{unknown}`, only {known}");
        }
        self.refuse_unused(&metrics)?;
        Ok(metrics)
    }
}
