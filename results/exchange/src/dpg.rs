//! DPG-Bench (Hu et al., arXiv 2403.05135; TencentQQGYLab/ELLA@025f650): what `dpg_bench/compute_dpg_bench.py` reads, and what it
//! writes. It reads a picture a prompt, called like the item, with four images as a grid of two by two (left to right, then
//! down), and writes a line of text a picture: its path, the score of each image, and their mean. `<name>_detail.txt` has a line
//! for each question: path, the corners of the image in the grid, question, answer.
//!
//! The score of an image is the share of its questions answered with yes, where a question counts as no if one that it depends
//! on is no. **Scores by category are ours**: of the answers before that, over all four images. The script prints them of the
//! last image of each grid alone, and leaves out the first question of the whole file.

use std::collections::BTreeMap;
use std::path::Path;

use image::{ColorType, ImageEncoder, codecs::png::PngEncoder};
use specimen_datasets::{dpg, manifest::DPG_PROMPTS};
use specimen_record::ItemKey;

use crate::bench::{BenchPrompts, BenchRun, N_SAMPLES, Pixels, check_prompt, read_image};
use crate::new_folder::NewFolder;
use crate::scores::{CellScores, Importer, NamedScores, ResultFile, Seen};
use crate::{ExchangeError, Exporter, Finished};

pub(crate) const EXPORTER: Exporter = Exporter {
    name: "dpg",
    what: "a folder a cell with a grid of four images a prompt, as DPG-Bench's script reads them",
    next: "in a checkout of TencentQQGYLab/ELLA, for each folder CELL+DIGEST: bash dpg_bench/dist_eval.sh CELL+DIGEST \
           RESOLUTION; then: specimen import-scores RUN CELL+DIGEST/dpg-bench_TIME_results.txt",
    write,
};

pub(crate) const IMPORTER: Importer = Importer {
    metric: "dpg",
    ending: "txt",
    what: "the results of compute_dpg_bench.py of DPG-Bench (dpg-bench_TIME_results.txt), with the _detail.txt next to it",
    read,
};

/// How far a mean that the script wrote may be from ours.
const TOLERANCE: f64 = 1e-9;

/// The prompts with their questions.
const PROMPTS: BenchPrompts = BenchPrompts { item: DPG_PROMPTS, read: dpg::read };

fn write(finished: &Finished<'_>, folder: &mut NewFolder) -> Result<Vec<String>, ExchangeError> {
    let run = BenchRun::of(finished)?;
    let path = PROMPTS.file(finished)?;
    let set = dpg::read(&path, "dpg-bench")?;
    let mut notes = Vec::new();
    for cell in run.cells() {
        let of_cell = run.folder(cell);
        let prompts = run.by_prompt(cell)?;
        let mut resolution = None;
        for (item, records) in &prompts {
            check_prompt(&set, &path, item)?;
            if records.len() != N_SAMPLES {
                let (cell, found) = (cell.to_owned(), records.len());
                return Err(ExchangeError::Samples {
                    cell,
                    id: item.prompt_id.clone(),
                    expected: N_SAMPLES,
                    found,
                });
            }
            let images = records.iter().map(|record| Ok(read_image(finished, record)?.1));
            let images = images.collect::<Result<Vec<Pixels>, ExchangeError>>()?;
            let expected = *resolution.get_or_insert(images[0].width);
            if let Some(at) =
                images.iter().position(|image| (image.width, image.height) != (expected, expected))
            {
                let Pixels { width, height, .. } = images[at];
                let key = records[at].key.to_string();
                return Err(ExchangeError::NotSquare { key, width, height, expected });
            }
            folder.put(&of_cell.join(format!("{}.png", item.prompt_id)), &grid(&images, &item.prompt_id)?)?;
        }
        let resolution = resolution.unwrap_or_default();
        notes.push(format!("{}: RESOLUTION is {resolution}", of_cell.display()));
        if prompts.len() != set.n_prompts() {
            let (n, of) = (prompts.len(), set.n_prompts());
            notes.push(format!(
                "{}: {n} of {of} prompts: the score is of part of the benchmark",
                of_cell.display()
            ));
        }
    }
    Ok(notes)
}

