//! Where the published weights of the family lie on this machine: a folder of this program, then the cache of the
//! Hugging Face hub. Nothing is downloaded here, and only safetensors are read.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use specimen_weights::bounded::read_side_file;

use crate::target::ModelError;

/// The files of one model.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    pub head: Result<PathBuf, Absent>,
}

/// Files that are not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// What was looked for, and from where it is published.
    pub wanted: Vec<String>,
    /// Folders that were looked into.
    pub places: Vec<PathBuf>,
}

impl Absent {
    /// The error of `model` for it.
    #[must_use]
    pub fn error(&self, model: &str) -> ModelError {
        let places: Vec<String> = self.places.iter().map(|place| place.display().to_string()).collect();
        ModelError::AbsentFiles {
            model: model.to_owned(),
            wanted: self.wanted.join("; "),
            places: if places.is_empty() {
                "no place: SPECIMEN_DATA is not set".into()
            } else {
                places.join(", ")
            },
        }
    }
}

/// Folders in which weights may lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// What `SPECIMEN_DATA` names; weights of a model lie in `weights/<model>` below it.
    pub data: Option<PathBuf>,
    /// The cache of the Hugging Face hub.
    pub hub: Option<PathBuf>,
}

impl Places {
    /// `data`, and the cache that the environment names: `HF_HUB_CACHE`, `HF_HOME/hub`, or `huggingface/hub` in the
    /// user's cache folder. `variable` looks a variable up.
    #[must_use]
    pub fn of_environment(data: Option<&Path>, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let hub = set("HF_HUB_CACHE")
            .or_else(|| Some(set("HF_HOME")?.join("hub")))
            .or_else(|| Some(set("XDG_CACHE_HOME")?.join("huggingface/hub")))
            .or_else(|| Some(set("HOME")?.join(".cache/huggingface/hub")));
        Self { data: data.map(Path::to_owned), hub }
    }

    /// Folders for the files of `repository`: below the data folder, then what the hub's cache holds of its main
    /// revision.
    fn folders(&self, model: &str, repository: &str) -> Vec<PathBuf> {
        let own = self.data.as_ref().map(|data| data.join("weights").join(model));
        let cached = self.hub.as_ref().map(|hub| {
            let cached = hub.join(format!("models--{}", repository.replace('/', "--")));
            let revision = std::fs::read_to_string(cached.join("refs/main")).unwrap_or_default();
            match revision.trim() {
                "" => cached.join("snapshots"),
                revision => cached.join("snapshots").join(revision),
            }
        });
        own.into_iter().chain(cached).collect()
    }
}

/// Where the parts of one model are published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The model.
    pub model: &'static str,
    /// Repository of the transformer and its tokenizer, on the Hugging Face hub.
    pub target: &'static str,
    /// Repository of the EAGLE-1 head.
    pub head: &'static str,
}

/// Every published model of the family.
pub const SOURCES: [Source; 3] = [
    Source {
        model: "lumina-mgpt-7b-768",
        target: "Alpha-VLLM/Lumina-mGPT-7B-768",
        head: "sihwanpark/LANTERN-Lumina-mGPT-7B-768",
    },
    Source {
        model: "lumina-mgpt-7b-512",
        target: "Alpha-VLLM/Lumina-mGPT-7B-512",
        head: "sihwanpark/LANTERN-Lumina-mGPT-7B-512",
    },
    Source { model: "anole-7b", target: "leloy/Anole-7b-v0.1-hf", head: "jadohu/anole_drafter" },
];

/// The transformer in one file, and the list of files if it is in several.
const WHOLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
/// A converted `consolidated.pth` of Meta's layout.
const CONSOLIDATED: &str = "consolidated.safetensors";
/// Names of a tokenizer's file.
const TOKENIZERS: [&str; 2] = ["tokenizer.json", "text_tokenizer.json"];
/// A converted `vqgan.ckpt`.
const PICTURE: &str = "vqgan.safetensors";
/// Names of a head's file; the second is looked for in the head's own repository only.
const HEAD: &str = "drafter.safetensors";

