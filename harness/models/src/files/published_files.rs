//! The files of a published model on this machine, as `specimen-hub` finds them, or an error that says what to fetch.
//! Nothing is downloaded.

use std::{
    env,
    path::{Path, PathBuf},
};

use specimen_catalog::{Part, part::INDEX};
use specimen_hub::Places;
use specimen_weights::LoadError;

use crate::seam::model_error::ModelError;

/// `data`, and the folders that the environment names, as [`Places::of_environment`].
#[must_use]
pub fn places(data: Option<&Path>) -> Places {
    Places::of_environment(data, variable)
}

fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from)
}

/// The files of every part of `model`, in their order.
///
/// # Errors
/// [`ModelError::Unfetched`] with all parts that are not there, where they were looked for and the command that
/// fetches them; [`ModelError::Given`] where the files that a user names are not those of the model.
pub fn find_all(places: &Places, model: &str, parts: &[&Part]) -> Result<Vec<Vec<PathBuf>>, ModelError> {
    let found: Vec<Option<Vec<PathBuf>>> = parts.iter().map(|part| places.part(part)).collect();
    let missing: Vec<&Part> =
        parts.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(part, _)| *part).collect();
    if let Some((part, given)) = missing.iter().find_map(|part| Some((part, places.given_for(part)?))) {
        let (path, expected) = (given.path.clone(), expected(part));
        return Err(ModelError::Given { model: model.into(), path, role: part.role.clone(), expected });
    }
    if missing.is_empty() {
        return Ok(found.into_iter().flatten().collect());
    }
    let parts = missing.iter().map(|part| part.role.as_str()).collect::<Vec<_>>().join(", ");
    Err(ModelError::Unfetched { model: model.into(), parts, looked: places.described() })
}

/// The ways in which the files of a part can be named.
fn expected(part: &Part) -> String {
    let mut all: Vec<String> = part.choices.iter().map(|choice| choice.files.join(" and ")).collect();
    all.dedup();
    all.join(", or ")
}

/// Those of `paths` that hold tensors: all but configuration and index.
#[must_use]
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
    #[must_use]
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
