//! The blocks of one shard, item by item, in this process. Each attempt writes its own files; a later
//! attempt takes up what earlier ones left.
//!
//! A block interrupted halfway is timed again from its start: ratios are formed within one attempt only.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant,
};

use serde::Serialize;
use specimen_datasets::data_root::DataRoot;
use specimen_decode::trace::Decoded;
use specimen_experiments::spec::{Cell, Spec};
use specimen_models::clock::DeviceClock;
use specimen_record::{
    Appender, Block, Digest, Done, Durability, Item, ItemKey, Lease, Manifest, PlanFile, Record, RunDir,
    SCHEMA, Status, StepsRow, TimingRow, coverage, read_document, write_document,
};

use crate::{
    error::RunError,
    generate::{Generated, Request, generate, save},
    load::{Models, device_of, sampling_of},
    machine,
};

/// What a worker tells its driver, one JSON line each.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Progress {
    /// An item has its row.
    Item {
        /// Its cell.
        cell: String,
        /// Whether it gave an image.
        ok: bool,
        /// Seconds of decoding.
        decode_s: f64,
    },
    /// A warm-up image was made.
    Warmup {
        /// Its cell.
        cell: String,
    },
}

/// Which shard of how many a block belongs to.
#[must_use]
pub fn shard_of(block: u32, n_shards: u32) -> u32 {
    block % n_shards
}

/// Runs shard `k` of `n_shards` to its end.
///
/// # Errors
/// A run directory that cannot be read or written, or models that cannot be loaded. An item that fails is a
/// row, not an error.
pub fn run_shard(
    run: &RunDir,
    k: u32,
    n_shards: u32,
    data_root: Option<DataRoot>,
    report: &mut dyn FnMut(Progress),
) -> Result<(), RunError> {
    let plan: PlanFile = read_document(&run.plan())?;
    let manifest: Manifest = read_document(&run.manifest())?;
    let spec: Spec = serde_json::from_value(manifest.spec)
        .map_err(|e| RunError::Spec(format!("{}: `spec`: {e}", run.manifest().display())))?;
    // Of all shards: a run may be resumed with another number of them.
    let done: BTreeSet<ItemKey> = coverage(run, &plan)?.ok.into_iter().collect();
    let is_missing = |block: &&Block| block.items.iter().any(|key| !done.contains(key));
    let shard = plan.blocks.iter().filter(|block| shard_of(block.index, n_shards) == k);
    let mut blocks = shard.filter(is_missing).peekable();
    if blocks.peek().is_none() {
        return Ok(write_document(&run.done(k), &Done::of_shard(run, k)?)?);
    }
    let mut attempt = Attempt::open(run, k, &spec, data_root)?;
    let items = plan.by_key();
    let mut warm = BTreeSet::new();
    for block in blocks {
        let timed = block.items.iter().any(|key| attempt.cell(key).timed);
        let rows: Vec<&Item> =
            block.items.iter().filter(|key| timed || !done.contains(*key)).map(|key| items[key].1).collect();
        if timed {
            attempt.warm_up(&rows, spec.timing.warmup, &mut warm, report)?;
        }
        for (order, item) in rows.iter().enumerate() {
            attempt.make(item, order as u32, report)?;
        }
    }
    attempt.finish()
}

struct Attempt<'a> {
    run: &'a RunDir,
    shard: u32,
    number: u32,
    spec: &'a Spec,
    models: Models,
    /// By device as a spec names it: each waits for its own device.
    clocks: BTreeMap<String, DeviceClock>,
    started: Instant,
    records: Appender<Record>,
    steps: Appender<StepsRow>,
    timing: Appender<TimingRow>,
}

/// `env.json` of an attempt: what the timings depend on and records must not hold.
#[derive(Serialize)]
struct Environment {
    schema: u32,
    host_cpu: String,
    load_average: Option<[f64; 3]>,
    cpu_mhz: Vec<f64>,
    peak_memory_mb: Option<u64>,
    seconds: f64,
}

impl<'a> Attempt<'a> {
    fn open(
        run: &'a RunDir,
        shard: u32,
        spec: &'a Spec,
        data_root: Option<DataRoot>,
    ) -> Result<Self, RunError> {
        let number = run.attempts(shard)?.last().map_or(0, |last| last + 1);
        let holder = format!("process {}", std::process::id());
        write_document(&run.lease(shard), &Lease { schema: SCHEMA, shard, attempt: number, holder })?;
        let mut clocks = BTreeMap::new();
        for cell in &spec.cells {
            let device = &cell.model.device;
            clocks.insert(device.clone(), DeviceClock::new(device_of(device)?));
        }
        Ok(Self {
            started: Instant::now(),
            clocks,
            models: Models::new(data_root),
            records: Appender::create(&run.attempt_records(shard, number), Durability::EachRow)?,
            steps: Appender::create(&run.attempt_steps(shard, number), Durability::EachRow)?,
            timing: Appender::create(&run.attempt_timing(shard, number), Durability::EachRow)?,
            run,
            shard,
            number,
            spec,
        })
    }

