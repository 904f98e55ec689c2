//! A whole run: plan, workers, merge, score, summary, seal.

use std::{
    path::Path,
    time::{Duration, SystemTime},
};

use specimen_datasets::{PromptSet, SourceFile, data_root::DataRoot};
use specimen_experiments::{
    plan::Plan,
    prompts,
    spec::{MetricSpec, ModelSpec, Spec},
};
use specimen_record::{
    Block, CellTally, Checksums, DatasetDigest, Digest, Done, FileDigest, Git, Item, ItemKey, Manifest,
    Merged, PlanFile, Record, RecordError, RunDir, SCHEMA, Seal, Seed, Status, Summary, Timestamp,
    WeightsDigest, canonical_json, merge, read_document, read_rows, restore_images, sweep_unfinished, tally,
};

use crate::{
    claim::Claim,
    diagnose::diagnose,
    error::RunError,
    executor::{Executor, Standing, Work},
    external_maker::{files_of, renew_files},
    grow::{check_nobody_works, obstacle},
    import,
    load::Models,
    lock::Lock,
    machine, maker,
    mend::{mend, remove_markers_of_lost},
    protocol_scores,
    room::Room,
    score::score,
    shard_map::{is_timed, timed_cells},
    stage::Stage,
    stop::Stop,
    summarise::{summarise, word_of},
    workplace::Workplace,
};

/// `status` holds the lock for an instant to see whether anybody has it.
const LOCK_PATIENCE: Duration = Duration::from_millis(300);

/// How to run a plan.
pub struct Options<'a> {
    /// The run's folder.
    pub out: &'a Path,
    /// Whether to continue a run that lies there.
    pub resume: bool,
    /// Where workers come from.
    pub executor: &'a dyn Executor,
    /// The command line as typed, for the manifest.
    pub argv: Vec<String>,
    /// Which sources the program was built from, for the manifest.
    pub git: Git,
    /// Where data lies.
    pub data_root: Option<DataRoot>,
    /// How long any one write may wait for room on the disk; `None`: until it is asked to stop.
    pub disk_wait: Option<Duration>,
}

/// How far a run came.
pub enum Ending {
    /// Everything was made, merged, scored and summarised.
    Finished(Box<Outcome>),
    /// Workers go on without this process.
    UnderWay {
        /// Shards that they still owe.
        n_shards: u32,
    },
}

impl Ending {
    /// The outcome of a run that is finished.
    #[must_use]
    pub fn finished(self) -> Option<Outcome> {
        match self {
            Self::Finished(outcome) => Some(*outcome),
            Self::UnderWay { .. } => None,
        }
    }
}

/// What a run ended with.
pub struct Outcome {
    /// The summary that was written.
    pub summary: Summary,
    /// Items that gave no image.
    pub n_failed: u64,
    /// Items in all.
    pub n_items: u64,
    /// The first failure's key and message.
    pub first_failure: Option<(String, String)>,
}

impl Outcome {
    /// The outcome as an error when items failed.
    ///
    /// # Errors
    /// Some items failed.
    pub fn check(&self) -> Result<(), RunError> {
        match &self.first_failure {
            None => Ok(()),
            Some((first, why)) => Err(RunError::Failed {
                n_failed: self.n_failed,
                n_items: self.n_items,
                first: first.clone(),
                why: why.clone(),
            }),
        }
    }
}

/// The plan of a spec over its dataset.
///
/// # Errors
/// Data that is absent or damaged.
pub fn plan_of(spec: Spec, data_root: Option<&DataRoot>) -> Result<(Plan, PromptSet), RunError> {
    let prompts = prompts::open(&spec.dataset, data_root)?;
    let plan = Plan::new(spec, &prompts)?;
    Ok((plan, prompts))
}

