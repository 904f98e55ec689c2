//! Draws the Pareto plane: points with their intervals, the frontier, the baseline's speed, names that
//! cover nothing.

use std::collections::BTreeMap;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, TextStyle};
use specimen_record::Guarantee;

use crate::figure::Drawing;
use crate::font::{FAMILY, SIZE_PER_EM, wrap};
use crate::labels::{Anchor, FAR, Rect, place};
use crate::layout::one_line;
use crate::marks::{RADIUS, around, dashed, symbol, text_width, ticks, whisker, write};
use crate::pareto::{Pareto, Point};

/// Colours that stay apart for colour-blind readers (Okabe and Ito), and in print.
const BLUE: RGBColor = RGBColor(0, 114, 178);
const VERMILION: RGBColor = RGBColor(213, 94, 0);
const INK: RGBColor = RGBColor(30, 30, 30);
const GREY: RGBColor = RGBColor(110, 110, 110);
const FRONTIER: RGBColor = RGBColor(165, 165, 165);
const PALE: RGBColor = RGBColor(225, 225, 225);

const TITLE: f64 = 30.0;
const AXIS: f64 = 25.0;
const TICK: f64 = 21.0;
const NAME: f64 = 21.0;
const NOTE: f64 = 19.0;
/// Opacity of what is dominated.
const FADED: f64 = 0.4;
const LEFT: i32 = 132;
const RIGHT: i32 = 36;
const NOTE_LINE: i32 = 24;
const TOP: i32 = 108;
const BOTTOM: i32 = 84;

/// A plane with its words.
pub(crate) struct Scatter<'a> {
    pub(crate) pareto: &'a Pareto,
    pub(crate) title: String,
    /// Conditions, in small print under the title.
    pub(crate) subtitle: String,
    /// Name of the baseline.
    pub(crate) baseline: String,
}

type Chart<'a, DB> = ChartContext<'a, DB, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

impl Drawing for Scatter<'_> {
    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Result<(), String> {
        self.draw_on(area).map_err(|error| error.to_string())
    }
}

