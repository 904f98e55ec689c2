//! PartiPrompts (google-research/parti, `PartiPrompts.tsv`): 1,632 prompts with category and challenge.
//!
//! The file is tab-separated **without quoting**: 58 double quotes are inside fields, and one prompt
//! starts with one, which a default CSV reader silently drops. All columns are text (`0`, `42`, `101` and
//! `300` are prompts), and the outer blanks of ten prompts belong to them. Ids are 0-based row numbers.

use crate::delimited;
use crate::error::{DatasetError, Result};
use crate::prompt::{Prompt, PromptId};
use crate::prompt_set::PromptSet;
use crate::read;
use std::path::Path;

/// The header of the file, in this order.
pub const COLUMNS: [&str; 4] = ["Prompt", "Category", "Challenge", "Note"];

/// Reads a file in the format of `PartiPrompts.tsv` as a set called `name`; the number of rows is free.
///
/// Empty categories, challenges and notes are `None`.
pub fn read(path: &Path, name: &str) -> Result<PromptSet> {
    let (text, source) = read::text(path)?;
    let table = delimited::tsv(path, &text)?;
    for (idx, column) in COLUMNS.iter().enumerate() {
        let found = table.header.get(idx);
        if found.is_none_or(|field| field.text != *column) || table.header.len() != COLUMNS.len() {
            let place = found.unwrap_or(&table.header[0]).place.clone();
            let expected = format!("the header {}", COLUMNS.map(read::quote).join(", "));
            let found: Vec<_> = table.header.iter().map(|field| read::quote(&field.text)).collect();
            return Err(DatasetError::malformed(path, place, expected, found.join(", ")));
        }
    }
    let rows = table.records.into_iter().zip(0..).map(|(record, row_idx)| {
        let place = record[0].place.clone();
        let mut fields = record.into_iter().map(|field| field.text);
        let mut prompt = Prompt::new(PromptId::number(row_idx), fields.next().unwrap_or_default());
        let mut filled = || fields.next().filter(|text| !text.is_empty());
        prompt.category = filled();
        prompt.challenge = filled();
        prompt.note = filled();
        (place, prompt)
    });
    PromptSet::from_rows(name, path, None, vec![source], rows.collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<PromptSet> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("PartiPrompts.tsv");
        std::fs::write(&path, text).unwrap();
        read(&path, "parti-prompts")
    }

    fn check_texts(rows: &str, expected: &[&str]) {
        let set = read_text(&format!("Prompt\tCategory\tChallenge\tNote\n{rows}")).unwrap();
        assert_eq!(set.prompts().iter().map(|p| p.text.as_str()).collect::<Vec<_>>(), expected);
    }

    fn check_refused(text: &str, expected_in_message: &[&str]) {
        let message = read_text(text).unwrap_err().to_string();
        for part in expected_in_message {
            assert!(message.contains(part), "`{part}` is not in `{message}`");
        }
    }

    #[test]
    fn a_prompt_that_starts_with_a_quote_keeps_both_its_quotes() {
        check_texts("\"G I G\" in paint\tIllustrations\tBasic\t\n", &["\"G I G\" in paint"]);
        check_texts("a 12\" disc\tA\tB\t\nnext\tA\tB\t\n", &["a 12\" disc", "next"]);
    }

    #[test]
    fn numbers_stay_text() {
        check_texts("0\tAbstract\tBasic\t\n42\tAbstract\tBasic\t\n", &["0", "42"]);
    }

    #[test]
    fn outer_blanks_and_other_scripts_are_kept() {
        check_texts(" A sloth\tA\tB\t\nã ‘quoted’ \tA\tB\t\n", &[" A sloth", "ã ‘quoted’ "]);
    }

    #[test]
    fn a_file_with_crlf_and_byte_order_mark_reads_the_same() {
        let text = "Prompt\tCategory\tChallenge\tNote\nbond\tAbstract\tBasic\tnote\nx\tArts\tBasic\t\n";
        let plain = read_text(text).unwrap();
        let windows = read_text(&format!("\u{feff}{}", text.replace('\n', "\r\n"))).unwrap();
        assert_eq!(plain.prompts(), windows.prompts());
    }

    #[test]
    fn rows_are_numbered_from_zero_and_keep_category_challenge_and_note() {
        let set =
            read_text("Prompt\tCategory\tChallenge\tNote\na\tArts\tBasic\tn\nb\tArts\tBasic\t\n").unwrap();
        let last = &set.prompts()[1];
        assert_eq!(
            (last.id.as_str(), last.category.as_deref(), last.note.as_deref()),
            ("1", Some("Arts"), None)
        );
        assert_eq!(set.prompts()[0].challenge.as_deref(), Some("Basic"));
        assert_eq!(set.prompts()[0].note.as_deref(), Some("n"));
    }

    #[test]
    fn malformed_files_are_refused_with_their_place() {
        let header = "Prompt\tCategory\tChallenge\tNote\n";
        check_refused("Prompt\tCategory\tNote\tChallenge\n", &["line 1, column 17", "`Challenge`", "`Note`"]);
        check_refused("Prompt\tCategory\n", &["line 1", "`Challenge`"]);
        check_refused(&format!("{header}a\tb\tc\n"), &["line 2", "4 fields", "3 fields"]);
        check_refused(&format!("{header}a\tb\tc\t\n\n"), &["line 3", "4 fields", "1 fields"]);
        check_refused(&format!("{header}a\tb\tc\t\n \tb\tc\t\n"), &["line 3", "the prompt is blank"]);
        check_refused(header, &["no prompts"]);
    }
}
