//! `merged/summary.json`: what a run measured, cell by cell. A number that could not be computed is null, with the reason
//! next to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rows::metric::check_reasoned;
use crate::{CellTimingQuality, Digest, Document, Family, PlainStep, TimingQuality};

/// The schema number of summaries.
pub const SUMMARY_SCHEMA: u32 = 2;

/// The summary of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Schema number.
    pub schema: u32,
    /// The resolved spec.
    pub spec: Value,
    /// Name of the run.
    pub name: String,
    /// The run's identity.
    pub plan_digest: Digest,
    /// Digest of the merged records.
    pub result_digest: Digest,
    /// Name of the cells that others are compared with, in words; each cell names its own.
    pub baseline: String,
    /// Where the models of the first cell computed ("cpu", "cuda:0").
    pub device: String,
    /// Kind of number they computed in.
    pub dtype: String,
    /// Threads of one worker.
    pub threads: u32,
    /// Model name of the CPU.
    pub cpu_model: String,
    /// CPU features that decide speed and rounding ("avx512_bf16", "amx_bf16").
    pub cpu_features: Vec<String>,
    /// Model names of the GPUs; empty on a CPU run.
    pub gpus: Vec<String>,
    /// Whether the times can be trusted; absent where that was not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing_quality: Option<TimingQuality>,
    /// The cost table behind the projections of the cells, in words; only where a report was asked for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<String>,
    /// The cells, in the spec's order.
    pub cells: Vec<CellSummary>,
}

/// What a method promises about the target's distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Guarantee {
    /// It samples from it.
    Exact,
    /// It trades some of it for speed.
    Relaxed,
    /// This program cannot tell: the images are another's.
    Unknown,
}

/// Whose images a cell holds, where they are not this program's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Another process made them during the run, timed by this program's clock.
    External,
    /// They were made elsewhere and imported; their times are as reported, of an unknown clock.
    Imported,
}

/// How tokens were drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Temperature.
    pub temperature: f64,
    /// Tokens kept; 0 for all.
    pub top_k: u32,
    /// Mass kept, in (0, 1].
    pub top_p: f64,
    /// Scale of classifier-free guidance; 1 for none.
    pub guidance: f64,
    /// Whether tokens are drawn by noise of the image, the same for all lossless methods; absent for false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub coupled: bool,
}

/// One cell: a method on a model and a dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellSummary {
    /// Name of the cell.
    pub id: String,
    /// Name of the target model.
    pub model: String,
    /// Name of the dataset.
    pub dataset: String,
    /// Proposer and shape in words ("eagle1 static tiny_13"; "none").
    pub drafter: String,
    /// Acceptance rule and scheduler in words ("ar", "lossless", "cascade + vvs").
    pub method: String,
    /// The kind of method; absent in runs that were summarised before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
    /// What it promises.
    pub guarantee: Guarantee,
    /// Who made the images; absent where this program did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Id of the cell it is compared with: same model, kind of number, device and sampling, without a
    /// drafter. Its own id for a baseline; absent where the run has none.
    pub baseline: Option<String>,
    /// Kind of number it computed in.
    pub dtype: String,
    /// Where it computed.
    pub device: String,
    /// How tokens were drawn.
    pub sampling: Sampling,
    /// Hyper-parameters by name.
    pub params: BTreeMap<String, Value>,
    /// Images made.
    pub n_images: u64,
    /// Items that gave none.
    pub n_failed: u64,
    /// Its measures by name; one that does not apply to it is not there.
    pub measures: BTreeMap<String, Reading>,
    /// Accepted over tested at each depth, `[depth]`; null where nothing was tested.
    pub acceptance_by_depth: Vec<Option<f64>>,
    /// How well it was timed; absent where that was not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing_quality: Option<CellTimingQuality>,
    /// Metrics of the images.
    pub metrics: Vec<MetricSummary>,
}

/// A number of a cell, or the reason why there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// The number; times are in seconds, shares are not in percent.
    pub value: Option<f64>,
    /// Its 95 % interval; absent below six observations, and of counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
    /// The independent observations behind a ratio of times; absent of a baseline, whose own ratio is 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observations: Option<Observations>,
    /// Why there is no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Images behind it; known once it is asked for.
    #[serde(skip)]
    pub n: u64,
    /// Protocol of a metric: values under different ones are not compared.
    #[serde(skip)]
    pub protocol: Option<String>,
}

/// How many independent observations a number is over, and of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Observations {
    /// Their number.
    pub n: u64,
    /// What one is.
    pub of: ObservedUnit,
}

