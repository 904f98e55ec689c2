//! Whether a claim holds in a run. A claim holds when the 95 % interval lies on its side, fails when the interval lies on
//! the other, and is not testable where the interval spans both, a value is missing, or a cell was not run.

use serde::Serialize;
use specimen_table::fixed;

use super::paper::{Claim, Test};
use crate::VerdictError;
use crate::compare::comparison::{Estimate, Scale, estimate};
use crate::measured;
use crate::values::{ByPrompt, RunValues};

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
}

/// A number with its interval.
#[derive(Clone, Copy, Debug)]
struct Ends {
    value: f64,
    low: f64,
    high: f64,
}

/// One part of a condition: what it says and how it came out.
struct Part {
    verdict: ClaimVerdict,
    said: String,
}

/// Tests a claim on a run.
///
/// # Errors
/// When a value of the run is not finite.
pub fn test(claim: &Claim, run: &RunValues) -> Result<TestedClaim, VerdictError> {
    let absent = claim.test.cells().into_iter().find(|cell| run.summary.cell(cell).is_none());
    let parts = match absent {
        Some(cell) => vec![not_testable(format!("the run has no cell `{cell}`"))],
        None => Tester { run }.parts(&claim.test)?,
    };
    // One part that fails refutes the claim; one that cannot be told leaves the rest without a verdict.
    let has = |verdict| parts.iter().any(|part: &Part| part.verdict == verdict);
    let verdict = match (has(ClaimVerdict::DoesNotHold), has(ClaimVerdict::NotTestable)) {
        (true, _) => ClaimVerdict::DoesNotHold,
        (false, true) => ClaimVerdict::NotTestable,
        (false, false) => ClaimVerdict::Holds,
    };
    let said: Vec<String> = parts.into_iter().map(|part| part.said).collect();
    Ok(TestedClaim { id: claim.id.clone(), text: claim.text.clone(), verdict, evidence: said.join("; ") })
}

fn not_testable(why: String) -> Part {
    Part { verdict: ClaimVerdict::NotTestable, said: why }
}

struct Tester<'a> {
    run: &'a RunValues,
}

