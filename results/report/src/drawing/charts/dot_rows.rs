//! Marks with level intervals, some a row: what each of several series is in each of several groups.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use specimen_record::Guarantee;

use crate::drawing::charts::axes::{BELOW, range, sparse};
use crate::drawing::charts::axis_name::{further_lines, write_below};
use crate::drawing::families::FamilyStyle;
use crate::drawing::figure::{Drawing, Drawn, EDGE, NAME, NOTE, NOTE_LINE, TICK};
use crate::drawing::font::{SIZE_PER_EM, shortened};
use crate::drawing::marks::{inner_mark, symbol, text_width, whisker, write, write_note};
use crate::drawing::palette::{GREY, INK, PALE, PAPER};
use crate::drawing::short_names::{ShortNames, short_names};

/// Height of a mark with its interval.
const LINE: i32 = 18;
/// Space around the marks of a row.
const AIR: i32 = 12;
const KEY_LINE: i32 = 24;
/// Widest name of a row, and of a series.
const WIDEST_ROW: f64 = 170.0;
const WIDEST_SERIES: f64 = 220.0;

/// One series: a mark in each row.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) family: FamilyStyle,
    pub(crate) guarantee: Guarantee,
}

/// One row: a mark a series, where it has one.
#[derive(Clone, Debug)]
pub(crate) struct DotRow {
    pub(crate) name: String,
    /// In small print under the name.
    pub(crate) note: String,
    pub(crate) dots: Vec<Option<(f64, Option<[f64; 2]>)>>,
}

/// Rows over one axis.
#[derive(Clone, Debug)]
pub(crate) struct DotRows {
    pub(crate) series: Vec<Series>,
    pub(crate) rows: Vec<DotRow>,
    pub(crate) x_name: String,
}

impl Drawing for DotRows {
    fn height(&self, wide: i32) -> u32 {
        let note = self.names().note.map_or(0, |_| NOTE_LINE);
        let below = BELOW + further_lines(&self.x_name, wide);
        (self.top(wide) + self.row_height() * count(self.rows.len()) + below + note).cast_unsigned()
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        let wide = area.dim_in_pixel().0.cast_signed();
        let ShortNames { names, note } = self.names();
        self.draw_key(area, &names, wide)?;
        let row_names: Vec<String> =
            self.rows.iter().map(|row| shortened(&row.name, WIDEST_ROW, NAME / SIZE_PER_EM)).collect();
        let widest = row_names.iter().map(|name| text_width(name, NAME));
        let widest =
            widest.chain(self.rows.iter().map(|row| text_width(&row.note, NOTE))).fold(0.0, f64::max);
        let (left, right) = (EDGE + widest.ceil() as i32 + 10, wide - EDGE - 14);
        let (top, high) = (self.top(wide), self.row_height());
        let bottom = top + high * count(self.rows.len());
        let values = self.rows.iter().flat_map(|row| &row.dots).flatten();
        let ends = values
            .flat_map(|(value, ci95)| [Some(*value), ci95.map(|ends| ends[0]), ci95.map(|ends| ends[1])]);
        let Some(span) = range(ends.flatten(), 0.05, 0.05) else { return Ok(()) };
        let at = |value: f64| {
            left + ((value - span[0]) / (span[1] - span[0]) * f64::from(right - left)).round() as i32
        };
        for (value, text) in sparse(span, right - left) {
            area.draw(&PathElement::new(vec![(at(value), top), (at(value), bottom)], PALE.stroke_width(1)))?;
            write(area, &text, (at(value), bottom + 8), TICK, INK, HPos::Center, VPos::Top)?;
        }
        for (nth, (row, name)) in (0_i32..).zip(self.rows.iter().zip(&row_names)) {
            let from = top + nth * high;
            if nth > 0 {
                area.draw(&PathElement::new(vec![(EDGE, from), (right, from)], PALE.stroke_width(1)))?;
            }
            let middle = from + high / 2;
            write(area, name, (left - 10, middle - 9), NAME, INK, HPos::Right, VPos::Center)?;
            write(area, &row.note, (left - 10, middle + 10), NOTE, GREY, HPos::Right, VPos::Center)?;
            // The marks of a row are about its middle, however many the others have.
            let first = middle - LINE * (count(self.series.len()) - 1) / 2;
            for (place, dot) in (0_i32..).zip(&row.dots) {
                let Some((value, ci95)) = dot else { continue };
                self.draw_dot(
                    area,
                    place as usize,
                    (at(*value), first + place * LINE),
                    ci95.map(|ends| ends.map(at)),
                )?;
            }
        }
        let frame = vec![(left, top), (left, bottom), (right, bottom)];
        area.draw(&PathElement::new(frame, INK.stroke_width(2)))?;
        write_below(area, &self.x_name, (left.midpoint(right), bottom + BELOW - 12))?;
        let foot = bottom + BELOW + further_lines(&self.x_name, wide);
        note.map_or(Ok(()), |note| write_note(area, &note, foot + NOTE_LINE / 2 - 2))
    }
}

