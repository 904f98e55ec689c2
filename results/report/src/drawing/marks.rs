//! The strokes a plot is made of: symbols, interval bars, dashed lines, words and axis ticks.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::TextStyle;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use specimen_record::Guarantee;

use specimen_foundation::text::one_line;

use crate::drawing::families::FamilyStyle;
use crate::drawing::figure::{Drawn, EDGE, NOTE};
use crate::drawing::font::{FAMILY, SIZE_PER_EM, width, wrap};
use crate::drawing::labels::Rect;
use crate::drawing::palette::GREY;
use crate::table::fixed;

/// Half the width of a symbol.
pub(crate) const RADIUS: i32 = 7;

/// Half the width of the caps at the ends of an interval.
const CAP: i32 = 5;

/// Units about an interval that words keep off: its caps, and some air.
pub(crate) const BAR_ROOM: f64 = CAP as f64 + 3.0;

/// Round numbers inside a range, five to nine of them, with the decimals they need.
pub(crate) fn ticks(range: [f64; 2]) -> Vec<(f64, String)> {
    let span = range[1] - range[0];
    let power = 10_f64.powf((span / 6.0).log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|m| m * power)
        .find(|step| span / step <= 8.0)
        .unwrap_or(10.0 * power);
    let mut decimals = 0;
    while decimals < 9 && (step * 10_f64.powi(decimals)).fract().abs() > 1e-9 {
        decimals += 1;
    }
    let (first, last) = ((range[0] / step).ceil() as i64, (range[1] / step).floor() as i64);
    (first..=last)
        .map(|at| at as f64 * step)
        .map(|value| (value, fixed(value, decimals.unsigned_abs() as usize)))
        .collect()
}

/// The mark of a family: filled if its output is exact, open if it is relaxed.
pub(crate) fn symbol<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    (x, y): (i32, i32),
    family: FamilyStyle,
    guarantee: Guarantee,
    color: &RGBAColor,
) -> Drawn<DB> {
    sized_symbol(area, (x, y), RADIUS, family, guarantee, color)
}

/// As [`symbol`], with half a width of one's own.
pub(crate) fn sized_symbol<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    (x, y): (i32, i32),
    radius: i32,
    family: FamilyStyle,
    guarantee: Guarantee,
    color: &RGBAColor,
) -> Drawn<DB> {
    let is_open = guarantee != Guarantee::Exact;
    let corners = family.mark.corners(f64::from(radius));
    let corners: Vec<(i32, i32)> =
        corners.iter().map(|(dx, dy)| (x + dx.round() as i32, y + dy.round() as i32)).collect();
    if corners.is_empty() {
        area.draw(&Circle::new((x, y), radius, WHITE.filled()))?;
        return match is_open {
            true => area.draw(&Circle::new((x, y), radius - 1, color.stroke_width(2))),
            false => area.draw(&Circle::new((x, y), radius, color.filled())),
        };
    }
    area.draw(&Polygon::new(corners.clone(), WHITE))?;
    if is_open {
        let closed: Vec<(i32, i32)> = corners.iter().chain(corners.first()).copied().collect();
        return area.draw(&PathElement::new(closed, color.stroke_width(2)));
    }
    area.draw(&Polygon::new(corners, *color))
}

/// What tells marks of one family apart without colour: nothing inside the first, a dot in the second, a level bar in the
/// third, an upright one in those that follow.
pub(crate) fn inner_mark<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    (x, y): (i32, i32),
    n_alike: usize,
    color: &RGBAColor,
) -> Drawn<DB> {
    match n_alike {
        0 => Ok(()),
        1 => area.draw(&Circle::new((x, y), 3, color.filled())),
        2 => area.draw(&Rectangle::new([(x - 4, y - 1), (x + 4, y + 2)], color.filled())),
        _ => area.draw(&Rectangle::new([(x - 1, y - 4), (x + 2, y + 4)], color.filled())),
    }
}

