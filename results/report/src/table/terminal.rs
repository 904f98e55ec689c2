//! For a terminal: two-line heads, no rules between columns, `*` at the best and `+` at the second. Of a table that is too
//! wide, long texts are wrapped in their columns; what is too wide then is cut into panels that repeat the first column.

use specimen_foundation::text::one_line;
use unicode_width::UnicodeWidthStr;

use crate::table::{Column, Entry, Rank, Table, entries::joined, mark, markdown::pad};

impl Table {
    /// The table for a terminal of `width` columns.
    pub fn text(&self, width: usize) -> String {
        let mut out = String::new();
        for line in &self.head {
            wrap(&mut out, line, width, "");
        }
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| row.iter().map(marked).collect()).collect();
        let heads: Vec<[String; 2]> = self.columns.iter().map(head_lines).collect();
        let widest = |at: usize| heads[at].iter().chain(rows.iter().map(|r| &r[at])).map(|t| t.width()).max();
        let mut widths: Vec<usize> = (0..heads.len()).map(|at| widest(at).unwrap_or(0)).collect();
        narrow(&mut widths, &self.columns, width);
        let rows: Vec<Vec<Vec<String>>> = rows
            .iter()
            .map(|row| row.iter().zip(&widths).map(|(text, &width)| lines(text, width)).collect())
            .collect();
        let panels = if heads.is_empty() { Vec::new() } else { panels(&widths, width, 2) };
        for panel in panels {
            out.push('\n');
            let mut line = |cells: Vec<&str>| {
                let padded = panel
                    .iter()
                    .zip(cells)
                    .map(|(&at, cell)| pad(cell, widths[at], self.columns[at].is_number));
                out.push_str(padded.collect::<Vec<_>>().join("  ").trim_end());
                out.push('\n');
            };
            line(panel.iter().map(|&at| heads[at][0].as_str()).collect());
            if panel.iter().any(|&at| !heads[at][1].trim().is_empty()) {
                line(panel.iter().map(|&at| heads[at][1].as_str()).collect());
            }
            let rules: Vec<String> = panel.iter().map(|&at| "─".repeat(widths[at])).collect();
            line(rules.iter().map(String::as_str).collect());
            for (at, row) in rows.iter().enumerate() {
                if let Some(title) = self.section_at(at) {
                    line(vec![&one_line(title)]);
                }
                let n_lines = panel.iter().map(|&at| row[at].len()).max().unwrap_or(1);
                for number in 0..n_lines {
                    line(panel.iter().map(|&at| row[at].get(number).map_or("", String::as_str)).collect());
                }
            }
        }
        if self.rows.is_empty() {
            out.push_str("There are no rows.\n");
        }
        out.push('\n');
        for (at, reason) in self.footnotes.iter().enumerate() {
            wrap(&mut out, &format!("{} {reason}", mark(at)), width, "  ");
        }
        for line in self.legend.iter().cloned().chain(self.marks_line("*", "+")) {
            wrap(&mut out, &line, width, "  ");
        }
        out
    }
}

/// Texts wider than this are wrapped where the table is too wide.
const LONG_TEXT: usize = 40;

/// Columns of a wrapped text, at least.
const NARROWEST: usize = 24;

/// Takes from the columns of long texts, the widest first, what the table has too much.
fn narrow(widths: &mut [usize], columns: &[Column], available: usize) {
    let is_long = |at: &usize| !columns[*at].is_number;
    let long: Vec<usize> = (0..widths.len()).filter(is_long).filter(|&at| widths[at] > LONG_TEXT).collect();
    loop {
        let used = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        let widest = long.iter().copied().max_by_key(|&at| widths[at]).filter(|&at| widths[at] > NARROWEST);
        match widest {
            Some(at) if used > available => widths[at] -= 1,
            _ => return,
        }
    }
}

/// A text in lines of at most `width`, broken between words; a longer word has a line of its own.
fn lines(text: &str, width: usize) -> Vec<String> {
    if text.width() <= width {
        return vec![text.to_owned()];
    }
    let mut out = String::new();
    wrap(&mut out, text, width, "");
    out.lines().map(str::to_owned).collect()
}

fn marked(entry: &Entry) -> String {
    let sign = match entry.rank {
        Rank::None => ' ',
        Rank::Best => '*',
        Rank::Second => '+',
    };
    format!("{}{sign}", one_line(&entry.text))
}

/// Name and unit, above one another and clear of the mark column.
fn head_lines(column: &Column) -> [String; 2] {
    let gap = if column.is_number { " " } else { "" };
    let name = joined(&[&column.name, column.arrow()]);
    [one_line(&format!("{name}{gap}")), one_line(&format!("{}{gap}", column.unit))]
}

/// Which columns go side by side, `gap` apart; the first column leads every panel.
pub(crate) fn panels(widths: &[usize], available: usize, gap: usize) -> Vec<Vec<usize>> {
    let mut panels = Vec::new();
    let mut panel = vec![0];
    let mut used = widths.first().copied().unwrap_or(0);
    for (at, &width) in widths.iter().enumerate().skip(1) {
        if used + gap + width > available && panel.len() > 1 {
            panels.push(std::mem::replace(&mut panel, vec![0]));
            used = widths[0];
        }
        panel.push(at);
        used += gap + width;
    }
    panels.push(panel);
    panels
}

/// Appends words in lines of at most `width`, later lines indented.
fn wrap(out: &mut String, text: &str, width: usize, indent: &str) {
    let mut used = 0;
    for word in one_line(text).split_whitespace() {
        if used > 0 && used + 1 + word.width() > width {
            out.push('\n');
            out.push_str(indent);
            used = indent.width();
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += word.width();
    }
    out.push('\n');
}
