//! Histograms over one axis, one row each: how high a bar is says its share of its own row.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::drawing::charts::axes::sparse;
use crate::drawing::charts::axis_name::{further_lines, write_below};
use crate::drawing::families::FamilyStyle;
use crate::drawing::figure::{Drawing, Drawn, EDGE, NAME, NOTE, NOTE_LINE, TICK};
use crate::drawing::font::SIZE_PER_EM;
use crate::drawing::marks::{text_width, write, write_note};
use crate::drawing::palette::{GREY, INK, PALE, PAPER};
use crate::drawing::short_names::{ShortNames, short_names};

/// Units of one row.
const ROW: i32 = 62;
/// Height of the tallest bar.
const TALLEST: i32 = 46;
const ABOVE: i32 = 26;
const BELOW: i32 = 58;
const WIDEST_NAME: f64 = 180.0;

/// One histogram.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Histogram {
    pub(crate) name: String,
    pub(crate) family: FamilyStyle,
    /// Ends of a bin, and its share of the row.
    pub(crate) bins: Vec<([f64; 2], f64)>,
    /// A tick, and its words at the right.
    pub(crate) mean: f64,
}

/// Histograms over one axis.
pub(crate) struct Histograms {
    pub(crate) rows: Vec<Histogram>,
    pub(crate) x: [f64; 2],
    pub(crate) x_name: String,
    /// Head of the words at the right.
    pub(crate) mean_name: String,
}

impl Drawing for Histograms {
    fn height(&self, wide: i32) -> u32 {
        let n = i32::try_from(self.rows.len()).expect("a figure has a few rows");
        let below = BELOW + further_lines(&self.x_name, wide);
        (ABOVE + n * ROW + below + self.names().note.map_or(0, |_| NOTE_LINE)).cast_unsigned()
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        let ShortNames { names, note } = self.names();
        let wide = area.dim_in_pixel().0.cast_signed();
        let widest = names.iter().map(|name| text_width(name, NAME)).fold(0.0, f64::max).ceil() as i32;
        let (left, end) = (EDGE + widest + 12, wide - EDGE);
        let right = end - (text_width(&self.mean_name, NOTE).ceil() as i32).max(44) - 12;
        let bottom = ABOVE + ROW * i32::try_from(self.rows.len()).expect("a figure has a few rows");
        let at = |value: f64| {
            left + ((value - self.x[0]) / (self.x[1] - self.x[0]) * f64::from(right - left)).round() as i32
        };
        for (value, text) in sparse(self.x, right - left) {
            area.draw(&PathElement::new(
                vec![(at(value), ABOVE), (at(value), bottom)],
                PALE.stroke_width(1),
            ))?;
            write(area, &text, (at(value), bottom + 8), TICK, INK, HPos::Center, VPos::Top)?;
        }
        write(area, &self.mean_name, (end, ABOVE - 11), NOTE, GREY, HPos::Right, VPos::Center)?;
        let tallest = self.rows.iter().flat_map(|row| &row.bins).map(|bin| bin.1).fold(1e-9, f64::max);
        for (nth, (row, name)) in (1_i32..).zip(self.rows.iter().zip(&names)) {
            let foot = ABOVE + nth * ROW - 6;
            let middle = foot - TALLEST / 2;
            write(area, name, (left - 12, middle), NAME, INK, HPos::Right, VPos::Center)?;
            for ([from, to], share) in row.bins.iter().filter(|(_, share)| *share > 0.0) {
                let high = (share / tallest * f64::from(TALLEST)).round().max(1.0) as i32;
                let corners = [(at(*from) + 1, foot - high), (at(*to), foot)];
                area.draw(&Rectangle::new(corners, row.family.color.filled()))?;
            }
            area.draw(&PathElement::new(vec![(left, foot), (right, foot)], INK.stroke_width(1)))?;
            let tick = vec![(at(row.mean), foot - TALLEST), (at(row.mean), foot + 5)];
            area.draw(&PathElement::new(tick.clone(), PAPER.stroke_width(6)))?;
            area.draw(&PathElement::new(tick, INK.stroke_width(2)))?;
            write(area, &format!("{:.2}", row.mean), (end, middle), NAME, INK, HPos::Right, VPos::Center)?;
        }
        write_below(area, &self.x_name, (left.midpoint(right), bottom + BELOW - 14))?;
        let foot = bottom + BELOW + further_lines(&self.x_name, wide);
        note.map_or(Ok(()), |note| write_note(area, &note, foot + NOTE_LINE / 2 - 4))
    }
}

impl Histograms {
    fn names(&self) -> ShortNames {
        let names: Vec<&str> = self.rows.iter().map(|row| row.name.as_str()).collect();
        short_names(&names, WIDEST_NAME, NAME / SIZE_PER_EM)
    }
}
