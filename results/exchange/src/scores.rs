//! Scores of another tool on their way back: [`IMPORTERS`] lists the tools, and `read_scores` gives what their files say of each
//! image of a run. The files are untrusted: they are bounded, and nothing that they name is opened.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use specimen_datasets::data_root::DataRoot;
use specimen_foundation::digest::Digest;
use specimen_record::{FileDigest, ItemKey, RunDir, read_given};

use crate::bench::BenchRun;
use crate::{ExchangeError, Finished, dpg, geneval};

/// Bytes of a file of results, at most: ten times that of 553 prompts with four images.
const MOST_BYTES: u64 = 256 << 20;

/// A tool whose results can be brought back.
#[derive(Clone, Copy, Debug)]
pub struct Importer {
    /// The metric in the catalog that they are values of.
    pub metric: &'static str,
    /// What the names of its files end with, by which the tool is known.
    pub ending: &'static str,
    /// Which file, in words.
    pub what: &'static str,
    /// The scores in the file.
    pub(crate) read: Read,
}

/// Reads a file of results of a run, whose cell is named where the file does not say it.
pub(crate) type Read = fn(&Finished<'_>, &Path, Option<&str>) -> Result<Vec<CellScores>, ExchangeError>;

/// Every tool.
pub const IMPORTERS: &[Importer] = &[geneval::IMPORTER, dpg::IMPORTER];

/// What another tool says of the images of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct CellScores {
    /// The metric in the catalog.
    pub metric: &'static str,
    /// The tool, by the repository of its script.
    pub tool: &'static str,
    /// Name of the cell.
    pub cell: String,
    /// The values of the metric, each with its images.
    pub values: Vec<NamedScores>,
    /// The files that were read.
    pub files: Vec<FileDigest>,
}

/// One value of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedScores {
    /// Its name, as the catalog has it.
    pub name: String,
    /// The value of each image that has one.
    pub per_item: BTreeMap<ItemKey, f64>,
    /// The group of each prompt, where the value is the mean of the groups' means.
    pub groups: Option<BTreeMap<String, String>>,
    /// Why there is no value.
    pub why: Option<String>,
}

/// Reads the scores in a file of another tool, for the images of `run`. `cell` is whose images they are, for results of images
/// that lay in another folder than the one `specimen export` wrote.
pub fn read_scores(
    run: &RunDir,
    path: &Path,
    cell: Option<&str>,
    data_root: Option<&DataRoot>,
) -> Result<Vec<CellScores>, ExchangeError> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let importer = IMPORTERS.iter().find(|importer| importer.ending == ending).ok_or_else(|| {
        let known = IMPORTERS.iter().map(|known| format!(".{}, {}", known.ending, known.what));
        ExchangeError::NoResults { path: path.to_owned(), known: known.collect::<Vec<_>>().join("; ") }
    })?;
    (importer.read)(&Finished::of(run, data_root)?, path, cell)
}

/// A file of results, in memory.
pub(crate) struct ResultFile {
    pub(crate) path: PathBuf,
    text: String,
    blake3: Digest,
}

impl ResultFile {
    pub(crate) fn read(path: &Path) -> Result<Self, ExchangeError> {
        let bytes = read_given(path, MOST_BYTES)?;
        let blake3 = Digest::of(&bytes);
        let text = String::from_utf8(bytes).map_err(|error| ExchangeError::Row {
            path: path.to_owned(),
            line: 1,
            problem: format!("expected text in UTF-8: {error}"),
        })?;
        Ok(Self { path: path.to_owned(), text, blake3 })
    }

    /// The lines with their numbers, from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    /// What is wrong with a line.
    pub(crate) fn row(&self, line: usize, problem: String) -> ExchangeError {
        // What a file says is shown, but not without end.
        let problem = match problem.char_indices().nth(400) {
            Some((at, _)) => format!("{}…", &problem[..at]),
            None => problem,
        };
        ExchangeError::Row {
            path: self.path.clone(),
            line,
            problem: problem.escape_debug().to_string().replace("\\\'", "'").replace("\\\"", "\""),
        }
    }

    pub(crate) fn digest(&self) -> FileDigest {
        let file = self.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        FileDigest { file, blake3: self.blake3.clone() }
    }
}

/// The images that a file has a result of, each with its line.
pub(crate) struct Seen<'f> {
    file: &'f ResultFile,
    lines: BTreeMap<ItemKey, usize>,
}

impl<'f> Seen<'f> {
    pub(crate) fn new(file: &'f ResultFile) -> Self {
        Self { file, lines: BTreeMap::new() }
    }

    /// Notes an image, which must be new.
    pub(crate) fn add(&mut self, line: usize, key: &ItemKey) -> Result<(), ExchangeError> {
        match self.lines.insert(key.clone(), line) {
            None => Ok(()),
            Some(first) => Err(self
                .file
                .row(line, format!("{key} has a result on line {first} already; each image has one"))),
        }
    }

    /// Checks that every image of a cell has a result.
    pub(crate) fn check_whole(&self, run: &BenchRun, cell: &str) -> Result<(), ExchangeError> {
        let n = run.items(cell).count();
        let mut missing = run.items(cell).filter(|item| !self.lines.contains_key(&item.key));
        let Some(first) = missing.next() else { return Ok(()) };
        Err(ExchangeError::Missing {
            path: self.file.path.clone(),
            n_missing: 1 + missing.count(),
            n,
            cell: cell.to_owned(),
            first: first.key.to_string(),
        })
    }

    /// `scores`, if there are some.
    pub(crate) fn check_some(&self, scores: Vec<CellScores>) -> Result<Vec<CellScores>, ExchangeError> {
        match scores.is_empty() {
            true => Err(self.file.row(1, "no result is in the file".to_owned())),
            false => Ok(scores),
        }
    }
}