/// A line as stretches: whole for the first of its kind, dashes of other lengths for those that follow. Dashes run on
/// around the bends, so that a line of many short parts is broken too.
pub(crate) fn broken(line: &[(i32, i32)], n_alike: usize) -> Vec<[(i32, i32); 2]> {
    let (on, off) = match n_alike {
        0 => return line.windows(2).map(|pair| [pair[0], pair[1]]).collect(),
        1 => (9.0, 5.0),
        2 => (3.0, 4.0),
        _ => (14.0, 4.0),
    };
    let mut stretches = Vec::new();
    // How far into a dash and the gap behind it the line has come.
    let mut phase: f64 = 0.0;
    for pair in line.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
        let long = dx.hypot(dy);
        let at = |along: f64| {
            let part = along / long;
            (from.0 + (dx * part).round() as i32, from.1 + (dy * part).round() as i32)
        };
        let mut along = 0.0;
        while along < long {
            let is_dash = phase < on;
            let step = (if is_dash { on - phase } else { on + off - phase }).min(long - along);
            if is_dash {
                stretches.push([at(along), at(along + step)]);
            }
            along += step;
            phase = if is_dash { phase + step } else { (phase + step) % (on + off) };
        }
    }
    stretches
}

/// An interval: a bar with caps.
pub(crate) fn whisker<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    from: (i32, i32),
    to: (i32, i32),
    color: &RGBAColor,
) -> Drawn<DB> {
    let is_level = from.1 == to.1;
    let cap = |(x, y): (i32, i32)| {
        if is_level { vec![(x, y - CAP), (x, y + CAP)] } else { vec![(x - CAP, y), (x + CAP, y)] }
    };
    for path in [vec![from, to], cap(from), cap(to)] {
        area.draw(&PathElement::new(path, color.stroke_width(2)))?;
    }
    Ok(())
}

/// A level or upright dashed line.
pub(crate) fn dashed<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    from: (i32, i32),
    to: (i32, i32),
    color: RGBColor,
) -> Drawn<DB> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.abs().max(dy.abs());
    for start in (0..length).step_by(14) {
        let end = (start + 8).min(length);
        let along = |d: i32| (from.0 + dx.signum() * d, from.1 + dy.signum() * d);
        area.draw(&PathElement::new(vec![along(start), along(end)], color.stroke_width(2)))?;
    }
    Ok(())
}

/// A line of words.
pub(crate) fn write<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    text: &str,
    at: (i32, i32),
    size: f64,
    color: RGBColor,
    horizontal: HPos,
    vertical: VPos,
) -> Drawn<DB> {
    let style = TextStyle::from((FAMILY, size).into_font()).color(&color).pos(Pos::new(horizontal, vertical));
    area.draw_text(&one_line(text), &style, at)
}

/// What the bare values in names stand for, in small print about a height.
pub(crate) fn write_note<DB: DrawingBackend>(area: &DrawingArea<DB, Shift>, note: &str, y: i32) -> Drawn<DB> {
    let wide = f64::from(area.dim_in_pixel().0.cast_signed() - 2 * EDGE);
    let line = wrap(&format!("Names: {note}"), wide, 1, NOTE / SIZE_PER_EM, false).concat();
    write(area, &line, (EDGE, y), NOTE, GREY, HPos::Left, VPos::Center)
}

pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    width(text, size / SIZE_PER_EM, false)
}

/// The rectangle about a bar, widened on all sides.
pub(crate) fn around(a: (i32, i32), b: (i32, i32), by: f64) -> Rect {
    let (left, right) = (f64::from(a.0.min(b.0)), f64::from(a.0.max(b.0)));
    let (top, bottom) = (f64::from(a.1.min(b.1)), f64::from(a.1.max(b.1)));
    [left - by, top - by, right + by, bottom + by]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(range: [f64; 2]) -> Vec<String> {
        ticks(range).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(texts([0.87, 2.63]), ["1.00", "1.25", "1.50", "1.75", "2.00", "2.25", "2.50"]);
        assert_eq!(texts([-0.05, 0.11]), ["-0.04", "-0.02", "0.00", "0.02", "0.04", "0.06", "0.08", "0.10"]);
        assert_eq!(
            texts([0.0, 40_000.0]),
            ["0", "5000", "10000", "15000", "20000", "25000", "30000", "35000", "40000"]
        );
    }

    #[test]
    fn every_span_has_a_few_ticks() {
        for power in -7..8 {
            for lead in [1.0, 1.7, 2.4, 3.3, 5.0, 7.9] {
                let span = lead * 10_f64.powi(power);
                let n = ticks([-0.3 * span, 0.7 * span]).len();
                assert!((4..=9).contains(&n), "{span}: {n}");
            }
        }
    }
}
