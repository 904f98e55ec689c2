//! The published models of the family and the files of each.

use std::path::PathBuf;

use specimen_hub::{
    Places,
    parts::{self, Part},
};

use crate::{
    published_files::{AbsentHead, find_all, of_tensors},
    target::ModelError,
};

/// The files of one model.
#[derive(Clone, Debug)]
pub struct ModelFiles {
    /// `config.json` of the transformer; files in Meta's layout do without.
    pub config: Option<PathBuf>,
    /// The transformer, in as many files as it comes in.
    pub target: Vec<PathBuf>,
    /// The tokenizer.
    pub tokenizer: PathBuf,
    /// The picture decoder.
    pub picture: PathBuf,
    /// The EAGLE-1 head, or what is missing for it.
    pub head: Result<PathBuf, AbsentHead>,
}

/// Where one model is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The model.
    pub model: &'static str,
    /// Target, tokenizer and picture decoder, in this order.
    pub parts: &'static [Part],
    /// The manifest that says how to come by its EAGLE-1 head.
    pub head_manifest: &'static str,
    /// Its EAGLE-1 head.
    pub head: Part,
}

/// Every published model of the family.
pub const SOURCES: [Source; 3] = [
    Source {
        model: "lumina-mgpt-7b-768",
        parts: parts::LUMINA_768,
        head_manifest: "lumina-mgpt-7b-768-drafter",
        head: parts::LUMINA_768_DRAFTER,
    },
    Source {
        model: "lumina-mgpt-7b-512",
        parts: parts::LUMINA_512,
        head_manifest: "lumina-mgpt-7b-512-drafter",
        head: parts::LUMINA_512_DRAFTER,
    },
    Source {
        model: "anole-7b",
        parts: parts::ANOLE,
        head_manifest: "anole-7b-drafter",
        head: parts::ANOLE_DRAFTER,
    },
];

impl Source {
    /// The published model called `name`.
    #[must_use]
    pub fn of(name: &str) -> Option<&'static Self> {
        SOURCES.iter().find(|source| source.model == name)
    }

    /// The files of the model, wherever each part of them lies.
    ///
    /// # Errors
    /// [`ModelError::Unfetched`] with every part that is missing but the head.
    pub fn locate(&self, places: &Places) -> Result<ModelFiles, ModelError> {
        let [target, tokenizer, picture]: [Vec<PathBuf>; 3] = find_all(places, self.model, self.parts)?
            .try_into()
            .expect("a model of the family has three parts");
        let only = |mut files: Vec<PathBuf>| files.remove(0);
        let head = places.part(&self.head).map(only).ok_or_else(|| AbsentHead {
            manifest: self.head_manifest,
            part: self.head,
            places: places.clone(),
        });
        Ok(ModelFiles {
            config: target.first().filter(|path| path.ends_with("config.json")).cloned(),
            target: of_tensors(target),
            tokenizer: only(tokenizer),
            picture: only(picture),
            head,
        })
    }
}
