//! CSV of a table as it is read; the numbers in full belong to whoever made the table.

use crate::{Table, csv_field, words::joined};

impl Table {
    /// A head line, then the rows; a table in blocks has the block as its first field. Best and second are not marked.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut out = String::new();
        let block = (!self.sections.is_empty()).then(|| "block".to_owned());
        let heads = self.columns.iter().map(|c| joined(&[&c.name, &c.unit]));
        push_line(&mut out, block.into_iter().chain(heads));
        let mut section: Option<&str> = None;
        for (at, row) in self.rows.iter().enumerate() {
            section = self.section_at(at).or(section);
            let block = (!self.sections.is_empty()).then(|| section.unwrap_or_default().to_owned());
            push_line(&mut out, block.into_iter().chain(row.iter().map(|entry| entry.text.clone())));
        }
        out
    }
}

fn push_line(out: &mut String, fields: impl Iterator<Item = String>) {
    let quoted = |field: String| {
        let field = csv_field(&field);
        match field.contains([',', '"', '\'']) {
            true => format!("\"{}\"", field.replace('"', "\"\"")),
            false => field,
        }
    };
    out.push_str(&fields.map(quoted).collect::<Vec<_>>().join(","));
    out.push('\n');
}
