//! A safetensors file, or several with an index, opened strictly.

use std::{
    collections::BTreeMap,
    fs::File,
    path::{Path, PathBuf},
};

use memmap2::Mmap;
use safetensors::{Dtype, SafeTensors};
use specimen_foundation::failure::{Failure, FailureKind};
use tch::{Device, Kind, Tensor};

use crate::{DigestCache, Init, ParamSource, index};

/// What can be wrong with a weights file.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be opened or mapped.
    #[error("{path}: cannot read the weights: {source}")]
    Read {
        /// The weights file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The header or the length is wrong.
    #[error(
        "{path}: not a whole safetensors file ({n_bytes} bytes): {reason}; it may be truncated: fetch it again"
    )]
    Malformed {
        /// The weights file.
        path: PathBuf,
        /// Size of the file.
        n_bytes: usize,
        /// What the parser said.
        reason: String,
    },
    /// A pickle of PyTorch, alone or in an archive.
    #[error(
        "{path}: a file of PyTorch, and only safetensors are read; convert it once: specimen convert '{path}' '{to}'",
        to = path.with_extension("safetensors").display()
    )]
    Pickle {
        /// The weights file.
        path: PathBuf,
    },
    /// An expected tensor is absent.
    #[error(
        "{path}: tensor `{name}` is missing; the checkpoint has {n_found} tensors, is it the right model?"
    )]
    MissingTensor {
        /// The weights file.
        path: PathBuf,
        /// The tensor that was asked for.
        name: String,
        /// How many tensors the file holds.
        n_found: usize,
    },
    /// A tensor has another shape than the configuration implies.
    #[error("{path}: tensor `{name}` has shape {found:?}, the config implies {expected:?}")]
    WrongShape {
        /// The weights file.
        path: PathBuf,
        /// Name of the tensor.
        name: String,
        /// The shape the configuration implies.
        expected: Vec<i64>,
        /// The shape in the file.
        found: Vec<i64>,
    },
    /// A tensor has an element type that is not read.
    #[error(
        "{path}: tensor `{name}` has element type {found}; expected f32, f16 or bf16 (for indices and flags: i64, u8 or bool)"
    )]
    WrongKind {
        /// The weights file.
        path: PathBuf,
        /// Name of the tensor.
        name: String,
        /// The element type in the file.
        found: String,
    },
    /// A tensor holds a NaN or an infinity.
    #[error("{path}: tensor `{name}` holds a NaN or an infinity; the file is damaged or training diverged")]
    NotFinite {
        /// The weights file.
        path: PathBuf,
        /// Name of the tensor.
        name: String,
    },
    /// The file holds tensors nobody asked for.
    #[error(
        "{path}: {n} tensors are not part of the model, the first is `{first}`; is it the right checkpoint?"
    )]
    Unexpected {
        /// The weights file.
        path: PathBuf,
        /// How many tensors are left over.
        n: usize,
        /// The first of them in name order.
        first: String,
    },
    /// The configuration beside the weights is wrong.
    #[error("{path}: {reason}")]
    Config {
        /// The configuration file, or the weights it belongs to.
        path: PathBuf,
        /// What is wrong and what was expected.
        reason: String,
    },
}

impl Failure for LoadError {
    fn kind(&self) -> Option<FailureKind> {
        Some(FailureKind::Missing)
    }
}

enum Bytes {
    Mapped(Mmap),
    Static(&'static [u8]),
}

impl Bytes {
    fn get(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Static(bytes) => bytes,
        }
    }
}

struct Entry {
    /// Which of the files.
    file: usize,
    dtype: Dtype,
    shape: Vec<i64>,
    /// Byte range in the whole buffer.
    range: (usize, usize),
    taken: bool,
}

/// The tensors of one safetensors file, or of several with an index. Each is copied to the device when asked for, so
/// that the peak is one tensor above the model.
pub struct Checkpoint {
    path: PathBuf,
    /// In the order of their names.
    files: Vec<Bytes>,
    entries: BTreeMap<String, Entry>,
    /// The header's own words.
    notes: BTreeMap<String, String>,
    digest: String,
    kind: Option<Kind>,
    device: Device,
}

