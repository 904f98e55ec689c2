//! What came of a tuning, and how it is said.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use specimen_table::{column_decimals, deciding_interval, fixed};

use super::{
    bound::{BoundCheck, BudgetStatus},
    rung::{RankedTrial, TrialOutcome},
    schedule::Schedule,
    tuning::Tuning,
};

/// Prompts beyond which nobody is advised to decide a bound: the value is on it, and another setting is the better use
/// of the time.
pub(super) const MOST_ADVISED: u64 = 1000;
/// Names of undecided bounds in the sentence, at most; all of them are in the trace.
const MOST_NAMED: usize = 4;

/// What came of a tuning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Verdict {
    /// The setting met the budget when it was chosen and on the held-out prompts.
    Confirmed {
        /// Its name.
        setting: String,
        /// Its bounds that the held-out prompts do not decide.
        undecided: Vec<Undecided>,
        /// Bounds that the rungs leave undecided, of settings that would be better.
        rivals: Vec<Undecided>,
    },
    /// The setting met the budget when it was chosen and not on the held-out prompts.
    NotConfirmed {
        /// Its name.
        setting: String,
        /// Bounds that it misses there, or that have no value.
        missed: Vec<String>,
        /// Its bounds that the held-out prompts do not decide, missed or not.
        #[serde(default)]
        undecided: Vec<Undecided>,
        /// Bounds that the rungs leave undecided, of settings that would be better.
        #[serde(default)]
        rivals: Vec<Undecided>,
    },
    /// No setting of the last rung met the budget.
    NoneMeets {
        /// The one that misses it least, of those that are undecided or, where none is, of all, each by its last rung; with
        /// the bound that it misses most, one that is decided if there is any. Absent where a bound has no value for any of
        /// them.
        nearest: Option<NearMiss>,
        /// The other bounds that it misses.
        #[serde(default)]
        also: Vec<NearMiss>,
        /// Settings that met it on the fewer prompts of an earlier rung and were worse than another that did.
        earlier: Vec<String>,
        /// Bounds of the last rung that are undecided.
        undecided: Vec<Undecided>,
        /// Why bounds of settings that are not out could not be judged, where they could not.
        open: Vec<String>,
    },
}

/// A bound that the prompts do not decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undecided {
    /// Name of the setting.
    pub setting: String,
    /// The constraint as typed.
    pub constraint: String,
    /// Prompts that would decide it; absent where the number is not known.
    pub prompts: Option<u64>,
    /// The `--limit` of a tuning that has them; absent for a part of a dataset.
    pub limit: Option<usize>,
    /// Prompts of the dataset, where they are fewer than `limit`.
    #[serde(default)]
    pub too_few: Option<usize>,
}

/// A bound that a setting misses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NearMiss {
    /// Name of the setting.
    pub setting: String,
    /// The constraint as typed.
    pub constraint: String,
    /// By how much, in the unit of the measure.
    pub by: f64,
    /// The interval of that, at the confidence of the tuning.
    pub interval: Option<[f64; 2]>,
    /// Prompts that say so: those up to the last rung that measured the setting.
    #[serde(default)]
    pub prompts: Option<usize>,
    /// Whether this is how its baseline misses it, whose distribution it has.
    #[serde(default)]
    pub is_by_construction: bool,
}

impl Tuning {
    /// Draws the verdict from what is there.
    pub fn conclude(&mut self) {
        let Some(best) = self.best() else {
            self.verdict = Some(self.none_meets());
            return;
        };
        let setting = best.trial.setting.clone();
        self.verdict = self.confirmation.as_ref().map(|confirmation| {
            let bounds = &confirmation.trial.budget;
            let undecided = self.undecided(&setting, bounds, Schedule::limit_of_held_out);
            let rivals = self.rivals(best);
            match confirmation.standing {
                BudgetStatus::Meets => Verdict::Confirmed { undecided, rivals, setting },
                BudgetStatus::Open | BudgetStatus::Misses => {
                    let missed = bounds.iter().filter(|held| held.standing() != BudgetStatus::Meets);
                    let missed = missed.map(|held| held.constraint.clone()).collect();
                    Verdict::NotConfirmed { setting, missed, undecided, rivals }
                }
            }
        });
    }

    /// Bounds that are undecided, or have no value, of settings whose objective is better than that of the best.
    fn rivals(&self, best: &RankedTrial) -> Vec<Undecided> {
        let is_better =
            |placed: &&RankedTrial| match (placed.trial.objective.value, best.trial.objective.value) {
                (Some(theirs), Some(ours)) if self.higher_is_better => theirs > ours,
                (Some(theirs), Some(ours)) => theirs < ours,
                _ => false,
            };
        let last = self.rungs.last().map(|rung| rung.trials.as_slice()).unwrap_or_default();
        let open = last.iter().filter(|placed| placed.fate == TrialOutcome::NotChosen).filter(is_better);
        open.flat_map(|placed| {
            let unknown = placed.trial.budget.iter().filter(|held| held.slack.is_none());
            let unknown = unknown.map(|held| Undecided {
                setting: placed.trial.setting.clone(),
                constraint: held.constraint.clone(),
                prompts: None,
                limit: None,
                too_few: None,
            });
            let undecided =
                self.undecided(&placed.trial.setting, &placed.trial.budget, Schedule::limit_of_search);
            undecided.into_iter().chain(unknown)
        })
        .collect()
    }

