//! Lines over a common axis, one a method, each named at its end; panels of one figure stand one above the
//! other, so that they stay legible in a column.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use specimen_record::Guarantee;

use crate::drawing::charts::axes::{ABOVE, Axes, BELOW, range, sparse, tick_room};
use crate::drawing::charts::axis_name::further_lines;
use crate::drawing::families::FamilyStyle;
use crate::drawing::figure::{Drawing, Drawn, EDGE, NAME, NOTE, NOTE_LINE, TICK};
use crate::drawing::font::SIZE_PER_EM;
use crate::drawing::labels::{Anchor, FAR, Rect, nearest, overlap, place, stacked};
use crate::drawing::marks::{
    BAR_ROOM, RADIUS, around, broken, dashed, inner_mark, symbol, text_width, whisker, write, write_note,
};
use crate::drawing::palette::{GREY, INK, PAPER};
use crate::drawing::short_names::{ShortNames, short_names};

/// Widest name beside a line.
const WIDEST_NAME: f64 = 170.0;
/// Distance between names.
const APART: f64 = 20.0;
/// Units between the bars of two lines at one place, at most.
const DODGE: f64 = 8.0;
/// Units between the outermost of them, at most: the width of a mark, so that no bar reads as one of another place.
const SPREAD: f64 = 14.0;

/// Place, value, interval.
pub(crate) type CurvePoint = (f64, f64, Option<[f64; 2]>);

/// One line of one panel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) family: FamilyStyle,
    pub(crate) guarantee: Guarantee,
    /// That of its family, or its own among lines of one family.
    pub(crate) color: RGBColor,
    /// In the order of the places.
    pub(crate) points: Vec<CurvePoint>,
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
    /// Equal ratios are equally far apart; places are above 0 then.
    pub(crate) is_log: bool,
}

/// Whether places span so much that most of a linear axis would be empty: they grow tenfold or more, and one step
/// takes over half of it.
pub(crate) fn spans_a_log_axis(places: &[f64]) -> bool {
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return false };
    let widest = places.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
    *first > 0.0 && last / first >= 10.0 && widest > 0.5 * (last - first)
}

impl Drawing for Curves {
    fn height(&self, wide: i32) -> u32 {
        let n = i32::try_from(self.panels.len()).expect("a figure has a few panels");
        let note = self.short_names().note.map_or(0, |_| NOTE_LINE);
        (8 + n * (self.above(wide) + self.tall + self.below(wide)) + note).cast_unsigned()
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        let left = self.panels.iter().map(|panel| tick_room(panel.y_range())).max().unwrap_or(60);
        let wide = area.dim_in_pixel().0.cast_signed();
        let ShortNames { names, note } = self.short_names();
        let right = wide - EDGE - name_room(&names);
        let mut rest = names.as_slice();
        let mut foot = 0;
        for (at, panel) in (0_i32..).zip(&self.panels) {
            let (own, others) = rest.split_at(panel.curves.len());
            rest = others;
            let (above, below) = (self.above(wide), self.below(wide));
            let top = 8 + at * (above + self.tall + below) + above;
            let bottom = top + self.tall;
            let axes = Axes { left, top, right, bottom, x: self.x_range(), y: panel.y_range() };
            axes.draw_with(area, &self.x_name, &panel.y_name, &self.ticks(&axes))?;
            panel.placed(self, &axes).draw(area, &axes, own)?;
            foot = bottom + below;
        }
        note.map_or(Ok(()), |note| write_note(area, &note, foot + NOTE_LINE / 2 - 2))
    }
}

impl Curves {
    /// Units of the words above each panel.
    fn above(&self, wide: i32) -> i32 {
        ABOVE + self.panels.iter().map(|panel| further_lines(&panel.y_name, wide)).max().unwrap_or(0)
    }

    /// Units of the words below each panel.
    fn below(&self, wide: i32) -> i32 {
        BELOW + further_lines(&self.x_name, wide)
    }

