//! `specimen protocols`: the protocols that are in the program, and what each one computes.

use clap::Args;
use serde::Serialize;
use specimen_catalog::{
    entry,
    hub::{Places, places::Found},
};
use specimen_measure::{
    metrics::PairMetric, pair_protocol::PairProtocol, protocol::Protocol, protocol_head::Head,
};

use crate::{
    console::{Console, answer, answer_json},
    requirements,
    shared_args::Format,
};

/// What is said of the network, and of its weights, where there is none.
const NO_NETWORK: &str = "none";

/// Which one.
#[derive(Debug, Args)]
pub struct ProtocolsArgs {
    /// A protocol, the tool it agrees with (`torch-fidelity`), or the path of a .toml file: print its recipe [default: list all]
    #[arg(value_name = "NAME|FILE")]
    pub name: Option<String>,
}

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct ListAnswer {
    schema: u32,
    protocols: Vec<Line>,
}

/// One protocol.
#[derive(Serialize)]
struct Line {
    name: String,
    /// Another name that `--protocol` takes.
    alias: Option<String>,
    /// The tool whose values it agrees with.
    tool: Option<String>,
    about: String,
    source: String,
    metrics: Vec<MetricLine>,
    /// From a decoded picture to what the network sees, step by step; of a protocol of pairs, what is compared.
    pixels: Vec<String>,
    /// `none` without one.
    network: String,
    weights: Weights,
}

/// A metric that a protocol defines.
#[derive(Serialize)]
struct MetricLine {
    name: &'static str,
    /// `NAME@DIGEST12`, which is printed with every value.
    recipe: String,
    /// What the protocol fixes of it.
    settings: serde_json::Value,
}

/// The weights of a protocol's network.
#[derive(Serialize)]
struct Weights {
    /// `here`, `unconverted`, `absent`, or `none` where there is no network.
    status: &'static str,
    /// Path of the file, or the command that brings it.
    detail: String,
}

/// Lists protocols, or prints the recipe of one.
pub(crate) fn protocols(args: &ProtocolsArgs, console: &Console) -> anyhow::Result<()> {
    let places = requirements::places();
    if let Some(name) = &args.name {
        let one = match PairProtocol::is_meant(name) {
            true => line_of_pairs(&PairProtocol::find(name)?, &places),
            false => line(&Protocol::find(name)?, &places),
        };
        return match console.format() {
            Format::Json => answer_json(&ListAnswer { schema: 1, protocols: vec![one] }),
            Format::Human => answer(&recipe(&one)),
        };
    }
    let all: Result<Vec<Line>, _> = Protocol::names()
        .map(|name| Ok::<_, anyhow::Error>(line(&Protocol::named(name)?, &places)))
        .chain(PairProtocol::names().map(|name| Ok(line_of_pairs(&PairProtocol::named(name)?, &places))))
        .collect();
    match console.format() {
        Format::Json => answer_json(&ListAnswer { schema: 1, protocols: all? }),
        Format::Human => answer(&list(&all?)),
    }
}

fn line(protocol: &Protocol, places: &Places) -> Line {
    let recipe = protocol.recipe();
    let tables = serde_json::to_value(recipe).expect("a recipe is plain data");
    let metric = |metric: &specimen_measure::metrics::Metric| MetricLine {
        name: metric.name,
        recipe: protocol.label(metric.table),
        settings: tables[metric.table].clone(),
    };
    let network = &recipe.network;
    Line {
        metrics: recipe.metrics().into_iter().map(metric).collect(),
        pixels: recipe.pixels.steps().iter().map(ToString::to_string).collect(),
        network: format!("{}, layer {}, in {}", network.name, network.layer, network.dtype.name()),
        weights: weights(recipe.fetched(), places),
        ..Line::of_head(protocol.head())
    }
}

/// A protocol of pairs has no steps: pictures are compared as they are decoded.
fn line_of_pairs(protocol: &PairProtocol, places: &Places) -> Line {
    let recipe = protocol.recipe();
    let tables = serde_json::to_value(recipe).expect("a recipe is plain data");
    let metric = |metric: &PairMetric| MetricLine {
        name: metric.name,
        recipe: protocol.label(metric.name),
        settings: tables[metric.name].clone(),
    };
    let mut line = Line {
        metrics: recipe.metrics().into_iter().map(metric).collect(),
        pixels: vec!["both pictures of a pair are compared as they are, and have one size".to_owned()],
        ..Line::of_head(protocol.head())
    };
    if let Some(network) = recipe.network() {
        (line.network, line.weights) = (network.to_owned(), weights(network, places));
    }
    line
}

