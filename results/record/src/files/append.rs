//! JSON lines, one write call a row. A crash can tear the last line only, and the reader drops a line
//! without its newline, so a row is there whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use specimen_foundation::whole_file::sync_folder;

use crate::files::atomic::check_writable;
use crate::run::run_dir::create_folder;
use crate::{Document, RecordError};

/// When rows are forced to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// After every row: a row that was appended survives a power cut.
    EachRow,
    /// When the file is finished: a row survives the death of the process, not of the machine.
    OnFinish,
}

/// Appends rows of one type to a new file.
#[derive(Debug)]
pub struct Appender<T> {
    path: PathBuf,
    file: File,
    durability: Durability,
    /// Bytes of whole rows.
    n_whole: u64,
    broken: bool,
    rows: PhantomData<fn(&T)>,
}

impl<T: Document> Appender<T> {
    /// Makes the file, with its folders. An attempt writes its own files, so none may be there.
    pub fn create(path: &Path, durability: Durability) -> Result<Appender<T>, RecordError> {
        let folder = path.parent().unwrap_or_else(|| Path::new("."));
        create_folder(folder)?;
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(path)
            .map_err(RecordError::io(path, "make the file"))?;
        if let Err(unsynced) = sync_folder(folder) {
            // Who tries again finds no file there.
            std::fs::remove_file(path).map_err(RecordError::io(path, "remove"))?;
            return Err(RecordError::io(folder, "sync the folder")(unsynced));
        }
        Ok(Appender { path: path.to_owned(), file, durability, n_whole: 0, broken: false, rows: PhantomData })
    }

    /// Appends one row and its newline.
    pub fn append(&mut self, row: &T) -> Result<(), RecordError> {
        if self.broken {
            return Err(crate::error::broken(&self.path));
        }
        check_writable(&self.path, row)?;
        let line = row_bytes(&self.path, row)?;
        let written = self.file.write_all(&line).map_err(RecordError::io(&self.path, "append to"));
        // A disk may be found full only now: what was written earlier was synced then and is safe.
        let kept = written.and_then(|()| match self.durability {
            Durability::EachRow => self.sync(),
            Durability::OnFinish => Ok(()),
        });
        match kept {
            Ok(()) => self.n_whole += line.len() as u64,
            Err(_) => self.broken = self.file.set_len(self.n_whole).is_err(),
        }
        kept
    }

    /// Forces what was appended to the disk and closes the file.
    pub fn finish(self) -> Result<(), RecordError> {
        self.sync()
    }

    fn sync(&self) -> Result<(), RecordError> {
        self.file.sync_data().map_err(RecordError::io(&self.path, "sync"))
    }
}

/// The canonical bytes of a row: compact JSON, fields in declaration order, a newline.
pub(crate) fn row_bytes<T: Document>(path: &Path, row: &T) -> Result<Vec<u8>, RecordError> {
    let mut line = Vec::new();
    write_row(path, row, &mut line)?;
    Ok(line)
}

/// The same into a buffer, whose content goes.
pub(crate) fn write_row<T: Document>(path: &Path, row: &T, line: &mut Vec<u8>) -> Result<(), RecordError> {
    line.clear();
    serde_json::to_writer(&mut *line, row).map_err(|e| crate::error::refused(path, T::KIND, e))?;
    line.push(b'\n');
    Ok(())
}
