//! What a gate found, for people, for a pull request, and for tools that read JUnit.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use specimen_foundation::text::{counted, one_line};

use super::check::{Check, Gate, Skipped};
use crate::table::{Column, Entry, Table, fixed};

/// The verdict where every rule was left out.
const NOTHING: &str = "NOT PASSED: nothing was checked";

/// Failures in the line that ends a command, at most.
const MOST_NAMED: usize = 6;

impl Gate {
    /// One row a check, failures first; what was left out below.
    pub fn table(&self) -> Table {
        let n_failed = self.checks.iter().filter(|check| !check.passed).count();
        let verdict = match n_failed {
            0 if self.checks.is_empty() => NOTHING.to_owned(),
            0 => format!("Passed: {} of {0} checks", self.checks.len()),
            n => format!("FAILED: {n} of {} checks", self.checks.len()),
        };
        let mut table = Table {
            id: "gate".to_owned(),
            head: std::iter::once(format!("{}{verdict} against the baseline.", self.not_checked()))
                .chain(self.slow_baselines.iter().map(|slow| format!("WARNING: {slow}.")))
                .map(|line| one_line(&line))
                .collect(),
            ..Table::default()
        };
        let mut checks: Vec<_> = self.checks.iter().collect();
        checks.sort_by_key(|check| check.passed);
        let marks: Vec<String> = checks
            .iter()
            .map(|check| check.why.as_ref().map(|why| table.footnote(why)).unwrap_or_default())
            .collect();
        let results = checks.iter().zip(marks).map(|(check, mark)| {
            Entry::plain(&format!("{}{mark}", if check.passed { "ok" } else { "FAILED" }))
        });
        table.push(Column::text("result"), results.collect());
        let texts = |of: fn(&Check) -> String| -> Vec<Entry> {
            checks.iter().map(|check| Entry::plain(&of(check))).collect()
        };
        table.push(Column::text("cell"), texts(|check| check.cell.clone()));
        table.push(Column::text("measure"), texts(|check| check.measure.clone()));
        let column = |at: usize| checks.iter().map(|check| Entry::plain(&numbers(check)[at])).collect();
        table.push(Column::number("baseline", "", None), column(0));
        table.push(Column::number("measured", "", None), column(1));
        table.push(Column::text("rule"), texts(|check| check.rule.clone()));
        for skipped in &self.skipped {
            let line = format!("Left out: {} of {}: {}.", skipped.measure, skipped.cell, skipped.why);
            table.legend.push(one_line(&line));
        }
        table
    }

    /// What was not checked, as the beginning of a line: each measure with its cells, if there are several, and the reason.
    fn not_checked(&self) -> String {
        let mut groups: Vec<(&Skipped, BTreeSet<&str>)> = Vec::new();
        for skipped in &self.skipped {
            let is_known = |(known, _): &&mut (&Skipped, BTreeSet<&str>)| {
                (&known.measure, &known.why) == (&skipped.measure, &skipped.why)
            };
            match groups.iter_mut().find(is_known) {
                Some((_, cells)) => drop(cells.insert(&skipped.cell)),
                None => groups.push((skipped, BTreeSet::from([skipped.cell.as_str()]))),
            }
        }
        let named = |(skipped, cells): &(&Skipped, BTreeSet<&str>)| {
            let of = if cells.len() == 1 { skipped.cell.clone() } else { counted(cells.len(), "cell") };
            format!("{} of {of} ({})", skipped.measure, skipped.why)
        };
        let named: Vec<String> = groups.iter().map(named).collect();
        if named.is_empty() { String::new() } else { format!("NOT CHECKED: {}. ", named.join("; ")) }
    }

    /// Cell and measure of each failure, in one line, of many the first; empty when there is none.
    pub fn failures(&self) -> String {
        if self.checks.is_empty() {
            return format!(
                "all {} rules of cells were left out, so nothing was checked",
                self.skipped.len()
            );
        }
        let failed = self.checks.iter().filter(|check| !check.passed);
        let named = failed.map(|check| {
            let why = check.why.as_deref().unwrap_or("the rule is not met");
            format!("{} of {}: {why}", check.measure, check.cell)
        });
        let mut named: Vec<String> = named.collect();
        let n_more = named.len().saturating_sub(MOST_NAMED);
        if n_more > 0 {
            named.truncate(MOST_NAMED);
            named.push(format!("and {n_more} more"));
        }
        named.join("; ")
    }

