//! GenEval (Ghosh, Hajishirzi and Schmidt, arXiv 2310.11513; djghosh13/geneval@16382b0): what `evaluation/evaluate_images.py`
//! reads, and what it writes. It reads a folder a prompt, `00000/metadata.jsonl` (the line of `evaluation_metadata.jsonl` of
//! this number) and `00000/samples/0000.png` and so on, and writes a line of JSON an image: `filename`, `tag`, `prompt`,
//! `correct`, and what it found. The score is the mean of the six tasks' means over images, as `summary_scores.py` has it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use specimen_datasets::{geneval, manifest::GENEVAL_PROMPTS};
use specimen_record::ItemKey;

use crate::bench::{BenchPrompts, BenchRun, N_SAMPLES, check_prompt, read_image};
use crate::new_folder::NewFolder;
use crate::scores::{CellScores, Importer, NamedScores, ResultFile, Seen};
use crate::{ExchangeError, Exporter, Finished};

pub(crate) const EXPORTER: Exporter = Exporter {
    name: "geneval",
    what: "a folder a cell with the images as GenEval's script reads them",
    next: "in a checkout of djghosh13/geneval, for each folder CELL+DIGEST: python evaluation/evaluate_images.py CELL+DIGEST \
           --outfile CELL.jsonl --model-path DETECTOR_FOLDER; then: specimen import-scores RUN CELL.jsonl",
    write,
};

pub(crate) const IMPORTER: Importer = Importer {
    metric: "geneval",
    ending: "jsonl",
    what: "the file that evaluate_images.py of GenEval writes (--outfile)",
    read,
};

/// The prompts with what a detector must find.
const PROMPTS: BenchPrompts = BenchPrompts { item: GENEVAL_PROMPTS, read: geneval::read };

