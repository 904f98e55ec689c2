//! Lines over a common axis, one a method, each named at its end; panels of one figure stand one above the
//! other, so that they stay legible in a column.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use specimen_record::Guarantee;

use crate::axes::{ABOVE, Axes, BELOW, range, sparse, tick_room};
use crate::families::Family;
use crate::figure::{Drawing, Drawn, EDGE, NAME, NOTE, WIDTH};
use crate::font::{SIZE_PER_EM, shortened};
use crate::labels::stacked;
use crate::marks::{dashed, symbol, text_width, whisker, write};
use crate::palette::{GREY, INK};

/// Widest name beside a line.
const WIDEST_NAME: f64 = 170.0;
/// Distance between names.
const APART: f64 = 20.0;

/// One line of one panel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) family: Family,
    pub(crate) guarantee: Guarantee,
    /// Place, value, interval; in the order of the places.
    pub(crate) points: Vec<(f64, f64, Option<[f64; 2]>)>,
}

/// One panel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CurvePanel {
    pub(crate) curves: Vec<Curve>,
    pub(crate) y_name: String,
    /// A level line, and its words.
    pub(crate) level: Option<(f64, String)>,
    /// The vertical axis, where it is not to follow the values.
    pub(crate) y: Option<[f64; 2]>,
}

/// Panels over one axis.
pub(crate) struct Curves {
    pub(crate) panels: Vec<CurvePanel>,
    pub(crate) x_name: String,
    /// Units of one panel.
    pub(crate) tall: i32,
    /// Ticks at the places themselves, where these are few.
    pub(crate) ticks_at_places: bool,
}

impl Drawing for Curves {
    fn height(&self) -> u32 {
        let n = i32::try_from(self.panels.len()).expect("a figure has a few panels");
        (8 + n * (self.tall + ABOVE + BELOW)).cast_unsigned()
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        let left = self.panels.iter().map(|panel| tick_room(panel.y_range())).max().unwrap_or(60);
        let right = WIDTH.cast_signed() - EDGE - self.name_room();
        for (at, panel) in (0_i32..).zip(&self.panels) {
            let top = 8 + at * (self.tall + ABOVE + BELOW) + ABOVE;
            let bottom = top + self.tall;
            let axes = Axes { left, top, right, bottom, x: self.x_range(), y: panel.y_range() };
            axes.draw_with(area, &self.x_name, &panel.y_name, &self.ticks(&axes))?;
            panel.draw(area, &axes)?;
        }
        Ok(())
    }
}

