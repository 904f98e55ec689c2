//! Training curves: what a network's training noted now and then, one panel a quantity over the steps. Quantities
//! that are numbered (`overlap1`, `overlap2`, ...) share a panel.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use specimen_foundation::failure;

use crate::ReportError;
use crate::drawing::charts::axes::{ABOVE, Axes, BELOW, range, tick_room};
use crate::drawing::figure::{Drawing, Drawn, DrawnFigure, EDGE, Figure, NAME, Style, Words};
use crate::drawing::labels::stacked;
use crate::drawing::marks::broken;
use crate::drawing::marks::{text_width, write};
use crate::drawing::palette::INK;

/// Units of a panel.
const TALL: i32 = 140;
/// Distance between names.
const APART: f64 = 20.0;

/// Draws the curve of the network `name` from `csv`, the text of the file at `path` (named in errors), whose header
/// is `step,seconds,` and the quantities. The vertical axes follow the values, in the units of the file.
pub fn training_figure(name: &str, path: &Path, csv: &str) -> Result<DrawnFigure, ReportError> {
    let history = History::parse(path, csv)?;
    let last = &history.rows[history.rows.len() - 1];
    let words = Words {
        name: name.to_owned(),
        title: format!("training of {name}"),
        conditions: format!("{} steps; the last attempt took {}", last[0], duration(last[1])),
        caption: String::new(),
    };
    let figure = Figure::of(words, &history, csv.to_owned(), &Style::SCREEN)?;
    Ok(figure.into())
}

fn duration(seconds: f64) -> String {
    let minutes = (seconds / 60.0).round() as u64;
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{seconds:.0} s"),
        (0, minutes) => format!("{minutes} min"),
        (hours, minutes) => format!("{hours} h {minutes:02} min"),
    }
}

/// The rows of a curve's file.
struct History {
    names: Vec<String>,
    rows: Vec<Vec<f64>>,
}

impl History {
    fn parse(path: &Path, csv: &str) -> Result<History, ReportError> {
        let wrong = |line: usize, expected: String, found: &str| {
            failure!(Missing: "{}: line {line}: expected {expected}, found `{}`", path.display(),
                found.chars().take(80).collect::<String>())
        };
        let mut lines = csv.lines();
        let head = lines.next().unwrap_or_default();
        let names: Vec<String> = head.split(',').map(str::to_owned).collect();
        if names.len() < 3 || names[..2] != ["step", "seconds"] {
            return Err(wrong(1, "a header `step,seconds,` and quantities".to_owned(), head).into());
        }
        let mut rows = Vec::new();
        for (at, line) in lines.enumerate() {
            let numbers: Option<Vec<f64>> = line.split(',').map(|field| field.parse().ok()).collect();
            let row = numbers.filter(|row| row.len() == names.len() && row.iter().all(|v| v.is_finite()));
            rows.push(row.ok_or_else(|| wrong(at + 2, format!("{} finite numbers", names.len()), line))?);
        }
        if rows.is_empty() {
            return Err(wrong(2, "at least one row".to_owned(), "").into());
        }
        Ok(History { names, rows })
    }

    /// What shares a panel: its name, and the columns.
    fn panels(&self) -> Vec<(&str, Vec<usize>)> {
        let mut panels: Vec<(&str, Vec<usize>)> = Vec::new();
        for (at, name) in self.names.iter().enumerate().skip(2) {
            let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
            match panels.last_mut() {
                Some((last, columns)) if *last == stem && stem != name => columns.push(at),
                _ => panels.push((stem, vec![at])),
            }
        }
        // A single quantity keeps its number.
        panels.iter_mut().filter(|(_, columns)| columns.len() == 1).for_each(|(stem, columns)| {
            *stem = &self.names[columns[0]];
        });
        panels
    }

    fn column(&self, at: usize) -> impl Iterator<Item = f64> {
        self.rows.iter().map(move |row| row[at])
    }

    fn y_range(&self, columns: &[usize]) -> [f64; 2] {
        let values = columns.iter().flat_map(|&at| self.column(at));
        range(values, 0.09, 0.09).expect("there is at least one row")
    }

