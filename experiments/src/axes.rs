//! The axes of a spec: what each path addresses, its values, and the short names they have in brackets.

use specimen_foundation::names::nearest;

use crate::{
    document::{Entry, Node, Value},
    error::SpecError,
    fields::{self, Fields, out_of_range},
    set::element,
};

/// A list of values for one path.
#[derive(Debug)]
pub(crate) struct Axis<'n> {
    /// The path as written.
    pub(crate) path: &'n str,
    pub(crate) target: Target,
    /// The path within the target, at least one key.
    pub(crate) rest: Vec<String>,
    /// At least one; no two are the same.
    pub(crate) values: &'n [Node],
}

/// What an axis varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A model, by its place in the spec.
    Model(usize),
    /// The sampling of all cells that do not set the key themselves.
    Sampling,
    /// A cell, by its place in the spec.
    Cell(usize),
}

/// Reads `[axes]`, already flattened.
pub(crate) fn read<'n>(
    spec: &Fields<'n>,
    models: Vec<&Node>,
    cells: &[Node],
) -> Result<Vec<Axis<'n>>, SpecError> {
    let Some(node) = spec.get("axes") else { return Ok(Vec::new()) };
    if !matches!(node.value, Value::Table(_)) {
        return Err(fields::wrong_type(node, "axes", "a table of lists"));
    }
    let models: Vec<Node> = models.into_iter().cloned().collect();
    let is_list = spec.get("model").is_some_and(|node| matches!(node.value, Value::List(_)));
    node.entries().iter().map(|entry| axis(entry, &models, is_list, cells)).collect()
}

fn axis<'n>(entry: &'n Entry, models: &[Node], is_list: bool, cells: &[Node]) -> Result<Axis<'n>, SpecError> {
    let path = entry.key.as_str();
    let segments: Vec<&str> = path.split('.').collect();
    let (target, n_used) = match segments[0] {
        "sampling" => (Target::Sampling, 1),
        "model" if !is_list => (Target::Model(0), 1),
        "model" if segments.len() > 1 => {
            let (idx, n_used) = element(models, &segments[1..], path, &entry.place)?;
            (Target::Model(idx), 1 + n_used)
        }
        "cell" if segments.len() > 1 => {
            let (idx, n_used) = element(cells, &segments[1..], path, &entry.place)?;
            (Target::Cell(idx), 1 + n_used)
        }
        first => return Err(no_target(entry, first)),
    };
    let rest: Vec<String> = segments[n_used..].iter().map(|segment| (*segment).to_owned()).collect();
    if rest.is_empty() || rest.iter().any(String::is_empty) {
        return Err(no_key(entry, "it ends before a key"));
    }
    if matches!(target, Target::Cell(_)) && (rest[0] == "name" || rest[0] == "timed") {
        return Err(no_key(entry, &format!("`{}` cannot be varied", rest[0])));
    }
    let values = fields::list(&entry.node, &format!("axes.{path}"))?;
    if values.is_empty() {
        let found = "an empty list".to_owned();
        return Err(out_of_range(&entry.node, &format!("axes.{path}"), "at least one value", found));
    }
    for (idx, value) in values.iter().enumerate() {
        if values[..idx].iter().any(|earlier| earlier.same_value(value)) {
            return Err(crate::error::conflict(
                format!("the axis `{path}` has {} twice", value.described()),
                "remove one",
            )
            .at(value.place.clone()));
        }
    }
    Ok(Axis { path, target, rest, values })
}

/// The shortest end of the axis' path that no other axis of `touching` ends in.
pub(crate) fn short_name(axis: &Axis<'_>, touching: &[&Axis<'_>]) -> String {
    let end = |axis: &Axis<'_>, n: usize| axis.rest[axis.rest.len().saturating_sub(n)..].join(".");
    let is_clear = |n: &usize| {
        let others = touching.iter().filter(|other| other.path != axis.path);
        others.map(|other| end(other, *n)).all(|other| other != end(axis, *n))
    };
    let n = (1..axis.rest.len()).find(is_clear);
    match n {
        Some(n) => end(axis, n),
        None if is_clear(&axis.rest.len()) => axis.rest.join("."),
        None => axis.path.to_owned(),
    }
}

/// The value as it stands in a cell's name: as written where that is short and plain, otherwise its place
/// in the list.
pub(crate) fn value_label(value: &Node, index: usize) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    match &value.value {
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Flag(flag) => flag.to_string(),
        Value::Text(text) if !text.is_empty() && text.len() <= 32 && text.chars().all(is_plain) => {
            text.clone()
        }
        _ => format!("v{index}"),
    }
}

fn no_target(entry: &Entry, first: &str) -> SpecError {
    let known = ["model", "sampling", "cell"];
    let reason = if first == "dataset" {
        "a run has one dataset; write one spec per dataset".to_owned()
    } else {
        "an axis varies a key of a model, of the sampling or of a cell".to_owned()
    };
    let meant = nearest(first, known).into_iter().next().filter(|name| *name != first);
    let meant = meant.map(|name| format!(", did you mean `{name}`?"));
    crate::error::no_such_path(&entry.key, reason, &meant.unwrap_or_default()).at(entry.place.clone())
}

fn no_key(entry: &Entry, reason: &str) -> SpecError {
    crate::error::no_such_path(&entry.key, format!("{reason}; write it like \"cell.sd.drafter.depth\""), "")
        .at(entry.place.clone())
}