impl Curves {
    fn places(&self) -> Vec<f64> {
        let curves = self.panels.iter().flat_map(|panel| &panel.curves);
        let mut places: Vec<f64> = curves.flat_map(|curve| curve.points.iter().map(|p| p.0)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }

    fn x_range(&self) -> [f64; 2] {
        range(self.places(), 0.06, 0.06).unwrap_or([0.0, 1.0])
    }

    fn ticks(&self, axes: &Axes) -> Vec<(f64, String)> {
        let places = self.places();
        if !self.ticks_at_places || places.len() > 9 {
            return sparse(axes.x, axes.right - axes.left);
        }
        let texts: Vec<(f64, String)> = places.iter().map(|&place| (place, format!("{place}"))).collect();
        let needed = texts.iter().map(|(_, text)| text_width(text, 19.5) + 10.0).fold(0.0, f64::max);
        let overlap = texts.windows(2).any(|pair| {
            let (from, to) = (axes.at(pair[0].0, axes.y[0]).0, axes.at(pair[1].0, axes.y[0]).0);
            f64::from(to - from) < needed
        });
        if overlap { sparse(axes.x, axes.right - axes.left) } else { texts }
    }

    fn name_room(&self) -> i32 {
        let names = self.panels.iter().flat_map(|panel| panel.curves.iter().map(|c| c.fitted_name()));
        names.map(|name| text_width(&name, NAME)).fold(0.0, f64::max).ceil() as i32 + 24
    }
}

impl CurvePanel {
    fn y_range(&self) -> [f64; 2] {
        let values = self.curves.iter().flat_map(|curve| &curve.points).flat_map(|(_, value, ci95)| {
            [Some(*value), ci95.map(|ci| ci[0]), ci95.map(|ci| ci[1])].into_iter().flatten()
        });
        let with_level = values.chain(self.level.as_ref().map(|level| level.0));
        self.y.or_else(|| range(with_level, 0.09, 0.09)).unwrap_or([0.0, 1.0])
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>, axes: &Axes) -> Drawn<DB> {
        if let Some((level, words)) = &self.level {
            let (from, to) = (axes.at(axes.x[0], *level), axes.at(axes.x[1], *level));
            dashed(area, from, to, GREY)?;
            write(area, words, (to.0 - 4, to.1 - 10), NOTE, GREY, HPos::Right, VPos::Center)?;
        }
        for (nth, curve) in self.curves.iter().enumerate() {
            let color = curve.family.color().mix(1.0);
            let line: Vec<(i32, i32)> = curve.points.iter().map(|(x, y, _)| axes.at(*x, *y)).collect();
            // Lines of one family have one colour and mark: the later ones are broken, each in its own way.
            let n_alike = self.curves[..nth].iter().filter(|other| other.family == curve.family).count();
            for stretch in broken(&line, n_alike) {
                area.draw(&PathElement::new(stretch.to_vec(), color.stroke_width(2)))?;
            }
            for (x, _, ci95) in &curve.points {
                if let Some([low, high]) = ci95 {
                    whisker(area, axes.at(*x, *low), axes.at(*x, *high), &color)?;
                }
            }
        }
        for curve in &self.curves {
            for (x, y, _) in &curve.points {
                symbol(area, axes.at(*x, *y), curve.family, curve.guarantee, &curve.family.color().mix(1.0))?;
            }
        }
        self.names(area, axes)
    }

    fn names<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>, axes: &Axes) -> Drawn<DB> {
        let ends: Vec<(i32, i32)> = self
            .curves
            .iter()
            .filter_map(|curve| curve.points.last().map(|(x, y, _)| axes.at(*x, *y)))
            .collect();
        let wanted: Vec<f64> = ends.iter().map(|end| f64::from(end.1)).collect();
        let bounds = [f64::from(axes.top), f64::from(axes.bottom)];
        let x = axes.right + 20;
        for ((curve, end), y) in self.curves.iter().zip(ends).zip(stacked(&wanted, APART, bounds)) {
            let to = (x - 4, y.round() as i32);
            let leader = vec![(end.0 + 10, end.1), (axes.right.max(end.0 + 10), end.1), to];
            area.draw(&PathElement::new(leader, curve.family.color().mix(0.45).stroke_width(1)))?;
            write(area, &curve.fitted_name(), (x, to.1), NAME, INK, HPos::Left, VPos::Center)?;
        }
        Ok(())
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

impl Curve {
    fn fitted_name(&self) -> String {
        shortened(&self.name, WIDEST_NAME, NAME / SIZE_PER_EM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_line_keeps_its_ends_and_has_gaps() {
        let line = [(0, 0), (100, 0), (100, 50)];
        assert_eq!(broken(&line, 0), [[(0, 0), (100, 0)], [(100, 0), (100, 50)]]);
        for n_alike in 1..5 {
            let stretches = broken(&line, n_alike);
            assert_eq!(stretches[0][0], (0, 0));
            let drawn: i32 = stretches.iter().map(|[a, b]| (b.0 - a.0).abs() + (b.1 - a.1).abs()).sum();
            assert!((50..140).contains(&drawn), "{n_alike}: {drawn}");
        }
    }

    #[test]
    fn a_line_of_short_parts_has_as_many_gaps_as_a_long_one() {
        let whole = broken(&[(0, 0), (280, 0)], 1);
        let parts: Vec<(i32, i32)> = (0..=70).map(|at| (4 * at, 0)).collect();
        let covered = |stretches: &[[(i32, i32); 2]]| stretches.iter().map(|[a, b]| b.0 - a.0).sum::<i32>();
        assert_eq!(whole.len(), 20);
        assert_eq!(covered(&whole), 180);
        assert_eq!(covered(&broken(&parts, 1)), 180);
    }
}
