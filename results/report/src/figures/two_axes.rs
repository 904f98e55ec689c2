//! Sweeps over two numbers: cells that differ in these two only, as maps of speedup, quality and counts over both.

use std::collections::BTreeMap;

use specimen_record::{CellSummary, Summary};

use crate::ReportError;
use crate::drawing::charts::value_maps::{ValueMap, ValueMaps};
use crate::drawing::figure::{Figure, Style, Words};
use crate::figures::pareto::{POINT_COLUMNS, Pareto};
use crate::table::CsvText;
use crate::table::column_decimals;
use crate::tables::conditions::conditions;
use crate::tables::settings::{Settings, file_part, parameter, settings};

/// Values of the first number, at least; the second has two at least.
const FEWEST: usize = 3;

/// Share of the pairs of values that have a cell, at least.
const FILLED: f64 = 0.6;

/// Most figures of one run.
const MOST: usize = 2;

/// A value and the ends of its interval, if it has one.
type WithInterval = (f64, Option<[f64; 2]>);

/// Two numbers and the cells over them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TwoAxes {
    /// Paths in a cell, level axis first.
    paths: [String; 2],
    /// What the cells are called.
    name: String,
    /// Values of both, ascending.
    values: [Vec<f64>; 2],
    /// Places among the values, and the cell there.
    cells: BTreeMap<(usize, usize), String>,
}

/// The maps of a summary, those with the most cells first.
pub(crate) fn two_axes(summary: &Summary) -> Vec<TwoAxes> {
    let cells = settings(summary);
    let mut numbers: Vec<&String> = cells
        .iter()
        .flat_map(|cell| cell.leaves.iter().filter(|(_, value)| value.is_number()).map(|(path, _)| path))
        .collect();
    numbers.sort();
    numbers.dedup();
    // Only numbers that change at all can span a map.
    numbers.retain(|path| {
        let mut values = cells.iter().filter_map(|cell| cell.leaves.get(*path));
        let first = values.next();
        values.any(|value| Some(value) != first)
    });
    let mut found: Vec<TwoAxes> = Vec::new();
    for (at, a) in numbers.iter().enumerate() {
        for b in &numbers[at + 1..] {
            found.extend(over(&cells, a, b));
        }
    }
    found.sort_by_key(|maps| std::cmp::Reverse(maps.cells.len()));
    found.truncate(MOST);
    found
}

fn over(cells: &[Settings], a: &str, b: &str) -> Vec<TwoAxes> {
    let mut alike: BTreeMap<String, Vec<([f64; 2], &Settings)>> = BTreeMap::new();
    for cell in cells {
        let number = |path: &str| cell.leaves.get(path).and_then(serde_json::Value::as_f64);
        let (Some(x), Some(y)) = (number(a), number(b)) else { continue };
        let others = cell.leaves.iter().filter(|(path, _)| *path != a && *path != b);
        let others: Vec<String> = others.map(|(path, value)| format!("{path}={value}")).collect();
        let base = cell.base.as_deref().unwrap_or("");
        alike.entry(format!("{base}\n{}", others.join("\n"))).or_default().push(([x, y], cell));
    }
    alike.into_values().filter_map(|cells| maps_of(&cells, [a, b])).collect()
}