impl Tester<'_> {
    fn parts(&self, test: &Test) -> Result<Vec<Part>, VerdictError> {
        match test {
            Test::Greater { measure, cell, than } => {
                than.iter().map(|other| self.above(measure, cell, other, 0.0)).collect()
            }
            Test::NotLess { measure, cell, than, within } => {
                than.iter().map(|other| self.above(measure, cell, other, -within)).collect()
            }
            Test::Alike { measure, cells, within } => {
                cells[1..].iter().map(|cell| self.alike(measure, cell, &cells[0], *within)).collect()
            }
            Test::Rises { measure, cells } => self.rises(measure, cells),
            Test::Between { measure, cell, low, high } => Ok(vec![self.between(measure, cell, *low, *high)]),
            Test::Ratio { measure, cell, of, low, high } => {
                Ok(vec![self.ratio(measure, cell, of, *low, *high)?])
            }
        }
    }

    /// `cell` over `other` minus 1 is above `least`.
    fn above(&self, measure: &str, cell: &str, other: &str, least: f64) -> Result<Part, VerdictError> {
        Ok(match self.excess(measure, cell, other)? {
            Err(why) => not_testable(why),
            Ok((ends, said)) => Part {
                verdict: match (ends.low > least, ends.high < least) {
                    (true, _) => ClaimVerdict::Holds,
                    (_, true) => ClaimVerdict::DoesNotHold,
                    _ => ClaimVerdict::NotTestable,
                },
                said,
            },
        })
    }

    fn alike(&self, measure: &str, cell: &str, other: &str, within: f64) -> Result<Part, VerdictError> {
        Ok(match self.excess(measure, cell, other)? {
            Err(why) => not_testable(why),
            Ok((ends, said)) => Part {
                verdict: match (
                    ends.low >= -within && ends.high <= within,
                    ends.low > within || ends.high < -within,
                ) {
                    (true, _) => ClaimVerdict::Holds,
                    (_, true) => ClaimVerdict::DoesNotHold,
                    _ => ClaimVerdict::NotTestable,
                },
                said: format!("{said}, {} % allowed", fixed(100.0 * within, 0)),
            },
        })
    }

    /// No step falls beyond chance, and from first to last it rises.
    fn rises(&self, measure: &str, cells: &[String]) -> Result<Vec<Part>, VerdictError> {
        let mut parts = Vec::new();
        for pair in cells.windows(2) {
            parts.push(match self.excess(measure, &pair[1], &pair[0])? {
                Err(why) => not_testable(why),
                Ok((ends, said)) => Part {
                    verdict: if ends.high < 0.0 { ClaimVerdict::DoesNotHold } else { ClaimVerdict::Holds },
                    said,
                },
            });
        }
        if let [first, .., last] = cells {
            parts.push(self.above(measure, last, first, 0.0)?);
        }
        Ok(parts)
    }

    fn between(&self, measure: &str, cell: &str, low: f64, high: f64) -> Part {
        match self.value(measure, cell) {
            Err(why) => not_testable(why),
            Ok(value) => Part {
                verdict: match (low..=high).contains(&value) {
                    true => ClaimVerdict::Holds,
                    false => ClaimVerdict::DoesNotHold,
                },
                said: format!("{measure} of {cell} is {}, claimed: {low} to {high}", short(value)),
            },
        }
    }

    fn ratio(&self, measure: &str, cell: &str, of: &str, low: f64, high: f64) -> Result<Part, VerdictError> {
        Ok(match self.excess(measure, cell, of)? {
            Err(why) => not_testable(why),
            Ok((ends, _)) => {
                let [value, from, to] = [ends.value, ends.low, ends.high].map(|excess| 1.0 + excess);
                Part {
                    verdict: match (from >= low && to <= high, to < low || from > high) {
                        (true, _) => ClaimVerdict::Holds,
                        (_, true) => ClaimVerdict::DoesNotHold,
                        _ => ClaimVerdict::NotTestable,
                    },
                    said: format!(
                        "{measure} of {cell} over that of {of} is {} [{}, {}], claimed: {low} to {high}",
                        fixed(value, 3),
                        fixed(from, 3),
                        fixed(to, 3)
                    ),
                }
            }
        })
    }

    /// How much more `cell` has than `other`, as a share of what `other` has, with its 95 % interval; or why that cannot
    /// be told.
    fn excess(
        &self,
        measure: &str,
        cell: &str,
        other: &str,
    ) -> Result<Result<(Ends, String), String>, VerdictError> {
        let (ours, theirs, scale) = match measure {
            // A speedup over the shared baseline is compared by the times themselves: both ran interleaved.
            "speedup" => (self.run.decode_s(cell), self.run.decode_s(other), Scale::Ratio),
            _ => (self.run.by_prompt(cell, measure), self.run.by_prompt(other, measure), Scale::Difference),
        };
        if ours.is_empty() || theirs.is_empty() {
            return Ok(self.excess_of_summaries(measure, cell, other));
        }
        let Some(found) = self.paired(&theirs, &ours, scale)? else {
            return Ok(Err(format!("{cell} and {other} share fewer than two prompts")));
        };
        if scale == Scale::Difference && found.a == 0.0 {
            return Ok(Err(format!("{measure} of {other} is 0, so no share of it")));
        }
        let share = |end: f64| if scale == Scale::Ratio { end - 1.0 } else { end / found.a.abs() };
        let ends = Ends { value: share(found.value), low: share(found.ci95[0]), high: share(found.ci95[1]) };
        let said = match scale {
            Scale::Ratio => format!(
                "{cell} is {} [{}, {}] times as fast as {other}",
                fixed(found.value, 2),
                fixed(found.ci95[0], 2),
                fixed(found.ci95[1], 2)
            ),
            Scale::Difference => format!(
                "{measure} {} of {cell} against {} of {other}: {}",
                short(found.b),
                short(found.a),
                percent(&ends)
            ),
        };
        Ok(Ok((ends, format!("{said} over {} prompts", found.n))))
    }

    /// From the cells' own values and intervals, for measures without a value for each image. Without intervals nothing
    /// is told apart.
    fn excess_of_summaries(&self, measure: &str, cell: &str, other: &str) -> Result<(Ends, String), String> {
        let (ours, theirs) = (self.summary_of(measure, cell)?, self.summary_of(measure, other)?);
        let ([low, high], [their_low, their_high]) = match (ours.1, theirs.1) {
            (Some(ours), Some(theirs)) => (ours, theirs),
            _ => {
                return Err(format!(
                    "{measure} {} of {cell} against {} of {other}, without intervals",
                    short(ours.0),
                    short(theirs.0)
                ));
            }
        };
        if theirs.0 == 0.0 {
            return Err(format!("{measure} of {other} is 0, so no share of it"));
        }
        let scale = theirs.0.abs();
        let ends = Ends {
            value: (ours.0 - theirs.0) / scale,
            low: (low - their_high) / scale,
            high: (high - their_low) / scale,
        };
        let said = format!(
            "{measure} {} of {cell} against {} of {other}: {}",
            short(ours.0),
            short(theirs.0),
            percent(&ends)
        );
        Ok((ends, said))
    }

    fn value(&self, measure: &str, cell: &str) -> Result<f64, String> {
        if measure == "tvd_per_token" {
            // Plain decoding makes one forward a token.
            let summary = self.run.summary.cell(cell).ok_or_else(|| format!("there is no cell {cell}"))?;
            let baseline = summary.baseline.as_deref().and_then(|id| self.run.summary.cell(id));
            let n_tokens = baseline.and_then(|cell| cell.nfe);
            let n_tokens =
                n_tokens.ok_or_else(|| "without a baseline the tokens are not known".to_owned())?;
            return Ok(self.summary_of("tvd_spent", cell)?.0 / n_tokens);
        }
        Ok(self.summary_of(measure, cell)?.0)
    }

    fn summary_of(&self, measure: &str, cell: &str) -> Result<(f64, Option<[f64; 2]>), String> {
        let summary = self.run.summary.cell(cell).ok_or_else(|| format!("there is no cell {cell}"))?;
        let found = measured::of(summary, measure);
        let why = || found.why.clone().unwrap_or_else(|| "there is no value".to_owned());
        found.value.map(|value| (value, found.ci95)).ok_or_else(|| format!("{measure} of {cell}: {}", why()))
    }

    fn paired(&self, a: &ByPrompt, b: &ByPrompt, scale: Scale) -> Result<Option<Estimate>, VerdictError> {
        let digest = self.run.summary.result_digest.as_str();
        let seed = u64::from_str_radix(&digest[..16], 16).unwrap_or_default();
        estimate(a, b, scale, seed)
    }
}

fn percent(ends: &Ends) -> String {
    let signed =
        |share: f64| format!("{}{}", if share < 0.0 { "-" } else { "+" }, fixed(100.0 * share.abs(), 1));
    format!("{} % [{}, {}]", signed(ends.value), signed(ends.low), signed(ends.high))
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
