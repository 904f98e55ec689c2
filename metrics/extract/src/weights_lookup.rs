//! Where the weights of a network lie on this machine: folders of this program first, then the caches of Hugging Face
//! and torch. Nothing is downloaded, and only safetensors are read; a pickle that is found is checked and answered
//! with the command that converts it.

use std::{
    env, fmt, fs, io,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};
use specimen_foundation::{
    bounded_read::read_text,
    failure::{Failure, FailureKind},
    folders::{DATA_VARIABLE, cache_folder_by, hub_cache_folder, user_cache_folder},
};
use specimen_weights::{Checkpoint, LoadError};
use tch::Device;

use crate::{clip::tokenizer::vocabulary_files, network::NetworkName};

/// Folder of weights below a folder of data.
const FOLDER: &str = "weights";
/// Bytes of a reference to a commit, at most; a commit has 40.
const MAX_REFERENCE_BYTES: u64 = 1 << 10;
/// Key under which a converted file names the SHA-256 of what it was made from.
pub const SOURCE_KEY: &str = "source_sha256";

/// Weights as their authors publish them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// The file that reference tools fetch.
    pub file: &'static str,
    /// Its size, where the authors' file could be looked at or is on record.
    pub n_bytes: Option<u64>,
    /// Its SHA-256, or the beginning of it that its authors put into the name; empty where they publish none.
    pub sha256: &'static str,
    /// Where reference tools fetch it.
    pub source: &'static str,
    /// The folder below the user's caches where they put it.
    cache: &'static str,
    /// Repositories of the Hugging Face hub that have the same weights as safetensors, and the file there.
    hub: &'static [(&'static str, &'static str)],
}

const INCEPTION: Published = Published {
    file: "pt_inception-2015-12-05-6726825d.pth",
    n_bytes: Some(95_628_359),
    sha256: "6726825d",
    source: "releases of mseitzer/pytorch-fid",
    cache: "torch/hub/checkpoints",
    hub: &[],
};
const VGG16: Published = Published {
    file: "vgg16-397923af.pth",
    n_bytes: Some(553_433_881),
    sha256: "397923af8e79cdbb6a7127f12361acd7a2f83e06b05044ddf496e83de57a5bf0",
    source: "https://download.pytorch.org/models/vgg16-397923af.pth",
    cache: "torch/hub/checkpoints",
    hub: &[],
};
const CLIP_B32: Published = Published {
    file: "ViT-B-32.pt",
    n_bytes: Some(353_976_522),
    sha256: "40d365715913c9da98579312b702a82c18be219cc2a73407c4526f58eba950af",
    source: "openai/CLIP, or openai/clip-vit-base-patch32 on the Hugging Face hub",
    cache: "clip",
    hub: &[
        ("openai/clip-vit-base-patch32", "model.safetensors"),
        ("timm/vit_base_patch32_clip_224.openai", "open_clip_model.safetensors"),
    ],
};
const CLIP_B16: Published = Published {
    file: "ViT-B-16.pt",
    n_bytes: Some(350_837_078),
    sha256: "5806e77cd80f8b59890b7e101eabd078d9fb84e6937f9e85e4ecb61988df416f",
    source: "openai/CLIP, or openai/clip-vit-base-patch16 on the Hugging Face hub",
    cache: "clip",
    hub: &[
        ("openai/clip-vit-base-patch16", "model.safetensors"),
        ("timm/vit_base_patch16_clip_224.openai", "open_clip_model.safetensors"),
    ],
};
const CLIP_L14: Published = Published {
    file: "ViT-L-14.pt",
    n_bytes: Some(932_768_134),
    sha256: "b8cca3fd41ae0c99ba7e8951adf17d267cdb84cd88be6f7c2e0eca1737a03836",
    source: "openai/CLIP, or openai/clip-vit-large-patch14 on the Hugging Face hub",
    cache: "clip",
    hub: &[
        ("openai/clip-vit-large-patch14", "model.safetensors"),
        ("timm/vit_large_patch14_clip_224.openai", "open_clip_model.safetensors"),
    ],
};
const CLIP_L14_336: Published = Published {
    file: "ViT-L-14-336px.pt",
    n_bytes: Some(934_088_680),
    sha256: "3035c92b350959924f9f00213499208652fc7ea050643e8b385c2dac08641f02",
    source: "openai/CLIP, or openai/clip-vit-large-patch14-336 on the Hugging Face hub",
    cache: "clip",
    hub: &[
        ("openai/clip-vit-large-patch14-336", "model.safetensors"),
        ("timm/vit_large_patch14_clip_336.openai", "open_clip_model.safetensors"),
    ],
};
const DINOV2_B14: Published = Published {
    file: "dinov2_vitb14_pretrain.pth",
    n_bytes: None,
    sha256: "",
    source: "facebookresearch/dinov2, or facebook/dinov2-base on the Hugging Face hub",
    cache: "torch/hub/checkpoints",
    hub: &[("facebook/dinov2-base", "model.safetensors")],
};
const DINOV2_L14: Published = Published {
    file: "dinov2_vitl14_pretrain.pth",
    n_bytes: None,
    sha256: "",
    source: "facebookresearch/dinov2, or facebook/dinov2-large on the Hugging Face hub",
    cache: "torch/hub/checkpoints",
    hub: &[("facebook/dinov2-large", "model.safetensors")],
};

