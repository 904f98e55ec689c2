//! Images that were made elsewhere, taken in as a run: checked, written anew as PNG, recorded like every other, and
//! marked as imported wherever they are shown. Their times are told, by whatever clock: they stand in ratios with one
//! another, never with times of this program.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::SystemTime,
};

use specimen_datasets::{PromptId, PromptSet, latencies, latencies::ImageRow};
use specimen_decode::method::MethodConfig;
use specimen_experiments::{
    plan::{Block as PlanBlock, Item as PlanItem, Plan, PlanPrompt},
    spec::{Cell, DatasetSpec, Imported, ModelSpec, SCHEMA as SPEC_SCHEMA, Sampling, Spec, Timing},
};
use specimen_external::picture;
use specimen_record::{
    Appender, DatasetDigest, Digest, Durability, FileDigest, Git, Hardware, Item, Manifest, Phases, PlanFile,
    Record, RunDir, SCHEMA, StepsRow, Timestamp, TimingRow, canonical_json, write_document,
};

use crate::{
    driver::{self, Outcome, plan_file},
    elsewhere,
    error::RunError,
    external_maker::picture_of,
    generate::save,
    load::Models,
    lock::Lock,
    machine,
    room::Room,
    stage::Stage,
    stop::Stop,
};

/// What is taken in, and what is known of it.
pub struct Import<'a> {
    /// The folder of images.
    pub folder: &'a Path,
    /// The table with a row for each; see [`latencies`].
    pub table: &'a Path,
    /// Name of the run.
    pub name: &'a str,
    /// The cell of rows that name none.
    pub cell: &'a str,
    /// The model that made them; its device is not known.
    pub model: ModelSpec,
    /// How its tokens were drawn.
    pub sampling: Sampling,
    /// Prompts by id, for a table without their texts.
    pub prompts: Option<&'a PromptSet>,
    /// The run's folder, which must not hold a run.
    pub out: &'a Path,
    /// The command line as typed, for the manifest.
    pub argv: Vec<String>,
    /// Which sources the program was built from.
    pub git: Git,
}

/// Takes images in.
///
/// # Errors
/// A table or an image that is not as it should be, a prompt without a text, a folder that holds a run.
pub fn import(import: &Import<'_>, stop: &Stop, report: &mut dyn FnMut(Stage)) -> Result<Outcome, RunError> {
    let (rows, source) = latencies::read(import.table, import.folder)?;
    let imported = Imported { table: source.name.clone(), table_blake3: source.blake3.to_string() };
    let plan = plan(import, &rows, &imported)?;
    let file = plan_file(&plan)?;
    // Every picture is read before anything is written.
    let pictures = |row: &ImageRow| {
        picture::read(import.folder, &row.file)
            .map_err(|e| RunError::Image(format!("{}: {e}", import.folder.display())))
    };
    for row in &rows {
        stop.check()?;
        pictures(row)?;
    }
    let run = RunDir::create(import.out)?;
    let _lock = Lock::take(&run.lock())?;
    write_document(&run.manifest(), &manifest(import, &plan, &file, &rows, &source)?)?;
    write_document(&run.plan(), &file)?;
    let mut records = Appender::create(&run.attempt_records(0, 0), Durability::OnFinish)?;
    let mut steps = Appender::create(&run.attempt_steps(0, 0), Durability::OnFinish)?;
    let mut timing = Appender::create(&run.attempt_timing(0, 0), Durability::OnFinish)?;
    // Rows and items are in one order.
    let mut of_row: Vec<(&ImageRow, &Item)> =
        in_order(&rows, import.cell).into_iter().zip(&file.items).collect();
    of_row.sort_by_key(|(row, _)| row.file.as_str());
    for (order, (row, item)) in of_row.into_iter().enumerate() {
        stop.check()?;
        let picture = picture_of(pictures(row)?);
        let name = item.key.file_name("png");
        save(&picture, &run.image(0, &name)?)?;
        let facts = elsewhere::Facts {
            tokens: row.tokens.clone().unwrap_or_default(),
            forwards: row.forwards.unwrap_or(0),
            draft_forwards: 0,
        };
        steps.append(&StepsRow { schema: SCHEMA, key: item.key.clone(), steps: Vec::new() })?;
        timing.append(&told(row, item, order as u32))?;
        records.append(&elsewhere::record(item, name, &picture, facts))?;
    }
    steps.finish()?;
    timing.finish()?;
    Appender::<Record>::finish(records)?;
    driver::finish(&run, &plan, &file, &mut Models::new(None), None, Room::new(stop, None), report)
}

