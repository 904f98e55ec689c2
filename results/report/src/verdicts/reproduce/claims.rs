//! Whether a claim holds in a run. A claim holds when the 95 % interval is on its side, fails when the interval is on
//! the other, and cannot be decided where the interval spans both, a value is missing, or a cell was not run. A claim about
//! an absolute magnitude is not comparable on a model that is none of the paper's.

use std::collections::BTreeMap;

use serde::Serialize;
use specimen_experiments::spec::MetricSpec;
use specimen_stats::{
    averages::mean_over_groups,
    fewest::{FEWEST_OBSERVATIONS, Undecided, observations_to_decide},
    paired::scores_up_to_rounding,
};

use super::paper::{Claim, Paper, Test};
use crate::{
    table::deciding, table::fixed, verdicts::compare::comparison::Estimate,
    verdicts::compare::comparison::Scale, verdicts::compare::comparison::estimate,
    verdicts::gate::rules::percent as share_in_percent, verdicts::measured, verdicts::values::ByPrompt,
    verdicts::values::RunValues, verdicts::values::Span,
};

/// What came of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimVerdict {
    /// It is so here.
    Holds,
    /// It is not so here.
    DoesNotHold,
    /// This run cannot tell.
    NotTestable,
    /// It is about an absolute magnitude, and the model is none of the paper's.
    NotComparable,
}

impl ClaimVerdict {
    /// As a reader sees it.
    pub fn words(self) -> &'static str {
        match self {
            ClaimVerdict::Holds => "holds",
            ClaimVerdict::DoesNotHold => "DOES NOT HOLD",
            ClaimVerdict::NotTestable => "cannot be decided",
            ClaimVerdict::NotComparable => "not comparable",
        }
    }
}

/// A claim with its verdict and the numbers behind it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestedClaim {
    /// The claim's id.
    pub id: String,
    /// In words.
    pub text: String,
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// The numbers behind it, or why there are none.
    pub evidence: String,
    /// Prompts that would decide a claim whose interval spans both sides, if values and spread stay as they are.
    pub prompts_to_decide: Option<u64>,
}

/// A number with its interval.
#[derive(Clone, Copy, Debug)]
struct Ends {
    value: f64,
    low: f64,
    high: f64,
    /// Prompts it is over; absent of a value that no single prompt has.
    n: Option<usize>,
}

/// A value of a cell, with its interval and the images it is over.
struct Known {
    value: f64,
    ci95: Option<[f64; 2]>,
    /// Images, or the independent observations where they are known.
    n: u64,
}

/// One part of a condition: what it says and how it came out.
struct Part {
    verdict: ClaimVerdict,
    said: String,
    /// Prompts that would decide it.
    prompts: Option<u64>,
    /// Whether its value is on the wrong side, so that these prompts would refute it.
    is_against: bool,
    /// Prompts that it rests on, where it is decided by an interval.
    n: Option<usize>,
}

impl Part {
    fn decided(verdict: ClaimVerdict, said: String) -> Part {
        Part { verdict, said, prompts: None, is_against: false, n: None }
    }

    /// What too few prompts say.
    fn of_few_prompts(said: String) -> Part {
        not_testable(format!("{said}; fewer than {FEWEST_OBSERVATIONS} prompts decide no claim"))
    }

    /// Takes back what was decided by too few prompts.
    fn refuse_few_prompts(&mut self) {
        let is_decided = matches!(self.verdict, ClaimVerdict::Holds | ClaimVerdict::DoesNotHold);
        if is_decided && self.n.is_some_and(|n| n < FEWEST_OBSERVATIONS) {
            let said = std::mem::take(&mut self.said);
            *self = Part { is_against: self.is_against, ..Part::of_few_prompts(said) };
        }
    }

