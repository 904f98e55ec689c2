//! The images of a run for the scripts of benchmarks: [`EXPORTERS`] lists them, one file of this crate each. Scores that a
//! script gives the images come back by [`IMPORTERS`].
//!
//! `bench` has the images of a run for a benchmark.

mod bench;
mod dpg;
mod error;
mod geneval;
mod new_folder;
mod scores;

use std::path::{Path, PathBuf};

use specimen_datasets::data_root::DataRoot;
use specimen_record::{Manifest, RunDir, Summary, read_document};

use crate::new_folder::NewFolder;

pub use error::ExchangeError;
pub use scores::{CellScores, IMPORTERS, Importer, NamedScores, read_scores};

/// A tool, and what is written for it.
#[derive(Clone, Copy, Debug)]
pub struct Exporter {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is written, in one line.
    pub what: &'static str,
    /// What to do with the files, said from the folder that they are in.
    pub next: &'static str,
    /// Writes the files, and returns what a user should know of them.
    write: fn(&Finished<'_>, &mut NewFolder) -> Result<Vec<String>, ExchangeError>,
}

/// Every tool, in the order of the help.
pub const EXPORTERS: &[Exporter] = &[geneval::EXPORTER, dpg::EXPORTER];

/// What is read of a run.
struct Finished<'a> {
    run: &'a RunDir,
    manifest: Manifest,
    summary: Summary,
    data_root: Option<&'a DataRoot>,
}

impl<'a> Finished<'a> {
    fn of(run: &'a RunDir, data_root: Option<&'a DataRoot>) -> Result<Self, ExchangeError> {
        if !run.summary().exists() {
            return Err(ExchangeError::NoSummary { path: run.summary() });
        }
        let (manifest, summary) = (read_document(&run.manifest())?, read_document(&run.summary())?);
        Ok(Self { run, manifest, summary, data_root })
    }
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The paths of the files.
    pub files: Vec<PathBuf>,
    /// What a user should know of them.
    pub notes: Vec<String>,
}

/// Writes `run` for a tool into the new folder `out`. A folder that cannot be written as a whole is not there.
pub fn export(
    run: &RunDir,
    exporter: &Exporter,
    out: &Path,
    data_root: Option<&DataRoot>,
) -> Result<Exported, ExchangeError> {
    let finished = Finished::of(run, data_root)?;
    if absolute(out)?.starts_with(absolute(run.root())?) {
        return Err(ExchangeError::InsideRun { path: out.to_owned() });
    }
    let mut folder = NewFolder::begin(out)?;
    let notes = (exporter.write)(&finished, &mut folder)?;
    Ok(Exported { files: folder.finish()?, notes })
}

fn absolute(path: &Path) -> Result<PathBuf, ExchangeError> {
    // A folder that is not there has no other name yet.
    let fault = |source| ExchangeError::Io { path: path.to_owned(), source };
    path.canonicalize().or_else(|_| std::path::absolute(path)).map_err(fault)
}

/// The tool called `name`.
pub fn exporter(name: &str) -> Option<&'static Exporter> {
    EXPORTERS.iter().find(|exporter| exporter.name == name)
}
