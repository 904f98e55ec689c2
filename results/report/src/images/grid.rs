//! The qualitative figure: one row a prompt, one column a cell, the same seed along a row. Pixels are
//! repeated, never smoothed; a place without an image says why it is empty.

use std::path::Path;

use image::{Rgb, RgbImage, imageops};
use specimen_record::{CellSummary, RunDir, Summary, check_pixels};

use specimen_foundation::text::one_line;

use crate::ReportError;
use crate::drawing::font::{shortened, width, wrap};
use crate::drawing::raster::{Canvas, Text};
use crate::images::by_prompt::{CellImage, ImagesByPrompt};
use crate::table::fixed;
use specimen_foundation::{fail, failure};

const INK: (u8, u8, u8) = (30, 30, 30);
const GREY: (u8, u8, u8) = (110, 110, 110);
const EMPTY: Rgb<u8> = Rgb([238, 238, 238]);
/// Width of a pixel on paper: 96 dots an inch, as a page shows it.
const MM_PER_PIXEL: f64 = 25.4 / 96.0;
/// Smallest side of an image on the page.
const SMALLEST: u32 = 128;
const GAP: u32 = 10;
const MARGIN: u32 = 18;
const CAPTION: u32 = 250;
const EM: f64 = 15.0;
const SMALL_EM: f64 = 12.5;
const LINE: f64 = 19.0;

/// One place of the grid.
enum Place {
    Image(RgbImage),
    Empty(String),
}

/// The grid, ready to be drawn.
pub(crate) struct Grid {
    heads: Vec<(String, String)>,
    /// Prompt, its id, and its places.
    rows: Vec<(String, String, Vec<Place>)>,
}

impl Grid {
    /// The first `n_prompts` rows of the plan.
    pub(crate) fn of(
        run: &RunDir,
        summary: &Summary,
        by_prompt: &ImagesByPrompt,
        n_prompts: usize,
    ) -> Result<Grid, ReportError> {
        let mut rows = Vec::new();
        for row in by_prompt.rows.iter().take(n_prompts) {
            let places = row
                .cell_images
                .iter()
                .map(|cell_image| place(run, cell_image))
                .collect::<Result<Vec<_>, _>>()?;
            let id = match row.sample {
                0 => row.prompt_id.clone(),
                sample => format!("{}, sample {sample}", row.prompt_id),
            };
            rows.push((row.prompt.clone(), id, places));
        }
        let heads =
            by_prompt.cells.iter().map(|id| (id.clone(), summary.cell(id).map_or_else(String::new, speed)));
        Ok(Grid { heads: heads.collect(), rows })
    }

    /// The grid as a PNG file.
    pub(crate) fn png(&self) -> Result<Vec<u8>, ReportError> {
        let (wide, high) = self.image_size();
        let heads: Vec<Vec<String>> =
            self.heads.iter().map(|(name, _)| wrap_name(name, f64::from(wide))).collect();
        let n_head_lines = heads.iter().map(Vec::len).max().unwrap_or(1);
        let top = MARGIN + (LINE * (n_head_lines as f64 + 1.4)).round() as u32;
        let n_columns = u32::try_from(self.heads.len()).expect("columns fit in memory");
        let n_rows = u32::try_from(self.rows.len()).expect("rows fit in memory");
        let left = MARGIN + self.caption_width() + GAP;
        let mut canvas = Canvas::new(
            left + n_columns * (wide + GAP) - GAP + MARGIN,
            top + n_rows * (high + GAP) - GAP + MARGIN,
        );
        for (at, (lines, (_, speed))) in (0_u32..).zip(heads.iter().zip(&self.heads)) {
            let middle = f64::from(left + at * (wide + GAP)) + f64::from(wide) / 2.0;
            let mut y = f64::from(top) - LINE * (lines.len() as f64 + 0.6);
            for line in lines {
                centred(&mut canvas, middle, y, &Text { text: line, em: EM, bold: true, color: INK });
                y += LINE;
            }
            centred(&mut canvas, middle, y, &Text { text: speed, em: SMALL_EM, bold: false, color: GREY });
        }
        for (row, (prompt, id, places)) in (0_u32..).zip(&self.rows) {
            let y = top + row * (high + GAP);
            caption(&mut canvas, y, high, prompt, id);
            for (at, place) in (0_u32..).zip(places) {
                let x = left + at * (wide + GAP);
                match place {
                    Place::Image(image) => {
                        let (dx, dy) = ((wide - image.width()) / 2, (high - image.height()) / 2);
                        imageops::replace(&mut canvas.pixels, image, i64::from(x + dx), i64::from(y + dy));
                    }
                    Place::Empty(why) => empty(&mut canvas, [x, y, wide, high], why),
                }
            }
        }
        let width_mm = f64::from(canvas.pixels.width()) * MM_PER_PIXEL;
        canvas.png("grid", width_mm)
    }

