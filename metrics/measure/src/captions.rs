//! Captions with the ids of their pictures, from COCO JSON, JSON by id, TSV, CSV or JSON lines.
//!
//! - `.json`: COCO's object with `annotations` of `image_id` and `caption`; or one object from id to caption
//!   (clipscore's candidates); or an array of objects as in `.jsonl`.
//! - `.jsonl`: one object a line, with an id and a caption.
//! - `.tsv`, `.csv` (RFC 4180): a header that names an id and a caption.
//! - any of these compressed by gzip, with `.gz` behind.
//!
//! An id stands under `image_id`, `id`, `image`, `file` or `file_name`, a caption under `caption`, `prompt` or `text`; the
//! first of these that is there counts. Ids are read like the names of pictures (see [`crate::image_id`]).

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use specimen_foundation::{failure, plain_words::plain_words};

use crate::bounded;
use crate::error::MeasureError;
use crate::image_id::image_id;

/// Under what an id stands.
const IDS: [&str; 5] = ["image_id", "id", "image", "file", "file_name"];
/// Under what a caption stands.
const CAPTIONS: [&str; 3] = ["caption", "prompt", "text"];

/// Extensions of the forms that are read.
const FORMS: [&str; 4] = ["json", "jsonl", "csv", "tsv"];
/// A compressed file may not grow beyond this.
const MAX_UNPACKED: u64 = 1 << 30;

/// Which caption counts where a picture has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// There must be one.
    Only,
    /// The first in the file.
    First,
    /// The longest in characters; of equal ones the first (LANTERN).
    Longest,
    /// As SJD's evaluation code takes it, with its bug: images by rising id; the place of the longest caption so far
    /// *over all images* is taken of each, since it is not set back between them.
    Sjd,
}

impl Choice {
    /// Its name in answers: `only`, `first`, `longest` or `sjd`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Only => "only",
            Self::First => "first",
            Self::Longest => "longest",
            Self::Sjd => "sjd",
        }
    }
}

/// One caption for each id, by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captions {
    path: PathBuf,
    choice: Choice,
    by_id: BTreeMap<String, String>,
    /// Ids whose caption is blank, with its place.
    blank: BTreeMap<String, String>,
}

/// What a caption says about its place, for messages.
type Record = (String, String, String);

