//! Sweeps: cells that differ in one number only, speedup and quality against that number. They are found in the
//! resolved spec, whether an axis made them or someone wrote them out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use specimen_record::Summary;

use crate::ReportError;
use crate::drawing::charts::curves::{Curve, CurvePanel, Curves, spans_a_log_axis};
use crate::drawing::figure::{Figure, Style, Words};
use crate::drawing::palette::series_color;
use crate::figures::pareto::{POINT_COLUMNS, Pareto, Point};
use crate::table::CsvText;
use crate::tables::conditions::conditions;
use crate::tables::settings::{Settings, common_name, file_part, parameter, settings};

/// Fewest values that make a sweep of cells that someone wrote out; of the axes of a spec, which ask for one, two do.
const FEWEST: usize = 3;

/// Most figures of one run.
const MOST: usize = 4;

/// A number of the configuration, and the cells that differ in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sweep {
    /// Its path in a cell ("method.accept.0.tau_pos").
    path: String,
    series: Vec<Series>,
}

/// Cells that are alike but for the number.
#[derive(Clone, Debug, PartialEq)]
struct Series {
    name: String,
    /// Value and name of each cell, ascending.
    cells: Vec<(f64, String)>,
}

/// A value and its interval.
type Reading = (f64, Option<[f64; 2]>);

/// The sweeps of a summary, the one with the most cells first; or the reason why there is none.
pub(crate) fn sweeps(summary: &Summary) -> Result<Vec<Sweep>, String> {
    let cells = settings(summary);
    let numbers: BTreeSet<&String> = cells
        .iter()
        .flat_map(|cell| cell.leaves.iter().filter(|(_, value)| value.is_number()).map(|(path, _)| path))
        .collect();
    let mut sweeps: Vec<Sweep> = numbers.into_iter().filter_map(|path| sweep(&cells, path)).collect();
    sweeps.sort_by_key(|sweep| std::cmp::Reverse(sweep.n_cells()));
    sweeps.truncate(MOST);
    if sweeps.is_empty() {
        return Err(format!(
            "no axis of the spec has two numbers, and no {FEWEST} of its cells differ in one number only"
        ));
    }
    Ok(sweeps)
}

fn sweep(cells: &[Settings], path: &str) -> Option<Sweep> {
    // What the others have in common, and the cells with it. Sorted by text, so the order is the same each time. A series has
    // the cells of one `[[cell]]`'s axes, or cells that someone wrote out: the same method under another name is not its own.
    let mut alike: BTreeMap<(bool, String), Vec<(f64, String)>> = BTreeMap::new();
    for cell in cells {
        let Some(value) = cell.leaves.get(path).and_then(Value::as_f64) else { continue };
        let others = cell.leaves.iter().filter(|(other, _)| *other != path);
        let others: Vec<String> = others.map(|(path, value)| format!("{path}={value}")).collect();
        let group_key = format!("{}\n{}", cell.base.as_deref().unwrap_or(""), others.join("\n"));
        alike.entry((cell.base.is_none(), group_key)).or_default().push((value, cell.name.clone()));
    }
    let of_group = |((is_written, _), cells)| series_of(cells, path, if is_written { FEWEST } else { 2 });
    let mut series: Vec<Series> = alike.into_iter().filter_map(of_group).collect();
    let place = |series: &Series| cells.iter().position(|cell| cell.name == series.cells[0].1);
    series.sort_by_key(|series| place(series));
    (!series.is_empty()).then(|| Sweep { path: path.to_owned(), series })
}

fn series_of(mut cells: Vec<(f64, String)>, path: &str, fewest: usize) -> Option<Series> {
    cells.sort_by(|a, b| a.0.total_cmp(&b.0));
    one_cell_a_value(&mut cells);
    let names: Vec<&str> = cells.iter().map(|(_, name)| name.as_str()).collect();
    let name = common_name(&names, path);
    (cells.len() >= fewest).then_some(Series { name, cells })
}

/// Of several cells of one value, the one whose name is most like those of the others stays.
fn one_cell_a_value(cells: &mut Vec<(f64, String)>) {
    let n_shared = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let all = cells.clone();
    let group_key = |(value, name): &(f64, String)| -> usize {
        all.iter().filter(|(other, _)| other != value).map(|(_, other)| n_shared(name, other)).sum()
    };
    let mut kept: Vec<(f64, String)> = Vec::new();
    for cell in cells.drain(..) {
        match kept.last_mut() {
            Some(last) if last.0 == cell.0 => {
                if group_key(&cell) > group_key(last) {
                    *last = cell;
                }
            }
            _ => kept.push(cell),
        }
    }
    *cells = kept;
}

