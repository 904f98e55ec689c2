//! A file of rules as it is written, read with the place of every value, so that a message names the line to change.

use std::path::Path;

use serde::Deserialize;
use specimen_experiments::place::Places;
use specimen_foundation::failure;
use toml::Spanned;

use super::rules::{Bound, Direction, Rule, Rules};

/// Schema number of files of rules.
const SCHEMA: u32 = 1;

/// A file of rules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    schema: Spanned<u32>,
    #[serde(rename = "rule", default)]
    rules: Vec<Spanned<RuleText>>,
}

/// A rule.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    cells: Spanned<Vec<String>>,
    measure: Spanned<String>,
    kind: Spanned<String>,
    tolerance: Option<Spanned<f64>>,
    low: Option<Spanned<f64>>,
    high: Option<Spanned<f64>>,
    direction: Option<Spanned<Direction>>,
    #[serde(default)]
    min_n: u64,
    #[serde(default)]
    confirm: u32,
    runner: Option<String>,
    legs: Option<Spanned<f64>>,
}

/// What is wrong, and the offset of the value that is.
type Fault = (usize, String);

impl Rules {
    /// Reads and checks a file of rules.
    pub fn read(path: &Path) -> anyhow::Result<Rules> {
        let text = super::read_text(path)?;
        Rules::parse(&path.display().to_string(), &text)
    }

    /// Checks the text of a file of rules.
    pub fn parse(file: &str, text: &str) -> anyhow::Result<Rules> {
        let places = Places::file(file, text);
        let refuse = |(at, reason): Fault| failure!(Spec: "{}: {reason}", places.at(at));
        let found: FileText = toml::from_str(text).map_err(|error| {
            let (place, reason) = places.said(error.span(), error.message());
            failure!(Spec: "{place}: {reason}")
        })?;
        let schema = *found.schema.as_ref();
        if schema != SCHEMA {
            let reason = format!("schema is {schema}, this program reads {SCHEMA}");
            return Err(refuse((found.schema.span().start, reason)).into());
        }
        if found.rules.is_empty() {
            return Err(
                refuse((0, "there is no [[rule]], so nothing would be checked; add one".to_owned())).into()
            );
        }
        let rules = found.rules.into_iter().map(|rule| {
            let (at, rule) = (rule.span().start, rule.into_inner());
            let place = |at: usize| places.at(at).to_string();
            let found = [place(rule.cells.span().start), place(rule.measure.span().start)];
            rule.checked(at, found).map_err(refuse)
        });
        Ok(Rules { schema, rules: rules.collect::<Result<_, _>>()? })
    }
}

impl RuleText {
    /// The rule, whose table begins at `start`.
    fn checked(self, start: usize, [place, measure_place]: [String; 2]) -> Result<Rule, Fault> {
        let bound = self.bound()?;
        let legs_at = self.legs.as_ref().map(|legs| legs.span().start);
        let (measure_at, kind_at) = (self.measure.span().start, self.kind.span().start);
        let cells_at = self.cells.span().start;
        let rule = Rule {
            place,
            measure_place,
            cells: self.cells.into_inner(),
            measure: self.measure.into_inner(),
            bound,
            direction: self.direction.map(Spanned::into_inner).unwrap_or_default(),
            min_n: self.min_n,
            confirm: self.confirm,
            runner: self.runner,
            legs: self.legs.map(Spanned::into_inner),
        };
        let measure = &rule.measure;
        if rule.cells.is_empty() {
            return Err((cells_at, "`cells` is empty; name cells, or \"*\" for all".to_owned()));
        }
        if rule.is_time() && rule.runner.is_none() {
            let why = "times of different machines cannot be compared; name the `runner`";
            return Err((measure_at, format!("`{measure}` is a time: {why}")));
        }
        if rule.is_time() && rule.bound == Bound::Exact {
            let why = "no time repeats exactly; give `relative`, `window` or `interval`";
            return Err((kind_at, format!("`{measure}` is a time: {why}")));
        }
        match rule.legs {
            None if rule.ratio_of().is_some() => Err((
                start,
                format!(
                    "`{measure}` rises when its baseline slows down; give `legs`, the share by which either time may move"
                ),
            )),
            Some(_) if rule.ratio_of().is_none() => {
                let at = legs_at.unwrap_or(start);
                Err((at, format!("`legs` belongs to `speedup` and `speedup_e2e`, not to `{measure}`")))
            }
            Some(share) if share.is_nan() || share < 0.0 => {
                Err((legs_at.unwrap_or(start), format!("`legs` is {share}, expected 0 or more")))
            }
            _ => Ok(rule),
        }
    }

