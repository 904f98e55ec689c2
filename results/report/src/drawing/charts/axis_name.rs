//! The names of axes: whole on any width, in several lines where one is too narrow.

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, DrawingBackend};
use plotters::style::text_anchor::{HPos, VPos};

use crate::drawing::figure::{AXIS, Drawn};
use crate::drawing::font::{SIZE_PER_EM, wrap};
use crate::drawing::marks::{text_width, write};
use crate::drawing::palette::INK;

/// Distance between lines of a name.
const LINE: i32 = 22;
/// Space left and right of a name, at least.
const BESIDE: f64 = 8.0;
/// Lines of a name, at most: the narrowest figure needs two or three.
const MOST: usize = 5;

/// Units down that the lines of a name after its first take in a drawing that is so wide.
pub(crate) fn further_lines(name: &str, wide: i32) -> i32 {
    LINE * (i32::try_from(lines(name, wide).len()).expect("a name has a few lines") - 1)
}

/// Writes the name of a level axis about `middle`, or as near to it as the area allows, its first line about height `y`.
pub(crate) fn write_below<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    name: &str,
    (middle, y): (i32, i32),
) -> Drawn<DB> {
    let wide = area.dim_in_pixel().0.cast_signed();
    for (nth, line) in (0_i32..).zip(lines(name, wide)) {
        let (centre, half) = (f64::from(wide) / 2.0, text_width(&line, AXIS) / 2.0 + BESIDE);
        let x = f64::from(middle).clamp(half.min(centre), (f64::from(wide) - half).max(centre));
        let at = (x.round() as i32, y + nth * LINE);
        write(area, &line, at, AXIS, INK, HPos::Center, VPos::Center)?;
    }
    Ok(())
}

/// Writes the name of an upright axis above it, at the left edge, its last line about height `y`.
pub(crate) fn write_above<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    name: &str,
    y: i32,
) -> Drawn<DB> {
    let wide = area.dim_in_pixel().0.cast_signed();
    let first = y - further_lines(name, wide);
    for (nth, line) in (0_i32..).zip(lines(name, wide)) {
        write(area, &line, (BESIDE as i32, first + nth * LINE), AXIS, INK, HPos::Left, VPos::Center)?;
    }
    Ok(())
}

fn lines(name: &str, wide: i32) -> Vec<String> {
    wrap(name, f64::from(wide) - 2.0 * BESIDE, MOST, AXIS / SIZE_PER_EM, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_whole_on_the_narrowest_figure() {
        let name = "|Δ target-nll| against ar[temperature=0.5], bits / token (nearer to 0 is better)";
        for wide in [395, 560, 1146] {
            let found = lines(name, wide);
            assert_eq!(found.join(" "), name, "{wide} units");
            assert!(
                found.iter().all(|line| text_width(line, AXIS) <= f64::from(wide)),
                "{wide} units: {found:?}"
            );
            assert_eq!(further_lines(name, wide), LINE * (found.len() as i32 - 1));
        }
        assert!(lines(name, 395).len() > 1 && lines(name, 1146).len() == 1);
    }
}
