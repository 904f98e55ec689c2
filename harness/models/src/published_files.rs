//! Where the files of a published model lie on this machine: below the data folder, or in the cache of the Hugging
//! Face hub. Nothing is downloaded.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::target::ModelError;

/// One of the ways in which a part of a model is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Repository of the hub, `owner/name`.
    pub repo: &'static str,
    /// Files that are needed together, shards in order.
    pub files: &'static [&'static str],
}

/// A part of a model, such as its target or its tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub role: &'static str,
    /// Where it is published; the first that is found whole is taken.
    pub choices: &'static [Choice],
}

/// The folders in which published files are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The data folder; a file of `owner/name` lies at `weights/owner/name/` in it.
    pub data: Option<PathBuf>,
    /// The cache of the hub.
    pub hub: Option<PathBuf>,
    /// Where this program keeps what it can make again.
    pub cache: Option<PathBuf>,
}

impl Places {
    /// `data`, and the folders that the environment names: `HF_HUB_CACHE`, `HF_HOME/hub` or `huggingface/hub` in the
    /// user's cache folder (`XDG_CACHE_HOME` or `HOME/.cache`); `SPECIMEN_CACHE` or `specimen` there.
    #[must_use]
    pub fn of_environment(data: Option<&Path>) -> Self {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let user = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
        let below = |part: &str| user.as_ref().map(|folder| folder.join(part));
        Self {
            data: data.map(Path::to_owned),
            hub: set("HF_HUB_CACHE")
                .or_else(|| Some(set("HF_HOME")?.join("hub")))
                .or_else(|| below("huggingface/hub")),
            cache: set("SPECIMEN_CACHE").or_else(|| below("specimen")),
        }
    }

    /// The files of `part`, in order, if one of its choices is there whole.
    #[must_use]
    pub fn find(&self, part: &Part) -> Option<Vec<PathBuf>> {
        part.choices.iter().find_map(|choice| {
            let all = |place: &dyn Fn(&str) -> Option<PathBuf>| {
                let found = choice.files.iter().map(|file| place(file).filter(|path| path.is_file()));
                found.collect::<Option<Vec<_>>>()
            };
            let own = |file: &str| Some(self.data.as_ref()?.join("weights").join(choice.repo).join(file));
            all(&own).or_else(|| all(&|file| self.snapshot(choice.repo, file)))
        })
    }

    /// The files of every part of `model`, in their order.
    ///
    /// # Errors
    /// [`ModelError::Unfetched`] with all parts that are not there, where they were looked for and the command that
    /// fetches them.
    pub fn find_all(&self, model: &str, parts: &[Part]) -> Result<Vec<Vec<PathBuf>>, ModelError> {
        let found: Vec<Option<Vec<PathBuf>>> = parts.iter().map(|part| self.find(part)).collect();
        let lacking: Vec<String> = parts
            .iter()
            .zip(&found)
            .filter(|(_, found)| found.is_none())
            .map(|(part, _)| wanted(part))
            .collect();
        if lacking.is_empty() {
            return Ok(found.into_iter().flatten().collect());
        }
        let data = self.data.as_ref().map(|folder| folder.join("weights"));
        let data =
            data.map_or_else(|| "weights below SPECIMEN_DATA".to_owned(), |path| path.display().to_string());
        let hub = self.hub.as_ref().map(|path| format!(" and {}", path.display())).unwrap_or_default();
        Err(ModelError::Unfetched { model: model.into(), parts: lacking.join("; "), looked: data + &hub })
    }

    /// `file` in a snapshot of `repo`: that of `main`, or else the first by name that has it.
    fn snapshot(&self, repo: &str, file: &str) -> Option<PathBuf> {
        let folder = self.hub.as_ref()?.join(format!("models--{}", repo.replace('/', "--")));
        let revision = fs::read_to_string(folder.join("refs/main")).unwrap_or_else(|_| "main".to_owned());
        let main = folder.join("snapshots").join(revision.trim()).join(file);
        if main.is_file() {
            return Some(main);
        }
        let snapshots = fs::read_dir(folder.join("snapshots")).into_iter().flatten().flatten();
        let mut others: Vec<PathBuf> = snapshots.map(|entry| entry.path().join(file)).collect();
        others.sort();
        others.into_iter().find(|path| path.is_file())
    }
}

/// A part in words, with all ways to have it.
fn wanted(part: &Part) -> String {
    let choices = part.choices.iter().map(|choice| format!("{}/{{{}}}", choice.repo, choice.files.join(",")));
    format!("{} ({})", part.role, choices.collect::<Vec<_>>().join(" or "))
}