    fn none_meets(&self) -> Verdict {
        let last = self.rungs.last().map(|rung| rung.trials.as_slice()).unwrap_or_default();
        let before = &self.rungs[..self.rungs.len().saturating_sub(1)];
        let worse =
            before.iter().flat_map(|rung| &rung.trials).filter(|placed| placed.fate == TrialOutcome::Worse);
        let candidates: Vec<&RankedTrial> =
            last.iter().filter(|placed| !placed.trial.is_ruled_out()).collect();
        let bounds = candidates.iter().flat_map(|placed| &placed.trial.budget);
        let without = bounds.filter(|held| held.slack.is_none());
        let mut open: Vec<String> = without
            .map(|held| {
                let why = held.reading.why.as_deref().unwrap_or("it has no value");
                format!("{}: {why}", held.constraint)
            })
            .collect();
        let objective = candidates.first().and_then(|placed| placed.trial.objective.why.as_ref());
        open.extend(objective.map(|why| format!("{}: {why}", self.objective)));
        open.dedup();
        let nearest = |of: &dyn Fn(&RankedTrial) -> bool| {
            let judged = self.judged().filter(|(placed, _)| of(placed));
            let missing = judged.filter(|(placed, n)| !misses(placed, *n).is_empty());
            let by = |placed: &RankedTrial| placed.trial.miss().unwrap_or(f64::INFINITY);
            missing.min_by(|(a, _), (b, _)| by(a).total_cmp(&by(b)))
        };
        let nearest = nearest(&|placed| !placed.trial.is_decided()).or_else(|| nearest(&|_| true));
        let mut misses = nearest.map(|(placed, n)| misses(placed, n)).unwrap_or_default().into_iter();
        Verdict::NoneMeets {
            nearest: misses.next(),
            also: misses.collect(),
            earlier: worse.map(|placed| placed.trial.setting.clone()).collect(),
            undecided: candidates
                .iter()
                .flat_map(|placed| {
                    self.undecided(&placed.trial.setting, &placed.trial.budget, Schedule::limit_of_search)
                })
                .collect(),
            open,
        }
    }

    /// The bounds of a setting that have a value and are undecided.
    fn undecided(
        &self,
        setting: &str,
        bounds: &[BoundCheck],
        limit_of: fn(usize) -> usize,
    ) -> Vec<Undecided> {
        let open = bounds.iter().filter(|held| held.slack.is_some() && !held.is_decided());
        open.map(|held| {
            let n = held.prompts_to_decide.filter(|_| !self.is_part).and_then(|n| usize::try_from(n).ok());
            let limit = n.map(limit_of);
            Undecided {
                setting: setting.to_owned(),
                constraint: held.constraint.clone(),
                prompts: held.prompts_to_decide,
                limit,
                too_few: self.n_available.filter(|available| limit.is_some_and(|limit| *available < limit)),
            }
        })
        .collect()
    }

    /// Each setting's last trial with the prompts that it is of, the last rung first, but for settings that were worse than
    /// another.
    fn judged(&self) -> impl Iterator<Item = (&RankedTrial, usize)> {
        let later = |at: usize, setting: &str| {
            let mut later = self.rungs[at + 1..].iter().flat_map(|rung| &rung.trials);
            later.any(|placed| placed.trial.setting == setting)
        };
        self.rungs.iter().enumerate().rev().flat_map(move |(at, rung)| {
            let last = rung.trials.iter().filter(move |placed| !later(at, &placed.trial.setting));
            last.filter(|placed| placed.fate != TrialOutcome::Worse).map(|placed| (placed, rung.prompts[1]))
        })
    }

    /// The prompts that the settings were measured on: `6 prompts`, `6 to 26 prompts`.
    fn prompts_judged(&self) -> String {
        let counts = || self.judged().map(|(_, n)| n);
        match (counts().min().unwrap_or(0), counts().max().unwrap_or(0)) {
            (fewest, most) if fewest == most => format!("{most} prompts"),
            (fewest, most) => format!("{fewest} to {most} prompts"),
        }
    }

