//! LaTeX with booktabs: floats that a paper can `\input`. A table that is wider than a page of the class `article` is
//! cut into panels that repeat the first column, one that is higher into several floats. Needs the package booktabs and,
//! for entries that are second, nothing further.

use std::fmt::Write;

use specimen_foundation::text::one_line;

use crate::table::{Entry, Rank, Table, entries::joined, terminal::panels};

/// Points across and down that a page of `article` has for a float; other classes have more.
/// A little less, since widths of letters are estimates.
const PAGE: [f64; 2] = [338.0, 530.0];

/// The widest that a column of text gets, in points; longer entries are broken into lines.
const WIDEST_TEXT: f64 = 130.0;

/// Points between two columns.
const BETWEEN: usize = 6;

/// Size of the letters in the table, and below and above it.
const EM: f64 = 8.0;
const SMALL: f64 = 7.0;
const CAPTION: f64 = 10.0;

/// A line of a table, and what rules and air of a panel take besides.
const LINE: f64 = 9.6;
const AROUND: f64 = 26.0;

/// Rows of some columns.
struct Part {
    columns: Vec<usize>,
    rows: std::ops::Range<usize>,
}

impl Table {
    /// One or several `table` environments: head as caption, a `tabular` for each panel, footnotes and legend below the last
    /// in small type.
    pub fn latex(&self) -> String {
        let below = self.below();
        let mut floats: Vec<Vec<Part>> = vec![Vec::new()];
        let mut used = self.caption_height();
        for part in self.parts() {
            let height = LINE * (self.n_lines(part.rows.clone()) + 1.0) + AROUND;
            if used + height > PAGE[1] && floats.last().is_some_and(|float| !float.is_empty()) {
                floats.push(Vec::new());
                used = 2.0 * CAPTION;
            }
            used += height;
            floats.last_mut().expect("there is a float").push(part);
        }
        let height_of = |line: &String| SMALL * 1.2 * lines(line, SMALL);
        let notes_height: f64 = below.iter().map(height_of).sum();
        if used + notes_height > PAGE[1] && notes_height > 0.0 && used > PAGE[1] / 3.0 {
            floats.push(Vec::new());
            used = 2.0 * CAPTION;
        }
        // Notes that are higher than a page continue on the next.
        let mut notes: Vec<Vec<String>> = vec![Vec::new(); floats.len()];
        for line in below {
            if used + height_of(&line) > PAGE[1] && notes.last().is_some_and(|of_float| !of_float.is_empty())
            {
                floats.push(Vec::new());
                notes.push(Vec::new());
                used = 2.0 * CAPTION;
            }
            used += height_of(&line);
            notes.last_mut().expect("there is a float").push(line);
        }
        let mut out = String::from(
            "% Needs \\usepackage{booktabs}. Widths are those of a page of the class article.\n",
        );
        for (at, (parts, notes)) in floats.iter().zip(&notes).enumerate() {
            self.push_float(&mut out, at, parts, notes);
        }
        out
    }

    fn push_float(&self, out: &mut String, at: usize, parts: &[Part], below: &[String]) {
        out.push_str("\\begin{table}\n\\centering\n");
        if at == 0 {
            let caption: Vec<String> = self.head.iter().map(|line| escape(line)).collect();
            let _ = writeln!(out, "\\caption{{{}}}", caption.join(" "));
            if !self.id.is_empty() {
                let _ = writeln!(out, "\\label{{tab:{}}}", self.id);
            }
        } else {
            out.push_str("\\addtocounter{table}{-1}\n\\caption{(continued)}\n");
        }
        out.push_str("\\footnotesize\n\\setlength{\\tabcolsep}{3pt}\n");
        for (nth, part) in parts.iter().enumerate() {
            if nth > 0 {
                out.push_str("\n\\vspace{1ex}\n");
            }
            self.push_tabular(out, part);
        }
        if !below.is_empty() {
            let below: Vec<String> = below.iter().map(|line| escape(line)).collect();
            let _ = writeln!(
                out,
                "\n\\vspace{{1ex}}\n\\begin{{minipage}}{{\\linewidth}}\\scriptsize\\raggedright"
            );
            let _ = writeln!(out, "{}\n\\end{{minipage}}", below.join("\\\\\n"));
        }
        out.push_str("\\end{table}\n");
    }

