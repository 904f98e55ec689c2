//! One driver at work: it hands in what is missing, looks for markers, asks the queue now and then, and decides what
//! follows from each task that ended without its marker.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::OpenOptions,
    time::{Duration, Instant, SystemTime},
};

use specimen_experiments::slurm::Ask;
use specimen_record::{
    Environment, ItemKey, SubmittedArray, Timestamp, WorkerEnd, read_bounded, read_document, write_atomic,
};

use crate::{
    attempt::write_failure,
    error::RunError,
    executor::{Standing, Work},
    heart::{Told, last_told, make_place},
    room::Room,
    stage::Stage,
    stop::Stop,
    worker::unfinished,
};

use super::{
    Slurm,
    client::{Client, Seen, Task, passes},
    ends::End,
    ledger::Ledger,
    pace::Pace,
    question::{Answer, Question},
    script::{Script, arguments},
};

/// How often markers are looked for.
const TICK: Duration = Duration::from_millis(250);
/// Workers that one item may kill; it is a failed row then.
const MAX_DEATHS_OF_AN_ITEM: u32 = 3;
/// Most bytes of the note that names the image under way: a cell, a prompt's id and a number.
const MOST_BYTES_OF_A_KEY: u64 = 64 << 10;

/// A driver and what it knows.
pub(super) struct Site<'a> {
    slurm: &'a Slurm<'a>,
    work: &'a Work<'a>,
    stop: &'a Stop,
    ledger: Ledger<'a>,
    name: String,
    pace: Pace,
    /// Tasks that the queue no longer has, since when, and what it last said of them.
    gone: BTreeMap<u32, (Instant, Option<Task>)>,
    /// Attempts of which was told that the cluster began them again.
    told_again: BTreeSet<(u32, u32)>,
    /// The first number that no task of an array may have, once it was asked for.
    max_array_size: Option<u32>,
    /// Items whose image was gone at the start.
    lost: Option<BTreeSet<ItemKey>>,
    /// What was last told of the queue.
    told: String,
    n_scripts: u32,
}

impl<'a> Site<'a> {
    /// Takes up the ledger of the run, or begins one.
    pub(super) fn open(slurm: &'a Slurm<'a>, work: &'a Work<'a>, stop: &'a Stop) -> Result<Self, RunError> {
        let mut ledger = match Ledger::open(work.run)? {
            Some(ledger) => ledger,
            None => Ledger::new(work.run, work.map),
        };
        // Arrays of another cut are over: `cut` asked.
        if ledger.map() != work.map {
            ledger.list.arrays.clear();
        }
        if ledger.n_owed() == 0 {
            (ledger.list.timed, ledger.list.untimed) = (work.map.timed, work.map.untimed);
        }
        // Who waits for the end wants everything tried again; who only looks in, from cron, does not.
        if !slurm.detach {
            ledger.list.given_up.clear();
            ledger.list.bad_ends.clear();
            ledger.list.deaths.clear();
        }
        let name = ledger.job_name();
        let pace = Pace::new(
            u64::from_str_radix(&ledger.list.run_id, 16).unwrap_or(0) ^ u64::from(std::process::id()),
        );
        Ok(Self {
            slurm,
            work,
            stop,
            name,
            pace,
            ledger,
            gone: BTreeMap::new(),
            told_again: BTreeSet::new(),
            max_array_size: None,
            lost: None,
            told: String::new(),
            n_scripts: 0,
        })
    }

    /// Until every shard is done or given up, or until the arrays can be left alone.
    pub(super) fn work(mut self, report: &mut dyn FnMut(Stage)) -> Result<Standing, RunError> {
        let is_new = !self.work.run.submissions().exists();
        self.save(report)?;
        self.collect_markers(report)?;
        let mut is_looked_at = self.ledger.n_owed() == 0;
        let mut missing = self.missing()?;
        if self.ledger.n_owed() == 0 && missing.is_empty() {
            return self.verdict();
        }
        // Nothing was ever handed in of a run that is new.
        if !is_new {
            self.end_unknown_arrays(report)?;
        }
        let mut question = None;
        loop {
            self.collect_markers(report)?;
            if !missing.is_empty() && self.hand_in(&missing, report)? {
                missing.clear();
            }
            if self.ledger.n_owed() == 0 && missing.is_empty() {
                return self.verdict();
            }
            if self.slurm.detach && is_looked_at && missing.is_empty() && self.gone.is_empty() {
                return Ok(Standing::UnderWay { n_shards: self.ledger.n_owed() });
            }
            if let Err(asked) = self.stop.check() {
                report(Stage::LeftAtWork { n_shards: self.ledger.n_owed(), name: self.name.clone() });
                return Err(asked);
            }
            if question.is_none() && self.pace.is_due() {
                question = Some(Question::ask(&self.name, self.ledger.list.arrays.clone()));
            }
            if let Some(asked) = &mut question {
                if let Some(answer) = asked.answer() {
                    question = None;
                    is_looked_at |= self.look(&answer, report);
                } else if asked.is_newly_silent() {
                    let what = "the queue does not answer; what is done is seen without it";
                    report(Stage::Cluster { what: what.to_owned() });
                }
            }
            missing.extend(self.account(report)?);
            std::thread::sleep(TICK);
        }
    }

