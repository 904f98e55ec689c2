//! The lines above and below a table: under which conditions its numbers hold, and what they mean.

use specimen_record::{CellSummary, Guarantee, Origin, Sampling, Summary, VsBaseline};
use specimen_stats::multiple_tests::holm;
use specimen_stats::student::student_two_sided_p;

use crate::ReportError;
use crate::families::skips;
use crate::measure::{Measure, measures};
use specimen_table::{fixed, plain, with_interval};

/// A p value below which only that it is below is told.
const SMALLEST_P: f64 = 1e-4;

/// What was run, on what, and against which baseline; one line each.
pub(crate) fn head(summary: &Summary) -> Vec<String> {
    let cells = &summary.cells;
    let sampling = shared(cells, |c| describe_sampling(&c.sampling));
    vec![
        format!(
            "Run {}, plan {}, result {}.",
            summary.name,
            &summary.plan_digest.as_str()[..12],
            &summary.result_digest.as_str()[..12]
        ),
        format!("{} on {}.", shared(cells, |c| c.dtype.clone()), machine(summary)),
        format!(
            "Model {}; dataset {}; {}; {}; baseline {}.",
            shared(cells, |c| c.model.clone()),
            shared(cells, |c| c.dataset.clone()),
            images(cells),
            sampling,
            summary.baseline
        ),
    ]
}

/// The conditions in one short line, for a figure.
pub(crate) fn conditions(summary: &Summary) -> String {
    conditions_of(summary, &images(&summary.cells))
}

/// As [`conditions`], for a figure that rests on other images than all of every cell: `n` says on which.
pub(crate) fn conditions_of(summary: &Summary, n: &str) -> String {
    let cells = &summary.cells;
    let device = summary.gpus.first().unwrap_or(&summary.cpu_model);
    let parts = [
        shared(cells, |c| c.model.clone()),
        shared(cells, |c| c.dataset.clone()),
        n.to_owned(),
        format!("{} on {device}", shared(cells, |c| c.dtype.clone())),
        shared(cells, |c| describe_sampling(&c.sampling)),
    ];
    parts.join(" · ")
}

/// What the columns mean.
pub(crate) fn legend(summary: &Summary) -> Vec<String> {
    let measures = measures(summary);
    let skips = match measures.contains(&Measure::Tpf) {
        true => "; tokens+skips: with those of steps that skip verification too",
        false => "",
    };
    let mut lines = vec![format!(
        "Speedup: decode time of the baseline over that of the method, same prompts and seeds, with its 95 % \
         interval. Accepted: draft tokens a verification accepts, without the bonus token; tokens: with it{skips}. \
         NFE: target forwards, prefill included. Overhead: decode time outside prefill, target and draft. \
         Measured / predicted: the speedup over what counts and costs of a forward predict."
    )];
    lines.extend(elsewhere(summary));
    lines.extend(timing(summary));
    if measures.iter().any(|m| matches!(m, Measure::Metric { .. })) {
        let named = measures.iter().filter_map(|m| match m {
            Measure::Metric { metric, protocol, .. } => {
                Some(format!("{metric} by {protocol}, {}", n_of(summary, metric, protocol)))
            }
            _ => None,
        });
        lines.push(format!(
            "Metrics: {}; ± or brackets: 95 % interval.",
            named.collect::<Vec<_>>().join("; ")
        ));
    }
    for measure in &measures {
        let Measure::Distance { metric, .. } = measure else { continue };
        lines.push(format!(
            "{}: absolute difference of {metric} from the baseline's, paired by prompt, of cells that are not exact; nearer \
             to 0 is better, since their tokens can be too likely as well as too unlikely.{}",
            measure.name(),
            divergences(summary)
        ));
    }
    lines
}