    fn places(&self) -> Vec<f64> {
        let curves = self.panels.iter().flat_map(|panel| &panel.curves);
        let mut places: Vec<f64> = curves.flat_map(|curve| curve.points.iter().map(|p| p.0)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }

    /// Where a place is on the axis.
    fn on_axis(&self, place: f64) -> f64 {
        if self.is_log { place.log10() } else { place }
    }

    fn x_range(&self) -> [f64; 2] {
        range(self.places().into_iter().map(|place| self.on_axis(place)), 0.06, 0.06).unwrap_or([0.0, 1.0])
    }

    /// All names, panel by panel.
    fn short_names(&self) -> ShortNames {
        let curves = self.panels.iter().flat_map(|panel| &panel.curves);
        let names: Vec<&str> = curves.map(|curve| curve.name.as_str()).collect();
        short_names(&names, WIDEST_NAME, NAME / SIZE_PER_EM)
    }

    fn ticks(&self, axes: &Axes) -> Vec<(f64, String)> {
        let places = self.places();
        let texts: Vec<(f64, String)> =
            places.iter().map(|&place| (self.on_axis(place), format!("{place}"))).collect();
        // From left to right as long as a number does not touch the one before it.
        let mut kept: Vec<(f64, String)> = Vec::new();
        let mut edge = f64::NEG_INFINITY;
        for (place, text) in &texts {
            let (middle, half) = (f64::from(axes.at(*place, axes.y[0]).0), text_width(text, TICK) / 2.0);
            if middle - half > edge + 10.0 {
                edge = middle + half;
                kept.push((*place, text.clone()));
            }
        }
        let is_whole = kept.len() == texts.len() && texts.len() <= 9;
        match self.is_log || self.ticks_at_places && is_whole {
            true => kept,
            false => sparse(axes.x, axes.right - axes.left),
        }
    }
}

fn name_room(names: &[String]) -> i32 {
    names.iter().map(|name| text_width(name, NAME)).fold(0.0, f64::max).ceil() as i32 + 24
}

impl CurvePanel {
    fn y_range(&self) -> [f64; 2] {
        let values = self.curves.iter().flat_map(|curve| &curve.points).flat_map(|(_, value, ci95)| {
            [Some(*value), ci95.map(|ci| ci[0]), ci95.map(|ci| ci[1])].into_iter().flatten()
        });
        let with_level = values.chain(self.level.as_ref().map(|level| level.0));
        self.y.or_else(|| range(with_level, 0.09, 0.09)).unwrap_or([0.0, 1.0])
    }

    /// The panel with its places as the axis has them, and lines that have intervals a little beside one another, so that
    /// no bar hides another.
    fn placed(&self, whole: &Curves, axes: &Axes) -> CurvePanel {
        let places: Vec<f64> = whole.places().into_iter().map(|place| whole.on_axis(place)).collect();
        // In units of the figure: what a shift along the axis stands for differs from place to place where it is log.
        let per_unit = (axes.x[1] - axes.x[0]) / f64::from(axes.right - axes.left).max(1.0);
        let nearest = places.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
        let n = self.curves.len() as f64;
        let has_bars = self.curves.iter().any(|curve| curve.points.iter().any(|point| point.2.is_some()));
        let most = DODGE.min(SPREAD / (n - 1.0).max(1.0)).min(0.7 * nearest / per_unit / n.max(1.0));
        let apart = if has_bars { most } else { 0.0 };
        let mut panel = self.clone();
        for (nth, curve) in panel.curves.iter_mut().enumerate() {
            let aside = per_unit * apart * (nth as f64 - (n - 1.0) / 2.0);
            for point in &mut curve.points {
                point.0 = whole.on_axis(point.0) + aside;
            }
        }
        panel
    }