impl Sweep {
    fn n_cells(&self) -> usize {
        self.series.iter().map(|series| series.cells.len()).sum()
    }

    /// The number's own name.
    pub(crate) fn parameter(&self) -> &str {
        parameter(&self.path)
    }

    /// Name of its files: the parameter, in letters that any file system takes.
    pub(crate) fn file_name(&self) -> String {
        format!("sweep-{}", file_part(self.parameter()))
    }

    /// The figure, of the cells that have a point in the plane; or the reason why there is none.
    pub(crate) fn figure(
        &self,
        summary: &Summary,
        plane: &Pareto,
        style: &Style,
    ) -> Result<Result<Figure, String>, ReportError> {
        let point = |name: &str| plane.points.iter().find(|point| point.cell == name);
        let curve = |series: &Series, of: &dyn Fn(&Point) -> Reading| {
            let known = series.cells.iter().filter_map(|(x, name)| point(name).map(|p| (*x, p)));
            let points: Vec<_> = known.clone().map(|(x, p)| (x, of(p).0, of(p).1)).collect();
            let first = known.map(|(_, p)| p).next()?;
            (points.len() > 1).then(|| Curve {
                name: series.name.clone(),
                family: first.family,
                guarantee: first.guarantee,
                color: first.family.color,
                points,
            })
        };
        let curves = |of: &dyn Fn(&Point) -> Reading| -> Vec<Curve> {
            let mut curves: Vec<Curve> = self.series.iter().filter_map(|series| curve(series, of)).collect();
            color(&mut curves);
            curves
        };
        let (speed, quality) =
            (curves(&|p| (p.speedup, p.speedup_ci95)), curves(&|p| (p.quality, p.quality_ci95)));
        if speed.is_empty() {
            return Ok(Err(format!(
                "fewer than two cells of the sweep of `{}` have a speedup and a quality",
                self.path
            )));
        }
        let baseline = &summary.baseline;
        let panels = vec![
            CurvePanel {
                curves: speed,
                y_name: format!("Speedup over {baseline}, × (↑ higher is better)"),
                level: Some((1.0, baseline.clone())),
                y: None,
            },
            CurvePanel {
                curves: quality,
                y_name: plane.quality_name(baseline),
                level: plane.is_difference.then(|| (0.0, baseline.clone())),
                y: None,
            },
        ];
        let words = Words {
            name: self.file_name(),
            title: format!("{}: sweep of {}", summary.name, self.parameter()),
            conditions: conditions(summary),
            caption: format!(
                "The cells of a line differ in {} only: the upper panel has the speedup, the lower {}, with 95 % intervals. Lines only join what \
                 belongs together; between the points nothing was measured. Intervals of several lines at one value are drawn beside each other.",
                self.path,
                plane.quality_in_words()
            ),
        };
        let is_log = self.series.iter().all(|series| {
            let places: Vec<f64> = series.cells.iter().map(|(value, _)| *value).collect();
            spans_a_log_axis(&places)
        });
        let scale = if is_log { " (log scale)" } else { "" };
        let drawing = Curves {
            panels,
            x_name: format!("{}{scale}", self.parameter()),
            tall: 190,
            ticks_at_places: true,
            is_log,
        };
        Figure::of(words, &drawing, self.csv(plane)?, style).map(Ok)
    }

    fn csv(&self, plane: &Pareto) -> Result<String, ReportError> {
        let mut out = CsvText::new();
        let columns = ["parameter", "series", "value", "cell"].into_iter().chain(POINT_COLUMNS);
        out.write_record(columns.chain(["why", "times"]))?;
        for (series, value, name) in
            self.series.iter().flat_map(|s| s.cells.iter().map(move |(value, name)| (s, value, name)))
        {
            let start = [self.path.clone(), series.name.clone(), value.to_string(), name.clone()];
            let point = plane.points.iter().find(|point| point.cell == *name);
            let why = plane.left_out.iter().find(|(cell, _)| cell == name).map(|(_, why)| why.clone());
            let times = point.map_or("", |_| plane.times());
            let end = [why.unwrap_or_default(), times.to_owned()];
            out.write_record(start.into_iter().chain(plane.point_fields(point)).chain(end))?;
        }
        Ok(out.into_text())
    }
}

