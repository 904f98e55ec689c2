//! The rules of a gate: a TOML file in the repository, so that a threshold changes in a reviewed commit. `docs/gates.md`
//! has the grammar.

use serde::Deserialize;
use specimen_experiments::measures::{is_of_times, measure};

/// All rules of a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Schema number, 1.
    pub schema: u32,
    /// The rules, in the order in which they are checked.
    pub rules: Vec<Rule>,
}

/// One rule: what is checked, how far it may move, and on which machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Where its `cells` are: file, line and column.
    pub place: String,
    /// Where its `measure` is.
    pub measure_place: String,
    /// Names of its cells; `*` matches any characters.
    pub cells: Vec<String>,
    /// A measure, or a metric by its name.
    pub measure: String,
    /// How far it may move.
    pub bound: Bound,
    /// Which moves fail; both for a quantity that should not move at all.
    pub direction: Direction,
    /// With fewer images (of a metric: images that went into it) the rule is left out, with that reason.
    pub min_n: u64,
    /// Reruns in which a failure must come back before it counts; for times.
    pub confirm: u32,
    /// The machine on which it is checked: the label that the gate is started with. Required of times.
    pub runner: Option<String>,
    /// Of a ratio of times: share by which each leg may become slower or faster.
    pub legs: Option<f64>,
}

/// How far a quantity may move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Not at all.
    Exact,
    /// By a share of the baseline's value.
    Relative {
        /// The share: 0.05 is five percent.
        tolerance: f64,
    },
    /// By an amount in its own unit.
    Absolute {
        /// The amount.
        tolerance: f64,
    },
    /// Anywhere inside fixed ends, independent of the baseline.
    Window {
        /// Lowest value.
        low: f64,
        /// Highest value.
        high: f64,
    },
    /// As far as both 95 % intervals allow: it fails where they do not overlap.
    Interval,
}

/// Which moves fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Up and down.
    #[default]
    Both,
    /// Only down.
    HigherIsBetter,
    /// Only up.
    LowerIsBetter,
}

impl Rule {
    /// Whether its measure is a time or made of times.
    pub fn is_time(&self) -> bool {
        is_of_times(&self.measure)
    }

    /// Whether it is for this cell.
    pub fn is_for(&self, cell: &str) -> bool {
        self.cells.iter().any(|pattern| matches(pattern, cell))
    }

    /// Its patterns that no cell of `known` matches.
    pub(crate) fn unused<'r>(&'r self, known: &[&str]) -> impl Iterator<Item = &'r str> {
        self.cells
            .iter()
            .map(String::as_str)
            .filter(|pattern| !known.iter().any(|cell| matches(pattern, cell)))
    }

    /// The rule in words.
    pub fn words(&self) -> String {
        let bound = match self.bound {
            Bound::Exact => "exact".to_owned(),
            Bound::Relative { tolerance } => format!("within {} % of the baseline", percent(tolerance)),
            Bound::Absolute { tolerance } => format!("within {tolerance} of the baseline"),
            Bound::Window { low, high } => format!("in [{low}, {high}]"),
            // A count has none, and what did not move needs none.
            Bound::Interval => "no change, or 95 % intervals overlap".to_owned(),
        };
        match self.direction {
            Direction::Both => bound,
            Direction::HigherIsBetter => format!("{bound}, or higher"),
            Direction::LowerIsBetter => format!("{bound}, or lower"),
        }
    }

    /// The time of which its measure is a ratio, where it is one.
    pub(crate) fn ratio_of(&self) -> Option<&'static str> {
        measure(&self.measure)?.ratio_of.as_deref()
    }
}

/// A share in percent, without the digits that binary fractions add.
pub(crate) fn percent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}

/// Whether `text` has the form of `pattern`, in which `*` matches any characters.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices().map(|(at, _)| at).chain([rest.len()]).any(|at| matches(after, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_match_any_characters() {
        assert!(matches("*", "") && matches("*", "ar") && matches("sd-*", "sd-chain3"));
        assert!(matches("*static*", "eagle1-static13") && matches("ar", "ar"));
        assert!(!matches("sd-*", "eagle1") && !matches("ar", "ar2") && !matches("", "ar"));
    }
}
