//! Where the published data is on this machine, what its content must be, and what to fetch when it is
//! absent: the facts in `items.toml`. The product carries none of the data.
//!
//! Everything is below one folder, `SPECIMEN_DATA`. Digests are sha256 of the uncompressed content, so a
//! file may be kept gzipped.

use crate::coco_instances::Supercategories;
use crate::data_root::DataRoot;
use crate::dpg;
use crate::error::{DatasetError, Place, Result};
use crate::geneval;
use crate::image_folder;
use crate::read;
use serde::Deserialize;
use specimen_foundation::{digest::Digest, fail, folders::DATA_VARIABLE};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// What must be at an item's place.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Expected {
    /// A file with this content.
    Content {
        /// sha256 of the uncompressed content, 64 hexadecimal digits.
        sha256: String,
        /// Uncompressed size in bytes.
        n_bytes: u64,
    },
    /// A folder with this many images; their publisher gives no digests.
    Images {
        /// Number of image files.
        n: usize,
    },
    /// A file that its reader takes, with this many of what it is a list of. Its digest is unknown: the publisher gives none,
    /// and we had no copy to take it from.
    Counted {
        /// How many.
        n: usize,
        /// Of what.
        of: Counted,
    },
}

/// What a file of unknown digest is a list of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// Prompts of GenEval.
    GenevalPrompts,
    /// Prompts of DPG-Bench.
    DpgPrompts,
    /// Objects in images of COCO.
    CocoInstances,
}

impl Counted {
    /// How many of them a file has.
    fn count(self, path: &Path) -> Result<usize> {
        Ok(match self {
            Self::GenevalPrompts => geneval::read(path, "geneval")?.n_prompts(),
            Self::DpgPrompts => dpg::read(path, "dpg-bench")?.n_prompts(),
            Self::CocoInstances => Supercategories::read(path)?.n_annotations(),
        })
    }

    /// Such a number in words.
    fn words(self, n: usize) -> String {
        match self {
            Self::GenevalPrompts | Self::DpgPrompts => format!("{n} prompts"),
            Self::CocoInstances => format!("{n} annotations"),
        }
    }
}

/// A published file or folder that datasets need.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataItem {
    /// Its name in messages and in `data list`.
    pub key: String,
    /// Names besides the key under which it is fetched; several items may share one.
    pub groups: Vec<String>,
    /// What to fetch and from where, as the object of "fetch".
    fetch: String,
    /// The publisher's address.
    pub url: String,
    /// What the address has.
    pub holds: Holds,
    /// Places below the data folder, most usual first; the first that exists counts.
    pub places: Vec<String>,
    /// Licence of the data.
    pub licence: String,
    /// What must be at its place.
    pub expected: Expected,
}

/// What an address has.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// The item as it is.
    Itself,
    /// A zip archive with the item under this name.
    ZippedFile(String),
    /// A zip archive with the item's files in this folder.
    ZippedFolder(String),
}

/// The items, each a table.
#[derive(Deserialize)]
struct Manifest {
    item: Vec<DataItem>,
}

/// Every item, in the order of `data list`.
pub static ITEMS: LazyLock<Vec<DataItem>> = LazyLock::new(|| {
    let manifest: Manifest = toml::from_str(include_str!("items.toml")).expect("items.toml is tested");
    manifest.item
});

/// The item with this key.
///
/// # Panics
/// If there is none.
pub fn item(key: &str) -> &'static DataItem {
    ITEMS.iter().find(|item| item.key == key).unwrap_or_else(|| panic!("items.toml has no `{key}`"))
}

/// The items that a name fetches: the one with this key, or those of a group.
pub fn items_of(name: &str) -> impl Iterator<Item = &'static DataItem> {
    ITEMS.iter().filter(move |item| item.key == name || item.groups.iter().any(|group| group == name))
}

/// How an item stands on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is there with the published content.
    Present {
        /// Where the file or folder is.
        path: PathBuf,
    },
    /// It is not there.
    Absent {
        /// One sentence: what to fetch and where to put it.
        remedy: String,
    },
    /// Something else is there.
    Mismatch {
        /// Where the file or folder is.
        path: PathBuf,
        /// The published digest and size, or the number of images.
        expected: String,
        /// What was found.
        found: String,
        /// One sentence: what to fetch and where to put it.
        remedy: String,
    },
}