/// Four square images as one, left to right, then down.
fn grid(images: &[Pixels], id: &str) -> Result<Vec<u8>, ExchangeError> {
    let side = images[0].width as usize;
    let mut rgb = Vec::with_capacity(4 * images[0].rgb.len());
    for pair in images.chunks(2) {
        for row in 0..side {
            for image in pair {
                rgb.extend_from_slice(&image.rgb[3 * side * row..3 * side * (row + 1)]);
            }
        }
    }
    let mut bytes = Vec::new();
    let side = 2 * images[0].width;
    PngEncoder::new(&mut bytes).write_image(&rgb, side, side, ColorType::Rgb8.into()).map_err(|error| {
        ExchangeError::Io { path: format!("{id}.png").into(), source: std::io::Error::other(error) }
    })?;
    Ok(bytes)
}

fn read(finished: &Finished<'_>, path: &Path, given: Option<&str>) -> Result<Vec<CellScores>, ExchangeError> {
    let file = ResultFile::read(path)?;
    let run = BenchRun::of(finished)?;
    let mut seen = Seen::new(&file);
    let mut values: BTreeMap<String, BTreeMap<ItemKey, f64>> = BTreeMap::new();
    let is_row = |text: &str| !text.starts_with("Model: ");
    for (line, text) in file.lines().take_while(|(_, text)| is_row(text)) {
        if text.trim().is_empty() {
            continue;
        }
        let (image, scores) = row(text).map_err(|why| file.row(line, why))?;
        let (cell, id) = place(&run, image, given).map_err(|why| file.row(line, why))?;
        for (sample, score) in (0..).zip(scores) {
            let key = ItemKey::new(&cell, &id, sample);
            if run.item(&key).is_none() {
                return Err(file.row(line, format!("the run has no image {key} (`{image}`)")));
            }
            seen.add(line, &key)?;
            values.entry(cell.clone()).or_default().insert(key, score);
        }
    }
    for cell in values.keys() {
        seen.check_whole(&run, cell)?;
    }
    check_total(&file, &values)?;
    let details = Details::beside(finished, path, &run, given)?;
    let mut scores = Vec::new();
    for (cell, per_item) in values {
        let overall = NamedScores { name: "dpg-overall".to_owned(), per_item, groups: None, why: None };
        let mut named = vec![overall];
        for category in dpg::CATEGORIES {
            let (per_item, why) = details.of(&cell, category);
            named.push(NamedScores { name: format!("dpg-{category}"), per_item, groups: None, why });
        }
        let files = std::iter::once(file.digest()).chain(details.file.clone()).collect();
        scores.push(CellScores { metric: "dpg", tool: "TencentQQGYLab/ELLA", cell, values: named, files });
    }
    seen.check_some(scores)
}

/// The path in a line, and the scores of its four images.
fn row(text: &str) -> Result<(&str, [f64; N_SAMPLES]), String> {
    let (mut rest, mut numbers) = (text, Vec::new());
    while let Some((before, last)) = rest.rsplit_once(", ")
        && let Ok(number) = last.trim().parse::<f64>()
    {
        numbers.insert(0, number);
        rest = before;
    }
    let n_scores = numbers.len().saturating_sub(1);
    if n_scores != N_SAMPLES {
        return Err(format!(
            "expected a path, {N_SAMPLES} scores and their mean, found {n_scores} scores; run the script with --pic-num \
             {N_SAMPLES}, as dist_eval.sh does (`{text}`)"
        ));
    }
    let scores: [f64; N_SAMPLES] = std::array::from_fn(|at| numbers[at]);
    if let Some(score) = scores.iter().find(|score| !(0.0..=1.0).contains(*score)) {
        return Err(format!("expected scores from 0 to 1, found {score}"));
    }
    let mean = scores.iter().sum::<f64>() / N_SAMPLES as f64;
    match (mean - numbers[N_SAMPLES]).abs() < TOLERANCE {
        true => Ok((rest, scores)),
        false => {
            Err(format!("expected {mean}, the mean of its scores, at its end, found {}", numbers[N_SAMPLES]))
        }
    }
}

