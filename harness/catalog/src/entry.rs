//! What is known of a model or network without its files: one TOML file each in `models/`. What is not known says so;
//! nothing is guessed.

use std::{fmt, sync::LazyLock};

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use specimen_foundation::{
    failure::{Failure, FailureKind},
    names,
};

use crate::{
    convert::Recipe,
    part::Part,
    target::{Head, STANDARD, Target},
};

/// A model, a part that several models share, or a network of the metrics.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its name, which is that of its file.
    pub name: String,
    /// What it is, in one line.
    pub what: String,
    /// The licence of the weights, as their authors state it.
    pub licence: Known<String>,
    /// Where the facts of this file are from.
    pub source: String,
    /// Keys of the works to cite, in `citations/`; a test holds that there are some.
    #[serde(default)]
    pub cite: Vec<String>,
    /// Other entries without which it cannot run.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The entry of the EAGLE-1 head that is published for it, or that somebody could train.
    drafter: Option<String>,
    /// Further heads, and those that are made with the model.
    #[serde(default, rename = "head")]
    heads: Vec<Head>,
    /// Its files; none where it is part of the binary or made from a seed.
    #[serde(default, rename = "file")]
    pub files: Vec<PublishedFile>,
    /// Files with the same weights that somebody else publishes, or in another format. They are not fetched; one that is
    /// here is read or converted.
    #[serde(default, rename = "alternative")]
    pub alternatives: Vec<PublishedFile>,
    /// The parts that its files make, each with the ways in which it can be on a disk; none where each file is needed
    /// on its own.
    #[serde(default, rename = "part")]
    pub parts: Vec<Part>,
    /// What it is, if it draws images.
    pub target: Option<Target>,
    /// What it takes; absent where there are no files.
    pub memory: Option<Memory>,
    /// Names of its tensors in another layout, for `specimen convert --model`.
    pub convert: Option<Recipe>,
}

/// A published file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "WireFile")]
pub struct PublishedFile {
    /// Its name in the repository, or after the address; with folders.
    pub name: String,
    /// Another name under which it may be published instead.
    pub instead: Option<String>,
    /// Where it is published.
    pub origin: Origin,
    /// Its size.
    pub n_bytes: Known<u64>,
    /// Its SHA-256, or the beginning of it where only that is published.
    pub sha256: Known<String>,
    /// Where its safetensors are below the data folder, for a file that must be converted before it is read: one whose
    /// name does not end in `.safetensors`.
    pub converted: Option<String>,
}

/// Where a file is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A repository of the Hugging Face hub.
    Hub {
        /// `owner/name`.
        repo: String,
        /// Branch, tag or commit.
        revision: String,
    },
    /// An address.
    Url {
        /// It.
        url: String,
    },
    /// Nowhere that a program could fetch it from.
    ByHand {
        /// How a person gets it.
        by_hand: String,
        /// Where it is looked for, below the data folder.
        place: String,
    },
}

/// A file as a manifest writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireFile {
    name: String,
    instead: Option<String>,
    repo: Option<String>,
    revision: Option<String>,
    url: Option<String>,
    by_hand: Option<String>,
    place: Option<String>,
    n_bytes: Known<u64>,
    sha256: Known<String>,
    converted: Option<String>,
}

impl TryFrom<WireFile> for PublishedFile {
    type Error = String;

    fn try_from(wire: WireFile) -> Result<Self, String> {
        let WireFile { name, instead, n_bytes, sha256, converted, .. } = wire;
        let origin = match (wire.repo, wire.revision, wire.url, wire.by_hand, wire.place) {
            (Some(repo), Some(revision), None, None, None) => Origin::Hub { repo, revision },
            (None, None, Some(url), None, None) => Origin::Url { url },
            (None, None, None, Some(by_hand), Some(place)) => Origin::ByHand { by_hand, place },
            _ => {
                return Err(format!(
                    "file `{name}` must have `repo` and `revision`, or `url`, or `by_hand` and `place`"
                ));
            }
        };
        Ok(Self { name, instead, origin, n_bytes, sha256, converted })
    }
}

