//! Points in a plane: with their intervals, lines between them, reference lines, a key of what is there, and
//! names that cover nothing.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use specimen_record::Guarantee;

use crate::axes::{ABOVE, Axes, BELOW, range, tick_room};
use crate::families::Family;
use crate::figure::{Drawing, Drawn, EDGE, NAME, NOTE, WIDTH};
use crate::font::{SIZE_PER_EM, shortened};
use crate::labels::{Anchor, FAR, Rect, nearest, place};
use crate::marks::{RADIUS, around, dashed, symbol, text_width, whisker, write};
use crate::palette::{FRONTIER, GREY, INK};

/// Opacity of what is dominated.
const FADED: f64 = 0.4;
/// Units of the plane itself, and what each point beyond a few adds.
const PLANE: u32 = 330;
const ROOM: u32 = 12;
/// As many points as have room for large names.
const FEW: usize = 10;
const KEY_LINE: i32 = 22;

/// One point.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dot {
    pub(crate) name: String,
    pub(crate) family: Family,
    pub(crate) guarantee: Guarantee,
    pub(crate) is_faded: bool,
    pub(crate) x: f64,
    pub(crate) x_ci95: Option<[f64; 2]>,
    pub(crate) y: f64,
    pub(crate) y_ci95: Option<[f64; 2]>,
}

/// A plane with its words.
pub(crate) struct Scatter {
    pub(crate) dots: Vec<Dot>,
    pub(crate) x_name: String,
    pub(crate) y_name: String,
    /// Stairs to be drawn, each from left to right.
    pub(crate) frontiers: Vec<Vec<(f64, f64)>>,
    /// An upright line and its words.
    pub(crate) upright: Option<(f64, String)>,
    /// A level line.
    pub(crate) level: Option<f64>,
}

/// An entry of the key.
enum Key {
    Point(Guarantee, f64),
    Line,
    Interval,
}

impl Drawing for Scatter {
    fn height(&self) -> u32 {
        self.plane() + (self.key_height() + ABOVE + BELOW).cast_unsigned()
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        self.draw_key(area)?;
        let (x, y) = self.ranges();
        let top = self.key_height() + ABOVE;
        let axes = Axes {
            left: tick_room(y),
            top,
            right: WIDTH.cast_signed() - EDGE,
            bottom: top + self.plane().cast_signed(),
            x,
            y,
        };
        axes.draw(area, &self.x_name, &self.y_name)?;
        let mut lines = self.reference_lines(area, &axes)?;
        for pair in self.frontiers.iter().flat_map(|stairs| stairs.windows(2)) {
            let (from, to) = (axes.at(pair[0].0, pair[0].1), axes.at(pair[1].0, pair[1].1));
            let corner = (from.0, to.1);
            for (from, to) in [(from, corner), (corner, to)] {
                area.draw(&PathElement::new(vec![from, to], FRONTIER.stroke_width(2)))?;
                lines.push(around(from, to, 2.0));
            }
        }
        for dot in &self.dots {
            let ends = |x: [f64; 2], y: [f64; 2]| (axes.at(x[0], y[0]), axes.at(x[1], y[1]));
            let bars = [dot.x_ci95.map(|ci| ends(ci, [dot.y; 2])), dot.y_ci95.map(|ci| ends([dot.x; 2], ci))];
            for (from, to) in bars.into_iter().flatten() {
                whisker(area, from, to, &dot.color())?;
                lines.push(around(from, to, 3.0));
            }
        }
        for dot in &self.dots {
            symbol(area, axes.at(dot.x, dot.y), dot.family, dot.guarantee, &dot.color())?;
        }
        self.names(area, &axes, &lines)
    }
}

impl Scatter {
    fn plane(&self) -> u32 {
        let more = u32::try_from(self.dots.len().saturating_sub(FEW)).unwrap_or(u32::MAX);
        PLANE + ROOM * more.min(14)
    }

    fn name_size(&self) -> f64 {
        if self.dots.len() > FEW { NOTE } else { NAME }
    }

    /// Ranges of both axes: everything that is drawn, and some air.
    fn ranges(&self) -> ([f64; 2], [f64; 2]) {
        let values = |of: fn(&Dot) -> (f64, Option<[f64; 2]>), also: Option<f64>| {
            let own = self.dots.iter().flat_map(move |dot| {
                let (value, ci95) = of(dot);
                [Some(value), ci95.map(|ci| ci[0]), ci95.map(|ci| ci[1])]
            });
            own.chain([also]).flatten().collect::<Vec<f64>>()
        };
        let x = range(values(|d| (d.x, d.x_ci95), self.upright.as_ref().map(|u| u.0)), 0.08, 0.12);
        let y = range(values(|d| (d.y, d.y_ci95), self.level), 0.09, 0.12);
        (x.unwrap_or([0.0, 1.0]), y.unwrap_or([0.0, 1.0]))
    }

