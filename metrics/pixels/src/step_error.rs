//! Why a list of steps is none, or does not fit a picture.

/// Steps that do not fit together, or that do not fit a picture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// A step gets bytes and takes floats, or the other way round.
    #[error("step {step_idx} takes {expected}, the steps before it leave {found}; {remedy}")]
    WrongKind {
        /// Which step, from 0.
        step_idx: usize,
        /// What it takes.
        expected: &'static str,
        /// What it gets.
        found: &'static str,
        /// What to change.
        remedy: &'static str,
    },
    /// A number that no picture can follow.
    #[error("step {step_idx}: {what}")]
    BadValue {
        /// Which step, from 0.
        step_idx: usize,
        /// What is wrong with which value.
        what: String,
    },
    /// The picture is smaller than the square to keep of it.
    #[error("a square of {side} pixels does not fit into {width}x{height}; resize before the crop")]
    CropTooLarge {
        /// The square.
        side: usize,
        /// The picture's width.
        width: usize,
        /// The picture's height.
        height: usize,
    },
    /// The picture is larger than the square that it is put into.
    #[error("{width}x{height} does not fit into a square of {side} pixels; resize before it is padded")]
    PadTooSmall {
        /// The square.
        side: usize,
        /// The picture's width.
        width: usize,
        /// The picture's height.
        height: usize,
    },
    /// The picture is so narrow that nothing of its shorter side would be left.
    #[error(
        "{width}x{height} would have no pixel along its shorter side at {side} along the longer; leave this picture out"
    )]
    TooNarrow {
        /// The picture's width.
        width: usize,
        /// The picture's height.
        height: usize,
        /// What its longer side would be.
        side: usize,
    },
    /// The picture is so narrow that its longer side would be beyond all measure.
    #[error("{width}x{height} would become {to} pixels long, at most {limit}; leave this picture out")]
    TooLong {
        /// The picture's width.
        width: usize,
        /// The picture's height.
        height: usize,
        /// What its longer side would be.
        to: usize,
        /// The longest side that a step may ask for.
        limit: usize,
    },
}
