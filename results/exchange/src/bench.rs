//! A run whose images a benchmark's own script scores: every image by its prompt and number, the folder of each cell, and the
//! way back from a path in the script's results.
//!
//! A cell's folder is called `<cell>+<digest>`, the cell as in keys of images and twelve digits of the digest of the run's
//! records. The scripts repeat the path of each image in their results, so these name the cell and the run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use specimen_datasets::catalog::{ENTRIES, file_of};
use specimen_datasets::{DatasetError, PromptId, PromptSet, manifest::DataItem};
use specimen_record::{
    Digest, Item, ItemKey, PlanFile, Record, RecordError, Status, decode_part, encode_part, read_document,
    read_rows,
};

use crate::{ExchangeError, Finished};

/// Images of a prompt in published scores of both benchmarks.
pub(crate) const N_SAMPLES: usize = 4;

/// Digits of the digest in the name of a cell's folder.
const N_DIGITS: usize = 12;

/// The images of a run.
pub(crate) struct BenchRun {
    items: Vec<Item>,
    position_of: BTreeMap<ItemKey, usize>,
    records: BTreeMap<ItemKey, Record>,
    /// The first digits of the digest of the records.
    mark: String,
}

/// An image with its pixels.
pub(crate) struct Pixels {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) rgb: Vec<u8>,
}

impl BenchRun {
    pub(crate) fn of(finished: &Finished<'_>) -> Result<Self, ExchangeError> {
        let plan: PlanFile = read_document(&finished.run.plan())?;
        let records = read_rows::<Record>(&finished.run.merged_records())?.rows;
        let mark = finished.summary.result_digest.as_str()[..N_DIGITS].to_owned();
        let records = records.into_iter().map(|record| (record.key.clone(), record)).collect();
        let positions = plan.items.iter().zip(0..).map(|(item, at)| (item.key.clone(), at)).collect();
        Ok(Self { items: plan.items, position_of: positions, records, mark })
    }

    /// The cells, in the order of the plan.
    pub(crate) fn cells(&self) -> Vec<&str> {
        let mut cells: Vec<&str> = Vec::new();
        for item in &self.items {
            if !cells.contains(&item.cell.as_str()) {
                cells.push(&item.cell);
            }
        }
        cells
    }

    /// The prompts of a cell with their images, which all are there, in the order of their numbers.
    pub(crate) fn by_prompt(&self, cell: &str) -> Result<Vec<(&Item, Vec<&Record>)>, ExchangeError> {
        let mut position_of: BTreeMap<&str, usize> = BTreeMap::new();
        let mut prompts: Vec<(&Item, Vec<&Record>)> = Vec::new();
        for item in self.items.iter().filter(|item| item.cell == cell) {
            let record = self.record(&item.key)?;
            let at = *position_of.entry(&item.prompt_id).or_insert(prompts.len());
            if at == prompts.len() {
                prompts.push((item, Vec::new()));
            }
            prompts[at].1.push(record);
        }
        prompts.iter_mut().for_each(|(_, records)| records.sort_by_key(|record| record.sample));
        Ok(prompts)
    }

    /// The items of a cell.
    pub(crate) fn items<'s>(&'s self, cell: &'s str) -> impl Iterator<Item = &'s Item> {
        self.items.iter().filter(move |item| item.cell == cell)
    }

    /// The item of this name.
    pub(crate) fn item(&self, key: &ItemKey) -> Option<&Item> {
        self.position_of.get(key).map(|&at| &self.items[at])
    }

    /// The record of an image that was made.
    fn record(&self, key: &ItemKey) -> Result<&Record, ExchangeError> {
        let record = self.records.get(key).filter(|record| record.status == Status::Ok);
        record.ok_or_else(|| ExchangeError::NoImage {
            key: key.to_string(),
            why: self.records.get(key).and_then(|record| record.err.clone()),
        })
    }

    /// The name of a cell's folder.
    pub(crate) fn folder(&self, cell: &str) -> PathBuf {
        PathBuf::from(format!("{}+{}", encode_part(cell), self.mark))
    }