    fn cell(&self, key: &ItemKey) -> &'a Cell {
        let name = key.cell();
        self.spec.cells.iter().find(|cell| cell.name == name).expect("the plan was made from this spec")
    }

    fn generate(&mut self, item: &Item) -> Result<Generated, String> {
        let cell = self.cell(&item.key);
        let clock = &self.clocks[&cell.model.device];
        let model = self.models.get(&cell.model).map_err(|e| e.to_string())?;
        let request = Request {
            model: &*model,
            method: &cell.method,
            sampling: sampling_of(&cell.sampling),
            prompt: &item.prompt,
            seed: item.seed.0,
        };
        // A broken invariant in a decode step panics: the item becomes a row, the shard goes on.
        catch_unwind(AssertUnwindSafe(|| generate(&request, clock)))
            .unwrap_or_else(|payload| Err(RunError::Spec(panic_message(&*payload))))
            .map_err(|e| e.to_string())
    }

    /// Makes `n` images of each cell of the block that is not warm yet, its items over again where it has fewer,
    /// without keeping them; their times are kept apart. An item that fails says so when its turn comes.
    fn warm_up(
        &mut self,
        rows: &[&Item],
        n: u32,
        warm: &mut BTreeSet<String>,
        report: &mut dyn FnMut(Progress),
    ) -> Result<(), RunError> {
        let cells: BTreeSet<&String> = rows.iter().map(|item| &item.cell).collect();
        for cell in cells {
            if !warm.insert(cell.clone()) {
                continue;
            }
            let items = rows.iter().filter(|item| item.cell == *cell).cycle();
            for (order, item) in items.take(n as usize).enumerate() {
                if let Ok(generated) = self.generate(item) {
                    self.timing.append(&self.timing_row(item, order as u32, true, &generated))?;
                }
                report(Progress::Warmup { cell: cell.clone() });
            }
        }
        Ok(())
    }

    fn make(&mut self, item: &Item, order: u32, report: &mut dyn FnMut(Progress)) -> Result<(), RunError> {
        let (ok, decode_s) = match self.generate(item) {
            Err(why) => {
                self.records.append(&Record::failed(item, &why))?;
                (false, 0.0)
            }
            Ok(mut generated) => {
                let name = item.key.file_name("png");
                let before = Instant::now();
                save(&generated.picture, &self.run.image(self.shard, &name)?)?;
                generated.phases.save = before.elapsed().as_nanos() as u64;
                generated.e2e_ns += generated.phases.save;
                self.steps.append(&steps_row(item, &generated.decoded))?;
                self.timing.append(&self.timing_row(item, order, false, &generated))?;
                self.records.append(&record(item, name, &generated))?;
                (true, generated.decode_ns as f64 * 1e-9)
            }
        };
        report(Progress::Item { cell: item.cell.clone(), ok, decode_s });
        Ok(())
    }

    fn timing_row(&self, item: &Item, order: u32, warmup: bool, generated: &Generated) -> TimingRow {
        TimingRow {
            schema: SCHEMA,
            key: item.key.clone(),
            attempt: self.number,
            block: item.block,
            order,
            warmup,
            phases_ns: generated.phases,
            decode_ns: generated.decode_ns,
            e2e_ns: generated.e2e_ns,
        }
    }

    fn finish(self) -> Result<(), RunError> {
        let path = self.run.attempt_env(self.shard, self.number);
        let environment = Environment {
            schema: SCHEMA,
            host_cpu: machine::cpu_model(),
            load_average: machine::load_average(),
            cpu_mhz: machine::cpu_mhz(),
            peak_memory_mb: machine::peak_memory_mb(),
            seconds: self.started.elapsed().as_secs_f64(),
        };
        let text = serde_json::to_string_pretty(&environment).expect("plain numbers and strings") + "\n";
        specimen_record::write_atomic(&path, text.as_bytes())?;
        self.steps.finish()?;
        self.timing.finish()?;
        self.records.finish()?;
        let done = Done::of_shard(self.run, self.shard)?;
        Ok(write_document(&self.run.done(self.shard), &done)?)
    }
}

/// The text of a panic.
fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    format!("internal error: {}", text.unwrap_or_else(|| "a panic without a message".to_owned()))
}

fn steps_row(item: &Item, decoded: &Decoded) -> StepsRow {
    let row = |step: &specimen_decode::trace::StepTrace| {
        [step.n_drafted, step.n_accepted, step.n_emitted, step.n_target_forwards, step.n_draft_forwards]
    };
    StepsRow { schema: SCHEMA, key: item.key.clone(), steps: decoded.steps.iter().map(row).collect() }
}

fn record(item: &Item, name: String, generated: &Generated) -> Record {
    let decoded = &generated.decoded;
    let tokens: Vec<u32> = decoded.tokens.iter().map(|token| token.0).collect();
    let verified = || decoded.steps.iter().filter(|step| step.n_target_forwards > 0);
    let skipped = || decoded.steps.iter().filter(|step| step.n_target_forwards == 0);
    Record {
        schema: SCHEMA,
        key: item.key.clone(),
        cell: item.cell.clone(),
        prompt_id: item.prompt_id.clone(),
        sample: item.sample,
        seed: item.seed,
        status: Status::Ok,
        err: None,
        tokens_digest: Digest::of_tokens(&tokens),
        n_tokens: tokens.len() as u64,
        tokens,
        image: Some(name),
        image_digest: Some(Digest::of(&generated.picture.rgb)),
        width: generated.picture.width,
        height: generated.picture.height,
        nfe: u64::from(decoded.nfe()),
        n_steps: decoded.steps.len() as u64,
        n_draft_forwards: generated.n_draft_forwards,
        accepted: verified().map(|step| u64::from(step.n_accepted)).sum(),
        emitted: verified().map(|step| u64::from(step.n_emitted)).sum(),
        skipped_steps: skipped().count() as u64,
        skipped_tokens: skipped().map(|step| u64::from(step.n_emitted)).sum(),
        forced: u64::from(decoded.forced),
        out_of_support: u64::from(decoded.out_of_support),
        residual_fallbacks: u64::from(decoded.n_residual_fallbacks),
        tvd_spent: decoded.tvd_spent,
        tested_by_depth: decoded.tested_by_depth.clone(),
        accepted_by_depth: decoded.accepted_by_depth.clone(),
    }
}
