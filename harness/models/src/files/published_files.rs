//! The files of a published model on this machine, as `specimen-hub` finds them, or an error that says what to fetch.
//! Nothing is downloaded.

use std::{
    env,
    fs::File,
    path::{Path, PathBuf},
};

use specimen_catalog::{
    Entry, Part, entry, entry::Origin, hub::Found, hub::HubError, hub::Places, hub::digest, part::INDEX,
};
use specimen_foundation::fail;
use specimen_weights::{DigestCache, LoadError};

use crate::seam::model_error::ModelError;

/// `data`, and the folders that the environment names, as [`Places::of_environment`].
pub fn places(data: Option<&Path>) -> Places {
    Places::of_environment(data, variable)
}

fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from)
}

/// The files of every part of `model`, in their order.
pub fn find_all(places: &Places, model: &str, parts: &[&Part]) -> Result<Vec<Vec<PathBuf>>, ModelError> {
    let found: Vec<Option<Vec<PathBuf>>> = parts.iter().map(|part| places.part(part)).collect();
    let missing: Vec<&Part> =
        parts.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(part, _)| *part).collect();
    if let Some((part, given)) = missing.iter().find_map(|part| Some((part, places.given_for(part)?))) {
        let (path, expected) = (given.path.clone(), expected(part));
        fail!(Missing: "model `{model}`: {} has no {}; expected a file of tensors, or a folder with \
            {expected}", path.display(), part.role);
    }
    if missing.is_empty() {
        return Ok(found.into_iter().flatten().collect());
    }
    let parts = missing.iter().map(|part| part.role.as_str()).collect::<Vec<_>>().join(", ");
    fail!(Missing: "model `{model}` is not on this machine: no {parts} in {}; fetch it:\n    specimen data \
        fetch {model}", places.described())
}

/// Compares the published files of `model`, of what it needs and of its heads, as far as they are here, with the sizes and
/// digests that are known of them; what was converted by the digest of its source. Returns a sentence for each that is not of
/// the commit that the catalog names. What a user names is not looked at.
pub fn compared(places: &Places, model: &'static Entry) -> Result<Vec<String>, ModelError> {
    let digests = DigestCache::of_environment();
    let kept = |path: &Path, like: &str| {
        digests.digest_by("sha256", &File::open(path)?, path, || digest::of_file(path, like))
    };
    let heads = model.published_heads().into_iter().filter_map(|(_, _, head)| entry(head).ok());
    let mut odd = Vec::new();
    for of in model.with_needs().into_iter().chain(heads) {
        let given = |name: &String| {
            of.parts.iter().any(|part| part.fetched.contains(name) && places.given_for(part).is_some())
        };
        for file in of.files.iter().filter(|file| !given(&file.name)) {
            let Found::Ready(path) = places.find(file) else { continue };
            if file.converted.as_ref().is_some_and(|converted| path.ends_with(converted)) {
                match digest::check_source(&path, file) {
                    // Whoever loads it says what is wrong with it.
                    Ok(_) | Err(HubError::Io { .. }) => continue,
                    Err(error) => return Err(error.into()),
                }
            }
            digest::check_published_by(&path, file, &kept)?;
            if let (Some(found), Origin::Hub { revision, .. }, None) =
                (places.other_snapshot(file, &path), &file.origin, file.sha256.get())
            {
                odd.push(format!(
                    "{} is of commit {found}, the catalog names {revision}: `specimen data fetch {}` fetches that one",
                    file.described(),
                    of.name
                ));
            }
        }
    }
    Ok(odd)
}

/// The ways in which the files of a part can be named.
fn expected(part: &Part) -> String {
    let mut all: Vec<String> = part.choices.iter().map(|choice| choice.files.join(" and ")).collect();
    all.dedup();
    all.join(", or ")
}

/// Those of `paths` that hold tensors: all but configuration and index.
pub fn of_tensors(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let is_beside = |path: &PathBuf| path.ends_with("config.json") || path.ends_with(INDEX);
    paths.into_iter().filter(|path| !is_beside(path)).collect()
}

/// A head that was not there when its target was loaded.
#[derive(Clone, Debug)]
pub struct AbsentHead {
    /// The entry of the catalog that says how to come by it.
    pub entry: &'static str,
    /// What was looked for.
    pub part: &'static Part,
    /// Where.
    pub places: Places,
}

impl AbsentHead {
    /// Why it does not draft: it is still absent, or came too late.
    pub fn refusal(&self) -> ModelError {
        match find_all(&self.places, self.entry, &[self.part]) {
            Err(error) => error,
            Ok(_) => {
                let path = self.part.choices[0].repo.clone().into();
                let reason = "it was not there when the model was loaded; start again".into();
                LoadError::Config { path, reason }.into()
            }
        }
    }
}
