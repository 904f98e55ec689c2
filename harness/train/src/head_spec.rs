//! What a head of any model is trained on and how long: one TOML file. Model, dataset, sampling and the trial's drafter are
//! written as in the spec of an experiment, and checked by its grammar.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use specimen_decode::{method::MethodConfig, pipeline::Sampling};
use specimen_experiments::{
    parse::SpecText,
    schema::spec_schema,
    spec::{DatasetSpec, Dtype, ModelSpec},
};
use specimen_foundation::{bounded_read::read_text, failure, failure::FailureMessage, place::Places};
use specimen_models::heads::described_head::HeadKind;
use toml::de::DeTable;

use crate::{
    head_loss::{HeadLoss, Redundancy},
    spec::{MAX_SPEC_BYTES, Schedule},
};

/// A training of one head.
#[derive(Clone, Debug)]
pub struct HeadSpec {
    /// Where it was read.
    pub path: PathBuf,
    /// The target.
    pub model: ModelSpec,
    /// The prompts of its images.
    pub dataset: DatasetSpec,
    /// How its images are drawn, and at which guidance distributions are matched.
    pub sampling: Sampling,
    /// How the trial decodes: with the head, losslessly.
    pub trial: MethodConfig,
    /// Everything else.
    pub rest: Rest,
}

/// What only a training says.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rest {
    /// Name of the training.
    pub name: String,
    /// Seeds initial weights, images, their order and noise.
    pub seed: u64,
    /// What it shows and what it cannot, in prose.
    #[serde(default)]
    pub analysis: String,
    /// Where the settings come from.
    #[serde(default)]
    pub sources: Vec<String>,
    /// The head.
    pub head: HeadChoice,
    /// What it is trained on.
    pub loss: LossSpec,
    /// Length and rate.
    pub schedule: Schedule,
    /// Steps between saves of the state.
    pub save_every: u64,
    /// Prompts whose images are held out, the first of the dataset.
    pub n_validation: usize,
    /// Folder that `specimen data features` wrote, read in place of running the target; absent: the target runs in every
    /// step.
    #[serde(default)]
    pub features: Option<PathBuf>,
}

impl Rest {
    /// What a training says besides the tables that it shares with specs. Read from its text, so that an error has a place.
    fn read(text: &str) -> Result<Rest, toml::de::Error> {
        let mut table = DeTable::parse(text)?;
        for shared in SHARED.iter().chain(&["trial"]) {
            table.get_mut().remove(*shared);
        }
        Rest::deserialize(toml::Deserializer::from(table))
    }
}

/// Which head.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeadChoice {
    /// `eagle1` or `eagle3`.
    pub proposer: Kind,
    /// The layers that an EAGLE-3 head reads, 0-based; absent: the published ones.
    pub taps: Option<[usize; 3]>,
    /// Weights to begin with, in the layout of its file; absent: random ones.
    pub from: Option<PathBuf>,
}

/// How a head is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// EAGLE-1.
    Eagle1,
    /// EAGLE-3.
    Eagle3,
}

/// What a head's loss is made of, and the noise on what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LossSpec {
    /// Drafts that are unrolled on the head's own predictions: 1 in EAGLE-1, 7 in EAGLE-3.
    pub depth: usize,
    /// Weight of a draft relative to the one before: 0.8 in EAGLE-3.
    pub depth_decay: f64,
    /// Weight of the smooth L1 between predicted and true feature: 1 in EAGLE-1; absent in EAGLE-3.
    pub feature_weight: Option<f64>,
    /// Weight of the soft cross-entropy with the caption and without: 0.1 in EAGLE-1, 1 in EAGLE-3.
    pub row_weight: f64,
    /// Weight of the soft cross-entropy of the guided distributions: 0 in both.
    pub guided_weight: f64,
    /// Weight of the cross-entropy of the image's own tokens: 0 in both.
    pub hard_ce_weight: f64,
    /// CASCADE's weights; absent: none.
    pub redundancy: Option<Redundancy>,
    /// Half-width of the uniform noise on what the head reads of the target: `0.1 * 512 / length` in EAGLE-1.
    pub feature_noise: f64,
}

