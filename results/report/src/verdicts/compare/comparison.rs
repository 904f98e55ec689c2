//! All cells and measures of two runs, with Holm's correction over the cells of a measure.

use std::collections::BTreeSet;

use serde::Serialize;
use specimen_experiments::{measures::MEASURES, measures::is_of_times};
use specimen_foundation::{fail, failure, failure::FailureMessage, names::known_names};
use specimen_record::{CellSummary, Mix, ObservedUnit, Origin};
use specimen_stats::{multiple_tests::holm, paired::scores_up_to_rounding};

pub use super::pair::{Estimate, Scale, estimate};

use super::mix::{other_device, other_identity};
use super::pair::change_of_speedup;
use crate::{verdicts::values::ByPrompt, verdicts::values::RunValues, verdicts::values::Span};

/// What a comparison found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Schema number.
    pub schema: u32,
    /// The first run.
    pub a: Side,
    /// The second.
    pub b: Side,
    /// Kinds of differences that were mixed although they differ.
    pub mixed: Vec<Mix>,
    /// One row a cell and measure, measure by measure.
    pub rows: Vec<Row>,
    /// What has no row, because it is one number on every prompt of both runs.
    pub same: Vec<Same>,
    /// What was refused, with the reason.
    pub refused: Vec<Refused>,
    /// Cells of the first run that the second has not; empty where pairs were named.
    pub only_in_a: Vec<String>,
    /// Cells of the second run that the first has not.
    pub only_in_b: Vec<String>,
}

/// A measure that is one number on every prompt of both runs: forwards of plain decoding, as a rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Same {
    /// Name of the cell.
    pub cell: String,
    /// As in [`Row`].
    pub measure: String,
    /// The number.
    pub value: f64,
}

/// One of the two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// Name of the run.
    pub name: String,
    /// Whether all its images were imported.
    pub is_imported: bool,
    /// Its identity.
    pub plan_digest: String,
    /// Digest of its records.
    pub result_digest: String,
    /// The drift of its summary: the baseline's median time in the last third of the blocks over that in the first, above
    /// 1 where it became slower; absent below three blocks.
    pub drift: Option<f64>,
    /// The same in words.
    pub drift_in_words: Option<String>,
    /// Why its speedups are over slow baselines.
    pub slow_baselines: Vec<String>,
}

/// One measure of one cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Name of the cell, of both runs; `x = y` where they differ.
    pub cell: String,
    /// What is compared: a quantity of the summary, `speedup` (each run's own, the ratio of mean times that its table has),
    /// or a metric.
    pub measure: String,
    /// Protocol of a metric.
    pub protocol: Option<String>,
    /// The estimate.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// What its `n` counts.
    pub observed: ObservedUnit,
    /// p value after Holm's correction over the cells of this measure.
    pub p_holm: Option<f64>,
    /// Whether that is below 0.05 and the interval excludes no change; never without an interval.
    pub significant: bool,
}

/// What was not compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refused {
    /// Name of the cell.
    pub cell: String,
    /// What would have been compared.
    pub measure: String,
    /// What differs.
    pub kind: Option<Mix>,
    /// Why.
    pub why: String,
}

/// What to compare.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Pairs of cells, of A and of B; empty for the cells of the same name.
    pub cells: Vec<(String, String)>,
    /// Differences that do not keep numbers out of the table.
    pub mix: BTreeSet<Mix>,
}

impl Options {
    /// Whether cells are compared whatever they are: each pair was named, or the difference is allowed.
    fn takes_any_identity(&self) -> bool {
        !self.cells.is_empty() || self.mix.contains(&Mix::Identity)
    }
}

/// Compares two runs.
pub fn compare(a: &RunValues, b: &RunValues, options: &Options) -> anyhow::Result<Comparison> {
    let pairs = pairs(a, b, options)?;
    let is_other = |(one, two): &(&CellSummary, &CellSummary)| a.other_seed(&one.id, (b, &two.id)).is_some();
    if !pairs.is_empty() && pairs.iter().all(is_other) && !options.mix.contains(&Mix::Seed) {
        return Err(other_seeds((a, b), &pairs, options).into());
    }
    let mut found = Comparison {
        schema: 2,
        a: side(a),
        b: side(b),
        mixed: options.mix.iter().copied().collect(),
        rows: Vec::new(),
        same: Vec::new(),
        refused: Vec::new(),
        only_in_a: only_in(a, b, options),
        only_in_b: only_in(b, a, options),
    };
    let device = other_device(&a.summary, &b.summary).filter(|_| !options.mix.contains(&Mix::Device));
    for (cell_a, cell_b) in &pairs {
        let both = Both { a, b, cell_a, cell_b, device: device.as_deref(), options };
        both.compare(&mut found)?;
    }
    if found.rows.is_empty() && found.same.is_empty() {
        fail!(Mismatch: "nothing of the two runs can be compared: {}", why_nothing(&found.refused));
    }
    correct(&mut found.rows)?;
    Ok(found)
}

