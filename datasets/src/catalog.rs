//! Every dataset by name, and the one function that opens them.
//!
//! Adding a dataset: a reader in a file of its own, an [`Entry`], a line in [`open`], and, if it needs
//! a file, an item in `items.toml`.

use crate::caption::CaptionPolicy;
use crate::cascade_figures;
use crate::coco::CocoCaptions;
use crate::data_root::DataRoot;
use crate::dpg;
use crate::error::{DatasetError, Result};
use crate::geneval;
use crate::manifest::{DataItem, item};
use crate::parti;
use crate::prompt::{Prompt, PromptId};
use crate::prompt_set::PromptSet;
use crate::prompts_file::{self, extension};
use crate::read;
use crate::scenes::{Scene, TRAIN_SEED, VAL_SEED};
use crate::subset::{self, Subset};
use specimen_foundation::names;
use std::path::{Path, PathBuf};

/// Scenes in `scenes-val` unless a limit says otherwise.
pub const N_SCENES_VAL: usize = 2_000;
/// Scenes in `scenes-train` unless a limit says otherwise; the embedded model was trained on these.
pub const N_SCENES_TRAIN: usize = 24_000;
/// The most prompts that a generated dataset makes.
pub const N_GENERATED_MAX: usize = 1_000_000;

/// One dataset that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name in specs.
    pub name: &'static str,
    /// What it is, one line.
    pub what: &'static str,
    /// Number of prompts without a limit (one caption an image); `None` when a limit must say it.
    pub n_prompts: Option<usize>,
    /// Key of the file that it needs in [`crate::manifest`].
    needs: Option<&'static str>,
    /// Keys of the works to cite, in the catalog of citations (`harness/catalog/citations`).
    pub cite: &'static [&'static str],
}

impl Entry {
    /// The file that it needs.
    pub fn file(&self) -> Option<&'static DataItem> {
        self.needs.map(item)
    }
}

/// All datasets with a name, in the order of `data list`.
pub const ENTRIES: [Entry; 8] = [
    Entry {
        name: "coco2017-val",
        what: "COCO val2017 captions, one an image by the caption policy",
        n_prompts: Some(5_000),
        needs: Some("coco2017-val-captions"),
        cite: &["lin2014coco", "chen2015cococaptions"],
    },
    Entry {
        name: "parti-prompts",
        what: "PartiPrompts, with category and challenge",
        n_prompts: Some(1_632),
        needs: Some("parti-prompts"),
        cite: &["yu2022parti"],
    },
    Entry {
        name: "geneval",
        what: "GenEval's prompts, with their task; 4 images each in the benchmark",
        n_prompts: Some(553),
        needs: Some("geneval-prompts"),
        cite: &["ghosh2023geneval"],
    },
    Entry {
        name: "dpg-bench",
        what: "DPG-Bench's long prompts; 4 images each in the benchmark",
        n_prompts: Some(1_065),
        needs: Some("dpg-bench-prompts"),
        cite: &["hu2024ella"],
    },
    Entry {
        name: cascade_figures::NAME,
        what: "the prompts that CASCADE prints below its figures 1, 3, 9 and 11 to 14",
        n_prompts: Some(31),
        needs: None,
        cite: &["yildirim2026cascade"],
    },
    Entry {
        name: "scenes-val",
        what: "captions of procedural scenes that the embedded model has not seen; `limit` may ask for more",
        n_prompts: Some(N_SCENES_VAL),
        needs: None,
        cite: &["specimen"],
    },
    Entry {
        name: "scenes-train",
        what: "captions of procedural scenes; the embedded model is trained on these, those beyond are new",
        n_prompts: Some(N_SCENES_TRAIN),
        needs: None,
        cite: &["specimen"],
    },
    Entry {
        name: "unconditional",
        what: "prompts without text, for models that take none; `limit` says how many",
        n_prompts: None,
        needs: None,
        cite: &["specimen"],
    },
];

/// How to open a dataset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// Where data lies.
    pub root: Option<DataRoot>,
    /// The caption policy; `longest` when absent. Only datasets with several captions an image look at it.
    pub caption: Option<CaptionPolicy>,
    /// Prompts chosen by a seed, out of the whole dataset.
    pub subset: Option<Subset>,
    /// Only the first prompts in file order, after `subset`. For generated datasets without `subset` it is
    /// the number of prompts made.
    pub limit: Option<usize>,
}

