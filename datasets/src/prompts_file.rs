//! A user's own prompts: `.txt`, `.csv` or `.jsonl`, each also gzipped (`.txt.gz`, …).
//!
//! - `.txt`: one prompt a line. Ids are 0-based line numbers.
//! - `.csv` (RFC 4180): a header with `prompt` and optionally `id`, `category`, `challenge`, `task`,
//!   `note`, `image_id`; other columns are ignored. Without `id`, ids are 0-based row numbers.
//! - `.jsonl`: one object a line with exactly one of `prompt`, `text`, `caption`, and the same optional
//!   keys; ids may be text or whole numbers. Either all objects have an `id` or none.
//!
//! Text is UTF-8, with or without byte-order mark; lines end with LF or CRLF; outer blanks belong to the
//! prompt. Blank lines and blank prompts are errors: they would shift every row number behind them.

use crate::delimited::{self, Field};
use crate::error::{DatasetError, Place, Result};
use crate::json::malformed_json;
use crate::prompt::{Prompt, PromptId};
use crate::prompt_set::{PromptSet, check_once};
use crate::read;
use serde::Deserialize;
use std::{collections::BTreeMap, path::Path};

/// The prompts of a file, each with its place.
type Rows = Vec<(Place, Prompt)>;

/// Reads a prompt file as a set called `name`.
pub fn read(path: &Path, name: &str) -> Result<PromptSet> {
    let rows: fn(&Path, &str) -> Result<Rows> = match extension(path).as_str() {
        "txt" => txt_rows,
        "csv" => csv_rows,
        "jsonl" => jsonl_rows,
        other => {
            let place = Place::Item("file name".into());
            let found = format!("the extension {}", read::quote(other));
            return Err(DatasetError::malformed(path, place, "a prompt file .txt, .csv or .jsonl", found));
        }
    };
    let (text, source) = read::text(path)?;
    let rows = rows(path, &text)?;
    PromptSet::from_rows(name, path, None, vec![source], rows)
}

/// The extension in lower case, that under `.gz` when the file is gzipped; empty when there is none.
pub(crate) fn extension(path: &Path) -> String {
    let last = |p: &Path| p.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    match last(path).as_str() {
        "gz" => path.file_stem().map(|stem| last(Path::new(stem))).unwrap_or_default(),
        other => other.to_owned(),
    }
}

fn txt_rows(path: &Path, text: &str) -> Result<Rows> {
    let lines = read::lines(path, text)?.into_iter().zip(0..);
    Ok(lines
        .map(|((line, text), row)| (Place::Line(line), Prompt::new(PromptId::number(row), text)))
        .collect())
}

fn csv_rows(path: &Path, text: &str) -> Result<Rows> {
    let table = delimited::csv(path, text)?;
    let prompt_column = table.required_column(path, "prompt")?;
    let [id_column, category, challenge, note, task, image_id] = [
        table.column(path, "id")?,
        table.column(path, "category")?,
        table.column(path, "challenge")?,
        table.column(path, "note")?,
        table.column(path, "task")?,
        table.column(path, "image_id")?,
    ];
    let mut rows = Vec::with_capacity(table.records.len());
    let mut place_of = BTreeMap::new();
    for (record, row) in table.records.iter().zip(0..) {
        let filled =
            |column: Option<usize>| column.map(|c| &record[c]).filter(|field| !field.text.is_empty());
        let id = match id_column {
            Some(column) => {
                let id = id_of(path, &record[column].place, &record[column].text)?;
                check_once(path, &mut place_of, &id, &record[column].place)?;
                id
            }
            None => PromptId::number(row),
        };
        let text = |field: &Field| field.text.clone();
        let prompt = Prompt {
            id,
            text: text(&record[prompt_column]),
            category: filled(category).map(text),
            challenge: filled(challenge).map(text),
            note: filled(note).map(text),
            task: filled(task).map(text),
            image_id: filled(image_id).map(|field| id_of(path, &field.place, &field.text)).transpose()?,
        };
        rows.push((record[prompt_column].place.clone(), prompt));
    }
    Ok(rows)
}