    /// JUnit XML: one test case a check or left-out rule, its class the cell, its name the measure.
    pub fn junit(&self) -> String {
        let n_failed = self.checks.iter().filter(|check| !check.passed).count();
        let (n, n_skipped) = (self.checks.len() + self.skipped.len(), self.skipped.len());
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let is_empty = self.checks.is_empty();
        // A reader of the file alone has to see it: skipped cases pass.
        let (n, n_errors) = if is_empty { (n + 1, " errors=\"1\"") } else { (n, "") };
        let counts = format!("tests=\"{n}\" failures=\"{n_failed}\"{n_errors} skipped=\"{n_skipped}\"");
        let _ = writeln!(out, "<testsuites {counts}>\n<testsuite name=\"specimen gate\" {counts}>");
        let mut cases = Cases::default();
        for check in &self.checks {
            let (case, rule) = (cases.next(&check.cell, &check.measure), xml(&check.rule));
            let _ = match (check.passed, &check.why) {
                (true, None) => writeln!(out, "{case}><system-out>{rule}</system-out></testcase>"),
                (true, Some(why)) => {
                    writeln!(out, "{case}><system-out>{rule}: {}</system-out></testcase>", xml(why))
                }
                (false, why) => {
                    let why = xml(why.as_deref().unwrap_or("the rule is not met"));
                    let values = format!("baseline {}, measured {}", numbers(check)[0], numbers(check)[1]);
                    let values = xml(&values);
                    writeln!(out, "{case}><failure message=\"{why}\">{rule}: {values}</failure></testcase>")
                }
            };
        }
        if is_empty {
            let case = cases.next("gate", "nothing");
            let _ = writeln!(out, "{case}><error message=\"{NOTHING}\"/></testcase>");
        }
        for skipped in &self.skipped {
            let case = cases.next(&skipped.cell, &skipped.measure);
            let (why, rule) = (xml(&skipped.why), xml(&skipped.rule));
            let _ = writeln!(out, "{case}><skipped message=\"{why}\">{rule}</skipped></testcase>");
        }
        out.push_str("</testsuite>\n</testsuites>\n");
        out
    }
}

/// A gate that reached no verdict, as JUnit XML: one test case with an error.
pub fn refused_junit(run: &str, why: &str) -> String {
    let counts = "tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\"";
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n<testsuite name=\"specimen gate\" {counts}>\n\
         {}><error message=\"{}\"/></testcase>\n</testsuite>\n</testsuites>\n",
        Cases::default().next(run, "refused"),
        xml(why)
    )
}

/// The same as Markdown.
pub fn refused_markdown(run: &str, why: &str) -> String {
    let head = format!("REFUSED: run {run} was not checked, so nothing passed.");
    Table {
        id: "gate".to_owned(),
        head: vec![one_line(&head)],
        columns: vec![Column::text("reason")],
        rows: vec![vec![Entry::plain(why)]],
        ..Table::default()
    }
    .markdown()
}

/// The test cases of a file. A name is a measure, without what its rule allows: a case keeps its history when a tolerance is
/// edited. A second rule of one measure and cell has a number.
#[derive(Default)]
struct Cases(BTreeMap<(String, String), usize>);

impl Cases {
    /// The beginning of the next case.
    fn next(&mut self, cell: &str, measure: &str) -> String {
        let n = self.0.entry((cell.to_owned(), measure.to_owned())).or_default();
        *n += 1;
        let name = if *n == 1 { measure.to_owned() } else { format!("{measure} ({n})") };
        format!("<testcase classname=\"{}\" name=\"{}\"", xml(cell), xml(&name))
    }
}

/// The baseline's value and the run's with four decimals, or as many more, up to 12, as show that they differ.
fn numbers(check: &Check) -> [String; 2] {
    let text =
        |value: Option<f64>, decimals| value.map_or_else(|| "—".to_owned(), |value| fixed(value, decimals));
    let at = |decimals| [text(check.baseline, decimals), text(check.measured, decimals)];
    let is_equal = check.baseline == check.measured;
    (4..12).map(at).find(|[one, two]| is_equal || one != two).unwrap_or_else(|| at(12))
}

fn xml(text: &str) -> String {
    let mut out = String::new();
    for c in one_line(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}
