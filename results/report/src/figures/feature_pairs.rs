//! How alike the target's features are over a whole image: CASCADE's Figures 9 and 10, left. The first images of the
//! first cell that has the diagnostic are drawn; all are in the data.

use specimen_record::{DiagnosticFile, FeaturePairs, Summary};

use crate::ReportError;
use crate::drawing::charts::heat_maps::{HeatMap, HeatMaps};
use crate::drawing::figure::{Figure, Style, Words};
use crate::figures::diagnostics::ByCell;
use crate::figures::feature_rows::{images_of_cells, range};
use crate::table::CsvText;
use crate::tables::conditions::conditions_of;

/// The most images that are drawn; all are in the data.
const MOST_DRAWN: usize = 2;

/// Cosines of every image that was looked at, cell by cell.
pub(crate) struct PairMaps<'d> {
    found: ByCell<'d, &'d [FeaturePairs]>,
}

impl<'d> PairMaps<'d> {
    /// Those among `files`, or the reason why there are none.
    pub(crate) fn of(files: &'d [DiagnosticFile]) -> Result<PairMaps<'d>, String> {
        let read =
            |file: &'d DiagnosticFile| Some(file.feature_pairs.as_slice()).filter(|all| !all.is_empty());
        Ok(PairMaps { found: ByCell::of(files, "feature-pairs", read, "no image has any")? })
    }

    /// The figure.
    pub(crate) fn figure(&self, summary: &Summary, style: &Style) -> Result<Figure, ReportError> {
        let (cell, images) = self.found.cells[0];
        let drawn = &images[..images.len().min(MOST_DRAWN)];
        let prompts = drawn.iter().map(|image| image.key.prompt_id()).collect::<Vec<_>>().join(", ");
        let data = images_of_cells(self.found.cells.iter().map(|(_, images)| images.len()));
        let words = Words {
            name: "feature-pairs".to_owned(),
            title: format!("{}: target features, cell {cell}", summary.name),
            conditions: conditions_of(
                summary,
                &format!("n = {} images, prompts {prompts}; in the data {data}", drawn.len()),
            ),
            caption: format!(
                "Cosines of the target's features between positions of the tokens of prompts {prompts} in cell {cell}, \
                 evenly spread, in the order in which they are drawn, row by row; from one pass over the tokens. The axes \
                 count the positions that were taken. Stripes repeat with the rows of the image. The data have \
                 {data}."
            ),
        };
        let map = |image: &FeaturePairs| HeatMap {
            title: format!("{}, {} of {}", image.key.prompt_id(), image.positions.len(), image.n_tokens),
            n: image.positions.len(),
            values: image.cosines.clone(),
        };
        let maps: Vec<HeatMap> = drawn.iter().map(map).collect();
        let drawing = HeatMaps { range: range(&maps), maps, scale_name: "cosine of features".to_owned() };
        Figure::of(words, &drawing, self.csv()?, style)
    }

    fn csv(&self) -> Result<String, ReportError> {
        let mut out = CsvText::new();
        out.write_record(["cell", "image", "position", "other_position", "cosine"])?;
        for (cell, images) in &self.found.cells {
            for image in *images {
                let (key, n) = (image.key.to_string(), image.positions.len());
                for (at, cosine) in image.cosines.iter().enumerate() {
                    let [one, other] = [at / n, at % n].map(|at| image.positions[at].to_string());
                    out.write_record([*cell, &key, &one, &other, &cosine.to_string()])?;
                }
            }
        }
        Ok(out.into_text())
    }
}