    /// Draws the reference lines; returns what they and their words cover.
    fn reference_lines<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        axes: &Axes,
    ) -> Result<Vec<Rect>, DrawingAreaErrorKind<DB::ErrorType>> {
        let mut covered = Vec::new();
        if let Some((x, text)) = &self.upright {
            let (top, bottom) = ((axes.at(*x, axes.y[1])), axes.at(*x, axes.y[0]));
            dashed(area, top, bottom, GREY)?;
            let width = text_width(text, NOTE) as i32;
            // To the right of its line, unless the edge is too near.
            let left = if top.0 + 8 + width < axes.right { top.0 + 8 } else { top.0 - 8 - width };
            let at = (left, top.1 + 12);
            write(area, text, at, NOTE, GREY, HPos::Left, VPos::Center)?;
            covered.push(around(top, bottom, 3.0));
            covered.push(around(at, (at.0 + width, at.1), NOTE / 2.0));
        }
        if let Some(y) = self.level {
            let (left, right) = (axes.at(axes.x[0], y), axes.at(axes.x[1], y));
            dashed(area, left, right, GREY)?;
            covered.push(around(left, right, 3.0));
        }
        Ok(covered)
    }

    /// What needs a word: only what is there.
    fn key(&self) -> Vec<(Key, &'static str)> {
        let has = |guarantee: Guarantee| self.dots.iter().any(|dot| dot.guarantee == guarantee);
        let mut key = Vec::new();
        if has(Guarantee::Exact) && has(Guarantee::Relaxed) {
            key.push((Key::Point(Guarantee::Exact, 1.0), "exact"));
            key.push((Key::Point(Guarantee::Relaxed, 1.0), "relaxed"));
        }
        if self.dots.iter().any(|dot| dot.is_faded) {
            key.push((Key::Point(Guarantee::Exact, FADED), "dominated"));
        }
        if self.frontiers.iter().any(|stairs| stairs.len() > 1) {
            key.push((Key::Line, "frontier"));
        }
        if self.dots.iter().any(|dot| dot.x_ci95.is_some() || dot.y_ci95.is_some()) {
            key.push((Key::Interval, "95 % interval"));
        }
        key
    }

    fn key_height(&self) -> i32 {
        if self.key().is_empty() { 4 } else { KEY_LINE + 6 }
    }

    fn draw_key<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        let (mut x, y) = (EDGE + RADIUS, KEY_LINE / 2 + 3);
        for (kind, text) in self.key() {
            match kind {
                Key::Point(guarantee, alpha) => {
                    symbol(area, (x, y), Family::Chain, guarantee, &GREY.mix(alpha))?;
                }
                Key::Line => {
                    let path = vec![(x - RADIUS, y), (x + RADIUS, y)];
                    area.draw(&PathElement::new(path, FRONTIER.stroke_width(2)))?;
                }
                Key::Interval => whisker(area, (x - RADIUS, y), (x + RADIUS, y), &GREY.mix(1.0))?,
            }
            write(area, text, (x + 14, y), NOTE, INK, HPos::Left, VPos::Center)?;
            x += 14 + text_width(text, NOTE) as i32 + 28;
        }
        Ok(())
    }

    fn names<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        axes: &Axes,
        lines: &[Rect],
    ) -> Drawn<DB> {
        let spots: Vec<(i32, i32)> = self.dots.iter().map(|dot| axes.at(dot.x, dot.y)).collect();
        let dots: Vec<Rect> = spots.iter().map(|&at| around(at, at, f64::from(RADIUS) + 3.0)).collect();
        let wide = f64::from(axes.right - axes.left) * 0.5;
        let size = self.name_size();
        let names: Vec<String> =
            self.dots.iter().map(|dot| shortened(&dot.name, wide, size / SIZE_PER_EM)).collect();
        let anchors: Vec<Anchor> = names
            .iter()
            .zip(&spots)
            .map(|(name, at)| Anchor {
                at: (f64::from(at.0), f64::from(at.1)),
                size: (text_width(name, size), size / SIZE_PER_EM),
            })
            .collect();
        let inside = [
            f64::from(axes.left) + 6.0,
            f64::from(axes.top) + 4.0,
            f64::from(axes.right) - 2.0,
            f64::from(axes.bottom) - 6.0,
        ];
        let places = place(&anchors, &dots, lines, inside);
        for (((dot, name), anchor), rect) in self.dots.iter().zip(&names).zip(&anchors).zip(places) {
            let near = nearest(anchor.at, &rect);
            let away = (near.0 - anchor.at.0).hypot(near.1 - anchor.at.1);
            // Straight above or below the point its interval leads to the name.
            let is_led = dot.y_ci95.is_some() && near.0 == anchor.at.0;
            if away > FAR && !is_led {
                let start = |along: f64| {
                    let mix = |from: f64, to: f64| (from + (to - from) * along).round() as i32;
                    (mix(anchor.at.0, near.0), mix(anchor.at.1, near.1))
                };
                let leader = vec![start(11.0 / away), start(1.0 - 3.0 / away)];
                area.draw(&PathElement::new(leader, GREY.mix(0.6).stroke_width(1)))?;
            }
            let color = if dot.is_faded { GREY } else { INK };
            let middle = (rect[0].round() as i32, ((rect[1] + rect[3]) / 2.0).round() as i32);
            write(area, name, middle, size, color, HPos::Left, VPos::Center)?;
        }
        Ok(())
    }
}

impl Dot {
    fn color(&self) -> RGBAColor {
        self.family.color().mix(if self.is_faded { FADED } else { 1.0 })
    }
}