/// Opens a dataset by its name, or a prompt file by its path: as given, or below the data folder.
///
/// A name from [`ENTRIES`] wins over a file of that name (write `./name` for the file). Files: `.json` (COCO
/// captions), `.tsv` (as PartiPrompts), `.txt`, `.csv`, `.jsonl`, each also with `.gz`; GenEval's `.jsonl` is known by its
/// first line, DPG-Bench's `.csv` by its header. The files behind a name must
/// have the published content; a path takes any.
pub fn open(name: &str, options: &OpenOptions) -> Result<PromptSet> {
    let root = options.root.as_ref();
    let file = |key| item(key).locate_verified(root);
    let caption = options.caption.unwrap_or(CaptionPolicy::Longest);
    let set = match name {
        "coco2017-val" => CocoCaptions::read(&file("coco2017-val-captions")?)?.prompts(name, caption)?,
        "parti-prompts" => parti::read(&file("parti-prompts")?, name)?,
        "geneval" => geneval::read(&file("geneval-prompts")?, name)?,
        "dpg-bench" => dpg::read(&file("dpg-bench-prompts")?, name)?,
        cascade_figures::NAME => cascade_figures::prompts(),
        "scenes-val" => scenes(name, VAL_SEED, n_generated(name, options, Some(N_SCENES_VAL))?)?,
        "scenes-train" => scenes(name, TRAIN_SEED, n_generated(name, options, Some(N_SCENES_TRAIN))?)?,
        "unconditional" => PromptSet::unconditional(name, n_generated(name, options, None)?)?,
        path => open_file(&resolve(path, root)?, caption)?,
    };
    let set = match options.subset {
        Some(subset) => subset::seeded(&set, subset)?,
        None => set,
    };
    match options.limit {
        Some(n) => subset::limit(&set, n),
        None => Ok(set),
    }
}

fn open_file(path: &Path, caption: CaptionPolicy) -> Result<PromptSet> {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    match extension(path).as_str() {
        "json" => CocoCaptions::read(path)?.prompts(&name, caption),
        "tsv" => parti::read(path, &name),
        "jsonl" if geneval::is_meant(&read::text(path)?.0) => geneval::read(path, &name),
        "csv" if dpg::is_meant(&read::text(path)?.0) => dpg::read(path, &name),
        _ => prompts_file::read(path, &name),
    }
}

/// The file that a path means.
fn resolve(name: &str, root: Option<&DataRoot>) -> Result<PathBuf> {
    let below_root = root.map(|root| root.path().join(name));
    let tried: Vec<PathBuf> = std::iter::once(PathBuf::from(name)).chain(below_root).collect();
    if let Some(path) = tried.iter().find(|path| path.is_file()) {
        return Ok(path.clone());
    }
    let near = names::nearest(name, ENTRIES.iter().map(|entry| entry.name));
    let all = ENTRIES.map(|entry| entry.name).join(", ");
    let files = tried.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" or ");
    let hint = if near.is_empty() {
        format!("known are {all}; there is no prompt file at {files}")
    } else {
        format!("did you mean {}? (there is no prompt file at {files})", near.join(" or "))
    };
    Err(DatasetError::UnknownName { name: name.to_owned(), hint })
}

/// How many prompts a generated dataset makes before a subset is chosen.
fn n_generated(name: &str, options: &OpenOptions, n_default: Option<usize>) -> Result<usize> {
    let refused = |option, why: String| Err(crate::error::bad_option(name, option, why));
    match (options.subset, options.limit, n_default) {
        (Some(_), _, None) => refused("subset", "has nothing to choose from, give `limit` instead".into()),
        (Some(_), _, Some(n)) => Ok(n),
        (None, Some(n), _) if n == 0 || n > N_GENERATED_MAX => {
            refused("limit", format!("is {n}, expected 1 to {N_GENERATED_MAX}"))
        }
        (None, Some(n), _) | (None, None, Some(n)) => Ok(n),
        (None, None, None) => refused("limit", "is missing, it says how many prompts there are".into()),
    }
}

