//! GenEval (djghosh13/geneval, `prompts/evaluation_metadata.jsonl`): 553 prompts of six tasks. A line is a JSON object with
//! `tag` (the task), `prompt`, and `include` and `exclude`, which say what a detector must find in the picture.
//!
//! Ids are 0-based line numbers: the script's folder of a prompt is that number.

use crate::error::{DatasetError, Place, Result};
use crate::json::malformed_json;
use crate::prompt::{Prompt, PromptId};
use crate::prompt_set::PromptSet;
use crate::read;
use serde::Deserialize;
use std::path::Path;

/// The tasks by their tags, in the order of the paper's table.
const TASKS: [&str; 6] = ["single_object", "two_object", "counting", "colors", "position", "color_attr"];

/// What is read of a line; `include` and `exclude` are for the script.
#[derive(Deserialize)]
struct Row {
    tag: String,
    prompt: String,
    #[serde(rename = "include")]
    _include: Vec<serde_json::Value>,
}

/// Reads a file in the format of `evaluation_metadata.jsonl` as a set called `name`; the number of lines is free.
pub fn read(path: &Path, name: &str) -> Result<PromptSet> {
    let (text, source) = read::text(path)?;
    let mut rows = Vec::new();
    for ((line, content), idx) in read::lines(path, &text)?.into_iter().zip(0..) {
        let row: Row =
            serde_json::from_str(content).map_err(|e| malformed_json(path, content, line - 1, &e))?;
        if !TASKS.contains(&row.tag.as_str()) {
            let expected = format!("a `tag` that is one of {}", TASKS.join(", "));
            return Err(DatasetError::malformed(path, Place::Line(line), expected, read::quote(&row.tag)));
        }
        let mut prompt = Prompt::new(PromptId::number(idx), row.prompt);
        prompt.task = Some(row.tag);
        rows.push((Place::Line(line), prompt));
    }
    PromptSet::from_rows(name, path, None, vec![source], rows)
}

/// Whether a text of lines of JSON begins as this format does: other prompt files have no `tag` and `include`.
pub(crate) fn is_meant(text: &str) -> bool {
    text.lines().next().is_some_and(|line| serde_json::from_str::<Row>(line).is_ok())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    const BENCH: &str = r#"{"tag": "single_object", "include": [{"class": "vase", "count": 1}], "prompt": "a photo of a vase"}"#;

    fn read_text(text: &str) -> Result<PromptSet> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("evaluation_metadata.jsonl");
        std::fs::write(&path, text).unwrap();
        read(&path, "geneval")
    }

    #[test]
    fn a_prompt_has_the_number_of_its_line_and_its_task() {
        let counting = BENCH.replace("single_object", "counting").replace("a vase", "two vases");
        let set = read_text(&format!("{BENCH}\n{counting}\n")).unwrap();
        let found: Vec<_> =
            set.prompts().iter().map(|p| (p.id.as_str(), p.text.as_str(), p.task.as_deref())).collect();
        assert_eq!(
            found,
            [
                ("0", "a photo of a vase", Some("single_object")),
                ("1", "a photo of two vases", Some("counting"))
            ]
        );
    }

    #[test]
    fn the_format_is_known_by_its_first_line() {
        assert!(is_meant(&format!("{BENCH}\n")));
        assert!(!is_meant("{\"prompt\": \"a\"}\n") && !is_meant("") && !is_meant("a vase\n"));
    }

    #[test]
    fn malformed_lines_are_refused_with_their_place() {
        for (text, parts) in [
            (format!("{BENCH}\n{{\"tag\": \"colors\"}}\n"), ["line 2", "`prompt`"]),
            (format!("{BENCH}\n\n"), ["line 2", "EOF"]),
            (BENCH.replace("single_object", "colour"), ["line 1", "`colour`"]),
            (BENCH.replace("a photo of a vase", " "), ["line 1", "the prompt is blank"]),
            (String::new(), ["no prompts", ""]),
        ] {
            let message = read_text(&text).unwrap_err().to_string();
            for part in parts {
                assert!(message.contains(part), "`{part}` is not in `{message}`");
            }
        }
    }
}
