//! What can be wrong with a spec, an override or a plan. Every error says where, what was expected, what was
//! found, and what to do about it.

use std::fmt;

use specimen_foundation::{
    failure::{Failure, FailureKind},
    names::nearest,
};

use crate::place::Place;

/// Why a spec cannot be used, and where that is written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct SpecError {
    /// Where the key, value or table is written that is at fault.
    pub place: Place,
    /// What is wrong with it.
    pub fault: Box<Fault>,
}

/// An override that leads nowhere is a mistake in the command, a value out of range one in the experiment.
impl Failure for SpecError {
    fn kind(&self) -> Option<FailureKind> {
        let is_command = matches!(self.place, Place::Argument(_)) && self.fault.is_of_argument;
        Some(if is_command { FailureKind::Usage } else { FailureKind::Spec })
    }
}

/// What can be wrong with a spec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Fault {
    text: String,
    /// Whether an override is none, or leads nowhere.
    is_of_argument: bool,
}

impl Fault {
    pub(crate) fn new(text: String) -> Self {
        Self { text, is_of_argument: false }
    }

    /// An override that is not `path=value`, or leads nowhere.
    pub(crate) fn of_argument(text: String) -> Self {
        Self { text, is_of_argument: true }
    }

    /// The error that this is at `place`.
    pub(crate) fn at(self, place: Place) -> SpecError {
        SpecError { place, fault: Box::new(self) }
    }
}

/// Why a spec and a prompt set make no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A method on a model that does not have what it needs.
    #[error("cell `{cell}`: its method needs {what}, which model `{model}` does not have; {remedy}")]
    Lacking {
        /// Name of the cell.
        cell: String,
        /// Name of its model.
        model: String,
        /// What the method needs.
        what: String,
        /// What to do, or which models have it.
        remedy: String,
    },
    /// A cell that no plan takes.
    #[error("cell `{cell}`: {reason}")]
    Cell {
        /// Name of the cell.
        cell: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A spec that no plan is made of.
    #[error("{0}")]
    Whole(String),
}

impl PlanError {
    pub(crate) fn cell(cell: &str, reason: String) -> Self {
        Self::Cell { cell: cell.to_owned(), reason }
    }
}

impl Failure for PlanError {
    fn kind(&self) -> Option<FailureKind> {
        Some(FailureKind::Spec)
    }
}

/// `, did you mean …?` where a name is near, otherwise the names that would do; nothing where there are none.
pub(crate) fn hint<'n>(found: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(found, known.iter().copied()).first() {
        Some(nearest) => format!(", did you mean `{nearest}`?"),
        None if known.is_empty() => String::new(),
        None => format!(", expected one of `{}`", known.join("`, `")),
    }
}

/// A drafter, rule or schedule that is none.
pub(crate) fn method(path: impl fmt::Display, reason: impl fmt::Display) -> Fault {
    Fault::new(format!("`{path}`: {reason}"))
}

/// A key that the grammar does not have, in a table as a spec writes it.
pub(crate) fn unknown_key<'n>(key: &str, table: &str, known: impl IntoIterator<Item = &'n str>) -> Fault {
    Fault::new(format!("unknown key `{key}` in {table}{}", hint(key, known)))
}

/// A key that must be there is not.
pub(crate) fn missing_key(table: impl fmt::Display, key: impl fmt::Display, why: impl fmt::Display) -> Fault {
    Fault::new(format!("{table} has no `{key}`, which must be given: {why}"))
}

/// An override that is not `path=value`.
pub(crate) fn bad_argument(problem: impl fmt::Display, remedy: impl fmt::Display) -> Fault {
    Fault::of_argument(format!("{problem}; {remedy}"))
}

/// Two things that do not go together, or one without the other it needs.
pub(crate) fn conflict(conflict: impl fmt::Display, remedy: impl fmt::Display) -> Fault {
    Fault::new(format!("{conflict}; {remedy}"))
}

/// A path that leads nowhere.
pub(crate) fn no_such_path(path: &str, reason: impl fmt::Display, hint: &str) -> Fault {
    Fault::of_argument(format!("the path `{path}` leads nowhere: {reason}{hint}"))
}