impl Source {
    /// The published model called `name`.
    #[must_use]
    pub fn of(name: &str) -> Option<&'static Self> {
        SOURCES.iter().find(|source| source.model == name)
    }

    /// The file below the data folder that every copy of the model has.
    #[must_use]
    pub fn config_file(&self) -> String {
        format!("weights/{}/config.json", self.model)
    }

    /// The files of the model, wherever each of them lies.
    ///
    /// # Errors
    /// Every part that is missing but the head, with all folders that were looked into.
    pub fn locate(&self, places: &Places) -> Result<ModelFiles, Absent> {
        let folders = places.folders(self.model, self.target);
        let mut absent = Absent { wanted: Vec::new(), places: folders.clone() };
        let target = folders.iter().find_map(|folder| transformer_in(folder));
        if target.is_none() {
            absent.wanted.push(format!(
                "config.json and {WHOLE} (or {INDEX} with its files) of {}, or Meta's consolidated.pth as {CONSOLIDATED}",
                self.target
            ));
        }
        let find = |names: &[&str]| {
            folders
                .iter()
                .flat_map(|folder| names.iter().map(|name| folder.join(name)))
                .find(|path| path.is_file())
        };
        let (tokenizer, picture) = (find(&TOKENIZERS), find(&[PICTURE]));
        if tokenizer.is_none() {
            absent.wanted.push(format!("{} of {}, or Meta's {}", TOKENIZERS[0], self.target, TOKENIZERS[1]));
        }
        if picture.is_none() {
            absent.wanted.push(format!("tokenizer/vqgan.ckpt of Meta's Chameleon as {PICTURE}"));
        }
        let (Some((config, target)), Some(tokenizer), Some(picture)) = (target, tokenizer, picture) else {
            return Err(absent);
        };
        Ok(ModelFiles { config, target, tokenizer, picture, head: self.locate_head(places) })
    }

    fn locate_head(&self, places: &Places) -> Result<PathBuf, Absent> {
        let folders = places.folders(self.model, self.head);
        let own = places.data.as_ref().map(|_| folders[0].join(HEAD));
        let cached = places.hub.as_ref().and_then(|_| folders.last()).map(|folder| folder.join(WHOLE));
        own.into_iter().chain(cached).find(|path| path.is_file()).ok_or_else(|| Absent {
            wanted: vec![format!("the EAGLE-1 head of {} as {HEAD}", self.head)],
            places: folders,
        })
    }
}

/// The transformer in `folder`, with its `config.json`: whole, in the files of its index, or consolidated.
fn transformer_in(folder: &Path) -> Option<(Option<PathBuf>, Vec<PathBuf>)> {
    let consolidated = folder.join(CONSOLIDATED);
    let config = Some(folder.join("config.json")).filter(|path| path.is_file());
    let mut shards: Vec<PathBuf> = if config.is_some() { listed(&folder.join(INDEX)) } else { Vec::new() };
    if shards.is_empty() && config.is_some() {
        shards.push(folder.join(WHOLE));
    }
    if !shards.is_empty() && shards.iter().all(|path| path.is_file()) {
        return Some((config, shards));
    }
    consolidated.is_file().then(|| (None, vec![consolidated]))
}

/// The files that an index lists, each once, in order of name; none if there is no such index.
fn listed(index: &Path) -> Vec<PathBuf> {
    #[derive(serde::Deserialize)]
    struct Index {
        weight_map: std::collections::BTreeMap<String, String>,
    }
    let text = read_side_file(index).unwrap_or_default();
    let Ok(Index { weight_map }) = serde_json::from_slice(&text) else { return Vec::new() };
    let names: std::collections::BTreeSet<String> = weight_map.into_values().collect();
    // A name that leads elsewhere is none of the files beside the index; whoever opens the index refuses it.
    let is_plain = |name: &String| Path::new(name).file_name().is_some_and(|plain| plain == name.as_str());
    names.into_iter().filter(is_plain).map(|name| index.with_file_name(name)).collect()
}
