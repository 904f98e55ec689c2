//! How alike the paths of each draft tree are: VVS's Figure 10a. One histogram a cell.

use specimen_record::{DiagnosticFile, DraftPaths, Summary};

use crate::ReportError;
use crate::drawing::charts::histograms::{Histogram, Histograms};
use crate::drawing::families::style_of;
use crate::drawing::figure::{Figure, Style, Words};
use crate::figures::diagnostics::ByCell;
use crate::table::CsvText;
use crate::tables::conditions::conditions_of;

/// The similarity above which VVS counts trees: three quarters of them on LlamaGen (its supplement, section 3).
const ALIKE: f64 = 0.7;

/// The histogram of each cell that has one, with its mean.
pub(crate) struct PathSimilarities<'d> {
    found: ByCell<'d, (&'d DraftPaths, f64)>,
}

impl<'d> PathSimilarities<'d> {
    /// Those among `files`, or the reason why there are none.
    pub(crate) fn of(files: &'d [DiagnosticFile]) -> Result<PathSimilarities<'d>, String> {
        let read =
            |file: &'d DiagnosticFile| file.draft_paths.as_ref().and_then(|paths| Some((paths, paths.mean?)));
        let missing = "no tree has two paths to compare";
        Ok(PathSimilarities { found: ByCell::of(files, "draft-paths", read, missing)? })
    }

    /// The figure.
    pub(crate) fn figure(&self, summary: &Summary, style: &Style) -> Result<Figure, ReportError> {
        let (_, (first, _)) = self.found.cells[0];
        let mut caption = format!(
            "Draft trees by the similarity of their paths: the mean over pairs of every second path of the cosines \
             between code vectors at equal depth, a position weighing {} of the one before it; shared prefixes count \
             as 1. Of each cell {} images were decoded again for it; bars are shares of a cell's trees, the tick is \
             their mean.",
            first.alpha, first.n_images
        );
        let above = |(cell, (paths, _)): &(&str, (&DraftPaths, f64))| {
            format!("{cell} {:.0} %", 100.0 * share_above(paths, ALIKE))
        };
        let above: Vec<String> = self.found.cells.iter().map(above).collect();
        caption += &format!(" Trees above {ALIKE}: {}.", above.join(", "));
        caption += &self.found.caption_end(|(paths, _)| [paths.n_repeated, paths.n_images]);
        let words = Words {
            name: "paths".to_owned(),
            title: format!("{}: how alike draft paths are", summary.name),
            conditions: conditions_of(summary, &self.found.n_images(|(paths, _)| paths.n_images)),
            caption,
        };
        let drawing = Histograms {
            rows: self.found.cells.iter().filter_map(|cell| ridge(summary, cell)).collect(),
            x: self.shown(),
            x_name: "Similarity of the paths of a draft tree".to_owned(),
            mean_name: "mean".to_owned(),
        };
        Figure::of(words, &drawing, self.csv()?, style)
    }

    /// From the first bin that any cell fills to the last.
    fn shown(&self) -> [f64; 2] {
        let filled = self.found.cells.iter().flat_map(|(_, (paths, _))| bins(paths)).filter(|(_, n)| *n > 0);
        filled.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], ([from, to], _)| {
            [low.min(from), high.max(to)]
        })
    }

    fn csv(&self) -> Result<String, ReportError> {
        let mut out = CsvText::new();
        out.write_record([
            "cell",
            "from",
            "to",
            "trees",
            "mean",
            "trees_with_one_path",
            "images",
            "repeated",
            "why",
        ])?;
        for (cell, (paths, mean)) in &self.found.cells {
            for ([from, to], n) in bins(paths) {
                let numbers = [from.to_string(), to.to_string(), n.to_string(), mean.to_string()];
                let counts = [paths.n_single, paths.n_images, paths.n_repeated].map(|n| n.to_string());
                let line = std::iter::once((*cell).to_owned()).chain(numbers).chain(counts);
                out.write_record(line.chain([String::new()]))?;
            }
        }
        for (cell, why) in &self.found.left_out {
            out.write_record([*cell, "", "", "", "", "", "", "", *why])?;
        }
        Ok(out.into_text())
    }
}

/// Ends and trees of every bin.
fn bins(paths: &DraftPaths) -> Vec<([f64; 2], u64)> {
    let ([low, high], n) = (paths.range, paths.counts.len() as f64);
    let end = |at: usize| low + (high - low) * at as f64 / n;
    paths.counts.iter().enumerate().map(|(at, count)| ([end(at), end(at + 1)], *count)).collect()
}

/// The share of trees in bins from `least` on, which is the end of a bin.
fn share_above(paths: &DraftPaths, least: f64) -> f64 {
    let n: u64 = paths.counts.iter().sum();
    let above = bins(paths).into_iter().filter(|([from, _], _)| *from > least - 1e-9);
    above.map(|(_, count)| count).sum::<u64>() as f64 / n as f64
}

fn ridge(summary: &Summary, (cell, (paths, mean)): &(&str, (&DraftPaths, f64))) -> Option<Histogram> {
    let of = summary.cell(cell)?;
    let n: u64 = paths.counts.iter().sum();
    let share = |(ends, count): ([f64; 2], u64)| (ends, count as f64 / n as f64);
    Some(Histogram {
        name: (*cell).to_owned(),
        family: style_of(of),
        bins: bins(paths).into_iter().map(share).collect(),
        mean: *mean,
    })
}
