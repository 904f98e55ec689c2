//! One worker's work on one shard: the models it loads, the clocks it reads, the files it writes. A later
//! attempt never touches the files of an earlier one.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    time::{Duration, Instant},
};

use specimen_decode::trace::{Decoded, StepTrace};
use specimen_experiments::spec::{Cell, Spec};
use specimen_models::{clock::DeviceClock, target::Picture};
use specimen_record::{
    Allocation, Appender, Block, Digest, Document, Durability, Environment, Item, ItemKey, MachineRow,
    Manifest, Phases, Record, RecordError, RunDir, SCHEMA, Status, StepsRow, TimingRow, want_of_room,
    write_document,
};

use crate::{
    allocation,
    claim::Claim,
    elsewhere,
    error::RunError,
    external_maker::{ExternalMakers, MadeElsewhere, check_files},
    generate::{Generated, Request, generate, save},
    load::{Models, check_weights, device_of, sampling_of},
    load_meter::LoadMeter,
    machine,
    maker::Maker,
    out_of_memory::within_memory,
    room::Room,
    stop::Stop,
    worker::{Progress, Share},
};

/// The open files of an attempt.
pub(crate) struct Attempt<'a> {
    run: &'a RunDir,
    shard: u32,
    number: u32,
    spec: &'a Spec,
    models: Models,
    /// The processes that make images of external cells.
    elsewhere: ExternalMakers,
    /// By device as a spec names it: each waits for its own device.
    clocks: BTreeMap<String, DeviceClock>,
    /// Cells that are warm.
    warm: BTreeSet<String>,
    started: Instant,
    records: Appender<Record>,
    steps: Appender<StepsRow>,
    timing: Appender<TimingRow>,
    machine: Appender<MachineRow>,
    load: LoadMeter,
    claim: Claim,
    /// Whether the image under way is named on disk, because no driver listens.
    is_unattended: bool,
    gpus: Vec<String>,
    allocation: Option<Allocation>,
    room: Room<'a>,
}

