//! A rectangle with two linear axes: where a value lies, and the frame, ticks and words around it.

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, DrawingBackend, PathElement};
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use crate::drawing::charts::axis_name::{write_above, write_below};
use crate::drawing::figure::{Drawn, TICK};
use crate::drawing::marks::{text_width, ticks, write};
use crate::drawing::palette::{INK, PALE};

/// Height of the words under an axis, ticks included; a name in several lines takes more.
pub(crate) const BELOW: i32 = 54;

/// Height of the words above an axis, of one line.
pub(crate) const ABOVE: i32 = 28;

/// The inside of a plot and what its edges stand for.
#[derive(Clone, Debug)]
pub(crate) struct Axes {
    pub(crate) left: i32,
    pub(crate) top: i32,
    pub(crate) right: i32,
    pub(crate) bottom: i32,
    pub(crate) x: [f64; 2],
    pub(crate) y: [f64; 2],
}

impl Axes {
    /// Where a pair of values lies, to the nearest unit.
    pub(crate) fn at(&self, x: f64, y: f64) -> (i32, i32) {
        let part = |value: f64, range: [f64; 2]| (value - range[0]) / (range[1] - range[0]);
        let across = f64::from(self.left) + part(x, self.x) * f64::from(self.right - self.left);
        let down = f64::from(self.bottom) - part(y, self.y) * f64::from(self.bottom - self.top);
        (across.round() as i32, down.round() as i32)
    }

    /// Grid, frame, ticks and the names of both axes; the one of the vertical axis stands above it.
    pub(crate) fn draw<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        x_name: &str,
        y_name: &str,
    ) -> Drawn<DB> {
        self.draw_with(area, x_name, y_name, &sparse(self.x, self.right - self.left))
    }

    /// As [`Axes::draw`], with ticks of one's own on the level axis.
    pub(crate) fn draw_with<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        x_name: &str,
        y_name: &str,
        x_ticks: &[(f64, String)],
    ) -> Drawn<DB> {
        for (value, text) in x_ticks {
            let (x, _) = self.at(*value, self.y[0]);
            area.draw(&PathElement::new(vec![(x, self.bottom), (x, self.top)], PALE.stroke_width(1)))?;
            area.draw(&PathElement::new(vec![(x, self.bottom), (x, self.bottom + 5)], INK.stroke_width(1)))?;
            // A number at the right edge is pushed inside.
            let half = (text_width(text, TICK) / 2.0).ceil() as i32 + 1;
            let middle = x.min(area.dim_in_pixel().0.cast_signed() - half);
            write(area, text, (middle, self.bottom + 8), TICK, INK, HPos::Center, VPos::Top)?;
        }
        for (value, text) in ticks(self.y) {
            let (_, y) = self.at(self.x[0], value);
            area.draw(&PathElement::new(vec![(self.left, y), (self.right, y)], PALE.stroke_width(1)))?;
            area.draw(&PathElement::new(vec![(self.left - 5, y), (self.left, y)], INK.stroke_width(1)))?;
            write(area, &text, (self.left - 9, y), TICK, INK, HPos::Right, VPos::Center)?;
        }
        let frame = vec![(self.left, self.top), (self.left, self.bottom), (self.right, self.bottom)];
        area.draw(&PathElement::new(frame, INK.stroke_width(2)))?;
        write_below(area, x_name, (self.left.midpoint(self.right), self.bottom + BELOW - 12))?;
        write_above(area, y_name, self.top - ABOVE / 2 - 3)
    }
}

/// Space that the ticks of a vertical axis take.
pub(crate) fn tick_room(range: [f64; 2]) -> i32 {
    let widest = ticks(range).iter().map(|(_, text)| text_width(text, TICK)).fold(0.0, f64::max);
    widest.ceil() as i32 + 20
}

/// Ticks of a level axis of so many units, thinned out until their words stay apart.
pub(crate) fn sparse(range: [f64; 2], wide: i32) -> Vec<(f64, String)> {
    let all = ticks(range);
    let needed: f64 = all.iter().map(|(_, text)| text_width(text, TICK) + 14.0).fold(0.0, f64::max);
    let fitting = (f64::from(wide) / needed).floor().max(1.0) as usize;
    let step = all.len().div_ceil(fitting).max(1);
    all.into_iter().step_by(step).collect()
}

/// A range about values, with some air; `None` without values.
pub(crate) fn range(values: impl IntoIterator<Item = f64>, below: f64, above: f64) -> Option<[f64; 2]> {
    let (low, high) = values
        .into_iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let span = if high > low { high - low } else { low.abs().max(1e-6) };
    low.is_finite().then_some([low - below * span, high + above * span])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corners_of_the_ranges_are_the_corners_of_the_frame() {
        let axes = Axes { left: 40, top: 10, right: 240, bottom: 110, x: [1.0, 3.0], y: [-1.0, 1.0] };
        assert_eq!(axes.at(1.0, -1.0), (40, 110));
        assert_eq!(axes.at(3.0, 1.0), (240, 10));
        assert_eq!(axes.at(2.0, 0.0), (140, 60));
    }

    #[test]
    fn a_narrow_axis_has_fewer_ticks() {
        let wide = sparse([0.5, 2.5], 500);
        let narrow = sparse([0.5, 2.5], 120);
        assert!(wide.len() > narrow.len() && narrow.len() >= 2, "{} {}", wide.len(), narrow.len());
    }

    #[test]
    fn one_value_has_a_range_and_none_has_none() {
        assert_eq!(range([2.0], 0.1, 0.1), Some([1.8, 2.2]));
        assert_eq!(range([0.0, 10.0], 0.1, 0.2), Some([-1.0, 12.0]));
        assert_eq!(range([], 0.1, 0.2), None);
    }
}
