//! The weights of a network on this machine, as `specimen-hub` finds what the catalog names, and what vouches for them.
//! Nothing is downloaded, and only safetensors are read; a pickle that is found is checked and answered with the command
//! that converts it.

use std::{
    fmt,
    path::{Path, PathBuf},
};

pub use specimen_catalog::hub::{Places, digest::SOURCE_KEY};
use specimen_catalog::{
    Entry,
    entry::PublishedFile,
    hub::{Found as File, HubError, digest::check_published, places::convert_command},
};
use specimen_foundation::failure::{Failure, FailureKind};
use specimen_weights::{Checkpoint, LoadError};
use tch::Device;

use crate::{
    clip::tokenizer::{VOCABULARY, vocabulary_files},
    network::NetworkName,
};

/// What is known about where a file came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// Its SHA-256 is the one under which the Hugging Face hub stores it.
    Hub(String),
    /// It says that it was made from the published file: the SHA-256 that it names is the published one.
    Converted(String),
    /// It names the SHA-256 of what it was made from, and the authors publish none to compare it with.
    Claimed(String),
    /// It names the SHA-256 of what it was made from, which is not the published one: the file of a hub, or somebody's own
    /// weights.
    Other(String),
    /// Nothing that was published says what it must contain; its names and shapes are checked when it is opened.
    Unknown,
}

impl Provenance {
    /// Whether a published digest vouches for it.
    pub fn is_published(&self) -> bool {
        matches!(self, Self::Hub(_) | Self::Converted(_))
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hub(sha256) => write!(f, "as the Hugging Face hub stores it, SHA-256 {sha256}"),
            Self::Converted(sha256) => write!(f, "converted from the published file, SHA-256 {sha256}"),
            Self::Claimed(sha256) => {
                write!(f, "converted from a file with SHA-256 {sha256}, of which no digest is published")
            }
            Self::Other(sha256) => {
                write!(f, "converted from a file with SHA-256 {sha256}, which is not the published one")
            }
            Self::Unknown => f.write_str("of unknown origin: it does not name the file it was made from"),
        }
    }
}

/// Weights on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The safetensors file.
    pub path: PathBuf,
    /// BLAKE3 of the file, in hex: its beginning is in the identity of the network.
    pub digest: String,
    /// Where it came from.
    pub provenance: Provenance,
}

/// Why there are no weights to open.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// Nothing was found.
    #[error(
        "no weights of {network}: {files}; looked in {looked}; `specimen data fetch {network}` fetches and converts them, \
         with SPECIMEN_DATA naming a folder for data{}", after_semicolon(.copy)
    )]
    Absent {
        /// Name of the network.
        network: &'static str,
        /// The files that have them, with size and SHA-256 where these are known.
        files: String,
        /// The folders in which they were looked for.
        looked: String,
        /// What to do with a copy of one of them.
        copy: Option<String>,
    },
    /// Only the published pickle was found.
    #[error(
        "{path}: whole ({checked}), but a pickle, and only safetensors are read; convert it once: {command}"
    )]
    Unconverted {
        /// Path of the pickle.
        path: PathBuf,
        /// What was compared.
        checked: String,
        /// What makes the file that is looked for.
        command: String,
    },
    /// A file that cannot be read, or is not what was published.
    #[error(transparent)]
    File(#[from] HubError),
    /// Weights in the place of published ones that were made from another file.
    #[error(
        "{path}: expected weights made from a file with SHA-256 {expected}, found such made from {found}; if these are \
         your own, give them by `--weights {path}`, in a spec by `weights`; else remove the file and fetch it again"
    )]
    OtherSource {
        /// Path of the file.
        path: PathBuf,
        /// The published digest.
        expected: &'static str,
        /// The digest that the file names.
        found: String,
    },
    /// No vocabulary of CLIP.
    #[error(
        "no vocabulary of CLIP: merges.txt of openai/clip-vit-base-patch32, which `specimen data fetch clip-vit-b32` \
         fetches, or {VOCABULARY} of openai/CLIP (1,356,917 bytes, SHA-256 {VOCABULARY_SHA256}), which belongs at {place}"
    )]
    NoVocabulary {
        /// Where OpenAI's file is looked for first.
        place: PathBuf,
    },
    /// A file beside the weights that is not there.
    #[error(
        "no {file} for {network}; looked in {looked}; `specimen data fetch {network}` fetches it, with SPECIMEN_DATA naming \
         a folder for data; beside weights that are given by name it is looked for first"
    )]
    AbsentBeside {
        /// Name of the network.
        network: &'static str,
        /// The file, with size and SHA-256.
        file: String,
        /// Where it was looked for.
        looked: String,
    },
    /// A safetensors file that is there and is none.
    #[error(transparent)]
    Weights(#[from] LoadError),
}

impl Failure for LookupError {
    fn kind(&self) -> Option<FailureKind> {
        Some(FailureKind::Missing)
    }
}

const VOCABULARY_SHA256: &str = "924691ac288e54409236115652ad4aa250f48203de50a9e4722a6ecd48d6804a";

