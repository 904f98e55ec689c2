//! The arguments that say which experiment is meant, for every subcommand that takes a spec.

use std::path::PathBuf;

use clap::Args;
use specimen_datasets::data_root::DataRoot;
use specimen_experiments::{error::SpecError, parse::SpecText, spec::Spec};

/// A spec and its overrides.
#[derive(Debug, Args)]
pub struct SpecArgs {
    /// The experiment, a TOML file
    pub spec: PathBuf,
    /// Set a value of the spec, as in `cell.sd-chain3.drafter.depth=5`; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Multiply cells over values, as in `cell.sd-chain3.drafter.depth=2,3,4`; may be repeated
    #[arg(long, value_name = "PATH=VALUE,VALUE")]
    pub sweep: Vec<String>,
    /// Take only the first N prompts; short for `--set dataset.limit=N`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
}

impl SpecArgs {
    /// Reads the spec, applies the overrides in the order set, sweep, limit, and checks every value.
    ///
    /// # Errors
    /// The first thing that is wrong, with the place in the file or the argument.
    pub(crate) fn resolve(&self) -> Result<Spec, SpecError> {
        let mut text = SpecText::read(&self.spec)?;
        for argument in &self.set {
            text.set(argument)?;
        }
        for argument in &self.sweep {
            text.sweep(argument)?;
        }
        if let Some(limit) = self.limit {
            text.set(&format!("dataset.limit={limit}"))?;
        }
        text.resolve()
    }
}

/// The folder of a run that has none given: `results/runs/<name>`.
pub(crate) fn default_out(name: &str) -> PathBuf {
    ["results", "runs", name].iter().collect()
}

/// Where data lies, judged from the working folder.
pub(crate) fn data_root() -> Option<DataRoot> {
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    DataRoot::find(&here)
}
