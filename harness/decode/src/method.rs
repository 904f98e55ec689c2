//! The configuration of a method, and the registry that builds it.
//!
//! A method is data: a drafter (what proposes, in which shape), acceptance rules nested outermost first, and
//! a schedule. The registries are the flat `match` of [`MethodConfig::build`] and, for rules, the list in `methods/mod.rs`.
//! Values are checked when they are read from a spec; [`validate`](MethodConfig::validate) checks values made in code.

mod drafter;
pub(crate) mod error;
mod frontier;
pub(crate) mod keys;
mod parts;
pub(crate) mod rule;
mod schedule;
mod wire;
mod works;

use serde::{Deserialize, Serialize};

pub use self::rule::MOST_RULES;
pub(crate) use self::rule::{RuleSettings, lossless_only};
pub use self::{
    drafter::{DRAFTER_KEYS, DrafterConfig, Proposer, Shape, Tree},
    error::{MethodError, too_many_rules},
    frontier::{FRONTIER_KEYS, FrontierConfig},
    parts::{Needs, Parts},
    schedule::{SCHEDULE_KEYS, ScheduleConfig},
    works::{Works, every_work},
};
pub use crate::methods::{RULE_KEYS, RULE_KINDS, RuleConfig, rule_examples};
use crate::{
    decoder::Method,
    drafter::{DraftModel, Drafter, FilteredDraft},
    features::{FeaturedModel, FeaturesConfig},
    methods::{
        ar::NoDraft,
        eagle1::StaticTreeDrafter,
        eagle2::{DynamicTree, DynamicTreeDrafter},
        sd::chain,
        sjd::{JacobiConfig, JacobiDrafter},
    },
};

/// One choice on each of three axes, or a frontier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MethodConfig {
    /// What proposes tokens; absent means nothing does, which is autoregressive decoding.
    #[serde(default = "DrafterConfig::none")]
    pub drafter: DrafterConfig,
    /// Acceptance rules, outermost first; absent or empty means `[lossless]`.
    #[serde(default = "lossless_only", deserialize_with = "wire::accept")]
    pub accept: Vec<RuleConfig>,
    /// When the target looks; absent means at every step.
    #[serde(default = "ScheduleConfig::always")]
    pub schedule: ScheduleConfig,
    /// What decodes several rows at once; the other three then stay as they are when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frontier: Option<FrontierConfig>,
}

impl MethodConfig {
    /// The configuration of autoregressive decoding.
    #[must_use]
    pub fn ar() -> Self {
        Self {
            drafter: DrafterConfig::none(),
            accept: lossless_only(),
            schedule: ScheduleConfig::always(),
            frontier: None,
        }
    }

    /// Checks what reading a spec checks, for a value made in code.
    ///
    /// # Errors
    /// If a key is missing, out of place or out of range, a tree is unknown or no tree, or rules do not nest.
    pub fn validate(&self) -> Result<(), MethodError> {
        self.drafter.validate()?;
        rule::validate(&self.accept)?;
        if let Some(rule) = self.accept.iter().find(|rule| rule.needs_chain() && !self.drafter.is_chain()) {
            return Err(MethodError(format!(
                "accept rule {} tests a chain of guesses; use shape = \"chain\", or proposer = \
                 \"jacobi\" without `branch`",
                rule.kind()
            )));
        }
        self.frontier.map_or(Ok(()), |frontier| frontier.validate(self))?;
        self.schedule.validate(&self.drafter)
    }

    /// Whether the method provably keeps the target's distribution.
    pub fn is_lossless(&self) -> bool {
        let records = self.drafter.jacobi.as_ref().is_none_or(JacobiConfig::is_lossless);
        self.accept.iter().all(RuleConfig::is_lossless)
            && self.schedule.is_lossless()
            && records
            && self.frontier.is_none()
    }

    /// One line that is the same for equal configurations and different for different ones, for instance
    /// `drafter=eagle1/static(tree=tiny_13) accept=lossless schedule=always`. An empty `accept` reads as
    /// the `lossless` it means. A listed tree never equals a named one. A frontier stands in place of the three.
    pub fn canonical(&self) -> String {
        if let Some(frontier) = self.frontier {
            return format!("frontier={}", frontier.canonical());
        }
        let accept = if self.accept.is_empty() { lossless_only() } else { self.accept.clone() };
        let accept: Vec<String> = accept.iter().map(RuleConfig::canonical).collect();
        let schedule = self.schedule.canonical();
        let drafter = self.drafter.canonical();
        format!("drafter={drafter} accept={} schedule={schedule}", accept.join(">"))
    }

