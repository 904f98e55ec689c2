//! Strict readers for tab-separated files without quoting and for CSV after RFC 4180, with line and column
//! of every field.
//!
//! Written out because the usual CSV readers are lenient where a dataset must not be: they skip blank
//! lines, accept an unterminated quote, and drop quotes that open a field of an unquoted format.

use crate::error::{DatasetError, Place, Result};
use crate::read;
use std::path::Path;

/// One field and the place where it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) text: String,
    pub(crate) place: Place,
}

/// The header's names and the records below it, each as wide as the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) header: Vec<Field>,
    pub(crate) records: Vec<Vec<Field>>,
}

impl Table {
    /// Position of the column called `name`, or `None`. Fails when a column differs from `name` only by
    /// case or outer blanks, or when two columns have this name.
    pub(crate) fn column(&self, path: &Path, name: &str) -> Result<Option<usize>> {
        let mut position = None;
        for (idx, field) in self.header.iter().enumerate() {
            if !field.text.trim().eq_ignore_ascii_case(name) {
                continue;
            }
            if field.text != name || position.is_some() {
                let expected = format!("one column named exactly `{name}`");
                return Err(DatasetError::malformed(
                    path,
                    field.place.clone(),
                    expected,
                    read::quote(&field.text),
                ));
            }
            position = Some(idx);
        }
        Ok(position)
    }

    /// Position of the column called `name`. Fails when there is none.
    pub(crate) fn required_column(&self, path: &Path, name: &str) -> Result<usize> {
        self.column(path, name)?.ok_or_else(|| {
            let found: Vec<_> = self.header.iter().map(|field| read::quote(&field.text)).collect();
            let expected = format!("a header with a column `{name}`");
            DatasetError::malformed(
                path,
                Place::Line(1),
                expected,
                format!("the columns {}", found.join(", ")),
            )
        })
    }
}

/// Tab-separated values; quotes and backslashes are ordinary characters, blanks are kept.
pub(crate) fn tsv(path: &Path, text: &str) -> Result<Table> {
    let records = read::lines(path, text)?.into_iter().map(|(line, content)| {
        let mut column = 1;
        let field = |text: &str| {
            let place = Place::At { line, column };
            column += text.chars().count() + 1;
            Field { text: text.to_owned(), place }
        };
        content.split('\t').map(field).collect()
    });
    if text.bytes().filter(|byte| matches!(byte, b'\t' | b'\n')).count() >= read::MAX_LINES {
        return Err(read::too_many(path, "fields"));
    }
    table(path, records.collect())
}

/// Comma-separated values after RFC 4180: fields may be quoted, quotes inside are doubled, quoted fields
/// may span lines. A quote inside an unquoted field and a blank line are errors.
pub(crate) fn csv(path: &Path, text: &str) -> Result<Table> {
    let mut scanner = Scanner { path, rest: text, line: 1, column: 1 };
    let mut records = Vec::new();
    let mut n_fields = 0;
    while !scanner.rest.is_empty() {
        let record = scanner.record()?;
        n_fields += record.len();
        if n_fields > read::MAX_LINES {
            return Err(read::too_many(path, "fields"));
        }
        records.push(record);
    }
    table(path, records)
}

fn table(path: &Path, mut records: Vec<Vec<Field>>) -> Result<Table> {
    if records.is_empty() {
        return Err(DatasetError::malformed(path, Place::Line(1), "a header line", "an empty file"));
    }
    let header = records.remove(0);
    match records.iter().find(|record| record.len() != header.len()) {
        None => Ok(Table { header, records }),
        Some(record) => Err(DatasetError::malformed(
            path,
            record[0].place.clone(),
            format!("{} fields, as in the header", header.len()),
            format!("{} fields", record.len()),
        )),
    }
}

/// Walks a CSV text character by character and knows where it stands.
struct Scanner<'t> {
    path: &'t Path,
    rest: &'t str,
    line: usize,
    column: usize,
}