/// SHA-256 of OpenAI's releases of CLIP, whose heads and activation are known.
pub(crate) const CLIP_RELEASES: [&str; 4] =
    [CLIP_B32.sha256, CLIP_B16.sha256, CLIP_L14.sha256, CLIP_L14_336.sha256];

/// The published weights of `network`.
#[must_use]
pub fn published(network: NetworkName) -> &'static Published {
    match network {
        NetworkName::InceptionFid => &INCEPTION,
        NetworkName::Vgg16 => &VGG16,
        NetworkName::ClipVitB32 => &CLIP_B32,
        NetworkName::ClipVitB16 => &CLIP_B16,
        NetworkName::ClipVitL14 => &CLIP_L14,
        NetworkName::ClipVitL14At336 => &CLIP_L14_336,
        NetworkName::Dinov2VitB14 => &DINOV2_B14,
        NetworkName::Dinov2VitL14 => &DINOV2_L14,
    }
}

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
    #[must_use]
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

/// Weights that were not found, and how to get them.
#[derive(Debug, thiserror::Error)]
#[error(
    "no weights of {network}: {file}{size}{digest} of {source_name}; tools usually put it below {usual}; looked for \
     [{looked}]; with SPECIMEN_DATA naming a folder for data, `specimen data fetch {network}` fetches and converts it; of a \
     file that is here already: {command}"
)]
pub struct Absent {
    /// The network.
    pub network: NetworkName,
    /// The published file.
    pub file: &'static str,
    /// Its size in words, or nothing.
    pub size: String,
    /// Its digest in words, or nothing.
    pub digest: String,
    /// Where reference tools fetch it.
    pub source_name: &'static str,
    /// Where they put it.
    pub usual: String,
    /// Every safetensors file that would have been taken, in this order.
    pub looked: String,
    /// What makes one of them of the published file.
    pub command: String,
}

/// Why there are no weights to open.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// Nothing was found.
    #[error(transparent)]
    Absent(Box<Absent>),
    /// Only the published pickle was found.
    #[error(
        "{path}: whole ({checked}), but a pickle, and only safetensors are read; convert it once: {command}"
    )]
    Unconverted {
        /// The pickle.
        path: PathBuf,
        /// What was compared.
        checked: String,
        /// What makes the file that is looked for.
        command: String,
    },
    /// A file that is not what its name says.
    #[error("{path}: expected {expected}, found {found}; it is truncated or damaged: fetch it again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Size or digest as published.
        expected: String,
        /// Size or digest of the file.
        found: String,
    },
    /// Weights in the place of published ones that were made from another file.
    #[error(
        "{path}: expected weights made from a file with SHA-256 {expected}, found such made from {found}; give weights of \
         one's own by name, and fetch the published ones again"
    )]
    OtherSource {
        /// The file.
        path: PathBuf,
        /// The published digest.
        expected: &'static str,
        /// The digest that the file names.
        found: String,
    },
    /// No vocabulary of CLIP.
    #[error(
        "no vocabulary of CLIP: bpe_simple_vocab_16e6.txt.gz of openai/CLIP (1,356,917 bytes, SHA-256 {VOCABULARY_SHA256}) \
         or merges.txt of openai/clip-vit-base-patch32; looked for [{looked}]"
    )]
    NoVocabulary {
        /// Every file that would have been taken, in this order.
        looked: String,
    },
    /// A file that is there but cannot be read.
    #[error("{path}: cannot read it: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
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

/// The folders in which weights are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Folders of this program, with weights below `weights/`: `SPECIMEN_DATA`, then `SPECIMEN_CACHE`, which is
    /// `specimen` in the user's cache folder where it is not set.
    pub own: Vec<PathBuf>,
    /// The cache of the Hugging Face hub: `HF_HUB_CACHE`, `HF_HOME/hub` or `huggingface/hub` in the user's cache folder.
    pub hub: Option<PathBuf>,
    /// What torch.hub fetched: `TORCH_HOME/hub/checkpoints` or `torch/hub/checkpoints` in the user's cache folder.
    pub torch: Option<PathBuf>,
    /// The user's cache folder: `XDG_CACHE_HOME` or `HOME/.cache`.
    pub user: Option<PathBuf>,
}

