//! Rows of a spec about numbers from elsewhere: which published rows are shown next to a cell, and which values a
//! cell is expected to reach. Here they are checked for form; the tables themselves belong to the results.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    document::Node,
    error::SpecError,
    fields::{self, Fields, out_of_range, unknown_name},
    measures,
    names::PUBLISHED_COLUMNS,
    spec::{Cell, MetricSpec},
};

pub(crate) const PUBLISHED_KEYS: &[&str] = &["cell", "from", "where"];
pub(crate) const EXPECT_KEYS: &[&str] = &["cell", "measure", "value", "tolerance", "relative", "source"];

/// A reference to rows of a table of published numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRef {
    /// Name of the cell the rows are shown next to.
    pub cell: String,
    /// File name of the table among the published ones.
    pub from: String,
    /// Values that the row's columns must have.
    #[serde(rename = "where")]
    pub columns: BTreeMap<String, String>,
}

/// A value that a cell is expected to reach.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Name of the cell.
    pub cell: String,
    /// One of [`measures::named`], or a metric of the spec.
    pub measure: String,
    /// The value.
    pub value: f64,
    /// How far off the measured value may be.
    pub tolerance: Tolerance,
    /// Where the value comes from.
    pub source: String,
}

/// How far a measured value may be from an expected one; both bounds are at least 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tolerance {
    /// In the value's own unit.
    Absolute(f64),
    /// As a share of the expected value: 0.05 is five percent.
    Relative(f64),
}

impl Expectation {
    /// Whether `measured` is near enough; never for NaN.
    pub fn is_met_by(&self, measured: f64) -> bool {
        let allowed = match self.tolerance {
            Tolerance::Absolute(bound) => bound,
            Tolerance::Relative(share) => share * self.value.abs(),
        };
        (measured - self.value).abs() <= allowed
    }
}

/// Reads one `[[published]]` table.
pub(crate) fn published(node: &Node, index: usize, cells: &[Cell]) -> Result<PublishedRef, SpecError> {
    let path = format!("published.{index}");
    let fields = Fields::new(node, "[[published]]", &path, PUBLISHED_KEYS)?;
    let cell = cell_name(&fields, cells)?;
    let from_node = fields.required("from", "it is the table that holds the numbers")?;
    let from = fields::text(from_node, &fields.path("from"))?;
    if !from.ends_with(".csv") || from.contains(['/', '\\']) || from.starts_with('.') {
        let expected = "the plain file name of a .csv table of published numbers";
        return Err(out_of_range(from_node, &fields.path("from"), expected, format!("{from:?}")));
    }
    let where_node =
        fields.required("where", "without it every row of the table would be shown next to the cell")?;
    let where_path = fields.path("where");
    let columns = Fields::new(where_node, "`where` of [[published]]", &where_path, PUBLISHED_COLUMNS)?;
    let columns: BTreeMap<String, String> = where_node
        .entries()
        .iter()
        .map(|entry| {
            Ok((entry.key.clone(), fields::text(&entry.node, &columns.path(&entry.key))?.to_owned()))
        })
        .collect::<Result<_, SpecError>>()?;
    if columns.is_empty() {
        return Err(out_of_range(
            where_node,
            &where_path,
            "at least one column",
            "an empty table".to_owned(),
        ));
    }
    Ok(PublishedRef { cell, from: from.to_owned(), columns })
}

/// Reads one `[[expect]]` table.
pub(crate) fn expectation(
    node: &Node,
    index: usize,
    cells: &[Cell],
    metrics: &[MetricSpec],
) -> Result<Expectation, SpecError> {
    let path = format!("expect.{index}");
    let fields = Fields::new(node, "[[expect]]", &path, EXPECT_KEYS)?;
    let cell = cell_name(&fields, cells)?;
    let measure = fields.text("measure", "it is the quantity that is expected")?;
    let values: Vec<String> = metrics.iter().flat_map(MetricSpec::values).collect();
    let known = || measures::named().chain(values.iter().map(String::as_str));
    if !known().any(|name| name == measure) {
        let node = fields.required("measure", "it was read above")?;
        return Err(unknown_name(node, &fields.path("measure"), "measure", measure, known()));
    }
    let value = fields.real("value", "a finite number", |_| true, "it is the number that is expected")?;
    Ok(Expectation {
        cell,
        measure: measure.to_owned(),
        value,
        tolerance: tolerance(node, &fields)?,
        source: fields.text("source", "a number without a source cannot be checked")?.to_owned(),
    })
}

fn tolerance(node: &Node, fields: &Fields<'_>) -> Result<Tolerance, SpecError> {
    let bound = |key: &str| {
        let read = |node| fields::real(node, &fields.path(key), "at least 0", |bound| bound >= 0.0);
        fields.get(key).map(read).transpose()
    };
    match (bound("tolerance")?, bound("relative")?) {
        (Some(bound), None) => Ok(Tolerance::Absolute(bound)),
        (None, Some(share)) => Ok(Tolerance::Relative(share)),
        (Some(_), Some(_)) => Err(crate::error::conflict(
            "[[expect]] has both `tolerance` and `relative`",
            "keep the one that is meant",
        )
        .at(node.place.clone())),
        (None, None) => Err(crate::error::missing_key(
            "[[expect]]",
            "tolerance",
            "it is how far off a value may be, in its own unit; or give `relative`, a share of it",
        )
        .at(node.place.clone())),
    }
}

/// The full name of the cell that a row speaks about: a full name, or the base name of only one cell.
fn cell_name(fields: &Fields<'_>, cells: &[Cell]) -> Result<String, SpecError> {
    let name = fields.text("cell", "it is the cell that the row speaks about")?;
    let node = fields.required("cell", "it was read above")?;
    if cells.iter().any(|cell| cell.name == name) {
        return Ok(name.to_owned());
    }
    let of_base: Vec<&str> =
        cells.iter().filter(|cell| cell.base == name).map(|cell| cell.name.as_str()).collect();
    match of_base[..] {
        [] => {
            let known = cells.iter().map(|cell| cell.name.as_str());
            Err(unknown_name(node, &fields.path("cell"), "cell", name, known))
        }
        [only] => Ok(only.to_owned()),
        [first, ..] => Err(crate::error::conflict(
            format!("`{name}` means {} cells", of_base.len()),
            format!("name one of them in full, for instance `{first}`"),
        )
        .at(node.place.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tolerance: Tolerance, met: &[f64], missed: &[f64]) {
        let expectation = Expectation {
            cell: "sd".to_owned(),
            measure: "speedup".to_owned(),
            value: -2.0,
            tolerance,
            source: "made up".to_owned(),
        };
        assert!(met.iter().all(|&measured| expectation.is_met_by(measured)), "{tolerance:?}");
        assert!(!missed.iter().any(|&measured| expectation.is_met_by(measured)), "{tolerance:?}");
    }

    #[test]
    fn an_expectation_is_met_within_its_bound_on_either_side_and_never_by_nan() {
        check(Tolerance::Absolute(0.5), &[-2.5, -2.0, -1.5], &[-2.51, -1.49, f64::NAN]);
        check(Tolerance::Relative(0.5), &[-3.0, -2.0, -1.0], &[-3.01, -0.99, f64::NAN]);
        check(Tolerance::Absolute(0.0), &[-2.0], &[-2.0000001, f64::INFINITY]);
    }
}
