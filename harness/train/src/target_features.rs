//! What a target gives on images of its own, kept in a folder: files of tensors, and a manifest that is written last and says
//! what all of it was made from. `specimen data features` writes such a folder (`feature_export.rs`); a training reads it in
//! place of running the target, and refuses one of another model, guidance, prompts or layers.

use std::{cell::RefCell, path::Path};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use specimen_decode::pipeline::Sampling;
use specimen_foundation::{bounded_read::read_side_file, fail, failure, failure::FailureMessage};
use specimen_models::seam::loaded_model::Prefix;
use specimen_weights::{Checkpoint, LoadError};
use tch::{Device, Tensor};

use crate::{lesson::ImageFeatures, stored_words::words_of};

/// Name of the manifest.
pub const MANIFEST: &str = "features.json";
/// Version of its form.
pub(crate) const SCHEMA: u32 = 1;
/// Name of the tensor of each file that has [`MadeFrom`] as JSON.
pub(crate) const MADE_FROM: &str = "made_from";
/// Name of the tensor of each file that has the tokens of its images, `[n, n_tokens]`, i64.
pub(crate) const TOKENS: &str = "tokens";

/// What decides every number of the features.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MadeFrom {
    /// Name of the target.
    pub model: String,
    /// blake3 of each of its files; empty for weights from a seed.
    pub weights: Vec<String>,
    /// Kind of its numbers, in which features are kept.
    pub dtype: String,
    /// The layers whose inputs are kept beside the features after the final norm, 0-based.
    pub taps: Vec<usize>,
    /// What pads of the prompt see.
    pub pads: String,
    /// How the images were drawn; with guidance there is a row without the caption.
    pub sampling: Sampling,
    /// Name and digest of the prompts.
    pub prompts: String,
    /// Images of each prompt.
    pub samples: u32,
    /// Seed of all images.
    pub seed: u64,
    /// Images.
    pub n_images: usize,
    /// Tokens of an image.
    pub n_tokens: usize,
    /// Images of a file; the last file may have fewer.
    pub images_a_file: usize,
}

/// The manifest of a folder of features.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) schema: u32,
    /// [`MadeFrom`], as it was written.
    pub(crate) made_from: Value,
    /// All files, in their order.
    pub(crate) files: Vec<FeatureFile>,
}

/// A file of features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeatureFile {
    /// Its name in the folder.
    pub(crate) name: String,
    /// Its size.
    pub(crate) n_bytes: u64,
    /// Its digest.
    pub(crate) blake3: String,
}

/// Name of the file `at`, from 0.
pub(crate) fn file_name(at: usize) -> String {
    format!("features-{at:05}.safetensors")
}

/// Names of what the target gives on the image `at`: after the final norm, and the layers that are tapped.
pub(crate) fn tensor_names(at: usize) -> [String; 2] {
    [format!("{at:06}.features"), format!("{at:06}.taps")]
}

impl MadeFrom {
    /// As JSON, the form in which files have it.
    pub(crate) fn value(&self) -> Value {
        serde_json::to_value(self).expect("it is plain data")
    }

    /// Files of all images.
    pub fn n_files(&self) -> usize {
        self.n_images.div_ceil(self.images_a_file)
    }

    /// Refuses features at `path` that were made from something else.
    pub(crate) fn check(&self, path: &Path, found: &Value) -> Result<(), FailureMessage> {
        match difference(found, &self.value(), "") {
            None => Ok(()),
            Some((what, found, expected)) => {
                fail!(Missing: "{}: these features have {what} {found}, and the training has {expected}; \
                    write its own with `specimen data features`, or leave `features` out of the specification",
                    path.display())
            }
        }
    }
}

/// The first entry in which two values differ: its name, and what both have.
fn difference(found: &Value, expected: &Value, at: &str) -> Option<(String, String, String)> {
    if let (Value::Object(found), Value::Object(expected)) = (found, expected) {
        let absent = Value::Null;
        // Order of the type, so that another model is named before what follows from it.
        let names = expected.keys().chain(found.keys().filter(|name| !expected.contains_key(*name)));
        let mut names =
            names.map(|name| (name, if at.is_empty() { name.clone() } else { format!("{at}.{name}") }));
        return names.find_map(|(name, place)| {
            let of = |all: &serde_json::Map<String, Value>| all.get(name).unwrap_or(&absent).clone();
            difference(&of(found), &of(expected), &place)
        });
    }
    let shown = |value: &Value| value.to_string();
    (found != expected).then(|| (at.to_owned(), shown(found), shown(expected)))
}

/// The manifest of `folder`; `None` where there is none.
pub(crate) fn manifest_of(folder: &Path) -> Result<Option<Manifest>, FailureMessage> {
    let path = folder.join(MANIFEST);
    let damaged = |reason: String| failure!(Missing: "{}: {reason}; remove it and run `specimen data features` again", path.display());
    let text = match read_side_file(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|error| damaged(format!("it cannot be read: {error}")))?,
    };
    let manifest: Manifest =
        serde_json::from_slice(&text).map_err(|error| damaged(format!("it is no manifest: {error}")))?;
    match manifest.schema {
        SCHEMA => Ok(Some(manifest)),
        other => Err(damaged(format!("its schema is {other}, expected {SCHEMA}"))),
    }
}