/// The cell and the item of a picture's path.
fn place(run: &BenchRun, image: &str, given: Option<&str>) -> Result<(String, String), String> {
    let mut parts = image.rsplit(['/', '\\']);
    let name = parts.next().unwrap_or_default();
    let id = name.split('.').next().filter(|id| !id.is_empty() && name.ends_with(".png"));
    let id = id.ok_or_else(|| format!("expected the path of a picture ITEM.png, found `{image}`"))?;
    let cell = run.cell_of(parts.next().filter(|folder| !folder.is_empty()), given)?;
    match run.item(&ItemKey::new(&cell, id, 0)).is_some() {
        true => Ok((cell, id.to_owned())),
        false => Err(format!("the run has no prompt `{id}` (`{image}`)")),
    }
}

/// The script's own total, where it is there, against that of the rows.
fn check_total(
    file: &ResultFile,
    values: &BTreeMap<String, BTreeMap<ItemKey, f64>>,
) -> Result<(), ExchangeError> {
    let totals =
        file.lines().filter_map(|(line, text)| Some((line, text.strip_prefix("DPG-Bench score: ")?)));
    for (line, total) in totals {
        let total: f64 = total
            .trim()
            .parse()
            .map_err(|_| file.row(line, format!("expected a number, found `{total}`")))?;
        let all: Vec<f64> = values.values().flat_map(BTreeMap::values).copied().collect();
        let mean = 100.0 * all.iter().sum::<f64>() / all.len().max(1) as f64;
        // NumPy adds in another order.
        if (mean - total).abs() > 1e-6 {
            return Err(file.row(
                line,
                format!(
                    "expected {mean}, which the rows above give, found {total}; rows were lost or changed"
                ),
            ));
        }
    }
    Ok(())
}

