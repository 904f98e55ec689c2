//! Scores of images by a fact of their prompts: category or challenge of PartiPrompts, task of GenEval, supercategories of the
//! objects in COCO's images. For each score that every image has of its own: the mean of each cell in each group, with its
//! interval over prompts, and its difference from the baseline, image by image.

use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::*;
use specimen_foundation::text::csv_field;
use specimen_record::{Better, Guarantee, RunDir, Summary};
use specimen_stats::{
    averages::bootstrap_mean_over_groups,
    bootstrap::{BootstrapPlan, N_RESAMPLES},
    error::StatsError,
    fewest::FEWEST_OBSERVATIONS,
};

use super::{SCORE, of_run};
use crate::{
    ReportError,
    table::{Column as Head, CsvText, Entry, Table, column_decimals, deciding_interval, with_interval},
    tables::conditions::head,
};

/// Seed of the resamples of an interval.
const INTERVAL_SEED: u64 = 1;

/// A value and its interval.
type Measured = (f64, Option<[f64; 2]>);

/// What is known of prompts, by the name of the fact: the groups of each prompt. A prompt of several groups counts in each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptFact {
    /// Its name, `category` say.
    pub name: String,
    /// The groups by prompt id; prompts without one are left out.
    pub of_prompt: BTreeMap<String, Vec<String>>,
}

/// One score of the cells of a run by groups of prompts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Breakdown {
    pub(crate) fact: String,
    /// The metric's name, and the protocol it is under.
    pub(crate) metric: String,
    pub(crate) protocol: String,
    pub(crate) better: Option<Better>,
    /// The groups, the baseline's best first.
    pub(crate) groups: Vec<Group>,
    /// Whether a prompt is in more than one of them.
    pub(crate) overlap: bool,
}

/// A group of prompts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    pub(crate) name: String,
    /// In the order of the summary; cells without an image in it are left out.
    pub(crate) cells: Vec<CellInGroup>,
}

/// The images of a cell in a group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CellInGroup {
    pub(crate) cell: String,
    pub(crate) n_images: u64,
    pub(crate) n_prompts: u64,
    /// The mean; absent where an image has no finite score.
    pub(crate) value: Option<f64>,
    pub(crate) ci95: Option<[f64; 2]>,
    /// From the baseline's images of the same prompts and numbers; absent for a baseline.
    pub(crate) difference: Option<(f64, Option<[f64; 2]>)>,
}

/// The breakdowns of a run by a fact, one for each score; or why there is none.
pub(crate) fn breakdowns(
    run: &RunDir,
    summary: &Summary,
    fact: &PromptFact,
) -> Result<Result<Vec<Breakdown>, String>, ReportError> {
    let frame = of_run::frame(run)?;
    let scores: Vec<&str> = frame
        .get_column_names()
        .into_iter()
        .map(PlSmallStr::as_str)
        .filter(|name| name.starts_with(SCORE))
        .collect();
    if scores.is_empty() {
        return Ok(Err("no metric of the run has a value of each image".to_owned()));
    }
    let Some(rows) = rows(&frame, fact)? else {
        return Ok(Err(format!("no prompt of the run has a {}", fact.name)));
    };
    let mut found = Vec::new();
    for score in scores {
        found.extend(of_score(&frame, &rows, score, summary, fact)?);
    }
    Ok(match found.is_empty() {
        true => Err(format!("no image of a prompt with a {} has a score", fact.name)),
        false => Ok(found),
    })
}

/// Rows of the frame, each as often as its prompt has groups, and the group of each.
struct Rows {
    positions: Vec<usize>,
    groups: Vec<String>,
    overlap: bool,
}