    fn push_tabular(&self, out: &mut String, part: &Part) {
        let columns = || part.columns.iter().map(|&at| &self.columns[at]);
        let alignment: String = part
            .columns
            .iter()
            .map(|&at| match (self.columns[at].is_number, self.is_broken(at)) {
                (true, _) => "r".to_owned(),
                (false, false) => "l".to_owned(),
                (false, true) => format!("p{{{WIDEST_TEXT}pt}}"),
            })
            .collect();
        let _ = writeln!(out, "\\begin{{tabular}}{{@{{}}{alignment}@{{}}}}\n\\toprule");
        let heads = columns().map(|c| escape(&joined(&[&c.name, c.arrow()])));
        let _ = writeln!(out, "{} \\\\", heads.collect::<Vec<_>>().join(" & "));
        let units: Vec<String> = columns().map(|c| escape(&c.unit)).collect();
        if units.iter().any(|unit| !unit.is_empty()) {
            let _ = writeln!(out, "{} \\\\", units.join(" & "));
        }
        out.push_str("\\midrule\n");
        for at in part.rows.clone() {
            if let Some(title) = self.section_at(at) {
                let rule = if at > part.rows.start { "\\midrule\n" } else { "" };
                let n = part.columns.len();
                let _ =
                    writeln!(out, "{rule}\\multicolumn{{{n}}}{{@{{}}l}}{{\\emph{{{}}}}} \\\\", escape(title));
            }
            let entries = part.columns.iter().map(|&column| entry(&self.rows[at][column]));
            let _ = writeln!(out, "{} \\\\", entries.collect::<Vec<_>>().join(" & "));
        }
        out.push_str("\\bottomrule\n\\end{tabular}\n");
    }

    /// Panels of columns that fit a page's width, each in blocks of rows that fit its height.
    fn parts(&self) -> Vec<Part> {
        let widths: Vec<usize> = (0..self.columns.len()).map(|at| self.points(at)).collect();
        let panels =
            if widths.is_empty() { vec![Vec::new()] } else { panels(&widths, PAGE[0] as usize, BETWEEN) };
        let room = PAGE[1] - self.caption_height() - AROUND;
        let most = ((room / LINE).floor() as usize).saturating_sub(self.sections.len() + 2).max(10);
        let mut parts = Vec::new();
        for columns in panels {
            let mut from = 0;
            loop {
                let mut to = self.rows.len().min(from + most);
                while to > from + 1 && self.n_lines(from..to) > most as f64 {
                    to -= 1;
                }
                parts.push(Part { columns: columns.clone(), rows: from..to });
                from = to;
                if from >= self.rows.len() {
                    break;
                }
            }
        }
        parts
    }

    /// Whether entries of a column are broken into lines.
    fn is_broken(&self, at: usize) -> bool {
        !self.columns[at].is_number && self.natural_points(at) > WIDEST_TEXT
    }

    /// Lines of these rows.
    fn n_lines(&self, rows: std::ops::Range<usize>) -> f64 {
        let broken: Vec<usize> = (0..self.columns.len()).filter(|&at| self.is_broken(at)).collect();
        let of_row = |row: &Vec<Entry>| {
            let lines = broken.iter().map(|&at| (1.1 * width(&row[at].text, EM) / WIDEST_TEXT).ceil());
            lines.fold(1.0, f64::max)
        };
        self.rows[rows].iter().map(of_row).sum()
    }

    /// Points that a column takes.
    fn points(&self, at: usize) -> usize {
        let most = if self.is_broken(at) { WIDEST_TEXT } else { f64::INFINITY };
        self.natural_points(at).min(most).ceil() as usize
    }

    /// Points that a column takes in one line.
    fn natural_points(&self, at: usize) -> f64 {
        let column = &self.columns[at];
        let head = width(&joined(&[&column.name, column.arrow()]), EM).max(width(&column.unit, EM));
        let entries = self.rows.iter().map(|row| {
            let bold = if row[at].rank == Rank::Best { 1.15 } else { 1.0 };
            bold * width(&row[at].text, EM)
        });
        entries.fold(head, f64::max)
    }

    fn caption_height(&self) -> f64 {
        CAPTION * 1.2 * (lines(&self.head.join(" "), CAPTION) + 2.0)
    }

    fn below(&self) -> Vec<String> {
        let notes = self
            .footnotes
            .iter()
            .enumerate()
            .map(|(at, reason)| format!("{} {reason}", crate::table::mark(at)));
        notes.chain(self.marks_line("Bold", "underlined")).chain(self.legend.iter().cloned()).collect()
    }
}

fn entry(entry: &Entry) -> String {
    match entry.rank {
        Rank::None => escape(&entry.text),
        Rank::Best => format!("\\textbf{{{}}}", escape(&entry.text)),
        Rank::Second => format!("\\underline{{{}}}", escape(&entry.text)),
    }
}

/// Lines that a text takes on a page.
fn lines(text: &str, em: f64) -> f64 {
    (width(text, em) / PAGE[0]).ceil()
}

