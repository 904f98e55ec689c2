//! A folder that is whole under its name or not there: its files are written next to it and moved at the end.

use std::path::{Path, PathBuf};

use specimen_foundation::whole_file::UNFINISHED;
use specimen_record::write_atomic;
use tempfile::TempDir;

use crate::ExchangeError;

/// A folder under way.
pub(crate) struct NewFolder {
    /// Where it will be, absolute.
    out: PathBuf,
    /// Removed when the folder is finished or given up.
    around: TempDir,
    files: Vec<PathBuf>,
}

impl NewFolder {
    /// Begins the folder `out`, which must be new or empty.
    pub(crate) fn begin(out: &Path) -> Result<Self, ExchangeError> {
        let out = std::path::absolute(out).map_err(fault(out))?;
        let is_taken = match out.read_dir() {
            Ok(mut entries) => entries.next().is_some(),
            Err(_) => out.exists(),
        };
        if is_taken {
            return Err(ExchangeError::Taken { path: out });
        }
        let parent = out.parent().unwrap_or(&out);
        std::fs::create_dir_all(parent).map_err(fault(parent))?;
        let around = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(parent).map_err(fault(parent))?;
        let folder = Self { out, around, files: Vec::new() };
        std::fs::create_dir(folder.staged()).map_err(fault(&folder.out))?;
        Ok(folder)
    }

    /// Writes a file, by its path below the folder.
    pub(crate) fn put(&mut self, below: &Path, bytes: &[u8]) -> Result<(), ExchangeError> {
        write_atomic(&self.staged().join(below), bytes)?;
        self.files.push(self.out.join(below));
        Ok(())
    }

    /// Moves the folder to its place, and returns the paths of its files.
    pub(crate) fn finish(self) -> Result<Vec<PathBuf>, ExchangeError> {
        if self.out.exists() {
            std::fs::remove_dir(&self.out).map_err(fault(&self.out))?;
        }
        std::fs::rename(self.staged(), &self.out).map_err(fault(&self.out))?;
        Ok(self.files)
    }

    fn staged(&self) -> PathBuf {
        self.around.path().join("folder")
    }
}

fn fault(path: &Path) -> impl FnOnce(std::io::Error) -> ExchangeError {
    let path = path.to_owned();
    move |source| ExchangeError::Io { path, source }
}
