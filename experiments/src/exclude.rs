//! Combinations that a spec leaves out: `[[exclude]]` tables with axis paths, `cell` and `model` as keys. A
//! combination is left out if all keys of one table fit it.

use crate::{
    axes::Axis,
    document::{Node, Value},
    error::SpecError,
    fields::{self, Fields, out_of_range},
};

/// One `[[exclude]]` table.
#[derive(Debug)]
pub(crate) struct Exclusion<'n> {
    pub(crate) place: crate::place::Place,
    /// Name of a `[[cell]]`, or in full of one that models and axes made of it: `cascade[tau_pos=0.85]`.
    pub(crate) cell: Option<&'n str>,
    /// Name of a model.
    pub(crate) model: Option<&'n str>,
    /// Axis paths with the value that is left out.
    pub(crate) values: Vec<(&'n str, &'n Node)>,
}

/// Reads all `[[exclude]]` tables.
pub(crate) fn read<'n>(spec: &Fields<'n>, axes: &[Axis<'_>]) -> Result<Vec<Exclusion<'n>>, SpecError> {
    spec.list("exclude")?.iter().enumerate().map(|(index, node)| exclusion(node, index, axes)).collect()
}

fn exclusion<'n>(node: &'n Node, index: usize, axes: &[Axis<'_>]) -> Result<Exclusion<'n>, SpecError> {
    let path = format!("exclude.{index}");
    let entries = match &node.value {
        Value::Table(entries) if entries.is_empty() => {
            return Err(out_of_range(node, &path, "at least one key", "an empty table".to_owned()));
        }
        Value::Table(entries) => entries,
        _ => return Err(fields::wrong_type(node, &path, "a table")),
    };
    let mut exclusion = Exclusion { place: node.place.clone(), cell: None, model: None, values: Vec::new() };
    for entry in entries {
        match entry.key.as_str() {
            "cell" => exclusion.cell = Some(fields::text(&entry.node, &format!("{path}.cell"))?),
            "model" => exclusion.model = Some(fields::text(&entry.node, &format!("{path}.model"))?),
            key if axes.iter().any(|axis| axis.path == key) => exclusion.values.push((key, &entry.node)),
            key => {
                let known = || ["cell", "model"].into_iter().chain(axes.iter().map(|axis| axis.path));
                return Err(crate::error::unknown_key(key, "[[exclude]]", known()).at(entry.place.clone()));
            }
        }
    }
    Ok(exclusion)
}