/// Runs `plan` to its end, or as far as the executor stays with it.
///
/// # Errors
/// A folder that cannot be used, weights that are absent, a worker that dies. Items that fail are in the
/// outcome. A disk that is full is waited for.
pub fn run(
    plan: &Plan,
    prompts: &PromptSet,
    options: &Options<'_>,
    stop: &Stop,
    report: &mut dyn FnMut(Stage),
) -> Result<Ending, RunError> {
    let file = plan_file(plan)?;
    let mut models = Models::of(&plan.spec, options.data_root.clone());
    let is_here = options.executor.owns_its_workers();
    // Loading here finds absent weights before anything is written.
    let weights = weights_of(plan, &mut models, is_here, report)?;
    protocol_scores::check(&plan.spec, options.data_root.as_ref())?;
    // Workers load their own; until the images are scored this process needs none.
    drop(models);
    let room = Room::new(stop, options.disk_wait);
    let (run, _lock) = open_run(plan, &file, prompts, weights, options, room, report)?;
    let n_swept = sweep_unfinished(run.root())?;
    // Where workers outlive their driver, whoever works on the run is no orphan.
    if is_here {
        fence(&run, room, report)?;
    }
    let map = options.executor.cut(&run, &file, &plan.spec)?;
    take_stock(&run, &file, plan, is_here, n_swept, report)?;
    let n_items = file.items.len() as u64;
    report(Stage::Generating { n_items });
    let data_root = options.data_root.as_ref();
    let disk_wait = options.disk_wait;
    let work = Work { run: &run, plan: &file, spec: &plan.spec, map, data_root, disk_wait };
    if let Standing::UnderWay { n_shards } = options.executor.work(&work, stop, report)? {
        return Ok(Ending::UnderWay { n_shards });
    }
    sweep(&run, report)?;
    let mut models = Models::of(&plan.spec, options.data_root.clone());
    finish(&run, plan, &file, &mut models, data_root, room, report)
        .map(|ended| Ending::Finished(Box::new(ended)))
}

/// Removes files that killed workers left half written.
fn sweep(run: &RunDir, report: &mut dyn FnMut(Stage)) -> Result<(), RunError> {
    let n_swept = sweep_unfinished(run.root())?;
    if n_swept > 0 {
        report(Stage::Torn { what: format!("{n_swept} files were never finished and are removed") });
    }
    Ok(())
}

/// Takes every shard from whatever orphan of an earlier driver still works on it, also those that the new cut
/// does not use.
fn fence(run: &RunDir, room: Room<'_>, report: &mut dyn FnMut(Stage)) -> Result<(), RunError> {
    for shard in run.shards()? {
        Claim::take(run, shard, room, report)?;
    }
    Ok(())
}

/// Says what is there of a run that goes on; `n_swept` files were never finished. Where it `is_still`, no worker outlived
/// an earlier driver.
fn take_stock(
    run: &RunDir,
    file: &PlanFile,
    plan: &Plan,
    is_still: bool,
    n_swept: u64,
    report: &mut dyn FnMut(Stage),
) -> Result<(), RunError> {
    if run.shards()?.is_empty() {
        return Ok(());
    }
    // A driver whose workers are elsewhere makes no images: only the workers' machines can differ.
    for what in if is_still { maker::differences(run)? } else { Vec::new() } {
        report(Stage::OtherMaker { what });
    }
    let tally = tally(run, file)?;
    remove_markers_of_lost(run, &tally)?;
    let sum = |of: fn(&CellTally) -> u64| tally.cells.iter().map(of).sum::<u64>();
    let n_items = file.items.len();
    let mut what = format!("{} of {n_items} images are there", sum(|cell| cell.n_ok));
    for (n, rest) in [
        (sum(|cell| cell.n_missing), "missing"),
        (sum(|cell| cell.n_failed), "failed and tried again"),
        (n_swept, "files were never finished and are removed"),
    ] {
        if n > 0 {
            what += &format!(", {n} {rest}");
        }
    }
    let cells = timed_cells(&plan.spec);
    let is_again = |block: &&Block| tally.begun.contains(&block.index) && is_timed(block, &cells);
    let again = file.blocks.iter().filter(is_again).count();
    if again > 0 {
        what += &format!("; {again} timed block(s) have some of their images and are timed again");
    }
    if let Some(first) = tally.lost.first() {
        let n = tally.lost.len();
        what += &format!("; {n} image(s) were made and are gone, the first is {}", first.display());
    }
    report(Stage::Resuming { what });
    Ok(())
}

