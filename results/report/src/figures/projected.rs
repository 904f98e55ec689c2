//! Measured and projected speedups in one figure: a bar is as long as the measured one, a tick is at the one that the
//! counts give under a cost table.

use specimen_record::Summary;

use crate::ReportError;
use crate::drawing::charts::stacked_bars::{StackedBar, StackedBars};
use crate::drawing::figure::{Figure, Style, Words};
use crate::figures::by_reason;
use crate::table::CsvText;
use crate::tables::conditions::conditions;

/// The speedups of every cell that has a projection.
pub(crate) struct Projected {
    costs: String,
    rows: Vec<Row>,
    left_out: Vec<(String, String)>,
}

struct Row {
    cell: String,
    measured: Option<f64>,
    projected: f64,
}

impl Projected {
    /// The speedups of a summary, or the reason why there are none.
    pub(crate) fn of(summary: &Summary) -> Result<Projected, String> {
        let costs = summary.costs.clone().ok_or("no cost table was named (`report --costs FILE`)")?;
        let mut found = Projected { costs, rows: Vec::new(), left_out: Vec::new() };
        for cell in summary.cells.iter().filter(|cell| !cell.is_baseline()) {
            let measured = cell.value("speedup");
            match cell.value("projected_speedup") {
                Some(projected) => found.rows.push(Row { cell: cell.id.clone(), measured, projected }),
                None => found.left_out.push((cell.id.clone(), cell.why_not("projected_speedup"))),
            }
        }
        match found.rows.is_empty() {
            true => Err(format!("no cell has a projected speedup ({})", by_reason(&found.left_out))),
            false => Ok(found),
        }
    }

    /// The figure.
    pub(crate) fn figure(&self, summary: &Summary, style: &Style) -> Result<Figure, ReportError> {
        let mut caption = format!(
            "Bar: speedup measured on {}. Upright tick: speedup projected, not measured, from the same counts and the costs \
             of {}. At the right: measured, projected.",
            summary.machine(),
            self.costs
        );
        if !self.left_out.is_empty() {
            caption += &format!(" Left out: {}.", by_reason(&self.left_out));
        }
        let words = Words {
            name: "projected".to_owned(),
            title: format!("{}: measured and projected speedup", summary.name),
            conditions: conditions(summary),
            caption,
        };
        let bars = self.rows.iter().map(|row| StackedBar {
            name: row.cell.clone(),
            parts: vec![row.measured.unwrap_or(0.0)],
            tick: Some(row.projected),
            words: match row.measured {
                Some(measured) => format!("{measured:.2}, {:.2}", row.projected),
                None => format!("—, {:.2}", row.projected),
            },
        });
        let drawing = StackedBars {
            bars: bars.collect(),
            parts: vec!["measured".to_owned()],
            x_name: format!("Speedup over {}, ×", summary.baseline),
            tick_name: "projected".to_owned(),
            words_name: "measured, projected".to_owned(),
        };
        Figure::of(words, &drawing, self.csv()?, style)
    }

    fn csv(&self) -> Result<String, ReportError> {
        let mut out = CsvText::new();
        out.write_record(["cell", "measured_speedup", "projected_speedup", "why"])?;
        for row in &self.rows {
            let measured = row.measured.map(|measured| measured.to_string()).unwrap_or_default();
            out.write_record([row.cell.as_str(), &measured, &row.projected.to_string(), ""])?;
        }
        for (cell, why) in &self.left_out {
            out.write_record([cell, "", "", why.as_str()])?;
        }
        Ok(out.into_text())
    }
}
