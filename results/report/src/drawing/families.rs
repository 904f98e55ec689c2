//! The colour and mark that a family of methods has in every figure. The colours stay apart for colour-blind readers
//! (after Okabe and Ito), the marks stay apart without any colour.

use plotters::style::RGBColor;
use specimen_record::{CellSummary, Family};

/// How the methods of a family are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FamilyStyle {
    /// On white.
    pub(crate) color: RGBColor,
    /// On a dark page.
    pub(crate) color_on_dark: RGBColor,
    pub(crate) mark: Mark,
}

/// The outline of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Square,
    Circle,
    Up,
    Down,
    Pentagon,
    Plus,
    Diamond,
    Star,
    Hourglass,
    Hexagon,
    Wide,
    Cross,
}

/// Every family that a cell may have, in reading order; the last is that of a summary that does not say.
pub(crate) const FAMILIES: [Option<Family>; 12] = [
    Some(Family::Plain),
    Some(Family::Chain),
    Some(Family::StaticTree),
    Some(Family::DynamicTree),
    Some(Family::Jacobi),
    Some(Family::Grouped),
    Some(Family::Lantern),
    Some(Family::Cascade),
    Some(Family::Skipping),
    Some(Family::Rows),
    Some(Family::External),
    None,
];

/// The style of a cell's family.
pub(crate) fn style_of(cell: &CellSummary) -> FamilyStyle {
    style(cell.family)
}

/// The style of a family.
pub(crate) const fn style(family: Option<Family>) -> FamilyStyle {
    let (light, dark, mark) = match family {
        Some(Family::Plain) => ((30, 30, 30), (232, 230, 227), Mark::Square),
        Some(Family::Chain) => ((0, 114, 178), (74, 168, 226), Mark::Circle),
        Some(Family::StaticTree) => ((0, 148, 108), (52, 199, 155), Mark::Up),
        Some(Family::DynamicTree) => ((46, 155, 219), (132, 203, 250), Mark::Down),
        Some(Family::Jacobi) => ((140, 109, 31), (200, 170, 90), Mark::Pentagon),
        Some(Family::Grouped) => ((196, 106, 154), (228, 150, 192), Mark::Plus),
        Some(Family::Lantern) => ((212, 142, 0), (243, 180, 60), Mark::Diamond),
        Some(Family::Cascade) => ((213, 94, 0), (255, 139, 61), Mark::Star),
        Some(Family::Skipping) => ((123, 63, 160), (186, 140, 222), Mark::Hourglass),
        Some(Family::Rows) => ((120, 30, 30), (214, 110, 110), Mark::Wide),
        Some(Family::External) => ((104, 104, 104), (168, 168, 168), Mark::Hexagon),
        None => ((148, 148, 148), (126, 130, 136), Mark::Cross),
    };
    FamilyStyle { color: rgb(light), color_on_dark: rgb(dark), mark }
}

/// What the methods of a family are called above their panel.
pub(crate) fn words(family: Option<Family>) -> &'static str {
    match family {
        Some(Family::Plain) => "Plain decoding",
        Some(Family::Chain) => "Chains",
        Some(Family::StaticTree) => "Static trees",
        Some(Family::DynamicTree) => "Dynamic trees",
        Some(Family::Jacobi) => "Jacobi",
        Some(Family::Grouped) => "GSD",
        Some(Family::Lantern) => "LANTERN",
        Some(Family::Cascade) => "CASCADE",
        Some(Family::Skipping) => "Schedulers that skip",
        Some(Family::Rows) => "Rows at once",
        Some(Family::External) => "Other programs",
        None => "Others",
    }
}

const fn rgb((r, g, b): (u8, u8, u8)) -> RGBColor {
    RGBColor(r, g, b)
}

impl Mark {
    /// Corners about the origin for a mark as large as a circle of radius `r`; none for the circle itself.
    pub(crate) fn corners(self, r: f64) -> Vec<(f64, f64)> {
        let around = |n: usize, start: f64, radius: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
            let turn = |at: usize| start + std::f64::consts::TAU * at as f64 / n as f64;
            (0..n).map(|at| (radius(at) * turn(at).sin(), -radius(at) * turn(at).cos())).collect()
        };
        let half = std::f64::consts::PI;
        match self {
            Mark::Circle => Vec::new(),
            Mark::Square => vec![(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Mark::Wide => vec![(-1.3, -0.62), (1.3, -0.62), (1.3, 0.62), (-1.3, 0.62)],
            Mark::Up => around(3, 0.0, &|_| 1.3),
            Mark::Down => around(3, half, &|_| 1.3),
            Mark::Pentagon => around(5, 0.0, &|_| 1.12),
            Mark::Diamond => around(4, 0.0, &|_| 1.25),
            Mark::Star => around(10, 0.0, &|at| if at % 2 == 0 { 1.4 } else { 0.62 }),
            Mark::Hourglass => vec![(-1.0, -1.1), (1.0, -1.1), (-1.0, 1.1), (1.0, 1.1)],
            Mark::Hexagon => around(6, 0.0, &|_| 1.12),
            Mark::Plus | Mark::Cross => {
                let (far, near) = (1.2, 0.42);
                let quarter = [(-near, -far), (near, -far), (near, -near), (far, -near)];
                let turned = |n: i32| {
                    quarter.map(|(x, y)| match n {
                        0 => (x, y),
                        1 => (-y, x),
                        2 => (-x, -y),
                        _ => (y, -x),
                    })
                };
                let half = std::f64::consts::FRAC_1_SQRT_2;
                let lean = |(x, y): (f64, f64)| match self {
                    Mark::Cross => ((x - y) * half, (x + y) * half),
                    _ => (x, y),
                };
                (0..4).flat_map(turned).map(lean).collect::<Vec<_>>()
            }
        }
        .into_iter()
        .map(|(x, y)| (x * r, y * r))
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Luminance of a colour on paper, 0 to 255.
    fn luminance(RGBColor(r, g, b): RGBColor) -> f64 {
        0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b)
    }

    #[test]
    fn no_two_families_share_colour_or_mark() {
        let styles = FAMILIES.map(style);
        for (at, one) in styles.iter().enumerate() {
            for other in &styles[..at] {
                assert_ne!(one.mark, other.mark);
                let (RGBColor(r, g, b), RGBColor(x, y, z)) = (one.color, other.color);
                let apart = r.abs_diff(x).max(g.abs_diff(y)).max(b.abs_diff(z));
                assert!(apart > 40, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn every_colour_stands_out_from_its_ground() {
        for style in FAMILIES.map(style) {
            assert!(luminance(style.color) < 165.0, "{style:?} on white");
            assert!(luminance(style.color_on_dark) > 125.0, "{style:?} on dark");
        }
    }

    #[test]
    fn marks_are_about_as_large_as_one_another() {
        for style in FAMILIES.map(style) {
            let corners = style.mark.corners(10.0);
            let far = corners.iter().map(|(x, y)| x.hypot(*y)).fold(0.0, f64::max);
            assert!(corners.is_empty() || (11.0..16.0).contains(&far), "{style:?}: {far}");
        }
    }
}
