//! What can be wrong with a spec, an override or a plan. Every error says where, what was expected, what was
//! found, and what to do about it.

use std::fmt;

use specimen_foundation::failure::{Failure, FailureKind};

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
        let is_command = matches!(self.place, Place::Argument(_))
            && matches!(*self.fault, Fault::BadArgument { .. } | Fault::NoSuchPath { .. });
        Some(if is_command { FailureKind::Usage } else { FailureKind::Spec })
    }
}

/// What can be wrong with a spec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The file cannot be read.
    #[error("the spec cannot be read: {reason}")]
    Unreadable {
        /// What the system says.
        reason: String,
    },
    /// The text is not TOML.
    #[error("{message}")]
    Syntax {
        /// What the TOML reader says.
        message: String,
    },
    /// A key that the grammar does not have.
    #[error("unknown key `{key}` in {table}{}", hint(.nearest, .known))]
    UnknownKey {
        /// Name of the key.
        key: String,
        /// The table it stands in, as a spec writes it.
        table: String,
        /// The key that was probably meant.
        nearest: Option<String>,
        /// All keys the table may have.
        known: Vec<String>,
    },
    /// A key that must be there is not.
    #[error("{table} has no `{key}`, which must be given: {why}")]
    MissingKey {
        /// Name of the table.
        table: String,
        /// Name of the key.
        key: String,
        /// What it is needed for.
        why: String,
    },
    /// A value of another type.
    #[error("`{path}` is {found}, expected {expected}")]
    WrongType {
        /// Its path.
        path: String,
        /// The type or types that fit.
        expected: String,
        /// Type and value found.
        found: String,
    },
    /// A value of the right type outside its range.
    #[error("`{path}` is {found}, expected {expected}")]
    OutOfRange {
        /// Its path.
        path: String,
        /// The range in words.
        expected: String,
        /// The value found.
        found: String,
    },
    /// A name that is not registered, or names nothing in this spec.
    #[error("`{path}`: unknown {what} `{found}`{}", hint(.nearest, .known))]
    UnknownName {
        /// Path of the value.
        path: String,
        /// What kind of thing it should name.
        what: &'static str,
        /// The name found.
        found: String,
        /// The name that was probably meant.
        nearest: Option<String>,
        /// All names that would do.
        known: Vec<String>,
    },
    /// A name given twice.
    #[error("{what} `{name}` is already there at {first}; names must differ")]
    Duplicate {
        /// What kind of thing it names.
        what: &'static str,
        /// The name.
        name: String,
        /// Where it was given first.
        first: Place,
    },
    /// A drafter, rule or schedule that is none.
    #[error("`{path}`: {reason}")]
    Method {
        /// Its path.
        path: String,
        /// What the decoder's configuration says.
        reason: String,
    },
    /// Two things that do not go together, or one without the other it needs.
    #[error("{conflict}; {remedy}")]
    Conflict {
        /// What is at odds.
        conflict: String,
        /// What to do.
        remedy: String,
    },
    /// An override that is not `path=value`.
    #[error("{problem}; {remedy}")]
    BadArgument {
        /// What is wrong with it.
        problem: String,
        /// What to write instead.
        remedy: String,
    },
    /// A path that leads nowhere.
    #[error("the path `{path}` leads nowhere: {reason}{}", hint(.nearest, .known))]
    NoSuchPath {
        /// The path.
        path: String,
        /// Which part of it fails.
        reason: String,
        /// The name that was probably meant.
        nearest: Option<String>,
        /// All names that would do at this place; empty when none would.
        known: Vec<String>,
    },
}

impl Fault {
    /// The error that this is at `place`.
    pub(crate) fn at(self, place: Place) -> SpecError {
        SpecError { place, fault: Box::new(self) }
    }
}

/// Why a spec and a prompt set make no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The prompts are those of another dataset than the spec names.
    #[error("the spec asks for dataset `{expected}`, the prompts given are of `{found}`")]
    OtherDataset {
        /// The dataset in the spec.
        expected: String,
        /// The set that was given.
        found: String,
    },
    /// More items than a plan can number.
    #[error(
        "the plan has {n_cells} cells x {n_prompts} prompts x {n_samples} samples, \
         more than {max} items; split the spec"
    )]
    TooManyItems {
        /// Cells of the spec.
        n_cells: usize,
        /// Prompts of the set.
        n_prompts: usize,
        /// Images per prompt.
        n_samples: u32,
        /// The most items a plan can have.
        max: u32,
    },
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
    /// Coupled seeds for another program's cell.
    #[error(
        "cell `{cell}`: `sampling.coupled` is for methods of this program, whose draws it couples; this cell is another \
         program's; give it `sampling = {{ coupled = false }}`, or leave it out"
    )]
    Coupled {
        /// Name of the cell.
        cell: String,
    },
    /// A head of a user's own that is not there.
    #[error("cell `{cell}`: the head `{kind}` that its model names: {reason}")]
    Head {
        /// Name of the cell.
        cell: String,
        /// Kind of the head.
        kind: String,
        /// What is wrong with its file, and what to do.
        reason: String,
    },
    /// Images that cannot be decoded together.
    #[error("cell `{cell}`: `batch` is {batch}, but {why}; {remedy}")]
    Batch {
        /// Name of the cell.
        cell: String,
        /// Images of a batch.
        batch: usize,
        /// What is in the way.
        why: String,
        /// What to do.
        remedy: String,
    },
    /// An external cell that names a baseline there is none of.
    #[error(
        "cell `{cell}`: `external.baseline` is `{found}`, but no timed cell `{found}` has its model and sampling; {known}"
    )]
    NoSuchBaseline {
        /// Name of the cell.
        cell: String,
        /// The baseline that it names.
        found: String,
        /// The nearest timed cells, or all.
        known: String,
    },
}

impl Failure for PlanError {
    fn kind(&self) -> Option<FailureKind> {
        Some(FailureKind::Spec)
    }
}

/// `, did you mean …?` where a name is near, otherwise the names that would do.
fn hint(nearest: &Option<String>, known: &[String]) -> String {
    match (nearest, known) {
        (Some(nearest), _) => format!(", did you mean `{nearest}`?"),
        (None, []) => String::new(),
        (None, known) => format!(", expected one of {}", Listed(known)),
    }
}

/// Names in backticks, separated by commas.
struct Listed<'n>(&'n [String]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.0.iter().enumerate() {
            write!(f, "{}`{name}`", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