/// Merges the attempts, scores the images, writes the summary and seals the manifest.
///
/// # Errors
/// Items without a record, images or weights that cannot be read.
pub fn finish(
    run: &RunDir,
    plan: &Plan,
    file: &PlanFile,
    models: &mut Models,
    data_root: Option<&DataRoot>,
    room: Room<'_>,
    report: &mut dyn FnMut(Stage),
) -> Result<Outcome, RunError> {
    let merged: Merged = room.write(report, || Ok(merge(run, file)?))?;
    for torn in &merged.torn {
        report(Stage::Torn { what: torn.to_string() });
    }
    if let Some(first) = merged.without_steps.first() {
        let (path, n) = (run.merged_steps(), merged.without_steps.len());
        return Err(RunError::WithoutSteps { path, n, first: first.to_string() });
    }
    // Shards of an earlier, finer cut were never ended by a worker; they are whole now.
    for shard in run.shards()? {
        if !run.done(shard).exists() {
            room.write(report, || Ok(restore_images(run, shard)?))?;
            let done = Done::of_shard(run, shard)?;
            room.put(report, &run.done(shard), &done)?;
        }
    }
    let records = read_rows::<Record>(&run.merged_records())?.rows;
    score(run, plan, &records, models, data_root, room, report)?;
    diagnose(run, plan, &records, models, room, report)?;
    let mut manifest: Manifest = read_document(&run.manifest())?;
    let place = Workplace::of(run, &manifest.hardware)?;
    if let Some(what) = place.several() {
        report(Stage::SeveralDevices { what });
    }
    let summary = summarise(run, plan, &records, &manifest, &place, &merged.result_digest)?;
    room.put(report, &run.summary(), &summary)?;
    let checksums = Checksums::of_run(run)?;
    manifest.sealed = Some(Seal {
        finished: Timestamp::from(SystemTime::now()),
        n_records: merged.n_records,
        result_digest: merged.result_digest.clone(),
        files_digest: Some(checksums.digest()),
    });
    room.put(report, &run.manifest(), &manifest)?;
    room.put(report, &run.checksums(), &checksums.with_manifest(run)?)?;
    let failed = records.iter().find(|record| record.status == Status::Err);
    let first_failure = failed.map(|r| (r.key.to_string(), r.err.clone().unwrap_or_default()));
    Ok(Outcome { summary, n_failed: merged.n_failed, n_items: merged.n_records, first_failure })
}

