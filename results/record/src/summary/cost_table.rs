//! Costs of forwards on one machine, in plain steps of it: a file of `results/costs`, written by `specimen costs`.

use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use specimen_experiments::place::Places;
use specimen_foundation::text::counted;

/// Schema number of cost tables.
pub const SCHEMA: u32 = 1;

/// What forwards of a model and of its drafters cost on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostTable {
    /// Schema number.
    #[serde(deserialize_with = "known_schema")]
    pub schema: u32,
    /// The model that was timed.
    pub model: String,
    /// Where its weights are from: `embedded`, `published`, or `made` (random ones of the published sizes).
    pub weights: Weights,
    /// Model name of the GPU, or of the CPU where there is none.
    pub machine: String,
    /// `cpu` or `cuda:N`.
    pub device: String,
    /// Kind of number it computed in.
    pub dtype: String,
    /// Threads of the process.
    #[serde(deserialize_with = "positive")]
    pub threads: u32,
    /// Version of the loaded libtorch.
    pub libtorch: String,
    /// Day of the measurement, `YYYY-MM-DD`.
    pub date: String,
    /// Scale of guidance; a forward has two rows unless it is 1.
    #[serde(deserialize_with = "positive")]
    pub guidance: f64,
    /// Image tokens in the cache: the fewest and the most at which a step was timed.
    pub context: [u32; 2],
    /// Times that each cost was measured.
    #[serde(deserialize_with = "positive")]
    pub repetitions: u32,
    /// Bytes a second that the process reads from memory.
    #[serde(deserialize_with = "positive")]
    pub bytes_per_second: f64,
    /// Bytes that a plain step must read; absent where the catalog does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_bytes: Option<u64>,
    /// Median time of a plain step, in seconds.
    #[serde(deserialize_with = "positive")]
    pub step_seconds: f64,
    /// Its 95 % interval.
    pub step_seconds_ci95: [f64; 2],
    /// Cost of a plain step that asks for kernel by kernel; present where the steps of the table run as CUDA graphs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eager_step: Option<EagerCost>,
    /// Median time of a prefill, in seconds; absent in tables of before it was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefill_seconds: Option<f64>,
    /// Median time from an image's tokens to its picture, in seconds; absent likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture_seconds: Option<f64>,
    /// Most memory of the host that the process had, in bytes; absent likewise, and where the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_host_bytes: Option<u64>,
    /// Most memory of the GPU that libtorch had, in bytes: weights, caches of two images where steps are graphs, and
    /// activations. Absent likewise, and with the reason in `peak_device_unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_device_bytes: Option<u64>,
    /// Why that is not known; absent where it is, and likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_device_unknown: Option<String>,
    /// What copies between host and device cost; absent likewise, and on a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<Copies>,
    /// Costs of verifications, by rising number of nodes.
    #[serde(rename = "verification", deserialize_with = "rising")]
    pub verifications: Vec<Verification>,
    /// Costs of forwards of drafters.
    #[serde(rename = "drafter", default)]
    pub drafters: Vec<Draft>,
}

/// What copies between the host's pageable memory and the device cost; medians.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copies {
    /// Seconds of a copy of 4 KiB to the device.
    #[serde(deserialize_with = "positive")]
    pub small_to_device_seconds: f64,
    /// Seconds of one to the host.
    #[serde(deserialize_with = "positive")]
    pub small_to_host_seconds: f64,
    /// Bytes a second of a copy of 64 MiB to the device.
    #[serde(deserialize_with = "positive")]
    pub to_device_bytes_per_second: f64,
    /// Bytes a second of one to the host.
    #[serde(deserialize_with = "positive")]
    pub to_host_bytes_per_second: f64,
}

/// Where the weights of a timed model are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weights {
    /// In the program.
    Embedded,
    /// The published files.
    Published,
    /// Random numbers in the published sizes.
    Made,
}

/// The cost of a forward that asks for kernel by kernel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EagerCost {
    /// Median cost in plain steps of the table.
    #[serde(deserialize_with = "positive")]
    pub steps: f64,
    /// Its 95 % interval.
    pub ci95: [f64; 2],
}

/// The cost of a target forward over a tree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    /// Nodes, the root included; 2 or more.
    #[serde(deserialize_with = "at_least_two")]
    pub nodes: u32,
    /// Median cost in plain steps.
    #[serde(deserialize_with = "positive")]
    pub steps: f64,
    /// Its 95 % interval.
    pub ci95: [f64; 2],
    /// The same kernel by kernel; present where the steps of the table run as CUDA graphs, absent in older tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eager: Option<EagerCost>,
}

/// The cost of a forward of a drafter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// As specs name it: `eagle1`, `eagle3`, `model`.
    pub proposer: String,
    /// Median cost in plain steps.
    #[serde(deserialize_with = "positive")]
    pub steps: f64,
    /// Its 95 % interval.
    pub ci95: [f64; 2],
}