    /// Width of the captions; of a model without prompts only their numbers.
    fn caption_width(&self) -> u32 {
        if self.rows.iter().any(|(prompt, ..)| !prompt.trim().is_empty()) {
            return CAPTION;
        }
        let ids = self.rows.iter().map(|(_, id, _)| width(&id_line(id), SMALL_EM, false));
        ids.fold(0.0, f64::max).ceil().min(f64::from(CAPTION)) as u32
    }

    /// Width and height of a place: the largest image.
    fn image_size(&self) -> (u32, u32) {
        let images = self.rows.iter().flat_map(|(_, _, places)| places).filter_map(|place| match place {
            Place::Image(image) => Some(image.dimensions()),
            Place::Empty(_) => None,
        });
        images.fold((SMALLEST, SMALLEST), |(w, h), (iw, ih)| (w.max(iw), h.max(ih)))
    }
}

fn place(run: &RunDir, cell_image: &CellImage) -> Result<Place, ReportError> {
    let Some(record) = &cell_image.record else { return Ok(Place::Empty("not run".to_owned())) };
    if let Some(err) = &record.err {
        return Ok(Place::Empty(format!("failed: {err}")));
    }
    match (&record.image, cell_image.shard) {
        (None, _) => Ok(Place::Empty("no image kept".to_owned())),
        (Some(_), None) => Ok(Place::Empty("image file gone".to_owned())),
        (Some(name), Some(shard)) => {
            let path = run.image(shard, name)?;
            let image = enlarged(&path, (record.width, record.height))?;
            check_pixels(&path, record)?;
            Ok(Place::Image(image))
        }
    }
}

/// An image, each pixel repeated until it is large enough.
fn enlarged(path: &Path, expected: (u32, u32)) -> Result<RgbImage, ReportError> {
    let bad = |source| failure!(Missing: "{}: not a readable image: {source}", path.display());
    let reader = image::ImageReader::open(path).map_err(|e| bad(e.into()))?;
    let reader = reader.with_guessed_format().map_err(|e| bad(e.into()))?;
    let image = reader.decode().map_err(bad)?.into_rgb8();
    let found = image.dimensions();
    if found != expected {
        fail!(Missing: "{}: the image is {found:?} pixels, its record says {expected:?}", path.display());
    }
    let factor = SMALLEST.div_ceil(found.0.max(1)).max(1);
    Ok(imageops::resize(&image, found.0 * factor, found.1 * factor, imageops::FilterType::Nearest))
}

/// The line under a column's name.
fn speed(cell: &CellSummary) -> String {
    match cell.value("speedup") {
        _ if cell.is_baseline() => "baseline".to_owned(),
        Some(value) => format!("speedup {}×", fixed(value, 2)),
        None => String::new(),
    }
}

