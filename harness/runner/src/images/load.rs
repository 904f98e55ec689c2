//! Models by name, opened once and kept.

use std::{collections::BTreeMap, path::Path, rc::Rc};

use specimen_datasets::{data_root::DataRoot, scenes::Vocabulary};
use specimen_experiments::spec::{Dtype, ModelSpec, Spec};
use specimen_foundation::failure;
use specimen_models::{
    catalog::{self, Made, OpenModel},
    heads::described_head::HeadKind,
    seam::loaded_model::{LoadedModel, WeightsId},
};
use specimen_record::{Digest, Manifest};
use specimen_weights::cuda::{self, CudaError};
use tch::{Device, Kind};

use crate::{error::RunError, images::out_of_memory::within_memory};

/// The device that every machine has.
pub(crate) const CPU: &str = "cpu";
/// The device of a spec that leaves the choice of the GPU to the run.
pub const ANY_GPU: &str = "cuda";

/// The models of a run, loaded when first asked for.
pub struct Models {
    data_root: Option<DataRoot>,
    made: Made,
    loaded: BTreeMap<ModelSpec, Rc<LoadedModel>>,
}

impl Models {
    /// None loaded yet; published weights are looked for under `data_root`.
    pub fn new(data_root: Option<DataRoot>) -> Self {
        Self { data_root, made: Made::Not, loaded: BTreeMap::new() }
    }

    /// None made yet: published models have weights from a seed, of the published sizes, and need no files.
    pub fn made() -> Self {
        Self { data_root: None, made: Made::Published, loaded: BTreeMap::new() }
    }

    /// None loaded yet, for the models of `spec`: libtorch's CUDA part is open before their first tensor
    /// where one of them is to use it. That it cannot be opened is said when that model is asked for.
    pub fn of(spec: &Spec, data_root: Option<DataRoot>) -> Self {
        if spec.models().iter().any(|model| model.device != CPU) {
            let _ = cuda::open();
        }
        Self::new(data_root)
    }

    /// The model that `spec` names.
    pub fn get(&mut self, spec: &ModelSpec) -> Result<Rc<LoadedModel>, RunError> {
        // How many images are decoded together is no part of a network.
        let spec = &spec.without_batch();
        if let Some(model) = self.loaded.get(spec) {
            return Ok(model.clone());
        }
        let model = self.open(spec)?;
        self.loaded.insert(spec.clone(), model.clone());
        Ok(model)
    }

    /// The same, opened anew and not kept.
    pub(crate) fn open(&self, spec: &ModelSpec) -> Result<Rc<LoadedModel>, RunError> {
        let options = OpenModel {
            kind: kind_of(spec.dtype),
            device: device_of(&spec.device)?,
            data_root: self.data_root.as_ref().map(|root| root.path().to_owned()),
            weights: spec.weights.as_ref().map(|path| DataRoot::place(self.data_root.as_ref(), path)),
            heads: spec
                .heads
                .iter()
                .map(|(kind, head)| (kind_of_head(kind), head.file(self.data_root.as_ref())))
                .collect(),
            made: spec.rehearsed.map_or(self.made, |side| Made::Narrow { side }),
            encode_caption,
            three_way_guidance: spec.three_way_guidance,
            graphs: spec.graphs,
        };
        within_memory(spec, None, || Ok(catalog::open(&spec.name, &options)?))
    }
}

/// The kind of head that a spec names.
fn kind_of_head(kind: &str) -> HeadKind {
    HeadKind::of(kind).expect("the grammar of specs has these kinds")
}

/// Refuses weights of `model` that are none of those that the manifest at `path` names for it.
pub(crate) fn check_weights(
    path: &Path,
    manifest: &Manifest,
    model: &str,
    files: &[WeightsId],
) -> Result<(), RunError> {
    for file in files {
        let name = format!("{model} {}", file.role);
        let blake3: Digest = file.digest.parse().map_err(|why| failure!(Spec: "{why}"))?;
        // Cells of one model may have weights of their own.
        let then: Vec<&Digest> =
            manifest.weights.iter().filter(|entry| entry.name == name).map(|entry| &entry.blake3).collect();
        if !then.is_empty() && !then.contains(&&blake3) {
            let expected = then.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
            let found = blake3.to_string();
            return Err(crate::error::other_weights(path, name, expected, found));
        }
    }
    Ok(())
}

/// Word ids of a caption of the scenes vocabulary.
fn encode_caption(caption: &str) -> Result<Vec<u16>, String> {
    Vocabulary::encode(caption).map(|ids| ids.to_vec()).map_err(|e| e.to_string())
}

/// The tensor kind of a spec's dtype.
pub fn kind_of(dtype: Dtype) -> Kind {
    match dtype {
        Dtype::F32 => Kind::Float,
        Dtype::Bf16 => Kind::BFloat16,
        Dtype::F16 => Kind::Half,
    }
}

/// The device that `cpu`, `cuda` or `cuda:N` names.
pub fn device_of(name: &str) -> Result<Device, RunError> {
    cuda::named(name).map_err(|error| {
        match error {
            CudaError::Unknown { .. } => failure!(Spec: "{error}"),
            other => failure!(Environment: "device `{name}` cannot be used: {other}"),
        }
        .into()
    })
}