    /// That the best is no faster than its baseline, whose speedup is 1.
    fn slower_than_baseline(&self) -> &'static str {
        let objective = self.confirmation.as_ref().map(|held_out| &held_out.trial.objective);
        let found = objective.filter(|_| self.objective.starts_with("speedup"));
        match found.map(|found| (found.value, found.ci95)) {
            Some((Some(value), Some([_, high]))) if value < 1.0 && high < 1.0 => {
                " Its baseline is faster, by the held-out prompts."
            }
            Some((Some(value), _)) if value < 1.0 => {
                " On the held-out prompts its baseline was faster; their interval does not decide it."
            }
            _ => "",
        }
    }

    /// The verdict in sentences.
    #[must_use]
    pub fn said(&self) -> String {
        match &self.verdict {
            None => "No verdict yet: the tuning is not finished.".to_owned(),
            Some(Verdict::Confirmed { setting, undecided, rivals }) => {
                let method = self.settings.iter().find(|known| known.name == *setting);
                let method = method.map(|known| format!(" It is {}.", known.method)).unwrap_or_default();
                let (open, rivals) = (self.left_open(undecided), rivals_said(rivals));
                let method = method + self.slower_than_baseline();
                if self.budget.is_empty() {
                    return format!(
                        "`{setting}` is the best. There is no bound that held-out prompts could refute.{method}"
                    );
                }
                let by = if undecided.is_empty() { "" } else { " by its means" };
                format!(
                    "`{setting}` is the best inside the budget; held-out prompts confirm it{by}.{method}{open}{rivals}"
                )
            }
            Some(Verdict::NotConfirmed { setting, missed, undecided, rivals }) => {
                let is_missed = |one: &Undecided| missed.contains(&one.constraint);
                let (open, kept): (Vec<Undecided>, Vec<Undecided>) =
                    undecided.iter().cloned().partition(is_missed);
                let is_certain = |bound: &&str| open.iter().all(|one| one.constraint != *bound);
                let certain: Vec<&str> = missed.iter().map(String::as_str).filter(is_certain).collect();
                let mut said = format!("`{setting}` was the best inside the budget");
                if !certain.is_empty() {
                    said += &format!(", but does not meet {} on held-out prompts", certain.join(", "));
                }
                said.push('.');
                if !open.is_empty() {
                    said += &format!(
                        " Held-out prompts do not confirm it: by its means it misses what they do not decide, {}.",
                        listed(&open, |one| one.constraint.clone())
                    );
                }
                said + self.slower_than_baseline() + &self.left_open(&kept) + &rivals_said(rivals)
            }
            Some(Verdict::NoneMeets { nearest, also, earlier, undecided, open }) => {
                let n = self.n_judged();
                let without = self.without_objective();
                let settings_open: BTreeSet<&str> =
                    undecided.iter().map(|one| one.setting.as_str()).collect();
                // A setting that was worse than another met the budget there.
                let (none, each) = match earlier.is_empty() {
                    true => ("No setting meets the budget", "each"),
                    false => ("No setting is left that meets the budget", "each of the others"),
                };
                let mut said = match undecided.is_empty() && open.is_empty() {
                    _ if !without.is_empty() => format!(
                        "No setting can be chosen: on {n} prompts {} within the budget, without a value of the objective.",
                        match without.as_slice() {
                            [only] => format!("`{only}` is"),
                            several => format!("{} settings are", several.len()),
                        }
                    ),
                    true => {
                        format!("{none}: on {} {each} misses a bound for certain.", self.prompts_judged())
                    }
                    false => {
                        let of = match settings_open.len() {
                            0 => "some".to_owned(),
                            1 => "one setting".to_owned(),
                            several => format!("{several} settings"),
                        };
                        format!("{none}; for {of} it is undecided on {n} prompts.")
                    }
                };
                if let Some(near) = nearest {
                    let all = std::iter::once(near).chain(also);
                    let said_of = |miss: &NearMiss| match miss.is_certain() || also.is_empty() {
                        true => miss.said(),
                        false => format!("{}, which is undecided", miss.said()),
                    };
                    let all: Vec<String> = all.map(said_of).collect();
                    let who = match (settings_open.contains(near.setting.as_str()), settings_open.len()) {
                        (true, 1) => "It",
                        (true, _) => "The nearest of these",
                        (false, _) => "The nearest",
                    };
                    let on = near.prompts.filter(|prompts| *prompts != n);
                    let on = on.map(|prompts| format!(" (on {prompts} prompts)")).unwrap_or_default();
                    said.push_str(&format!(
                        " {who} is `{}`, which misses {}{on}.",
                        near.setting,
                        all.join(" and ")
                    ));
                }
                if !undecided.is_empty() {
                    said.push_str(&format!(" Undecided: {}.", of_settings(undecided)));
                }
                if !earlier.is_empty() {
                    said.push_str(&format!(
                        " On fewer prompts {} met it, but {} worse than another setting that met it.",
                        earlier.join(", "),
                        if earlier.len() == 1 { "was" } else { "were" }
                    ));
                }
                if !open.is_empty() {
                    said.push_str(&format!(" Not judged: {}.", open.join("; ")));
                }
                said
            }
        }
    }

    /// Settings of the last rung that meet the budget and have no value of the objective.
    fn without_objective(&self) -> Vec<&str> {
        let last = self.rungs.last().map(|rung| rung.trials.as_slice()).unwrap_or_default();
        let is_without = |placed: &&RankedTrial| {
            placed.standing == BudgetStatus::Meets && placed.trial.objective.value.is_none()
        };
        last.iter().filter(is_without).map(|placed| placed.trial.setting.as_str()).collect()
    }

    /// Which bounds of the chosen setting the held-out prompts leave open, in a sentence that begins with a space.
    fn left_open(&self, undecided: &[Undecided]) -> String {
        if undecided.is_empty() {
            return String::new();
        }
        let n_held_out = self.confirmation.as_ref().map_or(0, |c| c.prompts[1] - c.prompts[0]);
        let bounds = listed(undecided, |one| one.constraint.clone());
        format!(" The {n_held_out} held-out prompts do not decide {bounds}.")
    }

    /// What it took, in a sentence.
    #[must_use]
    pub(crate) fn cost(&self) -> String {
        let (made, whole) = self.images();
        let share = fixed(100.0 * made as f64 / whole.max(1) as f64, 0);
        format!(
            "The rungs made {made} images, {share} % of the {whole} that the baseline and all {} settings take on {} prompts.",
            self.settings.len(),
            self.schedule.n_search()
        )
    }
}

