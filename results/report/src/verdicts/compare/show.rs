//! A comparison as a table.

use specimen_record::ObservedUnit;
use specimen_stats::{fewest::FEWEST_OBSERVATIONS, rounding::is_equal};

use super::comparison::{Comparison, Row, Same, Scale, Side};
use crate::table::{Column, Entry, Section, Table, deciding_interval, fixed, plain};

/// Smallest p value that is shown; a smaller one is shown as below it.
const SMALLEST_P: f64 = 1e-4;

impl Comparison {
    /// One block a measure, one row a cell.
    pub fn table(&self) -> Table {
        let mut table = Table { id: "comparison".to_owned(), head: self.head(), ..Table::default() };
        for (at, row) in self.rows.iter().enumerate() {
            if at == 0 || self.rows[at - 1].measure != row.measure {
                table.sections.push(Section { first_row: at, title: title(row) });
            }
        }
        let texts = |of: &dyn Fn(&Row) -> String| -> Vec<Entry> {
            self.rows.iter().map(|row| Entry::plain(&of(row))).collect()
        };
        table.push(Column::text("cell"), texts(&|row| row.cell.clone()));
        table.push(Column::number("n", "prompts", None), texts(&n_observed));
        table.push(Column::number("A", "", None), texts(&|row| number(row.estimate.a)));
        table.push(Column::number("B", "", None), texts(&|row| number(row.estimate.b)));
        let estimate = |row: &Row| {
            let (value, ends) = (row.estimate.value, row.estimate.ci95);
            match ends {
                Some([low, high]) => deciding_interval(value, ends, &[no_change(row)], decimals(high - low)),
                None => number(value),
            }
        };
        table.push(Column::number("B against A", "", None), texts(&estimate));
        table.push(Column::number("p", "Holm", None), texts(&|row| p_value(row.p_holm)));
        table.push(Column::text("verdict"), texts(&verdict));
        table.push(Column::number("detectable", "", None), texts(&detectable));
        table.legend.push(
            "B against A: B minus A, paired prompt by prompt; of seconds A over B (above 1: B is faster), the ratio of \
             mean times. Speedup: of each run on its own, the baseline's mean time over the cell's, on the prompts that both runs timed, over all their sessions; \
             seconds are of the sessions that timed all cells. In brackets: 95 % \
             interval. p: two-sided by Student's t, of ratios on their logarithms, Holm-corrected over the cells of a measure; a \
             difference counts only where interval and p agree. Detectable: what this \
             many pairs would have found with 80 % power."
                .to_owned(),
        );
        if self.rows.iter().any(|row| row.estimate.ci95.is_none()) {
            table.legend.push(format!(
                "No interval: fewer than {FEWEST_OBSERVATIONS} pairs, so nothing but an equal value is decided."
            ));
        }
        if self.rows.iter().any(|row| row.p_holm.is_none()) {
            table.legend.push(
                "p —: all pairs of that row differ by the same, or not at all, so no chance can be estimated.".to_owned(),
            );
        }
        let ratios = self.rows.iter().filter(|row| row.estimate.scale == Scale::Ratio);
        let further = ratios.map(|row| {
            let part = |value: Option<f64>| value.map_or_else(|| "—".to_owned(), |value| fixed(value, 3));
            format!("{} {} / {}", row.cell, part(row.estimate.geomean), part(row.estimate.median))
        });
        let further: Vec<String> = further.collect();
        if !further.is_empty() {
            let is_without = |row: &Row| row.estimate.scale == Scale::Ratio && row.estimate.median.is_none();
            let why = match self.rows.iter().any(is_without) {
                true => format!(" A median needs {FEWEST_OBSERVATIONS} pairs."),
                false => String::new(),
            };
            table.legend.push(format!("Geometric mean / median of A over B: {}.{why}", further.join("; ")));
        }
        table.legend.extend(self.same_in_words());
        for (run, cells) in [("A", &self.only_in_a), ("B", &self.only_in_b)] {
            if !cells.is_empty() {
                table.legend.push(format!("In {run} only, so not compared: {}.", cells.join(", ")));
            }
        }
        for refused in &self.refused {
            table.legend.push(format!("Refused: {} of {}: {}.", refused.measure, refused.cell, refused.why));
        }
        table
    }