impl Checkpoint {
    /// Opens the file at `path`, or the files beside it that it lists if its name ends in `.index.json`; floating-point
    /// parameters are cast to `kind` when it is given. Digests of large files are kept in the [`DigestCache`] that the
    /// environment names.
    pub fn open(path: &Path, kind: Option<Kind>, device: Device) -> Result<Self, LoadError> {
        Self::open_with(path, kind, device, &DigestCache::of_environment())
    }

    /// As [`Self::open`], with digests kept in `digests`.
    pub fn open_with(
        path: &Path,
        kind: Option<Kind>,
        device: Device,
        digests: &DigestCache,
    ) -> Result<Self, LoadError> {
        if !path.to_string_lossy().ends_with(".index.json") {
            return Self::open_one(path, kind, device, digests);
        }
        let index = index::read(path)?;
        let mut whole = Self {
            path: path.to_owned(),
            files: Vec::new(),
            entries: BTreeMap::new(),
            notes: BTreeMap::new(),
            digest: String::new(),
            kind,
            device,
        };
        let mut hasher = blake3::Hasher::new();
        for (shard, listed) in &index {
            let part = Self::open_one(&path.with_file_name(shard), kind, device, digests)?;
            if !part.entries.keys().eq(listed) {
                let differs = part.entries.keys().find(|name| !listed.contains(*name));
                let differs =
                    differs.or_else(|| listed.iter().find(|name| !part.entries.contains_key(*name)));
                let name = differs.map_or("", String::as_str);
                let reason = format!("it and `{shard}` disagree about tensor `{name}`; fetch both again");
                return Err(LoadError::Config { path: path.to_owned(), reason });
            }
            hasher.update(format!("{shard}\0{}\n", part.digest).as_bytes());
            let file = whole.files.len();
            whole.files.extend(part.files);
            whole
                .entries
                .extend(part.entries.into_iter().map(|(name, entry)| (name, Entry { file, ..entry })));
        }
        whole.digest = hasher.finalize().to_hex().to_string();
        Ok(whole)
    }

