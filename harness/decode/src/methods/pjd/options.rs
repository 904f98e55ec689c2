//! The keys of PJD.

use serde::{Deserialize, Serialize};

use crate::method::MethodError;

/// Tokens of a forward beside the window of the top row, at most: buffers are sized for them. A row that does not fit waits.
pub(super) const MOST_BESIDE: usize = 128;

/// `{ kind = "pjd", window = 16, c = 16 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PjdConfig {
    /// `W`: positions of a row in one forward, its newest committed token included, in `2..=1024`.
    pub window: usize,
    /// Codes that a row has before the next one opens, in `1..=1024`; from a row's length on, this is SJD row by row.
    pub c: usize,
    /// What becomes of the drafts behind a rejected one.
    #[serde(default)]
    pub tail: Tail,
}

/// What becomes of the drafts behind a rejected one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tail {
    /// They are drawn anew (SJD).
    #[default]
    Redrawn,
    /// As the released code does it, and the text does not say: a draft that has more than half the probability it was drawn
    /// with stays, and is tested against its old distribution again.
    Refcode,
}

impl PjdConfig {
    pub(crate) fn validate(self) -> Result<(), MethodError> {
        MethodError::check_range("window", 2..=1024, self.window)?;
        MethodError::check_range("c", 1..=1024, self.c)
    }

    pub(crate) fn canonical(self) -> String {
        let tail = if self.tail == Tail::Refcode { ",tail=refcode" } else { "" };
        format!("pjd(window={},c={}{tail})", self.window, self.c)
    }

    /// Most tokens of one forward.
    pub(crate) fn most_placed(self) -> usize {
        self.window + MOST_BESIDE
    }
}
