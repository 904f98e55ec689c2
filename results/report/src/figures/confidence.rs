//! How sure the target is of its tokens, and how often it accepts what the drafter is so sure of: CASCADE's Figure 8,
//! with the acceptance that follows from it.

use specimen_record::{Confidence, DiagnosticFile, Summary};

use crate::ReportError;
use crate::drawing::charts::curves::{CurvePanel, CurvePoint, Curves};
use crate::drawing::figure::{Figure, Style, Words};
use crate::figures::diagnostics::ByCell;
use crate::figures::setting_lines::curve;
use crate::table::CsvText;
use crate::tables::conditions::conditions_of;

/// Bins with fewer candidates have no mark: their share says little.
const LEAST: u64 = 20;

/// Probabilities of each cell.
pub(crate) struct Confidences<'d> {
    found: ByCell<'d, &'d Confidence>,
}

impl<'d> Confidences<'d> {
    /// Those among `files`, or the reason why there are none.
    pub(crate) fn of(files: &'d [DiagnosticFile]) -> Result<Confidences<'d>, String> {
        let read = |file: &'d DiagnosticFile| file.confidence.as_ref();
        Ok(Confidences { found: ByCell::of(files, "confidence", read, "nothing was sampled")? })
    }

    /// The figure.
    pub(crate) fn figure(&self, summary: &Summary, style: &Style) -> Result<Figure, ReportError> {
        let mut caption = format!(
            "Above: free tokens after the first by the largest probability of the target's distribution that they were \
             sampled from or tested against. Below: draft tokens that were tested first among their siblings, by the \
             drafter's probability of them, and the share that was accepted; bins of fewer than {LEAST} have no mark."
        );
        let chosen: Vec<&str> = self
            .found
            .cells
            .iter()
            .filter(|(_, found)| found.tested.is_empty())
            .map(|(cell, _)| *cell)
            .collect();
        if !chosen.is_empty() {
            caption += &format!(
                " Without a line below, because nothing is drafted or candidates are the drafter's most probable ones: {}.",
                chosen.join(", ")
            );
        }
        caption += &self.found.caption_end(|found| [found.n_repeated, found.n_images]);
        let words = Words {
            name: "confidence".to_owned(),
            title: format!("{}: confidence and acceptance", summary.name),
            conditions: conditions_of(summary, &self.found.n_images(|found| found.n_images)),
            caption,
        };
        let share = |counts: &[u64], of: &dyn Fn(usize) -> u64, least: u64| {
            let shares = middles(counts).enumerate().filter(|(bin, _)| of(*bin) >= least);
            shares.map(|(bin, (middle, n))| (middle, n as f64 / of(bin) as f64, None)).collect::<Vec<_>>()
        };
        let panel = |y_name: &str, y, points: &dyn Fn(&Confidence) -> Vec<CurvePoint>| {
            let curves = self.found.cells.iter().filter_map(|(cell, found)| {
                let points = points(found);
                curve(summary, cell, points)
            });
            CurvePanel { curves: curves.collect(), y_name: y_name.to_owned(), level: None, y }
        };
        let panels = vec![
            panel("Share of tokens", None, &|found| {
                let n: u64 = found.target.iter().sum();
                share(&found.target, &|_| n, 1)
            }),
            panel("Accepted of tested", Some([0.0, 1.0]), &|found| {
                share(&found.accepted, &|bin| found.tested[bin], LEAST)
            }),
        ];
        let drawing = Curves {
            panels: panels.into_iter().filter(|panel| !panel.curves.is_empty()).collect(),
            x_name: "Probability".to_owned(),
            tall: 260.max(20 * i32::try_from(self.found.cells.len()).unwrap_or(i32::MAX / 20)),
            ticks_at_places: false,
            is_log: false,
        };
        Figure::of(words, &drawing, self.csv()?, style)
    }

    fn csv(&self) -> Result<String, ReportError> {
        let mut out = CsvText::new();
        let head = ["cell", "from", "to", "target_tokens", "tested", "accepted", "target_mean"];
        out.write_record(head.into_iter().chain(["images", "repeated", "why"]))?;
        for (cell, found) in &self.found.cells {
            let width = 1.0 / found.target.len() as f64;
            for (bin, n) in found.target.iter().enumerate() {
                let of = |counts: &[u64]| counts.get(bin).map_or(String::new(), u64::to_string);
                let ends = [bin, bin + 1].map(|end| format!("{:.2}", end as f64 * width));
                let counts = [n.to_string(), of(&found.tested), of(&found.accepted)];
                let rest =
                    [found.target_mean.to_string(), found.n_images.to_string(), found.n_repeated.to_string()];
                let line = std::iter::once((*cell).to_owned()).chain(ends).chain(counts).chain(rest);
                out.write_record(line.chain([String::new()]))?;
            }
        }
        for (cell, why) in &self.found.left_out {
            out.write_record([*cell, "", "", "", "", "", "", "", "", *why])?;
        }
        Ok(out.into_text())
    }
}

/// The middle and the count of each bin from 0 to 1.
fn middles(counts: &[u64]) -> impl Iterator<Item = (f64, u64)> {
    let width = 1.0 / counts.len() as f64;
    counts.iter().enumerate().map(move |(bin, n)| ((bin as f64 + 0.5) * width, *n))
}
