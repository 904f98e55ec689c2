//! The quantities of a cell that may be null, so that a reason belongs to one of them and to nothing else.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::summary::CellSummary;

/// A quantity of a cell whose reason for being null is in the cell's `why`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CellQuantity {
    /// Accepted draft tokens a step.
    AcceptedPerStep,
    /// Forwards of the target.
    Nfe,
    /// Decode time outside prefill, target and draft, as a share.
    OverheadFraction,
    /// Tokens of the image over forwards.
    StepCompression,
    /// Tokens that a verification emits.
    TokensPerForward,
    /// The same with the tokens of skipped steps.
    Tpf,
    /// Total variation distance that the rule moved.
    TvdSpent,
    /// Seconds, of decoding and from prompt to image.
    WallS,
}

impl CellQuantity {
    /// All of them with their names, in the order of the names.
    pub const ALL: [(Self, &'static str); 8] = [
        (Self::AcceptedPerStep, "accepted_per_step"),
        (Self::Nfe, "nfe"),
        (Self::OverheadFraction, "overhead_fraction"),
        (Self::StepCompression, "step_compression"),
        (Self::TokensPerForward, "tokens_per_forward"),
        (Self::Tpf, "tpf"),
        (Self::TvdSpent, "tvd_spent"),
        (Self::WallS, "wall_s"),
    ];

    /// The quantity of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known)| *known == name).map(|(quantity, _)| quantity)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(quantity, _)| *quantity == self).map_or("", |(_, name)| name)
    }

    /// What `cell` has of it; of the seconds those of decoding.
    pub fn of(self, cell: &CellSummary) -> Option<f64> {
        match self {
            Self::AcceptedPerStep => cell.accepted_per_step,
            Self::TokensPerForward => cell.tokens_per_forward,
            Self::Tpf => cell.tpf,
            Self::Nfe => cell.nfe,
            Self::StepCompression => cell.step_compression,
            Self::WallS => cell.wall_s.decode,
            Self::OverheadFraction => cell.overhead_fraction,
            Self::TvdSpent => cell.tvd_spent,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_quantity_is_its_key_in_a_summary() {
        for (quantity, name) in CellQuantity::ALL {
            assert_eq!(serde_json::to_value(quantity).unwrap(), name);
            assert_eq!((CellQuantity::named(name), quantity.name()), (Some(quantity), name));
        }
    }
}
