//! The table itself: texts and what they mean.

use specimen_foundation::text::one_line;

use crate::table::{Rank, mark};

/// A table ready to be laid out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Name in a document (a LaTeX label, an HTML id); letters, digits, `-` and `:`.
    pub id: String,
    /// Lines above: under which conditions its numbers hold.
    pub head: Vec<String>,
    /// Heads of the columns.
    pub columns: Vec<Column>,
    /// Blocks of rows with a heading each; none for a table in one piece.
    pub sections: Vec<Section>,
    /// `[n_rows, n_columns]`
    pub rows: Vec<Vec<Entry>>,
    /// Among whom best and second are chosen, in words; absent where nothing is marked.
    pub marked: Option<String>,
    /// Reasons, in the order of their marks.
    pub footnotes: Vec<String>,
    /// Lines below: what the columns mean.
    pub legend: Vec<String>,
}

/// Head of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its unit; empty for none.
    pub unit: String,
    /// Which direction is better; absent where neither is.
    pub higher_is_better: Option<bool>,
    /// Numbers are aligned to the right.
    pub is_number: bool,
}

/// A block of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Index of its first row; it ends where the next begins.
    pub first_row: usize,
    /// Its heading.
    pub title: String,
}

/// One entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// As it is read, with its interval and the mark of its footnote.
    pub text: String,
    /// Its place among its rivals.
    pub rank: Rank,
}

impl Entry {
    /// An entry without a place; line breaks and control characters become spaces.
    pub fn plain(text: &str) -> Entry {
        Entry { text: one_line(text), rank: Rank::None }
    }
}

impl Column {
    /// A column of words.
    pub fn text(name: &str) -> Column {
        Column { name: name.to_owned(), ..Column::default() }
    }

    /// A column of numbers.
    pub fn number(name: &str, unit: &str, higher_is_better: Option<bool>) -> Column {
        Column { name: one_line(name), unit: one_line(unit), higher_is_better, is_number: true }
    }

    /// The arrow that points where it is better; empty where neither is.
    pub fn arrow(&self) -> &'static str {
        match self.higher_is_better {
            Some(true) => "↑",
            Some(false) => "↓",
            None => "",
        }
    }
}

impl Table {
    /// Appends a column with one entry a row. Panics when the table has rows and their number differs.
    pub fn push(&mut self, column: Column, entries: Vec<Entry>) {
        if self.columns.is_empty() && self.rows.is_empty() {
            self.rows = vec![Vec::new(); entries.len()];
        }
        assert_eq!(self.rows.len(), entries.len(), "a column has an entry for each row");
        self.columns.push(column);
        for (row, entry) in self.rows.iter_mut().zip(entries) {
            row.push(entry);
        }
    }

    /// The mark of a reason; a reason given twice has one mark.
    pub fn footnote(&mut self, reason: &str) -> String {
        let reason = one_line(reason);
        let at = self.footnotes.iter().position(|known| *known == reason).unwrap_or_else(|| {
            self.footnotes.push(reason);
            self.footnotes.len() - 1
        });
        mark(at)
    }

    /// Whether any entry has this place.
    pub fn has(&self, rank: Rank) -> bool {
        self.rows.iter().flatten().any(|entry| entry.rank == rank)
    }

    /// The heading before a row.
    pub(crate) fn section_at(&self, row: usize) -> Option<&str> {
        let section = self.sections.iter().find(|section| section.first_row == row);
        section.map(|section| section.title.as_str())
    }

    /// What the marks mean, given how a writer shows best and second; absent where nothing is marked.
    pub(crate) fn marks_line(&self, best: &str, second: &str) -> Option<String> {
        let among = self.marked.as_ref().filter(|_| self.has(Rank::Best))?;
        let second = match self.has(Rank::Second) {
            true => format!(", {second}: the second"),
            false => String::new(),
        };
        Some(format!("{best}: the best{second} {among}"))
    }
}

/// The parts that are not empty, with spaces between.
pub(crate) fn joined(parts: &[&str]) -> String {
    parts.iter().copied().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}
