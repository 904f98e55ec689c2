//! The scale of a map: its shades side by side, with the values at their ends and between.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::drawing::charts::axes::sparse;
use crate::drawing::figure::{Drawn, NOTE};
use crate::drawing::marks::{text_width, write};
use crate::drawing::palette::{HEAT, INK};

/// Height of the shades.
const HIGH: i32 = 14;

/// Units down that a bar takes with its values and, where it has one, its name.
pub(crate) const fn bar_height(is_named: bool) -> i32 {
    if is_named { HIGH + 44 } else { HIGH + 24 }
}

/// The shade of a value; what is outside the range has that of its end.
pub(crate) fn shade(value: f64, [low, high]: [f64; 2]) -> usize {
    let share = (value - low) / (high - low) * HEAT.len() as f64;
    (share.floor().max(0.0) as usize).min(HEAT.len() - 1)
}

/// Draws the bar from `left` to `right`, its values and its name below.
pub(crate) fn color_bar<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    [left, top, right]: [i32; 3],
    range: [f64; 2],
    name: &str,
) -> Drawn<DB> {
    let wide = f64::from(right - left);
    let n = HEAT.len();
    let edge = |place: usize| left + (wide * place as f64 / n as f64).round() as i32;
    for (place, color) in HEAT.iter().enumerate() {
        let corners = [(edge(place), top), (edge(place + 1), top + HIGH)];
        area.draw(&Rectangle::new(corners, color.filled()))?;
    }
    area.draw(&Rectangle::new([(left, top), (right, top + HIGH)], INK.stroke_width(1)))?;
    let below = top + HIGH;
    let width = area.dim_in_pixel().0.cast_signed();
    for (value, text) in sparse(range, right - left) {
        let x = left + ((value - range[0]) / (range[1] - range[0]) * wide).round() as i32;
        area.draw(&PathElement::new(vec![(x, below), (x, below + 4)], INK.stroke_width(1)))?;
        let middle = x.min(width - 1 - (text_width(&text, NOTE) / 2.0).ceil() as i32);
        write(area, &text, (middle, below + 6), NOTE, INK, HPos::Center, VPos::Top)?;
    }
    if name.is_empty() {
        return Ok(());
    }
    write(area, name, (left.midpoint(right), below + 26), NOTE, INK, HPos::Center, VPos::Top)
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
}
