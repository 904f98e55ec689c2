//! Where published files are on this machine: below the folders of this program, then in the caches of the Hugging Face
//! hub, of torch and of OpenAI's CLIP.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use specimen_foundation::folders::{
    cache_folder_by, data_folder, hub_cache_folder, user_cache_folder, variable,
};

use crate::{
    Choice, Entry, Part,
    entry::{Origin, PublishedFile},
    hub::{
        cache::{HubCache, MAIN},
        digest::is_digest,
    },
    part::INDEX,
};

/// Folder of weights below a folder of this program.
const FOLDER: &str = "weights";
/// The largest index of shards that is read, in bytes.
const MAX_INDEX: u64 = 1 << 26;

/// The folders in which files are looked for, and those they are put into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Folders of this program, with weights below `weights/`: `SPECIMEN_DATA`, then `SPECIMEN_CACHE`, which is
    /// `specimen` in the user's cache folder where it is not set. What is converted goes into the first.
    pub own: Vec<PathBuf>,
    /// The cache of the hub: `HF_HUB_CACHE`, `HF_HOME/hub` or `huggingface/hub` in the user's cache folder.
    pub hub: Option<PathBuf>,
    /// What torch.hub fetched: `TORCH_HOME/hub/checkpoints` or `torch/hub/checkpoints` in the user's cache folder.
    pub torch: Option<PathBuf>,
    /// What OpenAI's CLIP fetched: `clip` in the user's cache folder.
    pub clip: Option<PathBuf>,
    /// Files that a user names for parts of one model; these parts are looked for nowhere else.
    pub given: Option<Given>,
}

/// Files that a user names instead of published ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// One file of tensors, or a folder with the files of every part in it.
    pub path: PathBuf,
    /// The parts that it is: of a file the first of the model, of a folder all of the model's own.
    pub parts: Vec<&'static Part>,
}

impl Given {
    /// `path` for `model`: its own parts, not those of the entries that it needs.
    pub fn of(model: &'static Entry, path: PathBuf) -> Self {
        let n_parts = if path.is_dir() { model.parts.len() } else { 1 };
        Self { path, parts: model.parts.iter().take(n_parts).collect() }
    }

