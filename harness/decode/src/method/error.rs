//! What can be wrong with a configuration.

use std::{fmt::Display, ops::RangeInclusive};

/// A configuration that cannot be used, in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MethodError(pub(crate) String);

impl MethodError {
    /// An error unless the value of a drafter's `key` is in `range`.
    pub(crate) fn check_range(
        key: &'static str,
        range: RangeInclusive<usize>,
        found: usize,
    ) -> Result<(), Self> {
        if range.contains(&found) {
            return Ok(());
        }
        Err(MethodError(format!(
            "drafter key `{key}` is {found}, expected {}..={}",
            *range.start(),
            *range.end()
        )))
    }

    /// An error unless `within` holds for the value of `key`.
    pub(crate) fn check_real(
        of: &'static str,
        key: &'static str,
        expected: &'static str,
        within: bool,
        found: f64,
    ) -> Result<(), Self> {
        let error = || MethodError(format!("{of} has {key} = {found}, expected {expected}"));
        if within { Ok(()) } else { Err(error()) }
    }
}

/// A part that the model must provide.
pub(crate) fn missing_part(of: impl Display, part: impl Display) -> MethodError {
    MethodError(format!("{of} was built without {part}; the model must provide it"))
}

/// A key that a drafter does not have.
pub(crate) fn misplaced_key(of: impl Display, key: impl Display) -> MethodError {
    MethodError(format!("drafter with {of} has no key `{key}`; remove it"))
}

/// A key that a drafter needs.
pub(crate) fn missing_key(of: impl Display, key: impl Display) -> MethodError {
    MethodError(format!("drafter with {of} needs the key `{key}`"))
}

/// More rules than are supported.
#[must_use]
pub fn too_many_rules(max: usize, found: usize) -> MethodError {
    MethodError(format!("`accept` has {found} rules, at most {max} are supported"))
}

/// A lossless rule that is not the last.
pub(crate) fn lossless_not_last(position: usize, n_rules: usize) -> MethodError {
    MethodError(format!(
        "accept rule {position} is lossless, but only the last rule can be: {n_rules} are listed"
    ))
}
