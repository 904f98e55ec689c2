//! `manifest.json`: the first file of a run to be written and the last to be sealed. It says what was
//! asked, with which program, weights, data and machine.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::files::document::plain_document;
use crate::{Digest, Timestamp};

/// The manifest of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Schema number.
    pub schema: u32,
    /// Name of the run.
    pub name: String,
    /// The command line as it was typed.
    pub argv: Vec<String>,
    /// The resolved spec: defaults, overrides and axes applied.
    pub spec: Value,
    /// Digest of the canonical JSON of `spec`.
    pub spec_digest: Digest,
    /// Digest of the plan: the run's identity.
    pub plan_digest: Digest,
    /// The sources that the program was built from; in runs of earlier versions the repository around the
    /// working folder.
    pub git: Git,
    /// Files of weights that were loaded.
    pub weights: Vec<WeightsDigest>,
    /// What is odd about them, such as another commit than the one that the catalog names; absent where nothing is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights_notes: Vec<String>,
    /// Datasets that were read.
    pub datasets: Vec<DatasetDigest>,
    /// The machine.
    pub hardware: Hardware,
    /// The programs.
    pub software: Software,
    /// Kind of number the models compute in ("f32", "bf16").
    pub dtype: String,
    /// Where they compute ("cpu", "cuda:0").
    pub device: String,
    /// Threads of one worker.
    pub threads: u32,
    /// The environment variables this program reads, by name; never their values.
    pub environment: BTreeMap<String, EnvironmentFlag>,
    /// When the run started.
    pub started: Timestamp,
    /// Present once the run has ended and was merged.
    pub sealed: Option<Seal>,
}

plain_document!(Manifest, "manifest");

impl Manifest {
    /// Whether the images were imported, so that no command resumes the run.
    pub fn is_imported(&self) -> bool {
        let cells = self.spec["cells"].as_array();
        cells.into_iter().flatten().any(|cell| cell["imported"].is_object())
    }

    /// Whether the run is a rehearsal: narrow networks with made weights took the place of its models, and none of its values
    /// is a result. Its spec says so of each model.
    pub fn is_rehearsal(&self) -> bool {
        let cells = self.spec["cells"].as_array();
        cells.into_iter().flatten().any(|cell| !cell["model"]["rehearsed"].is_null())
    }
}

/// The sources that the program was built from, as its build found them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Git {
    /// Commit; absent where the program was built outside of its own repository.
    pub sha: Option<String>,
    /// Whether files differed from it; absent where unknown.
    pub dirty: Option<bool>,
}

/// One file of weights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightsDigest {
    /// What it is to the run ("target", "drafter eagle1").
    pub name: String,
    /// File name without its folder.
    pub file: String,
    /// Digest of its bytes.
    pub blake3: Digest,
}

/// One dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatasetDigest {
    /// Its name.
    pub name: String,
    /// Digest of its prompts.
    pub digest: Digest,
    /// Prompts used.
    pub n: u64,
    /// The policy that chose among several captions of an image, where there are several.
    pub caption: Option<String>,
    /// The files that were read; none for a generated set.
    pub files: Vec<FileDigest>,
}

/// One file of a dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileDigest {
    /// File name without its folder.
    pub file: String,
    /// Digest of its bytes on disk.
    pub blake3: Digest,
}

/// The machine a run ran on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hardware {
    /// Model name of the CPU.
    pub cpu_model: String,
    /// Logical cores.
    pub cores: u32,
    /// CPU features that decide speed and rounding ("avx2", "avx512f", "avx512_bf16", "amx_bf16").
    pub cpu_features: Vec<String>,
    /// Memory in mebibytes.
    pub memory_mb: u64,
    /// Model names of the GPUs.
    pub gpus: Vec<String>,
}

/// Versions of the programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Software {
    /// This program.
    pub specimen: String,
    /// Version of the loaded libtorch; absent in a build without it.
    pub libtorch: Option<String>,
    /// The compiler, where known.
    pub rustc: Option<String>,
}

/// What is noted of an environment variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EnvironmentFlag {
    /// It was set.
    Set,
    /// It was not.
    Unset,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    /// When it ended.
    pub finished: Timestamp,
    /// Records merged.
    pub n_records: u64,
    /// Digest of the merged records.
    pub result_digest: Digest,
    /// [`Checksums::digest`](crate::Checksums::digest) of `checksums.json`, which must be there then; absent
    /// in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_digest: Option<Digest>,
}
