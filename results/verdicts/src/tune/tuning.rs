//! A whole tuning: its rungs, the confirmation on prompts that no rung had, and the verdict.

use serde::{Deserialize, Serialize};
use specimen_experiments::goal::Goal;
use specimen_record::SCHEMA;

use super::{
    bound::BudgetStatus,
    level::Level,
    rung::{RankedTrial, Round},
    schedule::Schedule,
    trial::Trial,
};

pub use super::verdict::{Undecided, Verdict};

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
    /// Whether it is the distance from the baseline's value.
    #[serde(default)]
    pub is_distance: bool,
    /// The budget, as typed.
    pub budget: Vec<String>,
    /// The settings in the order of the spec, each with its method in full.
    pub settings: Vec<Setting>,
    /// How the prompts are cut.
    pub schedule: Schedule,
    /// Level of each interval by which a rung decides ([`super::level`]).
    pub confidence: f64,
    /// Prompts that the dataset has; absent where it has any `--limit` that is advised.
    #[serde(default)]
    pub n_available: Option<usize>,
    /// Whether the spec takes a part of its dataset, which no `--limit` makes larger.
    #[serde(default)]
    pub is_part: bool,
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
    /// Its method, canonical; `external: COMMAND` of another program.
    pub method: String,
}

/// One rung: an ordinary run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    /// Folder of the run, next to the trace.
    pub run: String,
    /// Digest of its records.
    pub result_digest: String,
    /// Positions of the prompts that it adds, the end excluded.
    pub prompts: [usize; 2],
    /// Images it made, those of baselines among them.
    pub n_images: u64,
    /// The settings, the first place first, by all prompts so far.
    pub trials: Vec<RankedTrial>,
}

/// The chosen setting on prompts that had no part in choosing it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confirmation {
    /// Folder of the run, next to the trace.
    pub run: String,
    /// Digest of its records.
    pub result_digest: String,
    /// Positions of its prompts, the end excluded.
    pub prompts: [usize; 2],
    /// Images it made, those of the baseline among them.
    pub n_images: u64,
    /// What was measured.
    #[serde(flatten)]
    pub trial: Trial,
    /// Whether it meets the budget.
    pub standing: BudgetStatus,
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
            is_distance: false,
            budget: goal.budget.iter().map(|constraint| constraint.text.clone()).collect(),
            settings,
            schedule,
            confidence: Level::of_rungs(schedule, goal.budget.len()).now(),
            n_available: None,
            is_part: false,
            rungs: Vec::new(),
            confirmation: None,
            verdict: None,
        }
    }

    /// How the next rung decides.
    #[must_use]
    pub fn round(&self) -> Round {
        Round {
            higher_is_better: self.higher_is_better,
            level: self.level(),
            is_last: self.rungs.len() + 1 >= self.schedule.n_rungs(),
        }
    }

    /// Level of the intervals by which the next rung decides.
    #[must_use]
    pub fn level(&self) -> Level {
        let [_, n_judged] = self.schedule.prompts(self.rungs.len());
        Level::of_rungs(self.schedule, self.budget.len()).judging(n_judged)
    }

    /// Settings that the next rung takes, in the order of the spec.
    #[must_use]
    pub fn left(&self) -> Vec<&str> {
        let is_left = |name: &str| match self.rungs.last() {
            None => true,
            Some(rung) => {
                rung.trials.iter().any(|placed| placed.fate.is_kept() && placed.trial.setting == name)
            }
        };
        self.settings.iter().map(|setting| setting.name.as_str()).filter(|name| is_left(name)).collect()
    }

    /// Whether the next thing to do is another rung: there are prompts for it, and there is more than one setting left
    /// or one that does not meet the budget yet.
    #[must_use]
    pub fn wants_rung(&self) -> bool {
        if self.rungs.is_empty() {
            return true;
        }
        let has_prompts = self.rungs.len() < self.schedule.n_rungs();
        let is_open = match self.left().len() {
            0 => false,
            1 => self.best().is_none(),
            _ => true,
        };
        has_prompts && is_open
    }

    /// The setting to confirm: the only one that the last rung kept, if it met the budget there.
    #[must_use]
    pub fn best(&self) -> Option<&RankedTrial> {
        let mut kept = self.rungs.last()?.trials.iter().filter(|placed| placed.fate.is_kept());
        let only = kept.next().filter(|_| kept.next().is_none())?;
        (only.standing == BudgetStatus::Meets && only.trial.objective.value.is_some()).then_some(only)
    }

    /// Prompts by which the last rung judged.
    #[must_use]
    pub fn n_judged(&self) -> usize {
        self.rungs.last().map_or(0, |rung| rung.prompts[1])
    }

    /// Images of all rungs, and those that all settings would have taken on all prompts of the rungs.
    #[must_use]
    pub fn images(&self) -> (u64, u64) {
        let made = self.rungs.iter().map(|rung| rung.n_images).sum();
        let whole = self.rungs.first().map_or(0, |rung| {
            let n_prompts = (rung.prompts[1] - rung.prompts[0]).max(1) as u64;
            rung.n_images * self.schedule.n_search() as u64 / n_prompts
        });
        (made, whole)
    }
}