    fn draw_panel<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        axes: &Axes,
        columns: &[usize],
    ) -> Drawn<DB> {
        let mut ends = Vec::new();
        for (nth, &column) in columns.iter().enumerate() {
            let line: Vec<(i32, i32)> =
                self.column(0).zip(self.column(column)).map(|(x, y)| axes.at(x, y)).collect();
            for stretch in broken(&line, nth) {
                area.draw(&PathElement::new(stretch.to_vec(), LINES[nth % LINES.len()].stroke_width(2)))?;
            }
            ends.push(f64::from(line[line.len() - 1].1));
        }
        if columns.len() < 2 {
            return Ok(());
        }
        let bounds = [f64::from(axes.top), f64::from(axes.bottom)];
        for (&column, y) in columns.iter().zip(stacked(&ends, APART, bounds)) {
            let at = (axes.right + 8, y.round() as i32);
            write(area, &self.names[column], at, NAME, INK, HPos::Left, VPos::Center)?;
        }
        Ok(())
    }
}

/// Colours of the lines of one panel, from dark to light.
const LINES: [RGBColor; 3] = [RGBColor(24, 74, 119), RGBColor(196, 98, 30), RGBColor(72, 148, 134)];

impl Drawing for History {
    fn height(&self, _wide: i32) -> u32 {
        let n = i32::try_from(self.panels().len()).expect("a curve has a few quantities");
        (8 + n * (TALL + ABOVE + BELOW)).cast_unsigned()
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        let panels = self.panels();
        let left = panels.iter().map(|(_, columns)| tick_room(self.y_range(columns))).max().unwrap_or(60);
        let shared = panels.iter().filter(|(_, columns)| columns.len() > 1).flat_map(|(_, columns)| columns);
        let widest = shared.map(|&at| text_width(&self.names[at], NAME) + 10.0).fold(0.0, f64::max);
        let right = area.dim_in_pixel().0.cast_signed() - EDGE - widest.ceil() as i32;
        let x = [0.0, self.column(0).fold(1.0, f64::max)];
        for (at, (name, columns)) in (0_i32..).zip(&panels) {
            let top = 8 + at * (TALL + ABOVE + BELOW) + ABOVE;
            let axes = Axes { left, top, right, bottom: top + TALL, x, y: self.y_range(columns) };
            axes.draw(area, "Step", name)?;
            self.draw_panel(area, &axes, columns)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    const CSV: &str = "step,seconds,loss,share1,share2,top5\n50,1.0,4.0,0.5,0.4,1\n200,4.0,3.0,0.5,0.6,2\n";

    fn parsed(csv: &str) -> Result<History, ReportError> {
        History::parse(Path::new("curve.csv"), csv)
    }

    #[test]
    fn numbered_quantities_share_a_panel_and_a_single_one_keeps_its_name() {
        let history = parsed(CSV).unwrap();
        assert_eq!(history.panels(), [("loss", vec![2]), ("share", vec![3, 4]), ("top5", vec![5])]);
        assert_eq!(history.height(560), 8 + 3 * (TALL + ABOVE + BELOW).cast_unsigned());
    }

    #[test]
    fn a_curve_is_drawn_twice_alike_with_its_words() {
        let figure = training_figure("target", Path::new("curve.csv"), CSV).unwrap();
        for words in ["training of target", "200 steps; the last attempt took 4 s", "share1", "share2"] {
            assert!(figure.svg.contains(words), "{words}: {}", figure.svg);
        }
        assert_eq!(figure, training_figure("target", Path::new("curve.csv"), CSV).unwrap());
        assert!(figure.png.starts_with(b"\x89PNG"));
        let risen = training_figure("target", Path::new("curve.csv"), &CSV.replace("3.0", "5.0")).unwrap();
        assert_ne!(figure.svg, risen.svg);
    }

    #[test]
    fn what_is_no_curve_is_an_error_with_its_line() {
        for (csv, part) in [
            ("", "line 1: expected a header"),
            ("step,loss\n1,2\n", "line 1: expected a header"),
            ("step,seconds,loss\n", "line 2: expected at least one row"),
            ("step,seconds,loss\n1,2\n", "line 2: expected 3 finite numbers, found `1,2`"),
            ("step,seconds,loss\n1,2,3\n1,2,x\n", "line 3: expected 3 finite numbers, found `1,2,x`"),
            ("step,seconds,loss\n1,2,NaN\n", "line 2: expected 3 finite numbers"),
        ] {
            let error = parsed(csv).err().unwrap().to_string();
            assert!(error.starts_with("curve.csv: ") && error.contains(part), "`{part}` is not in `{error}`");
        }
    }
}
