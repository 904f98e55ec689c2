//! How alike the target's features are along an image: CASCADE's Figure 3. One image of the first cell that
//! has the diagnostic is drawn; all are in the data.

use specimen_foundation::text::counted;
use specimen_record::{DiagnosticFile, Summary};

use crate::ReportError;
use crate::drawing::charts::heat_maps::{HeatMap, HeatMaps};
use crate::drawing::figure::{Figure, Style, Words};
use crate::figures::diagnostics::ByCell;
use crate::table::CsvText;
use crate::tables::conditions::conditions_of;

/// Cosines of every image that was looked at, cell by cell.
pub(crate) struct FeatureMaps<'d> {
    cells: Vec<&'d DiagnosticFile>,
}

impl<'d> FeatureMaps<'d> {
    /// Those among `files`, or the reason why there are none.
    pub(crate) fn of(files: &'d [DiagnosticFile]) -> Result<FeatureMaps<'d>, String> {
        let read = |file: &'d DiagnosticFile| Some(file).filter(|file| !file.feature_rows.is_empty());
        let found = ByCell::of(files, "feature-rows", read, "no image has any")?;
        Ok(FeatureMaps { cells: found.cells.into_iter().map(|(_, file)| file).collect() })
    }

    /// The figure.
    pub(crate) fn figure(&self, summary: &Summary, style: &Style) -> Result<Figure, ReportError> {
        let (cell, image) = (&self.cells[0].cell, &self.cells[0].feature_rows[0]);
        let data = images_of_cells(self.cells.iter().map(|file| file.feature_rows.len()));
        let mut caption = format!(
            "Cosines of the target's features of prompt {} in cell {cell}, from one pass over its tokens. Left: between \
             two image rows, mean over columns; right: between two tokens of the last image row. Dark squares beside the \
             diagonal are stretches that the target sees as one thing. The data have {data}.",
            image.key.prompt_id()
        );
        for file in &self.cells {
            let known: Vec<f64> = file.feature_rows.iter().filter_map(|image| image.neighbours).collect();
            if !known.is_empty() {
                let mean = known.iter().sum::<f64>() / known.len() as f64;
                caption +=
                    &format!(" Mean cosine of tokens that follow each other, {}: {mean:.2}.", file.cell);
            }
        }
        let words = Words {
            name: "features".to_owned(),
            title: format!("{}: target features, cell {cell}", summary.name),
            conditions: conditions_of(
                summary,
                &format!("n = 1 image, prompt {}; in the data {data}", image.key.prompt_id()),
            ),
            caption,
        };
        let map = |title: &str, n: u32, values: &[f64]| HeatMap {
            title: title.to_owned(),
            n: n as usize,
            values: values.to_vec(),
        };
        let maps = vec![
            map("image row × image row", image.n_rows, &image.between),
            map("within the last row", image.n_cols, &image.last_row),
        ];
        let drawing = HeatMaps { range: range(&maps), maps, scale_name: "cosine of features".to_owned() };
        Figure::of(words, &drawing, self.csv()?, style)
    }

    fn csv(&self) -> Result<String, ReportError> {
        let mut out = CsvText::new();
        out.write_record(["cell", "image", "map", "row", "column", "cosine"])?;
        for file in &self.cells {
            for image in &file.feature_rows {
                let key = image.key.to_string();
                let maps = [
                    ("between-rows", image.n_rows, &image.between),
                    ("last-row", image.n_cols, &image.last_row),
                ];
                for (map, n, values) in maps {
                    for (at, value) in values.iter().enumerate() {
                        let (row, column) = (at / n as usize + 1, at % n as usize + 1);
                        let numbers = [row.to_string(), column.to_string(), value.to_string()];
                        out.write_record(
                            [&file.cell, &key, map].into_iter().chain(numbers.iter().map(String::as_str)),
                        )?;
                    }
                }
            }
        }
        Ok(out.into_text())
    }
}

/// How many images the data have of how many cells, whose images are of the same prompts.
pub(crate) fn images_of_cells(counts: impl Iterator<Item = usize>) -> String {
    let counts: Vec<usize> = counts.collect();
    let n: usize = counts.iter().sum();
    let images = |n: usize| counted(n, "image");
    match counts.as_slice() {
        [_] => format!("{} of this cell", images(n)),
        [first, others @ ..] if others.iter().all(|other| other == first) => {
            format!("{} ({first} of each of {} cells)", images(n), counts.len())
        }
        _ => format!("{} of {} cells", images(n), counts.len()),
    }
}

/// From the tenth below the lowest value to 1.
pub(crate) fn range(maps: &[HeatMap]) -> [f64; 2] {
    let lowest = maps.iter().flat_map(|map| &map.values).copied().fold(0.9, f64::min);
    [(lowest * 10.0).floor() / 10.0, 1.0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_of_several_cells_are_counted_by_images_and_cells() {
        let of = |counts: &[usize]| images_of_cells(counts.iter().copied());
        assert_eq!(of(&[8; 4]), "32 images (8 of each of 4 cells)");
        assert_eq!(of(&[8, 7]), "15 images of 2 cells");
        assert_eq!(of(&[1]), "1 image of this cell");
    }
}
