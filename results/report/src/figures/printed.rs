//! A paper's table as a picture: its printed values above, ours below, each with its own axes, so that their shapes can
//! be compared where their magnitudes cannot.

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, DrawingBackend};
use specimen_record::Summary;

use crate::ReportError;
use crate::drawing::charts::scatter::{Dot, Scatter};
use crate::drawing::families::style_of;
use crate::drawing::figure::{Drawing, Drawn, DrawnFigure, Figure, Style, Words};
use crate::table::CsvText;
use crate::tables::conditions::conditions;

/// Space between the two planes.
const BETWEEN: i32 = 14;

/// A value with its 95 % interval.
pub type WithInterval = (f64, Option<[f64; 2]>);

/// Cells of a run in a printed plane and in ours.
#[derive(Clone, Debug, PartialEq)]
pub struct PrintedPlane {
    /// Name of the files, without ending.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// How the paper's values are known: `as printed`, or `second-hand`.
    pub source: String,
    /// Names of the level axis, printed and ours.
    pub x_names: [String; 2],
    /// Names of the upright axis, printed and ours.
    pub y_names: [String; 2],
    /// The cells.
    pub points: Vec<PrintedPoint>,
}

/// A cell of a run that stands for a printed row. A plane leaves it out where it has no value for both axes.
#[derive(Clone, Debug, PartialEq)]
pub struct PrintedPoint {
    /// Name of the cell.
    pub cell: String,
    /// The row's values.
    pub printed: [Option<f64>; 2],
    /// The cell's.
    pub ours: [Option<WithInterval>; 2],
}

/// Draws them, or says why there is nothing to draw.
pub fn printed_figure(
    plane: &PrintedPlane,
    summary: &Summary,
    style: &Style,
) -> Result<Result<DrawnFigure, String>, ReportError> {
    let scatter = |at: usize, values: &dyn Fn(&PrintedPoint) -> Option<[WithInterval; 2]>| {
        let dots = plane.points.iter().filter_map(|point| {
            let [x, y] = values(point)?;
            let cell = summary.cell(&point.cell)?;
            Some(Dot {
                name: point.cell.clone(),
                family: style_of(cell),
                guarantee: cell.guarantee,
                is_faded: false,
                is_named: true,
                x: x.0,
                x_ci95: x.1,
                y: y.0,
                y_ci95: y.1,
            })
        });
        Scatter {
            dots: dots.collect(),
            faded: "dominated",
            lines: Vec::new(),
            x_name: plane.x_names[at].clone(),
            y_name: plane.y_names[at].clone(),
            frontiers: Vec::new(),
            upright: None,
            level: None,
        }
    };
    let printed = scatter(0, &|point| Some([(point.printed[0]?, None), (point.printed[1]?, None)]));
    let ours = scatter(1, &|point| Some([point.ours[0]?, point.ours[1]?]));
    if printed.dots.len() < 2 || ours.dots.len() < 2 {
        let (n_printed, n_ours) = (printed.dots.len(), ours.dots.len());
        let why = format!(
            "{n_printed} rows have printed values for both axes and {n_ours} have ours; two are needed"
        );
        return Ok(Err(why));
    }
    let words = Words {
        name: plane.name.clone(),
        title: plane.title.clone(),
        conditions: format!("above: the paper, {}; below: ours, {}", plane.source, conditions(summary)),
        caption: format!(
            "{}: above the paper's values, {}; below ours on {}, with 95 % intervals. Each plane has its own axes: compare \
             the order of the methods.",
            plane.title,
            plane.source,
            summary.machine()
        ),
    };
    let figure = Figure::of(words, &Planes([printed, ours]), csv(plane)?, style)?;
    Ok(Ok(figure.into()))
}

fn csv(plane: &PrintedPlane) -> Result<String, ReportError> {
    let mut out = CsvText::new();
    let [x, y] = [&plane.x_names, &plane.y_names];
    let ours = |name: &str| [name.to_owned(), format!("{name}: 95 % from"), format!("{name}: 95 % to")];
    let heads = ["cell".to_owned(), x[0].clone(), y[0].clone()];
    out.write_record(heads.into_iter().chain(ours(&x[1])).chain(ours(&y[1])))?;
    let text = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    for point in &plane.points {
        let mut line = vec![point.cell.clone(), text(point.printed[0]), text(point.printed[1])];
        for ours in point.ours {
            let ends = ours.and_then(|(_, ci95)| ci95);
            line.push(text(ours.map(|(value, _)| value)));
            line.extend([0, 1].map(|end| text(ends.map(|ends| ends[end]))));
        }
        out.write_record(line)?;
    }
    Ok(out.into_text())
}

/// Two planes, one above the other.
struct Planes([Scatter; 2]);

impl Planes {
    fn below(&self, wide: i32) -> i32 {
        self.0[0].height(wide).cast_signed() + BETWEEN
    }
}

impl Drawing for Planes {
    fn height(&self, wide: i32) -> u32 {
        self.below(wide).cast_unsigned() + self.0[1].height(wide)
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        let (above, below) = area.split_vertically(self.below(area.dim_in_pixel().0.cast_signed()));
        self.0[0].draw(&above)?;
        self.0[1].draw(&below)
    }
}
