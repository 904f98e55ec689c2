//! A resolved spec: every override applied, every axis multiplied out, every value checked. It is written
//! into a run's manifest as it stands. The text form is TOML; [`SpecText`](crate::parse::SpecText) reads it.

use serde::{Deserialize, Serialize};
use specimen_catalog::{
    FEWEST_IMAGES,
    memory::{self, Need},
    metric,
};
use specimen_datasets::CaptionPolicy;
use specimen_decode::method::{MethodConfig, Proposer};
pub use specimen_decode::pipeline::{FilterOrder, Sampling};
pub use specimen_foundation::dtype::Dtype;
use std::collections::BTreeMap;

use crate::{
    expect::{Expectation, PublishedRef},
    external::External,
    given_heads::GivenHead,
    names::BASELINE,
};

/// Schema number of specs.
pub const SCHEMA: u32 = 1;

/// What an experiment asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Schema number, [`SCHEMA`].
    pub schema: u32,
    /// Name of the run, also of its folder.
    pub name: String,
    /// The run's seed; every item's seed derives from it.
    pub seed: u64,
    /// What the run shows and what it cannot, in prose.
    #[serde(default)]
    pub analysis: String,
    /// Where the settings come from: papers, tables, code.
    #[serde(default)]
    pub sources: Vec<String>,
    /// The prompts.
    pub dataset: DatasetSpec,
    /// How timed cells are interleaved.
    pub timing: Timing,
    /// One entry per combination of model, cell and axis values; names are unique.
    pub cells: Vec<Cell>,
    /// What is computed from the images.
    #[serde(default)]
    pub metrics: Vec<MetricSpec>,
    /// What is looked at in a few images besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<DiagnosticSpec>,
    /// Published rows that are shown next to cells.
    #[serde(default)]
    pub published: Vec<PublishedRef>,
    /// Values that cells are expected to reach.
    #[serde(default)]
    pub expect: Vec<Expectation>,
}

/// The prompts of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetSpec {
    /// One of [`datasets`](crate::names::datasets), or the path of a prompt file.
    pub name: String,
    /// Upper bound of the number of prompts, at least 1; absent means all.
    pub limit: Option<usize>,
    /// With a seed, `limit` prompts are chosen by it instead of taking the first.
    pub subset_seed: Option<u64>,
    /// Only the prompts at these positions of what limit and subset leave, from 0, the end excluded; absent means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<[usize; 2]>,
    /// Which caption stands for an image that has several; absent means the dataset's own rule.
    pub caption: Option<CaptionPolicy>,
    /// Images per prompt, at least 1.
    pub samples: u32,
}

/// The network that generates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// One of [`models`](crate::names::models).
    pub name: String,
    /// Kind of the weights and activations.
    pub dtype: Dtype,
    /// `cpu`, `cuda` or `cuda:N`.
    pub device: String,
    /// Path of the weights, where they are not at the usual place.
    pub weights: Option<String>,
    /// Whether guidance has a third row, of the prompt's pictures alone, as in Anole's own decoder.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub three_way_guidance: bool,
    /// Whether steps run over buffers that stay where they are, on a GPU as CUDA graphs. Absent: on a GPU that can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graphs: Option<bool>,
    /// Heads of a user's own by their kind, in place of the model's standard ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub heads: BTreeMap<String, GivenHead>,
    /// Images whose trees the target scores in one forward, in `2..=`[`MOST_TOGETHER`]; absent: one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    /// Tokens along an edge of a picture of the narrow network with made weights that takes this model's place. No spec
    /// says this; `specimen rehearse` does, and it marks the run, whose values are no results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsed: Option<u32>,
}

/// Images that are decoded together at most.
pub const MOST_TOGETHER: u32 = 256;

impl ModelSpec {
    /// Images that are decoded together, at least 1.
    pub fn n_together(&self) -> usize {
        self.batch.unwrap_or(1) as usize
    }

