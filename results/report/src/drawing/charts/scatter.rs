//! Points in a plane: with their intervals, lines between them, reference lines, a key of what is there, and
//! names that cover nothing.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use specimen_record::{Family, Guarantee};

use crate::drawing::charts::axes::{ABOVE, Axes, BELOW, range, tick_room};
use crate::drawing::charts::axis_name::further_lines;
use crate::drawing::families::{FamilyStyle, style};
use crate::drawing::figure::{Drawing, Drawn, EDGE, NAME, NOTE, NOTE_LINE};
use crate::drawing::font::{SIZE_PER_EM, wrap};
use crate::drawing::labels::{Anchor, FAR, Rect, leader, nearest, place};
use crate::drawing::marks::{
    BAR_ROOM, RADIUS, around, broken, dashed, inner_mark, sized_symbol, symbol, text_width, whisker, write,
};
use crate::drawing::palette::{FRONTIER, GREY, INK, PAPER};
use crate::drawing::short_names::{ShortNames, short_names};
use crate::figures::setting_lines::{Line, place as place_on, size_words};

/// Opacity of what is faded.
const FADED: f64 = 0.4;
/// Opacity of what is faded and on a line, whose stroke has to tell the line without colour.
const FADED_ON_LINE: f64 = 0.65;
/// Opacity of lines.
const LINE_ALPHA: f64 = 0.7;
/// Units of the plane itself, and what each point beyond a few adds.
const PLANE: u32 = 330;
const ROOM: u32 = 12;
/// As many points as have room for large names.
const FEW: usize = 10;
const KEY_LINE: i32 = 22;
/// What an entry of the key takes besides its words.
const KEY_GAP: f64 = 42.0;
/// What the letter of a line takes before its name.
const LETTER_ROOM: f64 = 17.0;

/// One point.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dot {
    pub(crate) name: String,
    pub(crate) family: FamilyStyle,
    pub(crate) guarantee: Guarantee,
    pub(crate) is_faded: bool,
    /// Whether its name is written; a point of a line is known by its colour and size.
    pub(crate) is_named: bool,
    pub(crate) x: f64,
    pub(crate) x_ci95: Option<[f64; 2]>,
    pub(crate) y: f64,
    pub(crate) y_ci95: Option<[f64; 2]>,
}

/// A plane with its words.
pub(crate) struct Scatter {
    pub(crate) dots: Vec<Dot>,
    /// What the key calls dots that are faded.
    pub(crate) faded: &'static str,
    /// Which dots belong together, in order.
    pub(crate) lines: Vec<Line>,
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
enum Key<'s> {
    Point(Guarantee, f64),
    Frontier,
    Interval,
    /// Dots that belong together.
    Line(&'s Line),
}

impl Drawing for Scatter {
    fn height(&self, wide: i32) -> u32 {
        let below = BELOW + further_lines(&self.x_name, wide);
        self.plane() + (self.top(wide) + below).cast_unsigned()
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        self.draw_key(area)?;
        let wide = area.dim_in_pixel().0.cast_signed();
        let (x, y) = self.ranges();
        let top = self.top(wide);
        let axes = Axes {
            left: tick_room(y),
            top,
            right: wide - EDGE,
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
        for line in self.drawn_lines() {
            let spots: Vec<(i32, i32)> = self.on(line).map(|dot| axes.at(dot.x, dot.y)).collect();
            for stretch in broken(&spots, self.n_alike(line)) {
                area.draw(&PathElement::new(stretch.to_vec(), line.color.mix(LINE_ALPHA).stroke_width(3)))?;
            }
            for pair in spots.windows(2) {
                let along = |from: i32, to: i32, part: i32| from + (to - from) * part / 8;
                lines.extend((0..8).map(|part| {
                    let at = |part| (along(pair[0].0, pair[1].0, part), along(pair[0].1, pair[1].1, part));
                    around(at(part), at(part + 1), 1.0)
                }));
            }
        }
        for dot in self.dots.iter().filter(|dot| self.has_bars(dot)) {
            let ends = |x: [f64; 2], y: [f64; 2]| (axes.at(x[0], y[0]), axes.at(x[1], y[1]));
            let bars = [dot.x_ci95.map(|ci| ends(ci, [dot.y; 2])), dot.y_ci95.map(|ci| ends([dot.x; 2], ci))];
            for (from, to) in bars.into_iter().flatten() {
                whisker(area, from, to, &self.color(dot))?;
                // A name beside a bar is near it, but none touches an end.
                lines.extend([around(from, to, 3.0), around(from, from, BAR_ROOM), around(to, to, BAR_ROOM)]);
            }
        }
        for dot in &self.dots {
            let line = place_on(&self.lines, &dot.name);
            let radius = line.map_or(RADIUS, |(_, radius)| radius);
            let at = axes.at(dot.x, dot.y);
            sized_symbol(area, at, radius, dot.family, dot.guarantee, &self.color(dot))?;
            if let Some((line, _)) = line {
                self.inner(area, at, line, &line.color.mix(1.0))?;
            }
        }
        self.names(area, &axes, &lines)
    }
}

impl Scatter {
    /// Where the plane begins.
    fn top(&self, wide: i32) -> i32 {
        self.key_height(wide) + ABOVE + further_lines(&self.y_name, wide)
    }

