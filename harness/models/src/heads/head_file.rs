//! The file of a head, as far as its family has to know it before the head is built: which tensors it has, and what the
//! `config.json` beside it says.

use specimen_weights::LoadError;
use tch::Tensor;

use crate::{
    files::{several_files::SeveralFiles, sidecar::Sidecar},
    llama::layer::LayerShape,
};

/// A file that is read, or one that is to be written.
pub struct HeadFile<'a> {
    /// Absent where the file is to be written.
    files: Option<&'a mut SeveralFiles>,
    /// The `config.json` beside it; of a file to be written what is decided of it beforehand.
    pub sidecar: Sidecar,
}

impl<'a> HeadFile<'a> {
    /// The file that is read from `files`.
    pub fn read(files: &'a mut SeveralFiles, sidecar: Sidecar) -> Self {
        Self { files: Some(files), sidecar }
    }

    /// A file to be written, whose configuration has what `decided` has.
    pub fn to_be_written(decided: serde_json::Value) -> Self {
        Self { files: None, sidecar: Sidecar::of(decided) }
    }

    /// A file to be written, of an EAGLE-3 head that taps these layers; absent: the published ones.
    pub fn tapping(taps: Option<[usize; 3]>) -> Self {
        Self::to_be_written(taps.map_or(serde_json::Value::Null, |taps| serde_json::json!({ "taps": taps })))
    }

    /// Whether it is there and read.
    pub fn is_read(&self) -> bool {
        self.files.is_some()
    }

    /// Whether it has the tensor `name`; `otherwise` where it is to be written.
    pub fn has(&self, name: &str, otherwise: bool) -> bool {
        self.files.as_ref().map_or(otherwise, |files| files.has(name))
    }

    /// Shape of the tensor `name`, if it is there.
    pub fn shape(&self, name: &str) -> Option<&[i64]> {
        self.files.as_ref()?.shape(name)
    }

    /// The whole numbers or flags `name` of this shape, flags as 0 and 1; `None` where the file is to be written.
    pub fn numbers(&mut self, name: &str, shape: &[i64]) -> Result<Option<Tensor>, LoadError> {
        self.files.as_mut().map(|files| files.take(name, shape)).transpose()
    }

    /// `reason` with where the values are from that it speaks of.
    pub fn of_config(&self, reason: &str) -> String {
        match self.files {
            Some(_) => format!("in the config.json beside it {reason}; is it the head of another model?"),
            None => reason.to_owned(),
        }
    }
}

/// What `transformers` and the code of EAGLE and LANTERN read of a head beside its tensors, with `more` entries. `vocab_size`:
/// rows of the embedding that it continues from.
pub(crate) fn config_of(
    model_type: &str,
    layer: LayerShape,
    (vocab_size, norm_eps): (i64, f64),
    more: serde_json::Value,
) -> serde_json::Value {
    let mut all = serde_json::json!({
        "model_type": model_type,
        "hidden_size": layer.d_model,
        "intermediate_size": layer.d_ffn,
        "num_attention_heads": layer.n_heads,
        "num_hidden_layers": 1,
        "vocab_size": vocab_size,
        "rms_norm_eps": norm_eps,
    });
    if let Some(n) = layer.shared_heads() {
        all["num_key_value_heads"] = n.into();
    }
    if layer.n_heads * layer.d_head != layer.d_model {
        all["head_dim"] = layer.d_head.into();
    }
    if let (Some(all), serde_json::Value::Object(more)) = (all.as_object_mut(), more) {
        all.extend(more);
    }
    all
}