    /// What it takes in memory in `dtype` with the head that drafts, as [`memory::need`]; `None` where no entry says.
    pub fn need(&self, head: Option<(&str, Option<&str>)>, dtype: Dtype) -> Option<Need> {
        let need = memory::need(&self.name, head, dtype.n_bytes())?;
        let need = if self.three_way_guidance { need.of_three_rows() } else { need };
        Some(need.of_batch(self.n_together()))
    }

    /// What is loaded for it: the same whatever the batch.
    pub fn without_batch(&self) -> Self {
        Self { batch: None, ..self.clone() }
    }
}

/// How timed cells are interleaved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Images per cell that a worker makes before its first measured one.
    pub warmup: u32,
    /// Prompts per block, at least 1: the unit of work on which all timed cells alternate.
    pub blocks: u32,
}

impl Timing {
    /// Images that warm a cell up; `is_own`: this program makes them. Another process starts with its first, which never
    /// counts.
    pub fn n_warmup(&self, is_own: bool) -> u32 {
        self.warmup.max(u32::from(!is_own))
    }
}

/// One method on one model with one sampling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Unique: the base name, and in brackets what sets the cell apart from others of it.
    pub name: String,
    /// The name of the `[[cell]]` it comes from.
    pub base: String,
    /// Axis values by the axis' short name, as in the brackets of the name.
    #[serde(default)]
    pub params: BTreeMap<String, serde_json::Value>,
    /// The network.
    pub model: ModelSpec,
    /// How logits become the distribution that tokens are drawn from.
    pub sampling: Sampling,
    /// The decoding method; that of plain decoding where `external` makes the images.
    pub method: MethodConfig,
    /// The process that makes the images instead of this program's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<External>,
    /// Where the images were taken in from, if nothing was made here. No spec says this; `specimen import` does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// Whether the cell is timed, interleaved with the others; otherwise only its images count.
    pub timed: bool,
}

/// Images that were made elsewhere, by a table that says how long each took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Imported {
    /// Name of the table's file, without its folder.
    pub table: String,
    /// Hex blake3 of the table.
    pub table_blake3: String,
}

/// One metric to compute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricSpec {
    /// One of [`METRICS`](specimen_catalog::METRICS).
    pub name: String,
    /// With fewer images the value is null, with the reason; absent: see [`MetricSpec::fewest_images`].
    pub min_n: Option<usize>,
    /// Under which protocol: its name or the path of its `.toml` file, for the metrics that have several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// What the images are compared with: pictures, features or statistics, below the data folder or an absolute
    /// path; for the metrics that compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real: Option<String>,
    /// Weights of the protocol's network, likewise a path; absent: where they are looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<String>,
    /// Where the protocol's network computes: `cpu`, `cuda` or `cuda:N`; absent: on the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

/// A look into a few images of every cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiagnosticSpec {
    /// One of [`DIAGNOSTICS`](crate::names::DIAGNOSTICS).
    pub name: String,
    /// Images of each cell, the first of the plan, in `1..=`[`MOST_DIAGNOSED`](crate::names::MOST_DIAGNOSED).
    pub images: usize,
}

impl DatasetSpec {
    /// All prompts of a dataset, with one image each.
    pub fn whole(name: &str, caption: Option<CaptionPolicy>) -> Self {
        Self { name: name.to_owned(), limit: None, subset_seed: None, part: None, caption, samples: 1 }
    }
}

