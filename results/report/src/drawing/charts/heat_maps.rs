//! Square maps of values side by side, in shades that grow darker with the value, with their scale below.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::drawing::charts::color_bar::{bar_height, color_bar, shade};
use crate::drawing::figure::{Drawing, Drawn, EDGE, NOTE, TICK};
use crate::drawing::marks::write;
use crate::drawing::palette::{HEAT, INK};

/// Space between maps, ticks included.
const BETWEEN: i32 = 44;
/// Space left of the first map.
const LEFT: i32 = 34;
const ABOVE: i32 = 30;
/// Space between a map and its scale.
const BELOW: i32 = 36;

/// One map.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HeatMap {
    pub(crate) title: String,
    /// Rows and columns.
    pub(crate) n: usize,
    /// `[n, n]`
    pub(crate) values: Vec<f64>,
}

/// Maps over one scale.
pub(crate) struct HeatMaps {
    pub(crate) maps: Vec<HeatMap>,
    /// What the first and the last shade stand for.
    pub(crate) range: [f64; 2],
    pub(crate) scale_name: String,
}

impl Drawing for HeatMaps {
    fn height(&self, wide: i32) -> u32 {
        (ABOVE + self.side(wide) + BELOW + bar_height(true)).cast_unsigned()
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        let wide = area.dim_in_pixel().0.cast_signed();
        let side = self.side(wide);
        for (at, map) in (0_i32..).zip(&self.maps) {
            let left = EDGE + LEFT + at * (side + BETWEEN);
            write(area, &map.title, (left, 14), NOTE, INK, HPos::Left, VPos::Center)?;
            squares(area, map, left, side, self.range)?;
            let corners = [(left, ABOVE), (left + side, ABOVE + side)];
            area.draw(&Rectangle::new(corners, INK.stroke_width(1)))?;
            for place in ticks(map.n) {
                let middle = edge(side, map.n, place - 1).midpoint(edge(side, map.n, place));
                let (text, end) = (place.to_string(), ABOVE + side);
                write(area, &text, (left - 6, ABOVE + middle), TICK, INK, HPos::Right, VPos::Center)?;
                write(area, &text, (left + middle, end + 6), TICK, INK, HPos::Center, VPos::Top)?;
            }
        }
        color_bar(area, [EDGE + LEFT, ABOVE + side + BELOW, wide - EDGE], self.range, &self.scale_name)
    }
}

impl HeatMaps {
    /// Units of a map, each way.
    fn side(&self, wide: i32) -> i32 {
        let n = i32::try_from(self.maps.len()).expect("a figure has a few maps");
        let free = wide - 2 * EDGE - LEFT - (n - 1) * BETWEEN;
        // A single map leaves room, so that the figure is not taller than wide.
        if n == 1 { free * 3 / 4 } else { free / n }
    }
}

/// Where the square of place `at`, from 0, begins on a map of `n` squares.
fn edge(side: i32, n: usize, at: usize) -> i32 {
    (f64::from(side) * at as f64 / n as f64).round() as i32
}

/// One rectangle for each run of one shade in a row.
fn squares<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    map: &HeatMap,
    left: i32,
    side: i32,
    range: [f64; 2],
) -> Drawn<DB> {
    for (row, values) in map.values.chunks_exact(map.n).enumerate() {
        let shades: Vec<usize> = values.iter().map(|value| shade(*value, range)).collect();
        let mut from = 0;
        for alike in shades.chunk_by(|a, b| a == b) {
            let to = from + alike.len();
            let upper_left = (left + edge(side, map.n, from), ABOVE + edge(side, map.n, row));
            let lower_right = (left + edge(side, map.n, to), ABOVE + edge(side, map.n, row + 1));
            area.draw(&Rectangle::new([upper_left, lower_right], HEAT[alike[0]].filled()))?;
            from = to;
        }
    }
    Ok(())
}

/// Places that are numbered, from 1: the ends and the middle.
fn ticks(n: usize) -> Vec<usize> {
    match n {
        0..=2 => (1..=n).collect(),
        _ => vec![1, n.div_ceil(2), n],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_tile_the_map_whatever_their_number() {
        for n in [1, 3, 16, 24, 48] {
            let edges: Vec<i32> = (0..=n).map(|at| edge(230, n, at)).collect();
            assert_eq!((edges[0], edges[n]), (0, 230));
            assert!(edges.is_sorted_by(|a, b| a < b), "{edges:?}");
        }
        assert_eq!([ticks(1), ticks(2), ticks(16)], [vec![1], vec![1, 2], vec![1, 8, 16]]);
    }
}
