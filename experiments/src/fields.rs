//! Typed reading of one table of a spec: unknown keys first (so that a misspelt key is not reported as a
//! missing one), then values with their type and range.

use crate::error::hint;
use std::ops::RangeInclusive;

use crate::{
    document::{Entry, Node, Value},
    error::{Fault, SpecError},
};

/// A table whose keys are all known.
pub(crate) struct Fields<'n> {
    node: &'n Node,
    /// The table as messages name it: `[dataset]`, `cell `ar``.
    label: String,
    /// What stands before a key in a path: `dataset.`, or nothing at the top.
    prefix: String,
    known: &'static [&'static str],
}

impl<'n> Fields<'n> {
    /// The table `node`, called `label` in messages. `path` is its path, empty for the whole spec.
    pub(crate) fn new(
        node: &'n Node,
        label: &str,
        path: &str,
        known: &'static [&'static str],
    ) -> Result<Self, SpecError> {
        let Value::Table(entries) = &node.value else {
            return Err(wrong_type(node, path, "a table"));
        };
        if let Some(entry) = entries.iter().find(|entry| !known.contains(&entry.key.as_str())) {
            return Err(unknown_key(entry, label, known));
        }
        let prefix = if path.is_empty() { String::new() } else { format!("{path}.") };
        Ok(Self { node, label: label.to_owned(), prefix, known })
    }

    /// The value of `key`, if given.
    pub(crate) fn get(&self, key: &str) -> Option<&'n Node> {
        assert!(self.known.contains(&key), "`{key}` is read but not among the known keys");
        self.node.get(key)
    }

    /// The value of `key`; the error says `why` it must be given.
    pub(crate) fn required(&self, key: &str, why: &str) -> Result<&'n Node, SpecError> {
        self.get(key)
            .ok_or_else(|| crate::error::missing_key(&self.label, key, why).at(self.node.place.clone()))
    }

    /// The path of `key`.
    pub(crate) fn path(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    /// Text that must be given.
    pub(crate) fn text(&self, key: &str, why: &str) -> Result<&'n str, SpecError> {
        text(self.required(key, why)?, &self.path(key))
    }

    /// A whole number in `range` that must be given.
    pub(crate) fn integer(&self, key: &str, range: RangeInclusive<i64>, why: &str) -> Result<i64, SpecError> {
        integer(self.required(key, why)?, &self.path(key), range)
    }

    /// A number that must be given and fit; `expected` is the range in words.
    pub(crate) fn real(
        &self,
        key: &str,
        expected: &str,
        fits: impl Fn(f64) -> bool,
        why: &str,
    ) -> Result<f64, SpecError> {
        real(self.required(key, why)?, &self.path(key), expected, fits)
    }

    /// The elements of the list `key`; none if it is not given.
    pub(crate) fn list(&self, key: &str) -> Result<&'n [Node], SpecError> {
        self.get(key).map_or(Ok(&[]), |node| list(node, &self.path(key)))
    }
}

pub(crate) fn text<'n>(node: &'n Node, path: &str) -> Result<&'n str, SpecError> {
    match &node.value {
        Value::Text(text) => Ok(text),
        _ => Err(wrong_type(node, path, "text")),
    }
}

pub(crate) fn flag(node: &Node, path: &str) -> Result<bool, SpecError> {
    match node.value {
        Value::Flag(flag) => Ok(flag),
        _ => Err(wrong_type(node, path, "true or false")),
    }
}

pub(crate) fn integer(node: &Node, path: &str, range: RangeInclusive<i64>) -> Result<i64, SpecError> {
    let Value::Integer(number) = node.value else {
        return Err(wrong_type(node, path, "an integer"));
    };
    if range.contains(&number) {
        return Ok(number);
    }
    let (least, most) = range.into_inner();
    let expected = match most {
        i64::MAX => format!("at least {least}"),
        most => format!("{least} to {most}"),
    };
    Err(out_of_range(node, path, &expected, number.to_string()))
}

/// A finite number that fits; integers are numbers.
pub(crate) fn real(
    node: &Node,
    path: &str,
    expected: &str,
    fits: impl Fn(f64) -> bool,
) -> Result<f64, SpecError> {
    let number = match node.value {
        Value::Real(number) => number,
        Value::Integer(number) => number as f64,
        _ => return Err(wrong_type(node, path, "a number")),
    };
    if number.is_finite() && fits(number) {
        return Ok(number);
    }
    Err(out_of_range(node, path, expected, format!("{number}")))
}

pub(crate) fn list<'n>(node: &'n Node, path: &str) -> Result<&'n [Node], SpecError> {
    match &node.value {
        Value::List(items) => Ok(items),
        _ => Err(wrong_type(node, path, "a list")),
    }
}

pub(crate) fn wrong_type(node: &Node, path: &str, expected: &str) -> SpecError {
    Fault::new(format!("`{path}` is {}, expected {expected}", node.described())).at(node.place.clone())
}

pub(crate) fn out_of_range(node: &Node, path: &str, expected: &str, found: String) -> SpecError {
    Fault::new(format!("`{path}` is {found}, expected {expected}")).at(node.place.clone())
}

/// The error for a name that is none of `known`.
pub(crate) fn unknown_name<'k>(
    node: &Node,
    path: &str,
    what: &'static str,
    found: &str,
    known: impl IntoIterator<Item = &'k str>,
) -> SpecError {
    Fault::new(format!("`{path}`: unknown {what} `{found}`{}", hint(found, known))).at(node.place.clone())
}

fn unknown_key(entry: &Entry, label: &str, known: &[&str]) -> SpecError {
    crate::error::unknown_key(&entry.key, label, known.iter().copied()).at(entry.place.clone())
}