/// Lines of one family have a colour each, in the order of what sets them apart.
fn color(curves: &mut [Curve]) {
    let families: Vec<_> = curves.iter().map(|curve| curve.family).collect();
    for (at, curve) in curves.iter_mut().enumerate() {
        let n = families.iter().filter(|family| **family == curve.family).count();
        let nth = families[..at].iter().filter(|family| **family == curve.family).count();
        if n > 1 {
            curve.color = series_color(nth, n);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use super::*;
    use crate::tables::settings::settings_of;
    use serde_json::json;

    fn cell(name: &str, base: Option<&str>, (a, b): (f64, f64)) -> Settings {
        let accept = json!([{"kind": "cascade", "tau_pos": a, "tau_seq": b}]);
        let params = if base.is_some() { json!({"tau_pos": a}) } else { json!({}) };
        let base = base.unwrap_or(name);
        let cell = json!({"name": name, "base": base, "params": params, "method": {"accept": accept}});
        settings_of(&cell).unwrap()
    }

    fn cells(taus: &[(f64, f64)]) -> Vec<Settings> {
        taus.iter()
            .map(|taus| cell(&format!("cascade tau_pos={},tau_seq={}", taus.0, taus.1), None, *taus))
            .collect()
    }

    #[test]
    fn cells_that_differ_in_one_number_form_series_in_its_order() {
        let cells =
            cells(&[(0.9, 0.5), (0.7, 0.5), (0.8, 0.5), (0.8, 0.6), (0.7, 0.6), (0.9, 0.6), (0.9, 0.7)]);
        let found = sweep(&cells, "method.accept.0.tau_pos").unwrap();
        assert_eq!((found.parameter(), found.file_name().as_str()), ("tau_pos", "sweep-tau_pos"));
        let values: Vec<Vec<f64>> =
            found.series.iter().map(|s| s.cells.iter().map(|(value, _)| *value).collect()).collect();
        assert_eq!(values, [[0.7, 0.8, 0.9], [0.7, 0.8, 0.9]]);
        assert_eq!(found.series[0].name, "cascade");
        let other = sweep(&cells, "method.accept.0.tau_seq").unwrap();
        assert_eq!(other.series.len(), 1);
    }

    #[test]
    fn a_series_has_its_own_cells_only() {
        // The same settings under two names, as a sweep and a grid that cross have them.
        let budget = |tau: f64| cell(&format!("budget[tau_pos={tau}]"), Some("budget"), (tau, 0.5));
        let cells = [
            cell("casc[tau_pos=0.9,tau_seq=0.5]", Some("casc"), (0.9, 0.5)),
            cell("published", None, (0.9, 0.5)),
            budget(0.7),
            budget(0.8),
            budget(0.9),
        ];
        let found = sweep(&cells, "method.accept.0.tau_pos").unwrap();
        assert_eq!(found.series.len(), 1);
        let names: Vec<&str> = found.series[0].cells.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["budget[tau_pos=0.7]", "budget[tau_pos=0.8]", "budget[tau_pos=0.9]"]);
        // Cells that were written out differ in their names.
        let written = ["cascade", "budget-07", "budget-08", "budget-09"];
        let taus = [0.9, 0.7, 0.8, 0.9];
        let cells: Vec<Settings> =
            written.iter().zip(taus).map(|(name, tau)| cell(name, None, (tau, 0.5))).collect();
        let found = sweep(&cells, "method.accept.0.tau_pos").unwrap();
        assert_eq!(found.series[0].cells.last().unwrap().1, "budget-09");
    }

    #[test]
    fn two_values_are_a_sweep_only_where_an_axis_of_the_spec_asks_for_them() {
        let path = "method.accept.0.tau_pos";
        assert_eq!(sweep(&cells(&[(0.9, 0.5), (0.7, 0.5)]), path), None);
        let of_axis = |tau: f64| cell(&format!("c[tau_pos={tau}]"), Some("c"), (tau, 0.5));
        let found = sweep(&[of_axis(0.9), of_axis(0.7)], path).unwrap();
        assert_eq!(found.series[0].cells.len(), 2);
        assert_eq!(sweep(&[of_axis(0.9)], path), None);
        // The second axis has one value, so that it is no sweep.
        assert_eq!(sweep(&[of_axis(0.9), of_axis(0.7)], "method.accept.0.tau_seq"), None);
    }
}
