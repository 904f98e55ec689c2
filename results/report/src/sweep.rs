//! Sweeps: cells that differ in one number only, speedup and quality against that number. They are found in the
//! resolved spec, whether an axis made them or someone wrote them out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use specimen_record::Summary;

use crate::ReportError;
use crate::csv_text::CsvText;
use crate::curves::{Curve, CurvePanel, Curves};
use crate::facts::conditions;
use crate::figure::{Figure, Words};
use crate::pareto::{Pareto, Point};

/// Fewest values that make a sweep.
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

/// The leaves of a cell's configuration by path.
type Leaves = BTreeMap<String, Value>;

/// The sweeps of a summary, the one with the most cells first; or the reason why there is none.
pub(crate) fn sweeps(summary: &Summary) -> Result<Vec<Sweep>, String> {
    let cells = summary.spec["cells"].as_array().map_or(&[][..], Vec::as_slice);
    let cells: Vec<(String, Leaves)> = cells.iter().filter_map(configuration).collect();
    let numbers: BTreeSet<&String> = cells
        .iter()
        .flat_map(|(_, leaves)| leaves.iter().filter(|(_, value)| value.is_number()).map(|(path, _)| path))
        .collect();
    let mut sweeps: Vec<Sweep> = numbers.into_iter().filter_map(|path| sweep(&cells, path)).collect();
    sweeps.sort_by_key(|sweep| std::cmp::Reverse(sweep.n_cells()));
    sweeps.truncate(MOST);
    if sweeps.is_empty() {
        return Err(format!("no {FEWEST} cells differ in one number only"));
    }
    Ok(sweeps)
}

fn configuration(cell: &Value) -> Option<(String, Leaves)> {
    let name = cell["name"].as_str()?.to_owned();
    let mut leaves = Leaves::new();
    for part in ["model", "sampling", "method"] {
        flatten(part, &cell[part], &mut leaves);
    }
    Some((name, leaves))
}

fn flatten(path: &str, value: &Value, leaves: &mut Leaves) {
    let mut below = |name: &str, value: &Value| flatten(&format!("{path}.{name}"), value, leaves);
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| below(name, value)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(at, value)| below(&at.to_string(), value));
        }
        leaf => {
            leaves.insert(path.to_owned(), leaf.clone());
        }
    }
}

fn sweep(cells: &[(String, Leaves)], path: &str) -> Option<Sweep> {
    // What the others have in common, and the cells with it. Sorted by text, so the order is the same each time.
    let mut alike: BTreeMap<String, Vec<(f64, String)>> = BTreeMap::new();
    for (name, leaves) in cells {
        let Some(value) = leaves.get(path).and_then(Value::as_f64) else { continue };
        let others: Vec<String> =
            leaves.iter().filter(|(other, _)| *other != path).map(|(p, v)| format!("{p}={v}")).collect();
        alike.entry(others.join("\n")).or_default().push((value, name.clone()));
    }
    let mut series: Vec<Series> = alike.into_values().filter_map(|cells| series_of(cells, path)).collect();
    let place = |series: &Series| cells.iter().position(|(name, _)| *name == series.cells[0].1);
    series.sort_by_key(|series| place(series));
    (!series.is_empty()).then(|| Sweep { path: path.to_owned(), series })
}

fn series_of(mut cells: Vec<(f64, String)>, path: &str) -> Option<Series> {
    cells.sort_by(|a, b| a.0.total_cmp(&b.0));
    cells.dedup_by(|later, earlier| later.0 == earlier.0);
    let name = common_name(&cells, path);
    (cells.len() >= FEWEST).then_some(Series { name, cells })
}

/// What the names of a series' cells have in common: the labels that an axis wrote into all of them, or else what they
/// begin with, up to a joint.
fn common_name(cells: &[(f64, String)], path: &str) -> String {
    if let Some(name) = common_labels(cells) {
        return name;
    }
    let first = &cells[0].1;
    let shared = |n: usize| cells.iter().all(|(_, name)| name.get(..n) == first.get(..n));
    let n = (0..=first.len()).filter(|&n| first.is_char_boundary(n)).take_while(|&n| shared(n)).last();
    let parameter = path.rsplit('.').next().unwrap_or(path);
    let mut name = first[..n.unwrap_or(0)].trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    for _ in 0..4 {
        name = name.trim_end_matches([' ', '-', '_', '=', '+', ',', '.', '/', '(', '[', '{']);
        name = name.strip_suffix(parameter).unwrap_or(name);
    }
    if name.is_empty() { first.clone() } else { name.to_owned() }
}

/// `base` or `base[labels that all have]` of names as axes make them, `base[depth=2,tau=0.5]`; `None` of other names.
fn common_labels(cells: &[(f64, String)]) -> Option<String> {
    let split = |name: &'_ str| -> Option<(String, Vec<String>)> {
        let (base, labels) = name.strip_suffix(']')?.split_once('[')?;
        Some((base.to_owned(), labels.split(',').map(str::to_owned).collect()))
    };
    let names = cells.iter().map(|(_, name)| split(name)).collect::<Option<Vec<_>>>()?;
    let (base, labels) = names.first()?;
    if base.is_empty() || names.iter().any(|(other, _)| other != base) {
        return None;
    }
    let shared = labels.iter().filter(|label| names.iter().all(|(_, labels)| labels.contains(label)));
    let shared: Vec<&str> = shared.map(String::as_str).collect();
    Some(if shared.is_empty() { base.clone() } else { format!("{base}[{}]", shared.join(",")) })
}