/// The answers by category, or why there are none.
struct Details {
    file: Option<specimen_record::FileDigest>,
    /// Answers with yes and answers in all, by image and category.
    counts: BTreeMap<(ItemKey, &'static str), (u32, u32)>,
    why: Option<String>,
}

impl Details {
    /// Those in the file of details next to the results.
    fn beside(
        finished: &Finished<'_>,
        results: &Path,
        run: &BenchRun,
        given: Option<&str>,
    ) -> Result<Self, ExchangeError> {
        let none = |why: String| Ok(Self { file: None, counts: BTreeMap::new(), why: Some(why) });
        let stem = results.file_stem().unwrap_or_default().to_string_lossy();
        let path = results.with_file_name(format!("{stem}_detail.txt"));
        if !path.is_file() {
            return none(format!("there is no {}, which has the answers", path.display()));
        }
        let questions = match PROMPTS.file(finished).and_then(|path| Ok(dpg::questions(&path)?)) {
            Ok(questions) => questions,
            Err(error) => return none(format!("the categories of the questions are not known: {error}")),
        };
        let file = ResultFile::read(&path)?;
        let mut counts: BTreeMap<(ItemKey, &'static str), (u32, u32)> = BTreeMap::new();
        // A question that an item has twice is answered twice, in the file's order.
        let mut n_asked: BTreeMap<(ItemKey, &str), usize> = BTreeMap::new();
        for (line, text) in file.lines().filter(|(_, text)| !text.trim().is_empty()) {
            let Detail { image, sample, question, answer } =
                detail(text).map_err(|why| file.row(line, why))?;
            let (cell, id) = place(run, image, given).map_err(|why| file.row(line, why))?;
            let key = ItemKey::new(&cell, &id, sample);
            let asked = n_asked.entry((key.clone(), question)).or_default();
            let known =
                questions.get(&id).into_iter().flatten().filter(|known| known.text == question).nth(*asked);
            let known = known.ok_or_else(|| {
                file.row(line, format!("expected a question that dpg_bench.csv has of `{id}` and that is new here, found `{question}`"))
            })?;
            *asked += 1;
            let (n_yes, n) = counts.entry((key, known.category)).or_default();
            (*n_yes, *n) = (*n_yes + u32::from(answer == "yes"), *n + 1);
        }
        Ok(Self { file: Some(file.digest()), counts, why: None })
    }

    /// The share of yes in a category, of each image that has a question of it.
    fn of(&self, cell: &str, category: &str) -> (BTreeMap<ItemKey, f64>, Option<String>) {
        let own = self.counts.iter().filter(|((key, of), _)| *of == category && key.cell() == cell);
        let shares: BTreeMap<ItemKey, f64> =
            own.map(|((key, _), &(n_yes, n))| (key.clone(), f64::from(n_yes) / f64::from(n))).collect();
        let why = self.why.clone().or_else(|| {
            shares.is_empty().then(|| format!("no question about {cell} is of the category {category}"))
        });
        (shares, why)
    }
}

/// A line of the file of details.
struct Detail<'t> {
    image: &'t str,
    sample: u32,
    question: &'t str,
    answer: &'t str,
}

fn detail(text: &str) -> Result<Detail<'_>, String> {
    let parsed = text.split_once(".png, (").and_then(|(before, rest)| {
        let (corners, rest) = rest.split_once("), ")?;
        let corners: Vec<u32> = corners.split(", ").map(|n| n.parse().ok()).collect::<Option<_>>()?;
        let [left, top, _, _] = corners[..] else { return None };
        let (question, answer) = rest.rsplit_once(", ")?;
        let sample = u32::from(left > 0) + 2 * u32::from(top > 0);
        Some(Detail { image: &text[..before.len() + ".png".len()], sample, question, answer: answer.trim() })
    });
    parsed.ok_or_else(|| {
        format!("expected `ITEM.png, (left, top, right, bottom), question, answer`, found `{text}`")
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;

    #[test]
    fn a_row_has_four_scores_and_their_mean() {
        assert_eq!(
            row("a, b/cups.png, 1.0, 0.5, 0.0, 0.5, 0.5").unwrap(),
            ("a, b/cups.png", [1.0, 0.5, 0.0, 0.5])
        );
        for (text, why) in [
            ("cups.png, 1.0, 1.0", "found 1 scores"),
            ("cups.png, 1.0, 0.5, 0.0, 0.5, 0.75", "expected 0.5, the mean"),
            ("cups.png, 1.5, 0.5, 0.0, 0.5, 0.625", "found 1.5"),
            ("cups.png, nan, 0.5, 0.0, 0.5, nan", "found NaN"),
            ("cups.png", "found 0 scores"),
        ] {
            let message = row(text).unwrap_err();
            assert!(message.contains(why), "{text}: {message}");
        }
    }

    #[test]
    fn a_detail_has_its_image_by_the_corners_and_a_question_with_commas() {
        let found =
            detail("x/cups.png, (256, 0, 512, 256), Are there cups, and (two), plates?, yes").unwrap();
        assert_eq!((found.image, found.sample), ("x/cups.png", 1));
        assert_eq!((found.question, found.answer), ("Are there cups, and (two), plates?", "yes"));
        assert_eq!(detail("x/cups.png, (0, 256, 256, 512), Q?, no").unwrap().sample, 2);
        assert_eq!(detail("x/cups.png, (256, 256, 512, 512), Q?, no").unwrap().sample, 3);
        assert!(detail("x/cups.png, (0, 0), Q?, no").is_err() && detail("").is_err());
    }

    #[test]
    fn a_grid_is_filled_left_to_right_then_down() {
        let image = |value: u8| Pixels { width: 2, height: 2, rgb: vec![value; 12] };
        let bytes = grid(&[image(1), image(2), image(3), image(4)], "cups").unwrap();
        let picture = image::load_from_memory(&bytes).unwrap().into_rgb8();
        assert_eq!(picture.dimensions(), (4, 4));
        let at = |x, y| picture.get_pixel(x, y).0[0];
        assert_eq!([at(0, 0), at(3, 1), at(1, 2), at(2, 3)], [1, 2, 3, 4]);
    }
}