    /// The files of `part` in it, in order, if all are there.
    fn find(&self, part: &Part) -> Option<Vec<PathBuf>> {
        if self.path.is_dir() {
            return part.choices.iter().find_map(|choice| whole(choice, &self.path));
        }
        self.path.is_file().then(|| vec![self.path.clone()])
    }
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
        let own = [data.map(Path::to_owned), cache_folder_by(&variable)];
        let user = user_cache_folder(&variable);
        let in_user = |part: &str| user.as_ref().map(|folder| folder.join(part));
        Self {
            own: own.into_iter().flatten().collect(),
            hub: hub_cache_folder(&variable),
            torch: set("TORCH_HOME")
                .map(|folder| folder.join("hub/checkpoints"))
                .or_else(|| in_user("torch/hub/checkpoints")),
            clip: in_user("clip"),
            given: None,
        }
    }

    /// The folders that this process's environment names; without `data`, also `SPECIMEN_DATA`.
    pub fn of_this_process(data: Option<&Path>) -> Self {
        Self::of_environment(data.map(Path::to_owned).or_else(data_folder).as_deref(), variable)
    }

    /// The weights of `entry`, a network of the metrics: of the files that have them the first that can be read as it is,
    /// else the first that must be converted; `None` without any.
    pub fn weights<'e>(&self, entry: &'e Entry) -> Option<(&'e PublishedFile, Found)> {
        let mut found: Vec<_> = entry.weights().map(|file| (file, self.find(file))).collect();
        found.retain(|(_, found)| *found != Found::Missing);
        found.sort_by_key(|(_, found)| !matches!(found, Found::Ready(_)));
        found.into_iter().next()
    }

    /// How `file` stands.
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

    /// The files that a user names for `part`, if there are any.
    pub fn given_for(&self, part: &Part) -> Option<&Given> {
        self.given.as_ref().filter(|given| given.parts.contains(&part))
    }

    /// The files of `part`, in order, if one of its choices is there whole: in what a user names for it, or else in
    /// one folder of this program, or in one snapshot of the hub's cache.
    pub fn part(&self, part: &Part) -> Option<Vec<PathBuf>> {
        if let Some(given) = self.given_for(part) {
            return given.find(part);
        }
        part.choices.iter().find_map(|choice| {
            let own = self.own.iter().map(|folder| folder.join(FOLDER).join(&choice.repo));
            let revision = choice.revision.as_deref().unwrap_or(MAIN);
            let cached = self.hub.iter().flat_map(|hub| HubCache::new(hub, &choice.repo).snapshots(revision));
            own.chain(cached).find_map(|folder| whole(choice, &folder))
        })
    }

    /// The files of `entry` that must still be fetched or converted: those of every part that is not there whole.
    /// Where all files of such a part are there, and not together, all are named.
    pub fn missing<'e>(&self, entry: &'e Entry) -> Vec<&'e PublishedFile> {
        let is_ready = |file: &PublishedFile| matches!(self.find(file), Found::Ready(_));
        if entry.parts.is_empty() {
            let has_weights = matches!(self.weights(entry), Some((_, Found::Ready(_))));
            let is_needed =
                |file: &&PublishedFile| !(is_ready(file) || has_weights && file.converted.is_some());
            return entry.files.iter().filter(is_needed).collect();
        }
        let lies_beside = |file: &PublishedFile, part: &Part| {
            let place = |folder: &PathBuf, choice: &Choice| {
                folder.join(FOLDER).join(&choice.repo).join(file.base_name()).is_file()
            };
            let is_there = |choice: &Choice| self.own.iter().any(|folder| place(folder, choice));
            file.converted.is_none() && part.choices.iter().any(is_there)
        };
        let of_part = |part: &Part| -> Vec<&'e PublishedFile> {
            let is_of_it = |file: &&PublishedFile| part.fetched.contains(&file.name);
            let all: Vec<_> = entry.files.iter().filter(is_of_it).collect();
            let is_here = |file: &PublishedFile| is_ready(file) || lies_beside(file, part);
            let missing: Vec<_> = all.iter().copied().filter(|file| !is_here(file)).collect();
            if missing.is_empty() { all } else { missing }
        };
        entry.parts.iter().filter(|part| self.part(part).is_none()).flat_map(of_part).collect()
    }

    /// The published file itself, if it is here.
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
                let caches = self.torch.iter().chain(&self.clip);
                candidates.extend(caches.map(|folder| folder.join(file.base_name())));
            }
            Origin::ByHand { place, .. } => {
                candidates.extend(self.own.iter().map(|folder| folder.join(place)))
            }
        }
        candidates.into_iter().find(|path| path.is_file())
    }

    /// The snapshot of the hub's cache that `path`, which is `file`, is in, where the catalog names another commit.
    pub fn other_snapshot(&self, file: &PublishedFile, path: &Path) -> Option<String> {
        let Origin::Hub { repo, revision } = &file.origin else { return None };
        let found = HubCache::new(self.hub.as_ref()?, repo).snapshot_of(path)?;
        (is_digest(revision) && found != *revision).then_some(found)
    }

    /// The folders that are looked into, in words.
    pub fn described(&self) -> String {
        let own = self.own.iter().map(|folder| folder.join(FOLDER));
        let all: Vec<String> = own.chain(self.hub.clone()).map(|path| path.display().to_string()).collect();
        if all.is_empty() { "no folder: SPECIMEN_DATA is not set".to_owned() } else { all.join(" and ") }
    }

    /// What to do with a copy of `file` that was not fetched by this program; `None` of a file that needs no conversion.
    pub fn with_a_copy(&self, file: &PublishedFile) -> Option<String> {
        let to = Path::new(file.converted.as_deref()?);
        let to = self.own.first().map_or_else(|| to.to_owned(), |folder| folder.join(to));
        let command = convert_command(Path::new(file.base_name()), &to);
        Some(format!(
            "if you have the file, `{command}` puts its weights where they are looked for; anywhere else, `--weights` of a \
             metric and `weights` of a spec name what it makes"
        ))
    }

    /// Where a copy of a file belongs in the first folder of this program; what is fetched from an address is put there.
    pub(crate) fn place_of_copy(&self, file: &PublishedFile) -> Option<PathBuf> {
        let folder = self.own.first()?;
        Some(match &file.origin {
            Origin::Hub { repo, .. } => folder.join(FOLDER).join(repo).join(&file.name),
            Origin::Url { .. } => folder.join(FOLDER).join(file.base_name()),
            Origin::ByHand { place, .. } => folder.join(place),
        })
    }
}

/// What makes the safetensors file `to` of the pickle `from`, and writes there what it was made from.
pub fn convert_command(from: &Path, to: &Path) -> String {
    format!("specimen convert '{}' '{}'", from.display(), to.display())
}

/// The files of `choice` in `folder`, if all are there. Behind an index come the shards it lists.
fn whole(choice: &Choice, folder: &Path) -> Option<Vec<PathBuf>> {
    let mut all = Vec::new();
    for file in &choice.files {
        let path = folder.join(file);
        let shards = if file == INDEX { listed(&path)? } else { Vec::new() };
        all.push(path);
        all.extend(shards);
    }
    all.iter().all(|path| path.is_file()).then_some(all)
}

/// The files that an index lists, each once, in order of name; `None` if it is none or lists none. A name that leads
/// elsewhere is none of the files beside the index: whoever opens the index refuses it.
fn listed(index: &Path) -> Option<Vec<PathBuf>> {
    #[derive(Deserialize)]
    struct Index {
        weight_map: BTreeMap<String, String>,
    }
    let mut text = String::new();
    File::open(index).ok()?.take(MAX_INDEX).read_to_string(&mut text).ok()?;
    let Index { weight_map } = serde_json::from_str(&text).ok()?;
    let names: BTreeSet<String> = weight_map.into_values().collect();
    let is_plain = |name: &String| Path::new(name).file_name().is_some_and(|plain| plain == name.as_str());
    let shards: Vec<PathBuf> =
        names.into_iter().filter(is_plain).map(|name| index.with_file_name(name)).collect();
    (!shards.is_empty()).then_some(shards)
}
