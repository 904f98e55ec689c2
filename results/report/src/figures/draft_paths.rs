//! How alike the paths of each draft tree are: VVS's Figure 10a. One histogram a cell.

use specimen_record::{DiagnosticFile, DraftPaths, Summary};

use crate::ReportError;
use crate::csv_text::CsvText;
use crate::drawing::charts::histograms::{Histogram, Histograms};
use crate::drawing::families::style_of;
use crate::drawing::figure::{Figure, Style, Words};
use crate::tables::conditions::conditions_of;

/// The name of the diagnostic.
pub(crate) const NAME: &str = "draft-paths";

/// The histogram of each cell that has one.
pub(crate) struct PathSimilarities<'d> {
    cells: Vec<(&'d str, &'d DraftPaths, f64)>,
    left_out: Vec<(&'d str, &'d str)>,
}

impl<'d> PathSimilarities<'d> {
    /// Those among `files`, or the reason why there are none.
    pub(crate) fn of(files: &'d [DiagnosticFile]) -> Result<PathSimilarities<'d>, String> {
        let mut found = PathSimilarities { cells: Vec::new(), left_out: Vec::new() };
        for file in files.iter().filter(|file| file.diagnostic == NAME) {
            match file.draft_paths.as_ref().and_then(|paths| Some((paths, paths.mean?))) {
                Some((paths, mean)) => found.cells.push((&file.cell, paths, mean)),
                None => {
                    let why = file.why.as_deref().unwrap_or("no tree has two paths to compare");
                    found.left_out.push((&file.cell, why));
                }
            }
        }
        match (found.cells.is_empty(), found.left_out.first()) {
            (false, _) => Ok(found),
            (true, Some((cell, why))) => Err(format!("{cell}: {why}")),
            (true, None) => Err(format!("the spec asks for no [[diagnostic]] `{NAME}`")),
        }
    }

    /// The figure.
    pub(crate) fn figure(&self, summary: &Summary, style: &Style) -> Result<Figure, ReportError> {
        let first = self.cells[0].1;
        let mut caption = format!(
            "Draft trees by the similarity of their paths: the mean over pairs of every second path of the cosines \
             between code vectors at equal depth, a position weighing {} of the one before it; shared prefixes count \
             as 1. Of each cell {} images were decoded again for it; bars are shares of a cell's trees, the tick is \
             their mean.",
            first.alpha, first.n_images
        );
        let other: Vec<String> = self
            .cells
            .iter()
            .filter(|(_, paths, _)| paths.n_repeated < paths.n_images)
            .map(|(cell, paths, _)| format!("{cell} {} of {}", paths.n_repeated, paths.n_images))
            .collect();
        if !other.is_empty() {
            caption += &format!(" Only some came out as recorded: {}.", other.join("; "));
        }
        if !self.left_out.is_empty() {
            let left_out = self.left_out.iter().map(|(cell, why)| format!("{cell} ({why})"));
            caption += &format!(" Without a row: {}.", left_out.collect::<Vec<_>>().join("; "));
        }
        let words = Words {
            name: "paths".to_owned(),
            title: format!("{}: how alike draft paths are", summary.name),
            conditions: conditions_of(summary, &format!("n = {} images a cell", self.n_images())),
            caption,
        };
        let drawing = Histograms {
            rows: self.cells.iter().filter_map(|cell| ridge(summary, cell)).collect(),
            x: self.shown(),
            x_name: "Similarity of the paths of a draft tree".to_owned(),
            mean_name: "mean".to_owned(),
        };
        Figure::of(words, &drawing, self.csv()?, style)
    }

    /// Images of a cell that were decoded again, in words.
    fn n_images(&self) -> String {
        let n = || self.cells.iter().map(|(_, paths, _)| paths.n_images);
        match (n().min(), n().max()) {
            (Some(low), Some(high)) if low != high => format!("{low} to {high}"),
            (low, _) => low.unwrap_or(0).to_string(),
        }
    }

    /// From the first bin that any cell fills to the last.
    fn shown(&self) -> [f64; 2] {
        let filled = self.cells.iter().flat_map(|(_, paths, _)| bins(paths)).filter(|(_, n)| *n > 0);
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
        for (cell, paths, mean) in &self.cells {
            for ([from, to], n) in bins(paths) {
                let numbers = [from.to_string(), to.to_string(), n.to_string(), mean.to_string()];
                let counts = [paths.n_single, paths.n_images, paths.n_repeated].map(|n| n.to_string());
                let line = std::iter::once((*cell).to_owned()).chain(numbers).chain(counts);
                out.write_record(line.chain([String::new()]))?;
            }
        }
        for (cell, why) in &self.left_out {
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

fn ridge(summary: &Summary, (cell, paths, mean): &(&str, &DraftPaths, f64)) -> Option<Histogram> {
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
