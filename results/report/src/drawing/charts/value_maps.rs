//! Maps of values over two numbers: one square a cell with its value written in it, each map with a scale of its own.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::drawing::{
    charts::color_bar::{bar_height, color_bar, shade},
    figure::{Drawing, Drawn, EDGE, NOTE, TICK},
    font::{SIZE_PER_EM, wrap},
    marks::{text_width, write},
    palette::{GREY, HEAT, INK, PALE},
};

/// Words in a dark and in a light square; neither changes on a dark page, since the shades do not.
const ON_LIGHT: RGBColor = RGBColor(20, 22, 24);
const ON_DARK: RGBColor = RGBColor(252, 252, 250);
/// From this shade on words are light.
const DARK: usize = 5;

/// Space between two maps of a row.
const BETWEEN: i32 = 22;
const TITLE: i32 = 42;
/// Height of a row of squares, at least and at most.
const ROW: [i32; 2] = [30, 44];
/// Words of the level axis, its numbers included.
const AXIS_ROOM: i32 = 46;
const BELOW: i32 = 16;

/// Values over two numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValueMap {
    pub(crate) title: String,
    /// `[n_rows, n_columns]`, rows from bottom to top; `None` where no cell is there.
    pub(crate) values: Vec<Vec<Option<f64>>>,
    /// Decimals in the squares.
    pub(crate) decimals: usize,
}

/// Maps over the same two numbers.
pub(crate) struct ValueMaps {
    pub(crate) maps: Vec<ValueMap>,
    pub(crate) x_name: String,
    pub(crate) y_name: String,
    pub(crate) xs: Vec<String>,
    pub(crate) ys: Vec<String>,
}

impl Drawing for ValueMaps {
    fn height(&self, wide: i32) -> u32 {
        let rows = self.maps.len().div_ceil(self.n_beside(wide));
        (4 + i32::try_from(rows).expect("a figure has a few maps") * self.map_height()).cast_unsigned()
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        let wide = area.dim_in_pixel().0.cast_signed();
        let n_beside = self.n_beside(wide);
        for (at, map) in self.maps.iter().enumerate() {
            let (row, column) = (at / n_beside, at % n_beside);
            let place = |n: usize| i32::try_from(n).expect("a figure has a few maps");
            let left = EDGE + place(column) * (self.map_width(wide) + BETWEEN);
            let top = 4 + place(row) * self.map_height();
            self.draw_map(area, map, left, top, self.map_width(wide))?;
        }
        Ok(())
    }
}

impl ValueMaps {
    /// Two maps side by side as long as their titles, and the values in their squares, fit.
    fn n_beside(&self, wide: i32) -> usize {
        let half = (wide - 2 * EDGE - BETWEEN) / 2;
        let needed = self.widest_value() + 8;
        let title =
            self.maps.iter().map(|map| text_width(&map.title, NOTE)).fold(0.0, f64::max).ceil() as i32;
        if half >= title && half - self.y_room() >= needed * self.n_columns() { 2 } else { 1 }
    }

    fn map_width(&self, wide: i32) -> i32 {
        let n = i32::try_from(self.n_beside(wide)).expect("one or two");
        (wide - 2 * EDGE - (n - 1) * BETWEEN) / n
    }

    fn map_height(&self) -> i32 {
        TITLE + self.row_height() * self.n_rows() + AXIS_ROOM + bar_height(false) + BELOW
    }

    fn row_height(&self) -> i32 {
        (240 / self.n_rows().max(1)).clamp(ROW[0], ROW[1])
    }

    fn n_rows(&self) -> i32 {
        i32::try_from(self.ys.len()).expect("a sweep has a few values")
    }

    fn n_columns(&self) -> i32 {
        i32::try_from(self.xs.len()).expect("a sweep has a few values")
    }

    /// Space for the numbers of the upright axis.
    fn y_room(&self) -> i32 {
        self.ys.iter().map(|text| text_width(text, TICK)).fold(0.0, f64::max).ceil() as i32 + 10
    }

    fn widest_value(&self) -> i32 {
        let texts = self.maps.iter().flat_map(|map| {
            map.values.iter().flatten().flatten().map(|value| map.text(*value)).collect::<Vec<_>>()
        });
        texts.map(|text| text_width(&text, NOTE)).fold(0.0, f64::max).ceil() as i32
    }

