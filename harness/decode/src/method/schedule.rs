//! The scheduling axis of a configuration: when the target looks.

use serde::{Deserialize, Serialize};

use super::{DrafterConfig, MethodError, Parts};
use crate::{
    methods::{
        redundancy::{Redundancy, RedundancyConfig},
        vvs::{Trigger, Vvs, VvsConfig},
    },
    schedule::{AlwaysVerify, Scheduler},
};

/// When the target looks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ScheduleConfig {
    /// At every step.
    Always {},
    /// Not where VVS skips it.
    Vvs(VvsConfig),
    /// At every step, but what it accepts is replaced now and then.
    Redundancy(RedundancyConfig),
}

/// Keys a `schedule` table may have.
pub const SCHEDULE_KEYS: &[&str] =
    &["kind", "trigger", "every", "s", "alpha", "selector", "truncation", "warm_up", "resample"];

impl ScheduleConfig {
    /// At every step.
    #[must_use]
    pub fn always() -> Self {
        Self::Always {}
    }

    pub(super) fn validate(&self, drafter: &DrafterConfig) -> Result<(), MethodError> {
        match self {
            Self::Always {} => return Ok(()),
            Self::Vvs(config) => config.validate()?,
            Self::Redundancy(config) => config.validate()?,
        }
        match drafter.shape {
            Some(_) => Ok(()),
            None => Err(MethodError(format!(
                "a schedule other than always needs a drafter that grows a tree, {} does not",
                drafter.proposer.as_written()
            ))),
        }
    }

    /// Whether it provably keeps the target's distribution: it never skips and replaces nothing.
    pub(super) fn is_lossless(&self) -> bool {
        match self {
            Self::Always {} => true,
            Self::Vvs(config) => config.trigger == Trigger::Never,
            Self::Redundancy(_) => false,
        }
    }

    /// Whether a verification can be skipped; never two in a row.
    pub(super) fn skips(&self) -> bool {
        match self {
            Self::Vvs(config) => config.trigger != Trigger::Never,
            Self::Always {} | Self::Redundancy(_) => false,
        }
    }

    pub(super) fn needs_codebook(&self) -> bool {
        match self {
            Self::Vvs(config) => config.needs_codebook(),
            Self::Always {} | Self::Redundancy(_) => false,
        }
    }

    pub(super) fn build(&self, parts: &Parts) -> Result<Box<dyn Scheduler>, MethodError> {
        Ok(match self {
            Self::Always {} => Box::new(AlwaysVerify),
            Self::Vvs(config) => {
                let codebook = match config.needs_codebook() {
                    true => Some(parts.codebook("schedule vvs")?),
                    false => None,
                };
                Box::new(Vvs::new(config.clone(), codebook))
            }
            Self::Redundancy(config) => Box::new(Redundancy(config.clone())),
        })
    }

    pub(super) fn canonical(&self) -> String {
        match self {
            Self::Always {} => "always".to_owned(),
            Self::Vvs(config) => config.canonical(),
            Self::Redundancy(config) => config.canonical(),
        }
    }
}
