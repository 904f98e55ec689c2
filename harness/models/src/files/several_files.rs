//! The parameters of one network from several checkpoints: shards of one, or parts in files of their own.

use std::path::PathBuf;

use specimen_weights::{Checkpoint, Init, LoadError, ParamSource};
use tch::{Device, Kind, Tensor};

use crate::seam::loaded_model::WeightsId;

/// Open checkpoints, asked in order.
pub struct SeveralFiles {
    files: Vec<Checkpoint>,
}

impl SeveralFiles {
    /// Opens all files at `paths`, at least one; floats keep the kind they are stored in.
    ///
    /// # Panics
    /// If there is no path.
    pub fn open(paths: &[PathBuf]) -> Result<Self, LoadError> {
        assert!(!paths.is_empty(), "a network has at least one file");
        let files = paths.iter().map(|path| Checkpoint::open(path, None, Device::Cpu));
        Ok(Self { files: files.collect::<Result<_, _>>()? })
    }

    /// A network that `make` reads from the files at `paths`, with what it was read from as the part `role`. What is
    /// left over and not ignored is an error.
    pub fn read<T>(
        paths: &[PathBuf],
        role: &str,
        make: impl FnOnce(&mut Self) -> Result<T, LoadError>,
    ) -> Result<(T, Vec<WeightsId>), LoadError> {
        let mut files = Self::open(paths)?;
        let ids = files.ids(role);
        let made = make(&mut files)?;
        files.finish()?;
        Ok((made, ids))
    }

    /// Whether one of the files has a tensor of this name.
    pub fn has(&self, name: &str) -> bool {
        self.shape(name).is_some()
    }

    /// Shape of the tensor `name`, without taking it.
    pub fn shape(&self, name: &str) -> Option<&[i64]> {
        self.files.iter().find_map(|file| file.shape(name))
    }

    /// As [`Checkpoint::take`], from the file that has it.
    pub fn take(&mut self, name: &str, shape: &[i64]) -> Result<Tensor, LoadError> {
        let at = self.place_of(name);
        self.files[at].take(name, shape)
    }

    /// The file that has the tensor `name`; the first if none has.
    fn place_of(&self, name: &str) -> usize {
        self.files.iter().position(|file| file.shape(name).is_some()).unwrap_or(0)
    }

    /// Element kind in which the tensor `name` is stored.
    pub fn stored_kind(&self, name: &str) -> Option<Kind> {
        self.files.iter().find_map(|file| file.stored_kind(name))
    }

    /// As [`Checkpoint::ignore`], in every file.
    pub fn ignore(&mut self, known: impl Fn(&str) -> bool) {
        self.files.iter_mut().for_each(|file| file.ignore(&known));
    }

    /// Every file with its digest, as the part `role` of a model.
    pub fn ids(&self, role: &str) -> Vec<WeightsId> {
        let of = |at: usize, file: &Checkpoint| WeightsId {
            role: if at == 0 { role.to_owned() } else { format!("{role} {}", at + 1) },
            file: file.path().file_name().unwrap_or_default().to_string_lossy().into_owned(),
            digest: file.digest().to_owned(),
        };
        self.files.iter().enumerate().map(|(at, file)| of(at, file)).collect()
    }

    /// Ends the loading.
    pub fn finish(self) -> Result<(), LoadError> {
        self.files.into_iter().try_for_each(Checkpoint::finish)
    }
}

impl ParamSource for SeveralFiles {
    /// From the file that has it; the first one says what is wrong if none does.
    fn param(&mut self, name: &str, shape: &[i64], init: Init) -> Result<Tensor, LoadError> {
        let at = self.place_of(name);
        self.files[at].param(name, shape, init)
    }
}
