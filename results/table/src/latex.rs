//! LaTeX with booktabs: a float that a paper can `\input`. Needs the packages booktabs and, for entries that are
//! second, nothing further.

use std::fmt::Write;

use crate::{Rank, Table, words::joined};

impl Table {
    /// A `table` environment: head as caption, one `tabular`, footnotes and legend below it in small type.
    #[must_use]
    pub fn latex(&self) -> String {
        let mut out = String::from("% Needs \\usepackage{booktabs}.\n\\begin{table}\n\\centering\n");
        let caption: Vec<String> = self.head.iter().map(|line| escape(line)).collect();
        let _ = writeln!(out, "\\caption{{{}}}", caption.join(" "));
        if !self.id.is_empty() {
            let _ = writeln!(out, "\\label{{tab:{}}}", self.id);
        }
        let alignment: String = self.columns.iter().map(|c| if c.is_number { 'r' } else { 'l' }).collect();
        let _ = writeln!(out, "\\begin{{tabular}}{{{alignment}}}\n\\toprule");
        let heads = self.columns.iter().map(|c| escape(&joined(&[&c.name, &c.unit, c.arrow()])));
        let _ = writeln!(out, "{} \\\\\n\\midrule", heads.collect::<Vec<_>>().join(" & "));
        for (at, row) in self.rows.iter().enumerate() {
            if let Some(title) = self.section_at(at) {
                let rule = if at > 0 { "\\midrule\n" } else { "" };
                let n = self.columns.len();
                let _ = writeln!(out, "{rule}\\multicolumn{{{n}}}{{l}}{{\\emph{{{}}}}} \\\\", escape(title));
            }
            let entries = row.iter().map(|entry| match entry.rank {
                Rank::None => escape(&entry.text),
                Rank::Best => format!("\\textbf{{{}}}", escape(&entry.text)),
                Rank::Second => format!("\\underline{{{}}}", escape(&entry.text)),
            });
            let _ = writeln!(out, "{} \\\\", entries.collect::<Vec<_>>().join(" & "));
        }
        out.push_str("\\bottomrule\n\\end{tabular}\n");
        let marks = self.marks_line("Bold", "underlined");
        let notes =
            self.footnotes.iter().enumerate().map(|(at, reason)| format!("{} {reason}", crate::mark(at)));
        let below: Vec<String> = notes.chain(marks).chain(self.legend.iter().cloned()).collect();
        if !below.is_empty() {
            let below: Vec<String> = below.iter().map(|line| escape(line)).collect();
            let _ = writeln!(out, "\n\\vspace{{1ex}}\n\\begin{{minipage}}{{\\linewidth}}\\footnotesize");
            let _ = writeln!(out, "{}\n\\end{{minipage}}", below.join("\\\\\n"));
        }
        out.push_str("\\end{table}\n");
        out
    }
}

/// Keeps a text from being read as LaTeX, and writes the signs of our tables with its own commands.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in crate::one_line(text).chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '|' => out.push_str("\\textbar{}"),
            '"' => out.push_str("\\textquotedbl{}"),
            // A bracket right after a line break or a macro would be read as its argument.
            '[' => out.push_str("{[}"),
            ']' => out.push_str("{]}"),
            '↑' => out.push_str("$\\uparrow$"),
            '↓' => out.push_str("$\\downarrow$"),
            '±' => out.push_str("$\\pm$"),
            '×' => out.push_str("$\\times$"),
            '✓' => out.push_str("$\\checkmark$"),
            '≤' => out.push_str("$\\le$"),
            '≥' => out.push_str("$\\ge$"),
            '—' => out.push_str("---"),
            '–' => out.push_str("--"),
            other => match crate::number::raised_letter(other) {
                Some(letter) => {
                    let _ = write!(out, "\\textsuperscript{{{letter}}}");
                }
                None => out.push(other),
            },
        }
    }
    out
}