impl<'a> Attempt<'a> {
    /// Opens the files of the attempt that was claimed.
    pub(crate) fn open(
        run: &'a RunDir,
        claim: Claim,
        spec: &'a Spec,
        share: &Share,
        is_timed: bool,
        room: Room<'a>,
        report: &mut dyn FnMut(Progress),
    ) -> Result<Self, RunError> {
        let Claim { shard, number, .. } = claim;
        // A marker of an earlier end says nothing about what is added now.
        match std::fs::remove_file(run.done(shard)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(RunError::io(&run.done(shard), "remove the marker")(e));
            }
            _ => {}
        }
        let mut clocks = BTreeMap::new();
        for cell in spec.cells.iter().filter(|cell| cell.external.is_none()) {
            let device = &cell.model.device;
            clocks.insert(device.clone(), DeviceClock::new(device_of(device)?));
        }
        let started = Instant::now();
        let allocation = allocation::of_this_process(is_timed, room.stop());
        let gpus = machine::hardware(spec).gpus;
        // Before the first row: an attempt that is killed has its environment too.
        room.write(report, || {
            write_environment(run, shard, number, &gpus, allocation.as_ref(), Duration::ZERO)
        })?;
        Ok(Self {
            started,
            clocks,
            models: Models::of(spec, share.data_root.clone()),
            elsewhere: ExternalMakers::new(run.worker_log(shard), run.shard(shard)),
            warm: BTreeSet::new(),
            records: new_file(&run.attempt_records(shard, number), room, report)?,
            steps: new_file(&run.attempt_steps(shard, number), room, report)?,
            timing: new_file(&run.attempt_timing(shard, number), room, report)?,
            machine: new_file(&run.attempt_machine(shard, number), room, report)?,
            load: LoadMeter::new(),
            claim,
            is_unattended: share.is_unattended,
            gpus,
            allocation,
            room,
            run,
            shard,
            number,
            spec,
        })
    }

    /// The cell of an item.
    pub(crate) fn cell(&self, key: &ItemKey) -> &'a Cell {
        let name = key.cell();
        self.spec.cells.iter().find(|cell| cell.name == name).expect("the plan was made from this spec")
    }

    /// Loads the models of `blocks` before any image is begun, and refuses others than the run began with.
    pub(crate) fn load(&mut self, blocks: &[&Block], manifest: &Manifest) -> Result<(), RunError> {
        let names: BTreeSet<String> =
            blocks.iter().flat_map(|block| &block.items).map(ItemKey::cell).collect();
        let needed = |cell: &&Cell| names.contains(&cell.name);
        if self.spec.cells.iter().filter(needed).any(|cell| cell.external.is_some()) {
            check_files(&self.run.manifest(), manifest, self.spec)?;
        }
        for cell in self.spec.cells.iter().filter(needed).filter(|cell| cell.external.is_none()) {
            let model = self.models.get(&cell.model)?;
            check_weights(&self.run.manifest(), manifest, &cell.model.name, &model.weights())?;
        }
        Ok(())
    }

    /// One image, or why there is none; an error only where no other item could be made either. What is kept beside the
    /// run while it is made, features of a prompt or another process' picture, waits for room like every write; then it
    /// is made, and timed, from its start.
    fn generate(
        &mut self,
        item: &Item,
        report: &mut dyn FnMut(Progress),
    ) -> Result<Result<Finished, String>, RunError> {
        let (cell, room) = (self.cell(&item.key), self.room);
        let mut is_again = false;
        room.write(report, || {
            if let Some(external) = &cell.external {
                // As in `make_warm`, for a process that the want of room has ended.
                let is_cold = is_again && cell.timed && !self.elsewhere.is_running(cell);
                is_again = true;
                for _ in 0..if is_cold { self.n_warmup(false) } else { 0 } {
                    let _ = self.elsewhere.make(cell, external, item)?;
                }
                let made = self.elsewhere.make(cell, external, item)?;
                return Ok(made.map(Finished::Elsewhere).map_err(|e| e.to_string()));
            }
            match self.decode(cell, item) {
                Err(error) if want_of_room(&error).is_some() => Err(error),
                decoded => {
                    Ok(decoded.map(|made| Finished::Own(Box::new(made))).map_err(|error| error.to_string()))
                }
            }
        })
    }

    fn decode(&mut self, cell: &Cell, item: &Item) -> Result<Generated, RunError> {
        let clock = &self.clocks[&cell.model.device];
        let model = self.models.get(&cell.model)?;
        let request = Request {
            model: &*model,
            method: &cell.method,
            sampling: sampling_of(&cell.sampling),
            prompt: &item.prompt,
            seed: item.seed.0,
        };
        // A broken invariant in a decode step panics: the item becomes a row, the shard goes on.
        let decode = || within_memory(&cell.model, Some(&cell.method), || generate(&request, clock));
        catch_unwind(AssertUnwindSafe(decode))
            .unwrap_or_else(|payload| Err(RunError::Spec(panic_message(&*payload))))
    }

    /// Makes the spec's number of images of each cell of the block that is not warm yet, its items over again
    /// where it has fewer, without keeping them; their times are kept apart. An item that fails says so when
    /// its turn comes.
    pub(crate) fn warm_up(
        &mut self,
        rows: &[&Item],
        stop: &Stop,
        report: &mut dyn FnMut(Progress),
    ) -> Result<(), RunError> {
        let cells: BTreeSet<&String> = rows.iter().map(|item| &item.cell).collect();
        for cell in cells {
            if !self.warm.insert(cell.clone()) {
                continue;
            }
            let items = rows.iter().filter(|item| item.cell == *cell).cycle();
            let is_own =
                rows.iter().any(|item| item.cell == *cell && self.cell(&item.key).external.is_none());
            for (order, item) in items.take(self.n_warmup(is_own)).enumerate() {
                stop.check()?;
                if self.warm_up_once(item, order as u32, report)?.is_err() && !is_own {
                    // A process that cannot make one image is not started for another; the item says why.
                    break;
                }
            }
        }
        Ok(())
    }

    /// Images that warm a cell up. Another process starts with its first, which never counts.
    fn n_warmup(&self, is_own: bool) -> usize {
        self.spec.timing.warmup.max(u32::from(!is_own)) as usize
    }

    /// Makes an image that is not kept.
    fn warm_up_once(
        &mut self,
        item: &Item,
        order: u32,
        report: &mut dyn FnMut(Progress),
    ) -> Result<Result<(), String>, RunError> {
        self.begin(item, report)?;
        let made = self.generate(item, report)?;
        if let Ok(finished) = &made {
            let row = self.timing_row(item, order, true, finished);
            self.room.write(report, || {
                self.claim.check(self.run)?;
                Ok(self.timing.append(&row)?)
            })?;
        }
        report(Progress::Warmup { cell: item.cell.clone() });
        Ok(made.map(|_| ()))
    }

    /// Makes one image; a process that was lost is started and warmed up again before, if its times count.
    fn make_warm(
        &mut self,
        item: &Item,
        report: &mut dyn FnMut(Progress),
    ) -> Result<Result<Finished, String>, RunError> {
        let cell = self.cell(&item.key);
        if cell.external.is_some() && cell.timed && !self.elsewhere.is_running(cell) {
            for order in 0..self.n_warmup(false) {
                if let Err(why) = self.warm_up_once(item, order as u32, report)? {
                    self.begin(item, report)?;
                    return Ok(Err(why));
                }
            }
        }
        self.begin(item, report)?;
        self.generate(item, report)
    }

    /// Makes one image, or the row that says why there is none.
    pub(crate) fn make(
        &mut self,
        item: &Item,
        order: u32,
        report: &mut dyn FnMut(Progress),
    ) -> Result<(), RunError> {
        let made = self.make_warm(item, report)?;
        self.claim.check(self.run)?;
        let (ok, decode_s) = match made {
            Err(why) => {
                self.append_record(&Record::failed(item, &why), report)?;
                (false, 0.0)
            }
            Ok(mut finished) => {
                let name = item.key.file_name("png");
                let path = self.run.image(self.shard, &name)?;
                let save_ns = self.room.write(report, || {
                    // A wait for room is no part of saving.
                    self.claim.check(self.run)?;
                    let before = Instant::now();
                    save(finished.picture(), &path)?;
                    Ok(before.elapsed().as_nanos() as u64)
                })?;
                if let Finished::Own(generated) = &mut finished {
                    generated.phases.save = save_ns;
                    generated.e2e_ns += save_ns;
                }
                let (steps, row) =
                    (steps_row(item, &finished), self.timing_row(item, order, false, &finished));
                self.room.write(report, || {
                    self.claim.check(self.run)?;
                    Ok(self.steps.append(&steps)?)
                })?;
                self.room.write(report, || {
                    self.claim.check(self.run)?;
                    Ok(self.timing.append(&row)?)
                })?;
                self.append_record(&record(item, name, &finished), report)?;
                (true, row.decode_ns as f64 * 1e-9)
            }
        };
        report(Progress::Item { cell: item.cell.clone(), ok, decode_s });
        Ok(())
    }

    /// The record is what counts. As before every write: a worker that was stopped, or waited for room, a moment ago
    /// must not add to a shard that is another's.
    fn append_record(&mut self, record: &Record, report: &mut dyn FnMut(Progress)) -> Result<(), RunError> {
        self.room.write(report, || {
            self.claim.check(self.run)?;
            Ok(self.records.append(record)?)
        })
    }

    /// Says which image is under way, so that it is known of what a worker died.
    fn begin(&self, item: &Item, report: &mut dyn FnMut(Progress)) -> Result<(), RunError> {
        report(Progress::Begin { key: item.key.clone() });
        if !self.is_unattended {
            return Ok(());
        }
        let path = self.run.attempt_begun(self.shard, self.number);
        let line = format!("{}\n", item.key);
        self.room.write(report, || {
            self.claim.check(self.run)?;
            std::fs::write(&path, &line).map_err(RunError::io(&path, "write"))
        })
    }

    fn timing_row(&self, item: &Item, order: u32, warmup: bool, finished: &Finished) -> TimingRow {
        let (phases_ns, decode_ns, e2e_ns, told_ns) = match finished {
            Finished::Own(generated) => (generated.phases, generated.decode_ns, generated.e2e_ns, None),
            // It has saved its image before it answers; that this program writes it anew is not its time.
            Finished::Elsewhere(MadeElsewhere { made, wall_ns, .. }) => {
                (Phases::default(), *wall_ns, *wall_ns, Some(made.phases_ns.clone()))
            }
        };
        TimingRow {
            schema: SCHEMA,
            key: item.key.clone(),
            attempt: self.number,
            block: item.block,
            order,
            warmup,
            phases_ns,
            decode_ns,
            e2e_ns,
            told_ns,
        }
    }

    /// Notes what the machine did while the block ran.
    pub(crate) fn end_block(&mut self, index: u32, report: &mut dyn FnMut(Progress)) -> Result<(), RunError> {
        let shares = self.load.shares();
        let mhz = machine::cpu_mhz();
        let row = MachineRow {
            schema: SCHEMA,
            block: index,
            seconds: self.started.elapsed().as_secs_f64(),
            load_average: machine::load_average(),
            cpu_mhz: (!mhz.is_empty()).then(|| mhz.iter().sum::<f64>() / mhz.len() as f64),
            busy: shares.map(|shares| shares.busy),
            own: shares.map(|shares| shares.own),
            others: shares.map(|shares| shares.others),
        };
        self.room.write(report, || {
            self.claim.check(self.run)?;
            Ok(self.machine.append(&row)?)
        })
    }

    /// Writes what is known of the machine and closes the files. A shard that is another's is left as it is.
    pub(crate) fn close(self, report: &mut dyn FnMut(Progress)) -> Result<Claim, RunError> {
        self.claim.check(self.run)?;
        if self.is_unattended {
            // No image is under way any more; a marker that stays is taken for one.
            let path = self.run.attempt_begun(self.shard, self.number);
            match std::fs::remove_file(&path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(RunError::io(&path, "remove")(e));
                }
                _ => {}
            }
        }
        let allocation = self.allocation.as_ref();
        let elapsed = self.started.elapsed();
        self.room.write(report, || {
            self.claim.check(self.run)?;
            write_environment(self.run, self.shard, self.number, &self.gpus, allocation, elapsed)
        })?;
        self.machine.finish()?;
        self.steps.finish()?;
        self.timing.finish()?;
        self.records.finish()?;
        Ok(self.claim)
    }
}

