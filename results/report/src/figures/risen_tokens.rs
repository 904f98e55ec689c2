//! Guesses of Jacobi windows by the change of their probability, and how many of them are accepted or correct: SJD-VP's
//! Figures 2 and 3.

use specimen_record::{DiagnosticFile, GuessTally, RisenTokens, Summary};

use crate::ReportError;
use crate::drawing::charts::curves::{CurvePanel, Curves};
use crate::drawing::figure::{Figure, Style, Words};
use crate::figures::diagnostics::ByCell;
use crate::figures::setting_lines::curve;
use crate::table::CsvText;
use crate::tables::conditions::conditions_of;

/// Bins with fewer guesses have no mark: their share says little.
const LEAST: u64 = 20;

/// Guesses of each cell.
pub(crate) struct WindowGuesses<'d> {
    found: ByCell<'d, &'d RisenTokens>,
}

impl<'d> WindowGuesses<'d> {
    /// Those among `files`, or the reason why there are none.
    pub(crate) fn of(files: &'d [DiagnosticFile]) -> Result<WindowGuesses<'d>, String> {
        let is_enough = |found: &&RisenTokens| found.correct.guesses.iter().any(|n| *n >= LEAST);
        let read = |file: &'d DiagnosticFile| file.risen_tokens.as_ref().filter(is_enough);
        let missing = "too few guesses were scored in two iterations; the diagnostic needs more `images`";
        Ok(WindowGuesses { found: ByCell::of(files, "risen-tokens", read, missing)? })
    }

    /// The figure.
    pub(crate) fn figure(&self, summary: &Summary, style: &Style) -> Result<Figure, ReportError> {
        let mut caption = format!(
            "Guesses of Jacobi windows by the change of the target's probability of them between two iterations. Above: \
             guesses behind the first rejection, and the share that is the image's token at its position in the end; \
             they are drawn anew before they are tested. Below: tested guesses, by the change between the two iterations \
             before the test, and the share that was accepted. The outer marks hold all beyond them; marks of fewer than \
             {LEAST} guesses are left out."
        );
        for (cell, found) in &self.found.cells {
            let share = |[n, hits]: [u64; 2]| match n {
                0 => "none".to_owned(),
                n => format!("{:.3} of {n}", hits as f64 / n as f64),
            };
            let shares =
                |tally: &GuessTally| format!("{} against {}", share(tally.risen), share(tally.not_risen));
            caption += &format!(
                " {cell}, risen against not risen: {} correct, {} accepted.",
                shares(&found.correct),
                shares(&found.accepted)
            );
        }
        caption += &self.found.caption_end(|found| [found.n_repeated, found.n_images]);
        let words = Words {
            name: "risen-tokens".to_owned(),
            title: format!("{}: guesses whose probability rose", summary.name),
            conditions: conditions_of(summary, &self.found.n_images(|found| found.n_images)),
            caption,
        };
        let panel = |y_name: &str, part: &dyn Fn(&RisenTokens) -> &GuessTally| {
            let curves = self.found.cells.iter().filter_map(|(cell, found)| {
                let tally = part(found);
                let counts = tally.guesses.iter().zip(&tally.hits).zip(&found.log2_ratio);
                let enough = counts.filter(|((n, _), _)| **n >= LEAST);
                let points = enough.map(|((n, hits), place)| (*place, *hits as f64 / *n as f64, None));
                curve(summary, cell, points.collect())
            });
            CurvePanel {
                curves: curves.collect(),
                y_name: y_name.to_owned(),
                level: None,
                y: Some([0.0, 1.0]),
            }
        };
        let panels = vec![
            panel("Correct of untested", &|found| &found.correct),
            panel("Accepted of tested", &|found| &found.accepted),
        ];
        let drawing = Curves {
            panels,
            x_name: "log₂(probability now / before)".to_owned(),
            tall: 260,
            ticks_at_places: true,
            is_log: false,
        };
        Figure::of(words, &drawing, self.csv()?, style)
    }

    fn csv(&self) -> Result<String, ReportError> {
        let mut out = CsvText::new();
        let head = ["cell", "of", "log2_ratio", "guesses", "hits", "images", "repeated", "why"];
        out.write_record(head)?;
        for (cell, found) in &self.found.cells {
            for (of, tally) in [("correct", &found.correct), ("accepted", &found.accepted)] {
                let bins = found.log2_ratio.iter().map(f64::to_string);
                let bins = bins.zip(tally.guesses.iter().zip(&tally.hits).map(|(n, hits)| [*n, *hits]));
                let totals = [("risen", tally.risen), ("not risen", tally.not_risen)];
                let totals = totals.map(|(change, counts)| (change.to_owned(), counts));
                for (change, counts) in bins.chain(totals) {
                    let numbers = counts.into_iter().chain([found.n_images, found.n_repeated]);
                    let line = [(*cell).to_owned(), of.to_owned(), change].into_iter();
                    out.write_record(line.chain(numbers.map(|n| n.to_string())).chain([String::new()]))?;
                }
            }
        }
        for (cell, why) in &self.found.left_out {
            out.write_record([*cell, "", "", "", "", "", "", *why])?;
        }
        Ok(out.into_text())
    }
}
