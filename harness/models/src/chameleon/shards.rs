//! The parameters of one network from the files into which a checkpoint is split.

use std::path::PathBuf;

use specimen_weights::{Checkpoint, Init, LoadError, ParamSource};
use tch::{Device, Kind, Tensor};

use crate::target::WeightsId;

/// Open files, each tensor in one of them.
pub(super) struct Shards(Vec<Checkpoint>);

impl Shards {
    /// Opens all of `paths`, at least one; floats are cast to `kind`.
    ///
    /// # Errors
    /// As [`Checkpoint::open`].
    pub(super) fn open(paths: &[PathBuf], kind: Kind, device: Device) -> Result<Self, LoadError> {
        assert!(!paths.is_empty(), "a network has at least one file");
        paths
            .iter()
            .map(|path| Checkpoint::open(path, Some(kind), device))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Shape of the tensor `name`, without taking it.
    pub(super) fn shape(&self, name: &str) -> Option<&[i64]> {
        self.0.iter().find_map(|file| file.shape(name))
    }

    /// Marks the tensors whose names satisfy `known` as not needed.
    pub(super) fn ignore(&mut self, known: impl Fn(&str) -> bool) {
        self.0.iter_mut().for_each(|file| file.ignore(&known));
    }

    /// Every file with its digest, as the part `role` of a model; those behind the first are counted from 2.
    pub(super) fn ids(&self, role: &str) -> Vec<WeightsId> {
        let id = |(at, file): (usize, &Checkpoint)| WeightsId {
            role: if at == 0 { role.to_owned() } else { format!("{role} {}", at + 1) },
            file: file.path().file_name().unwrap_or_default().to_string_lossy().into_owned(),
            digest: file.digest().to_owned(),
        };
        self.0.iter().enumerate().map(id).collect()
    }

    /// Ends the loading.
    ///
    /// # Errors
    /// Tensors that nobody asked for.
    pub(super) fn finish(self) -> Result<(), LoadError> {
        self.0.into_iter().try_for_each(Checkpoint::finish)
    }
}

impl ParamSource for Shards {
    /// From the file that has it; of what none has, the first speaks.
    fn param(&mut self, name: &str, shape: &[i64], init: Init) -> Result<Tensor, LoadError> {
        let at = self.0.iter().position(|file| file.shape(name).is_some()).unwrap_or(0);
        self.0[at].param(name, shape, init)
    }
}
