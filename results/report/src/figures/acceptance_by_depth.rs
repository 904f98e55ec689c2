//! Acceptance by depth: of the draft tokens that were tested at each depth of the tree, the share that was
//! accepted.

use specimen_record::{CellSummary, Guarantee, Summary};

use crate::ReportError;
use crate::drawing::charts::curves::{Curve, CurvePanel, Curves};
use crate::drawing::figure::{Figure, Style, Words};
use crate::figures::setting_lines::curve;
use crate::tables::conditions::conditions;
use specimen_table::CsvText;

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
        let panel = CurvePanel {
            curves: self.curves.clone(),
            y_name: "Accepted of tested (↑ higher is better)".to_owned(),
            level: None,
            y: Some([0.0, 1.0]),
        };
        let drawing = Curves {
            panels: vec![panel],
            x_name: "Depth of the draft token".to_owned(),
            // Room for as many names beside the ends of the lines.
            tall: 300.max(20 * i32::try_from(self.curves.len()).unwrap_or(i32::MAX / 20)),
            ticks_at_places: true,
            is_log: false,
        };
        Figure::of(words, &drawing, self.csv()?, style)
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