/// Looks for the weights of `network` in the [`Places`] that the environment names.
///
/// # Errors
/// Weights that are absent, not converted, damaged or not readable.
pub fn find(network: NetworkName) -> Result<Found, LookupError> {
    Places::of_environment(|name| env::var_os(name).map(PathBuf::from)).find(network)
}

/// Looks for CLIP's vocabulary in the [`Places`] that the environment names.
///
/// # Errors
/// A vocabulary that is absent.
pub fn find_vocabulary() -> Result<PathBuf, LookupError> {
    Places::of_environment(|name| env::var_os(name).map(PathBuf::from)).find_vocabulary()
}

impl Places {
    /// The folders that `variable` names; empty values count as not set.
    pub fn of_environment(variable: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let set = |name: &str| variable(name).filter(|path| !path.as_os_str().is_empty());
        let user = user_cache_folder(&variable);
        let torch = || Some(user.as_ref()?.join("torch/hub/checkpoints"));
        Self {
            own: [set(DATA_VARIABLE), cache_folder_by(&variable)].into_iter().flatten().collect(),
            hub: hub_cache_folder(&variable),
            torch: set("TORCH_HOME").map(|folder| folder.join("hub/checkpoints")).or_else(torch),
            user,
        }
    }

    /// Looks for the weights of `network`: converted ones first, then those of the hub.
    ///
    /// # Errors
    /// As [`find()`].
    pub fn find(&self, network: NetworkName) -> Result<Found, LookupError> {
        let published = published(network);
        let candidates = self.candidates(published);
        if let Some((path, is_hub)) = candidates.iter().find(|(path, _)| path.is_file()) {
            let found = check(path.clone(), *is_hub, published)?;
            return match found.provenance {
                // Of these one file alone is published; a hub has its own of the others.
                Provenance::Other(source) if published.hub.is_empty() => Err(LookupError::OtherSource {
                    path: found.path,
                    expected: published.sha256,
                    found: source,
                }),
                _ => Ok(found),
            };
        }
        let wanted = candidates.first().map_or_else(|| converted(published), |(path, _)| path.clone());
        let pickle = self.pickles(published).into_iter().find(|(path, _)| path.is_file());
        if let Some((path, is_hub)) = pickle {
            let checked = if is_hub { check_stored(&path)? } else { check_pickle(&path, published)? };
            let command = command(&path, &wanted);
            return Err(LookupError::Unconverted { path, checked, command });
        }
        Err(LookupError::Absent(Box::new(Absent {
            network,
            file: published.file,
            size: published.n_bytes.map_or(String::new(), |n| format!(", {n} bytes")),
            digest: match published.sha256 {
                "" => String::new(),
                sha256 => format!(", SHA-256 {sha256}{}", if sha256.len() < 64 { "..." } else { "" }),
            },
            source_name: published.source,
            usual: format!("~/.cache/{}", published.cache),
            looked: list(candidates.iter().map(|(path, _)| path)),
            command: command(Path::new(published.file), &wanted),
        })))
    }

    /// Looks for CLIP's vocabulary.
    ///
    /// # Errors
    /// As [`find_vocabulary`].
    pub fn find_vocabulary(&self) -> Result<PathBuf, LookupError> {
        let mut files: Vec<PathBuf> = self.own.iter().flat_map(|folder| vocabulary_files(folder)).collect();
        for clip in [CLIP_B32, CLIP_B16, CLIP_L14, CLIP_L14_336] {
            files.extend(self.snapshot(clip.hub[0].0, "merges.txt"));
        }
        files.extend(self.user.iter().map(|folder| folder.join("clip/bpe_simple_vocab_16e6.txt.gz")));
        let found = files.iter().find(|path| path.is_file()).cloned();
        found.ok_or_else(|| LookupError::NoVocabulary { looked: list(files.iter()) })
    }

    /// Safetensors files that would be taken, and whether the hub would have stored them.
    fn candidates(&self, published: &Published) -> Vec<(PathBuf, bool)> {
        let file = converted(published);
        let own = self.own.iter().map(|folder| (folder.join(FOLDER).join(&file), false));
        let torch = self.torch.iter().map(|folder| (folder.join(&file), false));
        let hub = published.hub.iter().filter_map(|(repo, file)| Some((self.snapshot(repo, file)?, true)));
        own.chain(torch).chain(hub).collect()
    }

    /// Pickles that could be converted, and whether the hub would have stored them.
    fn pickles(&self, published: &Published) -> Vec<(PathBuf, bool)> {
        let own = self.own.iter().map(|folder| folder.join(FOLDER).join(published.file));
        let torch = self.torch.iter().map(|folder| folder.join(published.file));
        let user = self.user.iter().map(|folder| folder.join(published.cache).join(published.file));
        let hub = published.hub.iter().filter_map(|(repo, _)| self.snapshot(repo, "pytorch_model.bin"));
        own.chain(torch).chain(user).map(|path| (path, false)).chain(hub.map(|path| (path, true))).collect()
    }