/// What is observed as one: its images are not independent of one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ObservedUnit {
    /// A prompt, with all its samples and repeats.
    Prompts,
    /// A batch of images that were decoded together and share one time.
    Batches,
}

/// One metric of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricSummary {
    /// Name of the metric.
    pub metric: String,
    /// Protocol, with the digest of whatever it depends on.
    pub protocol: String,
    /// Value in `unit`.
    pub value: Option<f64>,
    /// 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// Images that went into it.
    pub n: u64,
    /// Why there is no value.
    pub why: Option<String>,
    /// What a reader must know before comparing the value, in words; absent where there is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Unit, empty for a pure number.
    pub unit: String,
    /// Which direction is better; absent where neither is.
    pub higher_is_better: Option<bool>,
    /// Comparison with the baseline cell, prompt by prompt; absent for the baseline itself, for metrics without a value for
    /// each image, and where fewer than two prompts have a value in both cells.
    pub vs_baseline: Option<VsBaseline>,
}

/// A paired comparison with the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VsBaseline {
    /// This cell minus the baseline: mean of the paired differences. Two scores within 1e-5 of the largest count as equal.
    pub difference: f64,
    /// Its standard error.
    pub se: Option<f64>,
    /// Its 95 % interval; absent below six pairs.
    pub ci95: Option<[f64; 2]>,
    /// Difference over standard error.
    pub z: Option<f64>,
    /// The true difference that a t-test at 5 % on this many pairs finds with 80 % power.
    pub detectable: Option<f64>,
    /// Pairs.
    pub n: u64,
}

impl MetricSummary {
    /// Its value with what is behind it.
    pub fn reading(&self) -> Reading {
        Reading {
            value: self.value,
            ci95: self.ci95,
            observations: None,
            why: self.why.clone(),
            n: self.n,
            protocol: Some(self.protocol.clone()),
        }
    }
}

impl Reading {
    /// A number without more.
    pub fn of(value: f64) -> Reading {
        Reading { value: Some(value), ..Reading::default() }
    }

    /// None, with the reason.
    pub fn absent(why: &str) -> Reading {
        Reading { why: Some(why.to_owned()), ..Reading::default() }
    }
}

impl fmt::Display for Observations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.of, self.n) {
            (ObservedUnit::Prompts, 1) => f.write_str("1 prompt"),
            (ObservedUnit::Batches, 1) => f.write_str("1 batch"),
            (of, n) => write!(f, "{n} {of}"),
        }
    }
}

impl fmt::Display for ObservedUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prompts => "prompts",
            Self::Batches => "batches",
        })
    }
}

impl Summary {
    /// Whether all images were imported.
    pub fn is_imported(&self) -> bool {
        !self.cells.is_empty() && self.cells.iter().all(|cell| cell.origin == Some(Origin::Imported))
    }

    /// The drift of the times in words; of several baselines it is that of the one that moved most. `None` where none is
    /// known.
    pub fn drift_in_words(&self) -> Option<String> {
        let is_timed = |cell: &&CellSummary| cell.value("speedup").or(cell.value("speedup_e2e")).is_some();
        let timed = self.cells.iter().filter(|cell| cell.is_baseline()).filter(is_timed);
        let whose = if timed.count() > 1 { "a baseline's" } else { "the baseline's" };
        self.timing_quality.as_ref()?.drift_in_words(whose)
    }

    /// Why the speedups of this run are over slow baselines, a sentence each without a full stop.
    pub fn slow_baselines(&self) -> Vec<String> {
        let steps = self.timing_quality.iter().flat_map(|quality| &quality.plain_steps);
        steps.filter_map(PlainStep::warning).collect()
    }

    /// The cell of this id.
    pub fn cell(&self, id: &str) -> Option<&CellSummary> {
        self.cells.iter().find(|cell| cell.id == id)
    }

    /// Model names of what the images were made on: the GPUs and the CPU, or the CPU alone.
    pub fn machine(&self) -> String {
        match self.gpus.is_empty() {
            true => self.cpu_model.clone(),
            false => format!("{} beside {}", self.gpus.join(", "), self.cpu_model),
        }
    }

    /// What makes the images of a cell, as the spec has it; its drafter and method where the spec does not
    /// name it.
    pub fn made_by(&self, cell: &CellSummary) -> String {
        let cells = self.spec.get("cells").and_then(Value::as_array);
        let spec = cells.and_then(|cells| cells.iter().find(|spec| spec["name"] == cell.id.as_str()));
        spec.map_or_else(
            || format!("{} {}", cell.drafter, cell.method),
            |spec| match spec.get("external").or(spec.get("imported")) {
                Some(elsewhere) => elsewhere.to_string(),
                None => spec["method"].to_string() + &given_head(spec).unwrap_or_default(),
            },
        )
    }