    fn n_named(&self) -> usize {
        self.dots.iter().filter(|dot| dot.is_named).count()
    }

    /// Whether the intervals of a dot are drawn: of many settings those that are not named have theirs in the data only.
    fn has_bars(&self, dot: &Dot) -> bool {
        dot.is_named || self.dots.len() <= FEW
    }

    fn plane(&self) -> u32 {
        let more = u32::try_from(self.n_named().saturating_sub(FEW)).unwrap_or(u32::MAX);
        PLANE + ROOM * more.min(14)
    }

    fn name_size(&self) -> f64 {
        if self.n_named() > FEW { NOTE } else { NAME }
    }

    /// The dots of a line, in its order.
    fn on<'s>(&'s self, line: &'s Line) -> impl Iterator<Item = &'s Dot> {
        line.cells.iter().filter_map(|cell| self.dots.iter().find(|dot| dot.name == *cell))
    }

    /// The lines that have two dots here.
    fn drawn_lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| self.on(line).count() > 1)
    }

    /// Lines of the same family before this one.
    fn n_alike(&self, line: &Line) -> usize {
        let before = self.drawn_lines().take_while(|other| other.name != line.name);
        before.filter(|other| other.family == line.family).count()
    }

    /// The letter of a line that has its family in common with others: in the key and beside an end of the line, so that it
    /// is known without colour.
    fn letter(&self, line: &Line) -> Option<String> {
        let is_alone = self.drawn_lines().filter(|other| other.family == line.family).count() < 2;
        let nth = self.drawn_lines().position(|other| other.name == line.name)?;
        let letter = char::from(b'a' + u8::try_from(nth).ok().filter(|nth| *nth < 26)?);
        (!is_alone).then(|| letter.to_string())
    }

    /// Letters of lines, each beside the last dot of its line that has no name.
    fn letters(&self) -> Vec<(&Dot, String)> {
        let of = |line| {
            let dot = self.on(line).filter(|dot| !dot.is_named).last()?;
            Some((dot, self.letter(line)?))
        };
        self.drawn_lines().filter_map(of).collect()
    }