/// A file for an attempt's rows.
fn new_file<T: Document>(
    path: &Path,
    room: Room<'_>,
    report: &mut dyn FnMut(Progress),
) -> Result<Appender<T>, RunError> {
    room.write(report, || Ok(Appender::create(path, Durability::EachRow)?))
}

/// Writes the row of an item that has killed `n_deaths` workers, as an attempt of its own. How they died was told then:
/// the row is the same wherever they were.
pub(crate) fn write_failure(run: &RunDir, shard: u32, item: &Item, n_deaths: u32) -> Result<(), RunError> {
    let number = run.attempts(shard)?.last().map_or(0, |last| last + 1);
    let path = run.attempt_records(shard, number);
    let why = format!("the worker died {n_deaths} times while it made this image");
    let write = || -> Result<(), RecordError> {
        let mut records: Appender<Record> = Appender::create(&path, Durability::EachRow)?;
        records.append(&Record::failed(item, &why))?;
        records.finish()
    };
    let written = write();
    if written.is_err() {
        // Who tries again finds no attempt there. That it is ours is sure: it has a new number.
        let _ = std::fs::remove_dir_all(run.attempt(shard, number));
    }
    Ok(written?)
}

/// What is known of the machine `elapsed` after the attempt began.
fn write_environment(
    run: &RunDir,
    shard: u32,
    number: u32,
    gpus: &[String],
    allocation: Option<&Allocation>,
    elapsed: Duration,
) -> Result<(), RunError> {
    let maker = Maker::this();
    let environment = Environment {
        schema: SCHEMA,
        host_cpu: maker.host_cpu,
        cpu_features: Some(maker.cpu_features),
        program: maker.program,
        libtorch: Some(maker.libtorch),
        gpus: Some(gpus.to_vec()),
        allocation: allocation.cloned(),
        load_average: machine::load_average(),
        cpu_mhz: machine::cpu_mhz(),
        peak_memory_mb: machine::peak_memory_mb(),
        seconds: elapsed.as_secs_f64(),
    };
    Ok(write_document(&run.attempt_env(shard, number), &environment)?)
}