/// Scores the images of a run again, by the metrics of its spec and by those of `add`, which become part of it; one
/// that gives a value of the same name is replaced.
///
/// # Errors
/// A run that somebody works on, is not complete, or whose data or weights are not those it was made with; images,
/// weights or data that cannot be read.
pub fn rescore(
    run: &RunDir,
    add: &[MetricSpec],
    data_root: Option<&DataRoot>,
    stop: &Stop,
    report: &mut dyn FnMut(Stage),
) -> Result<Outcome, RunError> {
    let _lock = Lock::wait(&run.lock(), LOCK_PATIENCE, &Stop::never())?;
    let manifest: Manifest = read_document(&run.manifest())?;
    let mut spec: Spec = serde_json::from_value(manifest.spec.clone())
        .map_err(|e| RunError::Spec(format!("{}: `spec`: {e}", run.manifest().display())))?;
    let is_replaced = |old: &MetricSpec| add.iter().any(|new| new.values() == old.values());
    spec.metrics.retain(|metric| !is_replaced(metric));
    spec.metrics.extend_from_slice(add);
    protocol_scores::check(&spec, data_root)?;
    let file: PlanFile = read_document(&run.plan())?;
    let plan = match spec.cells.iter().any(|cell| cell.imported.is_some()) {
        // What was taken in has its prompts with it.
        true => import::plan_of(spec, &file)?,
        false => plan_of(spec, data_root)?.0,
    };
    let now = plan_file(&plan)?;
    if now.digest != file.digest {
        return Err(RunError::OtherPlan {
            path: run.root().to_owned(),
            expected: now.digest.to_string(),
            found: file.digest.to_string(),
            differences: "the prompts are others than those the run was made with".to_owned(),
        });
    }
    let mut models = Models::of(&plan.spec, data_root.cloned());
    let asks_model = plan.spec.metrics.iter().any(|metric| metric.name == "target-nll");
    let weights = if asks_model { weights_of(&plan, &mut models, true, report)? } else { manifest.weights };
    let spec = serde_json::to_value(&plan.spec).map_err(|e| RunError::Spec(e.to_string()))?;
    let room = Room::new(stop, None);
    renew_manifest(run, spec, &weights, None, room, report)?;
    let finished = finish(run, &plan, &file, &mut models, data_root, room, report);
    if finished.is_err() && !add.is_empty() {
        // What could not be scored is not part of the run; the next command that finishes it seals it again.
        renew_manifest(run, manifest.spec, &weights, None, room, report)?;
    }
    finished
}

/// The plan as it is stored.
///
/// # Errors
/// A plan that contradicts itself.
pub fn plan_file(plan: &Plan) -> Result<PlanFile, RunError> {
    let items: Vec<Item> = plan
        .items
        .iter()
        .map(|item| {
            let prompt = &plan.prompts[item.prompt as usize];
            let cell = plan.cell_name(item);
            Item {
                key: ItemKey::new(cell, &prompt.id, item.sample),
                cell: cell.to_owned(),
                prompt_id: prompt.id.clone(),
                sample: item.sample,
                seed: Seed(item.seed),
                block: item.block,
                prompt: prompt.text.clone(),
            }
        })
        .collect();
    let blocks = plan
        .blocks
        .iter()
        .map(|block| Block {
            index: block.index,
            items: block.items.iter().map(|&at| items[at as usize].key.clone()).collect(),
        })
        .collect();
    Ok(PlanFile::new(&plan.spec.name, items, blocks, &plan.spec.identity())?)
}

/// The weights that `plan` asks for; what is odd about them is reported. Those who do not compute `here` need not have
/// the device.
fn weights_of(
    plan: &Plan,
    models: &mut Models,
    here: bool,
    report: &mut dyn FnMut(Stage),
) -> Result<Vec<WeightsDigest>, RunError> {
    let mut weights = Vec::new();
    for spec in plan.spec.models() {
        let device = if here { spec.device.clone() } else { "cpu".to_owned() };
        let model = models.get(&ModelSpec { device, ..spec.clone() })?;
        for what in model.warnings() {
            report(Stage::Weights { what: what.clone() });
        }
        for file in model.weights() {
            let blake3: Digest = file.digest.parse().map_err(RunError::Spec)?;
            let name = format!("{} {}", spec.name, file.role);
            let entry = WeightsDigest { name, file: file.file, blake3 };
            if !weights.contains(&entry) {
                weights.push(entry);
            }
        }
    }
    weights.extend(files_of(&plan.spec)?);
    Ok(weights)
}

