//! DPG-Bench (TencentQQGYLab/ELLA, `dpg_bench/dpg_bench.csv`): 1,065 long prompts, each with questions that a model answers
//! about the pictures. A row is a question; `item_id` and `text` are those of its prompt.
//!
//! Ids are the items' (`item_id`): the script looks for the picture of that name.

use crate::delimited::{self, Table};
use crate::error::{DatasetError, Result};
use crate::prompt::{Prompt, PromptId};
use crate::prompt_set::PromptSet;
use crate::read::{self, SourceFile};
use std::collections::BTreeMap;
use std::path::Path;

/// The columns that tell the format.
const COLUMNS: [&str; 4] = ["item_id", "text", "tuple", "question_natural_language"];

/// Reads a file in the format of `dpg_bench.csv` as a set called `name`, prompts in order of their first question; the number
/// of prompts is free.
pub fn read(path: &Path, name: &str) -> Result<PromptSet> {
    let (table, source) = table(path)?;
    let [id, text, ..] = columns(path, &table)?;
    let mut rows: Vec<(_, Prompt)> = Vec::new();
    let mut position_of: BTreeMap<&str, usize> = BTreeMap::new();
    for record in &table.records {
        let (id, text) = (&record[id], &record[text]);
        if let Some(&first) = position_of.get(id.text.as_str()) {
            if rows[first].1.text != text.text {
                let expected = format!("the text that item {} has above", read::quote(&id.text));
                return Err(DatasetError::malformed(
                    path,
                    text.place.clone(),
                    expected,
                    read::quote(&text.text),
                ));
            }
            continue;
        }
        position_of.insert(&id.text, rows.len());
        rows.push((text.place.clone(), Prompt::new(id_of(path, id)?, text.text.clone())));
    }
    PromptSet::from_rows(name, path, None, vec![source], rows)
}

/// Whether a text begins with the header of this format: other prompt files have a column `prompt`.
pub(crate) fn is_meant(text: &str) -> bool {
    let header: Vec<&str> = text.lines().next().unwrap_or_default().split(',').map(str::trim).collect();
    COLUMNS.iter().all(|column| header.contains(column)) && !header.contains(&"prompt")
}

fn table(path: &Path) -> Result<(Table, SourceFile)> {
    let (text, source) = read::text(path)?;
    Ok((delimited::csv(path, &text)?, source))
}

/// Positions of [`COLUMNS`].
fn columns(path: &Path, table: &Table) -> Result<[usize; 4]> {
    let mut positions = [0; 4];
    for (position, name) in positions.iter_mut().zip(COLUMNS) {
        *position = table.required_column(path, name)?;
    }
    Ok(positions)
}

/// The script takes the name of a picture up to its first dot.
fn id_of(path: &Path, field: &delimited::Field) -> Result<PromptId> {
    let bad = |rule: &str| {
        let expected = format!("an item_id that {rule}");
        DatasetError::malformed(path, field.place.clone(), expected, read::quote(&field.text))
    };
    if field.text.contains('.') {
        return Err(bad("has no dot"));
    }
    PromptId::new(field.text.as_str()).map_err(|error| bad(error.rule))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    const HEADER: &str = "item_id,text,keywords,proposition_id,dependency,category_broad,category_detailed,tuple,question_natural_language";
    const ROWS: &str = "\
cups1,\"two cups, blue\",,1,0,entity,whole,entity - whole (cups),Are there cups?
cups1,\"two cups, blue\",,2,1,attribute,color,\"attribute - color (cups, blue)\",Are the cups blue?
sky,a wide sky,,1,0,global,,global - (sky),Is it a sky?
";

    fn written(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dpg_bench.csv");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn an_item_is_a_prompt_of_several_rows() {
        let (_folder, path) = written(&format!("{HEADER}\n{ROWS}"));
        let set = read(&path, "dpg-bench").unwrap();
        let found: Vec<_> = set.prompts().iter().map(|p| (p.id.as_str(), p.text.as_str())).collect();
        assert_eq!(found, [("cups1", "two cups, blue"), ("sky", "a wide sky")]);
    }

    #[test]
    fn the_format_is_known_by_its_header() {
        assert!(is_meant(HEADER));
        assert!(!is_meant("prompt,id\n") && !is_meant(""));
    }

    #[test]
    fn malformed_files_are_refused_with_their_place() {
        for (text, parts) in [
            ("item_id,text\n".to_owned(), ["line 1", "`tuple`"]),
            (format!("{HEADER}\n{}", ROWS.replace("sky,a wide", "cups1,a wide")), ["line 4", "item `cups1`"]),
            (format!("{HEADER}\n{}", ROWS.replace("sky,a", "../sky,a")), ["line 4", "has no dot"]),
            (format!("{HEADER}\n{}", ROWS.replace("sky,a", "a/sky,a")), ["line 4", "slashes"]),
            (format!("{HEADER}\n"), ["no prompts", ""]),
        ] {
            let (_folder, path) = written(&text);
            let message = read(&path, "dpg-bench").unwrap_err().to_string();
            for part in parts {
                assert!(message.contains(part), "`{part}` is not in `{message}`");
            }
        }
    }
}
