//! The images of a run, prompt by prompt with all cells side by side, read in one pass over the merged rows; and
//! the list of all images as CSV.

use std::collections::{BTreeMap, BTreeSet};

use specimen_record::{
    CellSummary, Item, PlanFile, Record, RunDir, Seed, Status, StepsRow, Summary, read_document, visit_rows,
};

use crate::{ReportError, table::CsvText};

/// The first prompts of a run, and where every image is.
pub(crate) struct ImagesByPrompt {
    /// Names of the columns.
    pub(crate) cells: Vec<String>,
    pub(crate) rows: Vec<PromptRow>,
    /// Rows that the plan has in all.
    pub(crate) n_planned: usize,
    /// All images of the run: counts, seed, place.
    pub(crate) csv: String,
}

/// One prompt and one seed.
pub(crate) struct PromptRow {
    pub(crate) prompt_id: String,
    pub(crate) prompt: String,
    pub(crate) sample: u32,
    /// Absent where it is not known, or not one for all cells: both may be so of an import.
    pub(crate) seed: Option<Seed>,
    /// One a column.
    pub(crate) cell_images: Vec<CellImage>,
}

/// What a cell made of a prompt.
#[derive(Default)]
pub(crate) struct CellImage {
    /// Its record; absent where it was not run.
    pub(crate) record: Option<Record>,
    /// Its trace; absent where none was kept.
    pub(crate) steps: Option<Vec<[u32; 5]>>,
    /// The shard whose folder has its image; absent where the file is gone or there never was one.
    pub(crate) shard: Option<u32>,
}

impl ImagesByPrompt {
    /// The first `n_rows` rows of the plan, first samples before second ones; or the reason why there are none.
    pub(crate) fn of(
        run: &RunDir,
        summary: &Summary,
        n_rows: usize,
    ) -> Result<Result<ImagesByPrompt, String>, ReportError> {
        let Some(first) = summary.cells.first() else { return Ok(Err("the run has no cells".to_owned())) };
        if !run.merged_records().is_file() {
            return Ok(Err("the run has no merged records".to_owned()));
        }
        // Cells of another dataset have no row in common with these.
        let cells: Vec<&CellSummary> = summary.cells.iter().filter(|c| c.dataset == first.dataset).collect();
        let plan: PlanFile = read_document(&run.plan())?;
        let mut items: Vec<_> = plan.items.iter().filter(|item| item.cell == first.id).collect();
        if items.is_empty() {
            return Ok(Err(format!("the plan has no prompt for cell `{}`", first.id)));
        }
        let n_planned = items.len();
        items.sort_by_key(|item| item.sample);
        items.truncate(n_rows);
        let mut seeds: BTreeMap<(&str, u32), BTreeSet<Seed>> = BTreeMap::new();
        for item in plan.items.iter().filter(|item| cells.iter().any(|cell| cell.id == item.cell)) {
            seeds.entry((&item.prompt_id, item.sample)).or_default().insert(item.seed);
        }
        let common = |item: &Item| {
            let is_one = seeds[&(item.prompt_id.as_str(), item.sample)].len() == 1;
            item.seed.known().filter(|_| is_one)
        };
        let mut by_prompt = ImagesByPrompt {
            cells: cells.iter().map(|cell| cell.id.clone()).collect(),
            rows: items
                .iter()
                .map(|item| PromptRow {
                    prompt_id: item.prompt_id.clone(),
                    prompt: item.prompt.clone(),
                    sample: item.sample,
                    seed: common(item),
                    cell_images: cells.iter().map(|_| CellImage::default()).collect(),
                })
                .collect(),
            n_planned,
            csv: String::new(),
        };
        by_prompt.read_records(run, &plan)?;
        by_prompt.read_steps(run)?;
        Ok(Ok(by_prompt))
    }

    /// Places of the images by cell, prompt id and sample.
    fn places(&self) -> BTreeMap<(String, String, u32), (usize, usize)> {
        let row_of = |row: usize| {
            let PromptRow { prompt_id, sample, .. } = &self.rows[row];
            let cells = self.cells.iter().enumerate();
            cells.map(move |(column, cell)| ((cell.clone(), prompt_id.clone(), *sample), (row, column)))
        };
        (0..self.rows.len()).flat_map(row_of).collect()
    }