impl DataItem {
    /// Where the item lies, unchecked.
    pub fn locate(&self, root: Option<&DataRoot>) -> Result<PathBuf> {
        let candidates = root.into_iter().flat_map(|r| self.places.iter().map(|place| r.path().join(place)));
        candidates
            .into_iter()
            .find(|path| path.exists())
            .ok_or_else(|| DatasetError::Absent { what: self.key.clone(), remedy: self.remedy(root) })
    }

    /// Whether what is at `path` is the item: reads and digests it.
    pub fn is_at(&self, path: &Path) -> Result<bool> {
        let (expected, found) = self.compared(path)?;
        Ok(expected == found)
    }

    /// What is expected and what is at `path`, in the same words.
    fn compared(&self, path: &Path) -> Result<(String, String)> {
        Ok(match &self.expected {
            Expected::Content { sha256, n_bytes } => {
                let (found, n_found) = content_digest(path)?;
                (format!("sha256 {sha256}, {n_bytes} bytes"), format!("sha256 {found}, {n_found} bytes"))
            }
            Expected::Images { n } => {
                (format!("{n} images"), format!("{} images", image_folder::n_pictures(path, *n)?))
            }
            Expected::Counted { n, of } => (of.words(*n), of.words(of.count(path)?)),
        })
    }

    /// How the item stands: reads and digests its content.
    pub fn verify(&self, root: Option<&DataRoot>) -> Result<Status> {
        let path = match self.locate(root) {
            Ok(path) => path,
            Err(DatasetError::Absent { remedy, .. }) => return Ok(Status::Absent { remedy }),
            Err(error) => return Err(error),
        };
        let (expected, found) = self.compared(&path)?;
        if expected == found {
            return Ok(Status::Present { path });
        }
        Ok(Status::Mismatch { path, expected, found, remedy: self.remedy(root) })
    }

    /// Where the item lies, its content checked against the published digest, or its number of entries where the digest is
    /// unknown.
    pub fn locate_verified(&self, root: Option<&DataRoot>) -> Result<PathBuf> {
        let path = self.locate(root)?;
        match &self.expected {
            Expected::Images { .. } => {}
            Expected::Counted { n, of } => {
                let found = of.count(&path)?;
                if found != *n {
                    let expected =
                        format!("the published file with its {}; {}", of.words(*n), self.remedy(root));
                    let place = Place::Item("the whole file".to_owned());
                    return Err(DatasetError::malformed(&path, place, expected, of.words(found)));
                }
            }
            Expected::Content { sha256, .. } => {
                let (found, _) = content_digest(&path)?;
                if found.as_str() != sha256 {
                    let expected = Digest::from_hex(sha256).expect("digests in the manifest are hexadecimal");
                    let remedy = format!(
                        "{}, or open the file by its path if it is meant to differ",
                        self.remedy(root)
                    );
                    fail!(Missing: "{}: expected the content with sha256 {expected}, found {found}; {remedy}",
                        path.display());
                }
            }
        }
        Ok(path)
    }

    /// What vouches for its content once it was found to be the item.
    pub fn vouched(&self) -> &'static str {
        match self.expected {
            Expected::Content { .. } => "as published",
            Expected::Images { .. } => {
                "digests unknown; as many pictures as published, each with a sound header"
            }
            Expected::Counted { .. } => "digest unknown; as many entries as published",
        }
    }

    /// Uncompressed size, where it is published.
    pub fn n_bytes(&self) -> Option<u64> {
        match self.expected {
            Expected::Content { n_bytes, .. } => Some(n_bytes),
            Expected::Images { .. } | Expected::Counted { .. } => None,
        }
    }

    /// The command that fetches it and nothing else: by the first of its groups, which may bring more.
    pub fn command(&self) -> String {
        format!("specimen data fetch {}", self.groups.first().unwrap_or(&self.key))
    }

    /// One sentence: the command that fetches it, or what to fetch by hand, from where, and where to put it.
    pub fn remedy(&self, root: Option<&DataRoot>) -> String {
        let (place, command) = (&self.places[0], self.command());
        let fetch = format!("fetch {} ({})", self.fetch, self.url);
        match root {
            Some(root) => {
                let place = root.path().join(place);
                format!("run `{command}`, or {fetch} and put it at {}", place.display())
            }
            None => format!(
                "set {DATA_VARIABLE} to a folder for data and run `{command}`, or {fetch} and put it at \
                 ${DATA_VARIABLE}/{place}"
            ),
        }
    }
}

