//! A whole tuning: its rungs, the confirmation on prompts that no rung had, and the verdict.

use serde::{Deserialize, Serialize};
use specimen_experiments::goal::Goal;
use specimen_record::SCHEMA;

use super::{
    rung::Placed,
    schedule::Schedule,
    trial::{Standing, Trial},
};

/// What was tried and what came of it; saved after every rung.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// Schema number.
    pub schema: u32,
    /// Name of the spec.
    pub name: String,
    /// Measure that is to be as good as it can be.
    pub objective: String,
    /// Whether more of it is better.
    pub higher_is_better: bool,
    /// The budget, as typed.
    pub budget: Vec<String>,
    /// The settings in the order of the spec, each with its method in full.
    pub settings: Vec<Setting>,
    /// How the prompts are cut.
    pub schedule: Schedule,
    /// The rungs that were run.
    pub rungs: Vec<Rung>,
    /// The run on held-out prompts; absent where no setting met the budget, and until it is there.
    pub confirmation: Option<Confirmation>,
    /// What came of it; absent until then.
    pub verdict: Option<Verdict>,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Name of the cell.
    pub name: String,
    /// Its method, canonical.
    pub method: String,
}

/// One rung: an ordinary run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    /// Folder of the run, beside the trace.
    pub run: String,
    /// Digest of its records.
    pub result_digest: String,
    /// Positions of its prompts, the end excluded.
    pub prompts: [usize; 2],
    /// The settings, the first place first.
    pub trials: Vec<Placed>,
}

/// The chosen setting on prompts that had no part in choosing it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confirmation {
    /// Folder of the run, beside the trace.
    pub run: String,
    /// Digest of its records.
    pub result_digest: String,
    /// Positions of its prompts, the end excluded.
    pub prompts: [usize; 2],
    /// What was measured.
    #[serde(flatten)]
    pub trial: Trial,
    /// Where it stands towards the budget.
    pub standing: Standing,
}

/// What came of a tuning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Verdict {
    /// The setting met the budget when it was chosen and on the held-out prompts.
    Confirmed {
        /// Its name.
        setting: String,
        /// Bounds whose interval on the held-out prompts does not decide.
        undecided: Vec<String>,
    },
    /// The setting met the budget when it was chosen and not on the held-out prompts.
    NotConfirmed {
        /// Its name.
        setting: String,
        /// Bounds that it misses there, or that have no value.
        missed: Vec<String>,
    },
    /// No setting of the last rung met the budget.
    NoneMeets {
        /// The one that misses it least; absent where a bound has no value for any of them.
        nearest: Option<String>,
        /// Its largest miss, as a share of the bound.
        miss: Option<f64>,
        /// Settings that met it on the fewer prompts of an earlier rung and were not among its best.
        earlier: Vec<String>,
        /// Why bounds could not be judged, where they could not.
        open: Vec<String>,
    },
}

impl Tuning {
    /// One that has not begun. `higher_is_better` is the goal's or, of a metric, what its scores say.
    #[must_use]
    pub fn new(name: &str, goal: &Goal, settings: Vec<Setting>, schedule: Schedule) -> Tuning {
        Tuning {
            schema: SCHEMA,
            name: name.to_owned(),
            objective: goal.objective.clone(),
            higher_is_better: goal.higher_is_better.unwrap_or(true),
            budget: goal.budget.iter().map(|constraint| constraint.text.clone()).collect(),
            settings,
            schedule,
            rungs: Vec::new(),
            confirmation: None,
            verdict: None,
        }
    }

    /// Settings that the next rung takes, in the order of the spec.
    #[must_use]
    pub fn left(&self) -> Vec<&str> {
        let is_left = |name: &str| match self.rungs.last() {
            None => true,
            Some(rung) => rung.trials.iter().any(|placed| placed.kept && placed.trial.setting == name),
        };
        self.settings.iter().map(|setting| setting.name.as_str()).filter(|name| is_left(name)).collect()
    }

    /// Whether the next thing to do is another rung: there is none yet, or more than one setting is left.
    #[must_use]
    pub fn wants_rung(&self) -> bool {
        self.rungs.is_empty() || self.left().len() > 1
    }

    /// The setting to confirm: the first of the last rung, if it met the budget there.
    #[must_use]
    pub fn best(&self) -> Option<&Placed> {
        let first = self.rungs.last()?.trials.first()?;
        (first.standing == Standing::Meets && first.trial.objective.value.is_some()).then_some(first)
    }

    /// Draws the verdict from what is there.
    pub fn conclude(&mut self) {
        let Some(best) = self.best() else {
            self.verdict = Some(self.none_meets());
            return;
        };
        let setting = best.trial.setting.clone();
        self.verdict = self.confirmation.as_ref().map(|confirmation| {
            let named = |wanted: &dyn Fn(&super::trial::Held) -> bool| -> Vec<String> {
                let held = confirmation.trial.budget.iter().filter(|held| wanted(held));
                held.map(|held| held.constraint.clone()).collect()
            };
            match confirmation.standing {
                Standing::Meets => {
                    Verdict::Confirmed { setting, undecided: named(&|held| !held.is_decided()) }
                }
                _ => Verdict::NotConfirmed {
                    setting,
                    missed: named(&|held| held.standing() != Standing::Meets),
                },
            }
        });
    }

    fn none_meets(&self) -> Verdict {
        let last = self.rungs.last().map(|rung| rung.trials.as_slice()).unwrap_or_default();
        let missed = last.iter().filter_map(|placed| Some((placed, placed.trial.miss()?)));
        let nearest = missed.min_by(|(_, a), (_, b)| a.total_cmp(b));
        let before = &self.rungs[..self.rungs.len().saturating_sub(1)];
        let dropped = before.iter().flat_map(|rung| &rung.trials).filter(|placed| !placed.kept);
        let met = dropped.filter(|placed| placed.standing == Standing::Meets);
        let without = last.iter().flat_map(|placed| &placed.trial.budget).filter(|held| held.slack.is_none());
        let mut open: Vec<String> = without
            .map(|held| {
                let why = held.reading.why.as_deref().unwrap_or("it has no value");
                format!("{}: {why}", held.constraint)
            })
            .collect();
        let objective = last.first().and_then(|placed| placed.trial.objective.why.as_ref());
        open.extend(objective.map(|why| format!("{}: {why}", self.objective)));
        open.dedup();
        Verdict::NoneMeets {
            nearest: nearest.map(|(placed, _)| placed.trial.setting.clone()),
            miss: nearest.map(|(_, miss)| miss),
            earlier: met.map(|placed| placed.trial.setting.clone()).collect(),
            open,
        }
    }
}