impl NearMiss {
    /// `nfe<=100 by 5.9 [4.1, 7.6]`.
    fn said(&self) -> String {
        let decimals = column_decimals(&[(self.by, self.interval)]);
        let by = deciding_interval(self.by, self.interval, &[0.0], decimals);
        let whose =
            if self.is_by_construction { " as the baseline does, whose distribution it has" } else { "" };
        format!("{} by {by}{whose}", self.constraint)
    }

    fn is_certain(&self) -> bool {
        self.interval.is_some_and(|[low, _]| low > 0.0)
    }
}

/// The bounds that a setting misses, those that are decided first, and of these the largest miss first; none where a bound
/// has no value.
fn misses(placed: &RankedTrial, prompts: usize) -> Vec<NearMiss> {
    if placed.trial.miss().is_none() {
        return Vec::new();
    }
    let missed = placed.trial.budget.iter().filter_map(|held| {
        let (slack, share) = (held.slack?, held.miss().filter(|miss| *miss > 0.0)?);
        let miss = NearMiss {
            setting: placed.trial.setting.clone(),
            constraint: held.constraint.clone(),
            by: -slack,
            interval: held.slack_interval.map(|[low, high]| [-high, -low]),
            prompts: Some(prompts),
            is_by_construction: held.is_by_construction,
        };
        Some((miss, share))
    });
    let mut missed: Vec<(NearMiss, f64)> = missed.collect();
    missed.sort_by(|(a, of_a), (b, of_b)| {
        b.is_certain().cmp(&a.is_certain()).then_with(|| of_b.total_cmp(of_a))
    });
    missed.into_iter().map(|(miss, _)| miss).collect()
}

/// Open bounds of settings that would be better, in a sentence that begins with a space.
fn rivals_said(rivals: &[Undecided]) -> String {
    match rivals.is_empty() {
        true => String::new(),
        false => format!(" Settings that would be better are undecided: {}.", of_settings(rivals)),
    }
}

fn of_settings(all: &[Undecided]) -> String {
    listed(all, |one| format!("`{}` {}", one.setting, one.constraint))
}

/// `a (about 40 prompts would, --limit 60 and another --out), b, and 3 more`. A folder has one tuning.
fn listed(all: &[Undecided], name: impl Fn(&Undecided) -> String) -> String {
    let text = |one: &Undecided| match (one.prompts, one.limit, one.too_few) {
        (Some(n), ..) if n > MOST_ADVISED => {
            format!("{} (so near the bound that more than {MOST_ADVISED} prompts would)", name(one))
        }
        (Some(n), Some(limit), Some(all)) => {
            format!("{} (about {n} prompts would, of {limit} in all, and the dataset has {all})", name(one))
        }
        (Some(n), Some(limit), None) => {
            format!("{} (about {n} prompts would, --limit {limit} and another --out)", name(one))
        }
        (Some(n), None, _) => format!("{} (about {n} prompts would)", name(one)),
        (None, ..) => name(one),
    };
    let mut texts: Vec<String> = all.iter().take(MOST_NAMED).map(text).collect();
    if all.len() > MOST_NAMED {
        texts.push(format!("and {} more (tune.csv)", all.len() - MOST_NAMED));
    }
    texts.join(", ")
}