    /// What an interval says that has to be inside `(low, high)`, either of which may be infinite.
    fn of_interval(ends: &Ends, low: f64, high: f64, said: String) -> anyhow::Result<Part> {
        let verdict = match (ends.low >= low && ends.high <= high, ends.high < low || ends.low > high) {
            (true, _) => ClaimVerdict::Holds,
            (_, true) => ClaimVerdict::DoesNotHold,
            _ => ClaimVerdict::NotTestable,
        };
        if verdict != ClaimVerdict::NotTestable {
            return Ok(Part { n: ends.n, ..Part::decided(verdict, said) });
        }
        let prompts = ends.prompts_to_decide(low, high)?;
        let said = match (prompts, ends.n) {
            (Some(_), _) => said,
            (None, None | Some(0 | 1)) => {
                format!("{said}; the number of prompts that would decide it is not known")
            }
            (None, Some(_)) => format!("{said}; a million prompts would not decide this"),
        };
        let is_against = ends.value < low || ends.value > high;
        Ok(Part { verdict, said, prompts, is_against, n: ends.n })
    }
}

impl Ends {
    /// Prompts whose interval would no longer hold any edge inside it.
    fn prompts_to_decide(&self, low: f64, high: f64) -> anyhow::Result<Option<u64>> {
        let Some(n) = self.n.filter(|n| *n > 1) else { return Ok(None) };
        let inside = [low, high].into_iter().filter(|edge| self.low <= *edge && *edge <= self.high);
        let needed = inside.map(|edge| {
            let side = if edge < self.value { self.value - self.low } else { self.high - self.value };
            let (distance, half) = ((self.value - edge).abs(), (self.high - self.low) / 2.0);
            observations_to_decide(&Undecided { n: n as u64, distance, side, half }, 0.95)
        });
        // As many as decide at every edge, and none where one edge stays open.
        let needed: Option<Vec<u64>> = needed.collect::<Result<Option<Vec<u64>>, _>>()?;
        Ok(needed.and_then(|needed| needed.into_iter().max()))
    }
}

/// Tests a claim of a paper on a run.
pub fn test(claim: &Claim, paper: &Paper, run: &RunValues) -> anyhow::Result<TestedClaim> {
    let has = |cell: &str| run.summary.cell(cell).is_some();
    let of_role = |name: &str| {
        let names = paper.roles.get(name).into_iter().flatten();
        names
            .clone()
            .find(|name| has(name))
            .or(names.clone().next())
            .cloned()
            .unwrap_or_else(|| name.to_owned())
    };
    let condition = claim.test.clone().with_cells(of_role);
    let cells = condition.cells();
    let mut parts = match cells.iter().find(|cell| !has(cell)) {
        Some(cell) => vec![not_testable(format!("the run has no cell `{cell}`"))],
        None => {
            Tester { run, models: &paper.models, measure: measure(claim, &cells, run) }.parts(&condition)?
        }
    };
    for part in &mut parts {
        part.refuse_few_prompts();
    }
    // One part that fails refutes the claim; one that is undecided leaves the rest without a verdict.
    let has = |verdict| parts.iter().any(|part: &Part| part.verdict == verdict);
    let order = [ClaimVerdict::NotComparable, ClaimVerdict::DoesNotHold, ClaimVerdict::NotTestable];
    let verdict = order.into_iter().find(|verdict| has(*verdict)).unwrap_or(ClaimVerdict::Holds);
    let open = || parts.iter().filter(|part| part.verdict == ClaimVerdict::NotTestable);
    // The first part that fails refutes the claim. It holds as soon as all that is open does, which nothing open may lean
    // against. The fewer prompts of both decide it.
    let refuting = parts.iter().filter(|part| part.is_against).filter_map(|part| part.prompts).min();
    let may_hold = !open().any(|part| part.is_against);
    let holding = open().map(|part| part.prompts).collect::<Option<Vec<u64>>>().filter(|_| may_hold);
    let fewest = [refuting, holding.and_then(|all| all.into_iter().max())].into_iter().flatten().min();
    let prompts_to_decide = fewest.filter(|_| verdict == ClaimVerdict::NotTestable);
    // Parts share their reason where it is one of their common cell.
    let mut said: Vec<String> = Vec::new();
    for part in parts {
        if !said.contains(&part.said) {
            said.push(part.said);
        }
    }
    if let Some(prompts) = prompts_to_decide {
        said.push(format!("about {prompts} prompts would decide the claim"));
    }
    let (id, text, evidence) = (claim.id.clone(), claim.text.clone(), said.join("; "));
    Ok(TestedClaim { id, text, verdict, evidence, prompts_to_decide })
}

