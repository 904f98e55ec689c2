//! What a tuning looks for: the best value of one measure among the settings that keep a budget, each bound of which
//! may be relative to the baseline `ar`: `fid<=ar+0.5,clip>=ar-0.002`.
//!
//! A metric is named as in a table (`fid:lantern`), or by a word of its name that no other metric of the spec has
//! (`fid`, `clip`).

use specimen_foundation::names::nearest;

use crate::{
    error::SpecError,
    measures::{self, Measure, is_of_times},
    names::BASELINE,
    place::Place,
    spec::{MetricSpec, Spec},
};

/// An objective within a budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// What is to be as good as it can be: a quantity of the summary, or a metric by its full name.
    pub objective: String,
    /// Whether more of it is better; `None` of a metric, whose scores say it.
    pub higher_is_better: Option<bool>,
    /// What has to be kept; none is a search for the best value at any price.
    pub budget: Vec<Constraint>,
}

/// One bound of a budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// As it was typed, without blanks.
    pub text: String,
    /// What it bounds, by its full name.
    pub measure: String,
    /// From which side.
    pub side: Side,
    /// Share of the baseline's value in the bound; 0 where the bound does not depend on it.
    pub of_baseline: f64,
    /// What is added to that.
    pub plus: f64,
}

/// The side from which a value is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// At most the bound.
    AtMost,
    /// At least the bound.
    AtLeast,
}

impl Goal {
    /// Reads an objective and its budget, both as typed, for a spec.
    pub fn parse(objective: &str, budget: &[String], spec: &Spec) -> Result<Self, SpecError> {
        let place = Place::Argument(format!("--objective {objective}").into());
        let (name, higher_is_better) = measure(objective.trim(), "", spec, &place)?;
        let mut constraints: Vec<Constraint> = Vec::new();
        for argument in budget {
            let place = Place::Argument(format!("--subject-to {argument}").into());
            let mut at = 1;
            for part in argument.split(',') {
                let found = constraint(part, at, spec, &place)?;
                if constraints
                    .iter()
                    .any(|known| (&known.measure, known.side) == (&found.measure, found.side))
                {
                    let problem = format!("{}`{}` is bounded twice from one side", from(at), found.measure);
                    return Err(bad(&place, problem, "keep the bound that is meant"));
                }
                constraints.push(found);
                at += part.chars().count() + 1;
            }
        }
        Ok(Self { objective: name, higher_is_better, budget: constraints })
    }

    /// The measures of it that are times, or made of times: an untimed cell has none of them.
    pub fn timed_measures(&self) -> impl Iterator<Item = &str> {
        let bounded = self.budget.iter().map(|constraint| constraint.measure.as_str());
        std::iter::once(self.objective.as_str()).chain(bounded).filter(|name| is_of_times(name))
    }

    /// Whether the baseline has to be measured for it: speedups and relative bounds need it.
    pub fn needs_baseline(&self) -> bool {
        let measures = self.budget.iter().map(|constraint| &constraint.measure);
        self.budget.iter().any(|constraint| constraint.of_baseline != 0.0)
            || measures.chain([&self.objective]).any(|name| name.starts_with("speedup"))
    }
}

impl Constraint {
    /// The bound, given the baseline's value.
    pub fn bound(&self, baseline: f64) -> f64 {
        self.of_baseline * baseline + self.plus
    }
}

/// One constraint; `at` is its first character in the argument, from 1.
fn constraint(part: &str, at: usize, spec: &Spec, place: &Place) -> Result<Constraint, SpecError> {
    const FORM: &str = "write it like nfe<=90, fid<=ar+0.5, clip>=ar-0.002 or nfe<=ar*0.5";
    if part.trim().is_empty() {
        return Err(bad(place, format!("{}there is no constraint", from(at)), FORM));
    }
    let sides = [("<=", Side::AtMost), (">=", Side::AtLeast)];
    let split = sides.iter().find_map(|(sign, side)| Some((part.split_once(sign)?, *side)));
    let Some(((name, bound), side)) = split else {
        return Err(bad(place, format!("{}`{}` has neither <= nor >=", from(at), part.trim()), FORM));
    };
    let (name, _) = measure(name.trim(), &from(at), spec, place)?;
    let bound_at = at + part.chars().count() - bound.chars().count();
    let bound: String = bound.split_whitespace().collect();
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let relative = |rest: &str| {
        let after = |sign: char| rest.strip_prefix(sign).and_then(number);
        let plus = after('+').or_else(|| after('-').map(|minus| -minus));
        match (plus, after('*')) {
            _ if rest.is_empty() => Some((1.0, 0.0)),
            (Some(plus), _) => Some((1.0, plus)),
            (None, share) => share.map(|share| (share, 0.0)),
        }
    };
    let found = match bound.strip_prefix(BASELINE) {
        Some(rest) => relative(rest),
        None => number(&bound).map(|plus| (0.0, plus)),
    };
    let Some((of_baseline, plus)) = found else {
        let problem = format!("{}`{bound}` is no bound", from(bound_at));
        return Err(bad(place, problem, "a bound is a number, ar, ar+x, ar-x or ar*x"));
    };
    Ok(Constraint { text: part.split_whitespace().collect(), measure: name, side, of_baseline, plus })
}

/// The full name of a measure, and whether more of it is better.
fn measure(
    found: &str,
    position: &str,
    spec: &Spec,
    place: &Place,
) -> Result<(String, Option<bool>), SpecError> {
    if measures::named().any(|name| name == found) {
        let higher = measures::measure(found).and_then(Measure::higher_is_better);
        return Ok((found.to_owned(), higher));
    }
    let metrics: Vec<String> = spec.metrics.iter().flat_map(MetricSpec::values).collect();
    if metrics.iter().any(|name| name == found) {
        return Ok((found.to_owned(), None));
    }
    let has_word = |name: &&String| name.split(['-', ':']).any(|word| word == found);
    let with_word: Vec<&String> = metrics.iter().filter(has_word).collect();
    let known = || measures::named().chain(metrics.iter().map(String::as_str));
    match with_word[..] {
        [only] => Ok((only.clone(), None)),
        [] => {
            let meant = nearest(found, known());
            let meant = meant.first().map(|name| format!(", did you mean `{name}`?")).unwrap_or_default();
            let problem = format!("{position}the spec has no measure `{found}`{meant}");
            Err(bad(place, problem, &format!("it has {}", known().collect::<Vec<_>>().join(", "))))
        }
        [first, second, ..] => {
            let problem = format!("{position}`{found}` may be `{first}` or `{second}`");
            Err(bad(place, problem, "name one in full"))
        }
    }
}

fn from(at: usize) -> String {
    format!("at character {at}: ")
}

fn bad(place: &Place, problem: String, remedy: &str) -> SpecError {
    crate::error::bad_argument(problem, remedy).at(place.clone())
}