fn rows(frame: &DataFrame, fact: &PromptFact) -> Result<Option<Rows>, ReportError> {
    let mut rows = Rows { positions: Vec::new(), groups: Vec::new(), overlap: false };
    for (at, id) in frame.column("prompt_id")?.str()?.iter().enumerate() {
        let groups = id.and_then(|id| fact.of_prompt.get(id)).map_or(&[][..], Vec::as_slice);
        rows.overlap |= groups.len() > 1;
        rows.positions.extend(groups.iter().map(|_| at));
        rows.groups.extend(groups.iter().cloned());
    }
    Ok((!rows.groups.is_empty()).then_some(rows))
}

/// The breakdown of one score.
fn of_score(
    frame: &DataFrame,
    rows: &Rows,
    score: &str,
    summary: &Summary,
    fact: &PromptFact,
) -> Result<Option<Breakdown>, ReportError> {
    let of_baseline = of_baseline(frame, score, summary)?;
    let (cells, ids) = (frame.column("cell")?.str()?, frame.column("prompt_id")?.str()?);
    let values = frame.column(score)?.f64()?;
    // An image without a score counts where it was made.
    let made = &frame.column("status")?.str()?.equal("ok") | &values.is_not_null();
    let pick = |texts: &StringChunked| {
        rows.positions.iter().map(|&at| texts.get(at).map(str::to_owned)).collect::<Vec<_>>()
    };
    let exploded = DataFrame::new(
        rows.groups.len(),
        vec![
            Column::new("group".into(), rows.groups.clone()),
            Column::new("cell".into(), pick(cells)),
            Column::new("prompt_id".into(), pick(ids)),
            Column::new("made".into(), rows.positions.iter().map(|&at| made.get(at)).collect::<Vec<_>>()),
            Column::new("value".into(), rows.positions.iter().map(|&at| values.get(at)).collect::<Vec<_>>()),
            Column::new(
                "baseline".into(),
                rows.positions.iter().map(|&at| of_baseline[at]).collect::<Vec<_>>(),
            ),
        ],
    )?;
    let made = exploded.filter(exploded.column("made")?.bool()?)?;
    if made.column("value")?.null_count() == made.height() {
        return Ok(None);
    }
    let means = made.group_by_stable(["group", "cell"])?.apply(|group| mean_row(&group))?;
    let (metric, protocol) = score[SCORE.len()..].split_once('@').unwrap_or((&score[SCORE.len()..], ""));
    let mut breakdown = Breakdown {
        fact: fact.name.clone(),
        metric: metric.to_owned(),
        protocol: protocol.to_owned(),
        better: summary.better(metric),
        groups: grouped(&means, summary)?,
        overlap: rows.overlap,
    };
    breakdown.order();
    Ok(Some(breakdown))
}

/// The score of the baseline's image of the same prompt and number, for each row of the frame that is no baseline's.
fn of_baseline(frame: &DataFrame, score: &str, summary: &Summary) -> Result<Vec<Option<f64>>, ReportError> {
    let (cells, ids) = (frame.column("cell")?.str()?, frame.column("prompt_id")?.str()?);
    let (samples, values) = (frame.column("sample")?.u64()?, frame.column(score)?.f64()?);
    let place = |at: usize| Some((ids.get(at)?, samples.get(at)?));
    let mut known: BTreeMap<(&str, &str, u64), f64> = BTreeMap::new();
    for at in 0..frame.height() {
        if let (Some(cell), Some((id, sample)), Some(value)) = (cells.get(at), place(at), values.get(at)) {
            known.insert((cell, id, sample), value);
        }
    }
    let other = |at: usize| {
        let cell = summary.cell(cells.get(at)?)?;
        let baseline = cell.baseline.as_deref().filter(|baseline| *baseline != cell.id)?;
        let (id, sample) = place(at)?;
        known.get(&(baseline, id, sample)).copied()
    };
    Ok((0..frame.height()).map(other).collect())
}

