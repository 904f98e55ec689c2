//! What else the machine did while an attempt ran: one row after each block, and the environment of the
//! attempt as a whole. Beside the records, never in them, and free of host names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::document::plain_document;
use crate::{Digest, Document};

/// One line of `machine.jsonl`. A quantity that the system does not tell is null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineRow {
    /// Schema number.
    pub schema: u32,
    /// The block that ended.
    pub block: u32,
    /// Seconds since the attempt began.
    pub seconds: f64,
    /// Load over 1, 5 and 15 minutes.
    pub load_average: Option<[f64; 3]>,
    /// Frequency in MHz, mean over cores.
    pub cpu_mhz: Option<f64>,
    /// Share of all cores that computed since the row before (since the attempt began, in the first row),
    /// in [0, 1].
    pub busy: Option<f64>,
    /// This process's part of `busy`.
    pub own: Option<f64>,
    /// The part of all other processes.
    pub others: Option<f64>,
}

impl Document for MachineRow {
    const KIND: &'static str = "machine row";

    fn schema(&self) -> u32 {
        self.schema
    }

    fn check(&self) -> Result<(), String> {
        for (name, share) in [("busy", self.busy), ("own", self.own), ("others", self.others)] {
            if let Some(share) = share
                && !(0.0..=1.0).contains(&share)
            {
                return Err(format!("`{name}` is {share}, a share is in [0, 1]"));
            }
        }
        if self.seconds < 0.0 {
            return Err(format!("`seconds` is {}, before the attempt began", self.seconds));
        }
        Ok(())
    }
}

/// `env.json` of an attempt: what its bytes and timings depend on, written when it begins and again when it
/// ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Schema number.
    pub schema: u32,
    /// Model name of the CPU.
    pub host_cpu: String,
    /// CPU features that decide speed and rounding; absent in runs of programs that did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_features: Option<Vec<String>>,
    /// Digest of the program's file; absent as above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Digest>,
    /// Version of the loaded libtorch; absent as above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub libtorch: Option<String>,
    /// The GPUs that cells compute on, with their driver; empty without, absent as above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<Vec<String>>,
    /// What a cluster gave the attempt; absent outside of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation: Option<Allocation>,
    /// How the steps of each model ran; absent while the attempt runs, when it was killed, and as above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<ModelSteps>>,
    /// How fast the baselines' models decode here; absent as the steps are, and where nothing was timed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plain_steps: Vec<PlainStep>,
    /// Load over 1, 5 and 15 minutes; null where the system does not tell.
    pub load_average: Option<[f64; 3]>,
    /// Frequency of each core in MHz; empty where the system does not tell.
    pub cpu_mhz: Vec<f64>,
    /// Largest resident size of the worker in mebibytes; null where the system does not tell.
    pub peak_memory_mb: Option<u64>,
    /// Seconds the attempt took; 0 while it runs, and when it was killed.
    pub seconds: f64,
}

plain_document!(Environment, "environment");

impl Environment {
    /// What computed, as far as a ratio of times must not mix it: the GPUs, or the processor where there are
    /// none.
    pub fn device(&self) -> String {
        match self.gpus.as_deref() {
            Some(gpus @ [_, ..]) => gpus.join(" and "),
            _ => self.host_cpu.clone(),
        }
    }
}

/// How the decode steps of a model ran in an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelSteps {
    /// Name of the model.
    pub model: String,
    /// Kind of number it computed in.
    pub dtype: String,
    /// `cpu` or `cuda:N`.
    pub device: String,
    /// How they ran.
    pub ran: StepKind,
    /// CUDA graphs that were captured.
    pub n_captured: u64,
    /// Steps that could not be captured and ran kernel by kernel.
    pub n_refused: u64,
    /// Graphs that were captured, or refused, while an image was made whose times count. The time is in those of the image.
    pub n_while_timed: u64,
    /// Nanoseconds that these took.
    pub ns_while_timed: u64,
}