/// Total variation that acceptance rules moved, where that is all a relaxed cell changes.
fn divergences(summary: &Summary) -> String {
    let is_known = |cell: &&CellSummary| cell.guarantee == Guarantee::Relaxed && !skips(summary, cell);
    let spent = summary.cells.iter().filter(is_known).filter_map(|cell| {
        let spent = cell.tvd_spent.filter(|spent| *spent > 0.0)?;
        Some(format!("{} {}", cell.id, fixed(spent, 2)))
    });
    match spent.collect::<Vec<_>>().join("; ") {
        none if none.is_empty() => String::new(),
        spent => format!(" Total variation that their rules moved, mean per image: {spent}."),
    }
}

/// Whose images are not this program's, and what their times are.
fn elsewhere(summary: &Summary) -> Vec<String> {
    let of = |origin: Origin| {
        let cells = summary.cells.iter().filter(|cell| cell.origin == Some(origin));
        cells.map(|cell| cell.id.as_str()).collect::<Vec<_>>().join(", ")
    };
    let mut lines = Vec::new();
    let (external, imported) = (of(Origin::External), of(Origin::Imported));
    if !external.is_empty() {
        lines.push(format!(
            "{external}: made by another process during this run, timed by the same clock from request to answer. Speedup \
             e2e: the baseline's time from the prompt to the saved image over that."
        ));
    }
    if !imported.is_empty() {
        lines.push(format!(
            "{imported}: imported. The images were made elsewhere and their times are told, not measured here: they stand \
             in no ratio with times of this program."
        ));
    }
    lines
}

/// How far the times can be trusted, where the summary says.
fn timing(summary: &Summary) -> Option<String> {
    let quality = summary.timing_quality.as_ref()?;
    let cells = || summary.cells.iter().filter_map(|cell| cell.timing_quality.as_ref());
    let (n_timed, n_outliers) =
        cells().fold((0, 0), |(n, out), cell| (n + cell.n_timed, out + cell.n_outliers));
    if n_timed == 0 {
        return None;
    }
    let drift = quality.drift_in_words();
    let others = quality
        .others_busy_mean
        .map(|share| format!("other processes took {} % of the machine", fixed(100.0 * share, 0)));
    let apart = format!("{n_outliers} of {n_timed} times stand apart (kept)");
    let parts: Vec<String> = [drift, others, Some(apart)].into_iter().flatten().collect();
    Some(format!("Timing: {}.", parts.join("; ")))
}