impl Scatter<'_> {
    fn draw_on<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        area.fill(&WHITE)?;
        self.words(area)?;
        let (x, y) = self.ranges();
        let top = TOP + NOTE_LINE * self.conditions(area).len() as i32;
        let plane = area.margin(top, BOTTOM, LEFT, RIGHT);
        let mut chart = ChartBuilder::on(&plane).build_cartesian_2d(x[0]..x[1], y[0]..y[1])?;
        self.axes(area, &mut chart, x, y)?;
        let at = |x: f64, y: f64| chart.backend_coord(&(x, y));

        let (first, last) = (at(x[0], y[1]), at(x[1], y[0]));
        let mut lines =
            self.reference_lines(area, at(1.0, y[1]), at(1.0, y[0]), [first.0, last.0], at(1.0, 0.0).1)?;
        for frontier in self.pareto.frontiers() {
            for pair in frontier.windows(2) {
                let corner = at(pair[0].speedup, pair[1].quality);
                for (from, to) in [
                    (at(pair[0].speedup, pair[0].quality), corner),
                    (corner, at(pair[1].speedup, pair[1].quality)),
                ] {
                    area.draw(&PathElement::new(vec![from, to], FRONTIER.stroke_width(2)))?;
                    lines.push(around(from, to, 2.0));
                }
            }
        }
        for point in &self.pareto.points {
            let ends = |x: [f64; 2], y: [f64; 2]| (at(x[0], y[0]), at(x[1], y[1]));
            let bars = [
                point.speedup_ci95.map(|ci| ends(ci, [point.quality; 2])),
                point.quality_ci95.map(|ci| ends([point.speedup; 2], ci)),
            ];
            for (from, to) in bars.into_iter().flatten() {
                whisker(area, from, to, &color_of(point))?;
                lines.push(around(from, to, 3.0));
            }
        }
        for point in &self.pareto.points {
            symbol(
                area,
                at(point.speedup, point.quality),
                point.is_baseline,
                point.guarantee,
                &color_of(point),
            )?;
        }
        let bounds = [f64::from(first.0), f64::from(first.1), f64::from(last.0), f64::from(last.1)];
        let spots: Vec<(i32, i32)> = self.pareto.points.iter().map(|p| at(p.speedup, p.quality)).collect();
        self.names(area, &spots, &lines, bounds)
    }

    /// The baseline's speed and, for differences, its quality; returns what they and their words cover.
    fn reference_lines<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        top: (i32, i32),
        bottom: (i32, i32),
        sides: [i32; 2],
        level: i32,
    ) -> Result<Vec<Rect>, DrawingAreaErrorKind<DB::ErrorType>> {
        dashed(area, top, bottom, GREY)?;
        let text = format!("speed of {}", self.baseline);
        let at = (top.0 + 10, top.1 + 16);
        write(area, &text, at, NOTE, GREY, HPos::Left, VPos::Center)?;
        let words = around(at, (at.0 + text_width(&text, NOTE) as i32, at.1), NOTE / 2.0);
        let mut covered = vec![around(top, bottom, 3.0), words];
        if self.pareto.is_difference {
            let (left, right) = ((sides[0], level), (sides[1], level));
            dashed(area, left, right, GREY)?;
            covered.push(around(left, right, 3.0));
        }
        Ok(covered)
    }

    /// Ranges of both axes: everything that is drawn, and some air.
    fn ranges(&self) -> ([f64; 2], [f64; 2]) {
        let points = &self.pareto.points;
        let all = |of: fn(&Point) -> (f64, Option<[f64; 2]>), start: Option<f64>| {
            let values = points.iter().flat_map(|p| {
                let (value, ci95) = of(p);
                [Some(value), ci95.map(|ci| ci[0]), ci95.map(|ci| ci[1])].into_iter().flatten()
            });
            let (low, high) = values
                .chain(start)
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
            let span = if high > low { high - low } else { low.abs().max(1e-6) };
            [low - 0.09 * span, high + 0.13 * span]
        };
        (
            all(|p| (p.speedup, p.speedup_ci95), Some(1.0)),
            all(|p| (p.quality, p.quality_ci95), self.pareto.is_difference.then_some(0.0)),
        )
    }

    fn axes<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        chart: &mut Chart<'_, DB>,
        x: [f64; 2],
        y: [f64; 2],
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let (x_ticks, y_ticks) = (ticks(x), ticks(y));
        let corner = chart.backend_coord(&(x[0], y[0]));
        let far = chart.backend_coord(&(x[1], y[1]));
        for (value, text) in &x_ticks {
            let at = chart.backend_coord(&(*value, y[0]));
            area.draw(&PathElement::new(vec![at, (at.0, far.1)], PALE.stroke_width(1)))?;
            area.draw(&PathElement::new(vec![at, (at.0, at.1 + 6)], INK.stroke_width(2)))?;
            write(area, text, (at.0, at.1 + 11), TICK, INK, HPos::Center, VPos::Top)?;
        }
        for (value, text) in &y_ticks {
            let at = chart.backend_coord(&(x[0], *value));
            area.draw(&PathElement::new(vec![at, (far.0, at.1)], PALE.stroke_width(1)))?;
            area.draw(&PathElement::new(vec![(at.0 - 6, at.1), at], INK.stroke_width(2)))?;
            write(area, text, (at.0 - 11, at.1), TICK, INK, HPos::Right, VPos::Center)?;
        }
        let frame = vec![(corner.0, far.1), corner, (far.0, corner.1)];
        area.draw(&PathElement::new(frame, INK.stroke_width(2)))?;

        let (_, high) = area.dim_in_pixel();
        let middle = ((corner.0 + far.0) / 2, (corner.1 + far.1) / 2);
        let speed = format!("Speedup over {}, decode time (×, higher is better →)", self.baseline);
        write(area, &speed, (middle.0, high.cast_signed() - 30), AXIS, INK, HPos::Center, VPos::Center)?;
        let style = TextStyle::from((FAMILY, AXIS).into_font())
            .color(&INK)
            .transform(FontTransform::Rotate270)
            .pos(Pos::new(HPos::Center, VPos::Center));
        area.draw_text(&one_line(&self.quality_label()), &style, (30, middle.1))
    }

    fn quality_label(&self) -> String {
        let pareto = self.pareto;
        let what = match pareto.is_difference {
            true => format!("Δ {} against {}", pareto.metric, self.baseline),
            false => pareto.metric.clone(),
        };
        let unit = if pareto.unit.is_empty() { String::new() } else { format!("{}, ", pareto.unit) };
        let (direction, arrow) = if pareto.higher_is_better { ("higher", "→") } else { ("lower", "←") };
        format!("{what} ({unit}{direction} is better {arrow})")
    }

    /// Title, conditions and key, above the plane.
    fn words<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let style = TextStyle::from((FAMILY, TITLE).into_font().style(FontStyle::Bold)).color(&INK);
        let wide = f64::from(area.dim_in_pixel().0) - f64::from(LEFT + RIGHT);
        let title = wrap(&self.title, wide, 1, TITLE / SIZE_PER_EM, true).concat();
        area.draw_text(&one_line(&title), &style, (LEFT, 20))?;
        let conditions = self.conditions(area);
        for (at, line) in (0_i32..).zip(&conditions) {
            write(area, line, (LEFT, 58 + at * NOTE_LINE), NOTE, GREY, HPos::Left, VPos::Top)?;
        }
        let mut x = LEFT + RADIUS;
        let y = 80 + NOTE_LINE * conditions.len() as i32;
        let word = |x: &mut i32, text: &str| {
            let result = write(area, text, (*x + 16, y), NOTE, INK, HPos::Left, VPos::Center);
            *x += 16 + text_width(text, NOTE) as i32 + 36;
            result
        };
        for (is_baseline, guarantee, color, text) in self.key() {
            symbol(area, (x, y), is_baseline, guarantee, &color.mix(1.0))?;
            word(&mut x, text)?;
        }
        if self.pareto.points.iter().any(is_faded) {
            symbol(area, (x, y), false, Guarantee::Exact, &GREY.mix(FADED))?;
            word(&mut x, "faded: dominated")?;
        }
        if self.pareto.frontiers().iter().any(|f| f.len() > 1) {
            area.draw(&PathElement::new(vec![(x - RADIUS, y), (x + RADIUS, y)], FRONTIER.stroke_width(2)))?;
            word(&mut x, "frontier")?;
        }
        if self.pareto.points.iter().any(|p| p.speedup_ci95.is_some() || p.quality_ci95.is_some()) {
            whisker(area, (x - RADIUS, y), (x + RADIUS, y), &INK.mix(1.0))?;
            word(&mut x, "95 % interval")?;
        }
        Ok(())
    }

    /// The small print in lines that fit.
    fn conditions<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Vec<String> {
        let wide = f64::from(area.dim_in_pixel().0) - f64::from(LEFT + RIGHT);
        let lines = wrap(&self.subtitle, wide, 3, NOTE / SIZE_PER_EM, false);
        lines.into_iter().map(|line| line.trim_end_matches([' ', '·']).to_owned()).collect()
    }

    /// The kinds of points that are there.
    fn key(&self) -> impl Iterator<Item = (bool, Guarantee, RGBColor, &'static str)> {
        let mut kinds = BTreeMap::new();
        for point in &self.pareto.points {
            let (order, color, text) = match (point.is_baseline, point.guarantee) {
                (true, _) => (0, INK, "baseline"),
                (false, Guarantee::Exact) => (1, BLUE, "exact"),
                (false, Guarantee::Relaxed) => (2, VERMILION, "relaxed"),
            };
            kinds.insert(order, (point.is_baseline, point.guarantee, color, text));
        }
        kinds.into_values()
    }

    fn names<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        spots: &[(i32, i32)],
        lines: &[Rect],
        bounds: Rect,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let dots: Vec<Rect> = spots.iter().map(|&at| around(at, at, f64::from(RADIUS) + 2.0)).collect();
        let anchors: Vec<Anchor> = self
            .pareto
            .points
            .iter()
            .zip(spots)
            .map(|(p, at)| Anchor {
                at: (f64::from(at.0), f64::from(at.1)),
                size: (text_width(&p.cell, NAME), NAME / SIZE_PER_EM),
            })
            .collect();
        let inside = [bounds[0] + 6.0, bounds[1] + 4.0, bounds[2] - 4.0, bounds[3] - 6.0];
        let places = place(&anchors, &dots, lines, inside);
        for ((point, anchor), rect) in self.pareto.points.iter().zip(&anchors).zip(places) {
            let near = (anchor.at.0.clamp(rect[0], rect[2]), anchor.at.1.clamp(rect[1], rect[3]));
            let away = ((near.0 - anchor.at.0).powi(2) + (near.1 - anchor.at.1).powi(2)).sqrt();
            if away > FAR {
                let start = |along: f64| {
                    let mix = |from: f64, to: f64| (from + (to - from) * along).round() as i32;
                    (mix(anchor.at.0, near.0), mix(anchor.at.1, near.1))
                };
                let leader = vec![start(11.0 / away), start(1.0 - 3.0 / away)];
                area.draw(&PathElement::new(leader, GREY.mix(0.6).stroke_width(1)))?;
            }
            let color = if is_faded(point) { GREY } else { INK };
            let middle = (rect[0].round() as i32, ((rect[1] + rect[3]) / 2.0).round() as i32);
            write(area, &point.cell, middle, NAME, color, HPos::Left, VPos::Center)?;
        }
        Ok(())
    }
}

fn color_of(point: &Point) -> RGBAColor {
    let color = match (point.is_baseline, point.guarantee) {
        (true, _) => INK,
        (false, Guarantee::Exact) => BLUE,
        (false, Guarantee::Relaxed) => VERMILION,
    };
    color.mix(if is_faded(point) { FADED } else { 1.0 })
}

/// The baseline stays in full colour: it is the reference, not a competitor.
fn is_faded(point: &Point) -> bool {
    point.is_dominated && !point.is_baseline
}