impl Sweep {
    fn n_cells(&self) -> usize {
        self.series.iter().map(|series| series.cells.len()).sum()
    }

    /// The number's own name.
    pub(crate) fn parameter(&self) -> &str {
        self.path.rsplit('.').find(|part| part.parse::<usize>().is_err()).unwrap_or(&self.path)
    }

    /// Name of its files: the parameter, in letters that any file system takes.
    pub(crate) fn file_name(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        format!("sweep-{}", self.parameter().chars().map(plain).take(40).collect::<String>())
    }

    /// The figure, of the cells that have a point in the plane; or the reason why there is none.
    pub(crate) fn figure(
        &self,
        summary: &Summary,
        plane: &Pareto,
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
                points,
            })
        };
        let curves = |of: &dyn Fn(&Point) -> Reading| -> Vec<Curve> {
            self.series.iter().filter_map(|series| curve(series, of)).collect()
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
                "Cells that differ in {} only: speedup above, {} below, with 95 % intervals. Lines only join what \
                 belongs together; between the points nothing was measured.",
                self.path, plane.metric
            ),
        };
        let drawing =
            Curves { panels, x_name: self.parameter().to_owned(), tall: 190, ticks_at_places: true };
        Figure::of(words, &drawing, self.csv(plane)?).map(Ok)
    }

    fn csv(&self, plane: &Pareto) -> Result<String, ReportError> {
        let mut out = CsvText::new();
        out.write_record([
            "parameter",
            "series",
            "value",
            "cell",
            "speedup",
            "speedup_lo",
            "speedup_hi",
            "metric",
            "quality",
            "quality_lo",
            "quality_hi",
            "why",
        ])?;
        for (series, value, name) in
            self.series.iter().flat_map(|s| s.cells.iter().map(move |(value, name)| (s, value, name)))
        {
            let bounds = |ci: Option<[f64; 2]>| {
                ci.map_or([String::new(), String::new()], |ci| ci.map(|v| v.to_string()))
            };
            let mut line = vec![self.path.clone(), series.name.clone(), value.to_string(), name.clone()];
            match plane.points.iter().find(|point| point.cell == *name) {
                Some(p) => {
                    line.push(p.speedup.to_string());
                    line.extend(bounds(p.speedup_ci95));
                    line.push(plane.metric.clone());
                    line.push(p.quality.to_string());
                    line.extend(bounds(p.quality_ci95));
                    line.push(String::new());
                }
                None => {
                    line.extend(vec![String::new(); 7]);
                    let why = plane.left_out.iter().find(|(cell, _)| cell == name);
                    line.push(why.map(|(_, why)| why.clone()).unwrap_or_default());
                }
            }
            out.write_record(&line)?;
        }
        Ok(out.into_text())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use super::*;
    use serde_json::json;

    fn cells(taus: &[(f64, f64)]) -> Vec<(String, Leaves)> {
        let cell = |(a, b): &(f64, f64)| {
            json!({"name": format!("cascade tau_pos={a},tau_seq={b}"),
                   "method": {"accept": [{"kind": "cascade", "tau_pos": a, "tau_seq": b}]}})
        };
        taus.iter().map(|taus| configuration(&cell(taus)).unwrap()).collect()
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
    fn a_series_is_named_by_its_cell_and_by_the_labels_that_do_not_change() {
        let named = |names: [&str; 3], path: &str| {
            let cells: Vec<(f64, String)> =
                (0..3).map(|at| (f64::from(at), names[at as usize].into())).collect();
            common_name(&cells, path)
        };
        let depth = "method.drafter.depth";
        assert_eq!(named(["sd-chain[depth=1]", "sd-chain[depth=2]", "sd-chain[depth=3]"], depth), "sd-chain");
        let tau = "method.accept.0.tau_seq";
        assert_eq!(named(["casc[tau_seq=0.3]", "casc[tau_seq=0.5]", "casc[tau_seq=0.9]"], tau), "casc");
        let two = ["c[tau_pos=0.7,tau_seq=0.3]", "c[tau_pos=0.7,tau_seq=0.35]", "c[tau_pos=0.7,tau_seq=0.9]"];
        assert_eq!(named(two, tau), "c[tau_pos=0.7]");
        let first =
            ["c[tau_pos=0.7,tau_seq=0.5]", "c[tau_pos=0.8,tau_seq=0.5]", "c[tau_pos=0.9,tau_seq=0.5]"];
        assert_eq!(named(first, "method.accept.0.tau_pos"), "c[tau_seq=0.5]");
        assert_eq!(named(["chain[1", "chain[2", "chain[3"], depth), "chain");
        assert_eq!(named(["chain-1", "chain-2", "chain-13"], depth), "chain");
        assert_eq!(named(["a", "b", "c"], depth), "a");
    }

    #[test]
    fn two_values_are_no_sweep() {
        assert_eq!(sweep(&cells(&[(0.9, 0.5), (0.7, 0.5)]), "method.accept.0.tau_pos"), None);
    }
}