/// The mean of a group's images of one cell, and that of their differences from the baseline's. A mean over a part of the
/// images says nothing of the row's.
fn mean_row(group: &DataFrame) -> PolarsResult<DataFrame> {
    let prompts: Vec<&str> =
        group.column("prompt_id")?.str()?.iter().map(Option::unwrap_or_default).collect();
    let (values, baseline) = (group.column("value")?.f64()?, group.column("baseline")?.f64()?);
    let refused = |error: StatsError| PolarsError::ComputeError(error.to_string().into());
    let all: Vec<f64> = values.iter().flatten().collect();
    let is_whole = all.len() == group.height();
    let found = is_whole.then(|| over_prompts(&all, &prompts)).transpose().map_err(refused)?;
    let (value, ci95) = (found.map(|(value, _)| value), found.and_then(|(_, ci95)| ci95));
    let pairs = values.iter().zip(baseline.iter()).zip(&prompts);
    let (differences, of_pairs): (Vec<f64>, Vec<&str>) =
        pairs.filter_map(|((value, baseline), prompt)| Some((value? - baseline?, *prompt))).unzip();
    let difference = match differences.is_empty() || !is_whole {
        true => None,
        false => Some(over_prompts(&differences, &of_pairs).map_err(refused)?),
    };
    let n_prompts = prompts.iter().collect::<BTreeSet<_>>().len();
    let count = |n: usize| vec![u64::try_from(n).unwrap_or(u64::MAX)];
    let end = |ci95: Option<[f64; 2]>, at: usize| vec![ci95.map(|ends| ends[at])];
    let ends = difference.and_then(|(_, ci95)| ci95);
    DataFrame::new(
        1,
        vec![
            group.column("group")?.slice(0, 1),
            group.column("cell")?.slice(0, 1),
            Column::new("images".into(), count(group.height())),
            Column::new("scored".into(), count(all.len())),
            Column::new("prompts".into(), count(n_prompts)),
            Column::new("value".into(), vec![value]),
            Column::new("low".into(), end(ci95, 0)),
            Column::new("high".into(), end(ci95, 1)),
            Column::new("difference".into(), vec![difference.map(|(value, _)| value)]),
            Column::new("difference_low".into(), end(ends, 0)),
            Column::new("difference_high".into(), end(ends, 1)),
        ],
    )
}

/// The mean, and its 95 % interval by a BCa bootstrap over the prompts, which stays inside of the range of the scores; there is
/// none of too few prompts.
fn over_prompts(values: &[f64], prompts: &[&str]) -> Result<(f64, Option<[f64; 2]>), StatsError> {
    let plan = BootstrapPlan::new(INTERVAL_SEED, N_RESAMPLES, 0.95)?;
    let (mean, interval) = bootstrap_mean_over_groups(values, prompts, &plan)?;
    Ok((mean, interval.map(|interval| [interval.lower, interval.upper])))
}

/// The frame of means as groups with their cells.
fn grouped(means: &DataFrame, summary: &Summary) -> Result<Vec<Group>, ReportError> {
    let text = |name: &str| means.column(name)?.str();
    let count = |name: &str| means.column(name)?.u64();
    let number = |name: &str| means.column(name)?.f64();
    let (groups, cells) = (text("group")?, text("cell")?);
    let (images, prompts, values) = (count("images")?, count("prompts")?, number("value")?);
    let scored = count("scored")?;
    let (low, high) = (number("low")?, number("high")?);
    let (difference, difference_low, difference_high) =
        (number("difference")?, number("difference_low")?, number("difference_high")?);
    let mut found: BTreeMap<&str, Vec<CellInGroup>> = BTreeMap::new();
    for at in 0..means.height() {
        let (Some(group), Some(cell), Some(1..)) = (groups.get(at), cells.get(at), scored.get(at)) else {
            continue;
        };
        let ends = |low: Option<f64>, high: Option<f64>| low.zip(high).map(|(low, high)| [low, high]);
        found.entry(group).or_default().push(CellInGroup {
            cell: cell.to_owned(),
            n_images: images.get(at).unwrap_or_default(),
            n_prompts: prompts.get(at).unwrap_or_default(),
            value: values.get(at),
            ci95: ends(low.get(at), high.get(at)),
            difference: difference
                .get(at)
                .map(|value| (value, ends(difference_low.get(at), difference_high.get(at)))),
        });
    }
    let place = |cell: &str| summary.cells.iter().position(|own| own.id == cell);
    Ok(found
        .into_iter()
        .map(|(name, mut cells)| {
            cells.sort_by_key(|cell| place(&cell.cell));
            Group { name: name.to_owned(), cells }
        })
        .collect())
}