    fn room(&self) -> Room<'a> {
        Room::new(self.stop, self.work.disk_wait)
    }

    fn save(&self, report: &mut dyn FnMut(Stage)) -> Result<(), RunError> {
        self.room().write(report, || self.ledger.save())
    }

    fn client(&self) -> Client<'_> {
        Client { name: &self.name, stop: self.stop }
    }

    /// Ends arrays of this run that a driver handed in and was killed before it noted them.
    fn end_unknown_arrays(&self, report: &mut dyn FnMut(Stage)) -> Result<(), RunError> {
        let noted: BTreeSet<u64> = self.ledger.list.arrays.iter().map(|array| array.job).collect();
        let Some(jobs) = self.client().arrays() else {
            let what = "the queue does not answer; arrays of this run that nobody noted are not looked for";
            report(Stage::Cluster { what: what.to_owned() });
            return Ok(());
        };
        for job in jobs {
            if !noted.contains(&job) {
                report(Stage::Cluster {
                    what: format!("job {job} is of this run and nobody noted it; it is cancelled"),
                });
                self.client().cancel(job)?;
            }
        }
        Ok(())
    }

    fn max_deaths(&self) -> u32 {
        MAX_DEATHS_OF_AN_ITEM.min(self.slurm.settings.max_attempts)
    }

    fn unfinished(&mut self) -> Result<BTreeMap<u32, u64>, RunError> {
        unfinished(self.work, &self.ledger.skipped(self.max_deaths()), &mut self.lost)
    }

    /// Shards with something left to do that no array owes.
    fn missing(&mut self) -> Result<BTreeSet<u32>, RunError> {
        let unfinished = self.unfinished()?;
        let owed = self.ledger.owed();
        let is_missing =
            |shard: &u32| !owed.contains_key(shard) && !self.ledger.list.given_up.contains_key(shard);
        Ok(unfinished.into_keys().filter(is_missing).collect())
    }

    /// Settles the shards whose marker lies there.
    fn collect_markers(&mut self, report: &mut dyn FnMut(Stage)) -> Result<(), RunError> {
        let mut has_changed = false;
        for shard in self.ledger.owed().into_keys() {
            if self.work.run.done(shard).is_file() {
                self.tell_of_restarts(shard, report)?;
                self.ledger.settle(shard);
                self.ledger.list.bad_ends.remove(&shard);
                self.gone.remove(&shard);
                has_changed = true;
            }
        }
        if has_changed { self.save(report) } else { Ok(()) }
    }

    /// Hands in arrays of these shards; false when the controller does not answer now.
    fn hand_in(&mut self, shards: &BTreeSet<u32>, report: &mut dyn FnMut(Stage)) -> Result<bool, RunError> {
        let refused = |why: String| RunError::Environment(format!("the cluster takes no array: {why}"));
        let size = match self.max_array_size.map_or_else(|| self.client().max_array_size(), Ok) {
            Ok(size) => size,
            Err(why) if passes(&why) => return Ok(false),
            Err(why) => return Err(refused(why)),
        };
        self.max_array_size = Some(size);
        let left = self.unfinished()?;
        let settings = self.slurm.settings;
        let is_timed = |shard: u32| shard < self.work.map.timed;
        let mut arrays: BTreeMap<(bool, u32), Vec<u32>> = BTreeMap::new();
        for &shard in shards {
            arrays.entry((!is_timed(shard), shard / size * size)).or_default().push(shard);
        }
        for ((is_quality, first_shard), shards) in arrays {
            let owed: BTreeMap<u32, u64> =
                shards.iter().filter_map(|shard| Some((*shard, *left.get(shard)?))).collect();
            // Of an array that was handed in before the controller went away.
            if owed.is_empty() || owed.keys().any(|shard| self.ledger.owed().contains_key(shard)) {
                continue;
            }
            let ask = if is_quality { &settings.quality } else { &settings.timing };
            match self.submit(ask, first_shard, owed.clone(), report)? {
                Ok(job) => report(Stage::Cluster {
                    what: format!("job {job}: {} shard(s) of {} blocks", owed.len(), kind(is_quality)),
                }),
                Err(why) if passes(&why) => {
                    report(Stage::Cluster { what: format!("{why}; it is tried again") });
                    self.end_unknown_arrays(report)?;
                    return Ok(false);
                }
                Err(why) => return Err(refused(why)),
            }
        }
        self.pace.quicken();
        Ok(true)
    }

    /// Writes the script of an array and hands it in.
    fn submit(
        &mut self,
        ask: &Ask,
        first_shard: u32,
        owed: BTreeMap<u32, u64>,
        report: &mut dyn FnMut(Stage),
    ) -> Result<Result<u64, String>, RunError> {
        let (run, settings) = (self.work.run, self.slurm.settings);
        for &shard in owed.keys() {
            let folder = run.shard(shard);
            let make = || std::fs::create_dir_all(&folder).map_err(RunError::io(&folder, "make the folder"));
            self.room().write(report, make)?;
            // What a worker says on a disk that is full has its place already.
            self.room().write(report, || make_place(run, shard))?;
            let log = run.worker_log(shard);
            let open = || OpenOptions::new().append(true).create(true).open(&log);
            self.room().write(report, || open().map(drop).map_err(RunError::io(&log, "make the log")))?;
            // Neither says anything about the worker that comes.
            for path in [run.done(shard), run.worker_end(shard)] {
                match std::fs::remove_file(&path) {
                    Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                        return Err(RunError::io(&path, "remove")(e));
                    }
                    _ => {}
                }
            }
        }
        let skip: Vec<ItemKey> = self.ledger.skipped(self.max_deaths()).into_iter().collect();
        let text = Script {
            program: self.slurm.program,
            run,
            data_root: self.work.data_root,
            settings,
            map: self.ledger.map(),
            first_shard,
            disk_wait: self.work.disk_wait,
            skip: &skip,
        }
        .text()?;
        let script = loop {
            let path = run.slurm_dir().join(format!("array-{}.sh", self.n_scripts));
            self.n_scripts += 1;
            if !path.exists() {
                break path;
            }
        };
        self.room().write(report, || Ok(write_atomic(&script, text.as_bytes())?))?;
        let tasks: Vec<u32> = owed.keys().map(|shard| shard - first_shard).collect();
        let flags = arguments(&self.name, ask, settings, &tasks, &run.slurm_dir(), &script)?;
        let job = match self.client().submit(&flags) {
            Ok(job) => job,
            Err(why) => return Ok(Err(why)),
        };
        let submitted = Timestamp::from(SystemTime::now());
        self.ledger.list.arrays.push(SubmittedArray { job, submitted, first_shard, owed });
        self.save(report)?;
        Ok(Ok(job))
    }

    /// Takes in what the queue says of the arrays; whether it answered for all.
    fn look(&mut self, answer: &Answer, report: &mut dyn FnMut(Stage)) -> bool {
        let owed = self.ledger.owed();
        let (mut n_silent, mut n_running, mut n_short) = (0, 0, 0);
        let mut waiting = BTreeMap::<String, u32>::new();
        for (array, seen) in answer {
            let Seen::Tasks(tasks) = seen else {
                n_silent += 1;
                continue;
            };
            // Markers that came meanwhile count before the queue.
            let is_owed = |shard: &&u32| owed.get(*shard).is_some_and(|now| now.job == array.job);
            for &shard in array.owed.keys().filter(is_owed) {
                let task = tasks.get(shard - array.first_shard);
                match task.filter(|task| task.is_alive()) {
                    None => {
                        self.gone.entry(shard).or_insert_with(|| (Instant::now(), task.cloned()));
                        continue;
                    }
                    Some(task) if task.state == "PENDING" => {
                        *waiting.entry(task.reason.clone()).or_default() += 1;
                    }
                    Some(_) => {
                        n_running += 1;
                        n_short += u32::from(last_told(self.work.run, shard) == Told::Waits);
                    }
                }
                self.gone.remove(&shard);
            }
        }
        let n_shards = self.work.map.n_shards();
        let mut what = format!("{} of {n_shards} shards owed", self.ledger.n_owed());
        if n_silent < answer.len() {
            what += &format!(", {n_running} running");
        }
        if n_short > 0 {
            what += &format!(" ({n_short} of them wait for room on the disk)");
        }
        for (reason, n) in waiting {
            what += &format!(", {n} waiting ({reason})");
        }
        if n_silent > 0 {
            what += &format!(", {n_silent} array(s) unknown: the queue does not answer");
        }
        if what != self.told {
            report(Stage::Cluster { what: what.clone() });
            self.told = what;
        }
        n_silent == 0
    }

    /// Settles the tasks that are gone without their marker: the last words they left, or silence after the time that
    /// a shared file system may take. The shards to hand in again.
    fn account(&mut self, report: &mut dyn FnMut(Stage)) -> Result<BTreeSet<u32>, RunError> {
        let mut again = BTreeSet::new();
        if self.gone.is_empty() {
            return Ok(again);
        }
        let lag = Duration::from_secs(u64::from(self.slurm.settings.lag_s));
        let owed = self.ledger.owed();
        let mut ended = Vec::new();
        for (&shard, (since, task)) in &self.gone {
            let Some(array) = owed.get(&shard) else { continue };
            let words = self.words_of(shard, array.job);
            if words.is_some() || since.elapsed() >= lag {
                let told = last_told(self.work.run, shard);
                ended.push((shard, End::of(words, task.as_ref(), told), array.owed[&shard]));
            }
        }
        if ended.is_empty() {
            return Ok(again);
        }
        let left = self.unfinished()?;
        for (shard, end, n_before) in ended {
            self.tell_of_restarts(shard, report)?;
            self.gone.remove(&shard);
            self.ledger.settle(shard);
            let Some(&n_left) = left.get(&shard) else { continue };
            let item = if end.blames_the_image() { self.under_way(shard)? } else { None };
            report(Stage::TaskEnded { shard, how: end.words(), item: item.clone() });
            let is_bad_row = match &item {
                Some(item) => self.blame(shard, item, report)?,
                None => false,
            };
            let n_bad = self.ledger.list.bad_ends.entry(shard).or_default();
            let is_bad = n_left >= n_before && !is_bad_row;
            *n_bad = if is_bad { *n_bad + u32::from(end.is_an_attempt()) } else { 0 };
            let is_last = *n_bad >= self.slurm.settings.max_attempts;
            if is_last || matches!(end, End::Refused(_)) {
                let why = match &end {
                    End::Refused(_) => end.words(),
                    _ => format!("{} in {n_bad} attempts; {}", end.words(), end.remedy()),
                };
                self.ledger.list.given_up.insert(shard, why);
            } else {
                again.insert(shard);
            }
        }
        self.save(report)?;
        Ok(again)
    }

    /// Says what the cluster sets right by itself, once: that it began the shard's task again, as after the loss of its
    /// node.
    fn tell_of_restarts(&mut self, shard: u32, report: &mut dyn FnMut(Stage)) -> Result<(), RunError> {
        let Some(&last) = self.work.run.attempts(shard)?.last() else { return Ok(()) };
        let path = self.work.run.attempt_env(shard, last);
        // An attempt that was killed before its first file says nothing, and has lost nothing.
        let environment = read_document::<Environment>(&path).ok();
        let n = environment.and_then(|known| known.allocation).map_or(0, |allocation| allocation.n_restarts);
        if n > 0 && self.told_again.insert((shard, last)) {
            report(Stage::Cluster {
                what: format!(
                    "the cluster has begun the task of shard {shard} again, {n} time(s): a node was lost, or \
                     somebody asked for it; images that were under way were made again"
                ),
            });
        }
        Ok(())
    }

    /// The last words of the shard's worker, if it is one of this array.
    fn words_of(&self, shard: u32, job: u64) -> Option<WorkerEnd> {
        let words: WorkerEnd = read_document(&self.work.run.worker_end(shard)).ok()?;
        (words.job == Some(job)).then_some(words)
    }

    /// The image that the shard's last worker was making.
    fn under_way(&self, shard: u32) -> Result<Option<ItemKey>, RunError> {
        let Some(&last) = self.work.run.attempts(shard)?.last() else { return Ok(None) };
        let text = read_bounded(&self.work.run.attempt_begun(shard, last), MOST_BYTES_OF_A_KEY);
        let text = text.ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
        // Half a key may be the key of another image.
        Ok(text.strip_suffix('\n').and_then(|key| key.parse().ok()))
    }

    /// Counts a death against an image; true when it was the last it is forgiven, and it is a failed row now.
    fn blame(&mut self, shard: u32, key: &ItemKey, report: &mut dyn FnMut(Stage)) -> Result<bool, RunError> {
        let n = self.ledger.list.deaths.entry(key.clone()).or_default();
        *n += 1;
        let n = *n;
        if n != self.max_deaths() {
            return Ok(false);
        }
        let Some(item) = self.work.plan.items.iter().find(|item| item.key == *key) else { return Ok(false) };
        self.room().write(report, || write_failure(self.work.run, shard, item, n))?;
        Ok(true)
    }

    /// What came of it all.
    fn verdict(&self) -> Result<Standing, RunError> {
        let given_up = &self.ledger.list.given_up;
        let Some((&shard, why)) = given_up.first_key_value() else { return Ok(Standing::Worked) };
        let code = read_document::<WorkerEnd>(&self.work.run.worker_end(shard)).ok().map(|end| end.code);
        Err(RunError::GivenUp {
            n_shards: given_up.len(),
            shard,
            why: why.clone(),
            log: self.work.run.worker_log(shard),
            code,
        })
    }
}

fn kind(is_quality: bool) -> &'static str {
    if is_quality { "untimed" } else { "timed" }
}
