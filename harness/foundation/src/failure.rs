//! The kinds of failure, which decide the exit code of the program. Each error type says of what kind its variants are.

use std::error::Error;

/// What a failure means to the caller of the program. The number is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FailureKind {
    /// Two results that should be equal are not.
    Mismatch = 1,
    /// The arguments make no sense.
    Usage = 2,
    /// A spec, a plan or a file of rules is invalid.
    Spec = 3,
    /// Data or weights are missing, damaged, or not what was published.
    Missing = 4,
    /// Some items failed; the rest is valid.
    Failed = 5,
    /// The machine: libtorch, a device, the disk, the network.
    Environment = 6,
    /// Another process works on the run.
    Locked = 7,
    /// An invariant of this program does not hold.
    Bug = 70,
    /// Stopped halfway; what is there can be resumed.
    Interrupted = 75,
    /// Stopped at once by a second interrupt.
    Aborted = 130,
}

impl FailureKind {
    const ALL: [Self; 10] = [
        Self::Mismatch,
        Self::Usage,
        Self::Spec,
        Self::Missing,
        Self::Failed,
        Self::Environment,
        Self::Locked,
        Self::Bug,
        Self::Interrupted,
        Self::Aborted,
    ];

    /// The exit code of a program that ends with such a failure.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        self as u8
    }

    /// The failure with which another process of this program ended; a bug if the code is none of ours.
    #[must_use]
    pub fn of_exit_code(code: Option<i32>) -> Self {
        Self::known(code).unwrap_or(Self::Bug)
    }

    /// The failure with this exit code; absent if the code is none of ours.
    #[must_use]
    pub fn known(code: Option<i32>) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| code == Some(i32::from(kind.exit_code())))
    }
}

/// An error that knows its kind.
pub trait Failure: Error {
    /// The kind; absent where the next cause in the chain decides.
    fn kind(&self) -> Option<FailureKind>;
}

/// A failure that nobody acts on but its reader: a kind and a text. What a caller tells apart is a type of its own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct FailureMessage {
    /// What it means to the caller of the program.
    pub kind: FailureKind,
    /// What is wrong, and what to do.
    pub text: String,
}

impl Failure for FailureMessage {
    fn kind(&self) -> Option<FailureKind> {
        Some(self.kind)
    }
}

/// A [`FailureMessage`] of a kind, with a text as for `format!`: `failure!(Missing: "{path}: no such file")`.
#[macro_export]
macro_rules! failure {
    ($kind:ident: $($text:tt)+) => {
        $crate::failure::FailureMessage { kind: $crate::failure::FailureKind::$kind, text: format!($($text)+) }
    };
}

/// Returns such a [`FailureMessage`] as an error of the function that it is in.
#[macro_export]
macro_rules! fail {
    ($($failure:tt)+) => {
        return Err($crate::failure!($($failure)+).into())
    };
}

impl Failure for std::io::Error {
    fn kind(&self) -> Option<FailureKind> {
        Some(FailureKind::Environment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_codes_are_those_of_the_manual() {
        let codes = FailureKind::ALL.map(FailureKind::exit_code);
        assert_eq!(codes, [1, 2, 3, 4, 5, 6, 7, 70, 75, 130]);
        assert_eq!(codes.map(|code| FailureKind::of_exit_code(Some(code.into()))), FailureKind::ALL);
        assert_eq!([None, Some(0), Some(42)].map(FailureKind::of_exit_code), [FailureKind::Bug; 3]);
    }
}