impl Line {
    /// What the file says of itself; no metric and no network.
    fn of_head(head: &Head) -> Self {
        Self {
            name: head.name().to_owned(),
            alias: head.alias().map(str::to_owned),
            tool: head.tool().map(str::to_owned),
            about: head.about().to_owned(),
            source: head.source().to_owned(),
            metrics: Vec::new(),
            pixels: Vec::new(),
            network: NO_NETWORK.to_owned(),
            weights: Weights { status: NO_NETWORK, detail: "no network".to_owned() },
        }
    }
}

/// Whether the weights of `network` and of what it needs are here: of several files the first that is not ready.
fn weights(network: &str, places: &Places) -> Weights {
    let Ok(known) = entry(network) else {
        return Weights { status: "absent", detail: format!("no network is named `{network}`") };
    };
    let mut here = Vec::new();
    for needed in known.with_needs() {
        match places.weights(needed) {
            Some((_, Found::Ready(path))) => here.push(path.display().to_string()),
            Some((_, Found::Unconverted { path, to })) => {
                let detail = format!("specimen convert '{}' '{}'", path.display(), to.display());
                return Weights { status: "unconverted", detail };
            }
            _ => return Weights { status: "absent", detail: format!("specimen data fetch {network}") },
        }
    }
    Weights { status: "here", detail: here.join(" and ") }
}

/// A protocol in a few lines: what it is, its pixels, its metrics and network, its weights.
fn list(protocols: &[Line]) -> String {
    let mut text = String::new();
    for Line { name, alias, tool, about, metrics, pixels, network, weights, .. } in protocols {
        let alias = alias.as_ref().map_or_else(String::new, |alias| format!(" (or {alias})"));
        let agrees = tool.as_ref().map_or_else(String::new, |tool| format!("  agrees with {tool}"));
        let metrics: Vec<&str> = metrics.iter().map(|metric| metric.name).collect();
        text.push_str(&format!("{name}{alias}{agrees}\n"));
        text.push_str(&format!("    {}\n", first_sentence(about)));
        text.push_str(&format!("    pixels: {}\n", pixels.join("; ")));
        text.push_str(&format!("    {}: {network}\n", metrics.join(", ")));
        if weights.status != NO_NETWORK {
            text.push_str(&format!("    weights {}: {}\n", weights.status, weights.detail));
        }
    }
    text.push_str("\nThe recipe of one: `specimen protocols NAME`. Which command replaces which tool: docs/metrics.md of the repository\n");
    text
}

/// The first sentence of a text, in one line and without its full stop.
fn first_sentence(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // A capital or a name in code begins a sentence: `et al. 2023` goes on.
    let ends = |at: &usize| words[at + 2..].starts_with(|first: char| first.is_uppercase() || first == '`');
    let end = words.match_indices(". ").map(|(at, _)| at).find(ends);
    words[..end.unwrap_or(words.len())].trim_end_matches('.').to_owned()
}

/// Everything that a value under the protocol depends on.
fn recipe(protocol: &Line) -> String {
    let Line { name, alias, tool, about, source, metrics, pixels, network, weights } = protocol;
    let mut text = format!("{name}\n{about}\n\n");
    for (key, value) in [("agrees with", tool), ("also called", alias), ("facts from", &Some(source.clone()))]
    {
        if let Some(value) = value {
            text.push_str(&format!("{key:<14}{value}\n"));
        }
    }
    text.push_str("\npixels, of each picture as it is decoded to RGB bytes\n");
    for (at, step) in pixels.iter().enumerate() {
        text.push_str(&format!("  {}. {step}\n", at + 1));
    }
    text.push_str(&format!("\nnetwork\n  {network}\n"));
    if weights.status != NO_NETWORK {
        text.push_str(&format!("  weights {}: {}\n", weights.status, weights.detail));
    }
    text.push_str("\nmetrics, each with the digest of its recipe\n");
    let width = metrics.iter().map(|metric| metric.name.len()).max().unwrap_or(0);
    for MetricLine { name, recipe, settings } in metrics {
        let settings: Vec<String> =
            settings.as_object().into_iter().flatten().filter(says_something).map(setting).collect();
        text.push_str(&format!("  {name:<width$}  {recipe}  {}\n", settings.join(", ")));
    }
    text
}

fn says_something((_, value): &(&String, &serde_json::Value)) -> bool {
    !value.is_null() && value.as_str() != Some("")
}

/// `k = 3`
fn setting((key, value): (&String, &serde_json::Value)) -> String {
    match value {
        serde_json::Value::String(text) => format!("{key} = {text}"),
        other => format!("{key} = {other}"),
    }
}
