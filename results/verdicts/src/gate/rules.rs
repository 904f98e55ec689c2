//! The rules of a gate: a TOML file in the repository, so that a threshold changes in a reviewed commit.

use std::path::Path;

use serde::Deserialize;

use crate::VerdictError;

/// Schema number of files of rules.
const SCHEMA: u32 = 1;

/// Measures that a clock took; everything else is counted or scored.
const TIMES: [&str; 4] = ["speedup", "speedup_e2e", "decode_s", "e2e_s"];

/// Those of them that are ratios, whose legs are held too.
const RATIOS: [&str; 2] = ["speedup", "speedup_e2e"];

/// All rules of a gate.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Schema number, 1.
    pub schema: u32,
    /// The rules, in the order in which they are checked.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
}

/// One rule: what is held, how far it may move, and where.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "RuleText")]
pub struct Rule {
    /// Names of the cells it holds for; `*` stands for any run of characters.
    pub cells: Vec<String>,
    /// A quantity of the summary (`nfe`, `tokens_per_forward`, `accepted_per_step`, `tpf`, `step_compression`,
    /// `tvd_spent`, `out_of_support`, `n_failed`, `speedup`, `speedup_e2e`, `decode_s`, `e2e_s`), or a metric by its name.
    pub measure: String,
    /// How far it may move.
    pub bound: Bound,
    /// Which moves are held against the run; both for a quantity that should not move at all.
    pub direction: Direction,
    /// With fewer images (of a metric: images that went into it) the rule is left out, with that reason.
    pub min_n: u64,
    /// Reruns in which a failure must come back before it counts; for times.
    pub confirm: u32,
    /// The machine on which it is held: the label that the gate is started with. Required of times.
    pub runner: Option<String>,
    /// Of a ratio of times: share by which each leg may become slower or faster.
    pub legs: Option<f64>,
}

/// A rule as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    cells: Vec<String>,
    measure: String,
    kind: String,
    tolerance: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    #[serde(default)]
    direction: Direction,
    #[serde(default)]
    min_n: u64,
    #[serde(default)]
    confirm: u32,
    runner: Option<String>,
    legs: Option<f64>,
}

impl TryFrom<RuleText> for Rule {
    type Error = String;

    fn try_from(text: RuleText) -> Result<Rule, String> {
        let bound = match (text.kind.as_str(), text.tolerance, text.low, text.high) {
            ("exact", None, None, None) => Bound::Exact,
            ("relative", Some(tolerance), None, None) => Bound::Relative { tolerance },
            ("absolute", Some(tolerance), None, None) => Bound::Absolute { tolerance },
            ("window", None, Some(low), Some(high)) => Bound::Window { low, high },
            ("interval", None, None, None) => Bound::Interval,
            (kind @ ("exact" | "interval"), ..) => {
                return Err(format!("`{kind}` takes neither `tolerance` nor `low` and `high`"));
            }
            (kind @ ("relative" | "absolute"), ..) => {
                return Err(format!("`{kind}` takes `tolerance`, and neither `low` nor `high`"));
            }
            ("window", ..) => return Err("`window` takes `low` and `high`, and no `tolerance`".to_owned()),
            (kind, ..) => {
                return Err(format!(
                    "kind is `{kind}`, expected exact, relative, absolute, window or interval"
                ));
            }
        };
        let RuleText { cells, measure, direction, min_n, confirm, runner, legs, .. } = text;
        let rule = Rule { cells, measure, bound, direction, min_n, confirm, runner, legs };
        match rule.check() {
            Ok(()) => Ok(rule),
            Err(reason) => Err(format!("rule for `{}`: {reason}", rule.measure)),
        }
    }
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
    /// Anywhere inside fixed ends, whatever the baseline has.
    Window {
        /// Lowest value.
        low: f64,
        /// Highest value.
        high: f64,
    },
    /// As far as both 95 % intervals allow: it fails where they lie apart.
    Interval,
}

/// Which moves are held against a run.
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

impl Rules {
    /// Reads and checks a file of rules.
    ///
    /// # Errors
    /// When it cannot be read, is not TOML of this form, or a rule contradicts itself; the rule is named.
    pub fn read(path: &Path) -> Result<Rules, VerdictError> {
        let text = super::read_text(path)?;
        Rules::parse(&path.display().to_string(), &text)
    }

    /// Checks the text of a file of rules.
    ///
    /// # Errors
    /// As [`Rules::read`].
    pub fn parse(file: &str, text: &str) -> Result<Rules, VerdictError> {
        let refuse = |reason: String| VerdictError::BadRules { file: file.to_owned(), reason };
        let rules: Rules = toml::from_str(text).map_err(|e| refuse(e.to_string()))?;
        if rules.schema != SCHEMA {
            return Err(refuse(format!("schema is {}, this program reads {SCHEMA}", rules.schema)));
        }
        Ok(rules)
    }
}

impl Rule {
    /// Whether its measure is a time or made of times.
    #[must_use]
    pub fn is_time(&self) -> bool {
        TIMES.contains(&self.measure.as_str())
    }

    /// Whether it holds for this cell.
    #[must_use]
    pub fn is_for(&self, cell: &str) -> bool {
        self.cells.iter().any(|pattern| matches(pattern, cell))
    }