    fn draw_map<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        map: &ValueMap,
        left: i32,
        top: i32,
        wide: i32,
    ) -> Drawn<DB> {
        let fitted =
            |text: &str, width: i32| wrap(text, f64::from(width), 1, NOTE / SIZE_PER_EM, false).concat();
        write(area, &fitted(&map.title, wide), (left, top + 12), NOTE, INK, HPos::Left, VPos::Center)?;
        // The name of the upright axis is above it, as in every figure.
        write(area, &fitted(&self.y_name, wide), (left, top + 31), NOTE, GREY, HPos::Left, VPos::Center)?;
        let (inner, right, upper) = (left + self.y_room(), left + wide, top + TITLE);
        let lower = upper + self.row_height() * self.n_rows();
        let x = |at: i32| inner + ((right - inner) * at) / self.n_columns().max(1);
        let range = map.range();
        let is_written = x(1) - inner >= self.widest_value() + 4;
        for (row, values) in (0_i32..).zip(&map.values) {
            let bottom = lower - row * self.row_height();
            for (column, value) in (0_i32..).zip(values) {
                let corners = [(x(column), bottom - self.row_height()), (x(column + 1), bottom)];
                let middle = (corners[0].0.midpoint(corners[1].0), corners[0].1.midpoint(corners[1].1));
                let Some(value) = value else {
                    area.draw(&Rectangle::new(corners, PALE.stroke_width(1)))?;
                    write(area, "–", middle, NOTE, GREY, HPos::Center, VPos::Center)?;
                    continue;
                };
                let shade = shade(map.shown(*value), range);
                area.draw(&Rectangle::new(corners, HEAT[shade].filled()))?;
                if is_written {
                    let color = if shade >= DARK { ON_DARK } else { ON_LIGHT };
                    write(area, &map.text(*value), middle, NOTE, color, HPos::Center, VPos::Center)?;
                }
            }
        }
        area.draw(&Rectangle::new([(inner, upper), (right, lower)], INK.stroke_width(1)))?;
        for (row, text) in (0_i32..).zip(&self.ys) {
            let y = lower - row * self.row_height() - self.row_height() / 2;
            write(area, text, (inner - 6, y), TICK, INK, HPos::Right, VPos::Center)?;
        }
        // Numbers that would touch are thinned out.
        let widest = self.xs.iter().map(|text| text_width(text, TICK)).fold(0.0, f64::max).ceil() as i32 + 8;
        let step = (widest / (x(1) - inner).max(1)).max(0) + 1;
        for (column, text) in (0_i32..).zip(&self.xs).filter(|(column, _)| column % step == 0) {
            let middle = x(column).midpoint(x(column + 1));
            write(area, text, (middle, lower + 5), TICK, INK, HPos::Center, VPos::Top)?;
        }
        let name_at = (inner.midpoint(right), lower + 34);
        write(area, &fitted(&self.x_name, wide), name_at, NOTE, GREY, HPos::Center, VPos::Center)?;
        color_bar(area, [inner, lower + AXIS_ROOM, right], range, "")
    }
}

impl ValueMap {
    fn text(&self, value: f64) -> String {
        crate::table::fixed(value, self.decimals)
    }

    /// The value as it is written: squares with one text have one shade.
    fn shown(&self, value: f64) -> f64 {
        self.text(value).parse().unwrap_or(value)
    }

    /// From the lowest to the highest value that is written; a little about one where all are alike.
    fn range(&self) -> [f64; 2] {
        let known = self.values.iter().flatten().flatten().map(|value| self.shown(*value));
        let [low, high] =
            known.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| [low.min(v), high.max(v)]);
        match low.is_finite() {
            true if high > low => [low, high],
            true => [low - 0.5 * low.abs().max(1e-6), low + 0.5 * low.abs().max(1e-6)],
            false => [0.0, 1.0],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maps(n: usize, decimals: usize) -> ValueMaps {
        let values = (0..n).map(|row| (0..n).map(|column| Some((row * n + column) as f64)).collect());
        let map = ValueMap { title: "a".into(), values: values.collect(), decimals };
        let numbers = |n: usize| (0..n).map(|at| format!("0.{at}")).collect::<Vec<_>>();
        ValueMaps {
            maps: vec![map; 4],
            x_name: "x".into(),
            y_name: "y".into(),
            xs: numbers(n),
            ys: numbers(n),
        }
    }

    #[test]
    fn maps_stand_side_by_side_as_long_as_their_values_fit() {
        assert_eq!((maps(4, 2).n_beside(560), maps(4, 6).n_beside(560), maps(9, 2).n_beside(560)), (2, 1, 1));
        assert!(maps(9, 2).height(560) > 3 * maps(4, 2).height(560) / 2);
    }

    #[test]
    fn a_map_of_one_value_has_a_range_about_it() {
        let map =
            |values: Vec<Option<f64>>| ValueMap { title: String::new(), values: vec![values], decimals: 0 };
        assert_eq!(map(vec![Some(2.0), None]).range(), [1.0, 3.0]);
        assert_eq!(map(vec![Some(2.0), Some(-1.0)]).range(), [-1.0, 2.0]);
        assert_eq!(map(vec![None]).range(), [0.0, 1.0]);
    }

    #[test]
    fn squares_in_which_one_number_is_written_have_one_shade() {
        let (low, high) = (0.595_1, 0.604_9);
        let values = vec![vec![Some(0.52), Some(low), Some(high), Some(0.7)]];
        let map = ValueMap { title: String::new(), values, decimals: 2 };
        let shade_of = |value: f64| shade(map.shown(value), map.range());
        assert_ne!(shade(low, [0.52, 0.7]), shade(high, [0.52, 0.7]), "they have two shades unrounded");
        assert_eq!((map.text(low), map.text(high)), ("0.60".to_owned(), "0.60".to_owned()));
        assert_eq!(shade_of(low), shade_of(high));
    }

    #[test]
    fn maps_stand_below_one_another_where_a_title_would_be_cut() {
        let mut few = maps(2, 2);
        assert_eq!(few.n_beside(395), 2);
        few.maps[0].title = "Draft tokens accepted per step (↑)".into();
        assert_eq!((few.n_beside(395), few.n_beside(1146)), (1, 2));
    }
}