/// Opens a file of features, if it was made from `expected` alone and has the digest under which it was listed, if it was.
pub(crate) fn open_file(
    path: &Path,
    expected: &MadeFrom,
    listed: Option<&FeatureFile>,
    device: Device,
) -> anyhow::Result<Checkpoint> {
    let damaged = |reason: String| failure!(Missing: "{}: {reason}; remove it and run `specimen data features` again", path.display());
    let mut file = Checkpoint::open(path, None, device)?;
    if let Some(listed) = listed.filter(|listed| listed.blake3 != file.digest()) {
        let reason = format!("its digest is {}, and {MANIFEST} has {}", file.digest(), listed.blake3);
        return Err(damaged(reason).into());
    }
    let words = words_of(&mut file, MADE_FROM)?.unwrap_or_default();
    let found = serde_json::from_str(&words)
        .map_err(|error| damaged(format!("it does not say what it was made from: {error}")))?;
    expected.check(path, &found)?;
    Ok(file)
}

/// Features that a training reads.
pub struct TargetFeatures {
    made_from: MadeFrom,
    files: RefCell<Vec<Checkpoint>>,
}

impl TargetFeatures {
    /// The whole features in `folder`, to be read to `device`. Every file is compared with its digest.
    pub fn open(folder: &Path, expected: &MadeFrom, device: Device) -> anyhow::Result<Self> {
        let Some(manifest) = manifest_of(folder)? else {
            fail!(Missing: "{}: there are no whole features; `specimen data features` writes them, or \
                continues where it was cut; or leave `features` out of the specification", folder.display());
        };
        expected.check(&folder.join(MANIFEST), &manifest.made_from)?;
        let names: Vec<String> = (0..expected.n_files()).map(file_name).collect();
        if !manifest.files.iter().map(|file| &file.name).eq(&names) {
            let reason = format!("it does not list the {} files of these features", names.len());
            fail!(Missing: "{}: {reason}; remove it and run `specimen data features` again",
                folder.join(MANIFEST).display());
        }
        let open =
            |listed: &FeatureFile| open_file(&folder.join(&listed.name), expected, Some(listed), device);
        let files = manifest.files.iter().map(open).collect::<anyhow::Result<Vec<_>>>()?;
        Ok(Self { made_from: expected.clone(), files: RefCell::new(files) })
    }

    /// Tokens of the image `at`, `[n_tokens]`, i64, and what the target gives on them behind `prefix`.
    ///
    /// # Panics
    /// If there is no such image.
    pub fn of_image(&self, at: usize, prefix: &Prefix) -> Result<(Tensor, ImageFeatures), LoadError> {
        let MadeFrom { images_a_file, n_images, n_tokens, taps, .. } = &self.made_from;
        let file = &mut self.files.borrow_mut()[at / images_a_file];
        let first = at / images_a_file * images_a_file;
        let n_of_file = (*images_a_file).min(n_images - first) as i64;
        let tokens = file.take(TOKENS, &[n_of_file, *n_tokens as i64])?.get((at - first) as i64);
        let (n_rows, _, d) = prefix.slots.size3().expect("a prefix has three axes");
        let m = ImageFeatures::n_slots(prefix, *n_tokens as i64);
        let [features, read] = tensor_names(at);
        let features = file.take(&features, &[n_rows, m, d])?;
        let read = match taps.len() as i64 {
            0 => features.shallow_clone(),
            n_taps => file.take(&read, &[n_rows, m, n_taps * d])?,
        };
        Ok((tokens, ImageFeatures { features, read }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_entry_that_differs_is_named_with_both_values() {
        let check = |found: Value, expected: Value, parts: [&str; 3]| {
            let found = difference(&found, &expected, "").expect("they differ");
            assert_eq!(found, (parts[0].to_owned(), parts[1].to_owned(), parts[2].to_owned()));
        };
        let one = json!({ "model": "a", "sampling": { "guidance": 3.0 }, "taps": [2] });
        assert_eq!(difference(&one, &one.clone(), ""), None);
        check(one.clone(), json!({ "model": "b", "taps": [3] }), ["model", "\"a\"", "\"b\""]);
        let guided = json!({ "model": "a", "sampling": { "guidance": 4.0 }, "taps": [2] });
        check(one.clone(), guided, ["sampling.guidance", "3.0", "4.0"]);
        let more = json!({ "model": "a", "sampling": { "guidance": 3.0 }, "taps": [2], "samples": 1 });
        check(one.clone(), more.clone(), ["samples", "null", "1"]);
        check(more, one.clone(), ["samples", "1", "null"]);
        check(json!([1]), json!([2]), ["", "[1]", "[2]"]);
    }
}
