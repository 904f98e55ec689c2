//! Which override is at fault where a spec is sound without it, and a table of the file gets the blame: what is wrong with a
//! rule or a pair of keys is known of the table alone.

use crate::{document::Node, error::SpecError, parse::SpecText, place::Place};

/// The spec before an override.
#[derive(Clone, Debug)]
pub(crate) struct Before {
    /// The override.
    argument: Place,
    root: Node,
}

impl SpecText {
    /// Remembers the spec as it is before the override `label`.
    pub(crate) fn before(&mut self, label: &str) {
        self.before.push(Before { argument: Place::Argument(label.into()), root: self.root.clone() });
    }

    /// `error` at the override that brought it: the first after the last sound state of the spec that gives this fault. An
    /// error of a file that was never sound stays where it is.
    pub(crate) fn blamed(&self, error: SpecError) -> SpecError {
        let of = |root: &Node| Self { root: root.clone(), before: Vec::new() }.resolved().map(drop);
        let Some(sound) = self.before.iter().rposition(|before| of(&before.root).is_ok()) else {
            return error;
        };
        let after = self.before[sound..].iter().map(|before| &before.root).skip(1).chain([&self.root]);
        let gives = |root: &Node| of(root).is_err_and(|other| other.fault == error.fault);
        let first = after.into_iter().position(gives).unwrap_or_default();
        SpecError { place: self.before[sound + first].argument.clone(), ..error }
    }
}