/// SHA-256 and number of bytes of a file's content: of the uncompressed bytes when it is gzipped, so that a file packed
/// again keeps its digest.
fn content_digest(path: &Path) -> Result<(Digest, u64)> {
    let content = read::content(path)?;
    Ok((Digest::sha256_of(&content.bytes), content.bytes.len() as u64))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_item_has_a_key_of_its_own_and_a_digest_of_the_right_form() {
        let keys: BTreeSet<_> = ITEMS.iter().map(|item| &item.key).collect();
        assert_eq!(keys.len(), ITEMS.len());
        for item in ITEMS.iter() {
            assert!(item.url.starts_with("https://") && !item.places.is_empty(), "{}", item.key);
            if let Expected::Content { sha256, .. } = &item.expected {
                assert!(Digest::from_hex(sha256).is_some(), "{}", item.key);
            }
        }
    }

    #[test]
    fn what_is_absent_is_reported_with_what_to_fetch_and_where_to_put_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = DataRoot::new(folder.path());
        for item in ITEMS.iter() {
            let Status::Absent { remedy } = item.verify(Some(&root)).unwrap() else {
                panic!("{} cannot be present", item.key);
            };
            assert!(remedy.contains(&folder.path().join(&item.places[0]).display().to_string()), "{remedy}");
        }
        let message = item("parti-prompts").locate(None).unwrap_err().to_string();
        for part in [
            "parti-prompts",
            "set SPECIMEN_DATA",
            "`specimen data fetch parti`",
            "google-research/parti",
            "$SPECIMEN_DATA/parti/",
        ] {
            assert!(message.contains(part), "`{part}` is not in `{message}`");
        }
        assert!(
            item("coco2017-val-captions")
                .remedy(None)
                .contains("from cocodataset.org (https://s3.amazonaws.com/")
        );
    }

    #[test]
    fn another_file_under_the_right_name_is_a_mismatch_and_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("parti")).unwrap();
        std::fs::write(folder.path().join("parti/PartiPrompts.tsv"), "Prompt\n").unwrap();
        let root = DataRoot::new(folder.path());
        let status = item("parti-prompts").verify(Some(&root)).unwrap();
        assert!(matches!(&status, Status::Mismatch { found, .. } if found.contains("7 bytes")), "{status:?}");
        let message = item("parti-prompts").locate_verified(Some(&root)).unwrap_err().to_string();
        assert!(message.contains("fab29e41") && message.contains("google-research/parti"), "{message}");
    }

    #[test]
    fn a_folder_of_images_is_checked_by_their_number() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("coco/val2017")).unwrap();
        std::fs::write(folder.path().join("coco/val2017/000000000139.jpg"), "").unwrap();
        let status = item("coco2017-val-photos").verify(Some(&DataRoot::new(folder.path()))).unwrap();
        let Status::Mismatch { expected, found, .. } = status else { panic!("{status:?}") };
        assert_eq!((expected.as_str(), found.as_str()), ("5000 images", "1 images"));
    }

    #[test]
    fn a_gzipped_file_keeps_the_digest_of_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..200_000u32).map(|i| (i % 251) as u8).collect();
        let packed = folder.path().join("plain.bin.gz");
        let file = std::fs::File::create(&packed).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, &bytes).unwrap();
        encoder.finish().unwrap();
        assert_ne!(Digest::sha256_of(&std::fs::read(&packed).unwrap()), Digest::sha256_of(&bytes));
        assert_eq!(content_digest(&packed).unwrap(), (Digest::sha256_of(&bytes), 200_000));
    }
}