    /// The rule in words.
    #[must_use]
    pub fn words(&self) -> String {
        let bound = match self.bound {
            Bound::Exact => "exact".to_owned(),
            Bound::Relative { tolerance } => format!("within {} % of the baseline", percent(tolerance)),
            Bound::Absolute { tolerance } => format!("within {tolerance} of the baseline"),
            Bound::Window { low, high } => format!("in [{low}, {high}]"),
            Bound::Interval => "95 % intervals meet".to_owned(),
        };
        match self.direction {
            Direction::Both => bound,
            Direction::HigherIsBetter => format!("{bound}, or higher"),
            Direction::LowerIsBetter => format!("{bound}, or lower"),
        }
    }

    fn check(&self) -> Result<(), String> {
        if self.cells.is_empty() {
            return Err("`cells` is empty; name cells, or \"*\" for all".to_owned());
        }
        match self.bound {
            Bound::Relative { tolerance } | Bound::Absolute { tolerance }
                if tolerance.is_nan() || tolerance < 0.0 =>
            {
                return Err(format!("`tolerance` is {tolerance}, expected 0 or more"));
            }
            Bound::Window { low, high } if low.is_nan() || high.is_nan() || low > high => {
                return Err(format!("the window [{low}, {high}] holds nothing"));
            }
            _ => {}
        }
        if self.is_time() && self.runner.is_none() {
            return Err(
                "times of different machines say nothing of one another; name the `runner`".to_owned()
            );
        }
        if self.is_time() && self.bound == Bound::Exact {
            return Err(
                "no clock shows the same time twice; give `relative`, `window` or `interval`".to_owned()
            );
        }
        let is_ratio = RATIOS.contains(&self.measure.as_str());
        match self.legs {
            None if is_ratio => {
                Err("a ratio rises when its baseline slows down; give `legs`, the share by which either time may move"
                    .to_owned())
            }
            Some(_) if !is_ratio => Err("`legs` belongs to `speedup` and `speedup_e2e`".to_owned()),
            Some(share) if share.is_nan() || share < 0.0 => Err(format!("`legs` is {share}, expected 0 or more")),
            _ => Ok(()),
        }
    }
}

/// A share in percent, without the digits that binary fractions add.
pub(crate) fn percent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}

/// Whether `text` has the form of `pattern`, in which `*` stands for any run of characters.
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
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

    use super::*;

    fn parse(rule: &str) -> Result<Rules, VerdictError> {
        Rules::parse("r.toml", &format!("schema = 1\n[[rule]]\ncells = [\"*\"]\n{rule}"))
    }

    #[test]
    fn every_kind_of_rule_reads() {
        for (text, words) in [
            ("measure = \"nfe\"\nkind = \"exact\"", "exact"),
            (
                "measure = \"nfe\"\nkind = \"relative\"\ntolerance = 0.05\ndirection = \"lower-is-better\"",
                "within 5 % of the baseline, or lower",
            ),
            (
                "measure = \"fid\"\nkind = \"absolute\"\ntolerance = 0.5\nmin_n = 500",
                "within 0.5 of the baseline",
            ),
            ("measure = \"clip\"\nkind = \"window\"\nlow = 31.6\nhigh = 31.8", "in [31.6, 31.8]"),
            (
                "measure = \"speedup\"\nkind = \"interval\"\nrunner = \"lab\"\nlegs = 0.1\nconfirm = 2",
                "95 % intervals meet",
            ),
        ] {
            assert_eq!(parse(text).unwrap().rules[0].words(), words);
        }
    }

    #[test]
    fn rules_that_would_cry_wolf_or_hold_nothing_are_refused_with_the_remedy() {
        for (text, part) in [
            ("measure = \"speedup\"\nkind = \"interval\"\nlegs = 0.1", "name the `runner`"),
            ("measure = \"speedup\"\nkind = \"interval\"\nrunner = \"lab\"", "give `legs`"),
            ("measure = \"decode_s\"\nkind = \"exact\"\nrunner = \"lab\"", "no clock"),
            ("measure = \"nfe\"\nkind = \"relative\"\ntolerance = -1.0", "0 or more"),
            ("measure = \"nfe\"\nkind = \"window\"\nlow = 2.0\nhigh = 1.0", "holds nothing"),
            ("measure = \"nfe\"\nkind = \"exact\"\nlegs = 0.1", "belongs to `speedup`"),
            ("measure = \"nfe\"\nkind = \"relativ\"\ntolerance = 0.1", "expected exact, relative"),
            ("measure = \"nfe\"\nkind = \"relative\"", "takes `tolerance`"),
            ("measure = \"nfe\"\nkind = \"window\"\nlow = 1.0", "takes `low` and `high`"),
            ("measure = \"nfe\"\nkind = \"exact\"\ntolerence = 0.1", "tolerence"),
        ] {
            let said = parse(text).unwrap_err().to_string();
            assert!(said.starts_with("r.toml: ") && said.contains(part), "{part} is not in {said}");
        }
        assert!(
            Rules::parse("r.toml", "schema = 2\nrule = []").unwrap_err().to_string().contains("schema is 2")
        );
    }

    #[test]
    fn stars_stand_for_any_run_of_characters() {
        assert!(matches("*", "") && matches("*", "ar") && matches("sd-*", "sd-chain3"));
        assert!(matches("*static*", "eagle1-static13") && matches("ar", "ar"));
        assert!(!matches("sd-*", "eagle1") && !matches("ar", "ar2") && !matches("", "ar"));
    }
}
