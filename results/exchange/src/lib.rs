//! A run in the files of other tools: [`EXPORTERS`] lists them, one file of this crate each. What is written is in the
//! summary and the manifest of the run; nothing is computed, and a quantity that the run does not have is left out.
//!
//! `values` says what is written of a cell, `yaml` writes one of the formats.

mod error;
mod hf_eval;
mod mlflow;
mod values;
mod wandb;
mod yaml;

use std::path::{Path, PathBuf};

use specimen_record::{Manifest, RunDir, Summary, read_document, write_atomic};

pub use error::ExchangeError;

/// A tool, and what is written for it.
#[derive(Clone, Copy, Debug)]
pub struct Exporter {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is written, in one line.
    pub what: &'static str,
    /// What to do with the files, said from the folder that they are in.
    pub next: &'static str,
    /// The files: paths below the folder, and what is in them. The folder is absolute.
    files: fn(&Finished, &Path) -> Vec<(PathBuf, String)>,
}

/// Every tool, in the order of the help.
pub const EXPORTERS: &[Exporter] = &[wandb::EXPORTER, mlflow::EXPORTER, hf_eval::EXPORTER];

/// What is read of a run.
struct Finished {
    manifest: Manifest,
    summary: Summary,
}

/// Writes `run` for a tool into the new folder `out`, and returns the paths of the files.
///
/// # Errors
/// A run without a summary, a folder that is there already and not empty, a disk that takes no more.
pub fn export(run: &RunDir, exporter: &Exporter, out: &Path) -> Result<Vec<PathBuf>, ExchangeError> {
    if !run.summary().exists() {
        return Err(ExchangeError::NoSummary { path: run.summary() });
    }
    let finished =
        Finished { manifest: read_document(&run.manifest())?, summary: read_document(&run.summary())? };
    let fault = |source| ExchangeError::Io { path: out.to_owned(), source };
    let out = std::path::absolute(out).map_err(fault)?;
    let is_taken = match out.read_dir() {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => out.exists(),
    };
    if is_taken {
        return Err(ExchangeError::Taken { path: out });
    }
    let mut written = Vec::new();
    for (below, text) in (exporter.files)(&finished, &out) {
        let path = out.join(below);
        let folder = path.parent().expect("a file is in a folder");
        std::fs::create_dir_all(folder)
            .map_err(|source| ExchangeError::Io { path: folder.to_owned(), source })?;
        write_atomic(&path, text.as_bytes())?;
        written.push(path);
    }
    Ok(written)
}

/// The tool called `name`.
#[must_use]
pub fn exporter(name: &str) -> Option<&'static Exporter> {
    EXPORTERS.iter().find(|exporter| exporter.name == name)
}
