//! Which family a method belongs to, and the colour and mark a family has in every figure. The colours stay
//! apart for colour-blind readers (after Okabe and Ito), the marks stay apart without any colour.

use plotters::style::RGBColor;
use specimen_record::{CellSummary, Guarantee, Summary};

/// Methods that are drawn alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Family {
    /// Plain decoding.
    Plain,
    /// A chain of draft tokens, by a head or by a small model.
    Chain,
    /// A static draft tree.
    StaticTree,
    /// A tree that grows with the drafter's confidence.
    DynamicTree,
    /// Jacobi iteration, no drafter.
    Jacobi,
    /// GSD.
    Grouped,
    /// LANTERN and LANTERN++.
    Lantern,
    /// CASCADE.
    Cascade,
    /// A scheduler that skips verifications, whatever it is over.
    Skipping,
    /// Another program, whatever it does.
    Elsewhere,
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
}

impl Family {
    /// Every family, in reading order.
    pub(crate) const ALL: [Family; 10] = [
        Family::Plain,
        Family::Chain,
        Family::StaticTree,
        Family::DynamicTree,
        Family::Jacobi,
        Family::Grouped,
        Family::Lantern,
        Family::Cascade,
        Family::Skipping,
        Family::Elsewhere,
    ];

    /// The family of a cell: by its scheduler, then by its outermost rule that relaxes, then by its drafter.
    pub(crate) fn of(summary: &Summary, cell: &CellSummary) -> Family {
        if skips(summary, cell) {
            return Family::Skipping;
        }
        let rule = |name: &str| cell.method.contains(name);
        match cell.drafter.as_str() {
            _ if cell.origin.is_some() => Family::Elsewhere,
            _ if rule("cascade") => Family::Cascade,
            _ if rule("lantern") => Family::Lantern,
            _ if rule("gsd") || rule("grouped") => Family::Grouped,
            "none" => Family::Plain,
            drafter if drafter.starts_with("jacobi") => Family::Jacobi,
            drafter if drafter.contains(" static ") => Family::StaticTree,
            drafter if drafter.contains(" dynamic ") => Family::DynamicTree,
            _ => Family::Chain,
        }
    }

    /// Its colour on white.
    pub(crate) const fn color(self) -> RGBColor {
        match self {
            Family::Plain => RGBColor(30, 30, 30),
            Family::Chain => RGBColor(0, 114, 178),
            Family::StaticTree => RGBColor(0, 148, 108),
            Family::DynamicTree => RGBColor(46, 155, 219),
            Family::Jacobi => RGBColor(140, 109, 31),
            Family::Grouped => RGBColor(196, 106, 154),
            Family::Lantern => RGBColor(212, 142, 0),
            Family::Cascade => RGBColor(213, 94, 0),
            Family::Skipping => RGBColor(123, 63, 160),
            Family::Elsewhere => RGBColor(104, 104, 104),
        }
    }

    /// Its colour on a dark page.
    pub(crate) const fn color_on_dark(self) -> RGBColor {
        match self {
            Family::Plain => RGBColor(232, 230, 227),
            Family::Chain => RGBColor(74, 168, 226),
            Family::StaticTree => RGBColor(52, 199, 155),
            Family::DynamicTree => RGBColor(132, 203, 250),
            Family::Jacobi => RGBColor(200, 170, 90),
            Family::Grouped => RGBColor(228, 150, 192),
            Family::Lantern => RGBColor(243, 180, 60),
            Family::Cascade => RGBColor(255, 139, 61),
            Family::Skipping => RGBColor(186, 140, 222),
            Family::Elsewhere => RGBColor(168, 168, 168),
        }
    }

    /// Its outline.
    pub(crate) const fn mark(self) -> Mark {
        match self {
            Family::Plain => Mark::Square,
            Family::Chain => Mark::Circle,
            Family::StaticTree => Mark::Up,
            Family::DynamicTree => Mark::Down,
            Family::Jacobi => Mark::Pentagon,
            Family::Grouped => Mark::Plus,
            Family::Lantern => Mark::Diamond,
            Family::Cascade => Mark::Star,
            Family::Skipping => Mark::Hourglass,
            Family::Elsewhere => Mark::Hexagon,
        }
    }
}

/// Whether a cell's scheduler leaves verifications out. The resolved spec says so; a summary without one is read
/// by its words.
pub(crate) fn skips(summary: &Summary, cell: &CellSummary) -> bool {
    let cells = summary.spec["cells"].as_array().map_or(&[][..], Vec::as_slice);
    match cells.iter().find(|spec| spec["name"].as_str() == Some(cell.id.as_str())) {
        Some(spec) => spec["method"]["schedule"]["kind"].as_str().is_some_and(|kind| kind != "always"),
        None => {
            cell.method.contains("vvs") || cell.method == "lossless" && cell.guarantee == Guarantee::Relaxed
        }
    }
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
            Mark::Up => around(3, 0.0, &|_| 1.3),
            Mark::Down => around(3, half, &|_| 1.3),
            Mark::Pentagon => around(5, 0.0, &|_| 1.12),
            Mark::Diamond => around(4, 0.0, &|_| 1.25),
            Mark::Star => around(10, 0.0, &|at| if at % 2 == 0 { 1.4 } else { 0.62 }),
            Mark::Hourglass => vec![(-1.0, -1.1), (1.0, -1.1), (-1.0, 1.1), (1.0, 1.1)],
            Mark::Hexagon => around(6, 0.0, &|_| 1.12),
            Mark::Plus => {
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
                (0..4).flat_map(turned).collect::<Vec<_>>()
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
        for (at, one) in Family::ALL.iter().enumerate() {
            for other in &Family::ALL[..at] {
                assert_ne!(one.mark(), other.mark());
                let (RGBColor(r, g, b), RGBColor(x, y, z)) = (one.color(), other.color());
                let apart = r.abs_diff(x).max(g.abs_diff(y)).max(b.abs_diff(z));
                assert!(apart > 40, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn every_colour_stands_out_from_its_ground() {
        for family in Family::ALL {
            assert!(luminance(family.color()) < 165.0, "{family:?} on white");
            assert!(luminance(family.color_on_dark()) > 125.0, "{family:?} on dark");
        }
    }

    #[test]
    fn marks_are_about_as_large_as_one_another() {
        for family in Family::ALL {
            let corners = family.mark().corners(10.0);
            let far = corners.iter().map(|(x, y)| x.hypot(*y)).fold(0.0, f64::max);
            assert!(corners.is_empty() || (11.0..16.0).contains(&far), "{family:?}: {far}");
        }
    }
}
