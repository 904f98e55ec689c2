//! Acceptance by depth: of the draft tokens that were tested at each depth of the tree, the share that was
//! accepted.

use specimen_record::{CellSummary, Guarantee, Summary};

use crate::ReportError;
use crate::drawing::charts::curves::{Curve, CurvePanel, Curves};
use crate::drawing::families::{FAMILIES, style, words};
use crate::drawing::figure::{Figure, Style, Words};
use crate::drawing::palette::series_color;
use crate::figures::setting_lines::curve;
use crate::table::CsvText;
use crate::tables::conditions::conditions;

/// Most lines of one panel; with more, each family has a panel of its own.
const MOST_TOGETHER: usize = 8;

/// One line a cell; the depth counts from 1.
pub(crate) struct Depths {
    curves: Vec<Curve>,
}

impl Depths {
    /// The lines of a summary, or the reason why there are none.
    pub(crate) fn of(summary: &Summary) -> Result<Depths, String> {
        let of_cell = |cell: &CellSummary| {
            let rates = (1_u32..).zip(&cell.acceptance_by_depth);
            let points = rates.filter_map(|(depth, rate)| rate.map(|rate| (f64::from(depth), rate, None)));
            curve(summary, &cell.id, points.collect())
        };
        let curves: Vec<Curve> = summary.cells.iter().filter_map(of_cell).collect();
        if curves.is_empty() { Err("no cell tested a draft token".to_owned()) } else { Ok(Depths { curves }) }
    }

    /// The figure.
    pub(crate) fn figure(&self, summary: &Summary, style: &Style) -> Result<Figure, ReportError> {
        let words = Words {
            name: "acceptance".to_owned(),
            title: format!("{}: acceptance by depth", summary.name),
            conditions: conditions(summary),
            caption: "Of the verified steps that reached a depth of the draft and found candidates there, the share \
                      that accepted one; pooled over all images, tokens that the format forces left out. A depth \
                      that few steps reach is known less well than the first: the counts are in the records."
                .to_owned(),
        };
        let panels = self.panels();
        let most = panels.iter().map(|panel| panel.curves.len()).max().unwrap_or(0);
        let least = if panels.len() > 1 { 120 } else { 300 };
        let drawing = Curves {
            panels,
            x_name: "Depth of the draft token".to_owned(),
            // Room for as many names beside the ends of the lines.
            tall: least.max(20 * i32::try_from(most).unwrap_or(i32::MAX / 20)),
            ticks_at_places: true,
            is_log: false,
        };
        Figure::of(words, &drawing, self.csv()?, style)
    }

    /// All lines in one panel, or a panel for each family with a colour for each of its lines.
    fn panels(&self) -> Vec<CurvePanel> {
        let panel = |curves: Vec<Curve>, what: &str| CurvePanel {
            curves,
            y_name: format!("{what} (↑ higher is better)"),
            level: None,
            y: Some([0.0, 1.0]),
        };
        if self.curves.len() <= MOST_TOGETHER {
            return vec![panel(self.curves.clone(), "Accepted of tested")];
        }
        let of_family = |family| {
            let is_of_it = |curve: &&Curve| curve.family == style(family);
            let mut curves: Vec<Curve> = self.curves.iter().filter(is_of_it).cloned().collect();
            let n = curves.len();
            // The first keeps the colour that its family has in every figure.
            for (nth, curve) in curves.iter_mut().skip(1).enumerate() {
                curve.color = series_color(nth, n - 1);
            }
            (n > 0).then(|| panel(curves, &format!("{}: accepted of tested", words(family))))
        };
        FAMILIES.into_iter().filter_map(of_family).collect()
    }

    fn csv(&self) -> Result<String, ReportError> {
        let mut out = CsvText::new();
        out.write_record(["cell", "guarantee", "depth", "accepted_of_tested"])?;
        for curve in &self.curves {
            let guarantee = if curve.guarantee == Guarantee::Exact { "exact" } else { "relaxed" };
            for (depth, rate, _) in &curve.points {
                out.write_record([&curve.name, guarantee, &depth.to_string(), &rate.to_string()])?;
            }
        }
        Ok(out.into_text())
    }
}

#[cfg(test)]
mod tests {
    use specimen_record::Family;

    use super::*;

    fn curve(name: &str, family: Family) -> Curve {
        let (name, family) = (name.to_owned(), style(Some(family)));
        Curve {
            name,
            family,
            guarantee: Guarantee::Exact,
            color: family.color,
            points: vec![(1.0, 0.5, None)],
        }
    }

    #[test]
    fn many_lines_have_a_panel_a_family_and_a_colour_each() {
        let jacobi = ["a", "b", "c", "d", "e"].map(|name| curve(name, Family::Jacobi)).to_vec();
        let chains = ["f", "g", "h"].map(|name| curve(name, Family::Chain)).to_vec();
        let few = Depths { curves: [jacobi.clone(), chains.clone()].concat() }.panels();
        assert_eq!((few.len(), few[0].curves.len()), (1, 8));
        let many = Depths { curves: [jacobi, vec![curve("i", Family::Cascade)], chains].concat() }.panels();
        let names: Vec<Vec<&str>> =
            many.iter().map(|panel| panel.curves.iter().map(|curve| curve.name.as_str()).collect()).collect();
        assert_eq!(names, [vec!["f", "g", "h"], vec!["a", "b", "c", "d", "e"], vec!["i"]]);
        assert!(many[1].y_name.starts_with("Jacobi: accepted of tested"), "{}", many[1].y_name);
        for panel in &many {
            let mut colors: Vec<_> =
                panel.curves.iter().map(|curve| (curve.color.0, curve.color.1, curve.color.2)).collect();
            colors.sort_unstable();
            colors.dedup();
            assert_eq!(colors.len(), panel.curves.len());
        }
        assert_eq!(many[2].curves[0].color, style(Some(Family::Cascade)).color);
    }
}