    /// The cell of the folder that the results name, or the one that was given for results without such a name; the error says
    /// what is wrong and what to do.
    pub(crate) fn cell_of(&self, folder: Option<&str>, given: Option<&str>) -> Result<String, String> {
        let cells = self.cells();
        let marked = folder.and_then(|folder| folder.rsplit_once('+')).filter(|(_, mark)| {
            mark.len() == N_DIGITS && mark.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase())
        });
        let Some((cell, mark)) = marked else {
            let folder = folder.unwrap_or_default();
            return match given {
                Some(cell) if cells.contains(&cell) => Ok(cell.to_owned()),
                Some(cell) => Err(format!("the run has no cell `{cell}`; it has {}", cells.join(", "))),
                None => Err(format!(
                    "expected an image below a folder that `specimen export` wrote, such as `{}`, found the folder `{folder}`; if \
                     the images are this run's, say which cell's: --cell NAME",
                    self.folder(cells.first().unwrap_or(&"ar")).display()
                )),
            };
        };
        if mark != self.mark {
            return Err(format!(
                "the image is of another run, whose records begin with {mark}; those of this run begin with {}",
                self.mark
            ));
        }
        let cell = decode_part(cell).filter(|cell| cells.contains(&cell.as_str()));
        let cell = cell.ok_or_else(|| {
            format!(
                "expected a cell of the run ({}), found the folder `{}`",
                cells.join(", "),
                folder.unwrap_or_default()
            )
        })?;
        match given {
            Some(given) if given != cell => {
                Err(format!("the image is of cell `{cell}`, and --cell says `{given}`"))
            }
            _ => Ok(cell),
        }
    }
}

/// A benchmark's prompts: its dataset, the file, and the reader.
pub(crate) struct BenchPrompts {
    pub(crate) item: DataItem,
    pub(crate) read: fn(&Path, &str) -> Result<PromptSet, DatasetError>,
}

impl BenchPrompts {
    /// The file: the run's own where its spec names a file, else the one in the data folder. A run of another dataset is refused.
    pub(crate) fn file(&self, finished: &Finished<'_>) -> Result<PathBuf, ExchangeError> {
        let name = finished.manifest.spec["dataset"]["name"].as_str().unwrap_or_default();
        let other = |why: String| ExchangeError::OtherDataset {
            dataset: name.to_owned(),
            expected: self.item.groups[0],
            why,
        };
        if let Some(entry) = ENTRIES.iter().find(|entry| entry.name == name) {
            return match entry.needs.contains(&self.item) {
                true => Ok(self.item.locate(finished.data_root)?),
                false => Err(other(entry.what.to_owned())),
            };
        }
        match file_of(name, finished.data_root) {
            Ok(path) => match (self.read)(&path, name) {
                Ok(_) => Ok(path),
                Err(error) => Err(other(error.to_string())),
            },
            // Of an import, or of a file that is no longer there: the prompts themselves are compared.
            Err(_) => Ok(self.item.locate(finished.data_root)?),
        }
    }
}

/// Checks that a run's prompt is the benchmark's of this id.
pub(crate) fn check_prompt(set: &PromptSet, file: &Path, item: &Item) -> Result<(), ExchangeError> {
    let found = PromptId::new(item.prompt_id.as_str()).ok().and_then(|id| set.get(&id));
    match found {
        Some(prompt) if prompt.text == item.prompt => Ok(()),
        other => Err(ExchangeError::OtherPrompts {
            file: file.to_owned(),
            id: item.prompt_id.clone(),
            found: item.prompt.clone(),
            expected: other.map(|prompt| prompt.text.clone()),
        }),
    }
}

/// The file of an image and its pixels, which must be those of its record.
pub(crate) fn read_image(
    finished: &Finished<'_>,
    record: &Record,
) -> Result<(Vec<u8>, Pixels), ExchangeError> {
    let absent = || ExchangeError::NoImage { key: record.key.to_string(), why: None };
    let path = finished.run.find_image(record.image.as_deref().ok_or_else(absent)?)?.ok_or_else(absent)?;
    let unreadable = |source| ExchangeError::Io { path: path.clone(), source };
    let bytes = std::fs::read(&path).map_err(unreadable)?;
    let image = image::load_from_memory(&bytes).map_err(|error| unreadable(std::io::Error::other(error)))?;
    let image = image.into_rgb8();
    let (width, height) = image.dimensions();
    let pixels = Pixels { width, height, rgb: image.into_raw() };
    let found = Digest::of(&pixels.rgb);
    match &record.image_digest {
        Some(expected) if *expected != found => {
            let (key, expected) = (record.key.clone(), expected.clone());
            Err(RecordError::OtherPixels { path, key, expected, found }.into())
        }
        _ => Ok((bytes, pixels)),
    }
}