    fn read_records(&mut self, run: &RunDir, plan: &PlanFile) -> Result<(), ReportError> {
        let places = self.places();
        let shards = shards_of_images(run)?;
        let prompts: BTreeMap<&str, &str> =
            plan.items.iter().map(|item| (item.key.as_str(), item.prompt.as_str())).collect();
        let mut out = CsvText::new();
        out.write_record(COLUMNS)?;
        let mut failed = None;
        visit_rows::<Record>(&run.merged_records(), |record| {
            let shard = record.image.as_ref().and_then(|name| shards.get(name.as_str()).copied());
            let prompt = prompts.get(record.key.as_str()).copied().unwrap_or_default();
            if let Err(error) = out.write_record(line(&record, prompt, shard)) {
                failed.get_or_insert(error);
            }
            let place = (record.cell.clone(), record.prompt_id.clone(), record.sample);
            if let Some(&(row, column)) = places.get(&place) {
                let cell_image = &mut self.rows[row].cell_images[column];
                (cell_image.record, cell_image.shard) = (Some(record), shard);
            }
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        self.csv = out.into_text();
        Ok(())
    }

    fn read_steps(&mut self, run: &RunDir) -> Result<(), ReportError> {
        if !run.merged_steps().is_file() {
            return Ok(());
        }
        let places = self.places();
        visit_rows::<StepsRow>(&run.merged_steps(), |row| {
            let place = (row.key.cell(), row.key.prompt_id(), row.key.sample());
            if let Some(&(at, column)) = places.get(&place) {
                self.rows[at].cell_images[column].steps = Some(row.steps);
            }
        })?;
        Ok(())
    }
}

const COLUMNS: [&str; 20] = [
    "cell",
    "prompt_id",
    "sample",
    "seed",
    "prompt",
    "status",
    "error",
    "image",
    "width",
    "height",
    "n_tokens",
    "nfe",
    "n_steps",
    "n_draft_forwards",
    "accepted",
    "skipped_steps",
    "skipped_tokens",
    "forced",
    "out_of_support",
    "tvd_spent",
];

fn line(record: &Record, prompt: &str, shard: Option<u32>) -> [String; 20] {
    let image = match (&record.image, shard) {
        (Some(name), Some(shard)) => image_path(shard, name),
        _ => String::new(),
    };
    let known = record.known();
    [
        record.cell.clone(),
        record.prompt_id.clone(),
        record.sample.to_string(),
        or_empty(record.seed.known()),
        prompt.to_owned(),
        if record.status == Status::Ok { "ok" } else { "err" }.to_owned(),
        record.err.clone().unwrap_or_default(),
        image,
        or_empty(known.size.map(|[width, _]| width)),
        or_empty(known.size.map(|[_, height]| height)),
        or_empty(known.n_tokens),
        or_empty(known.nfe),
        or_empty(known.n_steps),
        or_empty(known.n_draft_forwards),
        or_empty(known.accepted),
        or_empty(known.skipped_steps),
        or_empty(known.skipped_tokens),
        or_empty(known.forced),
        or_empty(known.out_of_support),
        or_empty(known.tvd_spent),
    ]
}

fn or_empty<T: ToString>(known: Option<T>) -> String {
    known.map_or_else(String::new, |known| known.to_string())
}

/// Where an image is, seen from the report's folder.
pub(crate) fn image_path(shard: u32, name: &str) -> String {
    format!("../shards/{shard}/images/{name}")
}

/// The first shard that has each image, by the image's name.
fn shards_of_images(run: &RunDir) -> Result<BTreeMap<String, u32>, ReportError> {
    let mut found = BTreeMap::new();
    for shard in run.shards()? {
        let folder = run.images_dir(shard);
        let listing = match std::fs::read_dir(&folder) {
            Ok(listing) => listing,
            Err(absent) if absent.kind() == std::io::ErrorKind::NotFound => continue,
            Err(source) => return Err(crate::error::unlisted(&folder, source)),
        };
        for entry in listing {
            let entry = entry.map_err(|source| crate::error::unlisted(&folder, source))?;
            if let Ok(name) = entry.file_name().into_string() {
                found.entry(name).or_insert(shard);
            }
        }
    }
    Ok(found)
}
