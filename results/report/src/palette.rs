//! The colours of a figure that belong to no method, each with what stands for it on a dark page.

use plotters::style::RGBColor;

use crate::families::Family;

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
pub(crate) const PHASES: [RGBColor; 5] = [
    RGBColor(38, 70, 110),
    RGBColor(222, 128, 60),
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

const PHASES_ON_DARK: [RGBColor; 5] = [
    RGBColor(84, 130, 190),
    RGBColor(232, 146, 84),
    RGBColor(130, 196, 184),
    RGBColor(150, 162, 174),
    RGBColor(112, 104, 84),
];

/// Every colour of a figure and its twin on a dark page, as `#RRGGBB`.
pub(crate) fn twins() -> Vec<(String, String)> {
    let plain = [
        (INK, RGBColor(232, 230, 227)),
        (GREY, RGBColor(168, 168, 168)),
        (FRONTIER, RGBColor(112, 112, 112)),
        (PALE, RGBColor(58, 61, 66)),
        (PAPER, RGBColor(28, 30, 34)),
    ];
    let families =
        Family::ALL.iter().filter(|f| **f != Family::Plain).map(|f| (f.color(), f.color_on_dark()));
    let phases = PHASES.into_iter().zip(PHASES_ON_DARK);
    plain.into_iter().chain(families).chain(phases).map(|(light, dark)| (hex(light), hex(dark))).collect()
}

/// `#RRGGBB`, as SVG figures spell it.
pub(crate) fn hex(RGBColor(r, g, b): RGBColor) -> String {
    format!("#{r:02X}{g:02X}{b:02X}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_has_one_twin() {
        let twins = twins();
        let mut lights: Vec<&String> = twins.iter().map(|(light, _)| light).collect();
        lights.sort();
        lights.dedup();
        assert_eq!(lights.len(), twins.len());
        assert_eq!(twins[0], ("#1E1E1E".to_owned(), "#E8E6E3".to_owned()));
    }

    #[test]
    fn shades_of_a_map_grow_darker() {
        let grey = |RGBColor(r, g, b): RGBColor| 2 * u32::from(r) + 7 * u32::from(g) + u32::from(b);
        assert!(HEAT.windows(2).all(|pair| grey(pair[0]) > grey(pair[1]) + 150), "{HEAT:?}");
    }

    #[test]
    fn phases_grow_lighter_from_first_to_last() {
        let grey = |RGBColor(r, g, b): RGBColor| 2 * u32::from(r) + 7 * u32::from(g) + u32::from(b);
        assert!(PHASES.windows(2).all(|pair| grey(pair[0]) + 150 < grey(pair[1])), "{PHASES:?}");
    }
}