/// The measure of a claim that all of its cells have; else the first that one of them was scored by; else the first.
fn measure(claim: &Claim, cells: &[&str], run: &RunValues) -> String {
    let of = |cell: &&str, measure: &str| {
        run.summary.cell(cell).map(|cell| measured::of_run(&run.summary, cell, measure))
    };
    let is_known = |measure: &&String| {
        cells.iter().all(|cell| of(cell, measure).is_some_and(|found| found.value.is_some()))
    };
    let is_scored = |measure: &&String| {
        cells.iter().any(|cell| of(cell, measure).is_some_and(|found| found.protocol.is_some()))
    };
    let measures = || claim.measure.iter();
    let chosen = measures().find(is_known).or_else(|| measures().find(is_scored)).or(claim.measure.first());
    let chosen = chosen.map_or("", String::as_str);
    let cell = cells.first().and_then(|cell| run.summary.cell(cell));
    cell.map_or(chosen, |cell| measured::name_in(cell, chosen)).to_owned()
}

fn not_testable(why: String) -> Part {
    Part::decided(ClaimVerdict::NotTestable, why)
}

struct Tester<'a> {
    run: &'a RunValues,
    /// The paper's name of each model of ours that is one of its models.
    models: &'a BTreeMap<String, String>,
    measure: String,
}

