//! The arguments that say which experiment is meant, for every subcommand that takes a spec.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use specimen_datasets::data_root::DataRoot;
use specimen_experiments::{error::SpecError, parse::SpecText};

/// A spec and its overrides.
#[derive(Debug, Args)]
pub struct SpecArgs {
    /// The experiment: a TOML file, or the name of a spec in the program (`specimen specs list`)
    pub spec: PathBuf,
    /// Set a value of the spec, as in `cell.sd-chain3.drafter.depth=5`; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Make a cell for each value, as in `cell.sd-chain3.drafter.depth=2,3,4`; may be repeated
    #[arg(long, value_name = "PATH=VALUE,VALUE")]
    pub sweep: Vec<String>,
    /// Take only the first N prompts; short for `--set dataset.limit=N`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
}

impl SpecArgs {
    /// The spec as written, with the `[slurm]` of a profile and then the overrides applied, in the order set, sweep,
    /// limit; its values are not yet checked.
    pub(crate) fn text(&self, profile: Option<&Path>) -> Result<SpecText, SpecError> {
        let mut text = SpecText::read(&self.spec)?;
        if let Some(profile) = profile {
            text.overlay_slurm(profile)?;
        }
        for argument in &self.set {
            text.set(argument)?;
        }
        for argument in &self.sweep {
            text.sweep(argument)?;
        }
        if let Some(limit) = self.limit {
            text.limit(limit)?;
        }
        Ok(text)
    }
}

/// Where the workers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExecutorName {
    /// Processes of this machine.
    Local,
    /// Job arrays of a cluster.
    Slurm,
}

/// Where the workers run, and how many shards they get.
#[derive(Debug, Args)]
pub struct ExecutorArgs {
    /// Where the workers run
    #[arg(long, value_enum, default_value_t = ExecutorName::Local)]
    pub executor: ExecutorName,
    /// A file with a `[slurm]` table; its keys replace those of the spec
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// Minimum number of shards; the results do not depend on it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub shards: u32,
}

/// The folder of a run that has none given: `results/runs/<name>`.
pub(crate) fn default_out(name: &str) -> PathBuf {
    ["results", "runs", name].iter().collect()
}

/// The data folder, searched from the working folder.
pub(crate) fn data_root() -> Option<DataRoot> {
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    DataRoot::find(&here)
}