/// Why two runs have nothing in one table, of one cell.
fn why_nothing(refused: &[Refused]) -> String {
    let Some(first) = refused.first() else { return "they share no cell with values".to_owned() };
    let of_cell = refused.iter().filter(|refused| refused.cell == first.cell);
    let mut whys: Vec<(&str, Vec<&str>)> = Vec::new();
    for Refused { measure, why, .. } in of_cell {
        match whys.iter_mut().find(|(known, _)| known == why) {
            Some((_, measures)) => measures.push(measure),
            None => whys.push((why, vec![measure])),
        }
    }
    let whys =
        whys.into_iter().map(|(why, measures)| format!("{} of {}: {why}", measures.join(", "), first.cell));
    whys.collect::<Vec<_>>().join("; ")
}

/// Why images of other seeds are no pairs, with all that has to be allowed to compare them all the same.
fn other_seeds(
    (a, b): (&RunValues, &RunValues),
    pairs: &[(&CellSummary, &CellSummary)],
    options: &Options,
) -> FailureMessage {
    let why = pairs.iter().find_map(|(one, two)| why_no_pairs((a, &one.id), (b, &two.id)));
    let why = why.unwrap_or_default();
    let mut kinds = options.mix.clone();
    kinds.insert(Mix::Seed);
    let mut others = pairs.iter().filter(|_| !options.takes_any_identity()).filter_map(|(one, two)| {
        Some(format!("; cell {}: {}", one.id, other_identity((&a.summary, one), (&b.summary, two))?))
    });
    let more = others.next().unwrap_or_default();
    if !more.is_empty() {
        kinds.insert(Mix::Identity);
    }
    let mix = kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(",");
    failure!(Mismatch: "{}; so their images differ by chance too; compare the same prompts all the same with \
        --mix {mix}", why + &more)
}

/// Why the images of two cells are no pairs, if some are of different seeds or of one that is not known.
fn why_no_pairs((a, of_a): (&RunValues, &str), (b, of_b): (&RunValues, &str)) -> Option<String> {
    let ((prompt, sample), seeds) = a.other_seed(of_a, (b, of_b))?;
    let image = format!("prompt `{prompt}`, sample {sample}");
    let unknown = [("A", of_a), ("B", of_b)].into_iter().zip(seeds).find(|(_, seed)| seed.known().is_none());
    Some(match unknown {
        Some(((side, cell), _)) => format!(
            "the seeds of {side}'s cell {cell} are not all known: its images were imported, and their table has none for {image}"
        ),
        None if of_a == of_b => format!("the runs drew cell {of_a}, {image}, from different seeds"),
        None => format!("A's cell {of_a} and B's cell {of_b} drew {image} from different seeds"),
    })
}

fn side(run: &RunValues) -> Side {
    Side {
        name: run.summary.name.clone(),
        is_imported: run.summary.is_imported(),
        plan_digest: run.summary.plan_digest.as_str().to_owned(),
        result_digest: run.summary.result_digest.as_str().to_owned(),
        drift: run.summary.timing_quality.as_ref().and_then(|quality| quality.drift),
        drift_in_words: run.summary.drift_in_words(),
        slow_baselines: run.summary.slow_baselines(),
    }
}

/// Cells of `run` that `other` has not, where pairs are those of one name.
fn only_in(run: &RunValues, other: &RunValues, options: &Options) -> Vec<String> {
    let all = run.summary.cells.iter().filter(|_| options.cells.is_empty());
    all.filter(|cell| other.summary.cell(&cell.id).is_none()).map(|cell| cell.id.clone()).collect()
}

/// The pairs of cells to compare.
fn pairs<'a>(
    a: &'a RunValues,
    b: &'a RunValues,
    options: &Options,
) -> anyhow::Result<Vec<(&'a CellSummary, &'a CellSummary)>> {
    if options.cells.is_empty() {
        let both = a.summary.cells.iter().filter_map(|cell| Some((cell, b.summary.cell(&cell.id)?)));
        return Ok(both.collect());
    }
    let find = |run: &'a RunValues, id: &str| {
        run.summary.cell(id).ok_or_else(|| {
            super::cell_pair::no_such_cell(
                &run.summary.name,
                id,
                &known_names(id, run.summary.cells.iter().map(|cell| cell.id.as_str())),
            )
        })
    };
    options.cells.iter().map(|(one, two)| Ok((find(a, one)?, find(b, two)?))).collect()
}