    /// `file` in a snapshot of `repo`: the one that `main` names, or else the first by name that has it. Where no
    /// snapshot has it this is where that of `main` would have it.
    fn snapshot(&self, repo: &str, file: &str) -> Option<PathBuf> {
        let folder = self.hub.as_ref()?.join(format!("models--{}", repo.replace('/', "--")));
        let named = read_text(&folder.join("refs/main"), MAX_REFERENCE_BYTES);
        let revision = named.unwrap_or_else(|_| "main".to_owned());
        let main = folder.join("snapshots").join(revision.trim()).join(file);
        if main.is_file() {
            return Some(main);
        }
        let snapshots = fs::read_dir(folder.join("snapshots")).into_iter().flatten().flatten();
        let mut others: Vec<PathBuf> = snapshots.map(|entry| entry.path().join(file)).collect();
        others.sort();
        Some(others.into_iter().find(|path| path.is_file()).unwrap_or(main))
    }
}

/// The name under which converted weights are looked for.
fn converted(published: &Published) -> PathBuf {
    Path::new(published.file).with_extension("safetensors")
}

/// As [`find()`], of a file that is given by name, wherever it lies and whatever it was made from.
///
/// # Errors
/// A file that cannot be read.
pub fn check_given(path: &Path, network: NetworkName) -> Result<Found, LookupError> {
    if path.is_dir() {
        let source = io::Error::new(io::ErrorKind::IsADirectory, "it is a folder; name the file in it");
        return Err(LookupError::Read { path: path.to_owned(), source });
    }
    check(path.to_owned(), false, published(network))
}

fn check(path: PathBuf, is_hub: bool, published: &Published) -> Result<Found, LookupError> {
    let checkpoint = Checkpoint::open(&path, None, Device::Cpu)?;
    let digest = checkpoint.digest().to_owned();
    let provenance = if let Some(source) = checkpoint.note(SOURCE_KEY) {
        match published.sha256 {
            "" => Provenance::Claimed(source),
            known if source.starts_with(known) => Provenance::Converted(source),
            _ => Provenance::Other(source),
        }
    } else if is_hub {
        stored_digest(&path)?.map_or(Provenance::Unknown, Provenance::Hub)
    } else {
        Provenance::Unknown
    };
    Ok(Found { path, digest, provenance })
}

/// The SHA-256 of a file of the hub, when the hub stores it under that; it stores small files under another digest.
fn stored_digest(path: &Path) -> Result<Option<String>, LookupError> {
    let blob =
        fs::canonicalize(path).map_err(|source| LookupError::Read { path: path.to_owned(), source })?;
    let name = blob.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if name.len() != 64 || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let found = sha256(path)?;
    if found != name {
        let (expected, found) = (format!("SHA-256 {name}"), format!("SHA-256 {found}"));
        return Err(LookupError::Damaged { path: path.to_owned(), expected, found });
    }
    Ok(Some(found))
}

/// What was compared, in words, for a pickle of the hub.
fn check_stored(path: &Path) -> Result<String, LookupError> {
    Ok(stored_digest(path)?.map_or("the hub names no digest".to_owned(), |found| format!("SHA-256 {found}")))
}

/// What was compared, in words.
fn check_pickle(path: &Path, published: &Published) -> Result<String, LookupError> {
    let read = |source| LookupError::Read { path: path.to_owned(), source };
    let n_bytes = fs::metadata(path).map_err(read)?.len();
    let damaged =
        |expected: String, found: String| LookupError::Damaged { path: path.to_owned(), expected, found };
    if let Some(expected) = published.n_bytes.filter(|&expected| expected != n_bytes) {
        return Err(damaged(format!("{expected} bytes"), format!("{n_bytes}")));
    }
    if published.sha256.is_empty() {
        return Ok(format!("{n_bytes} bytes; its authors publish no digest"));
    }
    let found = sha256(path)?;
    if !found.starts_with(published.sha256) {
        return Err(damaged(format!("SHA-256 {}", published.sha256), found));
    }
    Ok(format!("{n_bytes} bytes, SHA-256 {found}"))
}

fn sha256(path: &Path) -> Result<String, LookupError> {
    let read = |source| LookupError::Read { path: path.to_owned(), source };
    let mut file = fs::File::open(path).map_err(read)?;
    let mut hasher = Sha256::new();
    io::copy(&mut file, &mut hasher).map_err(read)?;
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What makes the safetensors file `to` of the pickle `from`, and writes there what it was made from.
fn command(from: &Path, to: &Path) -> String {
    format!("specimen convert '{}' '{}'", from.display(), to.display())
}

fn list<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> String {
    paths.map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
