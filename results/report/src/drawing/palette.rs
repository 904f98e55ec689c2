//! The colours of a figure that belong to no method, each with its counterpart on a dark page.

use plotters::style::RGBColor;

use crate::drawing::families::{FAMILIES, style};

/// Words, axes, baselines.
pub(crate) const INK: RGBColor = RGBColor(30, 30, 30);
/// Small print, reference lines.
pub(crate) const GREY: RGBColor = RGBColor(105, 105, 105);
/// What connects undominated points.
pub(crate) const FRONTIER: RGBColor = RGBColor(165, 165, 165);
/// Lines of a grid.
pub(crate) const PALE: RGBColor = RGBColor(226, 226, 226);
/// The paper.
pub(crate) const PAPER: RGBColor = RGBColor(255, 255, 255);

/// Phases of a step from dark to light, so that their order shows without colour.
pub(crate) const PHASES: [RGBColor; 6] = [
    RGBColor(38, 70, 110),
    RGBColor(200, 112, 52),
    RGBColor(212, 140, 80),
    RGBColor(120, 180, 170),
    RGBColor(196, 206, 214),
    RGBColor(232, 221, 196),
];

/// Shades of a map from low to high, each darker than the one before in grey too; the same on a dark page.
pub(crate) const HEAT: [RGBColor; 9] = [
    RGBColor(250, 250, 245),
    RGBColor(224, 234, 238),
    RGBColor(196, 217, 226),
    RGBColor(162, 196, 213),
    RGBColor(122, 171, 198),
    RGBColor(82, 141, 178),
    RGBColor(48, 108, 152),
    RGBColor(24, 74, 119),
    RGBColor(8, 40, 80),
];

/// Lines of one family that differ in a number, from the first to the last: each lighter than the one before, so that
/// their order shows without colour.
const SERIES: [RGBColor; 9] = [
    RGBColor(13, 8, 90),
    RGBColor(65, 4, 140),
    RGBColor(110, 10, 150),
    RGBColor(150, 30, 135),
    RGBColor(185, 55, 110),
    RGBColor(210, 85, 80),
    RGBColor(228, 118, 50),
    RGBColor(234, 140, 30),
    RGBColor(226, 166, 0),
];

const SERIES_ON_DARK: [RGBColor; 9] = [
    RGBColor(140, 130, 235),
    RGBColor(165, 125, 240),
    RGBColor(195, 120, 235),
    RGBColor(220, 115, 200),
    RGBColor(240, 120, 165),
    RGBColor(250, 140, 130),
    RGBColor(252, 165, 105),
    RGBColor(254, 190, 90),
    RGBColor(255, 220, 110),
];

/// The colour of one of `n` lines of a family; spread over the whole scale.
pub(crate) fn series_color(nth: usize, n: usize) -> RGBColor {
    let last = SERIES.len() - 1;
    match n {
        0 | 1 => SERIES[1],
        2 => SERIES[[1, 6][nth.min(1)]],
        _ => SERIES[(nth.min(n - 1) * last + (n - 1) / 2) / (n - 1)],
    }
}

const PHASES_ON_DARK: [RGBColor; 6] = [
    RGBColor(84, 130, 190),
    RGBColor(214, 112, 60),
    RGBColor(236, 164, 108),
    RGBColor(130, 196, 184),
    RGBColor(150, 162, 174),
    RGBColor(112, 104, 84),
];

/// Every colour of a figure and the colour in its place on a dark page, as `#RRGGBB`.
pub(crate) fn colors_on_dark() -> Vec<(String, String)> {
    let plain = [
        (INK, RGBColor(232, 230, 227)),
        (GREY, RGBColor(168, 168, 168)),
        (FRONTIER, RGBColor(112, 112, 112)),
        (PALE, RGBColor(58, 61, 66)),
        (PAPER, RGBColor(28, 30, 34)),
    ];
    // The colour of plain decoding is that of words, which is above.
    let families = FAMILIES[1..].iter().map(|family| style(*family));
    let families = families.map(|style| (style.color, style.color_on_dark));
    let phases = PHASES.into_iter().zip(PHASES_ON_DARK);
    let series = SERIES.into_iter().zip(SERIES_ON_DARK);
    plain
        .into_iter()
        .chain(families)
        .chain(phases)
        .chain(series)
        .map(|(light, dark)| (hex(light), hex(dark)))
        .collect()
}

/// `#RRGGBB`, as SVG figures spell it.
pub(crate) fn hex(RGBColor(r, g, b): RGBColor) -> String {
    format!("#{r:02X}{g:02X}{b:02X}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_has_one_colour_on_a_dark_page() {
        let colors_on_dark = colors_on_dark();
        let mut lights: Vec<&String> = colors_on_dark.iter().map(|(light, _)| light).collect();
        lights.sort();
        lights.dedup();
        assert_eq!(lights.len(), colors_on_dark.len());
        assert_eq!(colors_on_dark[0], ("#1E1E1E".to_owned(), "#E8E6E3".to_owned()));
    }

    #[test]
    fn shades_of_a_map_grow_darker() {
        let grey = |RGBColor(r, g, b): RGBColor| 2 * u32::from(r) + 7 * u32::from(g) + u32::from(b);
        assert!(HEAT.windows(2).all(|pair| grey(pair[0]) > grey(pair[1]) + 150), "{HEAT:?}");
    }

    #[test]
    fn lines_of_a_family_grow_lighter_and_have_a_colour_each() {
        let grey = |RGBColor(r, g, b): RGBColor| 2 * u32::from(r) + 7 * u32::from(g) + u32::from(b);
        for n in 2..=9 {
            let colors: Vec<u32> = (0..n).map(|nth| grey(series_color(nth, n))).collect();
            assert!(colors.windows(2).all(|pair| pair[0] + 40 < pair[1]), "{n}: {colors:?}");
        }
        assert!(SERIES.iter().all(|color| grey(*color) < 1_700), "too pale for white paper");
    }

    #[test]
    fn phases_grow_lighter_from_first_to_last() {
        let grey = |RGBColor(r, g, b): RGBColor| 2 * u32::from(r) + 7 * u32::from(g) + u32::from(b);
        assert!(PHASES.windows(2).all(|pair| grey(pair[0]) + 150 < grey(pair[1])), "{PHASES:?}");
    }
}
