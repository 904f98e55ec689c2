//! Square maps of values side by side, in shades that grow darker with the value, with their scale below.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::figure::{Drawing, Drawn, EDGE, NOTE, TICK, WIDTH};
use crate::marks::write;
use crate::palette::{HEAT, INK};

/// Space between maps, ticks included.
const BETWEEN: i32 = 44;
/// Space left of the first map.
const LEFT: i32 = 34;
const ABOVE: i32 = 30;
const BELOW: i32 = 92;
const SCALE_HIGH: i32 = 14;

/// One map.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Map {
    pub(crate) title: String,
    /// Rows and columns.
    pub(crate) n: usize,
    /// `[n, n]`
    pub(crate) values: Vec<f64>,
}

/// Maps over one scale.
pub(crate) struct Heat {
    pub(crate) maps: Vec<Map>,
    /// What the first and the last shade stand for.
    pub(crate) range: [f64; 2],
    pub(crate) scale_name: String,
}

impl Drawing for Heat {
    fn height(&self) -> u32 {
        (ABOVE + self.side() + BELOW).cast_unsigned()
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        for (at, map) in (0_i32..).zip(&self.maps) {
            let left = EDGE + LEFT + at * (self.side() + BETWEEN);
            write(area, &map.title, (left, 14), NOTE, INK, HPos::Left, VPos::Center)?;
            self.squares(area, map, left)?;
            let corners = [(left, ABOVE), (left + self.side(), ABOVE + self.side())];
            area.draw(&Rectangle::new(corners, INK.stroke_width(1)))?;
            for place in ticks(map.n) {
                let middle = self.edge(map.n, place - 1).midpoint(self.edge(map.n, place));
                let (text, end) = (place.to_string(), ABOVE + self.side());
                write(area, &text, (left - 6, ABOVE + middle), TICK, INK, HPos::Right, VPos::Center)?;
                write(area, &text, (left + middle, end + 6), TICK, INK, HPos::Center, VPos::Top)?;
            }
        }
        self.scale(area)
    }
}

impl Heat {
    /// Units of a map, each way.
    fn side(&self) -> i32 {
        let n = i32::try_from(self.maps.len().max(2)).expect("a figure has a few maps");
        (WIDTH.cast_signed() - 2 * EDGE - LEFT - (n - 1) * BETWEEN) / n
    }

    /// Where the square of place `at`, from 0, begins.
    fn edge(&self, n: usize, at: usize) -> i32 {
        (f64::from(self.side()) * at as f64 / n as f64).round() as i32
    }

    /// One rectangle for each run of one shade in a row.
    fn squares<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>, map: &Map, left: i32) -> Drawn<DB> {
        for (row, values) in map.values.chunks_exact(map.n).enumerate() {
            let shades: Vec<usize> = values.iter().map(|value| shade(*value, self.range)).collect();
            let mut from = 0;
            for alike in shades.chunk_by(|a, b| a == b) {
                let to = from + alike.len();
                let upper_left = (left + self.edge(map.n, from), ABOVE + self.edge(map.n, row));
                let lower_right = (left + self.edge(map.n, to), ABOVE + self.edge(map.n, row + 1));
                area.draw(&Rectangle::new([upper_left, lower_right], HEAT[alike[0]].filled()))?;
                from = to;
            }
        }
        Ok(())
    }

    fn scale<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        let (left, right) = (EDGE + LEFT, WIDTH.cast_signed() - EDGE);
        let top = ABOVE + self.side() + 36;
        let n = HEAT.len();
        let at = |place: usize| left + (f64::from(right - left) * place as f64 / n as f64).round() as i32;
        for (place, color) in HEAT.iter().enumerate() {
            let corners = [(at(place), top), (at(place + 1), top + SCALE_HIGH)];
            area.draw(&Rectangle::new(corners, color.filled()))?;
        }
        area.draw(&Rectangle::new([(left, top), (right, top + SCALE_HIGH)], INK.stroke_width(1)))?;
        let below = top + SCALE_HIGH + 6;
        let [low, high] = self.range.map(|end| format!("{end}"));
        write(area, &low, (left, below), TICK, INK, HPos::Left, VPos::Top)?;
        write(area, &high, (right, below), TICK, INK, HPos::Right, VPos::Top)?;
        write(area, &self.scale_name, (left.midpoint(right), below), NOTE, INK, HPos::Center, VPos::Top)
    }
}

/// Places that are numbered, from 1: the ends and the middle.
fn ticks(n: usize) -> Vec<usize> {
    match n {
        0..=2 => (1..=n).collect(),
        _ => vec![1, n.div_ceil(2), n],
    }
}

/// The shade of a value; what lies outside the range has that of its end.
fn shade(value: f64, [low, high]: [f64; 2]) -> usize {
    let share = (value - low) / (high - low) * HEAT.len() as f64;
    (share.floor().max(0.0) as usize).min(HEAT.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_cut_the_range_into_equal_parts_and_hold_both_ends() {
        let of = |value: f64| shade(value, [0.1, 1.0]);
        assert_eq!([0.1, 0.199, 0.201, 0.55, 0.999, 1.0].map(of), [0, 0, 1, 4, 8, 8]);
        assert_eq!([-1.0, 2.0].map(of), [0, 8]);
    }

    #[test]
    fn squares_tile_the_map_whatever_their_number() {
        let heat = Heat { maps: Vec::new(), range: [0.0, 1.0], scale_name: String::new() };
        for n in [1, 3, 16, 24, 48] {
            let edges: Vec<i32> = (0..=n).map(|at| heat.edge(n, at)).collect();
            assert_eq!((edges[0], edges[n]), (0, heat.side()));
            assert!(edges.is_sorted_by(|a, b| a < b), "{edges:?}");
        }
        assert_eq!([ticks(1), ticks(2), ticks(16)], [vec![1], vec![1, 2], vec![1, 8, 16]]);
    }
}