    /// What tells the marks of a line from those of the lines before it.
    fn inner<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        at: (i32, i32),
        line: &Line,
        color: &RGBAColor,
    ) -> Drawn<DB> {
        let inner = if line.guarantee == Guarantee::Exact { PAPER.mix(1.0) } else { *color };
        inner_mark(area, at, self.n_alike(line), &inner)
    }

    /// That of its line, or of its family.
    fn color(&self, dot: &Dot) -> RGBAColor {
        let (own, faded) = place_on(&self.lines, &dot.name)
            .map_or((dot.family.color, FADED), |(line, _)| (line.color, FADED_ON_LINE));
        own.mix(if dot.is_faded { faded } else { 1.0 })
    }

    /// The names of the dots that have one, as they fit.
    fn short_names(&self, wide: i32) -> ShortNames {
        let names: Vec<&str> =
            self.dots.iter().filter(|dot| dot.is_named).map(|dot| dot.name.as_str()).collect();
        short_names(&names, f64::from(wide) * 0.45, self.name_size() / SIZE_PER_EM)
    }

    /// Small print under the key: what sizes say, and what bare values in names stand for.
    fn notes(&self, wide: i32) -> Vec<String> {
        let lines: Vec<Line> = self.drawn_lines().cloned().collect();
        let names = self.short_names(wide).note.map(|note| format!("Names: {note}"));
        let room = f64::from(wide - 2 * EDGE);
        let texts = size_words(&lines).into_iter().chain(names);
        texts.flat_map(|text| wrap(&text, room, 2, NOTE / SIZE_PER_EM, false)).collect()
    }

    /// Ranges of both axes: everything that is drawn, and some air.
    fn ranges(&self) -> ([f64; 2], [f64; 2]) {
        let values = |of: fn(&Dot) -> (f64, Option<[f64; 2]>), also: Option<f64>| {
            let own = self.dots.iter().flat_map(move |dot| {
                let (value, ci95) = of(dot);
                let ci95 = ci95.filter(|_| self.has_bars(dot));
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
    fn key(&self) -> Vec<(Key<'_>, &str)> {
        let has = |guarantee: Guarantee| self.dots.iter().any(|dot| dot.guarantee == guarantee);
        let mut key = Vec::new();
        // What is not known to be exact is drawn as what is not.
        let open = match (has(Guarantee::Relaxed), has(Guarantee::Unknown)) {
            (true, true) => Some("relaxed or not known"),
            (true, false) => Some("relaxed"),
            (false, true) => Some("not known to be exact"),
            (false, false) => None,
        };
        if let Some(open) = open.filter(|_| has(Guarantee::Exact)) {
            key.push((Key::Point(Guarantee::Exact, 1.0), "exact"));
            key.push((Key::Point(Guarantee::Relaxed, 1.0), open));
        }
        if self.dots.iter().any(|dot| dot.is_faded) {
            key.push((Key::Point(Guarantee::Exact, FADED), self.faded));
        }
        if self.frontiers.iter().any(|stairs| stairs.len() > 1) {
            key.push((Key::Frontier, "frontier"));
        }
        let with_interval = || self.dots.iter().filter(|dot| dot.x_ci95.is_some() || dot.y_ci95.is_some());
        if with_interval().any(|dot| self.has_bars(dot)) {
            let are_all = with_interval().all(|dot| self.has_bars(dot));
            key.push((Key::Interval, if are_all { "95 % interval" } else { "95 % interval (named points)" }));
        }
        key.extend(self.drawn_lines().map(|line| (Key::Line(line), line.name.as_str())));
        key
    }

    /// The key in lines that fit; what belongs together begins a line of its own.
    fn key_lines(&self, wide: i32) -> Vec<Vec<(Key<'_>, String)>> {
        let room = f64::from(wide - 2 * EDGE);
        let mut lines: Vec<Vec<(Key<'_>, String)>> = Vec::new();
        let (mut used, mut is_of_lines) = (0.0, false);
        for (kind, text) in self.key() {
            let gap = KEY_GAP + self.letter_room(&kind);
            let text = wrap(text, room - gap, 1, NOTE / SIZE_PER_EM, false).concat();
            let taken = gap + text_width(&text, NOTE);
            let begins = matches!(kind, Key::Line(_)) && !is_of_lines;
            is_of_lines |= begins;
            if lines.is_empty() || begins || used + taken > room + 28.0 {
                lines.push(Vec::new());
                used = 0.0;
            }
            used += taken;
            lines.last_mut().expect("a line was begun").push((kind, text));
        }
        lines
    }

    fn letter_room(&self, kind: &Key<'_>) -> f64 {
        match kind {
            Key::Line(line) if self.letter(line).is_some() => LETTER_ROOM,
            _ => 0.0,
        }
    }

    fn key_height(&self, wide: i32) -> i32 {
        let n = |n: usize| i32::try_from(n).expect("a key has a few lines");
        match (self.key_lines(wide).len(), self.notes(wide).len()) {
            (0, 0) => 4,
            (keys, notes) => KEY_LINE * n(keys) + NOTE_LINE * n(notes) + 6,
        }
    }

    fn draw_key<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        let wide = area.dim_in_pixel().0.cast_signed();
        let mut y = KEY_LINE / 2 + 3;
        for line in self.key_lines(wide) {
            let mut x = EDGE + RADIUS;
            for (kind, text) in line {
                let letter_room = self.letter_room(&kind);
                match kind {
                    Key::Point(guarantee, alpha) => {
                        symbol(area, (x, y), style(Some(Family::Chain)), guarantee, &GREY.mix(alpha))?;
                    }
                    Key::Frontier => {
                        let path = vec![(x - RADIUS, y), (x + RADIUS, y)];
                        area.draw(&PathElement::new(path, FRONTIER.stroke_width(2)))?;
                    }
                    Key::Interval => whisker(area, (x - RADIUS, y), (x + RADIUS, y), &GREY.mix(1.0))?,
                    Key::Line(line) => {
                        let path = vec![(x - RADIUS - 3, y), (x + RADIUS + 3, y)];
                        area.draw(&PathElement::new(path, line.color.mix(LINE_ALPHA).stroke_width(3)))?;
                        let color = line.color.mix(1.0);
                        sized_symbol(area, (x, y), RADIUS - 1, line.family, line.guarantee, &color)?;
                        self.inner(area, (x, y), line, &color)?;
                        if let Some(letter) = self.letter(line) {
                            write(area, &letter, (x + 14, y), NOTE, GREY, HPos::Left, VPos::Center)?;
                        }
                    }
                }
                let words_at = (x + 14 + letter_room as i32, y);
                write(area, &text, words_at, NOTE, INK, HPos::Left, VPos::Center)?;
                x += (KEY_GAP + letter_room + text_width(&text, NOTE)) as i32;
            }
            y += KEY_LINE;
        }
        for note in self.notes(wide) {
            write(area, &note, (EDGE, y - 2), NOTE, GREY, HPos::Left, VPos::Center)?;
            y += NOTE_LINE;
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
        let names = self.short_names(area.dim_in_pixel().0.cast_signed()).names;
        let named = self.dots.iter().filter(|dot| dot.is_named).zip(names);
        let named = named.map(|(dot, name)| (dot, name, self.name_size()));
        let letters = self.letters().into_iter().map(|(dot, letter)| (dot, letter, NOTE));
        let labels: Vec<(&Dot, String, f64)> = named.chain(letters).collect();
        let anchors: Vec<Anchor> = labels
            .iter()
            .map(|(dot, text, size)| {
                let (x, y) = axes.at(dot.x, dot.y);
                Anchor {
                    at: (f64::from(x), f64::from(y)),
                    size: (text_width(text, *size), size / SIZE_PER_EM),
                }
            })
            .collect();
        let inside = [
            f64::from(axes.left) + 6.0,
            f64::from(axes.top) + 4.0,
            f64::from(axes.right) - 2.0,
            f64::from(axes.bottom) - 6.0,
        ];
        let places = place(&anchors, &dots, lines, inside);
        for (((dot, text, size), anchor), rect) in labels.iter().zip(&anchors).zip(places) {
            let near = nearest(anchor.at, &rect);
            // Straight above or below the point its interval leads to the name, if it ends there.
            let ends = dot.y_ci95.map(|ends| ends.map(|end| f64::from(axes.at(dot.x, end).1)));
            let reaches = |end: &f64| (*end - near.1).abs() <= FAR;
            let is_led = near.0 == anchor.at.0 && ends.is_some_and(|ends| ends.iter().any(reaches));
            if let Some(ends) = leader(anchor.at, &rect, &dots, is_led) {
                let ends = ends.map(|(x, y)| (x.round() as i32, y.round() as i32));
                // A faded line would be lost on the mark that it has to pass.
                let color = self.color(&Dot { is_faded: false, ..Dot::clone(dot) });
                area.draw(&PathElement::new(ends.to_vec(), color.stroke_width(2)))?;
            }
            let color = if dot.is_faded { GREY } else { INK };
            let middle = (rect[0].round() as i32, ((rect[1] + rect[3]) / 2.0).round() as i32);
            write(area, text, middle, *size, color, HPos::Left, VPos::Center)?;
        }
        Ok(())
    }
}
