//! How the metrics of each cell differ from those of its baseline, paired by prompt, with corrected p values.

use specimen_record::{Summary, VsBaseline};
use specimen_stats::{multiple_tests::holm, student::student_two_sided_p};

use crate::{ReportError, table::fixed};

/// Smallest p value that is shown; a smaller one is shown as below it.
const SMALLEST_P: f64 = 1e-4;

/// A cell's difference from its baseline in one metric.
pub(crate) struct Difference<'s> {
    pub(crate) cell: &'s str,
    pub(crate) versus: VsBaseline,
    /// Holm-corrected over the cells of the metric; `None` without a standard error.
    pub(crate) p: Option<f64>,
}

/// How each cell's metrics differ from its baseline's, prompt by prompt: one entry a metric.
pub(crate) fn differences(summary: &Summary) -> Result<Vec<(&str, Vec<Difference<'_>>)>, ReportError> {
    let mut metrics: Vec<(&str, Vec<(&str, VsBaseline)>)> = Vec::new();
    for cell in &summary.cells {
        for metric in &cell.metrics {
            let Some(versus) = metric.vs_baseline else { continue };
            match metrics.iter_mut().find(|(name, _)| *name == metric.metric) {
                Some((_, rows)) => rows.push((&cell.id, versus)),
                None => metrics.push((&metric.metric, vec![(&cell.id, versus)])),
            }
        }
    }
    let with_p = |(metric, rows): (_, Vec<(_, VsBaseline)>)| {
        let p = adjusted(&rows)?;
        let rows = rows.into_iter().zip(p).map(|((cell, versus), p)| Difference { cell, versus, p });
        Ok((metric, rows.collect()))
    };
    metrics.into_iter().map(with_p).collect()
}

/// The differences of the metrics that are shown in words: one line a metric, and one on how their p values are meant.
pub(crate) fn comparisons(
    summary: &Summary,
    is_shown: impl Fn(&str) -> bool,
) -> Result<Vec<String>, ReportError> {
    let mut lines = Vec::new();
    for (metric, rows) in differences(summary)?.into_iter().filter(|(metric, _)| is_shown(metric)) {
        let texts: Vec<String> = rows.iter().map(|row| compared(row.cell, &row.versus, row.p)).collect();
        lines.push(format!(
            "{metric} minus the baseline's, paired by prompt (pairs, z, p, difference detectable with 80 % power): {}.",
            texts.join("; ")
        ));
    }
    if !lines.is_empty() {
        lines.push(on_p_values(summary));
        lines.extend(without_p(summary, is_shown)?);
    }
    Ok(lines)
}

/// Why some differences of the metrics that are shown have no z and no p value, and which; `None` where all have one.
pub(crate) fn without_p(
    summary: &Summary,
    is_shown: impl Fn(&str) -> bool,
) -> Result<Option<String>, ReportError> {
    let mut by_reason: Vec<(&str, Vec<String>)> = Vec::new();
    for (metric, rows) in differences(summary)?.into_iter().filter(|(metric, _)| is_shown(metric)) {
        for row in rows.iter().filter(|row| row.p.is_none()) {
            let reason = why_no_p(&row.versus);
            let name = format!("{metric} of {}", row.cell);
            match by_reason.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, names)) => names.push(name),
                None => by_reason.push((reason, vec![name])),
            }
        }
    }
    let texts: Vec<String> =
        by_reason.iter().map(|(reason, names)| format!("{} ({reason})", names.join(", "))).collect();
    Ok((!texts.is_empty()).then(|| format!("No z and no p: {}.", texts.join("; "))))
}

/// Why a difference has no z or p value.
fn why_no_p(versus: &VsBaseline) -> &'static str {
    match (versus.n, versus.se) {
        (0 | 1, _) => "fewer than two pairs",
        (_, Some(_)) if versus.difference == 0.0 => "the same value as the baseline on every prompt",
        (_, Some(_)) => "the same difference on every prompt, so no chance can be estimated",
        (_, None) => "no standard error was stored",
    }
}

/// How p values are meant, and with whose images the cells are compared: an axis of the model or of its sampling makes several
/// baselines.
pub(crate) fn on_p_values(summary: &Summary) -> String {
    let mut all: Vec<&str> = Vec::new();
    for named in summary.cells.iter().filter_map(|cell| cell.baseline.as_deref()) {
        if !all.contains(&named) {
            all.push(named);
        }
    }
    let (cells, images) = match all[..] {
        [] => ("", format!("of {}", summary.baseline)),
        [one] => ("", format!("of {one}")),
        _ => (" of a group", format!("of its baseline ({})", all.join(", "))),
    };
    format!(
        "p: two-sided by Student's t, Holm-corrected over the cells of a metric. All cells{cells} are compared with the same \
         images {images}, so chance in those images moves all differences together."
    )
}

/// p values of the differences over all rows of a metric; `None` where a row has no standard error.
fn adjusted(rows: &[(&str, VsBaseline)]) -> Result<Vec<Option<f64>>, ReportError> {
    let p =
        |versus: &VsBaseline| versus.z.filter(|_| versus.n > 1).map(|z| student_two_sided_p(versus.n - 1, z));
    let raw = rows.iter().map(|(_, versus)| p(versus).transpose()).collect::<Result<Vec<_>, _>>()?;
    let mut holm = holm(&raw.iter().flatten().copied().collect::<Vec<f64>>())?.into_iter();
    Ok(raw.into_iter().map(|p| p.and_then(|_| holm.next())).collect())
}

fn compared(cell: &str, versus: &VsBaseline, p: Option<f64>) -> String {
    let sign = sign(versus.difference);
    let z = versus.z.map_or_else(String::new, |z| format!(", z {}", signed_short(z)));
    let p = p.map_or_else(String::new, |p| format!(", p {}", p_value(p)));
    let detectable = versus.detectable.map_or_else(String::new, |d| format!(", {}", fixed(d, 3)));
    format!("{cell} {sign}{} ({}{z}{p}{detectable})", fixed(versus.difference.abs(), 3), versus.n)
}

/// A p value as a table shows it; a smaller one than the table can show has `<` before it.
pub(crate) fn p_value(p: f64) -> String {
    match p < SMALLEST_P {
        true => format!("< {SMALLEST_P}"),
        false => fixed(p, if p < 0.1 { 4 } else { 2 }),
    }
}

pub(crate) fn signed_short(value: f64) -> String {
    format!("{}{}", sign(value), fixed(value.abs(), 1))
}

/// What a sum of floats leaves of an exact zero has no side.
fn sign(value: f64) -> &'static str {
    if value < -1e-12 { "-" } else { "+" }
}
