//! The lines below a table: what its columns mean, how well times were taken, and faults.

use std::ops::Range;

use specimen_record::{
    CellSummary, Family, Guarantee, Observations, ObservedUnit, Origin, PlainStep, Ratio, Summary,
    TimingQuantity,
};
use specimen_stats::fewest::FEWEST_OBSERVATIONS;
use specimen_table::{fixed, with_interval};

use crate::tables::measure::Measure;

/// Fewer independent observations a cell than this are a warning.
const FEW: u64 = 30;

/// What a column of reported numbers means, where all images were imported.
pub(crate) fn imported(measure: &Measure) -> Option<String> {
    let said = match measure {
        Measure::SpeedupE2e => {
            "Speedup e2e: the reported time of the baseline over that of the method on the same prompts, a ratio of sums with its \
             95 % interval."
        }
        Measure::Nfe => "NFE: reported target forwards, prefill included.",
        _ => return None,
    };
    Some(said.to_owned())
}

/// What these columns mean, and what holds for the numbers in them.
pub(crate) fn legend(summary: &Summary, shown: &[Measure]) -> Vec<String> {
    let mut lines: Vec<String> = match summary.is_imported() {
        true => sentences(shown, imported).into_iter().collect(),
        false => sentences(shown, measured).into_iter().collect(),
    };
    lines.extend(summary.costs.as_ref().and_then(|costs| sentences(shown, |m| projected(m, costs))));
    lines.extend(few_images(summary).filter(|_| shown.iter().any(Measure::has_intervals)));
    lines.extend(external_cells(summary, shown.contains(&Measure::SpeedupE2e)));
    lines.extend(timing(summary).filter(|_| shown.iter().any(Measure::is_of_times)));
    let named = shown.iter().filter_map(|m| match m {
        Measure::Metric { metric, protocol, .. } => {
            Some(format!("{metric} by {protocol}, {}", n_of(summary, metric, protocol)))
        }
        _ => None,
    });
    let named = named.collect::<Vec<_>>().join("; ");
    if !named.is_empty() {
        lines.push(format!("Metrics: {named}; ± or brackets: 95 % interval."));
    }
    for measure in shown {
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

/// What `of` says of these columns, in one line; `None` where it says nothing.
pub(crate) fn sentences(shown: &[Measure], of: impl Fn(&Measure) -> Option<String>) -> Option<String> {
    let said: Vec<String> = shown.iter().filter_map(of).collect();
    (!said.is_empty()).then(|| said.join(" "))
}

/// What a column of measured numbers means, where its head does not say it.
fn measured(measure: &Measure) -> Option<String> {
    let said = match measure {
        Measure::Speedup => {
            "Speedup: decode time of the baseline over that of the method, same prompts and seeds, with its 95 % interval."
        }
        Measure::SpeedupGeomean => {
            "Speedup_geomean: geometric mean of the speedup over prompts, or over batches where images were decoded together."
        }
        Measure::SpeedupMedian => {
            "Speedup_median: median of the speedup over prompts, or over batches where images were decoded together."
        }
        Measure::Accepted => "Accepted: draft tokens a verification accepts, without the bonus token.",
        Measure::TokensPerForward => "Tokens: tokens a verification emits, with the bonus token.",
        Measure::Tpf => "Tokens+skips: tokens a verification emits, with those of steps that skip it.",
        Measure::Nfe => "NFE: target forwards, prefill included.",
        Measure::Overhead => "Overhead: decode time outside prefill, target and draft.",
        Measure::MeasuredToPredicted => {
            "Measured / predicted: the measured speedup over the one predicted from counts and costs of forwards."
        }
        _ => return None,
    };
    Some(said.to_owned())
}

/// What a column under a cost table means.
fn projected(measure: &Measure, costs: &str) -> Option<String> {
    match measure {
        Measure::Projected => Some(format!(
            "Projected speedup: not measured; what the measured tokens and drafts a forward give under the costs of {costs}. \
             Prefill and work on the host cost nothing in it, and every forward of a drafter costs what one over one token \
             does."
        )),
        Measure::BaselineEfficiency => Some(
            "Baseline efficiency: decode time of the baseline as memory bandwidth bounds it over its measured one.".to_owned(),
        ),
        Measure::SpeedupAtBound => Some(
            "Speedup at the bound: the baseline's decode time as memory bandwidth bounds it over the measured time of the \
             method."
                .to_owned(),
        ),
        _ => None,
    }
}

/// That cells have too few independent observations for intervals, or for those that can be relied on, where it is so.
pub(crate) fn few_images(summary: &Summary) -> Option<String> {
    let prompts = |n: u64| Observations { n, of: ObservedUnit::Prompts };
    let of = |cell: &CellSummary| {
        let pairs = cell.metrics.iter().filter_map(|metric| Some(prompts(metric.vs_baseline?.n)));
        let ratios = [&cell.speedup, &cell.speedup_e2e].into_iter().filter_map(|ratio| ratio.observations);
        let known = pairs.chain(ratios).chain([prompts(cell.n_images)]);
        known.min_by_key(|found| found.n)
    };
    let made = || summary.cells.iter().filter(|cell| cell.n_images > 0);
    // The baseline is compared with nothing.
    let is_alone = made().all(CellSummary::is_baseline);
    let compared = made().filter(|cell| is_alone || !cell.is_baseline());
    let known: Vec<(&str, Observations)> =
        compared.filter_map(|cell| Some((cell.id.as_str(), of(cell)?))).collect();
    let none = FEWEST_OBSERVATIONS as u64;
    // Where images were decoded together, only times are of fewer than the prompts.
    let is_of_times = |(id, found): &&(&str, Observations)| {
        let cell = summary.cell(id);
        found.of == ObservedUnit::Batches && cell.is_some_and(|cell| none <= cell.n_images)
    };
    let (of_times, of_all): (Vec<_>, Vec<_>) = known.iter().copied().partition(|known| is_of_times(&known));
    let too_few = |of: &str| {
        let needs = format!("which needs {FEWEST_OBSERVATIONS}; what differs may be chance");
        (0..none, format!("too few for an interval of {of}, {needs}"))
    };
    let not_reliable = |of: &str| (none..FEW, format!("intervals{of} from so few are not reliable"));
    let lines = [
        (&of_all, too_few("a speedup, of a paired difference or of a mean by a bootstrap")),
        (&of_times, too_few("a speedup")),
        (&of_all, not_reliable("")),
        (&of_times, not_reliable(" of speedups")),
    ];
    let lines = lines.into_iter().filter_map(|(of, (range, what))| {
        Some(format!("{}: {what}.", counts(summary, of, &range, known.len())?))
    });
    Some(lines.collect::<Vec<_>>().join(" ")).filter(|lines| !lines.is_empty())
}

/// Cells that a sentence names, at most.
const MOST_NAMED: usize = 6;

/// The least count in a range, and of which cells; `None` where no cell's count is in it.
fn counts(
    summary: &Summary,
    known: &[(&str, Observations)],
    range: &Range<u64>,
    n_cells: usize,
) -> Option<String> {
    let few: Vec<_> = known.iter().filter(|(_, found)| range.contains(&found.n)).collect();
    let (_, fewest) = few.iter().min_by_key(|(_, found)| found.n)?;
    let least = if few.iter().all(|(_, found)| found.n == fewest.n) { "" } else { " at the least" };
    let which = match few.len() {
        n if n == n_cells => "a cell".to_owned(),
        n if n > MOST_NAMED => format!("of {n} cells"),
        _ => format!("of {}", few.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")),
    };
    // A cell may have more images than it shares with its baseline.
    let has_more = |(id, found): &(&str, Observations)| {
        found.of == ObservedUnit::Prompts && summary.cell(id).is_some_and(|cell| found.n < cell.n_images)
    };
    let shared = if few.iter().any(|few| has_more(few)) { "shared " } else { "" };
    let fewest = fewest.to_string();
    let (n, unit) = fewest.split_once(' ')?;
    Some(format!("n = {n} {shared}{unit} {which}{least}"))
}

/// Total variation distance that acceptance rules spent, of cells that are relaxed in nothing else.
fn divergences(summary: &Summary) -> String {
    let is_known = |cell: &&CellSummary| {
        cell.guarantee == Guarantee::Relaxed && cell.family.is_some_and(|family| family != Family::Skipping)
    };
    let spent = summary.cells.iter().filter(is_known).filter_map(|cell| {
        let spent = cell.tvd_spent.filter(|spent| *spent > 0.0)?;
        Some(format!("{} {}", cell.id, fixed(spent, 2)))
    });
    match spent.collect::<Vec<_>>().join("; ") {
        none if none.is_empty() => String::new(),
        spent => format!(" Total variation distance of their rules, mean per image: {spent}."),
    }
}

/// Cells whose images another program made, and what their times are.
fn external_cells(summary: &Summary, has_speedups: bool) -> Vec<String> {
    let of = |origin: Origin| {
        let cells = summary.cells.iter().filter(|cell| cell.origin == Some(origin));
        cells.map(|cell| cell.id.as_str()).collect::<Vec<_>>().join(", ")
    };
    let mut lines = Vec::new();
    let (external, imported) = (of(Origin::External), of(Origin::Imported));
    if !external.is_empty() {
        let speedups = match has_speedups {
            true => " Speedup e2e: the baseline's time from the prompt to the saved image over that.",
            false => "",
        };
        lines.push(format!(
            "{external}: made by another process during this run; this program timed them from request to answer.{speedups}"
        ));
    }
    if !imported.is_empty() {
        lines.push(format!(
            "{imported}: imported. Another program made the images and reported their times; no ratio with times of this program \
             is formed."
        ));
    }
    lines
}

/// How well times were measured, where the summary says.
fn timing(summary: &Summary) -> Option<String> {
    let quality = summary.timing_quality.as_ref()?;
    let cells = || summary.cells.iter().filter_map(|cell| cell.timing_quality.as_ref());
    let (n_timed, n_outliers) =
        cells().fold((0, 0), |(n, out), cell| (n + cell.n_timed, out + cell.n_outliers));
    if n_timed == 0 {
        return None;
    }
    let without = |quantity: TimingQuantity, what: &str| {
        quality.why.get(&quantity).map(|why| format!("{what} is not known ({why})"))
    };
    let others = quality
        .others_busy_mean
        .map(|share| format!("other processes used {} % of the machine", fixed(100.0 * share, 0)))
        .or_else(|| without(TimingQuantity::OthersBusyMean, "what other processes used"));
    let n_images: u64 =
        summary.cells.iter().filter(|cell| cell.timing_quality.is_some()).map(|cell| cell.n_images).sum();
    let repeated = if n_timed > n_images { ", repeated timings included," } else { "" };
    let outliers = format!("{n_outliers} of {n_timed} times{repeated} are outliers (kept)");
    let times = || cells().map(|cell| cell.n_timed).filter(|n| *n > 0);
    let (fewest, most) = (times().min().unwrap_or(0), times().max().unwrap_or(0));
    // Fewer times for images that failed are no other session.
    let is_repeated =
        |cell: &CellSummary| cell.timing_quality.as_ref().is_some_and(|of| of.n_timed > cell.n_images);
    let several = fewest < most && summary.cells.iter().any(is_repeated);
    let drift = summary.drift_in_words().or_else(|| without(TimingQuantity::Drift, "the drift"));
    let sessions = several.then(|| {
        format!(
            "cells were timed {fewest} to {most} times: seconds are of the sessions that timed all cells, a speedup is of all \
             sessions that timed the cell and its baseline"
        )
    });
    let mut parts: Vec<String> = [drift, others, Some(outliers), sessions].into_iter().flatten().collect();
    parts.extend(quality.plain_steps.iter().map(PlainStep::words));
    Some(format!("Timing: {}.", parts.join("; ")))
}

/// Speedups averaged over prompts or batches, next to the ratio of the mean times: one line; and where cells have only the
/// speedup of the whole time, one of theirs.
pub(crate) fn further_means(summary: &Summary, shown: &[Measure]) -> Vec<String> {
    let of = |measure: Measure, cells: &dyn Fn(&CellSummary) -> bool, ratio: fn(&CellSummary) -> &Ratio| {
        let name = if measure == Measure::Speedup { "Speedup" } else { "Speedup e2e" };
        let cells: Vec<(&CellSummary, &Ratio)> = summary
            .cells
            .iter()
            .filter(|cell| shown.contains(&measure) && cells(cell))
            .map(|cell| (cell, ratio(cell)))
            .collect();
        means_line(name, &cells)
    };
    let lines = [
        of(Measure::Speedup, &|_| true, |cell| &cell.speedup),
        of(Measure::SpeedupE2e, &|cell| cell.speedup.value.is_none(), |cell| &cell.speedup_e2e),
    ];
    lines.into_iter().flatten().collect()
}

/// The line of these cells.
fn means_line(name: &str, cells: &[(&CellSummary, &Ratio)]) -> Option<String> {
    let text = |value: Option<f64>, ci95| {
        value.map_or_else(|| "—".to_owned(), |value| with_interval(value, ci95, 2, true))
    };
    let others =
        || cells.iter().filter(|(cell, ratio)| !cell.is_baseline() && ratio.geomean.is_some()).copied();
    let texts = others().map(|(cell, ratio)| {
        let (geomean, median) =
            (text(ratio.geomean, ratio.geomean_ci95), text(ratio.median, ratio.median_ci95));
        format!("{} {geomean} / {median}", cell.id)
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() {
        return None;
    }
    let is_of_batches = |(_, ratio): &(&CellSummary, &Ratio)| {
        ratio.observations.is_some_and(|found| found.of == ObservedUnit::Batches)
    };
    let unit = match others().filter(is_of_batches).count() {
        0 => "prompt by prompt",
        n if n == texts.len() => "batch by batch",
        _ => "prompt by prompt (batch by batch where images were decoded together)",
    };
    let is_of_few = |ratio: &Ratio| {
        ratio.observations.is_some_and(|found| found.n < FEWEST_OBSERVATIONS as u64) && ratio.median.is_none()
    };
    let why = match others().any(|(_, ratio)| is_of_few(ratio)) {
        true => format!(" A median needs {FEWEST_OBSERVATIONS} prompts or batches."),
        false => String::new(),
    };
    Some(format!("{name} {unit}, geometric mean / median: {}.{why}", texts.join("; ")))
}

/// Faults: what no correct run shows.
pub(crate) fn faults(summary: &Summary) -> Vec<String> {
    let outside = |c: &&CellSummary| c.guarantee == Guarantee::Exact && c.out_of_support > 0;
    let line = |c: &CellSummary| {
        format!(
            "FAULT: {} is an exact method and emitted {} tokens to which the target gives probability 0.",
            c.id, c.out_of_support
        )
    };
    summary.cells.iter().filter(outside).map(line).collect()
}

/// Images that went into a metric, over all cells that have it; over all cells where none has.
fn n_of(summary: &Summary, metric: &str, protocol: &str) -> String {
    let metrics = summary.cells.iter().flat_map(|c| &c.metrics);
    let all: Vec<_> = metrics.filter(|m| m.metric == metric && m.protocol == protocol).collect();
    let n: Vec<u64> = all.iter().filter(|m| m.value.is_some()).map(|m| m.n).collect();
    match (n.iter().min(), n.iter().max()) {
        (Some(low), Some(high)) if low != high => format!("n = {low} to {high}"),
        (Some(low), _) => format!("n = {low}"),
        (None, _) => "no value".to_owned(),
    }
}