impl MetricSpec {
    /// A metric that needs nothing else.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), min_n: None, protocol: None, real: None, weights: None, device: None }
    }

    /// With fewer images its values are null. Of a metric that compares distributions it is [`FEWEST_IMAGES`] unless the spec
    /// says otherwise, of others there is none; never below 2.
    pub fn fewest_images(&self) -> Option<usize> {
        let compares = metric(&self.name).is_some_and(|known| known.compares);
        self.min_n.or(compares.then_some(FEWEST_IMAGES)).map(|n| n.max(2))
    }

    /// The values it gives, as tables and expectations call them: `target-nll`, `fid:lantern`, and for `prdc` one for
    /// each of its four.
    pub fn values(&self) -> Vec<String> {
        let of_protocol = |name: &str| match &self.protocol {
            None => name.to_owned(),
            Some(protocol) => {
                let file = protocol.rsplit('/').next().unwrap_or(protocol);
                format!("{name}:{}", file.strip_suffix(".toml").unwrap_or(file))
            }
        };
        match metric(&self.name) {
            Some(known) if !known.values.is_empty() => {
                known.values.iter().map(|name| of_protocol(name)).collect()
            }
            _ => vec![of_protocol(&self.name)],
        }
    }
}

impl Cell {
    /// Whether the images are another program's.
    pub fn is_of_another_program(&self) -> bool {
        self.external.is_some() || self.imported.is_some()
    }

    /// How the images are made, in one line: the method in full, or the command of another program.
    pub fn described(&self) -> String {
        match &self.external {
            Some(external) => {
                let command = external.command_line();
                format!("external: {}", command.split_whitespace().collect::<Vec<_>>().join(" "))
            }
            None => self.method.canonical(),
        }
    }

    /// Whether this program decodes, drafts nothing and keeps to the order: one token per forward of the target.
    pub fn is_autoregressive(&self) -> bool {
        let MethodConfig { drafter, frontier, .. } = &self.method;
        !self.is_of_another_program() && drafter.proposer == Proposer::None && frontier.is_none()
    }
}

impl Spec {
    /// The cell that `cell`'s speedup is relative to: the timed cell [`BASELINE`] of the same model and
    /// sampling, or of an external cell the one that it names; who is named so is its own. `None` where there is none,
    /// or `cell` is not timed.
    pub fn baseline_of(&self, cell: &Cell) -> Option<&Cell> {
        cell.timed.then(|| self.baselines(cell).find(|other| other.timed)).flatten()
    }

    /// The cell with whose images those of `cell` are compared in pairs: as [`Spec::baseline_of`], and neither need be
    /// timed.
    pub fn image_baseline_of(&self, cell: &Cell) -> Option<&Cell> {
        let timed = self.baselines(cell).find(|other| other.timed);
        timed.or_else(|| self.baselines(cell).next())
    }

    /// The cells of the base name of `cell`'s baseline with the same model and sampling.
    fn baselines(&self, cell: &Cell) -> impl Iterator<Item = &Cell> {
        let name = self.baseline_name(cell);
        self.cells.iter().filter(move |other| {
            other.base == name && other.model == cell.model && other.sampling == cell.sampling
        })
    }

    /// The `[[cell]]` that `cell` is to be compared with.
    pub fn baseline_name<'c>(&self, cell: &'c Cell) -> &'c str {
        let named = |cell: &'c Cell| cell.external.as_ref().and_then(|external| external.baseline.as_deref());
        let is_named = self.cells.iter().any(|other| {
            other.external.as_ref().is_some_and(|external| external.baseline.as_ref() == Some(&cell.base))
        });
        if is_named { &cell.base } else { named(cell).unwrap_or(BASELINE) }
    }

    /// The models that this program runs, in the order in which cells first use them.
    pub fn models(&self) -> Vec<&ModelSpec> {
        let mut models: Vec<&ModelSpec> = Vec::new();
        for cell in self.cells.iter().filter(|cell| !cell.is_of_another_program()) {
            if !models.contains(&&cell.model) {
                models.push(&cell.model);
            }
        }
        models
    }

    /// What decides the images and timings of a run, as JSON: schema, seed, dataset, timing and cells, but
    /// not prose, metrics, published rows or expectations, which can change without a new run. The crate of
    /// records keeps the same parts of a stored spec.
    pub fn identity(&self) -> serde_json::Value {
        let Self { schema, seed, dataset, timing, cells, .. } = self;
        serde_json::json!({
            "cells": cells, "dataset": dataset, "schema": schema, "seed": seed, "timing": timing
        })
    }
}
