//! Where a value of a spec was written: a place in a file, or an argument of the command line. Errors name
//! it, so that a message can be clicked or the argument found.

use std::{fmt, ops::Range, sync::Arc};

use crate::plain_words::plain_words;

/// Where a key or value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A file that could not be read.
    WholeFile(Arc<str>),
    /// A place in a spec file.
    File {
        /// The file as it was named.
        file: Arc<str>,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
    },
    /// An argument, as typed: `--set dataset.limit=8`.
    Argument(Arc<str>),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line, column } => write!(f, "{file}:{line}:{column}"),
            Self::WholeFile(text) | Self::Argument(text) => f.write_str(text),
        }
    }
}

/// Turns byte offsets of one text into places.
pub enum Places<'t> {
    /// Offsets in the text of a file.
    File {
        /// The file as it was named.
        file: Arc<str>,
        /// Its content.
        text: &'t str,
        /// Offset of the first byte of each line.
        line_starts: Vec<usize>,
        /// Offsets of the bytes that continue a character: a line may hold a million values.
        continued: Vec<usize>,
    },
    /// The text came from one argument, and offsets in it say nothing to the reader.
    Argument(Arc<str>),
}

impl<'t> Places<'t> {
    /// Offsets in `text`, the content of `file`.
    #[must_use]
    pub fn file(file: &str, text: &'t str) -> Self {
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        let line_starts = std::iter::once(0).chain(starts).collect();
        let continued = (0..text.len()).filter(|&at| !text.is_char_boundary(at)).collect();
        Self::File { file: file.into(), text, line_starts, continued }
    }

    /// Offsets in an argument, all of which are the argument itself.
    #[must_use]
    pub fn argument(argument: &str) -> Self {
        Self::Argument(argument.into())
    }

    /// The place that begins an error's `span`, and its `message` in plain words.
    #[must_use]
    pub fn said(&self, span: Option<Range<usize>>, message: &str) -> (Place, String) {
        (self.at(span.map_or(0, |span| span.start)), plain_words(message))
    }

    /// The place of the character at byte `offset`; past the end is the end.
    #[must_use]
    pub fn at(&self, offset: usize) -> Place {
        match self {
            Self::Argument(argument) => Place::Argument(argument.clone()),
            Self::File { file, text, line_starts, continued } => {
                let offsets = (0..=offset.min(text.len())).rev();
                let offset =
                    offsets.into_iter().find(|at| text.is_char_boundary(*at)).expect("0 is a boundary");
                let line_idx = line_starts.partition_point(|&start| start <= offset) - 1;
                let start = line_starts[line_idx];
                let n_continued = |end: usize| continued.partition_point(|&at| at < end);
                let column = offset - start - (n_continued(offset) - n_continued(start)) + 1;
                Place::File { file: file.clone(), line: line_idx + 1, column }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_start_at_one() {
        let places = Places::file("a.toml", "é = 1\nname = 2\n");
        assert_eq!(places.at(0).to_string(), "a.toml:1:1");
        assert_eq!(places.at("é = ".len()).to_string(), "a.toml:1:5");
        assert_eq!(places.at("é = 1\n".len()).to_string(), "a.toml:2:1");
        assert_eq!(places.at(usize::MAX).to_string(), "a.toml:3:1");
    }

    #[test]
    fn a_column_is_found_without_reading_its_line() {
        // Counting from the start of the line took minutes.
        let text = "é,".repeat(400_000);
        let places = Places::file("a.toml", &text);
        for at in 0..400_000 {
            let column = 2 * at + 1;
            assert!(
                matches!(places.at(3 * at), Place::File { line: 1, column: found, .. } if found == column)
            );
        }
    }
}
