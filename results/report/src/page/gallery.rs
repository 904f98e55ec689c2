//! The images of the page: inside it up to a size, linked otherwise, with what the page's
//! script needs to show where each token came from.

use serde::Serialize;
use specimen_record::{Family, KnownCounts, Record, RunDir, Status, Summary};

use specimen_foundation::text::one_line;

use super::embed::{link, png_uri, png_uri_len};
use super::results::mark_svg;
use crate::ReportError;
use crate::images::acceptance_map::{grid_of, origins};
use crate::images::by_prompt::{CellImage, ImagesByPrompt, PromptRow, image_path};
use crate::table::fixed;

/// Rows that are open from the start.
const N_OPEN: usize = 6;

/// Images narrower than this are shown with hard pixels.
const SMALL: u32 = 200;

/// The rows of images.
#[derive(Default, Serialize)]
pub(crate) struct Gallery {
    /// Why there are none.
    pub(crate) why: Option<String>,
    n_open: usize,
    words: String,
    /// Whether all images of each row are known to be of one seed.
    is_paired: bool,
    rows: Vec<RowPart>,
}

#[derive(Serialize)]
struct RowPart {
    prompt: String,
    prompt_id: String,
    sample: u32,
    /// In words.
    seed: String,
    cell_images: Vec<CellImagePart>,
}

#[derive(Serialize)]
struct CellImagePart {
    cell: String,
    /// SVG.
    mark: String,
    /// Address of the image; made of letters that need no escaping.
    src: Option<String>,
    is_linked: bool,
    is_small: bool,
    width: u32,
    height: u32,
    nfe: Option<u64>,
    /// The counts in the table of the prompt.
    counts: Option<[String; 8]>,
    /// Why there is no image.
    why: String,
}

/// What the page's script reads.
#[derive(Default, Serialize)]
pub(crate) struct PageData {
    cells: Vec<String>,
    rows: Vec<RowData>,
}

#[derive(Serialize)]
struct RowData {
    /// Null where there is no image.
    cell_images: Vec<Option<CellImageData>>,
}

#[derive(Serialize)]
struct CellImageData {
    tokens: Vec<u32>,
    /// A letter a token; null where the steps do not tell.
    origins: Option<String>,
    /// Tokens a step gave, and whether it was verified.
    steps: Vec<(u32, u8)>,
    /// Columns and rows.
    grid: Option<(usize, usize)>,
    words: String,
    why: &'static str,
}

impl Gallery {
    /// The first `n_rows` rows, all images linked.
    pub(crate) fn of(by_prompt: &ImagesByPrompt, summary: &Summary, n_rows: usize) -> Gallery {
        let marks: Vec<String> =
            by_prompt.cells.iter().map(|id| summary.cell(id).map_or_else(String::new, mark_svg)).collect();
        let rows = by_prompt.rows.iter().take(n_rows).map(|row| RowPart {
            prompt: one_line(&row.prompt),
            prompt_id: one_line(&row.prompt_id),
            sample: row.sample,
            seed: row
                .seed
                .map_or_else(|| "no common seed is known".to_owned(), |seed| format!("seed {seed}")),
            cell_images: row
                .cell_images
                .iter()
                .zip(&by_prompt.cells)
                .zip(&marks)
                .map(|((cell_image, cell), mark)| CellImagePart::of(cell_image, cell, mark))
                .collect(),
        });
        let mut gallery = Gallery {
            why: None,
            n_open: N_OPEN,
            words: String::new(),
            is_paired: by_prompt.rows.iter().take(n_rows).all(|row| row.seed.is_some()),
            rows: rows.collect(),
        };
        gallery.words = gallery.words_for(by_prompt, 0);
        gallery
    }

    /// Puts images into the page, row by row, as long as they take no more than `n_free` bytes.
    pub(crate) fn embed_images(
        &mut self,
        run: &RunDir,
        by_prompt: &ImagesByPrompt,
        mut n_free: usize,
    ) -> Result<(), ReportError> {
        let mut n_linked = 0;
        for (part, row) in self.rows.iter_mut().zip(&by_prompt.rows) {
            for (cell_image, made) in part.cell_images.iter_mut().zip(&row.cell_images) {
                let (Some(record), Some(shard)) = (&made.record, made.shard) else { continue };
                let Some(name) = &record.image else { continue };
                let path = run.image(shard, name)?;
                let n_bytes = match std::fs::metadata(&path) {
                    Ok(facts) => usize::try_from(facts.len()).unwrap_or(usize::MAX / 4),
                    Err(source) => return Err(crate::error::unlisted(&path, source)),
                };
                if png_uri_len(n_bytes) > n_free {
                    n_linked += 1;
                    continue;
                }
                let bytes = std::fs::read(&path).map_err(|source| crate::error::unlisted(&path, source))?;
                let uri = png_uri(&bytes);
                n_free = n_free.saturating_sub(uri.len());
                (cell_image.src, cell_image.is_linked) = (Some(uri), false);
            }
        }
        self.words = self.words_for(by_prompt, n_linked);
        Ok(())
    }

