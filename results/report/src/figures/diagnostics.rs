//! The figures of diagnostics: which there are, and what they have in common.

use specimen_record::{DiagnosticFile, Summary};

use crate::ReportError;
use crate::drawing::figure::{Figure, Style};
use crate::figures::by_reason;
use crate::figures::confidence::Confidences;
use crate::figures::draft_paths::PathSimilarities;
use crate::figures::feature_pairs::PairMaps;
use crate::figures::feature_rows::FeatureMaps;
use crate::figures::risen_tokens::WindowGuesses;

/// A figure, or the reason why it is not there.
type Drawn = Result<Result<Figure, ReportError>, String>;

/// The figure of one diagnostic.
pub(crate) struct DiagnosticFigure {
    /// Name of its files, without ending.
    pub(crate) name: &'static str,
    /// What a spec calls it.
    pub(crate) diagnostic: &'static str,
    /// What it shows, and where papers show it.
    pub(crate) shows: &'static str,
    /// Draws it from the files of its diagnostic.
    pub(crate) draw: fn(&[DiagnosticFile], &Summary, &Style) -> Drawn,
}

/// All of them, in reading order.
pub(crate) const DIAGNOSTIC_FIGURES: [DiagnosticFigure; 5] = [
    DiagnosticFigure {
        name: "features",
        diagnostic: "feature-rows",
        shows: "cosine similarity of the target's features by image row (CASCADE, Fig. 3)",
        draw: |files, summary, style| FeatureMaps::of(files).map(|maps| maps.figure(summary, style)),
    },
    DiagnosticFigure {
        name: "feature-pairs",
        diagnostic: "feature-pairs",
        shows: "cosine similarity of the target's features over the whole image (CASCADE, Figs. 9 and 10)",
        draw: |files, summary, style| PairMaps::of(files).map(|maps| maps.figure(summary, style)),
    },
    DiagnosticFigure {
        name: "paths",
        diagnostic: "draft-paths",
        shows: "similarity of draft paths (VVS, Fig. 10)",
        draw: |files, summary, style| PathSimilarities::of(files).map(|paths| paths.figure(summary, style)),
    },
    DiagnosticFigure {
        name: "confidence",
        diagnostic: "confidence",
        shows: "confidence of target and drafter (CASCADE, Fig. 8)",
        draw: |files, summary, style| Confidences::of(files).map(|found| found.figure(summary, style)),
    },
    DiagnosticFigure {
        name: "risen-tokens",
        diagnostic: "risen-tokens",
        shows: "guesses whose probability rose (SJD-VP, Figs. 2 and 3)",
        draw: |files, summary, style| WindowGuesses::of(files).map(|found| found.figure(summary, style)),
    },
];

/// What the cells of a run have of one diagnostic.
pub(crate) struct ByCell<'d, T> {
    /// Cells that have it.
    pub(crate) cells: Vec<(&'d str, T)>,
    /// The others, each with its reason.
    pub(crate) left_out: Vec<(&'d str, &'d str)>,
}

impl<'d, T> ByCell<'d, T> {
    /// That of each of `files`, or the reason why there is none.
    pub(crate) fn of(
        files: &'d [DiagnosticFile],
        name: &str,
        read: impl Fn(&'d DiagnosticFile) -> Option<T>,
        missing: &'static str,
    ) -> Result<Self, String> {
        let mut found = Self { cells: Vec::new(), left_out: Vec::new() };
        for file in files.iter().filter(|file| file.diagnostic == name) {
            match read(file) {
                Some(value) => found.cells.push((&file.cell, value)),
                None => found.left_out.push((&file.cell, file.why.as_deref().unwrap_or(missing))),
            }
        }
        match (found.cells.is_empty(), found.left_out.is_empty()) {
            (false, _) => Ok(found),
            (true, false) => {
                let owned = found.left_out.iter().map(|(cell, why)| ((*cell).to_owned(), (*why).to_owned()));
                Err(by_reason(&owned.collect::<Vec<_>>()))
            }
            (true, true) => Err(format!("the spec asks for no [[diagnostic]] `{name}`")),
        }
    }

    /// The end of a caption: cells whose images did not all come out as recorded, and cells without a row.
    pub(crate) fn caption_end(&self, repeated: impl Fn(&T) -> [u64; 2]) -> String {
        let mut caption = String::new();
        let some = self.cells.iter().map(|(cell, value)| (cell, repeated(value)));
        let other: Vec<String> = some
            .filter(|(_, [n_repeated, n_images])| n_repeated < n_images)
            .map(|(cell, [n_repeated, n_images])| format!("{cell} {n_repeated} of {n_images}"))
            .collect();
        if !other.is_empty() {
            caption += &format!(" Only some came out as recorded: {}.", other.join("; "));
        }
        if !self.left_out.is_empty() {
            let left_out = self.left_out.iter().map(|(cell, why)| format!("{cell} ({why})"));
            caption += &format!(" Without a row: {}.", left_out.collect::<Vec<_>>().join("; "));
        }
        caption
    }

    /// Images of a cell that were decoded again, in words.
    pub(crate) fn n_images(&self, n_images: impl Fn(&T) -> u64) -> String {
        let n = || self.cells.iter().map(|(_, value)| n_images(value));
        match (n().min(), n().max()) {
            (Some(low), Some(high)) if low != high => format!("n = {low} to {high} images a cell"),
            (Some(1), _) => "n = 1 image a cell".to_owned(),
            (low, _) => format!("n = {} images a cell", low.unwrap_or(0)),
        }
    }
}