fn maps_of(cells: &[([f64; 2], &Settings)], paths: [&str; 2]) -> Option<TwoAxes> {
    let distinct = |at: usize| {
        let mut values: Vec<f64> = cells.iter().map(|(numbers, _)| numbers[at]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    };
    let values = [distinct(0), distinct(1)];
    let n = values[0].len() * values[1].len();
    let (fewer, more) = (values[0].len().min(values[1].len()), values[0].len().max(values[1].len()));
    let mut places = BTreeMap::new();
    for (numbers, cell) in cells {
        let place = |at: usize| values[at].iter().position(|value| *value == numbers[at]).unwrap_or(0);
        places.entry((place(0), place(1))).or_insert_with(|| cell.name.clone());
    }
    let is_grid = fewer >= 2 && more >= FEWEST && places.len() as f64 >= FILLED * n as f64;
    let names: Vec<&str> = places.values().map(String::as_str).collect();
    let name = crate::tables::settings::common_name(&names, paths[0]);
    is_grid.then(|| TwoAxes { paths: paths.map(str::to_owned), name, values, cells: places })
}

impl TwoAxes {
    fn words(&self) -> [&str; 2] {
        [parameter(&self.paths[0]), parameter(&self.paths[1])]
    }

    /// Name of its files.
    pub(crate) fn file_name(&self) -> String {
        let [x, y] = self.words();
        format!("sweep-{}-{}", file_part(x), file_part(y))
    }

    /// The figure.
    pub(crate) fn figure(
        &self,
        summary: &Summary,
        plane: &Pareto,
        style: &Style,
    ) -> Result<Figure, ReportError> {
        let [x, y] = self.words();
        let words = Words {
            name: self.file_name(),
            title: format!("{}: {x} and {y} of {}", summary.name, self.name),
            conditions: conditions(summary),
            caption: format!(
                "Cells that differ in {} and {} only, one square each. Every map has its own scale, from its lowest \
                 to its highest value, and a darker square has a higher value. ↑: higher is better; ↓: lower is better. \
                 Intervals are in the data.",
                self.paths[0], self.paths[1]
            ),
        };
        let point = |cell: &str| plane.points.iter().find(|point| point.cell == cell);
        let speedup = |cell: &CellSummary| Some((point(&cell.id)?.speedup, point(&cell.id)?.speedup_ci95));
        let quality = |cell: &CellSummary| Some((point(&cell.id)?.quality, point(&cell.id)?.quality_ci95));
        let accepted = |cell: &CellSummary| Some((cell.value("accepted_per_step")?, None));
        let nfe = |cell: &CellSummary| Some((cell.value("nfe")?, None));
        let baseline = &summary.baseline;
        let maps = [
            (format!("Speedup over {baseline}, × (↑)"), self.map(summary, &speedup)),
            (plane.short_quality_name(), self.map(summary, &quality)),
            ("Draft tokens accepted per step (↑)".to_owned(), self.map(summary, &accepted)),
            ("Target forwards per image (↓)".to_owned(), self.map(summary, &nfe)),
        ];
        let maps = maps.into_iter().filter_map(|(title, map)| Some(ValueMap { title, ..map? })).collect();
        let text = |at: usize| self.values[at].iter().map(|value| format!("{value}")).collect::<Vec<_>>();
        let drawing =
            ValueMaps { maps, x_name: x.to_owned(), y_name: y.to_owned(), xs: text(0), ys: text(1) };
        Figure::of(words, &drawing, self.csv(summary, plane)?, style)
    }

    /// A map without a title; `None` where no cell has a value.
    fn map(&self, summary: &Summary, of: &dyn Fn(&CellSummary) -> Option<WithInterval>) -> Option<ValueMap> {
        let at = |place: &(usize, usize)| self.cells.get(place).and_then(|name| of(summary.cell(name)?));
        let known: Vec<_> = self.cells.keys().filter_map(at).collect();
        let values = (0..self.values[1].len()).map(|row| {
            (0..self.values[0].len()).map(|column| at(&(column, row)).map(|(value, _)| value)).collect()
        });
        let decimals = match known.iter().any(|(_, ci95)| ci95.is_some()) {
            true => column_decimals(&known).min(3),
            false => column_decimals(&known).min(2),
        };
        (!known.is_empty()).then(|| ValueMap { title: String::new(), values: values.collect(), decimals })
    }

    fn csv(&self, summary: &Summary, plane: &Pareto) -> Result<String, ReportError> {
        let mut out = CsvText::new();
        let [x, y] = &self.paths;
        let columns = [x.as_str(), y.as_str(), "cell"].into_iter().chain(POINT_COLUMNS);
        out.write_record(columns.chain(["accepted_per_step", "nfe", "times"]))?;
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        for ((column, row), name) in &self.cells {
            let point = plane.points.iter().find(|point| point.cell == *name);
            let cell = summary.cell(name);
            let start = [self.values[0][*column].to_string(), self.values[1][*row].to_string(), name.clone()];
            let end = [
                number(cell.and_then(|cell| cell.value("accepted_per_step"))),
                number(cell.and_then(|cell| cell.value("nfe"))),
                point.map_or("", |_| plane.times()).to_owned(),
            ];
            out.write_record(start.into_iter().chain(plane.point_fields(point)).chain(end))?;
        }
        Ok(out.into_text())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use super::*;
    use crate::tables::settings::settings_of;
    use serde_json::json;

    fn cells(pairs: &[(f64, f64)]) -> Vec<Settings> {
        let cell = |(a, b): &(f64, f64)| {
            let accept = json!([{"kind": "cascade", "tau_pos": a, "tau_seq": b}]);
            settings_of(&json!({"name": format!("c[tau_pos={a},tau_seq={b}]"), "base": "c",
                "params": {"tau_pos": a}, "method": {"accept": accept}}))
        };
        pairs.iter().map(|pair| cell(pair).unwrap()).collect()
    }

    fn found(pairs: &[(f64, f64)]) -> Vec<TwoAxes> {
        over(&cells(pairs), "method.accept.0.tau_pos", "method.accept.0.tau_seq")
    }

    #[test]
    fn a_grid_of_cells_is_found_whatever_is_missing_from_it() {
        let all: Vec<(f64, f64)> = [0.9, 0.7, 0.8].iter().flat_map(|a| [0.5, 0.4].map(|b| (*a, b))).collect();
        let whole = found(&all);
        assert_eq!(whole[0].values, [vec![0.7, 0.8, 0.9], vec![0.4, 0.5]]);
        assert_eq!(whole[0].cells[&(0, 1)], "c[tau_pos=0.7,tau_seq=0.5]");
        assert_eq!((whole[0].file_name().as_str(), whole[0].name.as_str()), ("sweep-tau_pos-tau_seq", "c"));
        assert_eq!(found(&all[1..])[0].cells.len(), 5);
    }

    #[test]
    fn a_cross_of_cells_and_two_by_two_are_no_map() {
        assert_eq!(found(&[(0.7, 0.5), (0.8, 0.5), (0.9, 0.5), (0.8, 0.4), (0.8, 0.6)]).len(), 0);
        assert_eq!(found(&[(0.7, 0.5), (0.8, 0.5), (0.7, 0.4), (0.8, 0.4)]).len(), 0);
    }
}
