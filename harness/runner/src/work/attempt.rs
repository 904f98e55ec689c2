//! One worker's work on one shard: the models it loads, the clocks it reads, the files it writes. A later
//! attempt never touches the files of an earlier one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::OpenOptions,
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    time::{Duration, Instant},
};

use specimen_experiments::spec::Cell;
use specimen_foundation::failure;
use specimen_models::seam::clock::DeviceClock;
use specimen_record::{
    Allocation, Appender, Batch, Block, Document, Durability, Environment, Item, ItemKey, MachineRow,
    Manifest, Phases, Record, SCHEMA, StepsRow, TimingRow, disk_full, open_in_place, write_document,
};

use crate::{
    error::RunError,
    images::{
        external_processes::{ExternalImage, ExternalProcesses, check_files},
        generate::{BatchRequest, Generated, Request, generate, generate_together, save},
        load::{Models, check_weights, device_of},
        out_of_memory::within_memory,
    },
    machine::{self, allocation, load_meter::LoadMeter, provenance::Provenance},
    plan::batches::Together,
    process::{disk_wait::DiskWait, remove_if_there, stop_request::StopRequest},
    work::{
        claim::Claim,
        plain_steps::PlainSteps,
        rows::{Finished, record, steps_row},
        shard_work::ShardWork,
        step_graphs::{ImageKind, StepGraphs},
        worker_event::WorkerEvent,
    },
};

/// The open files of an attempt.
pub(crate) struct Attempt<'a> {
    work: ShardWork<'a>,
    shard: u32,
    number: u32,
    models: Models,
    /// The processes that make images of external cells.
    external: ExternalProcesses,
    /// By device as a spec names it: each waits for its own device.
    clocks: BTreeMap<String, DeviceClock>,
    /// Cells that are warm.
    warm: BTreeSet<String>,
    /// Whether the images that are made are not kept.
    is_warming: bool,
    graphs: StepGraphs,
    plain_steps: PlainSteps,
    started: Instant,
    records: Appender<Record>,
    steps: Appender<StepsRow>,
    timing: Appender<TimingRow>,
    machine: Appender<MachineRow>,
    load: LoadMeter,
    claim: Claim,
    gpus: Vec<String>,
    allocation: Option<Allocation>,
}

impl<'a> Attempt<'a> {
    /// Opens the files of the attempt that was claimed.
    pub(crate) fn open(work: ShardWork<'a>, claim: Claim, is_timed: bool) -> Result<Self, RunError> {
        let ShardWork { run, spec, share, disk, .. } = work;
        let Claim { shard, number, .. } = claim;
        // A marker of an earlier end says nothing about what is added now.
        remove_if_there(&run.done(shard), "remove the marker")?;
        let mut clocks = BTreeMap::new();
        for cell in spec.cells.iter().filter(|cell| cell.external.is_none()) {
            let device = &cell.model.device;
            clocks.insert(device.clone(), DeviceClock::new(device_of(device)?));
        }
        let started = Instant::now();
        let allocation = allocation::of_this_process(is_timed, disk.stop());
        let gpus = machine::hardware(spec).gpus;
        // Before the first row: an attempt that is killed has its environment too.
        disk.write(|| {
            let environment = environment(&gpus, allocation.as_ref(), Duration::ZERO);
            Ok(write_document(&run.attempt_env(shard, number), &environment)?)
        })?;
        Ok(Self {
            started,
            clocks,
            models: Models::of(spec, share.data_root.clone()),
            external: ExternalProcesses::new(run.worker_log(shard), run.shard(shard)),
            warm: BTreeSet::new(),
            is_warming: false,
            graphs: StepGraphs::default(),
            plain_steps: PlainSteps::default(),
            records: new_file(&run.attempt_records(shard, number), disk)?,
            steps: new_file(&run.attempt_steps(shard, number), disk)?,
            timing: new_file(&run.attempt_timing(shard, number), disk)?,
            machine: new_file(&run.attempt_machine(shard, number), disk)?,
            load: LoadMeter::new(),
            claim,
            gpus,
            allocation,
            shard,
            number,
            work,
        })
    }