/// A decode step without drafts, and what this machine allows, timed in a warm-up of a timed baseline. All seconds are
/// medians over the same first places of one image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlainStep {
    /// Name of the baseline's cell.
    pub cell: String,
    /// Name of the model.
    pub model: String,
    /// Kind of number it computed in.
    pub dtype: String,
    /// Seconds.
    pub step_s: f64,
    /// Bytes that the step reads over the bandwidth of memory as measured: the least it can take where weights do not stay in
    /// caches. Absent where the bytes are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_s: Option<f64>,
    /// On a CPU, the same model in the other kind of number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<OtherStep>,
}

/// A step of the same model in another kind of number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherStep {
    /// The kind of number.
    pub dtype: String,
    /// Seconds, or null with `why`.
    pub step_s: Option<f64>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The other kind of number is this much faster, or a warning is due.
const FASTER: f64 = 1.1;

/// Below this share of what memory bandwidth allows a warning is due.
const SHARE: f64 = 0.5;

impl PlainStep {
    /// Seconds of the other kind of number.
    fn other_s(&self) -> Option<(&str, f64)> {
        let other = self.other.as_ref()?;
        Some((&other.dtype, other.step_s?))
    }

    /// The step and what it is compared with, in words.
    pub fn words(&self) -> String {
        let ms = |seconds: f64| format!("{:.3} ms", seconds * 1e3);
        let share =
            |bound: f64| format!(", {:.0} % of what memory bandwidth allows", 100.0 * bound / self.step_s);
        let other = match (&self.other, self.other_s()) {
            (_, Some((dtype, other))) => format!(", {} in {dtype}", ms(other)),
            (Some(OtherStep { dtype, why: Some(why), .. }), None) => {
                format!(", in {dtype} not timed ({why})")
            }
            _ => String::new(),
        };
        let bound = self.bound_s.map(share).unwrap_or_default();
        format!("a plain step of {} in {} takes {}{other}{bound}", self.model, self.dtype, ms(self.step_s))
    }

    /// What is to be known before a speedup over this baseline is believed, if anything is.
    pub fn warning(&self) -> Option<String> {
        let share = |of: f64| format!("{:.0} %", 100.0 * of / self.step_s);
        let of_other = self.other_s().filter(|(_, other)| self.step_s > FASTER * other);
        let of_other =
            of_other.map(|(dtype, other)| format!("{} of what {dtype} reaches here", share(other)));
        let of_bound = self.bound_s.filter(|bound| *bound < SHARE * self.step_s);
        let of_bound = of_bound.map(|bound| format!("{} of what memory bandwidth allows", share(bound)));
        let parts: Vec<String> = [of_other, of_bound].into_iter().flatten().collect();
        let runs_at = parts.join(", and at ");
        (!parts.is_empty())
            .then(|| format!("{} runs at {runs_at}: speedups are over a slow baseline", self.cell))
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        let seconds = [Some(self.step_s), self.bound_s, self.other_s().map(|(_, seconds)| seconds)];
        match seconds.into_iter().flatten().find(|seconds| seconds.is_nan() || *seconds <= 0.0) {
            Some(found) => Err(format!("{}: a plain step of {found} seconds", self.cell)),
            None => Ok(()),
        }
    }
}

/// How decode steps run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StepKind {
    /// Their tensors are made anew in each step.
    Eager,
    /// Over buffers that stay where they are, without a graph: on a CPU, and where none could be captured.
    Buffers,
    /// Over such buffers, as CUDA graphs.
    Graphs,
}

/// What a cluster gave an attempt, and who else was there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Allocation {
    /// Number of the job.
    pub job: u64,
    /// How often the cluster started the job again.
    pub n_restarts: u32,
    /// Cores of the task; null where the cluster does not tell.
    pub cores: Option<u32>,
    /// Indices of its GPUs on the node; null where it has none.
    pub gpus: Option<String>,
    /// Other jobs on the node when a timed attempt began; null where nothing is timed or the queue did not
    /// answer.
    pub neighbours: Option<u32>,
}