impl Tester<'_> {
    fn parts(&self, test: &Test) -> anyhow::Result<Vec<Part>> {
        match test {
            Test::Greater { cell, than } => than.iter().map(|other| self.greater(cell, other)).collect(),
            Test::NotLess { cell, than, within } => {
                than.iter().map(|other| self.not_less(cell, other, *within)).collect()
            }
            Test::Alike { cells, within } => {
                cells[1..].iter().map(|cell| self.alike(cell, &cells[0], *within)).collect()
            }
            Test::Rises { cells } => self.rises(cells),
            Test::Between { cell, low, high } => Ok(vec![self.between(cell, *low, *high)?]),
            Test::Ratio { cell, of, low, high } => Ok(vec![self.ratio(cell, of, *low, *high)?]),
        }
    }

    /// `cell` has more than `other`. Equal values are not greater.
    fn greater(&self, cell: &str, other: &str) -> anyhow::Result<Part> {
        Ok(match self.excess(cell, other, &[0.0])? {
            Err(open) => open,
            Ok((ends, said)) if ends.high <= 0.0 => {
                Part { n: ends.n, ..Part::decided(ClaimVerdict::DoesNotHold, said) }
            }
            // An interval that ends at the bound is not above it.
            Ok((ends, said)) if ends.low == 0.0 => not_testable(said),
            Ok((ends, said)) => Part::of_interval(&ends, 0.0, f64::INFINITY, said)?,
        })
    }

    /// `cell` has at least what `other` has, up to a share of it.
    fn not_less(&self, cell: &str, other: &str, within: f64) -> anyhow::Result<Part> {
        Ok(match self.excess(cell, other, &[-within])? {
            Err(open) => open,
            Ok((ends, said)) => {
                let said = match within > 0.0 {
                    true => format!("{said}, {} % less allowed", share_in_percent(within)),
                    false => said,
                };
                Part::of_interval(&ends, -within, f64::INFINITY, said)?
            }
        })
    }

    fn alike(&self, cell: &str, other: &str, within: f64) -> anyhow::Result<Part> {
        Ok(match self.excess(cell, other, &[-within, within])? {
            Err(open) => open,
            Ok((ends, said)) => {
                let said = format!("{said}, {} % allowed", share_in_percent(within));
                Part::of_interval(&ends, -within, within, said)?
            }
        })
    }

    /// No step falls beyond chance, and from first to last it rises.
    fn rises(&self, cells: &[String]) -> anyhow::Result<Vec<Part>> {
        let mut parts = Vec::new();
        for pair in cells.windows(2) {
            parts.push(match self.excess(&pair[1], &pair[0], &[0.0])? {
                Err(open) => open,
                Ok((ends, said)) => {
                    let falls = ends.high < 0.0;
                    let verdict = if falls { ClaimVerdict::DoesNotHold } else { ClaimVerdict::Holds };
                    // A step that leans down holds until more prompts show that it falls.
                    let is_against = !falls && ends.value < 0.0;
                    let prompts = if is_against { ends.prompts_to_decide(0.0, f64::INFINITY)? } else { None };
                    Part { n: ends.n, prompts, is_against, ..Part::decided(verdict, said) }
                }
            });
        }
        if let [first, .., last] = cells {
            parts.push(self.greater(last, first)?);
        }
        Ok(parts)
    }

    /// The only condition on an absolute magnitude.
    fn between(&self, cell: &str, low: f64, high: f64) -> anyhow::Result<Part> {
        let known = match self.summary_of(&self.measure, cell) {
            Err(open) => return Ok(open),
            Ok(known) => known,
        };
        let (value, ends) = (known.value, self.ends(cell, &known)?);
        let shown = |value: f64| faithful(value, &[low, high]);
        let interval = ends.as_ref().map(|ends| format!(" [{}, {}]", shown(ends.low), shown(ends.high)));
        let measure = &self.measure;
        let said = format!(
            "{measure} of {cell} is {}{}, claimed: {low} to {high}",
            shown(value),
            interval.unwrap_or_default()
        );
        let model = self.run.summary.cell(cell).map_or("the model", |cell| cell.model.as_str());
        if !self.models.contains_key(model) {
            let why = format!(
                "{said}; the claim is about an absolute magnitude, and {model} is none of the paper's models"
            );
            return Ok(Part::decided(ClaimVerdict::NotComparable, why));
        }
        let holds =
            if (low..=high).contains(&value) { ClaimVerdict::Holds } else { ClaimVerdict::DoesNotHold };
        Ok(match ends {
            Some(ends) => Part::of_interval(&ends, low, high, said)?,
            None => Part { n: Some(known.n as usize), ..Part::decided(holds, said) },
        })
    }

    fn ratio(&self, cell: &str, of: &str, low: f64, high: f64) -> anyhow::Result<Part> {
        Ok(match self.excess(cell, of, &[low - 1.0, high - 1.0])? {
            Err(open) => open,
            Ok((ends, _)) => {
                let [value, from, to] = [ends.value, ends.low, ends.high].map(|excess| 1.0 + excess);
                let shown = [value, from, to].map(|end| deciding(end, &[low, high], 3));
                let measure = &self.measure;
                let said = format!(
                    "{measure} of {cell} over that of {of} is {} [{}, {}], claimed: {low} to {high}",
                    shown[0], shown[1], shown[2]
                );
                Part::of_interval(&Ends { value, low: from, high: to, n: ends.n }, low, high, said)?
            }
        })
    }

    /// How much more `cell` has than `other`, as a share of what `other` has, with its 95 % interval; or why that is
    /// unknown. The words have the digits that show on which side of each of `bounds` it is.
    fn excess(
        &self,
        cell: &str,
        other: &str,
        bounds: &[f64],
    ) -> anyhow::Result<Result<(Ends, String), Part>> {
        let measure = self.measure.as_str();
        let (ours, theirs, scale) = match measure {
            // A speedup over the shared baseline is compared by the times themselves: both ran interleaved.
            "speedup" => {
                (self.run.seconds(cell, Span::Decode), self.run.seconds(other, Span::Decode), Scale::Ratio)
            }
            _ => (self.run.by_prompt(cell, measure), self.run.by_prompt(other, measure), Scale::Difference),
        };
        if ours.is_empty() || theirs.is_empty() {
            return Ok(self.excess_of_summaries(cell, other, bounds));
        }
        let is_scored = self.run.metrics(cell).any(|(metric, _)| metric == measure);
        let ours = match is_scored {
            true => scores_up_to_rounding(&theirs, &ours),
            false => ours,
        };
        let Some(found) = self.paired(&theirs, &ours, scale)? else {
            return Ok(Err(not_testable(format!("{cell} and {other} share fewer than two prompts"))));
        };
        if scale == Scale::Difference && found.a == 0.0 {
            return Ok(Err(not_testable(format!("{measure} of {other} is 0, so no share of it"))));
        }
        // A share is a ratio of means, whose denominator varies too. Where a value is not above 0 there is no such
        // ratio, and the difference is divided by the mean as it is.
        let is_positive = ours.values().chain(theirs.values()).all(|value| *value > 0.0);
        let ratio = match scale {
            Scale::Ratio => Some(found.clone()),
            Scale::Difference if is_positive => self.paired(&ours, &theirs, Scale::Ratio)?,
            Scale::Difference => None,
        };
        let (ends, value) = match ratio {
            Some(ratio) => (ratio.ci95.map(|ends| ends.map(|end| end - 1.0)), ratio.value - 1.0),
            None => {
                let share = |of: f64| of / found.a.abs();
                (found.ci95.map(|ends| ends.map(share)), share(found.value))
            }
        };
        let factors: Vec<f64> = bounds.iter().map(|bound| 1.0 + bound).collect();
        let factor = |value: f64| deciding(value, &factors, 2);
        let Some(([low, high], of_found)) = ends.zip(found.ci95) else {
            return Ok(Err(Part::of_few_prompts(match scale {
                Scale::Ratio => format!(
                    "{cell} is {} times as fast as {other} over {} prompts",
                    factor(found.value),
                    found.n
                ),
                Scale::Difference => format!(
                    "{measure} {} of {cell} against {} of {other} over {} prompts",
                    short(found.b),
                    short(found.a),
                    found.n
                ),
            })));
        };
        let ends = Ends { value, low, high, n: Some(found.n) };
        let said = match scale {
            Scale::Ratio => format!(
                "{cell} is {} [{}, {}] times as fast as {other}",
                factor(found.value),
                factor(of_found[0]),
                factor(of_found[1])
            ),
            Scale::Difference => format!(
                "{measure} {} of {cell} against {} of {other}: {}",
                short(found.b),
                short(found.a),
                percent(&ends, bounds)
            ),
        };
        Ok(Ok((ends, format!("{said} over {} prompts", found.n))))
    }

    /// From the cells' own values and intervals, for measures without a value for each image; the interval of the
    /// difference by the method of variance estimates recovery (Zou and Donner 2008), as if the cells were independent.
    /// Without intervals nothing is told apart.
    fn excess_of_summaries(&self, cell: &str, other: &str, bounds: &[f64]) -> Result<(Ends, String), Part> {
        let measure = &self.measure;
        let (ours, theirs) = (self.summary_of(measure, cell)?, self.summary_of(measure, other)?);
        let values =
            format!("{measure} {} of {cell} against {} of {other}", short(ours.value), short(theirs.value));
        let (Some(ours_ci95), Some(their_ci95)) = (ours.ci95, theirs.ci95) else {
            return Err(not_testable(format!("{values}, without intervals")));
        };
        if theirs.value == 0.0 {
            return Err(not_testable(format!("{measure} of {other} is 0, so no share of it")));
        }
        let scale = theirs.value.abs();
        let difference = ours.value - theirs.value;
        let below = (ours.value - ours_ci95[0]).hypot(their_ci95[1] - theirs.value);
        let above = (ours_ci95[1] - ours.value).hypot(theirs.value - their_ci95[0]);
        let ends = Ends {
            value: difference / scale,
            low: (difference - below) / scale,
            high: (difference + above) / scale,
            n: Some(ours.n.min(theirs.n) as usize),
        };
        let said = format!("{values}: {}", percent(&ends, bounds));
        Ok((ends, said))
    }

    /// The 95 % interval of a cell's value and the prompts behind it: the summary's, else that of the mean over prompts where
    /// the measure has a value for each image.
    fn ends(&self, cell: &str, known: &Known) -> anyhow::Result<Option<Ends>> {
        let value = known.value;
        if let Some([low, high]) = known.ci95 {
            return Ok(Some(Ends { value, low, high, n: Some(known.n as usize) }));
        }
        let counted = if self.measure == "tvd_per_token" { "tvd_spent" } else { &self.measure };
        let by_prompt = self.run.by_prompt(cell, counted);
        let values: Vec<f64> = by_prompt.values().copied().collect();
        let prompts: Vec<&str> = by_prompt.keys().map(String::as_str).collect();
        if values.is_empty() {
            return Ok(None);
        }
        let (mean, ends) = mean_over_groups(&values, &prompts)?;
        let n = Some(values.len());
        Ok(ends.filter(|_| mean != 0.0).map(|ends| {
            let [low, high] = ends.map(|end| end / mean * value);
            Ends { value, low, high, n }
        }))
    }

    /// The cell's value; where it has none, why, and how many images the spec asks for before there is one.
    fn summary_of(&self, measure: &str, cell: &str) -> Result<Known, Part> {
        let summary = self.run.summary.cell(cell);
        let found =
            summary.map(|cell| measured::of_run(&self.run.summary, cell, measure)).unwrap_or_default();
        let why = found.why.unwrap_or_else(|| "there is no value".to_owned());
        let Some(value) = found.value else {
            let n_images = summary.map_or(0, |cell| cell.n_images);
            // How many would decide is known of a value only.
            let needed = self.least_images(measure).filter(|least| n_images < *least);
            let needed = needed.map(|least| format!("; {least} images give a value, which may decide it"));
            return Err(not_testable(format!("{measure} of {cell}: {why}{}", needed.unwrap_or_default())));
        };
        let n = found.observations.map_or(found.n, |observations| observations.n);
        Ok(Known { value, ci95: found.ci95, n })
    }

    /// Images below which the spec gives a metric no value.
    fn least_images(&self, measure: &str) -> Option<u64> {
        let name = measure.split(':').next();
        let metrics = self.run.summary.spec["metrics"].as_array()?;
        let metric = metrics.iter().find(|metric| metric["name"].as_str() == name)?;
        let metric: MetricSpec = serde_json::from_value(metric.clone()).ok()?;
        Some(metric.fewest_images()? as u64)
    }

    fn paired(&self, a: &ByPrompt, b: &ByPrompt, scale: Scale) -> anyhow::Result<Option<Estimate>> {
        let digest = self.run.summary.result_digest.as_str();
        let seed = u64::from_str_radix(&digest[..16], 16).unwrap_or_default();
        estimate(a, b, scale, seed)
    }
}

fn percent(ends: &Ends, bounds: &[f64]) -> String {
    let bounds: Vec<f64> = bounds.iter().map(|bound| 100.0 * bound).collect();
    let signed = |share: f64| {
        let text = deciding(100.0 * share, &bounds, 1);
        if text.starts_with('-') { text } else { format!("+{text}") }
    };
    format!("{} % [{}, {}]", signed(ends.value), signed(ends.low), signed(ends.high))
}

/// About three significant digits, or as many more as show on which side of each of `bounds` it is.
fn faithful(value: f64, bounds: &[f64]) -> String {
    let text = short(value);
    let shown: f64 = text.parse().unwrap_or(value);
    match bounds.iter().all(|bound| shown.partial_cmp(bound) == value.partial_cmp(bound)) {
        true => text,
        false => deciding(value, bounds, 3),
    }
}

/// Three significant digits or so.
fn short(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => fixed(value, 0),
        middle if middle >= 10.0 => fixed(value, 1),
        small if small >= 0.1 || small == 0.0 => fixed(value, 3),
        _ => format!("{value:.2e}"),
    }
}