/// What a training shares with an experiment, as the grammar of specs reads it.
const FRAME: &str = "schema = 1\nname = \"train\"\nseed = 0\ntiming = { warmup = 0, blocks = 1 }\n\
                     cell = [{ name = \"ar\" }]\n";

/// The tables that both have.
const SHARED: [&str; 3] = ["model", "dataset", "sampling"];

impl HeadSpec {
    /// The JSON Schema (draft 2020-12) of such a file. What it shares with an experiment is as the schema of specs has it.
    pub fn schema() -> Value {
        let spec = spec_schema();
        let mut schema = schemars::schema_for!(Rest).to_value();
        schema["title"] = "a training of a head of specimen".into();
        let mut add = |name: &str, kind: Value| {
            schema["properties"][name] = kind;
            schema["required"].as_array_mut().expect("some keys are required").push(name.into());
        };
        for name in SHARED {
            // A spec may have several models, a training has one.
            let kind = &spec["properties"][name];
            add(name, kind["anyOf"].get(0).unwrap_or(kind).clone());
        }
        let mut trial = spec["properties"]["cell"]["items"].clone();
        trial["required"] = json!(["drafter"]);
        trial["properties"].as_object_mut().expect("a cell is a table").remove("name");
        add("trial", trial);
        schema
    }

    /// Reads `path`.
    pub fn read(path: &Path) -> Result<Self, FailureMessage> {
        let wrong = |reason: String| failure!(Spec: "{}: {reason}", path.display());
        let text = read_text(path, MAX_SPEC_BYTES)
            .map_err(|error| wrong(format!("cannot read the training specification: {error}")))?;
        Self::parse(path, &text)
    }

    /// Reads `path` if it is a training of a head and no experiment: it has `[head]` and `[schedule]`. `None` where it is
    /// none, or no file of text.
    pub fn if_one(path: &Path) -> Result<Option<Self>, FailureMessage> {
        let Ok(text) = read_text(path, MAX_SPEC_BYTES) else { return Ok(None) };
        let Ok(table) = toml::from_str::<toml::Table>(&text) else { return Ok(None) };
        let is_one = ["head", "schedule"].iter().all(|key| table.contains_key(*key));
        is_one.then(|| Self::parse(path, &text)).transpose()
    }

    /// Reads `text`, which messages call `path`.
    pub fn parse(path: &Path, text: &str) -> Result<Self, FailureMessage> {
        let wrong = |reason: String| failure!(Spec: "{}: {reason}", path.display());
        let misread = |error: toml::de::Error| {
            let places = Places::file(&path.display().to_string(), text);
            let (place, reason) = places.said(error.span(), error.message());
            failure!(Spec: "{place}: {reason}")
        };
        let mut table: toml::Table = toml::from_str(text).map_err(misread)?;
        let mut frame: toml::Table = toml::from_str(FRAME).expect("the frame is TOML");
        for name in SHARED {
            let shared = table
                .remove(name)
                .ok_or_else(|| wrong(format!("it has no [{name}]; write it as in a spec")))?;
            frame.insert(name.to_owned(), shared);
        }
        let trial = table.remove("trial").ok_or_else(|| {
            wrong(
                "it has no [trial]; write `trial = { drafter = { … } }` as a [[cell]] of a spec has it"
                    .to_owned(),
            )
        })?;
        let mut cell =
            trial.as_table().cloned().ok_or_else(|| wrong("trial: expected a table".to_owned()))?;
        cell.insert("name".to_owned(), toml::Value::from("trial"));
        frame["cell"].as_array_mut().expect("it is a list").push(cell.into());
        let rest = Rest::read(text).map_err(misread)?;
        let text = toml::to_string(&frame).expect("TOML is written as it was read");
        let resolved = SpecText::parse("the training specification", &text).and_then(|text| text.resolve());
        let resolved = resolved.map_err(|error| wrong(error.fault.to_string()))?;
        let cell =
            resolved.cells.into_iter().find(|cell| cell.name == "trial").expect("the frame has a trial");
        let (model, sampling, trial) = (cell.model, cell.sampling, cell.method);
        let spec = Self { path: path.to_owned(), model, dataset: resolved.dataset, sampling, trial, rest };
        spec.check().map_err(wrong)?;
        Ok(spec)
    }