/// Breaks a name into lines that fit: between words and list items, at other joints where one of those
/// is too long, and inside a part only as a last resort. Nothing but spaces at the breaks is lost.
fn wrap_name(name: &str, width_px: f64) -> Vec<String> {
    let fits = |text: &str| width(text.trim_end(), EM, true) <= width_px;
    let mut parts: Vec<&str> = Vec::new();
    for item in name.split_inclusive([' ', ',', ';', '+']) {
        match fits(item) {
            true => parts.push(item),
            false => parts.extend(item.split_inclusive(['-', '_', '='])),
        }
    }
    let mut lines: Vec<String> = vec![String::new()];
    for part in parts {
        let last = lines.last_mut().expect("there is always a line");
        if last.is_empty() || fits(&format!("{last}{part}")) {
            last.push_str(part);
        } else {
            lines.push(part.to_owned());
        }
    }
    lines.iter().flat_map(|line| wrap(line, width_px, 3, EM, true)).collect()
}

fn centred(canvas: &mut Canvas, middle: f64, baseline: f64, text: &Text<'_>) {
    canvas.text(middle - width(text.text, text.em, text.bold) / 2.0, baseline, text);
}

/// A prompt at the left of its row, its id underneath.
fn caption(canvas: &mut Canvas, top: u32, high: u32, prompt: &str, id: &str) {
    let n_lines = ((f64::from(high) / LINE).floor() as usize).saturating_sub(1).max(1);
    let lines = wrap(&one_line(prompt), f64::from(CAPTION), n_lines, EM, false);
    let block = LINE * (lines.len() as f64 + 1.0);
    let mut y = f64::from(top) + (f64::from(high) - block) / 2.0 + EM;
    for line in &lines {
        canvas.text(f64::from(MARGIN), y, &Text { text: line, em: EM, bold: false, color: INK });
        y += LINE;
    }
    let id = shortened(&id_line(id), f64::from(CAPTION), SMALL_EM);
    canvas.text(f64::from(MARGIN), y, &Text { text: &id, em: SMALL_EM, bold: false, color: GREY });
}

fn id_line(id: &str) -> String {
    one_line(&format!("prompt {id}"))
}

/// A place without an image.
fn empty(canvas: &mut Canvas, [x, y, wide, high]: [u32; 4], why: &str) {
    for (dx, dy) in (0..high).flat_map(|dy| (0..wide).map(move |dx| (dx, dy))) {
        canvas.pixels.put_pixel(x + dx, y + dy, EMPTY);
    }
    let n_lines = (f64::from(high) / LINE).floor() as usize;
    let lines = wrap(why, f64::from(wide) - 12.0, n_lines.max(1), SMALL_EM, false);
    let mut baseline = f64::from(y) + (f64::from(high) - LINE * lines.len() as f64) / 2.0 + SMALL_EM;
    for line in &lines {
        let text = Text { text: line, em: SMALL_EM, bold: false, color: GREY };
        centred(canvas, f64::from(x) + f64::from(wide) / 2.0, baseline, &text);
        baseline += LINE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captions_are_as_wide_as_their_numbers_where_there_are_no_prompts() {
        let grid = |prompt: &str| Grid {
            heads: vec![("ar".into(), "baseline".into())],
            rows: vec![(prompt.into(), "17".into(), vec![Place::Empty("not run".into())])],
        };
        assert_eq!(grid("a red circle").caption_width(), CAPTION);
        let narrow = grid(" ").caption_width();
        assert!((40..120).contains(&narrow), "{narrow}");
    }

    #[test]
    fn a_long_name_breaks_at_its_joints_and_loses_nothing() {
        assert_eq!(wrap_name("sd-tree13", 128.0), ["sd-tree13"]);
        assert_eq!(
            wrap_name("cascade tau_pos=0.85,tau_seq=0.5", 128.0),
            ["cascade", "tau_pos=0.85,", "tau_seq=0.5"]
        );
        let long = "an-unusually-long-name-with-many-joints=0.123456789012345678901234567890";
        let lines = wrap_name(long, 128.0);
        assert!(lines.len() > 3 && lines.iter().all(|line| width(line, EM, true) <= 128.0), "{lines:?}");
        assert_eq!(lines.concat(), long);
    }
}
