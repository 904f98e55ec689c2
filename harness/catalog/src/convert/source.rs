//! A file of weights, opened: its tensors by name, their bytes still on disk.

use std::{
    collections::BTreeMap,
    io::{self, Read},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use crate::convert::{
    ConvertError, Limits,
    format::{self, Contents, Opening},
    mapping::Mapping,
    tensor::TensorView,
};

/// A checkpoint in any of the formats that weights are published in.
pub struct Source {
    path: PathBuf,
    format: &'static str,
    key: String,
    files: Vec<Mapping>,
    // Invariant: every view's storage is in the file that it names.
    tensors: BTreeMap<String, TensorView>,
    dropped: Vec<String>,
}

impl Source {
    /// Opens the file at `path`: a checkpoint, or the index of one in several files. `key` says where in a pickle the
    /// model's tensors are, parts separated by dots; without it they are looked for at the top and below `state_dict`,
    /// `model`, `module` and `model_state_dict`. `inert` are classes whose objects are left out (nothing in a pickle is
    /// ever run), beside those that published checkpoints have.
    pub fn open(
        path: &Path,
        key: Option<&str>,
        inert: &[String],
        limits: &Limits,
    ) -> Result<Self, ConvertError> {
        let Contents { format, key, files, tensors, dropped } =
            format::open(path, &Opening { key, inert, limits })?;
        if tensors.is_empty() {
            return Err(crate::convert::error::no_tensors(path, "none", "is it the right file?"));
        }
        Ok(Self { path: path.to_owned(), format, key, files, tensors, dropped })
    }

    /// The file that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What kind of file it is, in words.
    pub fn format(&self) -> &'static str {
        self.format
    }

    /// Keys on the way to the tensors, joined by dots; empty where the file is nothing but the model.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Its tensors by name.
    pub fn tensors(&self) -> &BTreeMap<String, TensorView> {
        &self.tensors
    }

    /// Places below [`Self::key`] of what cannot be written: tensors under a key that is neither text nor a whole number,
    /// with that key in brackets, and arrays of NumPy.
    pub fn dropped(&self) -> &[String] {
        &self.dropped
    }

    /// Bytes of its files together; an index is not counted.
    pub fn n_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes().len() as u64).sum()
    }

    /// Hands the elements of `view` to `sink`, as [`TensorView::read`].
    ///
    /// # Panics
    /// If `view` is not made of this source's tensors.
    pub fn read(&self, view: &TensorView, sink: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        view.read(self.files[view.storage().file].bytes(), sink)
    }

    /// SHA-256 of each file in hex, by file name, in the order of the shards. Reads all of them.
    pub fn sha256(&self) -> Result<Vec<(String, String)>, ConvertError> {
        let digest = |file: &Mapping| {
            let read = |source| crate::convert::error::read(file.path(), source);
            let mut hasher = Sha256::new();
            // Read, not mapped: so that a large file does not stay in this process's memory.
            let mut stream = std::fs::File::open(file.path()).map_err(read)?;
            let mut block = vec![0; 1 << 20];
            loop {
                match stream.read(&mut block) {
                    Ok(0) => break,
                    Ok(n) => hasher.update(&block[..n]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(read(error)),
                }
            }
            let hex = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            let name = file.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
            Ok((name, hex))
        };
        self.files.iter().map(digest).collect()
    }
}