/// Why `cell` has no speedup to compare.
fn without_speedup(side: &str, cell: &CellSummary) -> String {
    let id = &cell.id;
    match &cell.baseline {
        None => format!("{side}'s {id} has no baseline"),
        Some(_) if cell.is_baseline() => format!("{side}'s {id} is the baseline of its run"),
        Some(baseline) => format!("no image of {side}'s {id} was timed beside one of {baseline}"),
    }
}

/// One pair of cells.
struct Both<'a> {
    a: &'a RunValues,
    b: &'a RunValues,
    cell_a: &'a CellSummary,
    cell_b: &'a CellSummary,
    /// Why times are refused.
    device: Option<&'a str>,
    options: &'a Options,
}

impl Both<'_> {
    fn name(&self) -> String {
        let (a, b) = (&self.cell_a.id, &self.cell_b.id);
        if a == b { a.clone() } else { format!("{a} = {b}") }
    }

    fn compare(&self, found: &mut Comparison) -> anyhow::Result<()> {
        let other = other_identity((&self.a.summary, self.cell_a), (&self.b.summary, self.cell_b));
        let too_few = match self.a.common_prompts(&self.cell_a.id, (self.b, &self.cell_b.id)) {
            Some([0, _]) => Some("no prompt of A is one of B: prompts are paired by their ids"),
            // What is one number in both runs would be one of other prompts, unless they have no others.
            Some([1, all]) if all > 1 => {
                Some("one prompt of A is one of B, by their ids, and a comparison needs two")
            }
            None | Some(_) => None,
        };
        if let Some(why) = too_few {
            let whys: Vec<String> = std::iter::once(why.to_owned()).chain(other).collect();
            self.refuse(found, "everything", None, &whys.join("; "));
            return Ok(());
        }
        let seeds = why_no_pairs((self.a, &self.cell_a.id), (self.b, &self.cell_b.id));
        let whys = [
            (Mix::Identity, other.filter(|_| !self.options.takes_any_identity())),
            (Mix::Seed, seeds.filter(|_| !self.options.mix.contains(&Mix::Seed))),
        ];
        let whys: Vec<(Mix, String)> =
            whys.into_iter().filter_map(|(kind, why)| Some((kind, why?))).collect();
        if !whys.is_empty() {
            self.refuse_all(found, &whys);
            return Ok(());
        }
        for measure in MEASURES.iter().filter(|measure| !measure.of_times).map(|measure| measure.key.as_str())
        {
            let values = |run: &RunValues, cell: &CellSummary| run.by_prompt(&cell.id, measure);
            let (a, b) = (values(self.a, self.cell_a), values(self.b, self.cell_b));
            self.push(found, measure, None, &a, &b, Scale::Difference)?;
        }
        self.times(found)?;
        for (metric, protocol) in self.a.metrics(&self.cell_a.id) {
            let Some((_, theirs)) = self.b.metrics(&self.cell_b.id).find(|(name, _)| *name == metric) else {
                self.refuse(found, metric, None, &lacking("B", self.cell_b, metric));
                continue;
            };
            if theirs != protocol && !self.options.mix.contains(&Mix::Protocol) {
                let why = format!("A has {protocol}, B has {theirs}: they cannot be compared");
                self.refuse(found, metric, Some(Mix::Protocol), &why);
                continue;
            }
            // Where only some images have a value, a comparison of these would be one of a selection.
            if let Some(why) = absent(self.cell_a, metric).or_else(|| absent(self.cell_b, metric)) {
                self.refuse(found, metric, None, why);
                continue;
            }
            let (a, b) =
                (self.a.by_prompt(&self.cell_a.id, metric), self.b.by_prompt(&self.cell_b.id, metric));
            let b = scores_up_to_rounding(&a, &b);
            self.push(found, metric, Some(protocol), &a, &b, Scale::Difference)?;
        }
        let of_a = |metric: &str| self.a.metrics(&self.cell_a.id).any(|(name, _)| name == metric);
        for (metric, _) in self.b.metrics(&self.cell_b.id).filter(|(metric, _)| !of_a(metric)) {
            self.refuse(found, metric, None, &lacking("A", self.cell_a, metric));
        }
        Ok(())
    }

    /// Seconds of A over those of B, and speedup of B minus that of A: each formed within its own run, so that the
    /// second holds where the machine's speed differed between the runs. Where a cell's decoding is unknown, seconds
    /// from the prompt to the saved image.
    fn times(&self, found: &mut Comparison) -> anyhow::Result<()> {
        let of = |span| (self.a.seconds(&self.cell_a.id, span), self.b.seconds(&self.cell_b.id, span));
        let decode = of(Span::Decode);
        let is_known = !decode.0.is_empty() && !decode.1.is_empty();
        let (span, (a, b)) =
            if is_known { (Span::Decode, decode) } else { (Span::EndToEnd, of(Span::EndToEnd)) };
        let (seconds, speedup) = match span {
            Span::Decode => ("decode_s", "speedup"),
            Span::EndToEnd => ("e2e_s", "speedup_e2e"),
        };
        if let Some((cell, _)) =
            [(self.cell_a, &a), (self.cell_b, &b)].into_iter().find(|(_, side)| side.is_empty())
        {
            let why = match cell.origin {
                Some(Origin::Imported) => format!("the times of {} are of another program's clock", cell.id),
                _ => format!("{} is not timed", cell.id),
            };
            self.refuse(found, "decode_s, e2e_s and speedups", None, &why);
            return Ok(());
        }
        if let Some(why) = self.device {
            self.refuse(found, seconds, Some(Mix::Device), why);
            self.refuse(found, speedup, Some(Mix::Device), why);
            return Ok(());
        }
        self.push(found, seconds, None, &a, &b, Scale::Ratio)?;
        match (self.a.paired_times(&self.cell_a.id, span), self.b.paired_times(&self.cell_b.id, span)) {
            (Some(a), Some(b)) => {
                let change = change_of_speedup(&a, &b, self.seed())?;
                self.keep(found, speedup, None, change);
            }
            // Where neither has one, it is no measure of these cells.
            (None, None) => {}
            (Some(_), None) => self.refuse(found, speedup, None, &without_speedup("B", self.cell_b)),
            (None, Some(_)) => self.refuse(found, speedup, None, &without_speedup("A", self.cell_a)),
        }
        Ok(())
    }

    fn push(
        &self,
        found: &mut Comparison,
        measure: &str,
        protocol: Option<&str>,
        a: &ByPrompt,
        b: &ByPrompt,
        scale: Scale,
    ) -> anyhow::Result<()> {
        let is_still = |side: &ByPrompt| side.values().all(|value| Some(value) == side.values().next());
        if is_still(a) && is_still(b) && a.values().next() == b.values().next() {
            let (cell, measure) = (self.name(), measure.to_owned());
            found.same.extend(a.values().next().map(|&value| Same { cell, measure, value }));
            return Ok(());
        }
        // What neither has is no measure of these cells.
        if let Some((side, cell)) = match (a.is_empty(), b.is_empty()) {
            (true, false) => Some(("A", self.cell_a)),
            (false, true) => Some(("B", self.cell_b)),
            _ => None,
        } {
            let of_import = if cell.origin == Some(Origin::Imported) { ", which is imported," } else { "" };
            self.refuse(found, measure, None, &format!("{side}{of_import} has no values of it"));
            return Ok(());
        }
        let estimate = estimate(a, b, scale, self.seed())?;
        self.keep(found, measure, protocol, estimate);
        Ok(())
    }

    /// What times are observed by; batches where one side's are.
    fn observed(&self) -> ObservedUnit {
        let of = [self.a.observed_by(&self.cell_a.id), self.b.observed_by(&self.cell_b.id)];
        if of.contains(&ObservedUnit::Batches) { ObservedUnit::Batches } else { ObservedUnit::Prompts }
    }

    /// Takes an estimate into the table; without one, says why there is none.
    fn keep(
        &self,
        found: &mut Comparison,
        measure: &str,
        protocol: Option<&str>,
        estimate: Option<Estimate>,
    ) {
        let observed = match is_of_times(measure) {
            true => self.observed(),
            false => ObservedUnit::Prompts,
        };
        match (estimate, observed) {
            (Some(estimate), _) => found.rows.push(Row {
                cell: self.name(),
                measure: measure.to_owned(),
                protocol: protocol.map(str::to_owned),
                estimate,
                observed,
                p_holm: None,
                significant: false,
            }),
            (None, ObservedUnit::Prompts) => {
                self.refuse(found, measure, None, "fewer than two prompts have a value in both runs");
            }
            (None, ObservedUnit::Batches) => {
                let why = "fewer than two batches of the same images were timed on both sides";
                self.refuse(found, measure, None, why);
            }
        }
    }

    /// Resampling starts from what is compared, so a comparison gives the same digits every time.
    fn seed(&self) -> u64 {
        let head = |run: &RunValues| {
            u64::from_str_radix(&run.summary.result_digest.as_str()[..16], 16).unwrap_or_default()
        };
        head(self.a) ^ head(self.b).rotate_left(1)
    }

    /// Refuses every measure, for all reasons at once.
    fn refuse_all(&self, found: &mut Comparison, whys: &[(Mix, String)]) {
        let why: Vec<&str> = whys.iter().map(|(_, why)| why.as_str()).collect();
        let kinds: Vec<&str> = whys.iter().map(|(kind, _)| kind.name()).collect();
        found.refused.push(Refused {
            cell: self.name(),
            measure: "everything".to_owned(),
            kind: whys.first().map(|(kind, _)| *kind),
            why: format!("{}; --mix {} compares them anyway", why.join("; "), kinds.join(",")),
        });
    }

    fn refuse(&self, found: &mut Comparison, measure: &str, kind: Option<Mix>, why: &str) {
        let remedy = kind.map(|kind| format!("; --mix {} compares them anyway", kind.name()));
        found.refused.push(Refused {
            cell: self.name(),
            measure: measure.to_owned(),
            kind,
            why: format!("{why}{}", remedy.unwrap_or_default()),
        });
    }
}