/// Points that a text takes at a size of letters, by the widths of Computer Modern, rounded up.
fn width(text: &str, em: f64) -> f64 {
    let letter = |c: char| match c {
        '.' | ',' | ';' | ':' | '\'' | '|' | '!' | '[' | ']' | 'i' | 'j' | 'l' | ' ' | '-' => 0.34,
        'f' | 'r' | 's' | 't' | '(' | ')' | '/' => 0.42,
        'm' | 'w' | 'M' | 'W' | '±' | '×' | '—' | '%' | '@' | '+' | '=' | '<' | '>' => 0.92,
        'A'..='Z' => 0.76,
        c if crate::table::number::raised_letter(c).is_some() => 0.4,
        _ => 0.56,
    };
    em * text.chars().map(letter).sum::<f64>()
}

/// Keeps a text from being read as LaTeX, and writes the signs of our tables with its own commands.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in one_line(text).chars() {
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
            '"' => out.push_str("''"),
            // A bracket right after a line break or a macro would be read as its argument.
            '[' => out.push_str("{[}"),
            ']' => out.push_str("{]}"),
            '↑' => out.push_str("$\\uparrow$"),
            '↓' => out.push_str("$\\downarrow$"),
            '→' => out.push_str("$\\rightarrow$"),
            '±' => out.push_str("$\\pm$"),
            '×' => out.push_str("$\\times$"),
            '✓' => out.push_str("$\\surd$"),
            '≤' => out.push_str("$\\le$"),
            '≥' => out.push_str("$\\ge$"),
            'Δ' => out.push_str("$\\Delta$"),
            'τ' => out.push_str("$\\tau$"),
            'α' => out.push_str("$\\alpha$"),
            'δ' => out.push_str("$\\delta$"),
            '—' => out.push_str("---"),
            '–' => out.push_str("--"),
            '·' => out.push_str("$\\cdot$"),
            other => match crate::table::number::raised_letter(other) {
                Some(letter) => {
                    let _ = write!(out, "\\textsuperscript{{{letter}}}");
                }
                None => out.push(other),
            },
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Column, Section};

    fn table(n_columns: usize, n_rows: usize) -> Table {
        let mut table = Table { head: vec!["Made up.".into()], ..Table::default() };
        table.push(Column::text("method"), (0..n_rows).map(|at| Entry::plain(&format!("m{at}"))).collect());
        for at in 0..n_columns {
            let entries = (0..n_rows).map(|row| Entry::plain(&format!("{row}.00 [1.23, 4.56]"))).collect();
            table.push(Column::number(&format!("column{at}"), "×", None), entries);
        }
        table
    }

    #[test]
    fn a_wide_table_is_cut_into_panels_that_fit_and_repeat_the_methods() {
        let table = table(14, 5);
        let parts = table.parts();
        assert!(parts.len() > 2, "{}", parts.len());
        let mut columns = Vec::new();
        for part in &parts {
            let points: usize = part.columns.iter().map(|&at| table.points(at) + BETWEEN).sum();
            assert!(points - BETWEEN <= PAGE[0] as usize, "{points}");
            assert_eq!(part.columns[0], 0);
            columns.extend(part.columns[1..].to_vec());
        }
        assert_eq!(columns, (1..=14).collect::<Vec<_>>());
        assert_eq!(table.latex().matches("\\begin{tabular}").count(), parts.len());
        assert_eq!(table.latex().matches("\\begin{table}").count(), 1);
    }

    #[test]
    fn long_text_is_broken_into_lines_of_a_column_that_fits() {
        let mut table = Table::default();
        let texts = |text: &str| vec![Entry::plain(&text.repeat(40)), Entry::plain("short")];
        table.push(Column::text("claim"), texts("a claim "));
        table.push(Column::text("verdict"), vec![Entry::plain("holds"), Entry::plain("open")]);
        table.push(Column::text("evidence"), texts("evidence "));
        let out = table.latex();
        assert!(out.contains("{@{}p{130pt}lp{130pt}@{}}"), "{out}");
        assert_eq!(table.parts().len(), 1);
        assert!(table.n_lines(0..1) > 9.0 && table.n_lines(1..2) == 1.0, "{} lines", table.n_lines(0..1));
    }

    #[test]
    fn a_high_table_becomes_several_floats_and_keeps_every_row() {
        let mut table = table(3, 120);
        table.sections.push(Section { first_row: 0, title: "one".into() });
        table.legend = vec!["words ".repeat(300)];
        let mut wordy = table.clone();
        wordy.legend = vec!["words ".repeat(300); 12];
        let notes = wordy.latex().matches("\\begin{minipage}").count();
        assert!(notes > 1, "{notes} floats for notes of several pages");
        let out = table.latex();
        assert!(out.matches("\\begin{table}").count() > 2 && out.matches("(continued)").count() > 1);
        assert_eq!((out.matches("\\label").count(), out.matches("\\begin{minipage}").count()), (0, 1));
        for row in 0..120 {
            assert_eq!(out.matches(&format!("\nm{row} &")).count(), 1, "{row}");
        }
    }
}
