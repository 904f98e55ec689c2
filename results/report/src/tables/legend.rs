//! The lines below a table: what its columns mean, how well times were taken, and faults.

use std::ops::Range;

use specimen_record::{
    CellSummary, Family, Guarantee, Observations, ObservedUnit, Origin, PlainStep, Reading, Summary,
    TimingQuantity,
};
use specimen_stats::fewest::FEWEST_OBSERVATIONS;

use crate::{
    table::{fixed, with_interval},
    tables::measure::Measure,
};

/// Fewer independent observations a cell than this are a warning.
const FEW: u64 = 30;

/// What a column of reported numbers means, where all images were imported.
pub(crate) fn imported(measure: &str) -> Option<&'static str> {
    Some(match measure {
        "speedup_e2e" => {
            "Speedup e2e: the reported time of the baseline over that of the method on the same prompts, a ratio of sums with its \
             95 % interval."
        }
        "nfe" => "NFE: reported target forwards, prefill included.",
        _ => return None,
    })
}

/// What these columns mean, and what holds for the numbers in them.
pub(crate) fn legend(summary: &Summary, shown: &[Measure]) -> Vec<String> {
    let has = |key: &str| shown.iter().any(|measure| measure.of_cell() == key);
    let meaning = if summary.is_imported() { imported } else { measured };
    let said = [
        shown.iter().filter_map(|measure| meaning(measure.of_cell())).collect::<Vec<_>>().join(" "),
        shown
            .iter()
            .filter_map(|measure| projected(measure.of_cell(), summary))
            .collect::<Vec<_>>()
            .join(" "),
    ];
    let mut lines: Vec<String> = said.into_iter().filter(|line| !line.is_empty()).collect();
    lines.extend(few_images(summary).filter(|_| shown.iter().any(Measure::has_intervals)));
    lines.extend(external_cells(summary, has("speedup_e2e")));
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
        lines.extend(summary.notes_of_metrics().into_iter().map(|note| format!("Note on {note}.")));
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

/// What a column of measured numbers means, where its head does not say it.
fn measured(measure: &str) -> Option<&'static str> {
    Some(match measure {
        "speedup" => {
            "Speedup: decode time of the baseline over that of the method, same prompts and seeds, with its 95 % interval."
        }
        "speedup_geomean" => {
            "Speedup_geomean: geometric mean of the speedup over prompts, or over batches where images were decoded together."
        }
        "speedup_median" => {
            "Speedup_median: median of the speedup over prompts, or over batches where images were decoded together."
        }
        "accepted_per_step" => "Accepted: draft tokens a verification accepts, without the bonus token.",
        "tokens_per_forward" => "Tokens: tokens a verification emits, with the bonus token.",
        "tpf" => "Tokens+skips: tokens a verification emits, with those of steps that skip it.",
        "nfe" => "NFE: target forwards, prefill included.",
        "overhead_fraction" => "Overhead: decode time outside prefill, target and draft.",
        "measured_to_predicted_speedup" => {
            "Measured / predicted: the measured speedup over the one predicted from counts and costs of forwards."
        }
        _ => return None,
    })
}

/// What a column under a cost table means.
fn projected(measure: &str, summary: &Summary) -> Option<String> {
    let costs = summary.costs.as_ref()?;
    match measure {
        "projected_speedup" => Some(format!(
            "Projected speedup: not measured; what the measured tokens and drafts a forward give under the costs of {costs}. \
             Prefill and work on the host cost nothing in it, and every forward of a drafter costs what one over one token \
             does."
        )),
        "baseline_efficiency" => Some(
            "Baseline efficiency: decode time of the baseline as memory bandwidth bounds it over its measured one.".to_owned(),
        ),
        "speedup_at_bound" => Some(
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
        let ratios = ["speedup", "speedup_e2e"].map(|ratio| cell.measured(ratio).observations);
        let known = pairs.chain(ratios.into_iter().flatten()).chain([prompts(cell.n_images)]);
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
        let spent = cell.value("tvd_spent").filter(|spent| *spent > 0.0)?;
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
    let of = |ratio: &str, name: &str, of: &dyn Fn(&CellSummary) -> bool| {
        let is_shown = shown.iter().any(|measure| measure.of_cell() == ratio);
        let cells: Vec<&CellSummary> =
            summary.cells.iter().filter(|cell| is_shown && of(cell) && !cell.is_baseline()).collect();
        means_line(ratio, name, &cells)
    };
    let has_whole_only = |cell: &CellSummary| cell.value("speedup").is_none();
    let lines = [of("speedup", "Speedup", &|_| true), of("speedup_e2e", "Speedup e2e", &has_whole_only)];
    lines.into_iter().flatten().collect()
}

/// The line of these cells.
fn means_line(ratio: &str, name: &str, cells: &[&CellSummary]) -> Option<String> {
    let has_mean = |cell: &&CellSummary| cell.value(&format!("{ratio}_geomean")).is_some();
    let others: Vec<&CellSummary> = cells.iter().copied().filter(has_mean).collect();
    let texts = others.iter().map(|cell| {
        let [geomean, median] = ["geomean", "median"].map(|mean| {
            let Reading { value, ci95, .. } = cell.measured(&format!("{ratio}_{mean}"));
            value.map_or_else(|| "—".to_owned(), |value| with_interval(value, ci95, 2, true))
        });
        format!("{} {geomean} / {median}", cell.id)
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() {
        return None;
    }
    let observed = |cell: &&&CellSummary| cell.measured(ratio).observations;
    let is_of_batches =
        |cell: &&&CellSummary| observed(cell).is_some_and(|found| found.of == ObservedUnit::Batches);
    let unit = match others.iter().filter(is_of_batches).count() {
        0 => "prompt by prompt",
        n if n == texts.len() => "batch by batch",
        _ => "prompt by prompt (batch by batch where images were decoded together)",
    };
    let is_of_few = |cell: &&CellSummary| {
        let few = observed(&cell).is_some_and(|found| found.n < FEWEST_OBSERVATIONS as u64);
        few && cell.value(&format!("{ratio}_median")).is_none()
    };
    let why = match others.iter().any(is_of_few) {
        true => format!(" A median needs {FEWEST_OBSERVATIONS} prompts or batches."),
        false => String::new(),
    };
    Some(format!("{name} {unit}, geometric mean / median: {}.{why}", texts.join("; ")))
}

/// Faults: what no correct run shows.
pub(crate) fn faults(summary: &Summary) -> Vec<String> {
    let line = |c: &CellSummary| {
        let outside = c.value("out_of_support").filter(|n| c.guarantee == Guarantee::Exact && *n > 0.0)?;
        Some(format!(
            "FAULT: {} is an exact method and emitted {outside} tokens to which the target gives probability 0.",
            c.id
        ))
    };
    summary.cells.iter().filter_map(line).collect()
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
