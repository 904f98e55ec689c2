//! What takes the place of the three axes: several rows of the picture under way.

use serde::{Deserialize, Serialize};

use super::{MethodConfig, MethodError, Proposer, RuleConfig, ScheduleConfig};
use crate::{
    frontier::Frontier,
    methods::{
        pjd::{Pjd, PjdConfig},
        zipar::{MOST_ROWS, Zipar, ZiparConfig},
    },
};

/// Which rows are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FrontierConfig {
    /// Each row some tokens behind the one above it.
    Zipar(ZiparConfig),
    /// The same, with a Jacobi window in each.
    Pjd(PjdConfig),
}

/// Keys a `frontier` table may have.
pub const FRONTIER_KEYS: &[&str] = &["kind", "window", "c", "tail"];

impl FrontierConfig {
    pub(super) fn validate(self, method: &MethodConfig) -> Result<(), MethodError> {
        match self {
            Self::Zipar(config) => config.validate()?,
            Self::Pjd(config) => config.validate()?,
        }
        let is_plain = method.drafter.proposer == Proposer::None
            && method.accept.iter().all(|rule| matches!(rule, RuleConfig::Lossless {}))
            && matches!(method.schedule, ScheduleConfig::Always {});
        if is_plain {
            Ok(())
        } else {
            Err(MethodError(
                "a `frontier` has its own drafts and its own test, or neither; remove `drafter`, `accept` \
             and `schedule`"
                    .to_owned(),
            ))
        }
    }

    /// Most tokens of one forward.
    pub(super) fn most_placed(self) -> usize {
        match self {
            Self::Zipar(_) => MOST_ROWS,
            Self::Pjd(config) => config.most_placed(),
        }
    }

    /// One expression, for instance `zipar(window=8)`.
    #[must_use]
    pub fn canonical(self) -> String {
        match self {
            Self::Zipar(config) => config.canonical(),
            Self::Pjd(config) => config.canonical(),
        }
    }

    pub(super) fn build(self) -> Box<dyn Frontier> {
        match self {
            Self::Zipar(config) => Box::new(Zipar(config)),
            Self::Pjd(config) => Box::new(Pjd(config)),
        }
    }
}