    /// The cell of an item.
    pub(crate) fn cell(&self, key: &ItemKey) -> &'a Cell {
        let name = key.cell();
        self.work.spec.cells.iter().find(|cell| cell.name == name).expect("the plan was made from this spec")
    }

    /// Images of the cell `name` that are decoded together.
    pub(crate) fn n_together(&self, name: &str) -> usize {
        let cell = self.work.spec.cells.iter().find(|cell| cell.name == name);
        cell.map_or(1, |cell| cell.model.n_together())
    }

    /// Loads the models of `blocks` before any image is begun, and refuses others than the run began with.
    pub(crate) fn load(&mut self, blocks: &[&Block], manifest: &Manifest) -> Result<(), RunError> {
        let names: BTreeSet<String> =
            blocks.iter().flat_map(|block| &block.items).map(ItemKey::cell).collect();
        let needed = |cell: &&Cell| names.contains(&cell.name);
        if self.work.spec.cells.iter().filter(needed).any(|cell| cell.external.is_some()) {
            check_files(&self.work.run.manifest(), manifest, self.work.spec)?;
        }
        let mut warnings = BTreeSet::new();
        for cell in self.work.spec.cells.iter().filter(needed).filter(|cell| cell.external.is_none()) {
            let model = self.models.get(&cell.model)?;
            check_weights(&self.work.run.manifest(), manifest, &cell.model.name, &model.weights)?;
            warnings.extend(model.warnings.iter().cloned());
        }
        // A driver that has the device loaded these models, and said it.
        if self.work.share.is_unattended {
            warnings.into_iter().for_each(|what| (self.work.report)(WorkerEvent::Warning { what }));
        }
        Ok(())
    }

    /// The images of a batch, or why one is missing; an error only where no other item could be made either. Files outside
    /// the run that are written while they are made (features of a prompt, another process's picture) wait for
    /// disk space like every write; then the batch is made, and timed, from its start.
    fn generate(&mut self, batch: &Together<&Item>) -> Result<Vec<Result<Finished, String>>, RunError> {
        let (cell, disk) = (self.cell(&batch.images[0].1.key), self.work.disk);
        let mut is_again = false;
        disk.write(|| {
            if let (Some(external), [(_, item)]) = (&cell.external, &batch.images[..]) {
                // As in `make_warm`, for a process that the full disk has ended.
                let is_cold = is_again && cell.timed && !self.external.is_running(cell);
                is_again = true;
                for _ in 0..if is_cold { self.n_warmup(false) } else { 0 } {
                    let _ = self.external.make(cell, external, item)?;
                }
                let made = self.external.make(cell, external, item)?;
                return Ok(vec![made.map(Finished::External).map_err(|e| e.to_string())]);
            }
            let finished = |made: Result<Generated, RunError>| match made {
                Err(error) if disk_full(&error).is_some() => Err(error),
                // Every later image would fail as well: this one stays undone, for another process.
                Err(error @ RunError::DeviceLost(_)) => Err(error),
                made => Ok(made.map(|made| Finished::Own(Box::new(made))).map_err(|error| error.to_string())),
            };
            let made = self.decode(cell, batch).unwrap_or_else(|error| failed_alike(batch, error));
            made.into_iter().map(finished).collect()
        })
    }

    /// The images of a batch that this program decodes.
    fn decode(
        &mut self,
        cell: &Cell,
        batch: &Together<&Item>,
    ) -> Result<Vec<Result<Generated, RunError>>, RunError> {
        let clock = &self.clocks[&cell.model.device];
        let model = self.models.get(&cell.model)?;
        let (method, sampling) = (&cell.method, cell.sampling);
        let make = || match &batch.images[..] {
            [(_, item)] if batch.n_lanes == 1 => {
                let (prompt, seed) = (item.prompt.as_str(), item.seed.0);
                vec![generate(&Request { model: &model, method, sampling, prompt, seed }, clock)]
            }
            some => {
                let mut images = vec![None; batch.n_lanes];
                for (lane, item) in some {
                    images[*lane] = Some((item.prompt.as_str(), item.seed.0));
                }
                let request = BatchRequest { model: &model, method, sampling, images };
                generate_together(&request, clock).into_iter().flatten().collect()
            }
        };
        // A broken invariant in a decode step panics: its items become rows, the shard continues.
        let decode = || within_memory(&cell.model, Some(&cell.method), || Ok(make()));
        let images = || {
            catch_unwind(AssertUnwindSafe(decode))
                .unwrap_or_else(|payload| Err(failure!(Spec: "{}", panic_message(&*payload)).into()))
        };
        let kind = ImageKind { is_batch: batch.n_lanes > 1, is_timed: cell.timed && !self.is_warming };
        let (decoded, refused) = self.graphs.watched(&cell.model, &model, kind, images);
        if let Some(what) = refused {
            (self.work.report)(WorkerEvent::Warning { what });
        }
        decoded
    }

    /// Makes the spec's number of images of each cell of the block that is not warm yet, its items over again
    /// where it has fewer, without keeping them; their times are kept apart. Of a cell with batches, whole ones. An item that
    /// fails says so when its turn comes.
    pub(crate) fn warm_up(
        &mut self,
        batches: &[Together<&Item>],
        stop: &StopRequest,
    ) -> Result<(), RunError> {
        let cells: BTreeSet<&String> = batches.iter().map(|batch| &batch.images[0].1.cell).collect();
        for name in cells {
            if !self.warm.insert(name.clone()) {
                continue;
            }
            let of_cell = || batches.iter().filter(|batch| batch.images[0].1.cell == *name);
            let is_own = of_cell().any(|batch| self.cell(&batch.images[0].1.key).external.is_none());
            let n_lanes = of_cell().map(|batch| batch.n_lanes).max().unwrap_or(1);
            let n = self.n_warmup(is_own).div_ceil(n_lanes);
            for (order, batch) in of_cell().cycle().take(n).enumerate() {
                stop.check()?;
                let made = self.warm_up_once(batch, order as u32)?;
                if made.iter().any(Result::is_err) && !is_own {
                    // A process that cannot make one image is not started for another; the item says why.
                    break;
                }
            }
            let first = of_cell().flat_map(|batch| &batch.images).next();
            let is_baseline =
                |cell: &Cell| self.work.spec.baseline_of(cell).is_some_and(|of| of.name == cell.name);
            if let Some((_, item)) = first.filter(|(_, item)| is_own && is_baseline(self.cell(&item.key))) {
                let cell = self.cell(&item.key);
                let clock = &self.clocks[&cell.model.device];
                self.plain_steps.time(cell, &item.prompt, &mut self.models, clock);
            }
        }
        Ok(())
    }

    fn n_warmup(&self, is_own: bool) -> usize {
        self.work.spec.timing.n_warmup(is_own) as usize
    }

    /// Makes the images of a batch, which are not kept.
    fn warm_up_once(
        &mut self,
        batch: &Together<&Item>,
        order: u32,
    ) -> Result<Vec<Result<(), String>>, RunError> {
        self.begin(batch.images[0].1)?;
        self.is_warming = true;
        let made = self.generate(batch);
        self.is_warming = false;
        let made = made?;
        let shared = batch.shared_by(made.iter().filter(|made| made.is_ok()).count());
        for ((_, item), made) in batch.images.iter().zip(&made) {
            if let Ok(finished) = made {
                let row = TimingRow { batch: shared, ..self.timing_row(item, order, true, finished) };
                self.work.disk.write(|| {
                    self.claim.check(self.work.run)?;
                    Ok(self.timing.append(&row)?)
                })?;
            }
        }
        (self.work.report)(WorkerEvent::Warmup { cell: batch.images[0].1.cell.clone() });
        Ok(made.into_iter().map(|made| made.map(|_| ())).collect())
    }

    /// Makes the images of a batch; a process that was lost is started and warmed up again before, if its times count.
    fn make_warm(&mut self, batch: &Together<&Item>) -> Result<Vec<Result<Finished, String>>, RunError> {
        let item = batch.images[0].1;
        let cell = self.cell(&item.key);
        if cell.external.is_some() && cell.timed && !self.external.is_running(cell) {
            for order in 0..self.n_warmup(false) {
                let made = self.warm_up_once(batch, order as u32)?;
                if made.iter().any(Result::is_err) {
                    self.begin(item)?;
                    return Ok(made.into_iter().filter_map(Result::err).map(Err).collect());
                }
            }
        }
        self.begin(item)?;
        self.generate(batch)
    }

    /// Makes the images of a batch, or the rows that say why there are none; the first is the `order`-th of its block.
    pub(crate) fn make(&mut self, batch: &Together<&Item>, order: u32) -> Result<(), RunError> {
        let made = self.make_warm(batch)?;
        self.claim.check(self.work.run)?;
        let shared = batch.shared_by(made.iter().filter(|made| made.is_ok()).count());
        for ((order, (_, item)), made) in (order..).zip(&batch.images).zip(made) {
            let (ok, decode_s) = match made {
                Err(why) => {
                    self.append_record(&Record::failed(item, &why))?;
                    (false, 0.0)
                }
                Ok(finished) => (true, self.keep(item, order, finished, shared)?),
            };
            (self.work.report)(WorkerEvent::Item { cell: item.cell.clone(), ok, decode_s });
        }
        Ok(())
    }

    /// Saves an image and writes its rows; gives the seconds of its decoding.
    fn keep(
        &mut self,
        item: &Item,
        order: u32,
        mut finished: Finished,
        batch: Option<Batch>,
    ) -> Result<f64, RunError> {
        let name = item.key.file_name("png");
        let path = self.work.run.image(self.shard, &name)?;
        let save_ns = self.work.disk.write(|| {
            // A wait for disk space is no part of saving.
            self.claim.check(self.work.run)?;
            let before = Instant::now();
            save(finished.picture(), &path)?;
            Ok(before.elapsed().as_nanos() as u64)
        })?;
        if let Finished::Own(generated) = &mut finished {
            generated.phases.save = save_ns;
            generated.e2e_ns += save_ns;
        }
        let steps = steps_row(item, &finished);
        let row = TimingRow { batch, ..self.timing_row(item, order, false, &finished) };
        self.work.disk.write(|| {
            self.claim.check(self.work.run)?;
            Ok(self.steps.append(&steps)?)
        })?;
        self.work.disk.write(|| {
            self.claim.check(self.work.run)?;
            Ok(self.timing.append(&row)?)
        })?;
        self.append_record(&record(item, name, &finished))?;
        Ok(row.decode_ns as f64 * 1e-9)
    }

    /// The record is what counts. As before every write: a worker that was stopped, or waited for disk space,
    /// a moment ago must not add to a shard that is another's.
    fn append_record(&mut self, record: &Record) -> Result<(), RunError> {
        self.work.disk.write(|| {
            self.claim.check(self.work.run)?;
            Ok(self.records.append(record)?)
        })
    }

    /// Reports the image under way, so that it is known during which image a worker died.
    fn begin(&self, item: &Item) -> Result<(), RunError> {
        (self.work.report)(WorkerEvent::Begin { key: item.key.clone() });
        if !self.work.share.is_unattended {
            return Ok(());
        }
        let path = self.work.run.attempt_begun(self.shard, self.number);
        let line = format!("{}\n", item.key);
        self.work.disk.write(|| {
            self.claim.check(self.work.run)?;
            let mut options = OpenOptions::new();
            let file = open_in_place(&path, options.write(true).create(true).truncate(true));
            file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(RunError::io(&path, "write"))
        })
    }

    fn timing_row(&self, item: &Item, order: u32, warmup: bool, finished: &Finished) -> TimingRow {
        let (phases_ns, decode_ns, e2e_ns, told_ns) = match finished {
            Finished::Own(generated) => (generated.phases, generated.decode_ns, generated.e2e_ns, None),
            // It has saved its image before it answers; that this program writes it anew is not its time.
            Finished::External(ExternalImage { made, wall_ns, .. }) => {
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
            batch: None,
        }
    }

    /// Notes what the machine did while the block ran.
    pub(crate) fn end_block(&mut self, index: u32) -> Result<(), RunError> {
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
        self.work.disk.write(|| {
            self.claim.check(self.work.run)?;
            Ok(self.machine.append(&row)?)
        })
    }

    /// Writes what is known of the machine and closes the files. A shard that is another's is left as it is.
    pub(crate) fn close(self) -> Result<Claim, RunError> {
        self.claim.check(self.work.run)?;
        if self.work.share.is_unattended {
            // No image is under way any more; a note that stays would name one.
            remove_if_there(&self.work.run.attempt_begun(self.shard, self.number), "remove")?;
        }
        for what in self.graphs.warnings() {
            (self.work.report)(WorkerEvent::Warning { what });
        }
        let elapsed = self.started.elapsed();
        self.work.disk.write(|| {
            self.claim.check(self.work.run)?;
            let environment = Environment {
                steps: Some(self.graphs.rows()),
                plain_steps: self.plain_steps.rows().to_vec(),
                ..environment(&self.gpus, self.allocation.as_ref(), elapsed)
            };
            Ok(write_document(&self.work.run.attempt_env(self.shard, self.number), &environment)?)
        })?;
        self.machine.finish()?;
        self.steps.finish()?;
        self.timing.finish()?;
        self.records.finish()?;
        Ok(self.claim)
    }
}

