//! A training curve as a picture: one panel for each quantity of the CSV file, over the steps. Straight lines and
//! labels need no plotting library, which only the report links.

use std::fmt::Write;

use anyhow::Context;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 130.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 20.0;

/// An SVG document of `csv`, whose header is `step,seconds,` and the quantities, as a
/// [`Journal`](crate::journal::Journal) writes it.
///
/// # Errors
/// A row that is not as many finite numbers as the header has names, or no row at all.
pub fn svg(csv: &str) -> anyhow::Result<String> {
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().context("a curve has a header")?.split(',').collect();
    let rows: Vec<Vec<f64>> = lines.map(|line| numbers(line, names.len())).collect::<Result<_, _>>()?;
    let last = rows.last().context("a curve has at least one row")?[0];
    let height = HEIGHT * (names.len() - 2) as f64;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for (panel, name) in names[2..].iter().enumerate() {
        let points: Vec<(f64, f64)> = rows.iter().map(|row| (row[0], row[panel + 2])).collect();
        draw(&mut text, HEIGHT * panel as f64, name, &points, last)?;
    }
    text.push_str("</svg>\n");
    Ok(text)
}

fn numbers(line: &str, n: usize) -> anyhow::Result<Vec<f64>> {
    let values: Option<Vec<f64>> = line.split(',').map(|field| field.parse().ok()).collect();
    let values = values.filter(|values| values.len() == n && values.iter().all(|value| value.is_finite()));
    values.with_context(|| format!("a row of the curve is not {n} numbers: {line}"))
}

/// One panel below `y`: its frame, its name, the largest and the smallest value, and the curve.
fn draw(text: &mut String, y: f64, name: &str, points: &[(f64, f64)], last: f64) -> std::fmt::Result {
    let (low, high) = points
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &(_, v)| (low.min(v), high.max(v)));
    let (inner, depth) = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
    // A quantity that never changes runs along the middle.
    let share = |value: f64| if high > low { (value - low) / (high - low) } else { 0.5 };
    let at = |&(step, value): &(f64, f64)| {
        format!("{:.1},{:.1}", LEFT + inner * step / last, y + TOP + depth * (1.0 - share(value)))
    };
    let curve: Vec<String> = points.iter().map(at).collect();
    let (top, bottom) = (y + TOP, y + TOP + depth);
    writeln!(
        text,
        "<rect x=\"{LEFT}\" y=\"{top}\" width=\"{inner}\" height=\"{depth}\" fill=\"none\" stroke=\"#bbbbbb\"/>"
    )?;
    writeln!(text, "<text x=\"{LEFT}\" y=\"{}\">{name}</text>", top - 6.0)?;
    for (value, baseline) in [(high, top + 10.0), (low, bottom)] {
        writeln!(text, "<text x=\"{}\" y=\"{baseline}\" text-anchor=\"end\">{value:.4}</text>", LEFT - 6.0)?;
    }
    writeln!(
        text,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">step {last}</text>",
        LEFT + inner,
        bottom + 14.0
    )?;
    writeln!(text, "<polyline points=\"{}\" fill=\"none\" stroke=\"#0b62a4\"/>", curve.join(" "))
}
