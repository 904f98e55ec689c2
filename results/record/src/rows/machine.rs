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
    #[must_use]
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