impl Scanner<'_> {
    fn record(&mut self) -> Result<Vec<Field>> {
        if self.at_line_end() {
            return Err(self.malformed("a record", "a blank line"));
        }
        let mut fields = Vec::new();
        loop {
            let place = self.place();
            let text = if self.rest.starts_with('"') { self.quoted()? } else { self.unquoted()? };
            fields.push(Field { text, place });
            if self.rest.is_empty() {
                return Ok(fields);
            }
            if self.at_line_end() {
                while self.take() != Some('\n') {}
                return Ok(fields);
            }
            match self.rest.chars().next() {
                Some(',') => self.take(),
                other => {
                    let found = read::quote(&other.map(String::from).unwrap_or_default());
                    return Err(self.malformed("a comma or a line end after a closing quote", found));
                }
            };
        }
    }

    /// A field up to a comma, a line end or the end of the text.
    fn unquoted(&mut self) -> Result<String> {
        let mut text = String::new();
        while let Some(next) = self.rest.chars().next() {
            if next == ',' || self.at_line_end() {
                break;
            }
            match next {
                '"' => {
                    return Err(self.malformed(
                        "no quote inside an unquoted field (wrap the field in quotes and double those inside)",
                        "a quote",
                    ));
                }
                '\r' => return Err(self.malformed("lines that end with LF or CRLF", "a lone CR")),
                _ => text.extend(self.take()),
            }
        }
        Ok(text)
    }

    /// A field between quotes; stands behind the closing quote afterwards.
    fn quoted(&mut self) -> Result<String> {
        let opening = self.place();
        self.take();
        let mut text = String::new();
        loop {
            match self.take() {
                None => {
                    let found = "the end of the file";
                    return Err(DatasetError::malformed(
                        self.path,
                        opening,
                        "a closing quote for the quote here",
                        found,
                    ));
                }
                Some('"') if self.rest.starts_with('"') => text.extend(self.take()),
                Some('"') => return Ok(text),
                Some(c) => text.push(c),
            }
        }
    }

    fn take(&mut self) -> Option<char> {
        let taken = self.rest.chars().next()?;
        self.rest = &self.rest[taken.len_utf8()..];
        if taken == '\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        Some(taken)
    }

    fn at_line_end(&self) -> bool {
        self.rest.starts_with('\n') || self.rest.starts_with("\r\n")
    }

    fn place(&self) -> Place {
        Place::At { line: self.line, column: self.column }
    }

    fn malformed(&self, expected: &str, found: impl Into<String> + std::fmt::Display) -> DatasetError {
        DatasetError::malformed(self.path, self.place(), expected, found)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    type Reader = fn(&Path, &str) -> Result<Table>;

    fn check_reads(reader: Reader, text: &str, expected: &[&[&str]]) {
        let table = reader(Path::new("t"), text).unwrap();
        let rows: Vec<Vec<String>> = std::iter::once(&table.header)
            .chain(&table.records)
            .map(|row| row.iter().map(|field| field.text.clone()).collect())
            .collect();
        assert_eq!(rows, expected);
    }

    fn check_refused(reader: Reader, text: &str, expected_in_message: &[&str]) {
        let message = reader(Path::new("t"), text).unwrap_err().to_string();
        for part in expected_in_message {
            assert!(message.contains(part), "`{part}` is not in `{message}`");
        }
    }

    #[test]
    fn tsv_keeps_quotes_blanks_and_empty_fields() {
        check_reads(tsv, "a\tb\n\"x\" y\t \n\t\n", &[&["a", "b"], &["\"x\" y", " "], &["", ""]]);
        check_reads(tsv, "a\tb\r\n1\t2\r\n", &[&["a", "b"], &["1", "2"]]);
    }

    #[test]
    fn csv_reads_quoted_fields_that_contain_commas_quotes_and_line_breaks() {
        check_reads(csv, "a,b\n\"x, \"\"y\"\"\nz\",2\n", &[&["a", "b"], &["x, \"y\"\nz", "2"]]);
        check_reads(csv, "a,b\r\n 1 ,\r\n\"\",2", &[&["a", "b"], &[" 1 ", ""], &["", "2"]]);
    }

    #[test]
    fn malformed_rows_are_refused_with_line_column_expected_and_found() {
        check_refused(
            tsv,
            "a\tb\n1\n",
            &["line 2, column 1", "2 fields, as in the header", "found 1 fields"],
        );
        check_refused(tsv, "", &["a header line", "an empty file"]);
        check_refused(csv, "a,b\n1,2,3\n", &["line 2, column 1", "found 3 fields"]);
        check_refused(csv, "a\n1\n\n2\n", &["line 3, column 1", "a blank line"]);
        check_refused(csv, "a\r\n1\r\n\r\n", &["line 3, column 1", "a blank line"]);
        check_refused(csv, "a,b\n1,\"open\n2,3\n", &["line 2, column 3", "closing quote", "end of the file"]);
        check_refused(csv, "a,b\né,12\" disc\n", &["line 2, column 5", "a quote"]);
        check_refused(csv, "a\n\"x\"y\n", &["line 2, column 4", "after a closing quote", "`y`"]);
        check_refused(csv, "a\nb\rc\n", &["line 2, column 2", "lone CR"]);
    }

    #[test]
    fn a_column_that_is_nearly_named_right_is_an_error_and_not_ignored() {
        let path = Path::new("t");
        let header = |text| csv(path, text).unwrap();
        assert_eq!(header("x,id\n").column(path, "id").unwrap(), Some(1));
        assert_eq!(header("x,y\n").column(path, "id").unwrap(), None);
        assert!(header("x,ID\n").column(path, "id").is_err());
        assert!(header("id,id\n").column(path, "id").is_err());
        let message = header("x,y\n").required_column(path, "id").unwrap_err().to_string();
        assert!(message.contains("`id`") && message.contains("`x`, `y`"), "{message}");
    }
}