    fn words_for(&self, by_prompt: &ImagesByPrompt, n_linked: usize) -> String {
        let mut words = match by_prompt.n_planned - self.rows.len() {
            0 => format!("All {} rows of the plan are here.", by_prompt.n_planned),
            more => format!(
                "The first {} of {} rows are here; the other {more} are listed in images.csv with the places of their \
                 files.",
                self.rows.len(),
                by_prompt.n_planned
            ),
        };
        if n_linked > 0 {
            words += &format!(
                " {n_linked} images are linked from the run's folder: the page would grow too large."
            );
        }
        words
    }
}

impl CellImagePart {
    fn of(cell_image: &CellImage, cell: &str, mark: &str) -> CellImagePart {
        let record = cell_image.record.as_ref().filter(|record| record.status == Status::Ok);
        let src = record.and_then(|record| {
            let name = record.image.as_ref()?;
            Some(link(&image_path(cell_image.shard?, name)))
        });
        CellImagePart {
            cell: cell.to_owned(),
            mark: mark.to_owned(),
            is_linked: src.is_some(),
            is_small: record.is_some_and(|record| record.width < SMALL),
            width: record.map_or(0, |record| record.width),
            height: record.map_or(0, |record| record.height),
            nfe: record.and_then(|record| record.nfe),
            counts: record.map(counts),
            why: why_empty(cell_image),
            src,
        }
    }
}

/// Why a place is empty.
fn why_empty(cell_image: &CellImage) -> String {
    match &cell_image.record {
        None => "not run".to_owned(),
        Some(Record { err: Some(err), .. }) => format!("failed: {err}"),
        Some(Record { image: None, .. }) => "no image kept".to_owned(),
        Some(_) => "image file gone".to_owned(),
    }
}

/// Tokens, forwards, steps, draft forwards, accepted, accepted a step, skipped steps, distance spent. What another program
/// did not report is a dash.
fn counts(record: &Record) -> [String; 8] {
    let known = record.known();
    let accepted_per_step =
        known.accepted.zip(record.n_verifies()).map(|(accepted, n)| fixed(accepted as f64 / n as f64, 2));
    [
        or_dash(known.n_tokens),
        or_dash(known.nfe),
        or_dash(known.n_steps),
        or_dash(known.n_draft_forwards),
        or_dash(known.accepted),
        or_dash(accepted_per_step),
        or_dash(known.skipped_steps),
        or_dash(known.tvd_spent.map(|spent| fixed(spent, 3))),
    ]
}

/// The counts that are known, in a sentence.
fn in_words(known: &KnownCounts) -> String {
    let counts = [
        (known.n_tokens, "tokens"),
        (known.nfe, "target forwards"),
        (known.n_steps, "steps"),
        (known.accepted, "draft tokens accepted"),
    ];
    let known: Vec<String> =
        counts.iter().filter_map(|(n, what)| Some(format!("{} {what}", (*n)?))).collect();
    if known.is_empty() { "no counts are known".to_owned() } else { known.join(", ") }
}

fn or_dash<T: ToString>(known: Option<T>) -> String {
    known.map_or_else(|| "—".to_owned(), |known| known.to_string())
}

impl PageData {
    /// Of the first `n_rows` rows.
    pub(crate) fn of(by_prompt: &ImagesByPrompt, summary: &Summary, n_rows: usize) -> PageData {
        let families = by_prompt.cells.iter().map(|id| summary.cell(id).and_then(|cell| cell.family));
        let are_in_order: Vec<bool> = families.map(|family| family != Some(Family::Rows)).collect();
        let row = |row: &PromptRow| {
            let images = row.cell_images.iter().zip(&are_in_order);
            RowData {
                cell_images: images.map(|(image, &in_order)| CellImageData::of(image, in_order)).collect(),
            }
        };
        PageData {
            cells: by_prompt.cells.clone(),
            rows: by_prompt.rows.iter().take(n_rows).map(row).collect(),
        }
    }
}

impl CellImageData {
    /// `is_in_order`: whether the image's tokens were made in the order of their positions.
    fn of(cell_image: &CellImage, is_in_order: bool) -> Option<CellImageData> {
        let record = cell_image
            .record
            .as_ref()
            .filter(|record| record.status == Status::Ok && record.image.is_some())?;
        let steps = cell_image.steps.as_deref();
        let found = steps.filter(|_| is_in_order).and_then(|steps| origins(record.tokens.len(), steps));
        let why = match (steps, &found) {
            (_, Some(_)) => "",
            _ if !is_in_order => {
                "Rows were decoded side by side, and no step says which tokens it gave: their origin is not known."
            }
            (None, None) => {
                "No steps were recorded for this image, so the origin of its tokens is not known."
            }
            (Some(_), None) => {
                "The recorded steps do not fill the image, so the origin of its tokens is not known."
            }
        };
        Some(CellImageData {
            tokens: record.tokens.clone(),
            origins: found.map(|found| found.into_iter().map(|origin| origin.letter()).collect()),
            steps: steps
                .filter(|_| is_in_order)
                .unwrap_or_default()
                .iter()
                .map(|step| (step[2], u8::from(step[3] > 0)))
                .collect(),
            grid: grid_of(record.tokens.len(), (record.width, record.height)),
            words: in_words(&record.known()),
            why,
        })
    }
}
