//! Errors for malformed JSON that say where it went wrong and what stands there.

use crate::error::{DatasetError, Place};
use crate::read;
use specimen_foundation::plain_words::plain_words;
use std::path::Path;

/// The error for JSON that is malformed or of another shape; `n_lines_before` shifts the line for formats
/// with one document a line.
pub(crate) fn malformed_json(
    path: &Path,
    text: &str,
    n_lines_before: usize,
    error: &serde_json::Error,
) -> DatasetError {
    let line_text = text.split('\n').nth(error.line().saturating_sub(1)).unwrap_or("");
    // serde_json counts bytes from 1 and points at the last byte that it consumed.
    let mut at = error.column().saturating_sub(1).min(line_text.len());
    while !line_text.is_char_boundary(at) {
        at -= 1;
    }
    let column = line_text[..at].chars().count() + 1;
    let place = Place::At { line: n_lines_before + error.line().max(1), column };
    let message = plain_words(&error.to_string());
    let reason = message.rsplit_once(" at line ").map_or(message.as_str(), |(reason, _)| reason);
    let mut from = at.saturating_sub(20);
    while !line_text.is_char_boundary(from) {
        from -= 1;
    }
    let found = if error.is_eof() {
        format!("the end after {}", read::quote(&line_text[from..]))
    } else {
        read::quote(&line_text[from..])
    };
    DatasetError::malformed(path, place, format!("valid JSON of the documented shape ({reason})"), found)
}