    /// How far the quantity may move.
    fn bound(&self) -> Result<Bound, Fault> {
        let at = self.kind.span().start;
        let extra = |value: &Option<Spanned<f64>>, key: &str| match value {
            None => Ok(()),
            Some(value) => {
                let kind = self.kind.as_ref();
                Err((value.span().start, format!("`{kind}` takes no `{key}`; remove it, or change `kind`")))
            }
        };
        let needed = |value: &Option<Spanned<f64>>, key: &str, takes: &str| match value {
            Some(value) => Ok((value.span().start, *value.as_ref())),
            None => Err((at, format!("`{}` takes {takes}; add `{key}`", self.kind.as_ref()))),
        };
        let no_ends = || extra(&self.low, "low").and_then(|()| extra(&self.high, "high"));
        match self.kind.as_ref().as_str() {
            kind @ ("exact" | "interval") => {
                extra(&self.tolerance, "tolerance").and_then(|()| no_ends())?;
                Ok(if kind == "exact" { Bound::Exact } else { Bound::Interval })
            }
            kind @ ("relative" | "absolute") => {
                no_ends()?;
                let (at, tolerance) = needed(&self.tolerance, "tolerance", "`tolerance`")?;
                if tolerance.is_nan() || tolerance < 0.0 {
                    return Err((at, format!("`tolerance` is {tolerance}, expected 0 or more")));
                }
                Ok(match kind {
                    "relative" => Bound::Relative { tolerance },
                    _ => Bound::Absolute { tolerance },
                })
            }
            "window" => {
                extra(&self.tolerance, "tolerance")?;
                if let Some(direction) = &self.direction {
                    let why =
                        "`window` takes no `direction`, both its ends hold; remove it, or change `kind`";
                    return Err((direction.span().start, why.to_owned()));
                }
                let (at, low) = needed(&self.low, "low", "`low` and `high`")?;
                let (_, high) = needed(&self.high, "high", "`low` and `high`")?;
                if low.is_nan() || high.is_nan() || low > high {
                    return Err((at, format!("the window [{low}, {high}] is empty")));
                }
                Ok(Bound::Window { low, high })
            }
            kind => {
                Err((at, format!("kind is `{kind}`, expected exact, relative, absolute, window or interval")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

    use super::*;

    fn parse(rule: &str) -> anyhow::Result<Rules> {
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
                "no change, or 95 % intervals overlap",
            ),
        ] {
            assert_eq!(parse(text).unwrap().rules[0].words(), words);
        }
    }

    #[test]
    fn rules_that_would_cry_wolf_or_hold_nothing_are_refused_with_the_remedy() {
        // The rule begins in line 2, `cells` is line 3, `measure` line 4 and `kind` line 5.
        for (text, place, part) in [
            ("measure = \"speedup\"\nkind = \"interval\"\nlegs = 0.1", "4:11", "name the `runner`"),
            ("measure = \"speedup\"\nkind = \"interval\"\nrunner = \"lab\"", "2:1", "give `legs`"),
            ("measure = \"decode_s\"\nkind = \"exact\"\nrunner = \"lab\"", "5:8", "no time"),
            ("measure = \"nfe\"\nkind = \"relative\"\ntolerance = -1.0", "6:13", "0 or more"),
            ("measure = \"nfe\"\nkind = \"window\"\nlow = 2.0\nhigh = 1.0", "6:7", "is empty"),
            ("measure = \"nfe\"\nkind = \"exact\"\nlegs = 0.1", "6:8", "belongs to `speedup`"),
            ("measure = \"nfe\"\nkind = \"relativ\"\ntolerance = 0.1", "5:8", "expected exact, relative"),
            ("measure = \"nfe\"\nkind = \"relative\"", "5:8", "takes `tolerance`"),
            ("measure = \"nfe\"\nkind = \"window\"\nlow = 1.0", "5:8", "takes `low` and `high`"),
            ("measure = \"nfe\"\nkind = \"exact\"\nhigh = 1.0", "6:8", "takes no `high`"),
            (
                "measure = \"nfe\"\nkind = \"window\"\nlow = 1.0\nhigh = 2.0\ndirection = \"both\"",
                "8:13",
                "takes no `direction`",
            ),
            ("measure = \"nfe\"\nkind = \"exact\"\ntolerence = 0.1", "6:1", "did you mean `tolerance`?"),
            ("measure = \"nfe\"\nkind = 3", "5:8", "found the integer 3, expected text"),
            ("measure = \"nfe\"", "2:1", "`kind` is missing"),
            (
                "measure = \"nfe\"\nkind = \"relative\"\ntolerance = \"a lot\"",
                "6:13",
                "found the text \"a lot\", expected a number",
            ),
            (
                "measure = \"nfe\"\nkind = \"exact\"\nmin_n = -1",
                "6:9",
                "expected a whole number of at least 0",
            ),
            (
                "measure = \"nfe\"\nkind = \"exact\"\ndirection = \"up\"",
                "6:13",
                "there is no `up`; expected one of",
            ),
        ] {
            let said = parse(text).unwrap_err().to_string();
            assert!(
                said.starts_with(&format!("r.toml:{place}: ")) && said.contains(part),
                "{part} is not in {said}"
            );
            assert_eq!(said.lines().count(), 1, "{said}");
        }
        let refused = |text: &str| Rules::parse("r.toml", text).unwrap_err().to_string();
        assert!(refused("schema = 2\nrule = []").starts_with("r.toml:1:10: schema is 2"));
        assert!(refused("schema = 1\n").contains("there is no [[rule]]"));
    }
}
