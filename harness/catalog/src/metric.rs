//! What is known of a metric without computing it: one TOML file each in `metrics/`. Specs, commands, tables and the
//! runner read it; `specimen-measure` and, for `target-nll`, the runner compute the values.

use std::sync::LazyLock;

use serde::Deserialize;

/// Fewest images of a metric that compares distributions, unless `min_n` says otherwise.
pub const FEWEST_IMAGES: usize = 500;

/// A quantity computed from the images or tokens of a cell, or from any two sets of pictures.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Its name in specs and commands, which is that of its file.
    pub name: String,
    /// What it is, in one line.
    pub what: String,
    /// Keys of the works to cite, in `citations/`; a test holds that there are some.
    #[serde(default)]
    pub cite: Vec<String>,
    /// Which values are better.
    pub direction: Direction,
    /// Unit of its values; empty for a plain number.
    #[serde(default)]
    pub unit: String,
    /// The least and the largest value that it can have, where it has both: no interval goes beyond.
    pub bounds: Option<[i32; 2]>,
    /// What its table in a spec must say besides the name.
    pub needs: Needs,
    /// Whether it compares distributions. Such a value is biased for few images: with fewer than [`FEWEST_IMAGES`] it is
    /// null, unless `min_n` says otherwise.
    #[serde(default)]
    pub compares: bool,
    /// Names of its values where there are several.
    #[serde(default)]
    pub values: Vec<String>,
    /// The repository of the tool that computes it, if another one does.
    #[serde(default)]
    pub tool: String,
    /// Its command; absent for a metric that only the images of a run have.
    pub command: Option<MetricCommand>,
}

/// Which values of a metric are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Small ones, as of a distance.
    Lower,
    /// Large ones, as of a score.
    Higher,
}

/// What a metric's table in a spec must say besides its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Needs {
    /// Nothing: there is one way to compute it.
    Nothing,
    /// The protocol.
    Protocol,
    /// The protocol, and what to compare with.
    ProtocolAndReal,
    /// Nothing of its table; each image is compared with the baseline's of the same prompt and seed.
    Baseline,
    /// The protocol; each image is compared with the baseline's of the same prompt and seed.
    ProtocolAndBaseline,
    /// Nothing of its table: another tool computes it, and `specimen import-scores` takes its scores in.
    Import,
}

impl Needs {
    /// Whether a protocol must be named.
    pub fn protocol(self) -> bool {
        matches!(self, Self::Protocol | Self::ProtocolAndReal | Self::ProtocolAndBaseline)
    }

    /// Whether another tool computes it.
    pub fn import(self) -> bool {
        self == Self::Import
    }

    /// Whether what the images are compared with must be named.
    pub fn real(self) -> bool {
        self == Self::ProtocolAndReal
    }

    /// Whether each image is compared with the baseline's of the same prompt and seed, so that the baseline itself has no
    /// value.
    pub fn baseline(self) -> bool {
        matches!(self, Self::Baseline | Self::ProtocolAndBaseline)
    }
}

/// The subcommand of a metric.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricCommand {
    /// Its line in the help.
    pub about: String,
    /// The protocol where none is named.
    pub protocol: String,
    /// Whether statistics can stand for the reference and for the other side.
    #[serde(default)]
    pub statistics: bool,
    /// Whether it takes captions beside the pictures.
    #[serde(default)]
    pub captions: bool,
    /// Whether every picture has a value of its own, which `--per-image` writes.
    #[serde(default)]
    pub per_image: bool,
    /// Whether it compares pictures in pairs by a network, so that its weights and its device can be named.
    #[serde(default)]
    pub network: bool,
    /// Help of `--ci` where the interval is a special one.
    pub interval: Option<String>,
    /// Settings of a protocol that options replace.
    #[serde(default)]
    pub settings: Vec<Setting>,
}

/// A setting of a protocol that an option replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// Number and size of the subsets of KID.
    Subsets,
    /// The seed of subsets and splits.
    Seed,
    /// Which neighbour a ball reaches.
    K,
}

/// Name and text of every file.
const SOURCES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/metrics.rs"));

/// Every metric, in the order of their names.
pub static METRICS: LazyLock<Vec<Metric>> = LazyLock::new(|| {
    let parse = |&(name, text): &(&str, &str)| {
        toml::from_str(text)
            .unwrap_or_else(|error| panic!("metrics/{name}.toml is tested to be a metric: {error}"))
    };
    SOURCES.iter().map(parse).collect()
});

/// The metric called `name`.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_the_name_of_its_file_and_a_value_belongs_to_one_metric() {
        let mut values: Vec<&str> = Vec::new();
        for (metric, (name, _)) in METRICS.iter().zip(SOURCES) {
            assert_eq!(metric.name, *name);
            assert_eq!(metric.command.is_some(), metric.needs.protocol(), "{name}");
            let is_imported = !metric.tool.is_empty() && !metric.values.is_empty();
            assert_eq!(is_imported, metric.needs.import(), "{name}");
            let own = metric.values.iter().map(String::as_str);
            values.extend(std::iter::once(metric.name.as_str()).chain(own));
        }
        let n = values.len();
        values.sort_unstable();
        values.dedup();
        assert_eq!(values.len(), n);
    }
}
