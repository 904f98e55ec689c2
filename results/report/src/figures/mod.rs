//! Every figure a report may have, in reading order: what it is called, and how it comes from a summary. What
//! cannot be drawn has its reason.

mod acceptance_by_depth;
pub(crate) mod breakdown;
mod confidence;
pub(crate) mod diagnostics;
mod draft_paths;
mod feature_pairs;
mod feature_rows;
mod hypervolume;
pub(crate) mod pareto;
mod phases;
pub(crate) mod printed;
mod projected;
mod risen_tokens;
pub(crate) mod setting_lines;
mod sweep;
pub(crate) mod training;
mod tvd;
mod two_axes;

use specimen_foundation::names::{nearest, suggestion};
use specimen_record::{DiagnosticFile, Summary};

use crate::ReportError;
use crate::drawing::figure::{Figure, Style};
use crate::figures::acceptance_by_depth::Depths;
use crate::figures::breakdown::BREAKDOWN;
use crate::figures::diagnostics::DIAGNOSTIC_FIGURES;
use crate::figures::pareto::{Pareto, Quality};
use crate::figures::phases::StepCosts;
use crate::figures::projected::Projected;
use crate::figures::sweep::sweeps;
use crate::figures::tvd::TvdSpent;
use crate::figures::two_axes::two_axes;
use crate::records::breakdown::Breakdown;

/// A figure, or the reason why it is not there.
pub(crate) struct NamedFigure {
    /// Name of its files, without ending.
    pub(crate) name: String,
    pub(crate) drawn: Result<Figure, String>,
}

/// What every figure of the sweeps is called that is not there, and what asks for all of them.
const SWEEP: &str = "sweep";

/// Figures under way: those of a name that is wanted, all where none is named.
struct FigureList<'w> {
    wanted: &'w [String],
    made: Vec<NamedFigure>,
    /// All that a run may have, drawn or not.
    known: Vec<String>,
}

/// What figures show besides the summary.
pub(crate) struct Besides<'a> {
    /// A look into a few images.
    pub(crate) diagnostics: &'a [DiagnosticFile],
    /// Scores by facts of prompts: by each fact, or why there is nothing.
    pub(crate) breakdowns: &'a [(String, Result<Vec<Breakdown>, String>)],
}

/// The figures of a summary and of what is besides it: those named in `wanted`, or all.
pub(crate) fn figures(
    summary: &Summary,
    &Besides { diagnostics, breakdowns }: &Besides<'_>,
    quality: &Quality,
    wanted: &[String],
    style: &Style,
) -> Result<Vec<NamedFigure>, ReportError> {
    let plane = Pareto::of(summary, quality);
    let mut named_figures = FigureList { wanted, made: Vec::new(), known: Vec::new() };
    named_figures.add("pareto", || {
        Ok(plane.as_ref().map(|plane| plane.figure(summary, style)).map_err(Clone::clone))
    })?;
    swept(summary, plane.as_ref(), style, &mut named_figures)?;
    named_figures.add("phases", || Ok(StepCosts::of(summary).map(|costs| costs.figure(summary, style))))?;
    // A run has this one only under a cost table.
    if summary.costs.is_some() || wanted.iter().any(|name| name == "projected") {
        named_figures.add("projected", || {
            Ok(Projected::of(summary).map(|speedups| speedups.figure(summary, style)))
        })?;
    }
    named_figures
        .add("acceptance", || Ok(Depths::of(summary).map(|depths| depths.figure(summary, style))))?;
    named_figures.add("tvd", || Ok(TvdSpent::of(summary).map(|spent| spent.figure(summary, style))))?;
    for (fact, found) in breakdowns {
        match found {
            Ok(found) => {
                // A score of one group alone, such as that of a task by task, has nothing to compare.
                let is_several = |breakdown: &&Breakdown| breakdown.groups.len() > 1;
                let is_one_named = |breakdown: &&Breakdown| wanted.contains(&breakdown.file_name());
                let none = !found.iter().any(|breakdown| is_several(&breakdown));
                for breakdown in found.iter().filter(|one| none || is_several(one) || is_one_named(one)) {
                    named_figures.add(&breakdown.file_name(), || Ok(breakdown.figure(summary, style)))?;
                }
            }
            Err(why) => named_figures.add(&format!("{BREAKDOWN}-{fact}"), || Ok(Err(why.clone())))?,
        }
    }
    for figure in &DIAGNOSTIC_FIGURES {
        named_figures.add(figure.name, || Ok((figure.draw)(diagnostics, summary, style)))?;
    }
    let is_known =
        |name: &&String| named_figures.known.contains(name) || *name == SWEEP || *name == BREAKDOWN;
    if let Some(unknown) = wanted.iter().find(|name| !is_known(name)) {
        let names = || named_figures.known.iter().map(String::as_str);
        let known = match nearest(unknown, names()).is_empty() {
            false => suggestion(unknown, names()),
            true => {
                let all = figures(summary, &Besides { diagnostics, breakdowns }, quality, &[], style)?;
                let drawn = all.iter().filter(|figure| figure.drawn.is_ok());
                suggestion(unknown, drawn.map(|figure| figure.name.as_str()))
            }
        };
        return Err(ReportError::NoFigure { name: unknown.clone(), known });
    }
    Ok(named_figures.made)
}

