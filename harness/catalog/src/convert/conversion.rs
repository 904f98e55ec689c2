//! From a file of published weights to a safetensors file.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::convert::{ConvertError, Element, Limits, Recipe, Source, recipe::Applied, write};

/// The note under which a file names the SHA-256 of the one file it was made from.
pub const SOURCE_KEY: &str = "source_sha256";
/// The note under which a file names the SHA-256 of each of several files it was made from.
const SOURCES_KEY: &str = "sources_sha256";
/// The note of the program and version that wrote the file.
const MADE_BY_KEY: &str = "made_by";

/// How to convert.
#[derive(Clone, Debug)]
pub struct Options<'o> {
    /// Other names for the tensors; without it they keep theirs.
    pub recipe: Option<&'o Recipe>,
    /// Casts every f16, bf16, f32 and f64 to this one of them; other elements are never cast.
    pub dtype: Option<Element>,
    /// Where in a pickle the model's tensors are; see [`Source::open`].
    pub key: Option<&'o str>,
    /// Further classes whose objects are left out.
    pub inert: &'o [String],
    /// What the file may ask for.
    pub limits: Limits,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of tensors that were written.
    pub n_done: u64,
    /// Bytes of all tensors.
    pub n_total: u64,
}

/// What was converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What kind of file it was, in words.
    pub format: &'static str,
    /// Keys on the way to the tensors, joined by dots; empty where the file was nothing but the model.
    pub key: String,
    /// How many tensors were written.
    pub n_tensors: usize,
    /// What was left out: places of tensors without a name and of arrays of NumPy ([`Source::dropped`]), then tensors
    /// that the recipe leaves out, by the names they had.
    pub dropped: Vec<String>,
    /// SHA-256 of each file that was read, by file name.
    pub sources: Vec<(String, String)>,
    /// Bytes of the file that was written.
    pub n_bytes: u64,
    /// Its BLAKE3 in hex.
    pub blake3: String,
    /// Files beside it that killed conversions had left; they are gone now.
    pub removed: Vec<PathBuf>,
}

/// Converts the file at `from` into the safetensors file `to`, which is there whole when this returns, or not at all.
pub fn convert(
    from: &Path,
    to: &Path,
    options: &Options<'_>,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Report, ConvertError> {
    let Options { recipe, dtype, key, inert, ref limits } = *options;
    if let Some(dtype) = dtype.filter(|dtype| !dtype.is_float()) {
        return Err(crate::convert::error::tensor(
            from,
            "every float",
            "a cast to F16, BF16, F32 or F64",
            dtype,
            "choose one of these",
        ));
    }
    let source = Source::open(from, key, inert, limits)?;
    let Applied { tensors, dropped: by_recipe } = match recipe {
        Some(recipe) => recipe.apply(from, source.tensors())?,
        None => Applied { tensors: source.tensors().clone(), dropped: Vec::new() },
    };
    if let Some(reserved) = tensors.keys().find(|name| *name == "__metadata__") {
        return Err(crate::convert::error::tensor(
            from,
            reserved,
            "a name that safetensors can hold",
            "the one that stands for its notes",
            "it is no published checkpoint: do not trust the file",
        ));
    }
    let n_bytes = tensors.values().try_fold(0_u64, |sum, view| sum.checked_add(view.n_bytes()));
    let most = source.n_bytes().saturating_mul(limits.expansion);
    if n_bytes.is_none_or(|n_bytes| n_bytes > most) {
        return Err(crate::convert::error::no_tensors(
            from,
            format!("tensors of more than {} times the bytes of the file", limits.expansion),
            "their strides repeat a few numbers: do not trust the file",
        ));
    }
    let sources = source.sha256()?;
    let written = write::write(to, &source, &tensors, dtype, &notes(&sources), progress)?;
    Ok(Report {
        format: source.format(),
        key: source.key().to_owned(),
        n_tensors: tensors.len(),
        dropped: source.dropped().iter().cloned().chain(by_recipe).collect(),
        sources,
        n_bytes: written.n_bytes,
        blake3: written.blake3,
        removed: written.removed,
    })
}

fn notes(sources: &[(String, String)]) -> BTreeMap<String, String> {
    let program = format!("specimen {}", env!("CARGO_PKG_VERSION"));
    let source = match sources {
        [(_, sha256)] => (SOURCE_KEY, sha256.clone()),
        many => {
            let each: Vec<String> = many.iter().map(|(name, sha256)| format!("{name}:{sha256}")).collect();
            (SOURCES_KEY, each.join(" "))
        }
    };
    [(MADE_BY_KEY, program), source].into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
