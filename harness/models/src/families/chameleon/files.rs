//! The published models of the family and the files of each.

use std::path::PathBuf;

use specimen_catalog::{Entry, Part, hub::Places};

use crate::{
    files::published_files::{find_all, of_tensors},
    heads::head_sources::HeadSource,
    seam::model_error::ModelError,
};

/// The files of one model.
#[derive(Clone, Debug)]
pub struct ModelFiles {
    /// `config.json` of the transformer; files in Meta's layout do without.
    pub config: Option<PathBuf>,
    /// The transformer, in as many files as it comes in.
    pub target: Vec<PathBuf>,
    /// The file of the text tokenizer.
    pub tokenizer: PathBuf,
    /// The picture decoder.
    pub picture: PathBuf,
}

/// Where one model is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name of the model in the catalog.
    pub model: &'static str,
    /// Target, tokenizer and picture decoder, in this order.
    pub parts: Vec<&'static Part>,
    /// The heads that draft for it.
    pub heads: Vec<HeadSource>,
}

impl Source {
    /// The published model that is `model` in the catalog.
    ///
    /// # Panics
    /// If `model` is no published one of the family, which the tests of the catalog's files exclude.
    pub fn of(model: &'static Entry) -> Self {
        Self { model: &model.name, parts: model.all_parts(), heads: HeadSource::all_of(model) }
    }

    /// The files of the model but its heads, wherever each part of them lies.
    pub fn locate(&self, places: &Places) -> Result<ModelFiles, ModelError> {
        let [target, tokenizer, picture]: [Vec<PathBuf>; 3] = find_all(places, self.model, &self.parts)?
            .try_into()
            .expect("a model of the family has three parts");
        let only = |mut files: Vec<PathBuf>| files.remove(0);
        Ok(ModelFiles {
            config: target.first().filter(|path| path.ends_with("config.json")).cloned(),
            target: of_tensors(target),
            tokenizer: only(tokenizer),
            picture: only(picture),
        })
    }
}