/// What a model takes in memory beside its activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Parameters that are loaded.
    pub n_parameters: Known<u64>,
    /// Bytes of keys and values in bf16, with guidance, at the end of an image.
    pub kv_bytes: Known<u64>,
    /// Parameters that a forward over a few tokens reads, for a model that generates.
    pub n_streamed: Option<u64>,
}

/// A fact, or the word `unknown`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known<T> {
    /// It is known.
    Is(T),
    /// Neither the authors nor the tools that fetch it say.
    Unknown,
}

impl<T> Known<T> {
    /// The fact, if it is known.
    pub fn get(&self) -> Option<&T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Unknown => None,
        }
    }
}

impl<T: fmt::Display> fmt::Display for Known<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(value) => value.fmt(f),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Known<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = toml::Value::deserialize(deserializer)?;
        match value.as_str() {
            Some("unknown") => Ok(Self::Unknown),
            _ => T::deserialize(value).map(Self::Is).map_err(serde::de::Error::custom),
        }
    }
}

/// Name and text of every file.
const SOURCES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/models.rs"));

/// Every entry, in the order of their names.
pub static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let parse = |&(name, text): &(&str, &str)| {
        parse(text).unwrap_or_else(|error| panic!("models/{name}.toml is tested to be an entry: {error}"))
    };
    SOURCES.iter().map(parse).collect()
});

/// A name that nothing in the catalog has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown model `{name}`, {suggestion}")]
pub struct UnknownName {
    /// What was asked for.
    pub name: String,
    /// The published name that was probably meant, or all of them.
    pub suggestion: String,
}

impl Failure for UnknownName {
    fn kind(&self) -> Option<FailureKind> {
        Some(FailureKind::Usage)
    }
}

/// The entry called `name`.
pub fn entry(name: &str) -> Result<&'static Entry, UnknownName> {
    ENTRIES.iter().find(|entry| entry.name == name).ok_or_else(|| unknown(name))
}

/// The entry with files that is called `name`.
pub fn published_entry(name: &str) -> Result<&'static Entry, UnknownName> {
    published().find(|entry| entry.name == name).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> UnknownName {
    let suggestion = names::suggestion(name, published().map(|entry| entry.name.as_str()));
    UnknownName { name: name.to_owned(), suggestion }
}

/// The entries with files, in the order of their names.
pub fn published() -> impl Iterator<Item = &'static Entry> {
    ENTRIES.iter().filter(|entry| !entry.files.is_empty())
}

/// The models that draw images, in the order of their names.
pub fn targets() -> impl Iterator<Item = (&'static Entry, &'static Target)> {
    ENTRIES.iter().filter_map(|entry| Some((entry, entry.target.as_ref()?)))
}

/// The model that draws images and is called `name`.
pub fn target(name: &str) -> Option<(&'static Entry, &'static Target)> {
    targets().find(|(entry, _)| entry.name == name)
}

/// The entry in `text`.
pub fn parse(text: &str) -> Result<Entry, String> {
    let mut entry: Entry = toml::from_str(text).map_err(|error| error.to_string())?;
    if let Some(recipe) = &mut entry.convert {
        recipe.name.clone_from(&entry.name);
    }
    for choice in entry.parts.iter_mut().flat_map(|part| &mut part.choices) {
        choice.revision = entry.files.iter().find_map(|file| file.origin.revision_of(&choice.repo));
    }
    for file in entry.files.iter().chain(&entry.alternatives) {
        let is_inside = |path: &str| path.split('/').all(|part| !["", ".", ".."].contains(&part));
        let places = [
            Some(file.name.as_str()),
            file.instead.as_deref(),
            file.converted.as_deref(),
            file.origin.place(),
        ];
        if let Some(place) = places.into_iter().flatten().find(|place| !is_inside(place)) {
            return Err(format!("`{place}` is no relative path of plain parts"));
        }
        if file.sha256.get().is_some_and(|sha256| !(8..=64).contains(&sha256.len()) || !is_hex(sha256)) {
            return Err(format!("the SHA-256 of `{}` is none", file.name));
        }
    }
    Ok(entry)
}