/// One line of a `.jsonl` file; unknown keys are ignored.
#[derive(Deserialize)]
struct JsonRow {
    prompt: Option<String>,
    text: Option<String>,
    caption: Option<String>,
    id: Option<JsonId>,
    category: Option<String>,
    challenge: Option<String>,
    note: Option<String>,
    task: Option<String>,
    image_id: Option<JsonId>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected an id as text or as a whole number from 0")]
enum JsonId {
    Number(u64),
    Text(String),
}

impl JsonId {
    fn into_text(self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text,
        }
    }
}

fn jsonl_rows(path: &Path, text: &str) -> Result<Rows> {
    let mut rows = Vec::new();
    let mut all_have_ids = None;
    for ((line, content), row_idx) in read::lines(path, text)?.into_iter().zip(0..) {
        let place = Place::Line(line);
        if content.trim().is_empty() {
            return Err(DatasetError::malformed(path, place, "a JSON object", "a blank line"));
        }
        let row: JsonRow =
            serde_json::from_str(content).map_err(|e| malformed_json(path, content, line - 1, &e))?;
        let texts: Vec<String> = [row.prompt, row.text, row.caption].into_iter().flatten().collect();
        let [text] = <[String; 1]>::try_from(texts).map_err(|texts| {
            let expected = "exactly one of the keys `prompt`, `text` and `caption`";
            DatasetError::malformed(path, place.clone(), expected, format!("{} of them", texts.len()))
        })?;
        let has_id = row.id.is_some();
        if *all_have_ids.get_or_insert(has_id) != has_id {
            let (this, others) = if has_id { ("an id", "none") } else { ("no id", "one") };
            let found = format!("{this} here and {others} on the lines above");
            return Err(DatasetError::malformed(path, place, "an `id` on all lines or on none", found));
        }
        let id_at = |id: JsonId| id_of(path, &place, &id.into_text());
        let prompt = Prompt {
            id: row.id.map(id_at).transpose()?.unwrap_or_else(|| PromptId::number(row_idx)),
            text,
            category: row.category,
            challenge: row.challenge,
            note: row.note,
            task: row.task,
            image_id: row.image_id.map(id_at).transpose()?,
        };
        rows.push((place, prompt));
    }
    Ok(rows)
}

