//! Markdown whose columns are padded by what a terminal shows, so that it reads without a renderer.

use std::fmt::Write;

use specimen_foundation::text::one_line;
use unicode_width::UnicodeWidthStr;

use crate::table::{Rank, Table, entries::joined, mark};

impl Table {
    /// Head, table, footnotes, legend; best in bold, second in italics.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        for line in &self.head {
            out.push_str(&escape(line));
            out.push_str("\\\n");
        }
        out.truncate(out.len().saturating_sub(2)); // The last line of a paragraph needs no hard break.
        out.push_str("\n\n");
        self.push_rows(&mut out);
        if self.rows.is_empty() {
            out.push_str("\nThere are no rows.\n");
        }
        for (at, reason) in self.footnotes.iter().enumerate() {
            let gap = if at == 0 { "\n" } else { "" };
            let end = if at + 1 < self.footnotes.len() { "\\" } else { "" };
            let _ = writeln!(out, "{gap}{} {}{end}", mark(at), escape(reason));
        }
        for line in self.legend.iter().cloned().chain(self.marks_line("Bold", "italic")) {
            let _ = write!(out, "\n{}\n", escape(&line));
        }
        out
    }

    fn push_rows(&self, out: &mut String) {
        let heads: Vec<String> =
            self.columns.iter().map(|c| escape(&joined(&[&c.name, &c.unit, c.arrow()]))).collect();
        let mut rows: Vec<Vec<String>> = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            if let Some(title) = self.section_at(at) {
                let mut heading = vec![String::new(); heads.len()];
                heading[0] = format!("**{}**", escape(title));
                rows.push(heading);
            }
            let shown = row.iter().map(|entry| match entry.rank {
                Rank::None => escape(&entry.text),
                Rank::Best => format!("**{}**", escape(&entry.text)),
                Rank::Second => format!("*{}*", escape(&entry.text)),
            });
            rows.push(shown.collect());
        }
        let widest = |at: usize| rows.iter().map(|row| row[at].width()).chain([heads[at].width(), 3]).max();
        let widths: Vec<usize> = (0..heads.len()).map(|at| widest(at).unwrap_or(3)).collect();
        let line = |cells: &[String]| {
            let padded =
                cells.iter().enumerate().map(|(at, c)| pad(c, widths[at], self.columns[at].is_number));
            format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
        };
        out.push_str(&line(&heads));
        for (column, &width) in self.columns.iter().zip(&widths) {
            let dashes = "-".repeat(width);
            let _ = if column.is_number { write!(out, "| {dashes}:") } else { write!(out, "| {dashes} ") };
        }
        out.push_str("|\n");
        rows.iter().for_each(|row| out.push_str(&line(row)));
    }
}

/// A text with spaces up to `width` columns of a terminal.
pub(crate) fn pad(text: &str, width: usize, right: bool) -> String {
    let gap = " ".repeat(width.saturating_sub(text.width()));
    if right { format!("{gap}{text}") } else { format!("{text}{gap}") }
}

/// Keeps names from being read as Markdown; intervals in brackets stay as they are.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '|' | '*' | '`' | '<' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            plain => out.push(plain),
        }
    }
    out.replace("](", "]\\(")
}
