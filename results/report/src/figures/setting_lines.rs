//! Cells that are one method at several settings, as lines through a plane: along a number, or along several that
//! change one way together (the three pairs of CASCADE's Figure 4). A sweep over two numbers is one line for each
//! value of the second.

use std::collections::BTreeMap;

use plotters::style::RGBColor;
use specimen_record::{Guarantee, Summary};

use crate::drawing::charts::curves::{Curve, CurvePoint};
use crate::drawing::families::{FAMILIES, FamilyStyle, style, style_of};
use crate::drawing::marks::RADIUS;
use crate::drawing::palette::series_color;
use crate::tables::settings::{Settings, common_name, parameter, settings};

/// Fewest cells that are alike but for numbers of their method.
const FEWEST: usize = 3;

/// Cells in the order of their numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) cells: Vec<String>,
    /// The numbers that change along it, in words, and the first and the last of them.
    pub(crate) along: String,
    pub(crate) family: FamilyStyle,
    pub(crate) guarantee: Guarantee,
    pub(crate) color: RGBColor,
}

/// The numbers of one cell, by the paths in which its group differs.
type Numbered<'s> = (Vec<f64>, &'s Settings);

/// The lines of a summary, in the order of the spec; none without one.
pub(crate) fn lines(summary: &Summary) -> Vec<Line> {
    let cells = settings(summary);
    let mut groups: BTreeMap<String, Vec<&Settings>> = BTreeMap::new();
    for cell in &cells {
        groups.entry(group_key(cell)).or_default().push(cell);
    }
    let mut found: Vec<(usize, Line)> = Vec::new();
    for group in groups.into_values().filter(|group| group.len() >= FEWEST) {
        for line in of_group(summary, &group) {
            let place = cells.iter().position(|cell| cell.name == line.cells[0]).unwrap_or(usize::MAX);
            found.push((place, line));
        }
    }
    found.sort_by_key(|(place, _)| *place);
    let mut lines: Vec<Line> = found.into_iter().map(|(_, line)| line).collect();
    color(&mut lines);
    number_equal_names(&mut lines);
    lines
}

/// A curve of one cell, in the colour of its line of settings or of its family. `None` without points, and for a cell
/// that the summary does not have.
pub(crate) fn curve(summary: &Summary, cell: &str, points: Vec<CurvePoint>) -> Option<Curve> {
    let cell = summary.cell(cell).filter(|_| !points.is_empty())?;
    let family = style_of(cell);
    let color = place(&lines(summary), &cell.id).map_or(family.color, |(line, _)| line.color);
    Some(Curve { name: cell.id.clone(), family, guarantee: cell.guarantee, color, points })
}

/// What cells of one group share: where they come from, and everything but the numbers of their method.
fn group_key(cell: &Settings) -> String {
    let leaf = |(path, value): (&String, &serde_json::Value)| match value.is_number()
        && path.starts_with("method.")
    {
        true => path.clone(),
        false => format!("{path}={value}"),
    };
    let leaves: Vec<String> = cell.leaves.iter().map(leaf).collect();
    format!("{}\n{}", cell.base.as_deref().unwrap_or(""), leaves.join("\n"))
}

fn of_group(summary: &Summary, group: &[&Settings]) -> Vec<Line> {
    let first = &group[0].leaves;
    let paths: Vec<&str> = first
        .iter()
        .filter(|(path, value)| value.is_number() && group.iter().any(|cell| cell.leaves[*path] != **value))
        .map(|(path, _)| path.as_str())
        .collect();
    let numbers =
        |cell: &Settings| paths.iter().map(|path| cell.leaves[*path].as_f64().unwrap_or(0.0)).collect();
    let mut numbered: Vec<Numbered<'_>> = group.iter().map(|cell| (numbers(cell), *cell)).collect();
    // Cells of the same numbers are one point of the line: the first is drawn.
    let mut seen: Vec<Vec<f64>> = Vec::new();
    numbered.retain(|(numbers, _)| {
        let is_new = !seen.contains(numbers);
        if is_new {
            seen.push(numbers.clone());
        }
        is_new
    });
    if numbered.len() < FEWEST || paths.is_empty() {
        return Vec::new();
    }
    if let Some(chain) = chain(&numbered, paths.len()) {
        return line(summary, &chain, &paths, paths[0]).into_iter().collect();
    }
    let [a, b] = paths[..] else { return Vec::new() };
    let distinct = |at: usize| {
        let mut values: Vec<f64> = numbered.iter().map(|(numbers, _)| numbers[at]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    };
    // The number with more values runs along the lines.
    let (along, across) = if distinct(1).len() > distinct(0).len() { (1, 0) } else { (0, 1) };
    let path = [a, b][along];
    let rows = distinct(across).into_iter().map(|value| {
        let mut row: Vec<Numbered<'_>> =
            numbered.iter().filter(|(numbers, _)| numbers[across] == value).cloned().collect();
        row.sort_by(|a, b| a.0[along].total_cmp(&b.0[along]));
        row
    });
    rows.filter(|row| row.len() > 1).filter_map(|row| line(summary, &row, &[path], path)).collect()
}

/// The cells in an order in which every number only grows or only falls; `None` where there is no such order.
fn chain<'s>(cells: &[Numbered<'s>], n_paths: usize) -> Option<Vec<Numbered<'s>>> {
    let signs = (0..1_u32 << (n_paths.min(4) - 1)).map(|mask| {
        let sign = move |at: usize| if at > 0 && at < 4 && mask >> (at - 1) & 1 == 1 { -1.0 } else { 1.0 };
        (0..n_paths).map(sign).collect::<Vec<f64>>()
    });
    for signs in signs {
        let signed =
            |cell: &Numbered<'_>| -> Vec<f64> { cell.0.iter().zip(&signs).map(|(v, s)| v * s).collect() };
        let mut order = cells.to_vec();
        order.sort_by(|a, b| signed(a).partial_cmp(&signed(b)).unwrap_or(std::cmp::Ordering::Equal));
        let grows =
            |a: &Numbered<'_>, b: &Numbered<'_>| signed(a).iter().zip(signed(b)).all(|(a, b)| *a <= b);
        if order.windows(2).all(|pair| grows(&pair[0], &pair[1])) {
            return Some(order);
        }
    }
    None
}

