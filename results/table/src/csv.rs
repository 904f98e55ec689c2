//! CSV of a table as it is read; the numbers in full belong to whoever made the table.

use crate::{CsvText, Table, words::joined};

impl Table {
    /// A head line, then the rows; a table in blocks has the block as its first field. Best and second are not marked.
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
