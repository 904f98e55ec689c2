//! What is known of a published model without its files: one TOML file each in `models/`. What is not known says so;
//! nothing is guessed.

use std::{fmt, sync::LazyLock};

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use specimen_convert::Recipe;

use crate::{HubError, digest, models::SOURCES};

/// A published model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Its name, which is that of its file.
    pub name: String,
    /// What it is, in one line.
    pub what: String,
    /// The licence of the weights, as their authors state it.
    pub licence: Known<String>,
    /// Where the facts of this file are from.
    pub source: String,
    /// Other manifests without which it cannot run.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The manifest of the head that is published for it.
    pub drafter: Option<String>,
    /// Heads that can draft for it once somebody has trained them.
    #[serde(default, rename = "head")]
    pub heads: Vec<TrainedHead>,
    /// Its files.
    #[serde(rename = "file")]
    pub files: Vec<PublishedFile>,
    /// What it takes.
    pub memory: Memory,
    /// Names of its tensors in another layout, for `specimen convert --model`.
    pub convert: Option<Recipe>,
}

/// A head that nobody publishes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainedHead {
    /// `proposer` in specs: `eagle1` or `eagle3`.
    pub proposer: String,
    /// `weights` in specs; absent: the one that is meant where a spec names none.
    pub weights: Option<String>,
    /// Its manifest.
    pub manifest: String,
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
    /// Where its safetensors lie below the data folder, for a file that must be converted before it is read: one whose
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

static MANIFESTS: LazyLock<Vec<Manifest>> = LazyLock::new(|| {
    let parse = |&(name, text): &(&str, &str)| {
        parse(text).unwrap_or_else(|error| panic!("models/{name}.toml is tested to be a manifest: {error}"))
    };
    SOURCES.iter().map(parse).collect()
});

/// The names of all manifests, in the order of their list.
pub static NAMES: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| MANIFESTS.iter().map(|manifest| manifest.name.as_str()).collect());

/// The manifest called `name`.
///
/// # Errors
/// A name that no manifest has.
pub fn manifest(name: &str) -> Result<&'static Manifest, HubError> {
    MANIFESTS
        .iter()
        .find(|manifest| manifest.name == name)
        .ok_or_else(|| HubError::Unknown { name: name.to_owned(), known: NAMES.join(", ") })
}

/// The manifest in `text`.
///
/// # Errors
/// What is wrong with it, in one sentence.
pub fn parse(text: &str) -> Result<Manifest, String> {
    let mut manifest: Manifest = toml::from_str(text).map_err(|error| error.to_string())?;
    if let Some(recipe) = &mut manifest.convert {
        recipe.name.clone_from(&manifest.name);
    }
    for file in &manifest.files {
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
        if file
            .sha256
            .get()
            .is_some_and(|sha256| !(8..=64).contains(&sha256.len()) || !digest::is_hex(sha256))
        {
            return Err(format!("the SHA-256 of `{}` is none", file.name));
        }
    }
    Ok(manifest)
}

impl Manifest {
    /// It, and what it needs, each once, in the order in which they are fetched.
    ///
    /// # Panics
    /// If it needs what is no manifest, which its test excludes.
    #[must_use]
    pub fn with_needs(&'static self) -> Vec<&'static Self> {
        let mut all = vec![self];
        let mut at = 0;
        while at < all.len() {
            for need in &all[at].needs {
                let need = manifest(need).expect("needs are tested to be manifests");
                if !all.iter().any(|known| known.name == need.name) {
                    all.push(need);
                }
            }
            at += 1;
        }
        all
    }

    /// The manifest of the head that a spec means by `proposer` (`eagle1`, `eagle3`) and `weights`; `None` if there is
    /// none of that name.
    #[must_use]
    pub fn head(&self, proposer: &str, weights: Option<&str>) -> Option<&str> {
        const STANDARD: &str = "standard";
        let asked = weights.unwrap_or(STANDARD);
        let is_asked = |head: &&TrainedHead| {
            head.proposer == proposer && head.weights.as_deref().unwrap_or(STANDARD) == asked
        };
        let published = self.drafter.as_deref().filter(|_| (proposer, asked) == ("eagle1", STANDARD));
        published.or_else(|| self.heads.iter().find(is_asked).map(|head| head.manifest.as_str()))
    }

    /// Bytes that one forward over a few tokens must read at least, on average over an image: the weights it streams,
    /// and keys and values at half their final size; at `n_bytes` a number. `None` where that is not known.
    #[must_use]
    pub fn streamed_bytes(&self, n_bytes: u64) -> Option<u64> {
        Some((self.memory.n_streamed? + self.memory.kv_bytes.get()? / 4) * n_bytes)
    }

    /// Bytes of weights and keys and values, at `n_bytes` a number; `None` where a part is unknown.
    #[must_use]
    pub fn memory_bytes(&self, n_bytes: u64) -> Option<u64> {
        let weights = self.memory.n_parameters.get()? * n_bytes;
        Some(weights + self.memory.kv_bytes.get()? * n_bytes / 2)
    }
}

impl PublishedFile {
    /// The file with where it is published, in words.
    #[must_use]
    pub fn described(&self) -> String {
        match &self.origin {
            Origin::Hub { repo, .. } => format!("{} of {repo}", self.name),
            Origin::Url { url } => url.clone(),
            Origin::ByHand { .. } => self.name.clone(),
        }
    }