/// Makes or reopens the run's folder and takes its lock.
fn open_run(
    plan: &Plan,
    file: &PlanFile,
    prompts: &PromptSet,
    weights: Vec<WeightsDigest>,
    options: &Options<'_>,
    room: Room<'_>,
    report: &mut dyn FnMut(Stage),
) -> Result<(RunDir, Lock), RunError> {
    let spec = serde_json::to_value(&plan.spec).map_err(|e| RunError::Spec(e.to_string()))?;
    if options.out.join("manifest.json").exists() {
        let run = RunDir::open(options.out)?;
        let lock = lock_of(&run, room, report)?;
        let begun: Manifest = read_document(&run.manifest())?;
        let found = plan_there(&run, &begun, file, report)?;
        let is_larger = begun.plan_digest != file.digest;
        if is_larger {
            // A driver that was killed while it enlarged the run has written the plan before the manifest.
            let old = found.as_ref().filter(|found| found.digest == begun.plan_digest);
            let differences = match (old, &found) {
                (Some(old), _) => obstacle(&begun.spec, &spec, old, file),
                (None, Some(_)) => None,
                (None, None) => {
                    Some("it has no plan.json of its own; resume it as it was begun first".to_owned())
                }
            };
            if let Some(differences) = differences {
                return Err(RunError::OtherPlan {
                    path: options.out.to_owned(),
                    expected: file.digest.to_string(),
                    found: begun.plan_digest.to_string(),
                    differences,
                });
            }
        }
        if !options.resume {
            return Err(RunError::Exists { path: options.out.to_owned() });
        }
        if is_larger {
            check_nobody_works(&run)?;
        }
        let datasets = vec![dataset_of(prompts)?];
        let larger = is_larger.then_some(Larger { file, datasets, argv: &options.argv });
        if larger.is_none() && found.is_none() {
            room.put(report, &run.plan(), file)?;
        }
        renew_manifest(&run, spec, &weights, larger, room, report)?;
        return Ok((run, lock));
    }
    let run = room.write(report, || Ok(RunDir::create(options.out)?))?;
    let lock = lock_of(&run, room, report)?;
    let first = plan.spec.cells.first().ok_or_else(|| RunError::Spec("the spec has no cells".to_owned()))?;
    let manifest = Manifest {
        schema: SCHEMA,
        name: plan.spec.name.clone(),
        argv: options.argv.clone(),
        spec_digest: Digest::of(canonical_json(&spec).as_bytes()),
        spec,
        plan_digest: file.digest.clone(),
        git: options.git.clone(),
        weights,
        datasets: vec![dataset_of(prompts)?],
        hardware: machine::hardware(&plan.spec),
        software: machine::software(),
        dtype: word_of(&first.model.dtype)?,
        device: first.model.device.clone(),
        threads: 1,
        environment: machine::environment(),
        started: Timestamp::from(SystemTime::now()),
        sealed: None,
    };
    room.put(report, &run.manifest(), &manifest)?;
    room.put(report, &run.plan(), file)?;
    Ok((run, lock))
}

/// The lock of the run, which says who holds it.
fn lock_of(run: &RunDir, room: Room<'_>, report: &mut dyn FnMut(Stage)) -> Result<Lock, RunError> {
    room.write(report, || Lock::wait(&run.lock(), LOCK_PATIENCE, &Stop::never()))
}

/// The plan that is there, once it is known that nobody changed its items; `None` where there is none, or one that
/// belongs neither to the manifest nor to what is asked for, and which is replaced.
///
/// # Errors
/// [`RunError::Damaged`] where an item is not the planned one: images may have been made of it since.
fn plan_there(
    run: &RunDir,
    begun: &Manifest,
    file: &PlanFile,
    report: &mut dyn FnMut(Stage),
) -> Result<Option<PlanFile>, RunError> {
    if !run.plan().exists() {
        return Ok(None);
    }
    let found: PlanFile = read_document(&run.plan())?;
    if found.digest == file.digest && found.items == file.items {
        return Ok(Some(found));
    }
    if found.digest != begun.plan_digest && found.digest != file.digest {
        let what = format!("{}: the plan is of another run", run.plan().display());
        report(Stage::Damage { what: format!("{what}; it is made again") });
        return Ok(None);
    }
    let now = PlanFile::digest_of(&found.items, &begun.spec);
    if now == found.digest {
        return Ok(Some(found));
    }
    let (path, what, expected) = (run.plan(), "the plan", found.digest);
    Err(RunError::Damaged {
        complaint: RecordError::DigestMismatch { path, what, expected, found: now }.to_string(),
        mend: "remove the file and go on with --resume, which writes it again".to_owned(),
    })
}