    /// What the method must be put together from.
    pub fn needs(&self) -> Needs {
        let axes = Needs {
            draft_model: self.drafter.shape.is_some(),
            codebook: self.schedule.needs_codebook(),
            ..Needs::default()
        };
        self.accept.iter().map(RuleConfig::needs).fold(axes, Needs::and)
    }

    /// Puts together a method that needs no tables. `draft_model` is the network of the drafter, `None` for
    /// proposers `none` and `jacobi`.
    ///
    /// # Errors
    /// Those of [`build_with`](Self::build_with).
    pub fn build(&self, draft_model: Option<Box<dyn DraftModel>>) -> Result<Method, MethodError> {
        self.build_with(Parts { draft_model, ..Parts::default() })
    }

    /// Puts the method together. Tables it does not need are ignored.
    ///
    /// # Errors
    /// Those of [`validate`](Self::validate); a draft model that is missing or would not be used, a table
    /// that is missing or too small.
    pub fn build_with(&self, mut parts: Parts) -> Result<Method, MethodError> {
        self.validate()?;
        let filtered = |model: Box<dyn DraftModel>| match self.drafter.filter_top_k {
            Some(k) => Box::new(FilteredDraft::new(model, k)) as Box<dyn DraftModel>,
            None => model,
        };
        let draft_model = parts.draft_model.take().map(filtered);
        let features = self.drafter.features.clone().unwrap_or_else(FeaturesConfig::fresh);
        let featured = |model| match self.drafter.proposer {
            Proposer::Model => FeaturedModel::without_features(model),
            _ => FeaturedModel::new(model, features),
        };
        let drafter: Box<dyn Drafter> = match (self.drafter.shape.as_ref(), draft_model) {
            (None, None) => match self.drafter.jacobi.as_ref() {
                Some(jacobi) => Box::new(JacobiDrafter::new(jacobi.clone())),
                None => Box::new(NoDraft),
            },
            (None, Some(_)) => {
                return Err(MethodError(format!(
                    "drafter with {} was built with a draft model it would not use",
                    self.drafter.proposer.as_written()
                )));
            }
            (Some(_), None) => {
                return Err(MethodError(format!(
                    "drafter with {} was built without a draft model; load its weights first",
                    self.drafter.proposer.as_written()
                )));
            }
            (Some(Shape::Chain { depth }), Some(model)) => {
                Box::new(StaticTreeDrafter::over(featured(model), chain(*depth)))
            }
            (Some(Shape::Static { tree }), Some(model)) => {
                Box::new(StaticTreeDrafter::over(featured(model), tree.resolve()?))
            }
            (Some(&Shape::Dynamic { top_k, depth, total_token }), Some(model)) => {
                let shape = DynamicTree { top_k, depth, total_token };
                Box::new(DynamicTreeDrafter::over(featured(model), shape))
            }
        };
        let rule = rule::build(&self.accept, &parts)?;
        let scheduler = self.schedule.build(&parts)?;
        let frontier = self.frontier.map(FrontierConfig::build);
        Ok(Method { drafter, rule, scheduler, frontier })
    }

    /// Most nodes a draft tree can have, the root included: what KV buffers are sized for.
    ///
    /// # Panics
    /// If the configuration is invalid.
    #[must_use]
    pub fn max_tree_nodes(&self) -> usize {
        if let Some(frontier) = self.frontier {
            return frontier.most_placed();
        }
        1 + match self.drafter.shape.as_ref() {
            None => self.drafter.n_guesses(),
            Some(Shape::Chain { depth }) => *depth,
            Some(Shape::Static { tree }) => {
                tree.resolve().expect("the configuration was validated").n_drafts()
            }
            Some(&Shape::Dynamic { top_k, depth, total_token }) => {
                (total_token - 1).min(top_k + depth * top_k * top_k)
            }
        }
    }

    /// Most tokens that the target runs in one forward: a tree and, before it, the path that a skipped verification left.
    ///
    /// # Panics
    /// If the configuration is invalid.
    #[must_use]
    pub fn max_step_tokens(&self) -> usize {
        let n_nodes = self.max_tree_nodes();
        if self.schedule.skips() { 2 * n_nodes - 1 } else { n_nodes }
    }

    /// Most nodes that a drafter runs for one tree: what its own KV buffers are sized for. A beam runs its width at
    /// every level, however few of its candidates stay in the tree.
    ///
    /// # Panics
    /// If the configuration is invalid.
    #[must_use]
    pub fn max_run_nodes(&self) -> usize {
        match self.drafter.shape.as_ref() {
            Some(&Shape::Dynamic { top_k, depth, .. }) => top_k * depth,
            _ => self.max_tree_nodes() - 1,
        }
    }
}