/// The time that the table tells.
fn told(row: &ImageRow, item: &Item, order: u32) -> TimingRow {
    let told = (row.seconds * 1e9).round() as u64;
    TimingRow {
        schema: SCHEMA,
        key: item.key.clone(),
        attempt: 0,
        block: item.block,
        order,
        warmup: false,
        phases_ns: Phases::default(),
        decode_ns: told,
        e2e_ns: told,
        told_ns: Some(BTreeMap::from([("told".to_owned(), told)])),
    }
}

/// The cell of a row.
fn cell_of<'r>(row: &'r ImageRow, default: &'r str) -> &'r str {
    row.cell.as_deref().unwrap_or(default)
}

/// Names of the cells, in the order in which rows first name them.
fn cells_of<'r>(rows: &'r [ImageRow], default: &'r str) -> Vec<&'r str> {
    let mut cells: Vec<&str> = Vec::new();
    for row in rows {
        let cell = cell_of(row, default);
        if !cells.contains(&cell) {
            cells.push(cell);
        }
    }
    cells
}

/// Ids of the prompts, in the order in which rows first name them.
fn prompts_of(rows: &[ImageRow]) -> Vec<&PromptId> {
    let mut seen = BTreeSet::new();
    rows.iter().map(|row| &row.prompt_id).filter(|id| seen.insert(*id)).collect()
}

/// The rows as a plan orders items: by cell, prompt, and the table's order.
fn in_order<'r>(rows: &'r [ImageRow], default: &'r str) -> Vec<&'r ImageRow> {
    let cells = cells_of(rows, default);
    let place: BTreeMap<&PromptId, usize> =
        prompts_of(rows).into_iter().enumerate().map(|(at, id)| (id, at)).collect();
    let mut ordered: Vec<&ImageRow> = rows.iter().collect();
    ordered.sort_by_key(|row| {
        let cell = cells.iter().position(|cell| *cell == cell_of(row, default));
        (cell, place[&row.prompt_id])
    });
    ordered
}

fn plan(import: &Import<'_>, rows: &[ImageRow], imported: &Imported) -> Result<Plan, RunError> {
    let at = |row: &ImageRow| format!("{}: {}", import.table.display(), row.place);
    let cells = cells_of(rows, import.cell);
    let refused = [import.name].into_iter().find(|name| !is_name(name));
    if let Some(name) = refused.or_else(|| cells.iter().copied().find(|name| !is_cell_name(name))) {
        return Err(RunError::Spec(format!(
            "`{}` is no name of a run or a cell: 1 to 64 of `a-z 0-9 . _ + -`, a letter or digit first; a cell may have \
             its settings in brackets, as in `lantern[delta=0.1,k=100]`",
            name.escape_debug()
        )));
    }
    let mut texts: BTreeMap<&PromptId, &str> = BTreeMap::new();
    for row in rows {
        let known =
            || import.prompts.and_then(|set| set.get(&row.prompt_id)).map(|prompt| prompt.text.as_str());
        let text = row.prompt.as_deref().or_else(known).ok_or_else(|| {
            let remedy = match import.prompts {
                None => "give the texts in a column `prompt`, or the dataset that has them with --dataset"
                    .to_owned(),
                Some(set) => format!("`{}` has no prompt of this id", set.name()),
            };
            RunError::Spec(format!("{}: the prompt `{}` has no text; {remedy}", at(row), row.prompt_id))
        })?;
        if let Some(other) = texts.insert(&row.prompt_id, text).filter(|other| *other != text) {
            let (id, other, text) = (&row.prompt_id, other.escape_debug(), text.escape_debug());
            return Err(RunError::Spec(format!(
                "{}: the prompt `{id}` is \"{text}\" here and \"{other}\" before; one id stands for one text, and where \
                 the table has no column `prompt_id` the id is the number in the file's name",
                at(row)
            )));
        }
    }
    let prompts: Vec<PlanPrompt> = prompts_of(rows)
        .into_iter()
        .map(|id| PlanPrompt { id: id.to_string(), text: texts[id].to_owned() })
        .collect();
    let place: BTreeMap<&str, u32> =
        prompts.iter().zip(0..).map(|(prompt, at)| (prompt.id.as_str(), at)).collect();
    let mut samples: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let items: Vec<PlanItem> = in_order(rows, import.cell)
        .into_iter()
        .map(|row| {
            let cell = cells.iter().position(|cell| *cell == cell_of(row, import.cell)).unwrap_or(0) as u32;
            let prompt = place[row.prompt_id.as_str()];
            let sample = samples.entry((cell, prompt)).or_default();
            let item = PlanItem { cell, prompt, sample: *sample, block: 0, seed: row.seed.unwrap_or(0) };
            *sample += 1;
            item
        })
        .collect();
    let cell = |name: &&str| Cell {
        name: (*name).to_owned(),
        base: name.split('[').next().unwrap_or(name).to_owned(),
        params: BTreeMap::new(),
        model: import.model.clone(),
        sampling: import.sampling.clone(),
        method: MethodConfig::ar(),
        external: None,
        imported: Some(imported.clone()),
        timed: true,
    };
    let dataset = import.prompts.map_or("imported", PromptSet::name).to_owned();
    let spec = Spec {
        schema: SPEC_SCHEMA,
        name: import.name.to_owned(),
        seed: 0,
        analysis: "Images made elsewhere and taken in; their times are told, not measured here.".to_owned(),
        sources: vec![imported.table.clone()],
        dataset: DatasetSpec {
            name: dataset.clone(),
            limit: None,
            subset_seed: None,
            caption: None,
            samples: 1,
            part: None,
        },
        timing: Timing { warmup: 0, blocks: 1 },
        cells: cells.iter().map(cell).collect(),
        metrics: Vec::new(),
        diagnostics: Vec::new(),
        published: Vec::new(),
        expect: Vec::new(),
    };
    let blocks = vec![PlanBlock { index: 0, timed: true, items: (0..items.len() as u32).collect() }];
    Ok(Plan { spec, dataset, prompts, items, blocks, digest: String::new() })
}