/// That a side has no value of a metric, and why or what computes it.
fn lacking(side: &str, cell: &CellSummary, metric: &str) -> String {
    match absent(cell, metric) {
        Some(why) => format!("{side} has no values of it: {why}"),
        // Of an import it depends on what it brought.
        None if cell.origin == Some(Origin::Imported) => {
            format!(
                "{side} has no values of it; `specimen score` says whether it can compute them for an import"
            )
        }
        None => format!("{side} has no values of it; `specimen score` can compute them"),
    }
}

/// Why a cell has no value of a metric, if it has none.
fn absent<'c>(cell: &'c CellSummary, metric: &str) -> Option<&'c str> {
    let of_cell = cell.metrics.iter().find(|scored| scored.metric == metric)?;
    of_cell.why.as_deref().filter(|_| of_cell.value.is_none())
}

/// Orders rows by measure and corrects their p values over the cells of each.
fn correct(rows: &mut [Row]) -> anyhow::Result<()> {
    let mut measures: Vec<String> = Vec::new();
    for row in rows.iter() {
        if !measures.contains(&row.measure) {
            measures.push(row.measure.clone());
        }
    }
    let place = |row: &Row| measures.iter().position(|measure| *measure == row.measure);
    rows.sort_by_key(place);
    for measure in &measures {
        let tested: Vec<usize> = (0..rows.len())
            .filter(|&at| rows[at].measure == *measure && rows[at].estimate.p.is_some())
            .collect();
        let p_values: Vec<f64> = tested.iter().filter_map(|&at| rows[at].estimate.p).collect();
        for (at, corrected) in tested.into_iter().zip(holm(&p_values)?) {
            rows[at].p_holm = Some(corrected);
            // The p value is of the logarithms, the interval of the ratio of means: both have to exclude no change.
            let estimate = &rows[at].estimate;
            let no_change = if estimate.scale == Scale::Ratio { 1.0 } else { 0.0 };
            let is_apart = estimate.ci95.is_some_and(|[low, high]| low > no_change || high < no_change);
            rows[at].significant = corrected < 0.05 && is_apart;
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn without_an_interval_that_excludes_no_change_there_is_no_difference_whatever_the_p_value() {
        let row = |ci95: Option<[f64; 2]>| Row {
            cell: "c".to_owned(),
            measure: "decode_s".to_owned(),
            protocol: None,
            observed: ObservedUnit::Prompts,
            estimate: Estimate {
                scale: Scale::Ratio,
                n: 8,
                a: 1.2,
                b: 1.0,
                value: 1.19,
                ci95,
                geomean: None,
                median: None,
                p: Some(0.01),
                detectable: 1.1,
            },
            p_holm: None,
            significant: false,
        };
        for (ci95, expected) in [(Some([0.97, 1.28]), false), (Some([1.01, 1.28]), true), (None, false)] {
            let mut rows = [row(ci95)];
            correct(&mut rows).unwrap();
            assert_eq!((rows[0].significant, rows[0].p_holm), (expected, Some(0.01)));
        }
    }
}