impl Captions {
    /// Reads the file at `path`.
    pub fn read(path: &Path, choice: Choice) -> Result<Self, MeasureError> {
        let extension = form_of(path);
        if path.is_dir() || !FORMS.contains(&extension.as_str()) {
            let found =
                if path.is_dir() { "a folder".to_owned() } else { format!("the extension `{extension}`") };
            let expected = ".json, .jsonl, .csv or .tsv, perhaps with .gz behind (pictures are named first, then captions)";
            return Err(fault(path, "file name", expected, &found));
        }
        let text = text_of(path)?;
        let text = text.trim_start_matches('\u{feff}');
        let records = match extension.as_str() {
            "json" => json(path, text)?,
            "jsonl" => lines(path, text)?,
            "csv" => delimited(path, text, b',')?,
            _ => delimited(path, text, b'\t')?,
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

    /// Why the picture of `id` has no caption, where its caption is blank.
    pub(crate) fn why_blank(&self, id: &str) -> Option<MeasureError> {
        self.blank.get(id).map(|place| blank(&self.path, place))
    }

    /// The first caption that is blank, as an error.
    pub(crate) fn first_blank(&self) -> Option<MeasureError> {
        self.blank.values().next().map(|place| blank(&self.path, place))
    }

    fn of(path: &Path, records: Vec<Record>, choice: Choice) -> Result<Self, MeasureError> {
        let mut of_id: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut place_of: BTreeMap<String, String> = BTreeMap::new();
        for (place, id, caption) in records {
            if caption.trim().is_empty() {
                place_of.entry(id.clone()).or_insert_with(|| place.clone());
            }
            let captions = of_id.entry(id.clone()).or_default();
            if choice == Choice::Only && !captions.is_empty() {
                let expected = "one caption for each id (or say which counts: first, longest or sjd)";
                return Err(fault(path, &place, expected, &format!("another one for `{id}`")));
            }
            captions.push(caption);
        }
        let mut by_id = match choice {
            Choice::Only | Choice::First => chosen(of_id, |captions| Some(captions.swap_remove(0))),
            Choice::Longest => chosen(of_id, |captions| {
                // `max_by_key` takes the last of equals.
                captions.reverse();
                captions.drain(..).max_by_key(|caption| caption.chars().count())
            }),
            Choice::Sjd => stuck(path, of_id)?,
        };
        let is_blank = |id: &String| by_id.get(id).is_some_and(|caption| caption.trim().is_empty());
        place_of.retain(|id, _| is_blank(id));
        by_id.retain(|id, _| !place_of.contains_key(id));
        let captions = Self { path: path.to_path_buf(), choice, by_id, blank: place_of };
        if captions.by_id.is_empty() {
            return Err(captions.first_blank().unwrap_or_else(|| fault(path, "file", "captions", "none")));
        }
        Ok(captions)
    }
}

fn blank(path: &Path, place: &str) -> MeasureError {
    fault(path, place, "a caption", "blanks")
}

/// One caption for each id.
fn chosen(
    of_id: BTreeMap<String, Vec<String>>,
    choose: impl Fn(&mut Vec<String>) -> Option<String>,
) -> BTreeMap<String, String> {
    let one = |(id, mut captions): (String, Vec<String>)| {
        let caption = choose(&mut captions).expect("an id is there with its first caption");
        (id, caption)
    };
    of_id.into_iter().map(one).collect()
}

/// See [`Choice::Sjd`].
fn stuck(
    path: &Path,
    of_id: BTreeMap<String, Vec<String>>,
) -> Result<BTreeMap<String, String>, MeasureError> {
    let mut images: Vec<(String, Vec<String>)> = of_id.into_iter().collect();
    images.sort_by_key(|(id, _)| (id.parse::<u64>().unwrap_or(u64::MAX), id.clone()));
    let (mut n_most, mut place) = (0, 0);
    let mut by_id = BTreeMap::new();
    for (id, mut captions) in images {
        for (at, caption) in captions.iter().enumerate() {
            let n = caption.chars().count();
            if n_most < n {
                (n_most, place) = (n, at);
            }
        }
        if captions.len() <= place {
            let expected = format!(
                "more than {place} captions, which sjd's rule asks for (the original stops here too)"
            );
            return Err(fault(path, &format!("id `{id}`"), &expected, &captions.len().to_string()));
        }
        by_id.insert(id, captions.swap_remove(place));
    }
    Ok(by_id)
}

fn extension(path: &Path) -> String {
    path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase()
}

/// The extension that says the form of the file at `path`, in lower case: the one before `.gz`.
fn form_of(path: &Path) -> String {
    if extension(path) == "gz" { extension(&path.with_extension("")) } else { extension(path) }
}

/// The text at `path`, unpacked if it is compressed.
fn text_of(path: &Path) -> Result<String, MeasureError> {
    let unreadable = |error| MeasureError::io(path, "read", error);
    if extension(path) != "gz" {
        return bounded::read_text(path, MAX_UNPACKED);
    }
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    let mut unpacked = flate2::read::MultiGzDecoder::new(file).take(MAX_UNPACKED + 1);
    unpacked.read_to_string(&mut text).map_err(unreadable)?;
    if MAX_UNPACKED < text.len() as u64 {
        let expected = format!("at most {MAX_UNPACKED} bytes when unpacked");
        return Err(fault(path, "file", &expected, "more"));
    }
    Ok(text)
}

fn json(path: &Path, text: &str) -> Result<Vec<Record>, MeasureError> {
    let top: Top = serde_json::from_str(text)
        .map_err(|error| fault(path, "file", "JSON", &plain_words(&error.to_string())))?;
    match top {
        Top::List(items) => numbered(path, "item", &items),
        Top::Object(entries) => match entries.iter().find(|(key, _)| key == "annotations") {
            Some((_, Value::Array(items))) => numbered(path, "annotation", items),
            Some((_, other)) => Err(fault(path, "annotations", "a list", kind(other))),
            None => entries.iter().map(|(id, caption)| by_key(path, id, caption)).collect(),
        },
    }
}

/// What a file of JSON holds, a key that stands twice twice.
enum Top {
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl<'de> Deserialize<'de> for Top {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TopVisitor;

        impl<'de> Visitor<'de> for TopVisitor {
            type Value = Top;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object or a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Top, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Top::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Top, A::Error> {
                let mut object = Vec::new();
                while let Some(entry) = entries.next_entry()? {
                    object.push(entry);
                }
                Ok(Top::Object(object))
            }
        }

        deserializer.deserialize_any(TopVisitor)
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
            .map_err(|error| fault(path, &place, "a JSON object", &plain_words(&error.to_string())))?;
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
    failure!(Missing: "{}: {place}: expected {expected}, found {found}", path.display()).into()
}