/// The text of a panic.
fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    format!("internal error: {}", text.unwrap_or_else(|| "a panic without a message".to_owned()))
}

/// An image, before it is saved.
enum Finished {
    /// This program's.
    Own(Box<Generated>),
    /// Another process'.
    Elsewhere(MadeElsewhere),
}

impl Finished {
    fn picture(&self) -> &Picture {
        match self {
            Self::Own(generated) => &generated.picture,
            Self::Elsewhere(made) => &made.picture,
        }
    }
}

/// Another process shows no steps.
fn steps_row(item: &Item, finished: &Finished) -> StepsRow {
    let row = |step: &StepTrace| {
        [step.n_drafted, step.n_accepted, step.n_emitted, step.n_target_forwards, step.n_draft_forwards]
    };
    let steps = match finished {
        Finished::Own(generated) => generated.decoded.steps.iter().map(row).collect(),
        Finished::Elsewhere(_) => Vec::new(),
    };
    StepsRow { schema: SCHEMA, key: item.key.clone(), steps }
}

fn record(item: &Item, name: String, finished: &Finished) -> Record {
    match finished {
        Finished::Own(generated) => own_record(item, name, generated),
        Finished::Elsewhere(MadeElsewhere { picture, made, .. }) => {
            let facts = elsewhere::Facts {
                tokens: made.tokens.clone().unwrap_or_default(),
                forwards: made.forwards.unwrap_or(0),
                draft_forwards: made.draft_forwards.unwrap_or(0),
            };
            elsewhere::record(item, name, picture, facts)
        }
    }
}

fn own_record(item: &Item, name: String, generated: &Generated) -> Record {
    let decoded: &Decoded = &generated.decoded;
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