    /// What has no row because it is the same everywhere: one sentence.
    fn same_in_words(&self) -> Option<String> {
        let mut cells: Vec<(&str, Vec<String>)> = Vec::new();
        for Same { cell, measure, value } in &self.same {
            let text = format!("{measure} {}", plain((value * 1e4).round() / 1e4));
            match cells.iter_mut().find(|(name, _)| name == cell) {
                Some((_, texts)) => texts.push(text),
                None => cells.push((cell, vec![text])),
            }
        }
        let cells: Vec<String> =
            cells.into_iter().map(|(cell, texts)| format!("{} of {cell}", texts.join(", "))).collect();
        (!cells.is_empty()).then(|| {
            format!(
                "No row, because the value is the same on every prompt of both runs: {}.",
                cells.join("; ")
            )
        })
    }

    fn head(&self) -> Vec<String> {
        let side = |name: &str, side: &Side| {
            let drift = side.drift_in_words.as_ref().map_or_else(String::new, |words| format!("; {words}"));
            let slow: String = side.slow_baselines.iter().map(|slow| format!(" WARNING: {slow}.")).collect();
            let short = |digest: &str| digest.chars().take(12).collect::<String>();
            format!(
                "{name}: {}run {}, plan {}, result {}{drift}.{slow}",
                if side.is_imported { "imported " } else { "" },
                side.name,
                short(&side.plan_digest),
                short(&side.result_digest)
            )
        };
        let mut head = vec![side("A", &self.a), side("B", &self.b)];
        if !self.mixed.is_empty() {
            let names: Vec<&str> = self.mixed.iter().map(|kind| kind.name()).collect();
            head.push(format!("MIXED, although these may differ: {}.", names.join(", ")));
        }
        head
    }
}

fn title(row: &Row) -> String {
    match &row.protocol {
        Some(protocol) => format!("{} ({protocol})", row.measure),
        None => row.measure.clone(),
    }
}

fn number(value: f64) -> String {
    fixed(value, if value.abs() >= 100.0 { 1 } else { 4 })
}

/// Two digits of an interval of this width.
fn decimals(width: f64) -> usize {
    (0..6).find(|&decimals| width * 10_f64.powi(decimals) >= 10.0).map_or(6, |decimals| decimals as usize)
}

fn p_value(p: Option<f64>) -> String {
    match p {
        None => "—".to_owned(),
        Some(p) if p < SMALLEST_P => format!("< {SMALLEST_P}"),
        Some(p) => fixed(p, 4),
    }
}

/// The number of pairs, and what they are where they are no prompts.
fn n_observed(row: &Row) -> String {
    match row.observed {
        ObservedUnit::Prompts => row.estimate.n.to_string(),
        ObservedUnit::Batches => format!("{} {}", row.estimate.n, row.observed),
    }
}

/// The value of a row that says that nothing changed.
fn no_change(row: &Row) -> f64 {
    if row.estimate.scale == Scale::Ratio { 1.0 } else { 0.0 }
}

fn verdict(row: &Row) -> String {
    let (estimate, no_change) = (&row.estimate, no_change(row));
    let size = if estimate.scale == Scale::Ratio { 1.0 } else { estimate.a.abs().max(estimate.b.abs()) };
    let direction = match (estimate.scale, estimate.value > no_change) {
        (Scale::Ratio, true) => "B is faster",
        (Scale::Ratio, false) => "B is slower",
        (Scale::Difference, true) => "B is higher",
        (Scale::Difference, false) => "B is lower",
    };
    match (estimate.p, row.significant) {
        (None, _) if is_equal(estimate.value, no_change, size) => "equal".to_owned(),
        (None, _) if estimate.ci95.is_some() => format!("{direction}, by the same on every prompt"),
        (_, true) => direction.to_owned(),
        (_, false) if estimate.ci95.is_none() => "undecided: too few pairs".to_owned(),
        (_, false) => "could be chance".to_owned(),
    }
}

fn detectable(row: &Row) -> String {
    let found = row.estimate.detectable;
    match row.estimate.scale {
        Scale::Difference => fixed(found, decimals(found)),
        Scale::Ratio => format!("factor {}", fixed(found, 3)),
    }
}