    fn open_one(
        path: &Path,
        kind: Option<Kind>,
        device: Device,
        digests: &DigestCache,
    ) -> Result<Self, LoadError> {
        let read = |source| LoadError::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(read)?;
        #[expect(
            unsafe_code,
            reason = "mapping a file is unsafe if it shrinks meanwhile; weights are read-only"
        )]
        let map = unsafe { Mmap::map(&file) }.map_err(read)?;
        let whole = Self::parse(path.to_owned(), Bytes::Mapped(map), kind, device)?;
        let digest = digests.digest(&file, path, whole.files[0].get()).map_err(read)?;
        Ok(Self { digest, ..whole })
    }

    /// Reads weights that ship inside the binary; `name` stands for the path in messages.
    pub fn embedded(
        name: &str,
        bytes: &'static [u8],
        kind: Option<Kind>,
        device: Device,
    ) -> Result<Self, LoadError> {
        let digest = blake3::hash(bytes).to_hex().to_string();
        Ok(Self { digest, ..Self::parse(PathBuf::from(name), Bytes::Static(bytes), kind, device)? })
    }

    /// What is in `bytes`, its digest left empty.
    fn parse(path: PathBuf, bytes: Bytes, kind: Option<Kind>, device: Device) -> Result<Self, LoadError> {
        let buffer = bytes.get();
        let n_bytes = buffer.len();
        let malformed = |reason: String| LoadError::Malformed { path: path.clone(), n_bytes, reason };
        // `deserialize` also checks that the offsets cover the buffer, which is what finds a truncation.
        SafeTensors::deserialize(buffer).map_err(|e| match buffer {
            // The beginning of an archive, and of a pickle with its protocol; a header's length may have the same bytes.
            [b'P', b'K', 3, 4, ..] | [0x80, 2..=5, ..] if buffer.get(8) != Some(&b'{') => {
                LoadError::Pickle { path: path.clone() }
            }
            _ => malformed(e.to_string()),
        })?;
        let (header, metadata) = SafeTensors::read_metadata(buffer).map_err(|e| malformed(e.to_string()))?;
        let start = header + 8;
        let entries = metadata
            .tensors()
            .into_iter()
            .map(|(name, info)| {
                let shape = info.shape.iter().map(|&n| n as i64).collect();
                let range = (start + info.data_offsets.0, start + info.data_offsets.1);
                (name, Entry { file: 0, dtype: info.dtype, shape, range, taken: false })
            })
            .collect();
        let notes =
            metadata.metadata().iter().flatten().map(|(key, note)| (key.clone(), note.clone())).collect();
        Ok(Self { path, files: vec![bytes], entries, notes, digest: String::new(), kind, device })
    }

    /// blake3 of the whole file, in hex; of several files, that of their names and digests.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The file or index, or the name of the embedded weights.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the file's header says under `key` beside its tensors (`__metadata__`); of several files, nothing.
    pub fn note(&self, key: &str) -> Option<String> {
        self.notes.get(key).cloned()
    }

    /// Shape of the tensor `name`, without taking it.
    pub fn shape(&self, name: &str) -> Option<&[i64]> {
        self.entries.get(name).map(|entry| entry.shape.as_slice())
    }

    /// Element kind in which the tensor `name` is stored; `None` also for kinds that are not read.
    pub fn stored_kind(&self, name: &str) -> Option<Kind> {
        self.entries.get(name).and_then(|entry| kind_of(entry.dtype))
    }

    /// Marks the tensors whose names satisfy `known` as not needed.
    pub fn ignore(&mut self, known: impl Fn(&str) -> bool) {
        self.entries.iter_mut().filter(|(name, _)| known(name)).for_each(|(_, entry)| entry.taken = true);
    }

    /// Ends the loading.
    pub fn finish(self) -> Result<(), LoadError> {
        let mut left = self.entries.iter().filter(|(_, entry)| !entry.taken).map(|(name, _)| name);
        let Some(first) = left.next().cloned() else { return Ok(()) };
        Err(LoadError::Unexpected { n: 1 + left.count(), first, path: self.path.clone() })
    }

    /// The tensor `name` of shape `expected`, whole numbers included; floats in the kind of the checkpoint.
    pub fn take(&mut self, name: &str, expected: &[i64]) -> Result<Tensor, LoadError> {
        let n_found = self.entries.len();
        let Some(entry) = self.entries.get_mut(name) else {
            return Err(LoadError::MissingTensor { path: self.path.clone(), name: name.into(), n_found });
        };
        if entry.shape != expected {
            return Err(LoadError::WrongShape {
                path: self.path.clone(),
                name: name.into(),
                expected: expected.to_vec(),
                found: entry.shape.clone(),
            });
        }
        let Some(stored) = kind_of(entry.dtype) else {
            return Err(LoadError::WrongKind {
                path: self.path.clone(),
                name: name.into(),
                found: format!("{:?}", entry.dtype),
            });
        };
        entry.taken = true;
        let data = &self.files[entry.file].get()[entry.range.0..entry.range.1];
        let tensor = Tensor::from_data_size(data, &entry.shape, stored);
        if stored_is_float(stored) && tensor.isfinite().all().int64_value(&[]) == 0 {
            return Err(LoadError::NotFinite { path: self.path.clone(), name: name.into() });
        }
        let kind = if stored_is_float(stored) { self.kind.unwrap_or(stored) } else { stored };
        Ok(tensor.to_device(self.device).to_kind(kind))
    }
}

impl ParamSource for Checkpoint {
    /// As [`Checkpoint::take`]; whole numbers are no parameters.
    fn param(&mut self, name: &str, shape: &[i64], _: Init) -> Result<Tensor, LoadError> {
        let tensor = self.take(name, shape)?;
        if stored_is_float(tensor.kind()) {
            return Ok(tensor);
        }
        let found = format!("{:?}", tensor.kind());
        Err(LoadError::WrongKind { path: self.path.clone(), name: name.into(), found })
    }
}

fn stored_is_float(kind: Kind) -> bool {
    matches!(kind, Kind::Float | Kind::Half | Kind::BFloat16)
}

fn kind_of(dtype: Dtype) -> Option<Kind> {
    match dtype {
        Dtype::F32 => Some(Kind::Float),
        Dtype::F16 => Some(Kind::Half),
        Dtype::BF16 => Some(Kind::BFloat16),
        Dtype::I64 => Some(Kind::Int64),
        // Flags are read as 0 and 1, whatever bytes a file has for them.
        Dtype::U8 | Dtype::BOOL => Some(Kind::Uint8),
        _ => None,
    }
}
