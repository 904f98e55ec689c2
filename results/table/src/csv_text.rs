//! CSV in memory, whose every field passes [`csv_field`]: prompts, names and reasons are untrusted, and a spreadsheet
//! that opens the file must not run them.

use crate::csv_field;

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
