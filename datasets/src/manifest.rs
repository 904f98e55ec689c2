//! Where the published data is on this machine, what its content must be, and what to fetch when it is
//! absent. The product carries none of it.
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
use specimen_foundation::{digest::Digest, folders::DATA_VARIABLE};
use std::path::{Path, PathBuf};

/// What must be at an item's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A file with this content.
    Content {
        /// sha256 of the uncompressed content, 64 hexadecimal digits.
        sha256: &'static str,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataItem {
    /// Its name in messages and in `data list`.
    pub key: &'static str,
    /// Places below the data folder, most usual first; the first that exists counts.
    pub places: &'static [&'static str],
    /// What must be at that place.
    pub expected: Expected,
    /// What to fetch and from where, as the object of "fetch".
    pub fetch: &'static str,
    /// The address from which a program fetches it, and what is done with it then.
    pub source: Source,
    /// Names besides the key under which it is fetched; several items may share one.
    pub groups: &'static [&'static str],
    /// Licence of the data.
    pub licence: &'static str,
}

/// Where a publisher has an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The publisher's address.
    pub url: &'static str,
    /// What the address has.
    pub holds: Holds,
    /// Where the item is put, one of its places.
    pub place: &'static str,
}

/// What an address has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// The item as it is.
    Itself,
    /// A zip archive with the item under this name.
    ZippedFile(&'static str),
    /// A zip archive with the item's files in this folder.
    ZippedFolder(&'static str),
}

/// Captions of COCO val2017.
pub const COCO_CAPTIONS: DataItem = DataItem {
    key: "coco2017-val-captions",
    places: &[
        "coco/captions_val2017.json",
        "coco/captions_val2017.json.gz",
        "coco/annotations/captions_val2017.json",
    ],
    expected: Expected::Content {
        sha256: "afe3b30e403dd7f228e2373023abbd60042a6e10ec6874d3652df034d289ebb9",
        n_bytes: 3_872_473,
    },
    fetch: "annotations/captions_val2017.json out of annotations_trainval2017.zip from cocodataset.org \
            (https://s3.amazonaws.com/images.cocodataset.org/annotations/annotations_trainval2017.zip)",
    source: Source {
        url: "https://s3.amazonaws.com/images.cocodataset.org/annotations/annotations_trainval2017.zip",
        holds: Holds::ZippedFile("annotations/captions_val2017.json"),
        place: "coco/annotations/captions_val2017.json",
    },
    groups: &["coco2017-captions", "coco2017-val"],
    licence: "CC BY 4.0 (COCO Consortium)",
};

/// Photos of COCO val2017.
pub const COCO_PHOTOS: DataItem = DataItem {
    key: "coco2017-val-photos",
    places: &["coco/val2017"],
    expected: Expected::Images { n: 5000 },
    fetch: "the folder in val2017.zip of cocodataset.org (https://s3.amazonaws.com/images.cocodataset.org/zips/val2017.zip)",
    source: Source {
        url: "https://s3.amazonaws.com/images.cocodataset.org/zips/val2017.zip",
        holds: Holds::ZippedFolder("val2017"),
        place: "coco/val2017",
    },
    groups: &["coco2017-val"],
    licence: "per image, see `license` in the caption file",
};

/// The prompts of PartiPrompts.
pub const PARTI_PROMPTS: DataItem = DataItem {
    key: "parti-prompts",
    places: &["parti/PartiPrompts.tsv"],
    expected: Expected::Content {
        sha256: "fab29e41bb512a169b56acab4cf2a41dcb675e285df2efcde6640c7dd3c440eb",
        n_bytes: 123_107,
    },
    fetch: "PartiPrompts.tsv from google-research/parti \
            (https://raw.githubusercontent.com/google-research/parti/5a657978134374ce28973948331b319adef164bd/PartiPrompts.tsv)",
    source: Source {
        url: "https://raw.githubusercontent.com/google-research/parti/5a657978134374ce28973948331b319adef164bd/PartiPrompts.tsv",
        holds: Holds::Itself,
        place: "parti/PartiPrompts.tsv",
    },
    groups: &["parti"],
    licence: "Apache-2.0",
};

/// Images of the MNIST test split.
pub const MNIST_IMAGES: DataItem = DataItem {
    key: "mnist-test-images",
    places: &["mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-images-idx3-ubyte"],
    expected: Expected::Content {
        sha256: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        n_bytes: 7_840_016,
    },
    fetch: "t10k-images-idx3-ubyte.gz of MNIST \
            (https://storage.googleapis.com/cvdf-datasets/mnist/t10k-images-idx3-ubyte.gz)",
    source: Source {
        url: "https://storage.googleapis.com/cvdf-datasets/mnist/t10k-images-idx3-ubyte.gz",
        holds: Holds::Itself,
        place: "mnist/t10k-images-idx3-ubyte.gz",
    },
    groups: &["mnist"],
    licence: "CC BY-SA 3.0",
};

/// Labels of the MNIST test split.
pub const MNIST_LABELS: DataItem = DataItem {
    key: "mnist-test-labels",
    places: &["mnist/t10k-labels-idx1-ubyte.gz", "mnist/t10k-labels-idx1-ubyte"],
    expected: Expected::Content {
        sha256: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        n_bytes: 10_008,
    },
    fetch: "t10k-labels-idx1-ubyte.gz of MNIST \
            (https://storage.googleapis.com/cvdf-datasets/mnist/t10k-labels-idx1-ubyte.gz)",
    source: Source {
        url: "https://storage.googleapis.com/cvdf-datasets/mnist/t10k-labels-idx1-ubyte.gz",
        holds: Holds::Itself,
        place: "mnist/t10k-labels-idx1-ubyte.gz",
    },
    groups: &["mnist"],
    licence: "CC BY-SA 3.0",
};

/// Objects in the images of COCO val2017, for breakdowns by supercategory.
pub const COCO_INSTANCES: DataItem = DataItem {
    key: "coco2017-val-instances",
    places: &[
        "coco/annotations/instances_val2017.json",
        "coco/instances_val2017.json",
        "coco/instances_val2017.json.gz",
    ],
    expected: Expected::Counted { n: 36_781, of: Counted::CocoInstances },
    fetch: "annotations/instances_val2017.json out of annotations_trainval2017.zip from cocodataset.org \
            (https://s3.amazonaws.com/images.cocodataset.org/annotations/annotations_trainval2017.zip)",
    source: Source {
        url: "https://s3.amazonaws.com/images.cocodataset.org/annotations/annotations_trainval2017.zip",
        holds: Holds::ZippedFile("annotations/instances_val2017.json"),
        place: "coco/annotations/instances_val2017.json",
    },
    groups: &["coco2017-instances"],
    licence: "CC BY 4.0 (COCO Consortium)",
};

/// The prompts of GenEval, with what a detector must find.
pub const GENEVAL_PROMPTS: DataItem = DataItem {
    key: "geneval-prompts",
    places: &["geneval/evaluation_metadata.jsonl", "geneval/prompts/evaluation_metadata.jsonl"],
    expected: Expected::Counted { n: 553, of: Counted::GenevalPrompts },
    fetch: "prompts/evaluation_metadata.jsonl from djghosh13/geneval \
            (https://raw.githubusercontent.com/djghosh13/geneval/af4902f24d3ca90ebbb446dd9891a59e0f82725f/prompts/evaluation_metadata.jsonl)",
    source: Source {
        url: "https://raw.githubusercontent.com/djghosh13/geneval/af4902f24d3ca90ebbb446dd9891a59e0f82725f/prompts/evaluation_metadata.jsonl",
        holds: Holds::Itself,
        place: "geneval/evaluation_metadata.jsonl",
    },
    groups: &["geneval"],
    licence: "MIT",
};

/// The prompts and questions of DPG-Bench.
pub const DPG_PROMPTS: DataItem = DataItem {
    key: "dpg-bench-prompts",
    places: &["dpg_bench/dpg_bench.csv", "ELLA/dpg_bench/dpg_bench.csv"],
    expected: Expected::Counted { n: 1_065, of: Counted::DpgPrompts },
    fetch: "dpg_bench/dpg_bench.csv from TencentQQGYLab/ELLA \
            (https://raw.githubusercontent.com/TencentQQGYLab/ELLA/3c228f1dc6c4d3cad0a47493816151a419f14db3/dpg_bench/dpg_bench.csv)",
    source: Source {
        url: "https://raw.githubusercontent.com/TencentQQGYLab/ELLA/3c228f1dc6c4d3cad0a47493816151a419f14db3/dpg_bench/dpg_bench.csv",
        holds: Holds::Itself,
        place: "dpg_bench/dpg_bench.csv",
    },
    groups: &["dpg-bench"],
    licence: "Apache-2.0",
};

/// Every item, in the order of `data list`.
pub const ITEMS: [DataItem; 8] = [
    COCO_CAPTIONS,
    COCO_PHOTOS,
    COCO_INSTANCES,
    PARTI_PROMPTS,
    GENEVAL_PROMPTS,
    DPG_PROMPTS,
    MNIST_IMAGES,
    MNIST_LABELS,
];

/// The items that a name fetches: the one with this key, or those of a group.
pub fn items_of(name: &str) -> Vec<DataItem> {
    ITEMS.into_iter().filter(|item| item.key == name || item.groups.contains(&name)).collect()
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
            .ok_or_else(|| DatasetError::Absent { what: self.key.to_owned(), remedy: self.remedy(root) })
    }

    /// Whether what is at `path` is the item: reads and digests it.
    pub fn is_at(&self, path: &Path) -> Result<bool> {
        Ok(match self.expected {
            Expected::Content { sha256, n_bytes } => {
                let (found, n_found) = content_digest(path)?;
                found.as_str() == sha256 && n_found == n_bytes
            }
            Expected::Images { n } => image_folder::n_pictures(path, n)? == n,
            Expected::Counted { n, of } => of.count(path)? == n,
        })
    }

    /// How the item stands: reads and digests its content.
    pub fn verify(&self, root: Option<&DataRoot>) -> Result<Status> {
        let path = match self.locate(root) {
            Ok(path) => path,
            Err(DatasetError::Absent { remedy, .. }) => return Ok(Status::Absent { remedy }),
            Err(error) => return Err(error),
        };
        let (expected, found) = match self.expected {
            Expected::Content { sha256, n_bytes } => {
                let (found_sha256, n_found) = content_digest(&path)?;
                (
                    format!("sha256 {sha256}, {n_bytes} bytes"),
                    format!("sha256 {found_sha256}, {n_found} bytes"),
                )
            }
            Expected::Images { n } => {
                (format!("{n} images"), format!("{} images", image_folder::n_pictures(&path, n)?))
            }
            Expected::Counted { n, of } => (of.words(n), of.words(of.count(&path)?)),
        };
        if expected == found {
            return Ok(Status::Present { path });
        }
        Ok(Status::Mismatch { path, expected, found, remedy: self.remedy(root) })
    }

    /// Where the item lies, its content checked against the published digest, or its number of entries where the digest is
    /// unknown.
    pub fn locate_verified(&self, root: Option<&DataRoot>) -> Result<PathBuf> {
        let path = self.locate(root)?;
        if let Expected::Counted { n, of } = self.expected {
            let found = of.count(&path)?;
            if found != n {
                let expected = format!("the published file with its {}; {}", of.words(n), self.remedy(root));
                let place = Place::Item("the whole file".to_owned());
                return Err(DatasetError::malformed(&path, place, expected, of.words(found)));
            }
        }
        if let Expected::Content { sha256, .. } = self.expected {
            let (found, _) = content_digest(&path)?;
            if found.as_str() != sha256 {
                let expected = Digest::from_hex(sha256).expect("digests in the manifest are hexadecimal");
                let remedy =
                    format!("{}, or open the file by its path if it is meant to differ", self.remedy(root));
                return Err(DatasetError::DigestMismatch { path, expected, found, remedy });
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
        let (place, command) = (self.places[0], self.command());
        match root {
            Some(root) => {
                let place = root.path().join(place);
                format!("run `{command}`, or fetch {} and put it at {}", self.fetch, place.display())
            }
            None => format!(
                "set {DATA_VARIABLE} to a folder for data and run `{command}`, or fetch {} and put it at \
                 ${DATA_VARIABLE}/{place}",
                self.fetch
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
        let keys: BTreeSet<_> = ITEMS.iter().map(|item| item.key).collect();
        assert_eq!(keys.len(), ITEMS.len());
        for item in ITEMS {
            assert!(item.places.contains(&item.source.place), "{}", item.key);
            assert!(item.fetch.contains(item.source.url), "{}", item.key);
            if let Expected::Content { sha256, .. } = item.expected {
                assert!(Digest::from_hex(sha256).is_some(), "{}", item.key);
            }
        }
    }

    #[test]
    fn what_is_absent_is_reported_with_what_to_fetch_and_where_to_put_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = DataRoot::new(folder.path());
        for item in ITEMS {
            let Status::Absent { remedy } = item.verify(Some(&root)).unwrap() else {
                panic!("{} cannot be present", item.key);
            };
            assert!(remedy.contains(&folder.path().join(item.places[0]).display().to_string()), "{remedy}");
        }
        let message = PARTI_PROMPTS.locate(None).unwrap_err().to_string();
        for part in [
            "parti-prompts",
            "set SPECIMEN_DATA",
            "`specimen data fetch parti`",
            "google-research/parti",
            "$SPECIMEN_DATA/parti/",
        ] {
            assert!(message.contains(part), "`{part}` is not in `{message}`");
        }
        assert!(COCO_CAPTIONS.remedy(None).contains("annotations_trainval2017.zip from cocodataset.org"));
    }

    #[test]
    fn another_file_under_the_right_name_is_a_mismatch_and_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("parti")).unwrap();
        std::fs::write(folder.path().join("parti/PartiPrompts.tsv"), "Prompt\n").unwrap();
        let root = DataRoot::new(folder.path());
        let status = PARTI_PROMPTS.verify(Some(&root)).unwrap();
        assert!(matches!(&status, Status::Mismatch { found, .. } if found.contains("7 bytes")), "{status:?}");
        let message = PARTI_PROMPTS.locate_verified(Some(&root)).unwrap_err().to_string();
        assert!(message.contains("fab29e41") && message.contains("google-research/parti"), "{message}");
    }

    #[test]
    fn a_folder_of_images_is_checked_by_their_number() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("coco/val2017")).unwrap();
        std::fs::write(folder.path().join("coco/val2017/000000000139.jpg"), "").unwrap();
        let status = COCO_PHOTOS.verify(Some(&DataRoot::new(folder.path()))).unwrap();
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