    /// What a reader must know of the metrics: each note once, behind the cells that have it.
    pub fn notes_of_metrics(&self) -> Vec<String> {
        let mut notes: Vec<(&str, Vec<&str>)> = Vec::new();
        for cell in &self.cells {
            let of_cell: BTreeSet<&String> = cell.metrics.iter().flat_map(|metric| &metric.notes).collect();
            for note in of_cell {
                match notes.iter_mut().find(|(known, _)| known == note) {
                    Some((_, cells)) => cells.push(&cell.id),
                    None => notes.push((note, vec![&cell.id])),
                }
            }
        }
        notes.into_iter().map(|(note, cells)| format!("{}: {note}", cells.join(", "))).collect()
    }
}

/// The head of a user's own that drafts in the cell of this spec, in words; those that only other cells use are none of it.
fn given_head(spec: &Value) -> Option<String> {
    let drafter = &spec["method"]["drafter"];
    let head = spec["model"]["heads"].get(drafter["proposer"].as_str()?)?;
    let digest = head["blake3"].as_str().or(head["path"].as_str())?;
    drafter["weights"].is_null().then(|| format!(" with the head {digest}"))
}

impl CellSummary {
    /// Whether it is what others are compared with.
    pub fn is_baseline(&self) -> bool {
        self.baseline.as_ref() == Some(&self.id)
    }

    /// The value of a measure; `None` where there is none.
    pub fn value(&self, measure: &str) -> Option<f64> {
        self.measures.get(measure)?.value
    }

    /// What it has of a measure, which is not one of its metrics.
    pub fn measured(&self, measure: &str) -> Reading {
        match measure {
            "n_failed" => Reading { n: self.n_images, ..Reading::of(self.n_failed as f64) },
            _ => Reading { n: self.n_images, ..self.measures.get(measure).cloned().unwrap_or_default() },
        }
    }

    /// Why it has no value of a measure; a general sentence where nothing is said.
    pub fn why_not(&self, measure: &str) -> String {
        let said = self.measures.get(measure).and_then(|reading| reading.why.clone());
        said.unwrap_or_else(|| "the summary gives no reason".to_owned())
    }

    /// Accepted draft tokens a step as tables show them, and what to say of the number: papers print 1 for
    /// plain decoding (CASCADE's Table 1), which drafts nothing and whose count is 0. So is that of rows side by side that
    /// draft nothing (ZipAR), of which no such convention is known.
    pub fn accepted_in_tables(&self) -> (Option<f64>, Option<&'static str>) {
        match self.value("accepted_per_step") {
            Some(_) if self.drafter == "none" => {
                (Some(1.0), Some("1 by convention; it drafts nothing, so the count is 0"))
            }
            Some(0.0) if self.family == Some(Family::Rows) && self.method == "none" => {
                (Some(0.0), Some("it drafts nothing; the tokens of all rows count in tokens / forward"))
            }
            counted => (counted, None),
        }
    }
}

impl Document for Summary {
    const KIND: &'static str = "summary";
    const SCHEMAS: [u32; 2] = [SUMMARY_SCHEMA, SUMMARY_SCHEMA];
    const RENEWED_BY: &'static str = "`specimen score RUN` forms it again from the rows of the run";

    fn schema(&self) -> u32 {
        self.schema
    }

    fn check(&self) -> Result<(), String> {
        if let Some(quality) = &self.timing_quality {
            quality.check().map_err(|reason| format!("timing_quality: {reason}"))?;
        }
        let mut ids = std::collections::BTreeSet::new();
        for cell in &self.cells {
            let id = &cell.id;
            if !ids.insert(id) {
                return Err(format!("cell `{id}` is there twice"));
            }
            let at = |reason| format!("cell `{id}`: {reason}");
            for (name, reading) in &cell.measures {
                check_reasoned(name, reading.value.is_some(), reading.why.as_deref()).map_err(at)?;
            }
            if let Some(quality) = &cell.timing_quality {
                quality.check().map_err(|reason| at(format!("timing_quality: {reason}")))?;
            }
            for metric in &cell.metrics {
                check_reasoned(&metric.metric, metric.value.is_some(), metric.why.as_deref()).map_err(at)?;
            }
        }
        Ok(())
    }
}
