//! Images that were made elsewhere, imported as a run: checked, written anew as PNG, recorded like every
//! other, and marked as imported wherever they are shown. Their times are those that the table reports, of an
//! unknown clock: they form ratios with one another, never with times of this program.

mod imported_plan;

use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::SystemTime,
};

use specimen_datasets::{PromptSet, SourceFile, latencies, latencies::ImageRow};
use specimen_experiments::{
    plan::Plan,
    spec::{DatasetSpec, Imported, ModelSpec, Sampling},
};
use specimen_foundation::failure;
use specimen_models::seam::loaded_model::Picture;
use specimen_record::{
    Appender, DatasetDigest, Digest, Durability, FileDigest, Git, Hardware, Item, Manifest, Phases, PlanFile,
    Record, RunDir, SCHEMA, StepsRow, Timestamp, TimingRow, canonical_json, write_document,
};

use self::imported_plan::{in_order, plan, prompts_of, uneven_prompts};
use crate::{
    driver::{
        events::DriverEvent,
        executor::Context,
        finish::{Outcome, finish},
    },
    error::RunError,
    external::picture,
    images::{
        external_processes::picture_of,
        external_rows::{ExternalFacts, record},
        generate::save,
        load::Models,
    },
    machine,
    plan::stored_plan::{plan_file, word_of},
    process::{
        disk_wait::{DiskWait, Wait},
        lock::Lock,
        stop_request::StopRequest,
    },
};

/// What is imported, and what is known of it.
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
    /// The dataset that the table's prompts are of, with its prompts: their texts, for a table without them.
    pub dataset: Option<(&'a DatasetSpec, &'a PromptSet)>,
    /// The run's folder, which must not hold a run.
    pub out: &'a Path,
    /// The command line as typed, for the manifest.
    pub argv: Vec<String>,
    /// Which sources the program was built from.
    pub git: Git,
}

/// Imports images.
pub fn import(
    import: &Import<'_>,
    stop: &StopRequest,
    report: &mut dyn FnMut(DriverEvent),
) -> Result<Outcome, RunError> {
    let (rows, source) = latencies::read(import.table, import.folder)?;
    let imported = Imported { table: source.name.clone(), table_blake3: source.blake3.to_string() };
    let plan = plan(import, &rows, &imported)?;
    let file = plan_file(&plan)?;
    // Every picture is read before anything is written.
    for row in &rows {
        stop.check()?;
        picture_at(import, row)?;
    }
    for what in uneven_prompts(&rows, import.cell) {
        report(DriverEvent::UnevenPrompts { what: format!("{}: {what}", import.table.display()) });
    }
    let is_ours = std::fs::read_dir(import.out).map_or(true, |mut entries| entries.next().is_none());
    let run = RunDir::create(import.out)?;
    let written = write_run(import, (&run, &plan, &file), (&rows, &source), stop, report);
    if written.is_err() && is_ours {
        // Half an import is no run: nothing could continue it. What went wrong first is what is said.
        let _ = std::fs::remove_dir_all(import.out);
    }
    written
}

/// Writes the run: its plan, its images with their rows, and what follows from them.
fn write_run(
    import: &Import<'_>,
    (run, plan, file): (&RunDir, &Plan, &PlanFile),
    (rows, source): (&[ImageRow], &SourceFile),
    stop: &StopRequest,
    report: &mut dyn FnMut(DriverEvent),
) -> Result<Outcome, RunError> {
    let _lock = Lock::take(&run.lock())?;
    write_document(&run.manifest(), &manifest(import, plan, file, rows, source)?)?;
    write_document(&run.plan(), file)?;
    let mut records = Appender::create(&run.attempt_records(0, 0), Durability::OnFinish)?;
    let mut steps = Appender::create(&run.attempt_steps(0, 0), Durability::OnFinish)?;
    let mut timing = Appender::create(&run.attempt_timing(0, 0), Durability::OnFinish)?;
    // Rows and items are in one order.
    let mut of_row: Vec<(&ImageRow, &Item)> =
        in_order(rows, import.cell).into_iter().zip(&file.items).collect();
    of_row.sort_by_key(|(row, _)| row.file.as_str());
    for (order, (row, item)) in of_row.into_iter().enumerate() {
        stop.check()?;
        let picture = picture_at(import, row)?;
        let name = item.key.file_name("png");
        save(&picture, &run.image(0, &name)?)?;
        let facts = ExternalFacts {
            tokens: row.tokens.clone().unwrap_or_default(),
            forwards: row.forwards,
            draft_forwards: 0,
        };
        steps.append(&StepsRow { schema: SCHEMA, key: item.key.clone(), steps: Vec::new() })?;
        timing.append(&timing_row(row, item, order as u32))?;
        records.append(&record(item, name, &picture, facts))?;
    }
    steps.finish()?;
    timing.finish()?;
    Appender::<Record>::finish(records)?;
    let report = RefCell::new(report);
    let report = |event: DriverEvent| report.borrow_mut()(event);
    let on_wait = |wait: Wait| report(wait.into());
    let disk = DiskWait::new(stop, None, &on_wait);
    let context = Context { run, plan, file, data_root: None, disk, report: &report };
    finish(&context, &mut Models::new(None), &[])
}

/// The picture of a row.
fn picture_at(import: &Import<'_>, row: &ImageRow) -> Result<Picture, RunError> {
    picture::read(import.folder, &row.file)
        .map(picture_of)
        .map_err(|e| failure!(Missing: "{}: {e}", import.folder.display()).into())
}

/// The time that the table reports.
fn timing_row(row: &ImageRow, item: &Item, order: u32) -> TimingRow {
    // A row of times has more than none.
    let reported = ((row.seconds * 1e9).round() as u64).max(1);
    TimingRow {
        schema: SCHEMA,
        key: item.key.clone(),
        attempt: 0,
        block: item.block,
        order,
        warmup: false,
        phases_ns: Phases::default(),
        decode_ns: reported,
        e2e_ns: reported,
        told_ns: Some(BTreeMap::from([("told".to_owned(), reported)])),
        batch: None,
    }
}

/// What is known: not the machine, nor the programs that made the images.
fn manifest(
    import: &Import<'_>,
    plan: &Plan,
    file: &PlanFile,
    rows: &[ImageRow],
    source: &SourceFile,
) -> Result<Manifest, RunError> {
    let spec = serde_json::to_value(&plan.spec).map_err(|e| failure!(Spec: "{e}"))?;
    let table = PathBuf::from(&source.name);
    let blake3: Digest = source.blake3.to_string().parse().map_err(|why| failure!(Spec: "{why}"))?;
    Ok(Manifest {
        schema: SCHEMA,
        name: plan.spec.name.clone(),
        argv: import.argv.clone(),
        spec_digest: Digest::of(canonical_json(&spec).as_bytes()),
        spec,
        plan_digest: file.digest.clone(),
        git: import.git.clone(),
        weights: Vec::new(),
        weights_notes: Vec::new(),
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
        dtype: word_of(&import.model.dtype)?,
        device: import.model.device.clone(),
        threads: 1,
        environment: machine::environment(),
        started: Timestamp::from(SystemTime::now()),
        sealed: None,
    })
}