/// What the manifest says of the prompts.
fn dataset_of(prompts: &PromptSet) -> Result<DatasetDigest, RunError> {
    let provenance = prompts.provenance();
    Ok(DatasetDigest {
        name: provenance.name.clone(),
        digest: provenance.digest.to_string().parse().map_err(RunError::Spec)?,
        n: prompts.n_prompts() as u64,
        caption: provenance.caption.as_ref().map(word_of).transpose()?,
        files: provenance.sources.iter().map(source_digest).collect::<Result<_, _>>()?,
    })
}

fn source_digest(file: &SourceFile) -> Result<FileDigest, RunError> {
    let blake3 = file.blake3.to_string().parse().map_err(RunError::Spec)?;
    Ok(FileDigest { file: file.name.clone(), blake3 })
}

/// What a run is enlarged to.
struct Larger<'a> {
    file: &'a PlanFile,
    datasets: Vec<DatasetDigest>,
    argv: &'a [String],
}

/// Refuses other weights than the run began with, and files that are not as they were sealed; takes over what a spec
/// may change without changing the plan, metrics, expectations and texts, and the larger plan where there is one. The
/// run is then unsealed until it is summarised again.
fn renew_manifest(
    run: &RunDir,
    spec: serde_json::Value,
    weights: &[WeightsDigest],
    larger: Option<Larger<'_>>,
    room: Room<'_>,
    report: &mut dyn FnMut(Stage),
) -> Result<(), RunError> {
    let mut manifest: Manifest = read_document(&run.manifest())?;
    let is_renewed = renew_files(run, &mut manifest.weights, weights)?;
    let before = |now: &WeightsDigest| manifest.weights.iter().find(|entry| entry.name == now.name);
    // More cells may need more networks, never another one of the same name.
    let is_other = |now: &&WeightsDigest| match before(now) {
        None => larger.is_none(),
        Some(_) => !manifest.weights.contains(now),
    };
    if let Some(now) = weights.iter().find(is_other) {
        return Err(RunError::OtherWeights {
            path: run.manifest(),
            name: now.name.clone(),
            expected: before(now).map_or_else(|| "none".to_owned(), |entry| entry.blake3.to_string()),
            found: now.blake3.to_string(),
        });
    }
    mend(run, &manifest, report)?;
    // Whatever is added now, the checksums do not hold until the run is sealed again.
    match std::fs::remove_file(run.checksums()) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            return Err(RunError::io(&run.checksums(), "remove")(e));
        }
        _ => {}
    }
    let is_larger = larger.is_some();
    if let Some(Larger { file, datasets, argv }) = larger {
        // Before the manifest: a driver that is killed between the two finds the plan that it asks for.
        room.put(report, &run.plan(), file)?;
        manifest.plan_digest = file.digest.clone();
        (manifest.datasets, manifest.argv) = (datasets, argv.to_vec());
        for entry in weights {
            if !manifest.weights.contains(entry) {
                manifest.weights.push(entry.clone());
            }
        }
    }
    let is_sealed = manifest.sealed.take().is_some();
    if manifest.spec != spec || is_sealed || is_larger || is_renewed {
        manifest.spec_digest = Digest::of(canonical_json(&spec).as_bytes());
        manifest.spec = spec;
        room.put(report, &run.manifest(), &manifest)?;
    }
    Ok(())
}