    /// The last part of its name.
    #[must_use]
    pub fn base_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }
}

impl Origin {
    fn place(&self) -> Option<&str> {
        match self {
            Self::ByHand { place, .. } => Some(place),
            _ => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_manifest_is_one_and_has_the_name_of_its_file() {
        for (name, text) in SOURCES {
            let manifest = parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(manifest.name, *name);
            assert!(!manifest.files.is_empty() && !manifest.source.is_empty(), "{name}");
        }
        let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/models")).unwrap();
        assert_eq!(files.count(), SOURCES.len());
        assert_eq!(NAMES.iter().collect::<BTreeSet<_>>().len(), SOURCES.len());
    }

    #[test]
    fn what_a_manifest_needs_is_there_and_nothing_needs_itself() {
        for name in NAMES.iter() {
            let manifest = manifest(name).unwrap();
            let all = manifest.with_needs();
            assert_eq!(all[0].name, *name);
            let heads = manifest.heads.iter().map(|head| &head.manifest);
            for head in manifest.drafter.iter().chain(heads) {
                assert!(NAMES.contains(&head.as_str()), "{name} drafts with {head}");
            }
        }
        let names: Vec<&str> =
            manifest("llamagen-t2i-xl-512").unwrap().with_needs().iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["llamagen-t2i-xl-512", "llamagen-vq-t2i", "flan-t5-xl"]);
    }

    #[test]
    fn files_that_are_no_safetensors_say_where_their_safetensors_go() {
        for file in NAMES.iter().flat_map(|name| &manifest(name).unwrap().files) {
            let names = [Some(&file.name), file.instead.as_ref()];
            let is_weights =
                |name: &&String| [".pt", ".pth", ".bin", ".ckpt"].iter().any(|end| name.ends_with(end));
            let must = names.into_iter().flatten().any(|name| is_weights(&name));
            assert_eq!(file.converted.is_some(), must, "{}", file.described());
        }
    }

    #[test]
    fn memory_is_that_of_weights_and_keys_and_values_in_the_dtype_asked_for() {
        let anole = manifest("anole-7b").unwrap();
        assert_eq!(anole.memory_bytes(2), Some(2 * 7_013_666_816 + 1_100_000_000));
        assert_eq!(anole.memory_bytes(4), Some(4 * 7_013_666_816 + 2_200_000_000));
        assert_eq!(manifest("igpt-mnist").unwrap().memory_bytes(4), None);
    }

    #[test]
    fn a_head_is_found_by_what_a_spec_calls_it() {
        let head = |model: &str, proposer: &str, weights: Option<&str>| {
            manifest(model).unwrap().head(proposer, weights).map(str::to_owned)
        };
        let of = |end: &str| Some(format!("llamagen-t2i-xl-512-drafter{end}"));
        assert_eq!(head("llamagen-t2i-xl-512", "eagle1", None), of(""));
        assert_eq!(head("llamagen-t2i-xl-512", "eagle1", Some("standard")), of(""));
        assert_eq!(head("llamagen-t2i-xl-512", "eagle1", Some("cascade")), of("-cascade"));
        assert_eq!(head("llamagen-t2i-xl-512", "eagle3", None), of("-eagle3"));
        assert_eq!(head("llamagen-t2i-xl-512", "eagle3", Some("cascade")), None);
        assert_eq!(head("janus-pro-7b", "eagle1", None), Some("janus-pro-7b-drafter".into()));
        assert_eq!(head("anole-7b", "eagle3", None), None);
    }

    #[test]
    fn a_forward_reads_the_weights_it_streams_and_half_of_the_last_keys_and_values() {
        let llamagen = manifest("llamagen-t2i-xl-512").unwrap();
        assert_eq!(llamagen.streamed_bytes(2), Some(2 * 752_446_720 + 211_000_000));
        assert_eq!(llamagen.streamed_bytes(4), Some(4 * 752_446_720 + 422_000_000));
        assert_eq!(manifest("flan-t5-xl").unwrap().streamed_bytes(2), None);
    }

    #[test]
    fn what_is_no_manifest_is_refused_with_the_reason() {
        const FILE: &str = "name = \"f\"\nn_bytes = \"unknown\"\nsha256 = \"unknown\"\n";
        let text = |file: &str| {
            format!(
                "name = \"m\"\nwhat = \"w\"\nlicence = \"unknown\"\nsource = \"s\"\n[memory]\nn_parameters = 1\n\
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
