//! HTML: a `<table>` for any page, without styles of its own; classes say what is best and second.

use std::fmt::Write;

use specimen_foundation::text::one_line;

use crate::table::{Rank, Table, entries::joined, mark};

impl Table {
    /// A `figure` with head, table, footnotes and legend. Every text is escaped.
    pub fn html(&self) -> String {
        let mut out = match self.id.is_empty() {
            true => String::from("<figure class=\"specimen-table\">\n"),
            false => format!("<figure class=\"specimen-table\" id=\"{}\">\n", escape(&self.id)),
        };
        if !self.head.is_empty() {
            let lines: Vec<String> = self.head.iter().map(|line| escape(line)).collect();
            let _ = writeln!(out, "<figcaption>{}</figcaption>", lines.join("<br>\n"));
        }
        out.push_str("<table>\n<thead>\n<tr>");
        for column in &self.columns {
            let head = escape(&joined(&[&column.name, &column.unit, column.arrow()]));
            let _ = write!(out, "<th scope=\"col\"{}>{head}</th>", class(column.is_number, Rank::None));
        }
        out.push_str("</tr>\n</thead>\n<tbody>\n");
        for (at, row) in self.rows.iter().enumerate() {
            if let Some(title) = self.section_at(at) {
                let next = if at > 0 { "</tbody>\n<tbody>\n" } else { "" };
                let n = self.columns.len();
                let _ = writeln!(
                    out,
                    "{next}<tr><th scope=\"rowgroup\" colspan=\"{n}\">{}</th></tr>",
                    escape(title)
                );
            }
            out.push_str("<tr>");
            for (place, (entry, column)) in row.iter().zip(&self.columns).enumerate() {
                let (tag, scope) = if place == 0 { ("th", " scope=\"row\"") } else { ("td", "") };
                let class = class(column.is_number, entry.rank);
                let text = ranked(&escape(&entry.text), entry.rank);
                let _ = write!(out, "<{tag}{scope}{class}>{text}</{tag}>");
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody>\n</table>\n");
        let notes = self.footnotes.iter().enumerate().map(|(at, reason)| format!("{} {reason}", mark(at)));
        let marks = self.marks_line("Bold", "underlined");
        for line in notes.chain(marks).chain(self.legend.iter().cloned()) {
            let _ = writeln!(out, "<p>{}</p>", escape(&line));
        }
        out.push_str("</figure>\n");
        out
    }
}

/// A page of its own around HTML: it has its style, and is light or dark as the reader's screen is.
pub(crate) fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n<style>{STYLE}</style>\n\
         </head>\n<body>\n{body}</body>\n</html>\n",
        escape(title)
    )
}

/// Of a page.
const STYLE: &str = "
:root { color-scheme: light dark }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem }
h1, h2, h3 { line-height: 1.25; margin: 2.2rem 0 .8rem }
figure { margin: 0 0 2.5rem; overflow-x: auto }
img { max-width: 100%; height: auto; background: #fff }
figcaption { margin-bottom: .7rem }
table { border-collapse: collapse; border-top: 2px solid; border-bottom: 2px solid }
th, td { padding: .3rem .7rem; text-align: left; vertical-align: top; font-weight: normal }
thead th { border-bottom: 1px solid; font-weight: 600; vertical-align: bottom }
tbody tr + tr > * { border-top: 1px solid #8884 }
th[scope=rowgroup] { font-style: italic; padding-top: .8rem }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
figure p { margin: .4rem 0; font-size: .9em; max-width: 60rem }
";

/// Bold for the best and underlined for the second, so that it is seen in a page without a style.
fn ranked(text: &str, rank: Rank) -> String {
    match rank {
        Rank::None => text.to_owned(),
        Rank::Best => format!("<b>{text}</b>"),
        Rank::Second => format!("<u>{text}</u>"),
    }
}

fn class(is_number: bool, rank: Rank) -> String {
    let rank = match rank {
        Rank::None => "",
        Rank::Best => "best",
        Rank::Second => "second",
    };
    match joined(&[if is_number { "number" } else { "" }, rank]) {
        none if none.is_empty() => none,
        classes => format!(" class=\"{classes}\""),
    }
}

/// Keeps a text from being read as HTML, in an element or a quoted attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}