/// Finds the weights of `network` in `places`.
pub fn find(places: &Places, network: &'static Entry) -> Result<Found, LookupError> {
    let Some((file, found)) = places.weights(network) else { return Err(absent(places, network)) };
    match found {
        File::Missing => Err(absent(places, network)),
        File::Unconverted { path, to } => {
            let digest = check_published(&path, file)?;
            let checked =
                digest.map_or("no digest is published".into(), |digest| format!("SHA-256 {digest}"));
            let command = convert_command(&path, &to);
            Err(LookupError::Unconverted { path, checked, command })
        }
        File::Ready(path) => {
            let is_cached = places.hub.as_ref().is_some_and(|hub| path.starts_with(hub));
            let found = check(path, is_cached.then_some(file), network)?;
            match (&found.provenance, network.weights().count(), file.sha256.get()) {
                // Of these one file alone is published; a hub has its own of the others.
                (Provenance::Other(source), 1, Some(expected)) => {
                    Err(LookupError::OtherSource { found: source.clone(), path: found.path, expected })
                }
                _ => Ok(found),
            }
        }
    }
}

/// Finds CLIP's vocabulary in `places`.
pub fn find_vocabulary(places: &Places) -> Result<PathBuf, LookupError> {
    let own: Vec<PathBuf> = places.own.iter().flat_map(|folder| vocabulary_files(folder)).collect();
    let published = NetworkName::ALL.into_iter().flat_map(|network| &network.entry().files);
    let merges = published.filter(|file| file.name == "merges.txt").filter_map(|file| places.published(file));
    let clip = places.clip.iter().map(|folder| folder.join(VOCABULARY));
    let found = own.iter().cloned().chain(merges).chain(clip).find(|path| path.is_file());
    let place = || own.first().cloned().unwrap_or_else(|| Path::new("tokenizers").join(VOCABULARY));
    found.ok_or_else(|| LookupError::NoVocabulary { place: place() })
}

/// Finds the file called `name` that `network` needs besides its weights: beside those that are `given` by name, else in
/// `places`, where it must be the published one.
///
/// # Panics
/// Where the catalog has no such file of the network.
pub fn find_beside(
    places: &Places,
    given: Option<&Path>,
    network: &'static Entry,
    name: &str,
) -> Result<PathBuf, LookupError> {
    if let Some(path) = given.map(|weights| weights.with_file_name(name)).filter(|path| path.is_file()) {
        return Ok(path);
    }
    let file = network.files.iter().find(|file| file.name == name);
    let file = file.expect("the catalog has every file that a network asks for");
    let Some(path) = places.published(file) else {
        let looked = given.map(|weights| weights.with_file_name(name).display().to_string());
        let looked: Vec<String> = looked.into_iter().chain([places.described()]).collect();
        let (network, file) = (&network.name, described(file));
        return Err(LookupError::AbsentBeside { network, file, looked: looked.join(" and ") });
    };
    check_published(&path, file)?;
    Ok(path)
}

/// As [`find()`], of a file that is given by name, wherever it is and whatever it was made from.
pub fn check_given(path: &Path, network: &'static Entry) -> Result<Found, LookupError> {
    if path.is_dir() {
        let reason = "it is a folder; name the file in it".to_owned();
        return Err(LoadError::Config { path: path.to_owned(), reason }.into());
    }
    check(path.to_owned(), None, network)
}

/// SHA-256 of the files of `network` whose digest is published, or the beginning of it.
pub(crate) fn published_digests(network: &'static Entry) -> impl Iterator<Item = &'static str> {
    network.weights().filter_map(|file| file.sha256.get().map(String::as_str))
}

/// Opens the file at `path`, which in the cache of the hub is `cached`.
fn check(
    path: PathBuf,
    cached: Option<&PublishedFile>,
    network: &'static Entry,
) -> Result<Found, LookupError> {
    let checkpoint = Checkpoint::open(&path, None, Device::Cpu)?;
    let digest = checkpoint.digest().to_owned();
    let mut published = published_digests(network).peekable();
    let provenance = match (checkpoint.note(SOURCE_KEY), cached) {
        (Some(source), _) if published.peek().is_none() => Provenance::Claimed(source),
        (Some(source), _) if published.any(|known| source.starts_with(known)) => {
            Provenance::Converted(source)
        }
        (Some(source), _) => Provenance::Other(source),
        (None, Some(file)) => check_published(&path, file)?.map_or(Provenance::Unknown, Provenance::Hub),
        (None, None) => Provenance::Unknown,
    };
    Ok(Found { path, digest, provenance })
}

fn absent(places: &Places, network: &'static Entry) -> LookupError {
    let files: Vec<String> = network.weights().map(described).collect();
    let caches = places.torch.iter().chain(&places.clip).map(|path| path.display().to_string());
    let looked: Vec<String> = std::iter::once(places.described()).chain(caches).collect();
    let pickle = network.weights().filter(|file| file.converted.is_some()).last();
    LookupError::Absent {
        network: &network.name,
        files: files.join(" or "),
        looked: looked.join(" and "),
        copy: pickle.and_then(|file| places.with_a_copy(file)),
    }
}

/// A file with its size and SHA-256, as far as these are known.
fn described(file: &PublishedFile) -> String {
    let n_bytes = file.n_bytes.get().map(|n| format!("{n} bytes"));
    let sha256 = file
        .sha256
        .get()
        .map(|sha256| format!("SHA-256 {sha256}{}", if sha256.len() < 64 { "..." } else { "" }));
    let facts: Vec<String> = n_bytes.into_iter().chain(sha256).collect();
    let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) };
    format!("{}{facts}", file.described())
}

/// A part of a message that may be missing.
fn after_semicolon(part: &Option<String>) -> String {
    part.as_ref().map_or_else(String::new, |part| format!("; {part}"))
}