impl Breakdown {
    /// The direction of a column; none where only the distance from the baseline counts.
    fn higher_is_better(&self) -> Option<bool> {
        match self.better {
            Some(Better::Higher) => Some(true),
            Some(Better::Lower) => Some(false),
            Some(Better::NearerToBaseline) | None => None,
        }
    }

    /// Groups by the value of their first cell, which is the baseline where there is one: the best first.
    fn order(&mut self) {
        let is_ascending = matches!(self.better, Some(Better::Lower | Better::NearerToBaseline));
        let sign = if is_ascending { 1.0 } else { -1.0 };
        let value = |group: &Group| {
            group.cells.first().and_then(|cell| cell.value).map_or(f64::INFINITY, |value| sign * value)
        };
        self.groups.sort_by(|a, b| value(a).total_cmp(&value(b)).then_with(|| a.name.cmp(&b.name)));
    }
}

/// The numbers of breakdowns by one fact, a row a score, group and cell; empty where a score has no interval or no difference.
pub(crate) fn breakdown_csv(found: &[Breakdown]) -> Result<String, ReportError> {
    let mut out = CsvText::new();
    out.write_record([
        found.first().map_or("group", |breakdown| breakdown.fact.as_str()),
        "cell",
        "metric",
        "protocol",
        "images",
        "prompts",
        "value",
        "value_lo",
        "value_hi",
        "difference",
        "difference_lo",
        "difference_hi",
    ])?;
    let text = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let end = |ci95: Option<[f64; 2]>, at: usize| text(ci95.map(|ends| ends[at]));
    for breakdown in found {
        for (group, cell) in
            breakdown.groups.iter().flat_map(|group| group.cells.iter().map(move |cell| (group, cell)))
        {
            let ends = cell.difference.and_then(|(_, ci95)| ci95);
            out.write_record([
                csv_field(&group.name),
                csv_field(&cell.cell),
                csv_field(&breakdown.metric),
                breakdown.protocol.clone(),
                cell.n_images.to_string(),
                cell.n_prompts.to_string(),
                text(cell.value),
                end(cell.ci95, 0),
                end(cell.ci95, 1),
                text(cell.difference.map(|(value, _)| value)),
                end(ends, 0),
                end(ends, 1),
            ])?;
        }
    }
    Ok(out.into_text())
}