    fn draw<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        axes: &Axes,
        names: &[String],
    ) -> Drawn<DB> {
        if let Some((level, words)) = &self.level {
            let (from, to) = (axes.at(axes.x[0], *level), axes.at(axes.x[1], *level));
            dashed(area, from, to, GREY)?;
            write(
                area,
                words,
                self.level_words_at(axes, *level, words),
                NOTE,
                GREY,
                HPos::Left,
                VPos::Center,
            )?;
        }
        for (nth, curve) in self.curves.iter().enumerate() {
            let color = curve.color.mix(1.0);
            let line: Vec<(i32, i32)> = curve.points.iter().map(|(x, y, _)| axes.at(*x, *y)).collect();
            // Lines of one family have one mark: the later ones are broken, each in its own way, which shows without colour.
            for stretch in broken(&line, self.n_alike(nth)) {
                area.draw(&PathElement::new(stretch.to_vec(), color.stroke_width(2)))?;
            }
            for (x, _, ci95) in &curve.points {
                if let Some([low, high]) = ci95 {
                    whisker(area, axes.at(*x, *low), axes.at(*x, *high), &color)?;
                }
            }
        }
        for (nth, curve) in self.curves.iter().enumerate() {
            let color = curve.color.mix(1.0);
            for (x, y, _) in &curve.points {
                let at = axes.at(*x, *y);
                symbol(area, at, curve.family, curve.guarantee, &color)?;
                let inner = if curve.guarantee == Guarantee::Exact { PAPER.mix(1.0) } else { color };
                inner_mark(area, at, self.n_alike(nth), &inner)?;
            }
        }
        self.names(area, axes, names)
    }

    /// Lines of the same family before this one.
    fn n_alike(&self, nth: usize) -> usize {
        self.curves[..nth].iter().filter(|other| other.family == self.curves[nth].family).count()
    }

    /// What the lines, intervals and marks cover: marks first, then the rest.
    fn covered(&self, axes: &Axes) -> (Vec<Rect>, Vec<Rect>) {
        let (mut marks, mut rest) = (Vec::new(), Vec::new());
        for curve in &self.curves {
            let spots: Vec<(i32, i32)> = curve.points.iter().map(|(x, y, _)| axes.at(*x, *y)).collect();
            marks.extend(spots.iter().map(|&at| around(at, at, f64::from(RADIUS) + 3.0)));
            for pair in spots.windows(2) {
                let n = ((pair[1].0 - pair[0].0).abs() / 6).max(1);
                let along = |a: i32, b: i32, part: i32| a + (b - a) * part / n;
                rest.extend((0..n).map(|part| {
                    let from = (along(pair[0].0, pair[1].0, part), along(pair[0].1, pair[1].1, part));
                    let to = (along(pair[0].0, pair[1].0, part + 1), along(pair[0].1, pair[1].1, part + 1));
                    around(from, to, 2.0)
                }));
            }
            for (x, _, ci95) in &curve.points {
                let bar = ci95.map(|[low, high]| around(axes.at(*x, low), axes.at(*x, high), BAR_ROOM));
                rest.extend(bar);
            }
        }
        (marks, rest)
    }

    /// Where the words of the level line begin: above or below it at the right end, at the left end, or between two
    /// places, wherever they cover least.
    fn level_words_at(&self, axes: &Axes, level: f64, words: &str) -> (i32, i32) {
        let wide = text_width(words, NOTE).ceil() as i32;
        let (marks, rest) = self.covered(axes);
        let line = axes.at(axes.x[0], level).1;
        let mut places: Vec<i32> =
            self.curves.iter().flat_map(|curve| &curve.points).map(|(x, ..)| axes.at(*x, level).0).collect();
        places.sort_unstable();
        places.dedup();
        let between = places.windows(2).rev().map(|pair| (pair[0] + pair[1] - wide) / 2);
        let lefts = [axes.right - 4 - wide, axes.left + 6].into_iter().chain(between);
        let spots = lefts.flat_map(|left| [(left, line - 10), (left, line + 11)]);
        let cost = |at: &(i32, i32)| {
            let rect = around(*at, (at.0 + wide, at.1), NOTE / 2.0);
            let over = marks.iter().chain(&rest).map(|other| overlap(&rect, other)).sum::<f64>();
            let outside = rect[1] < f64::from(axes.top) || rect[3] > f64::from(axes.bottom);
            over + if outside { 1e6 } else { 0.0 }
        };
        spots.min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or((axes.left + 6, line - 10))
    }

    /// Whether a level line from the end of a curve to the right edge would go through a mark of another.
    fn is_blocked(&self, nth: usize, axes: &Axes) -> bool {
        let Some(end) = self.curves[nth].points.last().map(|(x, y, _)| axes.at(*x, *y)) else { return false };
        let others = self.curves.iter().enumerate().filter(|(other, _)| *other != nth);
        // Lines that end at one place stand a little beside one another.
        let beside = SPREAD.ceil() as i32 + 1;
        let mut spots = others.flat_map(|(_, curve)| &curve.points).map(|(x, y, _)| axes.at(*x, *y));
        spots.any(|(x, y)| x > end.0 + beside && (y - end.1).abs() < RADIUS + 5)
    }