/// The speedup of a prompt that counts as much as any other, beside that of the mean times: one line.
pub(crate) fn further_means(summary: &Summary) -> Vec<String> {
    let text = |value: Option<f64>, ci95| {
        value.map_or_else(|| "—".to_owned(), |value| with_interval(value, ci95, 2, true))
    };
    let others = summary.cells.iter().filter(|cell| !cell.is_baseline() && cell.speedup.geomean.is_some());
    let texts = others.map(|cell| {
        let ratio = &cell.speedup;
        let (geomean, median) =
            (text(ratio.geomean, ratio.geomean_ci95), text(ratio.median, ratio.median_ci95));
        format!("{} {geomean} / {median}", cell.id)
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() {
        return Vec::new();
    }
    vec![format!("Speedup prompt by prompt, geometric mean / median: {}.", texts.join("; "))]
}

/// A cell's difference from its baseline in one metric.
pub(crate) struct Difference<'s> {
    pub(crate) cell: &'s str,
    pub(crate) versus: VsBaseline,
    /// Holm-corrected over the cells of the metric; `None` without a standard error.
    pub(crate) p: Option<f64>,
}

/// How each cell's metrics differ from its baseline's, prompt by prompt: one entry a metric.
///
/// # Errors
/// When a difference over its standard error is no number.
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

/// The differences in words: one line a metric, and one on how their p values are meant.
///
/// # Errors
/// As [`differences`].
pub(crate) fn comparisons(summary: &Summary) -> Result<Vec<String>, ReportError> {
    let mut lines = Vec::new();
    for (metric, rows) in differences(summary)? {
        let texts: Vec<String> = rows.iter().map(|row| compared(row.cell, &row.versus, row.p)).collect();
        lines.push(format!(
            "{metric} minus the baseline's, paired by prompt (pairs, z, p, difference detectable with 80 % power): {}.",
            texts.join("; ")
        ));
    }
    if !lines.is_empty() {
        lines.push(on_p_values(summary));
    }
    Ok(lines)
}

/// How p values are meant.
pub(crate) fn on_p_values(summary: &Summary) -> String {
    format!(
        "p: two-sided by Student's t, Holm-corrected over the cells of a metric. All of them are compared with the same \
         images of {}, so what chance made of these moves all differences together.",
        summary.baseline
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
    let sign = if versus.difference < 0.0 { "-" } else { "+" };
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
    format!("{}{}", if value < 0.0 { "-" } else { "+" }, fixed(value.abs(), 1))
}

/// What no run should show.
pub(crate) fn faults(summary: &Summary) -> Vec<String> {
    let outside = |c: &&CellSummary| c.guarantee == Guarantee::Exact && c.out_of_support > 0;
    let line = |c: &CellSummary| {
        format!(
            "FAULT: {} claims the target's distribution and emitted {} tokens that the target gives probability 0.",
            c.id, c.out_of_support
        )
    };
    summary.cells.iter().filter(outside).map(line).collect()
}

/// Images that went into a metric, over all cells.
fn n_of(summary: &Summary, metric: &str, protocol: &str) -> String {
    let metrics = summary.cells.iter().flat_map(|c| &c.metrics);
    let n: Vec<u64> = metrics.filter(|m| m.metric == metric && m.protocol == protocol).map(|m| m.n).collect();
    match (n.iter().min(), n.iter().max()) {
        (Some(low), Some(high)) if low != high => format!("n = {low} to {high}"),
        (low, _) => format!("n = {}", low.copied().unwrap_or_default()),
    }
}

fn machine(summary: &Summary) -> String {
    let threads = match summary.threads {
        1 => "1 thread".to_owned(),
        n => format!("{n} threads"),
    };
    let with_bf16: Vec<&str> =
        summary.cpu_features.iter().map(String::as_str).filter(|f| f.contains("bf16")).collect();
    let bf16 = match with_bf16.as_slice() {
        [] => "no".to_owned(),
        found => format!("yes ({})", found.join(", ")),
    };
    let cpu = format!("{}, {threads}, bf16 instructions: {bf16}", summary.cpu_model);
    let device = shared(&summary.cells, |c| c.device.clone());
    match summary.gpus.as_slice() {
        [] => format!("{device} ({cpu})"),
        gpus => format!("{device} ({}; host {cpu})", gpus.join(", ")),
    }
}

fn images(cells: &[CellSummary]) -> String {
    let n_failed: u64 = cells.iter().map(|c| c.n_failed).sum();
    let (low, high) = (cells.iter().map(|c| c.n_images).min(), cells.iter().map(|c| c.n_images).max());
    let made = match (low, high) {
        (Some(low), Some(high)) if low != high => format!("n = {low} to {high} images a cell"),
        (Some(n), _) => format!("n = {n} images a cell"),
        _ => "no cells".to_owned(),
    };
    if n_failed == 0 { made } else { format!("{made}, {n_failed} failed") }
}

fn describe_sampling(sampling: &Sampling) -> String {
    let top_k =
        if sampling.top_k == 0 { "top-k off".to_owned() } else { format!("top-k {}", sampling.top_k) };
    let top_p = if sampling.top_p >= 1.0 {
        "top-p off".to_owned()
    } else {
        format!("top-p {}", plain(sampling.top_p))
    };
    let guidance = if sampling.guidance == 1.0 {
        "no guidance".to_owned()
    } else {
        format!("guidance {}", plain(sampling.guidance))
    };
    format!("temperature {}, {top_k}, {top_p}, {guidance}", plain(sampling.temperature))
}

/// What all cells share, or the list of what they have.
fn shared(cells: &[CellSummary], of: impl Fn(&CellSummary) -> String) -> String {
    let mut found: Vec<String> = Vec::new();
    for cell in cells {
        let text = of(cell);
        if !found.contains(&text) {
            found.push(text);
        }
    }
    if found.is_empty() { "none".to_owned() } else { found.join(" | ") }
}