/// None of the images of `batch` could be made.
fn failed_alike(batch: &Together<&Item>, error: RunError) -> Vec<Result<Generated, RunError>> {
    let others: Vec<_> = batch.images[1..].iter().map(|_| Err(failure!(Spec: "{error}").into())).collect();
    std::iter::once(Err(error)).chain(others).collect()
}

/// A file for an attempt's rows.
fn new_file<T: Document>(path: &Path, disk: DiskWait<'_>) -> Result<Appender<T>, RunError> {
    disk.write(|| Ok(Appender::create(path, Durability::EachRow)?))
}

/// What is known of the machine `elapsed` after the attempt began.
fn environment(gpus: &[String], allocation: Option<&Allocation>, elapsed: Duration) -> Environment {
    let provenance = Provenance::this();
    Environment {
        schema: SCHEMA,
        host_cpu: provenance.host_cpu,
        cpu_features: Some(provenance.cpu_features),
        program: provenance.program,
        libtorch: Some(provenance.libtorch),
        gpus: Some(gpus.to_vec()),
        allocation: allocation.cloned(),
        steps: None,
        plain_steps: Vec::new(),
        load_average: machine::load_average(),
        cpu_mhz: machine::cpu_mhz(),
        peak_memory_mb: machine::peak_memory_mb(),
        seconds: elapsed.as_secs_f64(),
    }
}

/// The text of a panic.
fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    format!("internal error: {}", text.unwrap_or_else(|| "a panic without a message".to_owned()))
}
