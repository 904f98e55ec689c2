//! Captions with the ids of their pictures, from COCO JSON, JSON by id, TSV, CSV or JSON lines.
//!
//! - `.json`: COCO's object with `annotations` of `image_id` and `caption`; or one object from id to caption
//!   (clipscore's candidates); or an array of objects as in `.jsonl`.
//! - `.jsonl`: one object a line, with an id and a caption.
//! - `.tsv`, `.csv` (RFC 4180): a header that names an id and a caption.
//!
//! An id stands under `image_id`, `id`, `image`, `file` or `file_name`, a caption under `caption`, `prompt` or `text`; the
//! first of these that is there counts. Ids are read like the names of pictures (see [`crate::image_id`]).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::error::MeasureError;
use crate::image_id::image_id;

/// Under what an id stands.
const IDS: [&str; 5] = ["image_id", "id", "image", "file", "file_name"];
/// Under what a caption stands.
const CAPTIONS: [&str; 3] = ["caption", "prompt", "text"];

/// Which caption counts where a picture has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// There must be one.
    Only,
    /// The first in the file.
    First,
    /// The longest in characters; of equal ones the first (LANTERN).
    Longest,
}

impl Choice {
    /// Its name in answers: `only`, `first` or `longest`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Only => "only",
            Self::First => "first",
            Self::Longest => "longest",
        }
    }
}

/// One caption for each id, by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captions {
    path: PathBuf,
    choice: Choice,
    by_id: BTreeMap<String, String>,
}

/// What a caption says about its place, for messages.
type Record = (String, String, String);

impl Captions {
    /// Reads the file at `path`. Fails on another extension, on a record without id or caption, on a blank caption, and
    /// on a second caption of an id where there may be one only.
    pub fn read(path: &Path, choice: Choice) -> Result<Self, MeasureError> {
        let text = std::fs::read_to_string(path).map_err(|e| MeasureError::io(path, "read", e))?;
        let text = text.trim_start_matches('\u{feff}');
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
        let records = match extension.as_str() {
            "json" => json(path, text)?,
            "jsonl" => lines(path, text)?,
            "csv" => delimited(path, text, b',')?,
            "tsv" => delimited(path, text, b'\t')?,
            _ => {
                let found = format!("the extension `{extension}`");
                return Err(fault(path, "file name", ".json, .jsonl, .csv or .tsv", &found));
            }
        };
        Self::of(path, records, choice)
    }

    /// The file they were read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which caption counted.
    pub fn choice(&self) -> Choice {
        self.choice
    }

    /// The captions by id.
    pub fn by_id(&self) -> &BTreeMap<String, String> {
        &self.by_id
    }

    fn of(path: &Path, records: Vec<Record>, choice: Choice) -> Result<Self, MeasureError> {
        let mut by_id: BTreeMap<String, String> = BTreeMap::new();
        for (place, id, caption) in records {
            if caption.trim().is_empty() {
                return Err(fault(path, &place, "a caption", "blanks"));
            }
            match by_id.get_mut(&id) {
                None => drop(by_id.insert(id, caption)),
                Some(_) if choice == Choice::Only => {
                    let expected = "one caption for each id (or say which counts: first or longest)";
                    return Err(fault(path, &place, expected, &format!("another one for `{id}`")));
                }
                Some(longest) if choice == Choice::Longest => {
                    if caption.chars().count() > longest.chars().count() {
                        *longest = caption;
                    }
                }
                Some(_) => {}
            }
        }
        if by_id.is_empty() {
            return Err(fault(path, "file", "captions", "none"));
        }
        Ok(Self { path: path.to_path_buf(), choice, by_id })
    }
}

fn json(path: &Path, text: &str) -> Result<Vec<Record>, MeasureError> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| fault(path, "file", "JSON", &error.to_string()))?;
    match value {
        Value::Array(items) => numbered(path, "item", &items),
        Value::Object(object) => match object.get("annotations") {
            Some(Value::Array(items)) => numbered(path, "annotation", items),
            Some(other) => Err(fault(path, "annotations", "a list", kind(other))),
            None => object.iter().map(|(id, caption)| by_key(path, id, caption)).collect(),
        },
        other => Err(fault(path, "file", "an object or a list", kind(&other))),
    }
}

/// A caption under its id; clipscore's references are lists, of which there may be one.
fn by_key(path: &Path, id: &str, caption: &Value) -> Result<Record, MeasureError> {
    let place = format!("key `{id}`");
    match caption {
        Value::String(caption) => Ok((place, image_id(id), caption.clone())),
        other => Err(fault(path, &place, "a caption", kind(other))),
    }
}

fn numbered(path: &Path, what: &str, items: &[Value]) -> Result<Vec<Record>, MeasureError> {
    let record = |(at, item): (usize, &Value)| {
        let place = format!("{what} {at}");
        let object = item.as_object().ok_or_else(|| fault(path, &place, "an object", kind(item)))?;
        of_object(path, place, object)
    };
    items.iter().enumerate().map(record).collect()
}

fn lines(path: &Path, text: &str) -> Result<Vec<Record>, MeasureError> {
    let filled = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let record = |(at, line): (usize, &str)| {
        let place = format!("line {}", at + 1);
        let object: Map<String, Value> = serde_json::from_str(line)
            .map_err(|error| fault(path, &place, "a JSON object", &error.to_string()))?;
        of_object(path, place, &object)
    };
    filled.map(record).collect()
}

fn of_object(path: &Path, place: String, object: &Map<String, Value>) -> Result<Record, MeasureError> {
    let first = |names: &[&str]| names.iter().find_map(|name| object.get(*name));
    let id = match first(&IDS) {
        Some(Value::String(id)) => image_id(id),
        Some(Value::Number(id)) if id.as_f64().is_some_and(|id| id.fract() == 0.0) => {
            image_id(&id.to_string())
        }
        other => {
            let expected = format!("an id under {}", IDS.join(", "));
            return Err(fault(path, &place, &expected, other.map_or("none", kind)));
        }
    };
    match first(&CAPTIONS) {
        Some(Value::String(caption)) => Ok((place, id, caption.clone())),
        other => {
            let expected = format!("a caption under {}", CAPTIONS.join(", "));
            Err(fault(path, &place, &expected, other.map_or("none", kind)))
        }
    }
}

fn delimited(path: &Path, text: &str, delimiter: u8) -> Result<Vec<Record>, MeasureError> {
    // In a TSV a quotation mark is a character like any other.
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .quoting(delimiter == b',')
        .from_reader(text.as_bytes());
    let not_a_table = |error: csv::Error| fault(path, "table", "rows like the header", &error.to_string());
    let header = reader.headers().map_err(not_a_table)?.clone();
    let column = |names: &[&str]| {
        let at = names.iter().find_map(|name| header.iter().position(|found| found == *name));
        let expected = format!("a column {}", names.join(", "));
        at.ok_or_else(|| fault(path, "header", &expected, &header.iter().collect::<Vec<_>>().join(", ")))
    };
    let (id, caption) = (column(&IDS)?, column(&CAPTIONS)?);
    let record = |(at, row): (usize, csv::Result<csv::StringRecord>)| {
        let row = row.map_err(not_a_table)?;
        Ok((format!("row {}", at + 1), image_id(&row[id]), row[caption].to_owned()))
    };
    reader.records().enumerate().map(record).collect()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn fault(path: &Path, place: &str, expected: &str, found: &str) -> MeasureError {
    MeasureError::Captions {
        path: path.to_path_buf(),
        place: place.to_owned(),
        expected: expected.to_owned(),
        found: found.to_owned(),
    }
}