fn write(finished: &Finished<'_>, folder: &mut NewFolder) -> Result<Vec<String>, ExchangeError> {
    let run = BenchRun::of(finished)?;
    let path = PROMPTS.file(finished)?;
    let (set, lines) = (geneval::read(&path, "geneval")?, geneval::lines(&path)?);
    let mut notes = Vec::new();
    for cell in run.cells() {
        let of_cell = run.folder(cell);
        for (item, records) in run.by_prompt(cell)? {
            check_prompt(&set, &path, item)?;
            let number: usize =
                item.prompt_id.parse().expect("the ids of the set are the numbers of its lines");
            let of_prompt = of_cell.join(format!("{number:05}"));
            folder.put(&of_prompt.join("metadata.jsonl"), format!("{}\n", lines[number]).as_bytes())?;
            for record in &records {
                let (bytes, _) = read_image(finished, record)?;
                folder.put(&of_prompt.join("samples").join(format!("{:04}.png", record.sample)), &bytes)?;
            }
            let note = format!("{} images a prompt; published scores are of {N_SAMPLES}", records.len());
            if records.len() != N_SAMPLES && !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    let n_prompts = run.by_prompt(run.cells()[0])?.len();
    if n_prompts != set.n_prompts() {
        notes.push(format!(
            "{n_prompts} of {} prompts: the score is of part of the benchmark",
            set.n_prompts()
        ));
    }
    Ok(notes)
}

/// What is read of a line.
#[derive(Deserialize)]
struct Row {
    filename: String,
    tag: String,
    prompt: String,
    correct: bool,
}

fn read(finished: &Finished<'_>, path: &Path, given: Option<&str>) -> Result<Vec<CellScores>, ExchangeError> {
    let file = ResultFile::read(path)?;
    let run = BenchRun::of(finished)?;
    let mut seen = Seen::new(&file);
    let mut tasks: BTreeMap<String, &'static str> = BTreeMap::new();
    let mut values: BTreeMap<String, BTreeMap<ItemKey, f64>> = BTreeMap::new();
    for (line, text) in file.lines().filter(|(_, text)| !text.trim().is_empty()) {
        let row: Row = serde_json::from_str(text).map_err(|error| {
            file.row(
                line,
                format!("expected an object with `filename`, `tag`, `prompt` and `correct`: {error}"),
            )
        })?;
        let place = Place::of(&row.filename).ok_or_else(|| {
            let shown = &row.filename;
            file.row(line, format!("`filename`: expected FOLDER/00000/samples/0000.png, found `{shown}`"))
        })?;
        let cell = run.cell_of(place.folder.as_deref(), given).map_err(|why| file.row(line, why))?;
        let key = ItemKey::new(&cell, &place.number.to_string(), place.sample);
        let item = run.item(&key).ok_or_else(|| {
            file.row(line, format!("`filename`: the run has no image {key} (`{}`)", row.filename))
        })?;
        if item.prompt != row.prompt {
            let (expected, found) = (&item.prompt, &row.prompt);
            return Err(
                file.row(line, format!("`prompt`: {key} is `{expected}` in the run, found `{found}`"))
            );
        }
        let task = geneval::TASKS.into_iter().find(|task| *task == row.tag).ok_or_else(|| {
            let known = geneval::TASKS.join(", ");
            file.row(line, format!("`tag`: expected one of {known}, found `{}`", row.tag))
        })?;
        let before = *tasks.entry(item.prompt_id.clone()).or_insert(task);
        if before != task {
            let why =
                format!("`tag`: another image of prompt {} has `{before}`, found `{task}`", item.prompt_id);
            return Err(file.row(line, why));
        }
        seen.add(line, &key)?;
        values.entry(cell).or_default().insert(key, f64::from(u8::from(row.correct)));
    }
    let mut scores = Vec::new();
    for (cell, of_cell) in values {
        seen.check_whole(&run, &cell)?;
        scores.push(CellScores {
            metric: "geneval",
            tool: "djghosh13/geneval",
            values: by_task(&cell, &of_cell, &tasks),
            cell,
            files: vec![file.digest()],
        });
    }
    seen.check_some(scores)
}

/// The overall score and that of each task.
fn by_task(
    cell: &str,
    of_cell: &BTreeMap<ItemKey, f64>,
    tasks: &BTreeMap<String, &'static str>,
) -> Vec<NamedScores> {
    let of_task = |task: &str| -> BTreeMap<ItemKey, f64> {
        let is_own = |key: &ItemKey| tasks.get(&key.prompt_id()).is_some_and(|own| *own == task);
        of_cell.iter().filter(|(key, _)| is_own(key)).map(|(key, value)| (key.clone(), *value)).collect()
    };
    let named = |task: &str| format!("geneval-{}", task.replace('_', "-"));
    let mut values = Vec::new();
    let mut absent = Vec::new();
    for task in geneval::TASKS {
        let per_item = of_task(task);
        let why = per_item.is_empty().then(|| format!("no prompt of {cell} is of the task {task}"));
        absent.extend(why.is_some().then_some(task));
        values.push(NamedScores { name: named(task), per_item, groups: None, why });
    }
    let why = (!absent.is_empty()).then(|| {
        format!("the score is the mean of six tasks, and the run has no prompt of {}", absent.join(", "))
    });
    let groups = of_cell.keys().map(|key| {
        let prompt = key.prompt_id();
        let task = tasks[&prompt].to_owned();
        (prompt, task)
    });
    let overall = NamedScores {
        name: "geneval-overall".to_owned(),
        per_item: of_cell.clone(),
        groups: Some(groups.collect()),
        why,
    };
    std::iter::once(overall).chain(values).collect()
}

/// What the path of an image says.
struct Place {
    folder: Option<String>,
    number: u32,
    sample: u32,
}

impl Place {
    fn of(path: &str) -> Option<Place> {
        let mut parts = path.rsplit(['/', '\\']);
        let sample = parts.next()?.strip_suffix(".png")?;
        if parts.next()? != "samples" {
            return None;
        }
        let number = parts.next()?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        (is_number(sample) && is_number(number)).then_some(())?;
        let folder = parts.next().filter(|folder| !folder.is_empty()).map(str::to_owned);
        Some(Place { folder, number: number.parse().ok()?, sample: sample.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_gives_folder_prompt_and_number_or_nothing() {
        let place =
            Place::of("/data/ar+0123456789ab/00017/samples/0003.png").map(|p| (p.folder, p.number, p.sample));
        assert_eq!(place, Some((Some("ar+0123456789ab".to_owned()), 17, 3)));
        assert_eq!(Place::of("00017/samples/0003.png").map(|p| p.folder), Some(None));
        for other in [
            "a.png",
            "ar/00017/0003.png",
            "ar/x/samples/0003.png",
            "ar/1/samples/.png",
            "ar/1/samples/0.jpg",
            "",
        ] {
            assert!(Place::of(other).is_none(), "{other}");
        }
        assert!(Place::of("ar/99999999999/samples/0.png").is_none());
    }
}
