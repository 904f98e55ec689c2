//! CSV in memory, whose every field passes [`csv_field`]: prompts, names and reasons are untrusted, and a spreadsheet
//! that opens the file must not run them.

use specimen_foundation::text::csv_field;

use crate::table::{Table, entries::joined};

/// Lines of CSV under way.
#[derive(Debug)]
pub struct CsvText(csv::Writer<Vec<u8>>);

impl Default for CsvText {
    fn default() -> Self {
        Self::new()
    }
}

impl CsvText {
    /// None yet.
    pub fn new() -> Self {
        Self(csv::Writer::from_writer(Vec::new()))
    }

    /// Adds a line.
    pub fn write_record<T: AsRef<str>>(
        &mut self,
        fields: impl IntoIterator<Item = T>,
    ) -> Result<(), csv::Error> {
        self.0.write_record(fields.into_iter().map(|field| csv_field(field.as_ref())))
    }

    /// All lines.
    ///
    /// # Panics
    /// Never: writing into memory does not fail.
    pub fn into_text(self) -> String {
        let bytes = self.0.into_inner().expect("writing into memory does not fail");
        String::from_utf8(bytes).expect("what was written is text")
    }
}

impl Table {
    /// CSV as it is read (the numbers in full belong to whoever made the table): a head line, then the rows; a table in blocks has the block as its first field. Best and second are not marked.
    ///
    /// # Panics
    /// Never: every row has an entry a column.
    pub fn csv(&self) -> String {
        let mut out = CsvText::new();
        let block = (!self.sections.is_empty()).then(|| "block".to_owned());
        let heads = self.columns.iter().map(|c| joined(&[&c.name, &c.unit]));
        let is_whole = "every row has an entry a column";
        out.write_record(block.into_iter().chain(heads)).expect(is_whole);
        let mut section: Option<&str> = None;
        for (at, row) in self.rows.iter().enumerate() {
            section = self.section_at(at).or(section);
            let block = (!self.sections.is_empty()).then_some(section.unwrap_or_default());
            out.write_record(block.into_iter().chain(row.iter().map(|entry| entry.text.as_str())))
                .expect(is_whole);
        }
        out.into_text()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn what_begins_like_a_formula_or_steers_a_terminal_is_text() {
        let mut out = CsvText::new();
        out.write_record(["prompt", "value"]).unwrap();
        out.write_record(["=cmd|' /C calc'!A0", "-0.5"]).unwrap();
        out.write_record(["a\u{1b}[2J, \"b\"", "1e-3"]).unwrap();
        assert_eq!(out.into_text(), "prompt,value\n'=cmd|' /C calc'!A0,-0.5\n\"a [2J, \"\"b\"\"\",1e-3\n");
    }
}