fn scenes(name: &str, seed: u64, n: usize) -> Result<PromptSet> {
    let prompt = |index| {
        let id = PromptId::number(index);
        let mut prompt = Prompt::new(id.clone(), Scene::new(seed, index).caption());
        prompt.image_id = Some(id);
        prompt
    };
    PromptSet::new(name, (0..n as u64).map(prompt).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn limited(n: usize) -> OpenOptions {
        OpenOptions { limit: Some(n), ..OpenOptions::default() }
    }

    fn check_refused(name: &str, options: &OpenOptions, expected_in_message: &[&str]) {
        let message = open(name, options).unwrap_err().to_string();
        for part in expected_in_message {
            assert!(message.contains(part), "`{part}` is not in `{message}`");
        }
    }

    #[test]
    fn every_name_opens_or_says_which_data_it_needs() {
        for entry in ENTRIES {
            match open(entry.name, &limited(3)) {
                Ok(set) => assert_eq!((set.name(), set.n_prompts(), entry.file()), (entry.name, 3, None)),
                Err(DatasetError::Absent { what, .. }) => assert_eq!(what, entry.file().unwrap().key),
                Err(error) => panic!("{}: {error}", entry.name),
            }
        }
    }

    #[test]
    fn scenes_are_captioned_by_their_number() {
        let val = open("scenes-val", &limited(5)).unwrap();
        let train = open("scenes-train", &limited(5)).unwrap();
        assert_eq!(val.prompts()[4].text, Scene::new(VAL_SEED, 4).caption());
        assert_eq!(val.prompts()[4].id.as_str(), "4");
        assert_eq!(val.prompts()[4].image_id.as_ref().unwrap().as_str(), "4");
        assert_eq!(train.prompts()[4].text, Scene::new(TRAIN_SEED, 4).caption());
        assert_ne!(val.digest(), train.digest());
        assert_eq!(open("scenes-val", &OpenOptions::default()).unwrap().n_prompts(), N_SCENES_VAL);
        assert_eq!(open("scenes-val", &limited(2_500)).unwrap().n_prompts(), 2_500);
    }

    #[test]
    fn the_digest_of_the_scene_prompts_does_not_depend_on_the_caption_policy() {
        let mut options = limited(4);
        let digest = open("scenes-val", &options).unwrap().digest().clone();
        options.caption = Some(CaptionPolicy::First);
        let set = open("scenes-val", &options).unwrap();
        assert_eq!((set.digest(), set.caption()), (&digest, None));
    }

    #[test]
    fn unconditional_prompts_have_no_text_and_need_a_limit() {
        let set = open("unconditional", &limited(3)).unwrap();
        assert_eq!(set.prompts().iter().map(|p| p.id.as_str()).collect::<Vec<_>>(), ["0", "1", "2"]);
        check_refused("unconditional", &OpenOptions::default(), &["unconditional", "limit is missing"]);
        check_refused("unconditional", &limited(0), &["limit is 0"]);
        check_refused("scenes-val", &limited(usize::MAX), &["expected 1 to 1000000"]);
        let subset = OpenOptions { subset: Some(Subset { n: 2, seed: 1 }), ..limited(3) };
        check_refused("unconditional", &subset, &["subset has nothing to choose from"]);
    }

    #[test]
    fn a_subset_is_chosen_out_of_the_whole_set_before_the_limit() {
        let subset = Some(Subset { n: 10, seed: 1 });
        let whole = open("scenes-val", &OpenOptions { subset, ..OpenOptions::default() }).unwrap();
        let first = open("scenes-val", &OpenOptions { subset, ..limited(4) }).unwrap();
        assert_eq!(first.prompts(), &whole.prompts()[..4]);
        assert!(whole.prompts().iter().any(|p| p.id.as_str().len() == 4));
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest_ones() {
        check_refused("scenes-vall", &OpenOptions::default(), &["`scenes-vall`", "did you mean scenes-val?"]);
        check_refused(
            "imagenet",
            &OpenOptions::default(),
            &["known are coco2017-val, parti-prompts, geneval"],
        );
        let root = Some(DataRoot::new("/nowhere"));
        let options = OpenOptions { root, ..OpenOptions::default() };
        check_refused("my/prompts.txt", &options, &["my/prompts.txt or /nowhere/my/prompts.txt"]);
    }

    #[test]
    fn a_prompt_file_opens_by_its_path_and_below_the_data_folder() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("p.txt", "a\nb\n");
        write("p.tsv", "Prompt\tCategory\tChallenge\tNote\na\tArts\tBasic\t\n");
        write(
            "p.json",
            "{\"annotations\":[{\"id\":1,\"image_id\":7,\"caption\":\"a\"},\
                         {\"id\":2,\"image_id\":7,\"caption\":\"bb\"}]}",
        );
        write("p.parquet", "x");
        let absolute = folder.path().join("p.txt");
        let by_path = open(absolute.to_str().unwrap(), &OpenOptions::default()).unwrap();
        let options = OpenOptions { root: Some(DataRoot::new(folder.path())), ..OpenOptions::default() };
        assert_eq!(open("p.txt", &options).unwrap(), by_path);
        assert_eq!((by_path.name(), by_path.n_prompts()), ("p.txt", 2));
        assert_eq!(open("p.tsv", &options).unwrap().prompts()[0].category.as_deref(), Some("Arts"));
        assert_eq!(open("p.json", &options).unwrap().prompts()[0].text, "bb");
        let first = OpenOptions { caption: Some(CaptionPolicy::First), ..options.clone() };
        assert_eq!(open("p.json", &first).unwrap().prompts()[0].text, "a");
        assert_eq!(open("p.json", &first).unwrap().caption(), Some(CaptionPolicy::First));
        check_refused("p.parquet", &options, &["p.parquet", ".txt, .csv or .jsonl"]);
    }
}
