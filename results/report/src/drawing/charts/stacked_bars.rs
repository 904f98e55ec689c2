//! Level bars of stacked parts, one a row, each with a tick and a word of its own.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::drawing::charts::axes::{BELOW, sparse};
use crate::drawing::charts::axis_name::{further_lines, write_below};
use crate::drawing::figure::{Drawing, Drawn, EDGE, NAME, NOTE, NOTE_LINE, TICK};
use crate::drawing::font::SIZE_PER_EM;
use crate::drawing::marks::{dashed, text_width, write, write_note};
use crate::drawing::palette::{GREY, INK, PALE, PAPER, PHASES};
use crate::drawing::short_names::{ShortNames, short_names};

const ROW: i32 = 38;
const BAR: i32 = 22;
const KEY_LINE: i32 = 22;
/// Widest name beside a bar.
const WIDEST_NAME: f64 = 165.0;

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StackedBar {
    pub(crate) name: String,
    /// Lengths of its parts.
    pub(crate) parts: Vec<f64>,
    /// Where its tick is.
    pub(crate) tick: Option<f64>,
    /// What stands at the right.
    pub(crate) words: String,
}

/// Bars over one axis.
pub(crate) struct StackedBars {
    pub(crate) bars: Vec<StackedBar>,
    /// Names of the parts.
    pub(crate) parts: Vec<String>,
    pub(crate) x_name: String,
    pub(crate) tick_name: String,
    pub(crate) words_name: String,
}

impl Drawing for StackedBars {
    fn height(&self, wide: i32) -> u32 {
        let note = self.names().note.map_or(0, |_| NOTE_LINE);
        let below = BELOW + further_lines(&self.x_name, wide);
        (self.top(wide) + self.rows_height() + below + note).cast_unsigned()
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        self.draw_key(area)?;
        let wide = area.dim_in_pixel().0.cast_signed();
        let ShortNames { names, note } = self.names();
        let widest = |texts: &mut dyn Iterator<Item = &str>, size: f64| {
            texts.map(|text| text_width(text, size)).fold(0.0, f64::max).ceil() as i32
        };
        let left = EDGE + widest(&mut names.iter().map(String::as_str), NAME) + 10;
        let words = self.bars.iter().map(|stack| stack.words.as_str());
        let words_room =
            widest(&mut words.clone(), NAME).max(text_width(&self.words_name, NOTE).ceil() as i32);
        let right = wide - EDGE - words_room - 12;
        let (top, bottom) = (self.top(wide), self.top(wide) + self.rows_height());
        let longest = self.longest();
        let at = |value: f64| left + (value / longest * f64::from(right - left)).round() as i32;
        for (value, text) in sparse([0.0, longest], right - left) {
            area.draw(&PathElement::new(vec![(at(value), top), (at(value), bottom)], PALE.stroke_width(1)))?;
            write(area, &text, (at(value), bottom + 8), TICK, INK, HPos::Center, VPos::Top)?;
        }
        dashed(area, (at(1.0), top), (at(1.0), bottom), GREY)?;
        let end = wide - EDGE;
        write(area, &self.words_name, (end, top - 9), NOTE, GREY, HPos::Right, VPos::Center)?;
        for (row, (stack, name)) in (0_i32..).zip(self.bars.iter().zip(&names)) {
            let middle = top + row * ROW + ROW / 2;
            write(area, name, (left - 10, middle), NAME, INK, HPos::Right, VPos::Center)?;
            let mut from = 0.0;
            for (part, color) in stack.parts.iter().zip(PHASES) {
                let corners = [(at(from), middle - BAR / 2), (at(from + part), middle + BAR / 2)];
                if corners[1].0 > corners[0].0 {
                    area.draw(&Rectangle::new(corners, color.filled()))?;
                    area.draw(&PathElement::new(
                        vec![(corners[1].0, corners[0].1), corners[1]],
                        PAPER.stroke_width(1),
                    ))?;
                }
                from += part;
            }
            if let Some(tick) = stack.tick {
                let ends = vec![(at(tick), middle - BAR / 2 - 5), (at(tick), middle + BAR / 2 + 5)];
                // Inside a bar the tick needs an edge; at the end of one an edge would make the bar look shorter.
                if at(tick) + 6 < at(stack.parts.iter().sum()) {
                    area.draw(&PathElement::new(ends.clone(), PAPER.stroke_width(7)))?;
                }
                area.draw(&PathElement::new(ends, INK.stroke_width(3)))?;
            }
            write(area, &stack.words, (end, middle), NAME, INK, HPos::Right, VPos::Center)?;
        }
        let frame = vec![(left, top), (left, bottom), (right, bottom)];
        area.draw(&PathElement::new(frame, INK.stroke_width(2)))?;
        write_below(area, &self.x_name, (left.midpoint(right), bottom + BELOW - 12))?;
        let foot = bottom + BELOW + further_lines(&self.x_name, wide);
        note.map_or(Ok(()), |note| write_note(area, &note, foot + NOTE_LINE / 2 - 2))
    }
}

impl StackedBars {
    fn names(&self) -> ShortNames {
        let names: Vec<&str> = self.bars.iter().map(|stack| stack.name.as_str()).collect();
        short_names(&names, WIDEST_NAME, NAME / SIZE_PER_EM)
    }

    fn rows_height(&self) -> i32 {
        ROW * i32::try_from(self.bars.len()).expect("a figure has a few rows")
    }

    fn longest(&self) -> f64 {
        let lengths = self.bars.iter().flat_map(|stack| [Some(stack.parts.iter().sum()), stack.tick]);
        1.06 * lengths.flatten().fold(1.0, f64::max)
    }

    fn top(&self, wide: i32) -> i32 {
        KEY_LINE * i32::try_from(self.key_lines(wide).len()).expect("a few lines") + 28
    }

    /// Names of the parts that some bar has, then that of the tick, in lines that fit.
    fn key_lines(&self, units: i32) -> Vec<Vec<(Option<usize>, &str)>> {
        let is_there = |at: &usize| {
            let visible = self.longest() / 400.0;
            self.bars.iter().any(|stack| stack.parts.get(*at).is_some_and(|part| *part > visible))
        };
        let parts = (0..self.parts.len()).filter(is_there).map(|at| (Some(at), self.parts[at].as_str()));
        let mut lines: Vec<Vec<(Option<usize>, &str)>> = vec![Vec::new()];
        let mut used = 0.0;
        for entry in parts.chain([(None, self.tick_name.as_str())]) {
            let wide = key_width(entry.1);
            if used + wide > f64::from(units - 2 * EDGE) {
                lines.push(Vec::new());
                used = 0.0;
            }
            used += wide;
            lines.last_mut().expect("there is always a line").push(entry);
        }
        lines
    }

    fn draw_key<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        for (row, line) in (0_i32..).zip(self.key_lines(area.dim_in_pixel().0.cast_signed())) {
            let (mut x, y) = (EDGE, 3 + row * KEY_LINE + KEY_LINE / 2);
            for (part, text) in line {
                match part {
                    Some(at) => {
                        area.draw(&Rectangle::new([(x, y - 7), (x + 14, y + 7)], PHASES[at].filled()))?
                    }
                    None => area
                        .draw(&PathElement::new(vec![(x + 7, y - 9), (x + 7, y + 9)], INK.stroke_width(3)))?,
                }
                write(area, text, (x + 21, y), NOTE, INK, HPos::Left, VPos::Center)?;
                x += key_width(text) as i32;
            }
        }
        Ok(())
    }
}

fn key_width(text: &str) -> f64 {
    21.0 + text_width(text, NOTE) + 18.0
}