impl DotRows {
    fn names(&self) -> ShortNames {
        let names: Vec<&str> = self.series.iter().map(|series| series.name.as_str()).collect();
        short_names(&names, WIDEST_SERIES, NOTE / SIZE_PER_EM)
    }

    fn row_height(&self) -> i32 {
        (LINE * count(self.series.len()) + AIR).max(44)
    }

    fn top(&self, wide: i32) -> i32 {
        KEY_LINE * count(self.key_lines(&self.names().names, wide).len()) + 10
    }

    /// The series in lines that fit.
    fn key_lines(&self, names: &[String], wide: i32) -> Vec<Vec<usize>> {
        let mut lines: Vec<Vec<usize>> = vec![Vec::new()];
        let mut used = 0.0;
        for (at, name) in names.iter().enumerate() {
            let own = key_width(name);
            if used + own > f64::from(wide - 2 * EDGE) && used > 0.0 {
                lines.push(Vec::new());
                used = 0.0;
            }
            used += own;
            lines.last_mut().expect("there is always a line").push(at);
        }
        lines
    }

    fn draw_key<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        names: &[String],
        wide: i32,
    ) -> Drawn<DB> {
        for (row, line) in (0_i32..).zip(self.key_lines(names, wide)) {
            let (mut x, y) = (EDGE, 3 + row * KEY_LINE + KEY_LINE / 2);
            for at in line {
                self.draw_dot(area, at, (x + 8, y), None)?;
                write(area, &names[at], (x + 23, y), NOTE, INK, HPos::Left, VPos::Center)?;
                x += key_width(&names[at]) as i32;
            }
        }
        Ok(())
    }

    /// A mark, over the ends of its interval.
    fn draw_dot<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        nth: usize,
        (x, y): (i32, i32),
        ends: Option<[i32; 2]>,
    ) -> Drawn<DB> {
        let Series { family, guarantee, .. } = &self.series[nth];
        let color = family.color.mix(1.0);
        if let Some([from, to]) = ends {
            whisker(area, (from, y), (to, y), &color)?;
        }
        symbol(area, (x, y), *family, *guarantee, &color)?;
        let inner = if *guarantee == Guarantee::Exact { PAPER.mix(1.0) } else { color };
        inner_mark(area, (x, y), self.n_alike(nth), &inner)
    }

    /// Series of the same family before this one.
    fn n_alike(&self, nth: usize) -> usize {
        self.series[..nth].iter().filter(|other| other.family == self.series[nth].family).count()
    }
}

fn count(n: usize) -> i32 {
    i32::try_from(n).expect("a figure has a few rows and series")
}

fn key_width(text: &str) -> f64 {
    23.0 + text_width(text, NOTE) + 18.0
}