/// A line through cells in order; `None` where the summary has none of them.
fn line(summary: &Summary, cells: &[Numbered<'_>], paths: &[&str], path: &str) -> Option<Line> {
    let known: Vec<&str> = cells
        .iter()
        .map(|(_, cell)| cell.name.as_str())
        .filter(|name| summary.cell(name).is_some())
        .collect();
    let first = summary.cell(known.first()?)?;
    let numbers = |cell: &Settings| {
        let numbers = paths.iter().filter_map(|path| cell.leaves.get(*path));
        let texts: Vec<String> = numbers.map(ToString::to_string).collect();
        if texts.len() == 1 { texts.concat() } else { format!("({})", texts.join(", ")) }
    };
    let words: Vec<&str> = paths.iter().map(|path| parameter(path)).collect();
    let (low, high) = (cells.first()?.1, cells.last()?.1);
    let family = style_of(first);
    Some(Line {
        name: common_name(&known, path),
        cells: known.iter().map(|name| (*name).to_owned()).collect(),
        along: format!("{} from {} to {}", words.join(", "), numbers(low), numbers(high)),
        family,
        guarantee: first.guarantee,
        color: family.color,
    })
}

/// Lines of one family share its colour where there is one, and have an ordered scale of their own where there are several.
fn color(lines: &mut [Line]) {
    for family in FAMILIES.map(style) {
        let n = lines.iter().filter(|line| line.family == family).count();
        let alike = lines.iter_mut().filter(|line| line.family == family);
        for (nth, line) in alike.enumerate().filter(|_| n > 1) {
            line.color = series_color(nth, n);
        }
    }
}

fn number_equal_names(lines: &mut [Line]) {
    for at in 1..lines.len() {
        let n = lines[..at].iter().filter(|other| other.name == lines[at].name).count();
        if n > 0 {
            lines[at].name = format!("{} ({})", lines[at].name, n + 1);
        }
    }
}

/// Where a cell is on the lines: which of them, and how large its mark is there, growing along the line.
pub(crate) fn place<'l>(lines: &'l [Line], cell: &str) -> Option<(&'l Line, i32)> {
    lines.iter().find_map(|line| {
        let at = line.cells.iter().position(|name| name == cell)?;
        let last = line.cells.len().max(2) - 1;
        let spread = 4.0 * at as f64 / last as f64;
        Some((line, RADIUS - 2 + spread.round() as i32))
    })
}

/// What the size of a mark says.
pub(crate) fn size_words(lines: &[Line]) -> Option<String> {
    let mut along: Vec<&str> = lines.iter().map(|line| line.along.as_str()).collect();
    along.dedup();
    match along.len() {
        0 => None,
        1 | 2 => Some(format!("Marks grow along a line with {}", along.join(", or with "))),
        _ => Some("Marks grow along a line with the number that changes".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use super::*;
    use crate::tables::settings::settings_of;
    use serde_json::json;

    fn cells(taus: &[(f64, f64)]) -> Vec<Settings> {
        let cell = |(a, b): &(f64, f64)| {
            let accept = json!([{"kind": "cascade", "tau_pos": a, "tau_seq": b}]);
            settings_of(&json!({"name": format!("{a} {b}"), "method": {"accept": accept}})).unwrap()
        };
        taus.iter().map(cell).collect()
    }

    fn order(taus: &[(f64, f64)]) -> Option<Vec<String>> {
        let cells = cells(taus);
        let numbered: Vec<Numbered<'_>> =
            taus.iter().zip(&cells).map(|((a, b), cell)| (vec![*a, *b], cell)).collect();
        chain(&numbered, 2).map(|chain| chain.iter().map(|(_, cell)| cell.name.clone()).collect())
    }

    #[test]
    fn pairs_that_change_one_way_form_one_line() {
        let figure4 = [(0.85, 0.625), (0.85, 0.5), (0.8, 0.5)];
        assert_eq!(order(&figure4).unwrap(), ["0.8 0.5", "0.85 0.5", "0.85 0.625"]);
        let opposite = [(0.85, 0.4), (0.85, 0.5), (0.8, 0.6)];
        assert_eq!(order(&opposite).unwrap(), ["0.8 0.6", "0.85 0.5", "0.85 0.4"]);
        assert_eq!(order(&[(0.8, 0.5), (0.8, 0.6), (0.9, 0.5), (0.9, 0.6)]), None);
    }

    #[test]
    fn cells_of_other_words_are_of_another_line() {
        let one =
            settings_of(&json!({"name": "a", "method": {"drafter": {"weights": "x", "depth": 1}}})).unwrap();
        let other =
            settings_of(&json!({"name": "b", "method": {"drafter": {"weights": "y", "depth": 1}}})).unwrap();
        let deeper =
            settings_of(&json!({"name": "c", "method": {"drafter": {"weights": "x", "depth": 2}}})).unwrap();
        assert_ne!(group_key(&one), group_key(&other));
        assert_eq!(group_key(&one), group_key(&deeper));
        let of_axis = settings_of(&json!({"name": "d[depth=2]", "base": "d", "params": {"depth": 2},
            "method": {"drafter": {"weights": "x", "depth": 2}}}));
        assert_ne!(group_key(&one), group_key(&of_axis.unwrap()));
    }
}