impl Entry {
    /// It, and what it needs, each once, in the order in which they are fetched.
    ///
    /// # Panics
    /// If it needs what is no entry, which its test excludes.
    pub fn with_needs(&'static self) -> Vec<&'static Self> {
        let mut all = vec![self];
        let mut at = 0;
        while at < all.len() {
            for need in &all[at].needs {
                let need = entry(need).expect("needs are tested to be entries");
                if !all.iter().any(|known| known.name == need.name) {
                    all.push(need);
                }
            }
            at += 1;
        }
        all
    }

    /// Its heads that have files: kind, name and the entry that says how to come by it, the one meant where a spec names
    /// none first.
    pub fn published_heads(&'static self) -> Vec<(&'static str, &'static str, &'static str)> {
        let published = self.drafter.iter().map(|manifest| ("eagle1", STANDARD, manifest.as_str()));
        let others = self
            .heads
            .iter()
            .filter_map(|head| Some((head.proposer.as_str(), head.name(), head.manifest.as_deref()?)));
        published.chain(others).collect()
    }

    /// The names that `weights` can have for heads of the kind `proposer`, the one meant where it is left out first;
    /// `None` without such a head, empty where no head of the model has a name.
    pub fn head_names(&'static self, proposer: &str) -> Option<Vec<&'static str>> {
        let has_names = self.heads.iter().any(|head| head.weights.is_some());
        let published = self.drafter.iter().filter(|_| proposer == "eagle1").map(|_| STANDARD);
        let others = self.heads.iter().filter(|head| head.proposer == proposer).map(Head::name);
        let names: Vec<&str> = published.chain(others).collect();
        if names.is_empty() { None } else { Some(if has_names { names } else { Vec::new() }) }
    }

    /// Keys of the works to cite for the head that a spec means by `proposer` and `weights`, where it is made with the
    /// model; those of a published one are in its entry.
    pub fn head_cite(&'static self, proposer: &str, weights: Option<&str>) -> &'static [String] {
        let asked = weights.unwrap_or(STANDARD);
        let head = self.heads.iter().find(|head| head.proposer == proposer && head.name() == asked);
        head.map_or(&[], |head| &head.cite)
    }

    /// The entry of the head that a spec means by `proposer` (`eagle1`, `eagle3`) and `weights`; `None` if there is none
    /// of that name, or it is made with the model.
    pub fn head(&'static self, proposer: &str, weights: Option<&str>) -> Option<&'static str> {
        let asked = weights.unwrap_or(STANDARD);
        let is_asked = |head: &&Head| head.proposer == proposer && head.name() == asked;
        let published = self.drafter.as_deref().filter(|_| (proposer, asked) == ("eagle1", STANDARD));
        published.or_else(|| self.heads.iter().find(is_asked)?.manifest.as_deref())
    }

    /// The files of a network of the metrics that have its weights, any of which is enough: its own, then the alternatives.
    pub fn weights(&self) -> impl Iterator<Item = &PublishedFile> {
        self.files.iter().filter(|file| file.converted.is_some()).chain(&self.alternatives)
    }

    /// Its parts and those of everything it needs, in the order in which they are fetched.
    pub fn all_parts(&'static self) -> Vec<&'static Part> {
        self.with_needs().into_iter().flat_map(|entry| &entry.parts).collect()
    }

    /// Bytes that one forward over a few tokens must read at least, on average over an image: the weights it streams,
    /// and keys and values at half their final size; at `n_bytes` a number. `None` where that is not known.
    pub fn streamed_bytes(&self, n_bytes: u64) -> Option<u64> {
        let memory = self.memory?;
        Some((memory.n_streamed? + memory.kv_bytes.get()? / 4) * n_bytes)
    }

    /// Bytes of weights and keys and values, at `n_bytes` a number; `None` where a part is unknown.
    pub fn memory_bytes(&self, n_bytes: u64) -> Option<u64> {
        let memory = self.memory?;
        let weights = memory.n_parameters.get()? * n_bytes;
        Some(weights + memory.kv_bytes.get()? * n_bytes / 2)
    }
}

impl PublishedFile {
    /// The file with where it is published, in words.
    pub fn described(&self) -> String {
        match &self.origin {
            Origin::Hub { repo, .. } => format!("{} of {repo}", self.name),
            Origin::Url { url } => url.clone(),
            Origin::ByHand { .. } => self.name.clone(),
        }
    }

    /// The last part of its name.
    pub fn base_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }
}

impl Origin {
    /// The revision at which it is fetched, if it is a file of the hub's repository `repo`.
    fn revision_of(&self, repo: &str) -> Option<String> {
        match self {
            Self::Hub { repo: own, revision } if own == repo => Some(revision.clone()),
            _ => None,
        }
    }

    fn place(&self) -> Option<&str> {
        match self {
            Self::ByHand { place, .. } => Some(place),
            _ => None,
        }
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_one_and_has_the_name_of_its_file() {
        for (name, text) in SOURCES {
            let entry = parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(entry.name, *name);
            assert!(!entry.source.is_empty(), "{name}");
            assert_eq!(entry.memory.is_some(), !entry.files.is_empty(), "{name}");
            assert!(entry.target.is_some() || !entry.files.is_empty(), "{name}");
        }
        let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/models")).unwrap();
        assert_eq!(files.count(), SOURCES.len());
        assert!(SOURCES.is_sorted_by_key(|(name, _)| *name));
    }

    #[test]
    fn every_file_of_an_entry_with_parts_makes_one_of_them() {
        let has_parts = |entry: &&Entry| !entry.parts.is_empty();
        assert!(published().filter(|entry| entry.target.is_some()).all(|target| has_parts(&target)));
        for entry in published().filter(has_parts) {
            let mut files: Vec<&String> = entry.files.iter().map(|file| &file.name).collect();
            let mut fetched: Vec<&String> = entry.parts.iter().flat_map(|part| &part.fetched).collect();
            files.sort_unstable();
            fetched.sort_unstable();
            assert_eq!(files, fetched, "{}", entry.name);
        }
    }

    #[test]
    fn what_a_converted_file_is_called_is_one_of_the_choices() {
        for entry in published().filter(|entry| !entry.parts.is_empty()) {
            for file in &entry.files {
                let Some(converted) = &file.converted else { continue };
                let part = entry.parts.iter().find(|part| part.fetched.contains(&file.name)).unwrap();
                let places = part.choices.iter().flat_map(|choice| {
                    choice.files.iter().map(|file| format!("weights/{}/{file}", choice.repo))
                });
                assert!(places.into_iter().any(|place| place == *converted), "{}: {converted}", entry.name);
            }
        }
    }

    #[test]
    fn what_an_entry_needs_is_there_and_nothing_needs_itself() {
        for known in ENTRIES.iter() {
            assert_eq!(known.with_needs()[0].name, known.name);
            for (_, _, head) in known.published_heads() {
                assert!(entry(head).is_ok(), "{} drafts with {head}", known.name);
            }
            for drafter in known.target.iter().flat_map(|target| &target.draft_models) {
                assert!(target(drafter).is_some(), "{} drafts with {drafter}", known.name);
            }
        }
        let names: Vec<&str> =
            entry("llamagen-t2i-xl-512").unwrap().with_needs().iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["llamagen-t2i-xl-512", "llamagen-vq-t2i", "flan-t5-xl"]);
    }

    #[test]
    fn files_that_are_no_safetensors_say_where_their_safetensors_go() {
        for file in ENTRIES.iter().flat_map(|entry| entry.files.iter().chain(&entry.alternatives)) {
            let names = [Some(&file.name), file.instead.as_ref()];
            let is_weights =
                |name: &&String| [".pt", ".pth", ".bin", ".ckpt"].iter().any(|end| name.ends_with(end));
            let must = names.into_iter().flatten().any(|name| is_weights(&name));
            assert_eq!(file.converted.is_some(), must, "{}", file.described());
        }
    }

    #[test]
    fn memory_is_that_of_weights_and_keys_and_values_in_the_dtype_asked_for() {
        let anole = entry("anole-7b").unwrap();
        assert_eq!(anole.memory_bytes(2), Some(2 * 7_013_666_816 + 1_100_000_000));
        assert_eq!(anole.memory_bytes(4), Some(4 * 7_013_666_816 + 2_200_000_000));
        assert_eq!(entry("igpt-mnist").unwrap().memory_bytes(4), None);
    }

    #[test]
    fn a_head_is_found_by_what_a_spec_calls_it() {
        let head = |model: &str, proposer: &str, weights: Option<&str>| {
            entry(model).unwrap().head(proposer, weights).map(str::to_owned)
        };
        let of = |end: &str| Some(format!("llamagen-t2i-xl-512-drafter{end}"));
        assert_eq!(head("llamagen-t2i-xl-512", "eagle1", None), of(""));
        assert_eq!(head("llamagen-t2i-xl-512", "eagle1", Some("standard")), of(""));
        assert_eq!(head("llamagen-t2i-xl-512", "eagle1", Some("cascade")), of("-cascade"));
        assert_eq!(head("llamagen-t2i-xl-512", "eagle3", None), of("-eagle3"));
        assert_eq!(head("llamagen-t2i-xl-512", "eagle3", Some("cascade")), None);
        assert_eq!(head("janus-pro-7b", "eagle1", None), Some("janus-pro-7b-drafter".into()));
        assert_eq!(head("anole-7b", "eagle3", None), Some("anole-7b-drafter-eagle3".into()));
        assert_eq!(head("llamagen-c2i-b-256", "eagle3", None), None);
    }

    #[test]
    fn a_model_without_files_is_not_published() {
        assert_eq!(published_entry("tiny").unwrap_err().name, "tiny");
        assert!(entry("tiny").is_ok() && published_entry("vgg16").is_ok());
        assert!(published_entry("vgg").unwrap_err().to_string().contains("vgg16"));
    }

    #[test]
    fn heads_have_names_where_a_model_has_several_of_a_kind() {
        let names = |model: &str, proposer: &str| entry(model).unwrap().head_names(proposer);
        assert_eq!(names("tiny", "eagle1"), Some(vec!["standard", "further", "cascade"]));
        assert_eq!(names("tiny", "eagle3"), Some(vec!["standard"]));
        assert_eq!(names("llamagen-t2i-xl-512", "eagle1"), Some(vec!["standard", "cascade"]));
        assert_eq!(names("llamagen-t2i-xl-512", "eagle3"), Some(vec!["standard"]));
        assert_eq!(
            (names("janus-pro-7b", "eagle1"), names("janus-pro-7b", "eagle3")),
            (Some(vec![]), Some(vec![]))
        );
        assert_eq!((names("stub", "eagle1"), names("stub", "eagle3")), (Some(vec![]), Some(vec![])));
        assert_eq!(names("llamagen-c2i-b-256", "eagle1"), None);
    }

    #[test]
    fn a_forward_reads_the_weights_it_streams_and_half_of_the_last_keys_and_values() {
        let llamagen = entry("llamagen-t2i-xl-512").unwrap();
        assert_eq!(llamagen.streamed_bytes(2), Some(2 * 752_446_720 + 211_000_000));
        assert_eq!(llamagen.streamed_bytes(4), Some(4 * 752_446_720 + 422_000_000));
        assert_eq!(entry("flan-t5-xl").unwrap().streamed_bytes(2), None);
    }

    #[test]
    fn what_is_no_entry_is_refused_with_the_reason() {
        const FILE: &str = "name = \"f\"\nn_bytes = \"unknown\"\nsha256 = \"unknown\"\n";
        let text = |file: &str| {
            format!(
                "name = \"m\"\nwhat = \"w\"\nlicence = \"unknown\"\nsource = \"s\"\ncite = []\n[memory]\nn_parameters = 1\n\
                 kv_bytes = 0\n[[file]]\n{file}"
            )
        };
        let good = format!("{FILE}url = \"http://x/f\"\n");
        assert_eq!(parse(&text(&good)).unwrap().files[0].n_bytes, Known::Unknown);
        for (file, part) in [
            (FILE.to_owned(), "must have `repo` and `revision`, or `url`"),
            (format!("{FILE}repo = \"a/b\"\n"), "must have `repo` and `revision`"),
            (good.replace("\"f\"", "\"../f\""), "`../f` is no relative path"),
            (good.replace("sha256 = \"unknown\"", "sha256 = \"XYZ\""), "the SHA-256 of `f` is none"),
            (good.replace("n_bytes", "n_byts"), "n_byts"),
            (good.replace("n_bytes = \"unknown\"", "n_bytes = \"many\""), "n_bytes"),
        ] {
            let error = parse(&text(&file)).unwrap_err();
            assert!(error.contains(part), "`{part}` is not in `{error}`");
        }
    }
}