fn id_of(path: &Path, place: &Place, text: &str) -> Result<PromptId> {
    PromptId::new(text).map_err(|e| {
        DatasetError::malformed(path, place.clone(), format!("an id that {}", e.rule), read::quote(text))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn read_text(name: &str, text: &str) -> Result<PromptSet> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        read(&path, name)
    }

    fn check_reads(name: &str, text: &str, expected: &[(&str, &str)]) {
        let set = read_text(name, text).unwrap();
        let found: Vec<_> = set.prompts().iter().map(|p| (p.id.as_str(), p.text.as_str())).collect();
        assert_eq!(found, expected, "{name}");
    }

    fn check_refused(name: &str, text: &str, expected_in_message: &[&str]) {
        let message = read_text(name, text).unwrap_err().to_string();
        for part in expected_in_message {
            assert!(message.contains(part), "`{part}` is not in `{message}`");
        }
    }

    #[test]
    fn txt_takes_each_line_as_it_stands() {
        check_reads("p.txt", "a, \"b\"\n c \n42", &[("0", "a, \"b\""), ("1", " c "), ("2", "42")]);
        check_reads("P.TXT", "\u{feff}a\r\nb\r\n", &[("0", "a"), ("1", "b")]);
        check_refused("p.txt", "a\n\nb\n", &["p.txt", "line 2", "the prompt is blank"]);
        check_refused("p.txt", "a\n\n", &["line 2", "the prompt is blank"]);
        check_refused("p.txt", "", &["no prompts"]);
    }

    #[test]
    fn csv_takes_ids_where_there_are_and_row_numbers_otherwise() {
        check_reads("p.csv", "prompt\n\"a, b\"\n0\n", &[("0", "a, b"), ("1", "0")]);
        check_reads(
            "p.csv",
            "x,id,prompt\r\n1,007,a\r\n2,k,\"b\"\"\n\"\r\n",
            &[("007", "a"), ("k", "b\"\n")],
        );
        check_refused("p.csv", "caption\na\n", &["line 1", "a column `prompt`", "`caption`"]);
        check_refused("p.csv", "Prompt\na\n", &["line 1, column 1", "exactly `prompt`", "`Prompt`"]);
        check_refused(
            "p.csv",
            "id,prompt\n,a\n",
            &["line 2, column 1", "an id that must have 1 to 128 bytes"],
        );
        check_refused("p.csv", "id,prompt\n../x,a\n", &["line 2, column 1", "slashes"]);
        let places = &["id `1` is at line 2, column 1", "again at line 3, column 1"];
        check_refused("p.csv", "id,prompt\n1,a\n1,b\n", places);
        let places = &["id `1` is at line 2, column 3", "again at line 3, column 4"];
        check_refused("p.csv", "prompt,id\na,1\nbc,1\n", places);
        check_refused("p.csv", "id,prompt\n1,\n", &["line 2, column 3", "the prompt is blank"]);
    }

    #[test]
    fn csv_keeps_categories_and_reference_images() {
        let set = read_text("p.csv", "prompt,category,challenge,note,image_id\na,Arts,Basic,,139\n").unwrap();
        let prompt = &set.prompts()[0];
        assert_eq!(prompt.category.as_deref(), Some("Arts"));
        assert_eq!(prompt.challenge.as_deref(), Some("Basic"));
        assert_eq!((prompt.note.as_deref(), prompt.image_id.as_ref().unwrap().as_str()), (None, "139"));
    }

    #[test]
    fn jsonl_takes_prompt_text_or_caption() {
        check_reads("p.jsonl", "{\"prompt\":\"a\"}\n{\"text\":\"0\",\"tag\":1}\n", &[("0", "a"), ("1", "0")]);
        check_reads("p.jsonl", "{\"caption\":\"a\\nb\",\"id\":7}\r\n", &[("7", "a\nb")]);
        check_reads("p.jsonl", "{\"caption\":\"a\",\"id\":\"x-7\"}", &[("x-7", "a")]);
        check_refused(
            "p.jsonl",
            "{\"prompt\":\"a\"}\n{\"Prompt\":\"b\"}\n",
            &["line 2", "exactly one", "0 of them"],
        );
        check_refused("p.jsonl", "{\"prompt\":\"a\",\"text\":\"b\"}\n", &["line 1", "2 of them"]);
        check_refused(
            "p.jsonl",
            "{\"prompt\":\"a\",\"id\":1}\n{\"prompt\":\"b\"}\n",
            &["line 2", "on all lines"],
        );
        check_refused("p.jsonl", "{\"prompt\":\"a\"}\n\n", &["line 2", "a blank line"]);
        check_refused(
            "p.jsonl",
            "{\"prompt\":\"a\"}\n{\"prompt\": 5}\n",
            &["line 2, column", "expected text"],
        );
        check_refused("p.jsonl", "{\"prompt\":\"a\",\"id\":-1}\n", &["line 1", "a whole number from 0"]);
        check_refused("p.jsonl", "{\"prompt\":\" \"}\n", &["line 1", "the prompt is blank"]);
        check_refused("p.jsonl", "{\"prompt\":\"a\"} {}\n", &["line 1", "trailing characters"]);
    }

    #[test]
    fn the_extension_decides_the_format_and_gz_is_looked_through() {
        for (name, expected) in
            [("a.TXT", "txt"), ("a.jsonl.gz", "jsonl"), ("a.gz", ""), ("a", ""), (".txt", "")]
        {
            assert_eq!(extension(Path::new(name)), expected, "{name}");
        }
        check_refused("p.parquet", "x", &["p.parquet", ".txt, .csv or .jsonl", "`parquet`"]);
    }
}