/// A file that cannot be read or is not a cost table.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct BadCosts {
    /// File, and its line where one is wrong.
    pub place: String,
    /// What was expected and found.
    pub reason: String,
}

impl CostTable {
    /// Reads the file at `path`.
    pub fn read(path: &Path) -> Result<CostTable, BadCosts> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| BadCosts {
            place: file.clone(),
            reason: format!(
                "{error}; `specimen costs --model NAME --out FILE` makes a table of this machine"
            ),
        })?;
        CostTable::parse(&file, &text)
    }

    /// Reads the text of a file.
    pub fn parse(file: &str, text: &str) -> Result<CostTable, BadCosts> {
        toml::from_str(text).map_err(|error| {
            let (place, reason) = Places::file(file, text).said(error.span(), error.message());
            BadCosts { place: place.to_string(), reason }
        })
    }

    /// The text of its file.
    ///
    /// # Panics
    /// Never: every value of a table has a form in TOML.
    pub fn text(&self) -> String {
        toml::to_string(self).expect("numbers, texts and lists of them have a form in TOML")
    }

    /// Cost of a verification of `nodes` nodes, root included, in plain steps: linear between measured sizes.
    pub fn verification(&self, nodes: f64) -> Result<f64, String> {
        let mut below = (1.0, 1.0);
        for cost in &self.verifications {
            let above = (f64::from(cost.nodes), cost.steps);
            if nodes <= above.0 {
                return Ok(below.1 + (above.1 - below.1) * (nodes - below.0) / (above.0 - below.0));
            }
            below = above;
        }
        Err(format!(
            "the cost table ends at {} nodes, a verification of this cell has {nodes:.1}; measure more with `specimen costs \
             {} --nodes`",
            below.0, self.model
        ))
    }

    /// Cost of a forward of the drafter `proposer`, in plain steps.
    pub fn draft(&self, proposer: &str) -> Result<f64, String> {
        let found = self.drafters.iter().find(|draft| draft.proposer == proposer);
        found
            .map(|draft| draft.steps)
            .ok_or_else(|| format!("the cost table has no [[drafter]] with proposer = \"{proposer}\""))
    }

    /// Share of its bound by memory bandwidth at which a plain step runs; `None` where the bytes are unknown.
    pub fn step_efficiency(&self) -> Option<f64> {
        Some(self.bound_s()? / self.step_seconds)
    }

    /// Least seconds of a plain step: its bytes over the bandwidth.
    pub fn bound_s(&self) -> Option<f64> {
        self.step_bytes.map(|bytes| bytes as f64 / self.bytes_per_second)
    }

    /// What was timed, where and when.
    pub fn words(&self) -> String {
        let &Self { ref model, ref dtype, ref machine, ref device, ref date, threads, .. } = self;
        let weights = match self.weights {
            Weights::Made => " with made weights",
            Weights::Embedded | Weights::Published => "",
        };
        let threads = counted(threads, "thread");
        let efficiency = self.step_efficiency().map_or_else(String::new, |share| {
            format!(", {:.0} % of what memory bandwidth allows", share * 100.0)
        });
        format!(
            "{model}{weights}, {dtype}, {device} of {machine}, {threads}, {date}; a plain step takes {:.3} ms{efficiency}",
            self.step_seconds * 1e3
        )
    }
}

/// Refuses another schema.
fn known_schema<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let found = u32::deserialize(from)?;
    if found == SCHEMA {
        return Ok(found);
    }
    Err(D::Error::custom(format!("schema is {found}, this program reads {SCHEMA}")))
}

/// Refuses what is not above 0.
fn positive<'de, D: Deserializer<'de>, T>(from: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Copy + Into<f64>,
{
    let found = T::deserialize(from)?;
    let value: f64 = found.into();
    if value > 0.0 && value.is_finite() {
        return Ok(found);
    }
    Err(D::Error::custom(format!("expected a finite number above 0, found {value}")))
}

/// Refuses the plain step, which costs 1 by definition.
fn at_least_two<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    match u32::deserialize(from)? {
        nodes @ 2.. => Ok(nodes),
        found => {
            Err(D::Error::custom(format!("expected 2 nodes or more, found {found}; one node costs 1 step")))
        }
    }
}

/// Refuses a list without entries, and one whose nodes do not rise.
fn rising<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Verification>, D::Error> {
    let found = Vec::<Verification>::deserialize(from)?;
    if found.is_empty() {
        return Err(D::Error::custom("expected one [[verification]] or more, found none"));
    }
    if let Some(pair) = found.windows(2).find(|pair| pair[1].nodes <= pair[0].nodes) {
        let (before, after) = (pair[0].nodes, pair[1].nodes);
        return Err(D::Error::custom(format!(
            "expected [[verification]] by rising `nodes`, found {after} after {before}"
        )));
    }
    Ok(found)
}