impl FigureList<'_> {
    /// Draws a figure, if it is wanted.
    fn add(
        &mut self,
        name: &str,
        drawn: impl FnOnce() -> Result<Result<Result<Figure, ReportError>, String>, ReportError>,
    ) -> Result<(), ReportError> {
        // Two numbers of one name: the one with more cells keeps it.
        if self.known.iter().any(|known| known == name) {
            return Ok(());
        }
        self.known.push(name.to_owned());
        let is_of_kind =
            |kind: &str| name.starts_with(kind) && self.wanted.iter().any(|wanted| wanted == kind);
        let is_one_of = is_of_kind(SWEEP) || is_of_kind(BREAKDOWN);
        if !self.wanted.is_empty() && !is_one_of && !self.wanted.iter().any(|wanted| wanted == name) {
            return Ok(());
        }
        let drawn = match drawn()? {
            Ok(figure) => Ok(figure?),
            Err(why) => Err(why),
        };
        self.made.push(NamedFigure { name: name.to_owned(), drawn });
        Ok(())
    }
}

fn swept(
    summary: &Summary,
    plane: Result<&Pareto, &String>,
    style: &Style,
    named_figures: &mut FigureList<'_>,
) -> Result<(), ReportError> {
    let found = match (sweeps(summary), plane) {
        (Ok(found), Ok(plane)) => found.into_iter().map(|sweep| (sweep, plane)).collect::<Vec<_>>(),
        (Err(why), _) => return named_figures.add(SWEEP, || Ok(Err(why))),
        (_, Err(why)) => return named_figures.add(SWEEP, || Ok(Err(why.clone()))),
    };
    for (sweep, plane) in &found {
        named_figures.add(&sweep.file_name(), || Ok(sweep.figure(summary, plane, style)?.map(Ok)))?;
    }
    for maps in plane.iter().flat_map(|plane| two_axes(summary).into_iter().map(move |maps| (maps, plane))) {
        let (maps, plane) = maps;
        named_figures.add(&maps.file_name(), || Ok(Ok(maps.figure(summary, plane, style))))?;
    }
    Ok(())
}

/// Why cells are not in a figure: `a, b: why; c: other reason` of pairs of cell and reason, in the order in which reasons are met. Without pairs no cell
/// could have been in the figure.
pub(crate) fn by_reason(left_out: &[(String, String)]) -> String {
    if left_out.is_empty() {
        return "the run has no other cell".to_owned();
    }
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for (cell, why) in left_out {
        match groups.iter_mut().find(|(known, _)| known == why) {
            Some((_, cells)) => cells.push(cell),
            None => groups.push((why, vec![cell])),
        }
    }
    let texts = groups.iter().map(|(why, cells)| format!("{}: {why}", cells.join(", ")));
    texts.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_named_once_with_all_its_cells() {
        let pairs = [("a", "no image"), ("b", "not timed"), ("c", "no image")];
        let pairs = pairs.map(|(cell, why)| (cell.to_owned(), why.to_owned()));
        assert_eq!(by_reason(&pairs), "a, c: no image; b: not timed");
        assert_eq!(by_reason(&[]), "the run has no other cell");
    }
}
