//! Points that CASCADE's text leaves open, or where its equations and Algorithm 2 differ. The defaults follow Algorithm 2.

use serde::{Deserialize, Serialize};

use super::CascadeConfig;

/// Which distribution a converged child is looked up in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConvergenceMass {
    /// That of the candidate's own level (Algorithm 2).
    #[default]
    SameLevel,
    /// That after the candidate (equation 3); the sum is then no mass of one distribution.
    NextLevel,
}

/// Which nodes can have converged to a candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConvergencePairs {
    /// Only direct children of the candidate (Algorithm 2).
    #[default]
    Children,
    /// All nodes one level deeper (equation 2 read literally).
    AllNextLevel,
}

/// Whether a token may lend twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dedupe {
    /// Every node lends, also one that repeats a token or the candidate's own (Algorithm 2).
    #[default]
    Alg2,
    /// A token lends once, the candidate's own never.
    Strict,
}

/// How long a budget lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetScope {
    /// One verification of a tree.
    #[default]
    Verification,
    /// One level of it.
    Level,
    /// The whole image.
    Image,
}

/// Whether mass that changed nothing is charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Charge {
    /// Yes, also when the candidate is then rejected or would have passed without it (Algorithm 2).
    #[default]
    Always,
    /// Only if the candidate passed because of it.
    IfUsed,
}

/// What a rejection takes out of the target's distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CascadeResidual {
    /// What the inner rule takes: the residual is that of the un-relaxed distribution.
    #[default]
    Naive,
    /// The lenders as well, as in LANTERN.
    ZeroUsed,
}

/// Whether a cosine equal to a threshold passes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Threshold {
    /// No (Algorithm 2).
    #[default]
    #[serde(rename = ">")]
    Above,
    /// Yes (equations 1 and 2).
    #[serde(rename = ">=")]
    AtLeast,
}

impl Threshold {
    /// Whether a cosine passes `tau`.
    pub(super) fn passes(self, tau: f64, cosine: f64) -> bool {
        match self {
            Self::Above => tau < cosine,
            Self::AtLeast => tau <= cosine,
        }
    }
}

/// The options that differ from Algorithm 2, as part of a line.
pub(super) fn words(config: &CascadeConfig) -> impl Iterator<Item = &'static str> {
    let options = [
        ("convergence_mass=next_level", config.convergence_mass != ConvergenceMass::SameLevel),
        ("convergence_pairs=all_next_level", config.convergence_pairs != ConvergencePairs::Children),
        ("dedupe=strict", config.dedupe != Dedupe::Alg2),
        ("budget_scope=level", config.budget_scope == BudgetScope::Level),
        ("budget_scope=image", config.budget_scope == BudgetScope::Image),
        ("charge=if_used", config.charge != Charge::Always),
        ("residual=zero_used", config.residual != CascadeResidual::Naive),
        ("threshold=>=", config.threshold != Threshold::Above),
    ];
    options.into_iter().filter(|&(_, differs)| differs).map(|(word, _)| word)
}

/// Whether an option is that of Algorithm 2, and so left out of a spec.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