    fn check(&self) -> Result<(), String> {
        let Rest { loss, schedule, head, n_validation, save_every, .. } = &self.rest;
        let at_least_1 = [
            ("schedule.batch", schedule.batch),
            ("schedule.n_steps", schedule.n_steps),
            ("loss.depth", loss.depth as u64),
            ("n_validation", *n_validation as u64),
            ("save_every", *save_every),
        ];
        if let Some((name, _)) = at_least_1.iter().find(|(_, value)| *value == 0) {
            return Err(format!("{name} is 0, expected at least 1"));
        }
        let weights = [
            ("loss.depth_decay", loss.depth_decay),
            ("loss.feature_weight", loss.feature_weight.unwrap_or(0.0)),
            ("loss.row_weight", loss.row_weight),
            ("loss.guided_weight", loss.guided_weight),
            ("loss.hard_ce_weight", loss.hard_ce_weight),
            ("loss.feature_noise", loss.feature_noise),
            ("schedule.learning_rate", schedule.learning_rate),
            ("schedule.weight_decay", schedule.weight_decay),
        ];
        if let Some((name, found)) = weights.iter().find(|(_, value)| !(0.0..1e9).contains(value)) {
            return Err(format!("{name} is {found}, expected a number of at least 0"));
        }
        if head.taps.is_some() && head.proposer == Kind::Eagle1 {
            return Err("head.taps are of an EAGLE-3 head; leave them out for `eagle1`".to_owned());
        }
        let proposer = self.trial.drafter.proposer;
        if format!("{proposer:?}").to_lowercase() != self.rest.head.kind().as_written() {
            return Err(format!(
                "trial.drafter.proposer is not `{}`, which is trained",
                self.rest.head.kind().as_written()
            ));
        }
        if self.model.three_way_guidance {
            return Err("model.three_way_guidance: heads are trained on two rows; leave it out".to_owned());
        }
        if self.model.dtype == Dtype::F16 {
            return Err("model.dtype is f16, whose gradients vanish; expected f32 or bf16".to_owned());
        }
        Ok(())
    }

    /// The loss that trains the head.
    pub fn loss(&self) -> HeadLoss {
        let LossSpec {
            depth, depth_decay, feature_weight, row_weight, guided_weight, hard_ce_weight, ..
        } = self.rest.loss;
        let (guidance, redundancy) = (self.sampling.guidance, self.rest.loss.redundancy);
        HeadLoss {
            depth,
            depth_decay,
            feature_weight,
            row_weight,
            guided_weight,
            guidance,
            redundancy,
            hard_ce_weight,
        }
    }

    /// What decides the weights that come out, in one line, but for what is in the files that it names: a state is only taken
    /// up again under the same.
    pub fn identity(&self) -> String {
        let Rest { seed, head, loss, schedule, n_validation, .. } = &self.rest;
        let head = HeadChoice { from: None, ..head.clone() };
        serde_json::json!([self.model, self.dataset, self.sampling, seed, head, loss, schedule, n_validation])
            .to_string()
    }
}

impl HeadChoice {
    /// How it is built.
    pub fn kind(&self) -> HeadKind {
        match self.proposer {
            Kind::Eagle1 => HeadKind::Eagle1,
            Kind::Eagle3 => HeadKind::Eagle3,
        }
    }
}
