//! Lays a table out as text. Columns are padded by what a terminal shows, so that Markdown reads without
//! a renderer.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

use crate::number::mark;
use crate::table::{Entry, Table, TableColumn};

/// Markdown: head, table, footnotes, legend.
pub(crate) fn markdown(table: &Table) -> String {
    let mut out = String::new();
    for line in &table.head {
        out.push_str(&escape(line));
        out.push_str("\\\n");
    }
    out.truncate(out.len().saturating_sub(2)); // The last line of a paragraph needs no hard break.
    out.push_str("\n\n");
    let heads: Vec<String> =
        table.columns.iter().map(|c| escape(&joined(&[&c.name, &c.unit, c.arrow]))).collect();
    let bold = |entry: &Entry| match entry.is_best {
        true => format!("**{}**", escape(&entry.text)),
        false => escape(&entry.text),
    };
    let rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(bold).collect()).collect();
    let widths = widths(&heads, &rows);
    let line = |cells: &[String]| {
        let padded = cells.iter().enumerate().map(|(at, c)| pad(c, widths[at], table.columns[at].is_number));
        format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
    };
    out.push_str(&line(&heads));
    for (column, &width) in table.columns.iter().zip(&widths) {
        let dashes = "-".repeat(width);
        let _ = if column.is_number { write!(out, "| {dashes}:") } else { write!(out, "| {dashes} ") };
    }
    out.push_str("|\n");
    rows.iter().for_each(|row| out.push_str(&line(row)));
    if table.rows.is_empty() {
        out.push_str("\nThe run has no cells.\n");
    }
    for (at, reason) in table.footnotes.iter().enumerate() {
        let gap = if at == 0 { "\n" } else { "" };
        let end = if at + 1 < table.footnotes.len() { "\\" } else { "" };
        let _ = writeln!(out, "{gap}{} {}{end}", mark(at), escape(reason));
    }
    for line in &table.legend {
        let _ = write!(out, "\n{}\n", escape(&line.replace("Marked:", "Bold:")));
    }
    out
}

/// For a terminal: two-line heads, no rules between columns, `*` at the best.
pub(crate) fn text(table: &Table, width: usize) -> String {
    let mut out = String::new();
    for line in &table.head {
        wrap(&mut out, line, width, "");
    }
    let starred = |entry: &Entry| format!("{}{}", entry.text, if entry.is_best { "*" } else { " " });
    let rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(starred).collect()).collect();
    let heads: Vec<[String; 2]> = table.columns.iter().map(head_lines).collect();
    let widths: Vec<usize> = (0..heads.len())
        .map(|at| heads[at].iter().chain(rows.iter().map(|r| &r[at])).map(|t| t.width()).max().unwrap_or(0))
        .collect();
    for panel in panels(&widths, width) {
        out.push('\n');
        let mut line = |cells: Vec<&str>| {
            let padded =
                panel.iter().zip(cells).map(|(&at, cell)| pad(cell, widths[at], table.columns[at].is_number));
            out.push_str(padded.collect::<Vec<_>>().join("  ").trim_end());
            out.push('\n');
        };
        line(panel.iter().map(|&at| heads[at][0].as_str()).collect());
        line(panel.iter().map(|&at| heads[at][1].as_str()).collect());
        let rules: Vec<String> = panel.iter().map(|&at| "─".repeat(widths[at])).collect();
        line(rules.iter().map(String::as_str).collect());
        for row in &rows {
            line(panel.iter().map(|&at| row[at].as_str()).collect());
        }
    }
    if table.rows.is_empty() {
        out.push_str("The run has no cells.\n");
    }
    out.push('\n');
    for (at, reason) in table.footnotes.iter().enumerate() {
        wrap(&mut out, &format!("{} {reason}", mark(at)), width, "  ");
    }
    for line in &table.legend {
        wrap(&mut out, &line.replace("Marked:", "*"), width, "  ");
    }
    out
}

/// Name and unit, above one another and clear of the mark column.
fn head_lines(column: &TableColumn) -> [String; 2] {
    let gap = if column.is_number { " " } else { "" };
    [format!("{}{gap}", joined(&[&column.name, column.arrow])), format!("{}{gap}", column.unit)]
}

/// The parts that are not empty, with spaces between.
fn joined(parts: &[&str]) -> String {
    parts.iter().copied().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Which columns go side by side; the first column leads every panel.
fn panels(widths: &[usize], available: usize) -> Vec<Vec<usize>> {
    let mut panels = Vec::new();
    let mut panel = vec![0];
    let mut used = widths.first().copied().unwrap_or(0);
    for (at, &width) in widths.iter().enumerate().skip(1) {
        if used + 2 + width > available && panel.len() > 1 {
            panels.push(std::mem::replace(&mut panel, vec![0]));
            used = widths[0];
        }
        panel.push(at);
        used += 2 + width;
    }
    panels.push(panel);
    panels
}

fn widths(heads: &[String], rows: &[Vec<String>]) -> Vec<usize> {
    (0..heads.len())
        .map(|at| rows.iter().map(|row| row[at].width()).chain([heads[at].width(), 3]).max().unwrap_or(3))
        .collect()
}

fn pad(text: &str, width: usize, right: bool) -> String {
    let gap = " ".repeat(width.saturating_sub(text.width()));
    if right { format!("{gap}{text}") } else { format!("{text}{gap}") }
}

/// Appends words in lines of at most `width`, later lines indented.
fn wrap(out: &mut String, text: &str, width: usize, indent: &str) {
    let mut used = 0;
    for word in text.split_whitespace() {
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

/// A name as one line: whatever steers a terminal or breaks a line becomes a space.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Keeps names from being read as Markdown; intervals in brackets stay as they are.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
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
