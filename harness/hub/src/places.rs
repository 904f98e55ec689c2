//! Where published files lie on this machine: below the folders of this program, then in the caches of the Hugging Face
//! hub and of torch.

use std::path::{Path, PathBuf};

use crate::{
    cache::HubCache,
    manifest::{Manifest, Origin, PublishedFile},
    settings::user_folder,
};

/// Folder of weights below a folder of this program.
const FOLDER: &str = "weights";

/// The folders in which files are looked for, and those they are put into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Folders of this program, with weights below `weights/`: `SPECIMEN_DATA`, then `SPECIMEN_CACHE`, which is `specimen`
    /// in the user's cache folder where it is not set. What is converted goes into the first.
    pub own: Vec<PathBuf>,
    /// The cache of the hub: `HF_HUB_CACHE`, `HF_HOME/hub` or `huggingface/hub` in the user's cache folder.
    pub hub: Option<PathBuf>,
    /// What torch.hub fetched: `TORCH_HOME/hub/checkpoints` or `torch/hub/checkpoints` in the user's cache folder.
    pub torch: Option<PathBuf>,
}

/// How a file stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It can be read as it is: it needs no conversion, or was converted.
    Ready(PathBuf),
    /// It is here, and its safetensors are not.
    Unconverted {
        /// The published file.
        path: PathBuf,
        /// Where its safetensors belong.
        to: PathBuf,
    },
    /// It is not here.
    Missing,
}

impl Places {
    /// The folders that `variable` names; empty values count as not set. `data` stands for `SPECIMEN_DATA`.
    pub fn of_environment(data: Option<&Path>, variable: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let set = |name: &str| variable(name).filter(|path| !path.as_os_str().is_empty());
        let user = user_folder(&set);
        let below = |part: &str| user.as_ref().map(|folder| folder.join(part));
        let own = [data.map(Path::to_owned), set("SPECIMEN_CACHE").or_else(|| below("specimen"))];
        Self {
            own: own.into_iter().flatten().collect(),
            hub: set("HF_HUB_CACHE")
                .or_else(|| Some(set("HF_HOME")?.join("hub")))
                .or_else(|| below("huggingface/hub")),
            torch: set("TORCH_HOME")
                .map(|folder| folder.join("hub/checkpoints"))
                .or_else(|| below("torch/hub/checkpoints")),
        }
    }

    /// How `file` stands.
    #[must_use]
    pub fn find(&self, file: &PublishedFile) -> Found {
        if let Some(converted) = &file.converted {
            let found = self.own.iter().map(|folder| folder.join(converted)).find(|path| path.is_file());
            if let Some(path) = found {
                return Found::Ready(path);
            }
        }
        let is_ready = |path: &Path| path.extension().is_some_and(|ending| ending == "safetensors");
        match (self.published(file), &file.converted) {
            (None, _) => Found::Missing,
            (Some(path), None) => Found::Ready(path),
            (Some(path), Some(_)) if is_ready(&path) => Found::Ready(path),
            (Some(path), Some(converted)) => match self.own.first() {
                Some(folder) => Found::Unconverted { to: folder.join(converted), path },
                None => Found::Missing,
            },
        }
    }

    /// The files of `manifest` that cannot be read yet, and that nothing else stands for.
    #[must_use]
    pub fn missing<'m>(&self, manifest: &'m Manifest) -> Vec<&'m PublishedFile> {
        let is_there = |place: &Path| self.own.iter().any(|folder| folder.join(place).is_file());
        let is_replaced = |file: &PublishedFile| {
            let others = manifest.otherwise.iter().filter(|other| other.files.contains(&file.name));
            others.into_iter().any(|other| is_there(Path::new(&other.place)))
        };
        let is_in_folder = |file: &PublishedFile| {
            let folder = manifest.folder.as_ref().filter(|_| file.converted.is_none());
            folder.is_some_and(|folder| is_there(&Path::new(folder).join(file.base_name())))
        };
        let is_ready = |file: &PublishedFile| matches!(self.find(file), Found::Ready(_));
        let files = manifest.files.iter();
        files.filter(|file| !(is_ready(file) || is_in_folder(file) || is_replaced(file))).collect()
    }

    /// The published file itself, if it is here.
    #[must_use]
    pub fn published(&self, file: &PublishedFile) -> Option<PathBuf> {
        let own = |part: PathBuf| self.own.iter().map(move |folder| folder.join(FOLDER).join(&part));
        let mut candidates: Vec<PathBuf> = Vec::new();
        match &file.origin {
            Origin::Hub { repo, revision } => {
                for name in [Some(&file.name), file.instead.as_ref()].into_iter().flatten() {
                    candidates.extend(own(Path::new(repo).join(name)));
                    let cached =
                        self.hub.as_ref().and_then(|hub| HubCache::new(hub, repo).find(revision, name));
                    candidates.extend(cached);
                }
            }
            Origin::Url { .. } => {
                candidates.extend(own(file.base_name().into()));
                candidates.extend(self.torch.iter().map(|folder| folder.join(file.base_name())));
            }
            Origin::ByHand { place, .. } => {
                candidates.extend(self.own.iter().map(|folder| folder.join(place)))
            }
        }
        candidates.into_iter().find(|path| path.is_file())
    }

    /// Where a file from an address is put.
    pub(crate) fn place_of_url(&self, file: &PublishedFile) -> Option<PathBuf> {
        Some(self.own.first()?.join(FOLDER).join(file.base_name()))
    }
}