/// The breakdowns by one fact as a table: a row a group and cell, two columns a score.
pub(crate) fn breakdown_table(summary: &Summary, found: &[Breakdown]) -> Table {
    let fact = &found[0].fact;
    let mut names: Vec<(&str, &str)> = Vec::new();
    for breakdown in found {
        for group in &breakdown.groups {
            for cell in &group.cells {
                if !names.contains(&(group.name.as_str(), cell.cell.as_str())) {
                    names.push((&group.name, &cell.cell));
                }
            }
        }
    }
    // Scores of some groups alone come in groups of their own.
    let order: Vec<&str> = names.iter().map(|(group, _)| *group).fold(Vec::new(), |mut order, group| {
        if !order.contains(&group) {
            order.push(group);
        }
        order
    });
    let place = |cell: &str| summary.cells.iter().position(|own| own.id == cell);
    names.sort_by_key(|(group, cell)| (order.iter().position(|known| known == group), place(cell)));
    let mut table = Table { id: format!("breakdown-{fact}"), head: head(summary), ..Table::default() };
    let texts = |of: fn(&(&str, &str)) -> String| names.iter().map(|name| Entry::plain(&of(name))).collect();
    table.push(Head::text(fact), texts(|(group, _)| (*group).to_owned()));
    table.push(Head::text("cell"), texts(|(_, cell)| (*cell).to_owned()));
    let entry = |breakdown: &Breakdown, (group, cell): &(&str, &str)| {
        let group = breakdown.groups.iter().find(|own| own.name == *group)?;
        group.cells.iter().find(|own| own.cell == *cell).cloned()
    };
    let counts = |name: &(&str, &str), of: fn(&CellInGroup) -> u64| {
        let most = found.iter().filter_map(|breakdown| entry(breakdown, name)).map(|cell| of(&cell)).max();
        Entry::plain(&most.map_or_else(String::new, |n| n.to_string()))
    };
    table.push(
        Head::number("prompts", "", None),
        names.iter().map(|name| counts(name, |cell| cell.n_prompts)).collect(),
    );
    table.push(
        Head::number("images", "", None),
        names.iter().map(|name| counts(name, |cell| cell.n_images)).collect(),
    );
    for breakdown in found {
        let cells: Vec<Option<CellInGroup>> = names.iter().map(|name| entry(breakdown, name)).collect();
        // A difference shows on which side of 0 its interval ends.
        let column = |of: &dyn Fn(&CellInGroup) -> Option<Measured>, is_difference: bool| {
            let values: Vec<_> = cells.iter().map(|cell| cell.as_ref().and_then(of)).collect();
            let decimals = column_decimals(&values.iter().flatten().copied().collect::<Vec<_>>());
            let text = |value: &Option<Measured>| {
                value.map_or_else(
                    || "–".to_owned(),
                    |(value, ci95)| match is_difference {
                        true => deciding_interval(value, ci95, &[0.0], decimals),
                        false => with_interval(value, ci95, decimals, false),
                    },
                )
            };
            values.iter().map(|value| Entry::plain(&text(value))).collect::<Vec<_>>()
        };
        let name = &breakdown.metric;
        table.push(
            Head::number(name, "", breakdown.higher_is_better()),
            column(&|cell| cell.value.map(|value| (value, cell.ci95)), false),
        );
        if cells.iter().flatten().any(|cell| cell.difference.is_some()) {
            table.push(
                Head::number(&format!("Δ {name}"), "", breakdown.higher_is_better()),
                column(&|cell| cell.difference, true),
            );
        }
        let nearer = match breakdown.better {
            Some(Better::NearerToBaseline) => "; Δ nearer to 0 is better for cells that are not exact",
            _ => "",
        };
        table.legend.push(format!("{name}: by {}{nearer}.", breakdown.protocol));
    }
    table.legend.push(
        format!(
            "Means over images with 95 % intervals over prompts (BCa bootstrap; none below {FEWEST_OBSERVATIONS} prompts); Δ: \
             minus the baseline's image of the same prompt and number. The intervals are of each row alone: of twenty rows one \
             is expected to be off."
        ),
    );
    let all = || found.iter().flat_map(|breakdown| &breakdown.groups).flat_map(|group| &group.cells);
    if all().any(|cell| cell.value.is_none()) {
        table.legend.push(
            "– in a row with images: one of them has no finite score (the psnr of equal pictures is infinite) or none yet, \
             so there is no mean."
                .to_owned(),
        );
    }
    let is_exact = |cell: &&specimen_record::CellSummary| {
        cell.guarantee == Guarantee::Exact
            && !cell.is_baseline()
            && names.iter().any(|(_, known)| *known == cell.id)
    };
    let exact: Vec<&str> = summary.cells.iter().filter(is_exact).map(|cell| cell.id.as_str()).collect();
    if !exact.is_empty() {
        table
            .legend
            .push(format!("Exact, so that a Δ is chance whatever its interval: {}.", exact.join(", ")));
    }
    if found[0].overlap {
        table.legend.push(format!("A prompt with several values of {fact} is in each of these groups."));
    }
    table
}
