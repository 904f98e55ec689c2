//! Guesses of Jacobi windows by the change of their probability, and how many of them are accepted or correct: SJD-VP's
//! Figures 2 and 3.

use specimen_record::{DiagnosticFile, RisenTokens, Summary};

use crate::ReportError;
use crate::csv_text::CsvText;
use crate::drawing::charts::curves::{CurvePanel, Curves};
use crate::drawing::figure::{Figure, Style, Words};
use crate::figures::diagnostics::ByCell;
use crate::figures::setting_lines::curve;
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
        let is_enough = |found: &&RisenTokens| found.guesses.iter().any(|n| *n >= LEAST);
        let read = |file: &'d DiagnosticFile| file.risen_tokens.as_ref().filter(is_enough);
        let missing = "too few guesses were scored in two iterations";
        Ok(WindowGuesses { found: ByCell::of(files, "risen-tokens", read, missing)? })
    }

    /// The figure.
    pub(crate) fn figure(&self, summary: &Summary, style: &Style) -> Result<Figure, ReportError> {
        let mut caption = format!(
            "Guesses of Jacobi windows that the target scored in two iterations, by the change of the target's \
             probability of them between the two. Above: the share that is the image's token at its position in the \
             end. Below: the share accepted in that iteration; a guess behind the first rejection is not accepted, \
             whatever its probability. The outer marks hold all beyond them; marks of fewer than {LEAST} guesses are \
             left out."
        );
        for (cell, found) in &self.found.cells {
            let share = |[n, accepted, correct]: [u64; 3]| {
                let of =
                    |part: u64| if n > 0 { format!("{:.3}", part as f64 / n as f64) } else { "-".to_owned() };
                format!("{n} guesses, {} correct, {} accepted", of(correct), of(accepted))
            };
            caption += &format!(
                " {cell}: probability rose: {}; fell or stayed: {}.",
                share(found.risen),
                share(found.not_risen)
            );
        }
        caption += &self.found.caption_end(|found| [found.n_repeated, found.n_images]);
        let words = Words {
            name: "risen-tokens".to_owned(),
            title: format!("{}: guesses whose probability rose", summary.name),
            conditions: conditions_of(summary, &self.found.n_images(|found| found.n_images)),
            caption,
        };
        let panel = |y_name: &str, part: &dyn Fn(&RisenTokens) -> &[u64]| {
            let curves = self.found.cells.iter().filter_map(|(cell, found)| {
                let counts = found.guesses.iter().zip(part(found)).zip(&found.log2_ratio);
                let enough = counts.filter(|((n, _), _)| **n >= LEAST);
                let points = enough.map(|((n, part), place)| (*place, *part as f64 / *n as f64, None));
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
            panel("Correct of guesses", &|found| &found.correct),
            panel("Accepted of guesses", &|found| &found.accepted),
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
        out.write_record([
            "cell",
            "log2_ratio",
            "guesses",
            "accepted",
            "correct",
            "images",
            "repeated",
            "why",
        ])?;
        for (cell, found) in &self.found.cells {
            let n_of = [found.n_images, found.n_repeated];
            for (bin, place) in found.log2_ratio.iter().enumerate() {
                let counts = [found.guesses[bin], found.accepted[bin], found.correct[bin]];
                let numbers = counts.into_iter().chain(n_of).map(|n| n.to_string());
                let line = [(*cell).to_owned(), place.to_string()].into_iter().chain(numbers);
                out.write_record(line.chain([String::new()]))?;
            }
            for (change, [n, accepted, correct]) in [("risen", found.risen), ("not risen", found.not_risen)] {
                let numbers = [n, accepted, correct].into_iter().chain(n_of).map(|n| n.to_string());
                let line = [*cell, change].into_iter().map(str::to_owned).chain(numbers);
                out.write_record(line.chain([String::new()]))?;
            }
        }
        for (cell, why) in &self.found.left_out {
            out.write_record([*cell, "", "", "", "", "", "", *why])?;
        }
        Ok(out.into_text())
    }
}
