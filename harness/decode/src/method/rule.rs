//! The acceptance axis of a configuration: rules that nest, outermost first.

use serde::{Deserialize, Serialize};

use super::{MethodError, Parts};
use crate::{
    methods::{
        cascade::{Cascade, CascadeConfig},
        gsd::{Gsd, GsdConfig},
        lantern::{LanternConfig, LanternPlusPlusConfig},
        sd::Lossless,
    },
    verify::AcceptanceRule,
};

/// One acceptance rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RuleConfig {
    /// The target's distribution is kept.
    Lossless {},
    /// Mass is borrowed from near tokens, up to an absolute bound.
    Lantern(LanternConfig),
    /// Mass is borrowed from near tokens, up to a bound relative to the candidate's own.
    #[serde(rename = "lantern++")]
    LanternPlusPlus(LanternPlusPlusConfig),
    /// Mass is borrowed from tree nodes whose features agree, up to a budget.
    Cascade(CascadeConfig),
    /// Clusters of tokens of similar probability are compared.
    Gsd(GsdConfig),
}

/// Keys a table of `accept` may have.
pub const RULE_KEYS: &[&str] = &[
    "kind",
    "k",
    "delta",
    "lambda",
    "residual",
    "tau_pos",
    "tau_seq",
    "tvd_budget",
    "convergence_mass",
    "convergence_pairs",
    "dedupe",
    "budget_scope",
    "charge",
    "threshold",
    "group",
    "delta_p",
    "d_thr",
];

/// The rules an absent or empty list means.
pub(crate) fn lossless_only() -> Vec<RuleConfig> {
    vec![RuleConfig::Lossless {}]
}

/// Checks each rule, and that they nest.
pub(super) fn validate(rules: &[RuleConfig]) -> Result<(), MethodError> {
    let n_rules = rules.len();
    for (position, rule) in rules.iter().enumerate() {
        match rule {
            RuleConfig::Lossless {} if position + 1 < n_rules => {
                return Err(MethodError::LosslessNotLast { position, n_rules });
            }
            RuleConfig::Lossless {} => {}
            RuleConfig::Lantern(config) => config.validate()?,
            RuleConfig::LanternPlusPlus(config) => config.validate()?,
            RuleConfig::Cascade(config) => config.validate()?,
            RuleConfig::Gsd(config) => {
                let inside = &rules[position + 1..];
                if inside.iter().any(|rule| !matches!(rule, RuleConfig::Lossless {})) {
                    return Err(MethodError::NotInnermost { position });
                }
                config.validate()?;
            }
        }
    }
    Ok(())
}

/// Puts rules together from the inside out; the innermost is lossless whether it is written or not.
pub(super) fn build(rules: &[RuleConfig], parts: &Parts) -> Result<Box<dyn AcceptanceRule>, MethodError> {
    let mut built: Box<dyn AcceptanceRule> = Box::new(Lossless);
    for rule in rules.iter().rev() {
        built = match rule {
            RuleConfig::Lossless {} => built,
            RuleConfig::Lantern(config) => {
                Box::new(config.build(built, parts.neighbours(rule.name(), config.n_nearest())?))
            }
            RuleConfig::LanternPlusPlus(config) => {
                Box::new(config.build(built, parts.neighbours(rule.name(), config.n_nearest())?))
            }
            RuleConfig::Cascade(config) => Box::new(Cascade::new(built, config.clone())),
            RuleConfig::Gsd(config) => {
                let embeddings = match config.d_thr {
                    Some(_) => Some(parts.embeddings(rule.name())?),
                    None => None,
                };
                Box::new(Gsd::new(config.clone(), embeddings))
            }
        };
    }
    Ok(built)
}

impl RuleConfig {
    /// As an error names it.
    fn name(&self) -> &'static str {
        match self {
            Self::Lossless {} => "accept rule lossless",
            Self::Lantern(_) => "accept rule lantern",
            Self::LanternPlusPlus(_) => "accept rule lantern++",
            Self::Cascade(_) => "accept rule cascade",
            Self::Gsd(_) => "accept rule gsd",
        }
    }

    /// Whether it provably keeps the target's law, whatever its numbers are.
    pub(super) fn is_lossless(&self) -> bool {
        match self {
            Self::Lossless {} => true,
            Self::Lantern(_) | Self::LanternPlusPlus(_) | Self::Cascade(_) | Self::Gsd(_) => false,
        }
    }

    /// Neighbours per token it needs.
    pub(super) fn n_nearest(&self) -> Option<usize> {
        match self {
            Self::Lossless {} | Self::Cascade(_) | Self::Gsd(_) => None,
            Self::Lantern(config) => Some(config.n_nearest()),
            Self::LanternPlusPlus(config) => Some(config.n_nearest()),
        }
    }

    /// Whether it needs the target's input embeddings.
    pub(super) fn needs_embeddings(&self) -> bool {
        matches!(self, Self::Gsd(GsdConfig { d_thr: Some(_), .. }))
    }

    pub(super) fn canonical(&self) -> String {
        match self {
            Self::Lossless {} => "lossless".to_owned(),
            Self::Lantern(config) => config.canonical(),
            Self::LanternPlusPlus(config) => config.canonical(),
            Self::Cascade(config) => config.canonical(),
            Self::Gsd(config) => config.canonical(),
        }
    }
}