/// A name that is also a file name, as cells of specs have it.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._+-".contains(c);
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    starts && name.len() <= 64 && name.chars().all(fits)
}

/// The name of a cell: with settings in brackets, such as those that axes make.
fn is_cell_name(name: &str) -> bool {
    let Some((base, rest)) = name.split_once('[') else { return is_name(name) };
    let settings = rest.strip_suffix(']').unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let is_setting = |text: &str| {
        text.split_once('=').is_some_and(|(key, value)| {
            !key.is_empty() && !value.is_empty() && key.chars().chain(value.chars()).all(fits)
        })
    };
    is_name(base) && name.len() <= 256 && settings.split(',').all(is_setting)
}

/// The plan that `file` is, for a run whose prompts are nowhere else.
///
/// # Errors
/// Items of a cell that `spec` does not have.
pub(crate) fn plan_of(spec: Spec, file: &PlanFile) -> Result<Plan, RunError> {
    let mut prompts: Vec<PlanPrompt> = Vec::new();
    let mut place: BTreeMap<&str, u32> = BTreeMap::new();
    let mut items = Vec::with_capacity(file.items.len());
    for item in &file.items {
        let cell = spec.cells.iter().position(|cell| cell.name == item.cell);
        let cell = cell.ok_or_else(|| {
            RunError::Spec(format!("the plan has items of `{}`, the spec no such cell", item.cell))
        })?;
        let prompt = *place.entry(&item.prompt_id).or_insert_with(|| {
            prompts.push(PlanPrompt { id: item.prompt_id.clone(), text: item.prompt.clone() });
            prompts.len() as u32 - 1
        });
        let (cell, sample, block, seed) = (cell as u32, item.sample, item.block, item.seed.0);
        items.push(PlanItem { cell, prompt, sample, block, seed });
    }
    let blocks = vec![PlanBlock { index: 0, timed: true, items: (0..items.len() as u32).collect() }];
    let dataset = spec.dataset.name.clone();
    Ok(Plan { spec, dataset, prompts, items, blocks, digest: file.digest.to_string() })
}

/// What is known: not the machine, nor the programs that made the images.
fn manifest(
    import: &Import<'_>,
    plan: &Plan,
    file: &PlanFile,
    rows: &[ImageRow],
    source: &specimen_datasets::SourceFile,
) -> Result<Manifest, RunError> {
    let spec = serde_json::to_value(&plan.spec).map_err(|e| RunError::Spec(e.to_string()))?;
    let table = PathBuf::from(&source.name);
    let blake3: Digest = source.blake3.to_string().parse().map_err(RunError::Spec)?;
    Ok(Manifest {
        schema: SCHEMA,
        name: plan.spec.name.clone(),
        argv: import.argv.clone(),
        spec_digest: Digest::of(canonical_json(&spec).as_bytes()),
        spec,
        plan_digest: file.digest.clone(),
        git: import.git.clone(),
        weights: Vec::new(),
        datasets: vec![DatasetDigest {
            name: plan.dataset.clone(),
            digest: blake3.clone(),
            n: prompts_of(rows).len() as u64,
            caption: None,
            files: vec![FileDigest { file: table.display().to_string(), blake3 }],
        }],
        hardware: Hardware {
            cpu_model: "unknown (imported)".to_owned(),
            cores: 0,
            cpu_features: Vec::new(),
            memory_mb: 0,
            gpus: Vec::new(),
        },
        software: machine::software(),
        dtype: crate::summarise::word_of(&import.model.dtype)?,
        device: import.model.device.clone(),
        threads: 1,
        environment: machine::environment(),
        started: Timestamp::from(SystemTime::now()),
        sealed: None,
    })
}