    fn names<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        axes: &Axes,
        names: &[String],
    ) -> Drawn<DB> {
        let ends = self.curves.iter().enumerate().filter_map(|(nth, curve)| {
            let end = curve.points.last().map(|(x, y, _)| axes.at(*x, *y))?;
            Some((nth, curve, end))
        });
        let (inside, beside): (Vec<_>, Vec<_>) = ends.partition(|(nth, ..)| self.is_blocked(*nth, axes));
        let wanted: Vec<f64> = beside.iter().map(|(_, _, end)| f64::from(end.1)).collect();
        let bounds = [f64::from(axes.top), f64::from(axes.bottom)];
        let x = axes.right + 20;
        for ((nth, curve, end), y) in beside.iter().zip(stacked(&wanted, APART, bounds)) {
            let to = (x - 4, y.round() as i32);
            let leader = vec![(end.0 + 10, end.1), (axes.right.max(end.0 + 10), end.1), to];
            area.draw(&PathElement::new(leader, curve.color.mix(0.45).stroke_width(1)))?;
            let stub = vec![(to.0 - 8, to.1), to];
            area.draw(&PathElement::new(stub, curve.color.stroke_width(3)))?;
            write(area, &names[*nth], (x, to.1), NAME, INK, HPos::Left, VPos::Center)?;
        }
        // Names that no straight leader reaches stand beside the ends of their lines.
        let (marks, mut lines) = self.covered(axes);
        let leaders = beside.iter().map(|(_, _, end)| around(*end, (axes.right.max(end.0), end.1), 2.0));
        lines.extend(leaders);
        let anchors: Vec<Anchor> = inside
            .iter()
            .map(|(nth, _, end)| Anchor {
                at: (f64::from(end.0), f64::from(end.1)),
                size: (text_width(&names[*nth], NAME), NAME / SIZE_PER_EM),
            })
            .collect();
        let within = [f64::from(axes.left) + 6.0, bounds[0] + 2.0, f64::from(axes.right), bounds[1] - 4.0];
        for ((nth, curve, end), rect) in inside.iter().zip(place(&anchors, &marks, &lines, within)) {
            let at = (f64::from(end.0), f64::from(end.1));
            let near = nearest(at, &rect);
            if (near.0 - at.0).hypot(near.1 - at.1) > FAR {
                let to = (near.0.round() as i32, near.1.round() as i32);
                area.draw(&PathElement::new(vec![*end, to], curve.color.mix(0.45).stroke_width(1)))?;
            }
            let middle = (rect[0].round() as i32, ((rect[1] + rect[3]) / 2.0).round() as i32);
            write(area, &names[*nth], middle, NAME, INK, HPos::Left, VPos::Center)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::families::style;
    use specimen_record::Family;

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

    fn curve(name: &str, points: &[(f64, f64)], half: Option<f64>) -> Curve {
        let ci95 = |y: f64| half.map(|half| [y - half, y + half]);
        Curve {
            name: name.to_owned(),
            family: style(Some(Family::StaticTree)),
            guarantee: Guarantee::Exact,
            color: style(Some(Family::StaticTree)).color,
            points: points.iter().map(|&(x, y)| (x, y, ci95(y))).collect(),
        }
    }

    const AXES: Axes = Axes { left: 50, top: 30, right: 450, bottom: 230, x: [0.8, 3.2], y: [0.0, 1.0] };

    #[test]
    fn the_words_of_a_level_line_keep_off_intervals() {
        let curves = vec![curve("a", &[(1.0, 0.3), (2.0, 0.7), (3.0, 0.5)], Some(0.3))];
        let panel = CurvePanel { curves, y_name: String::new(), level: Some((0.45, "ar".into())), y: None };
        let (x, y) = panel.level_words_at(&AXES, 0.45, "ar");
        let words = around((x, y), (x + text_width("ar", NOTE).ceil() as i32, y), NOTE / 2.0);
        let (marks, rest) = panel.covered(&AXES);
        assert!(marks.iter().chain(&rest).all(|other| overlap(&words, other) == 0.0), "{x}, {y}");
    }

    #[test]
    fn a_line_that_ends_before_the_marks_of_another_is_named_at_its_end() {
        let curves = vec![
            curve("short", &[(1.0, 0.5), (2.0, 0.6)], None),
            curve("long", &[(1.0, 0.8), (2.0, 0.7), (3.0, 0.6)], None),
        ];
        let panel = CurvePanel { curves, y_name: String::new(), level: None, y: None };
        assert!(panel.is_blocked(0, &AXES) && !panel.is_blocked(1, &AXES));
        assert_eq!((panel.n_alike(0), panel.n_alike(1)), (0, 1));
    }

    #[test]
    fn values_over_decades_have_a_log_axis_and_others_have_not() {
        for places in [&[0.001, 0.005, 0.02, 0.1, 0.5][..], &[1.0, 2.0, 4.0, 8.0, 16.0], &[1.0, 10.0]] {
            assert!(spans_a_log_axis(places), "{places:?}");
        }
        for places in
            [&[0.0, 0.1, 1.0][..], &[0.6, 0.7, 0.8, 0.9], &[1.0, 2.0, 4.0], &[-1.0, 10.0], &[5.0], &[]]
        {
            assert!(!spans_a_log_axis(places), "{places:?}");
        }
        let curves = vec![curve("a", &[(0.001, 0.5), (0.01, 0.6), (0.5, 0.6)], None)];
        let panel = CurvePanel { curves, y_name: String::new(), level: None, y: None };
        let whole = Curves {
            panels: vec![panel],
            x_name: String::new(),
            tall: 200,
            ticks_at_places: true,
            is_log: true,
        };
        let axes = Axes { x: whole.x_range(), ..AXES };
        let ticks = whole.ticks(&axes);
        let texts: Vec<&str> = ticks.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["0.001", "0.01", "0.5"]);
        let at: Vec<i32> = ticks.iter().map(|(place, _)| axes.at(*place, 0.0).0).collect();
        let ratio = f64::from(at[1] - at[0]) / f64::from(at[2] - at[0]);
        assert!((ratio - 1.0 / 500_f64.log10()).abs() < 0.01, "{at:?}");
    }

    #[test]
    fn bars_at_one_place_stand_side_by_side() {
        let curves = vec![
            curve("a", &[(1.0, 0.5), (2.0, 0.6)], Some(0.1)),
            curve("b", &[(1.0, 0.4), (2.0, 0.6)], Some(0.1)),
        ];
        let panel = CurvePanel { curves, y_name: String::new(), level: None, y: None };
        let whole = Curves {
            panels: vec![panel],
            x_name: String::new(),
            tall: 200,
            ticks_at_places: true,
            is_log: false,
        };
        let placed = whole.panels[0].placed(&whole, &AXES);
        let x = |nth: usize| AXES.at(placed.curves[nth].points[0].0, 0.0).0;
        assert!((6..=10).contains(&(x(1) - x(0))), "{} {}", x(0), x(1));
        assert_eq!(x(0) + x(1), 2 * AXES.at(1.0, 0.0).0);
    }

    #[test]
    fn on_a_log_axis_bars_stay_at_their_place_however_many_there_are() {
        let points = [(0.001, 0.5), (0.01, 0.6), (0.5, 0.6)];
        let names = ["a", "b", "c", "d", "e"];
        let curves = names.map(|name| curve(name, &points, Some(0.1))).to_vec();
        let panel = CurvePanel { curves, y_name: String::new(), level: None, y: None };
        let whole = Curves {
            panels: vec![panel],
            x_name: String::new(),
            tall: 200,
            ticks_at_places: true,
            is_log: true,
        };
        let axes = Axes { x: whole.x_range(), ..AXES };
        let placed = whole.panels[0].placed(&whole, &axes);
        for (at, (place, _)) in points.iter().enumerate() {
            let xs: Vec<i32> = placed.curves.iter().map(|curve| axes.at(curve.points[at].0, 0.0).0).collect();
            let tick = axes.at(place.log10(), 0.0).0;
            assert!(xs.windows(2).all(|pair| pair[1] - pair[0] >= 3), "{xs:?}");
            assert!(xs.iter().all(|x| (x - tick).abs() <= RADIUS), "{xs:?} about {tick}");
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
