//! One driver of a run on a cluster: it submits what is missing, looks for markers, asks the queue now and
//! then, and decides what follows from each task that ended without its marker.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::OpenOptions,
    time::{Duration, Instant, SystemTime},
};

use specimen_experiments::slurm::Ask;
use specimen_foundation::{
    failure,
    failure::{FailureKind, FailureMessage},
};
use specimen_record::{
    Environment, ItemKey, SubmittedArray, Timestamp, WorkerEnd, open_in_place, read_bounded, read_document,
    write_atomic,
};

use crate::{
    driver::{
        events::DriverEvent,
        executor::{Completion, Context, Work},
    },
    error::RunError,
    process::{disk_wait::DiskWait, remove_if_there},
    work::{
        failed_item::{DEATHS_OF_A_FAILED_ITEM, write_failure},
        heartbeat::{DiskState, last_state, reserve},
    },
};

use super::{
    Slurm,
    client::{Client, Seen, Task, passes},
    poll_interval::PollInterval,
    question::{Answer, Question},
    script::{Script, arguments},
    submission_list::SubmissionList,
    task_end::TaskEnd,
    unfinished::unfinished,
};

/// How often markers are looked for.
const TICK: Duration = Duration::from_millis(250);
/// Most bytes of the note that names the image under way: a cell, a prompt's id and a number.
const MOST_BYTES_OF_A_KEY: u64 = 64 << 10;

/// A driver and what it knows.
pub(super) struct ArrayDriver<'a> {
    slurm: &'a Slurm<'a>,
    work: &'a Work<'a>,
    submissions: SubmissionList<'a>,
    name: String,
    poll: PollInterval,
    /// Tasks that the queue no longer has, since when, and their last state.
    gone: BTreeMap<u32, (Instant, Option<Task>)>,
    /// Attempts whose restart by the cluster was reported.
    reported_restarts: BTreeSet<(u32, u32)>,
    /// The first number that no task of an array may have, once it was asked for.
    max_array_size: Option<u32>,
    /// Items whose image was gone at the start.
    lost: Option<BTreeSet<ItemKey>>,
    /// The last report on the queue.
    last_report: String,
    n_scripts: u32,
}

impl<'a> ArrayDriver<'a> {
    /// Continues the submissions of the run, or begins them.
    pub(super) fn open(slurm: &'a Slurm<'a>, work: &'a Work<'a>) -> Result<Self, RunError> {
        let mut submissions = match SubmissionList::open(work.context.run)? {
            Some(submissions) => submissions,
            None => SubmissionList::new(work.context.run, work.map),
        };
        // Arrays of another cut are over: `cut` asked.
        if submissions.map() != work.map {
            submissions.list.arrays.clear();
        }
        if submissions.n_owed() == 0 {
            (submissions.list.timed, submissions.list.untimed) = (work.map.timed, work.map.untimed);
        }
        // A driver that waits for the end tries everything again; a detached one, perhaps run by cron, does
        // not.
        if !slurm.detach {
            submissions.list.given_up.clear();
            submissions.list.bad_ends.clear();
            submissions.list.deaths.clear();
        }
        let name = submissions.job_name();
        let poll = PollInterval::new(
            u64::from_str_radix(&submissions.list.run_id, 16).unwrap_or(0) ^ u64::from(std::process::id()),
        );
        Ok(Self {
            slurm,
            work,
            name,
            poll,
            submissions,
            gone: BTreeMap::new(),
            reported_restarts: BTreeSet::new(),
            max_array_size: None,
            lost: None,
            last_report: String::new(),
            n_scripts: 0,
        })
    }

    /// Until every shard is done or given up, or until the arrays can be left alone.
    pub(super) fn work(mut self) -> Result<Completion, RunError> {
        let is_new = !self.context().run.submissions().exists();
        self.save()?;
        self.collect_markers()?;
        let mut is_looked_at = self.submissions.n_owed() == 0;
        let mut missing = self.missing()?;
        if self.submissions.n_owed() == 0 && missing.is_empty() {
            return self.verdict();
        }
        // Nothing was ever submitted of a new run.
        if !is_new {
            self.end_unknown_arrays()?;
        }
        let mut question = None;
        loop {
            self.collect_markers()?;
            if !missing.is_empty() && self.submit_arrays(&missing)? {
                missing.clear();
            }
            if self.submissions.n_owed() == 0 && missing.is_empty() {
                return self.verdict();
            }
            if self.slurm.detach && is_looked_at && missing.is_empty() && self.gone.is_empty() {
                return Ok(Completion::UnderWay { n_shards: self.submissions.n_owed() });
            }
            if let Err(asked) = self.disk().stop().check() {
                self.report(DriverEvent::ArraysLeftRunning {
                    n_shards: self.submissions.n_owed(),
                    name: self.name.clone(),
                });
                return Err(asked);
            }
            if question.is_none() && self.poll.is_due() {
                question = Some(Question::ask(&self.name, self.submissions.list.arrays.clone()));
            }
            if let Some(asked) = &mut question {
                if let Some(answer) = asked.answer() {
                    question = None;
                    is_looked_at |= self.look(&answer);
                } else if asked.is_newly_silent() {
                    let what = "the queue does not answer; finished shards are found without it";
                    self.report(DriverEvent::Cluster { what: what.to_owned() });
                }
            }
            missing.extend(self.account()?);
            std::thread::sleep(TICK);
        }
    }

    fn context(&self) -> &'a Context<'a> {
        &self.work.context
    }

    fn disk(&self) -> DiskWait<'a> {
        self.work.context.disk
    }

    fn report(&self, event: DriverEvent) {
        (self.work.context.report)(event);
    }

    fn save(&self) -> Result<(), RunError> {
        self.disk().write(|| self.submissions.save())
    }

    fn client(&self) -> Client<'_> {
        Client { name: &self.name, stop: self.disk().stop() }
    }

    /// Cancels arrays of this run that a driver submitted before it was killed, and did not note.
    fn end_unknown_arrays(&self) -> Result<(), RunError> {
        let noted: BTreeSet<u64> = self.submissions.list.arrays.iter().map(|array| array.job).collect();
        let Some(jobs) = self.client().arrays() else {
            let what =
                "the queue does not answer; arrays of this run that no driver noted are not looked for";
            self.report(DriverEvent::Cluster { what: what.to_owned() });
            return Ok(());
        };
        for job in jobs {
            if !noted.contains(&job) {
                self.report(DriverEvent::Cluster {
                    what: format!("job {job} is of this run, but no driver noted it; it is cancelled"),
                });
                self.client().cancel(job)?;
            }
        }
        Ok(())
    }

    fn max_deaths(&self) -> u32 {
        DEATHS_OF_A_FAILED_ITEM.min(self.slurm.settings.max_attempts)
    }

    fn unfinished(&mut self) -> Result<BTreeMap<u32, u64>, RunError> {
        unfinished(self.work, &self.submissions.skipped(self.max_deaths()), &mut self.lost)
    }

    /// Shards with something left to do that no array owes.
    fn missing(&mut self) -> Result<BTreeSet<u32>, RunError> {
        let unfinished = self.unfinished()?;
        let owed = self.submissions.owed();
        let is_missing =
            |shard: &u32| !owed.contains_key(shard) && !self.submissions.list.given_up.contains_key(shard);
        Ok(unfinished.into_keys().filter(is_missing).collect())
    }

    /// Settles the shards that have their marker.
    fn collect_markers(&mut self) -> Result<(), RunError> {
        let mut has_changed = false;
        for shard in self.submissions.owed().into_keys() {
            if self.context().run.done(shard).is_file() {
                self.report_restarts(shard)?;
                self.submissions.settle(shard);
                self.submissions.list.bad_ends.remove(&shard);
                self.gone.remove(&shard);
                has_changed = true;
            }
        }
        if has_changed { self.save() } else { Ok(()) }
    }

    /// Submits arrays of these shards; false when the controller does not answer now.
    fn submit_arrays(&mut self, shards: &BTreeSet<u32>) -> Result<bool, RunError> {
        let refused = |why: String| failure!(Environment: "the cluster refuses the array: {why}");
        let size = match self.max_array_size.map_or_else(|| self.client().max_array_size(), Ok) {
            Ok(size) => size,
            Err(why) if passes(&why) => return Ok(false),
            Err(why) => return Err(refused(why).into()),
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
            // Of an array that was submitted before the controller went away.
            if owed.is_empty() || owed.keys().any(|shard| self.submissions.owed().contains_key(shard)) {
                continue;
            }
            let ask = if is_quality { &settings.quality } else { &settings.timing };
            match self.submit(ask, first_shard, owed.clone())? {
                Ok(job) => self.report(DriverEvent::Cluster {
                    what: format!("job {job}: {} shard(s) of {} blocks", owed.len(), kind(is_quality)),
                }),
                Err(why) if passes(&why) => {
                    self.report(DriverEvent::Cluster { what: format!("{why}; it is tried again") });
                    self.end_unknown_arrays()?;
                    return Ok(false);
                }
                Err(why) => return Err(refused(why).into()),
            }
        }
        self.poll.quicken();
        Ok(true)
    }

    /// Writes the script of an array and submits it.
    fn submit(
        &mut self,
        ask: &Ask,
        first_shard: u32,
        owed: BTreeMap<u32, u64>,
    ) -> Result<Result<u64, String>, RunError> {
        let (run, settings) = (self.context().run, self.slurm.settings);
        for &shard in owed.keys() {
            let folder = run.shard(shard);
            let make = || std::fs::create_dir_all(&folder).map_err(RunError::io(&folder, "make the folder"));
            self.disk().write(make)?;
            // The heartbeat that reports a full disk has its file already.
            self.disk().write(|| reserve(run, shard))?;
            let log = run.worker_log(shard);
            let open = || open_in_place(&log, OpenOptions::new().append(true).create(true));
            self.disk().write(|| open().map(drop).map_err(RunError::io(&log, "make the log")))?;
            // Neither says anything about the worker that comes.
            for path in [run.done(shard), run.worker_end(shard)] {
                remove_if_there(&path, "remove")?;
            }
        }
        let skip: Vec<ItemKey> = self.submissions.skipped(self.max_deaths()).into_iter().collect();
        let text = Script {
            program: self.slurm.program,
            run,
            data_root: self.context().data_root,
            settings,
            map: self.submissions.map(),
            first_shard,
            disk_wait: self.disk().limit(),
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
        self.disk().write(|| Ok(write_atomic(&script, text.as_bytes())?))?;
        let tasks: Vec<u32> = owed.keys().map(|shard| shard - first_shard).collect();
        let flags = arguments(&self.name, ask, settings, &tasks, &run.slurm_dir(), &script)?;
        let job = match self.client().submit(&flags) {
            Ok(job) => job,
            Err(why) => return Ok(Err(why)),
        };
        let submitted = Timestamp::from(SystemTime::now());
        self.submissions.list.arrays.push(SubmittedArray { job, submitted, first_shard, owed });
        self.save()?;
        Ok(Ok(job))
    }

    /// Keeps what the queue answers about the arrays; whether it answered for all.
    fn look(&mut self, answer: &Answer) -> bool {
        let owed = self.submissions.owed();
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
                        n_short += u32::from(last_state(self.context().run, shard) == DiskState::Waits);
                    }
                }
                self.gone.remove(&shard);
            }
        }
        let n_shards = self.work.map.n_shards();
        let mut what = format!("{} of {n_shards} shards owed", self.submissions.n_owed());
        if n_silent < answer.len() {
            what += &format!(", {n_running} running");
        }
        if n_short > 0 {
            what += &format!(" ({n_short} of them wait for disk space)");
        }
        for (reason, n) in waiting {
            what += &format!(", {n} waiting ({reason})");
        }
        if n_silent > 0 {
            what += &format!(", {n_silent} array(s) unknown: the queue does not answer");
        }
        if what != self.last_report {
            self.report(DriverEvent::Cluster { what: what.clone() });
            self.last_report = what;
        }
        n_silent == 0
    }

    /// Settles the tasks that are gone without their marker: by the error they left, or without one after the
    /// time that a shared file system may take. Returns the shards to submit again.
    fn account(&mut self) -> Result<BTreeSet<u32>, RunError> {
        let mut again = BTreeSet::new();
        if self.gone.is_empty() {
            return Ok(again);
        }
        let lag = Duration::from_secs(u64::from(self.slurm.settings.lag_s));
        let owed = self.submissions.owed();
        let mut ended = Vec::new();
        for (&shard, (since, task)) in &self.gone {
            let Some(array) = owed.get(&shard) else { continue };
            let words = self.words_of(shard, array.job);
            if words.is_some() || since.elapsed() >= lag {
                let disk = last_state(self.context().run, shard);
                ended.push((shard, TaskEnd::of(words, task.as_ref(), disk), array.owed[&shard]));
            }
        }
        if ended.is_empty() {
            return Ok(again);
        }
        let left = self.unfinished()?;
        for (shard, end, n_before) in ended {
            self.report_restarts(shard)?;
            self.gone.remove(&shard);
            self.submissions.settle(shard);
            let Some(&n_left) = left.get(&shard) else { continue };
            let item = if end.blames_the_image() { self.under_way(shard)? } else { None };
            self.report(DriverEvent::TaskEnded { shard, how: end.words(), item: item.clone() });
            let is_bad_row = match &item {
                Some(item) => self.blame(shard, item)?,
                None => false,
            };
            let n_bad = self.submissions.list.bad_ends.entry(shard).or_default();
            let is_bad = n_left >= n_before && !is_bad_row;
            *n_bad = if is_bad { *n_bad + u32::from(end.is_an_attempt()) } else { 0 };
            let is_last = *n_bad >= self.slurm.settings.max_attempts;
            if is_last || matches!(end, TaskEnd::Refused(_)) {
                let why = match &end {
                    TaskEnd::Refused(_) => end.words(),
                    _ => format!("{} in {n_bad} attempts; {}", end.words(), end.remedy()),
                };
                self.submissions.list.given_up.insert(shard, why);
            } else {
                again.insert(shard);
            }
        }
        self.save()?;
        Ok(again)
    }

    /// Reports once what the cluster repaired automatically: that it restarted the shard's task, as after the
    /// loss of its node.
    fn report_restarts(&mut self, shard: u32) -> Result<(), RunError> {
        let Some(&last) = self.context().run.attempts(shard)?.last() else { return Ok(()) };
        let path = self.context().run.attempt_env(shard, last);
        // An attempt that was killed before its first file has lost nothing.
        let environment = read_document::<Environment>(&path).ok();
        let n = environment.and_then(|known| known.allocation).map_or(0, |allocation| allocation.n_restarts);
        if n > 0 && self.reported_restarts.insert((shard, last)) {
            self.report(DriverEvent::Cluster {
                what: format!(
                    "the cluster has restarted the task of shard {shard} {n} time(s), after the loss of a node or a \
                     requeue; images that were under way were made again"
                ),
            });
        }
        Ok(())
    }

    /// The error that the shard's worker left, if it is one of this array.
    fn words_of(&self, shard: u32, job: u64) -> Option<WorkerEnd> {
        let words: WorkerEnd = read_document(&self.context().run.worker_end(shard)).ok()?;
        (words.job == Some(job)).then_some(words)
    }

    /// The image that the shard's last worker was making.
    fn under_way(&self, shard: u32) -> Result<Option<ItemKey>, RunError> {
        let Some(&last) = self.context().run.attempts(shard)?.last() else { return Ok(None) };
        let text = read_bounded(&self.context().run.attempt_begun(shard, last), MOST_BYTES_OF_A_KEY);
        let text = text.ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
        // Half a key may be the key of another image.
        Ok(text.strip_suffix('\n').and_then(|key| key.parse().ok()))
    }

    /// Counts a death against an image; true when it was the last that it may cause, and it is a failed row
    /// now.
    fn blame(&mut self, shard: u32, key: &ItemKey) -> Result<bool, RunError> {
        let n = self.submissions.list.deaths.entry(key.clone()).or_default();
        *n += 1;
        let n = *n;
        if n != self.max_deaths() {
            return Ok(false);
        }
        let Some(item) = self.context().file.items.iter().find(|item| item.key == *key) else {
            return Ok(false);
        };
        self.disk().write(|| write_failure(self.context().run, shard, item, n))?;
        Ok(true)
    }

    /// The result of all arrays.
    fn verdict(&self) -> Result<Completion, RunError> {
        let given_up = &self.submissions.list.given_up;
        let Some((&shard, why)) = given_up.first_key_value() else { return Ok(Completion::Done) };
        let code = read_document::<WorkerEnd>(&self.context().run.worker_end(shard)).ok().map(|end| end.code);
        let kind = match code {
            None => FailureKind::Environment,
            code => FailureKind::of_exit_code(code),
        };
        let text = format!(
            "{} shard(s) were given up, everything else that was made is kept; shard {shard} {why}; its log: {}; \
             continue with --resume",
            given_up.len(),
            self.context().run.worker_log(shard).display()
        );
        Err(FailureMessage { kind, text }.into())
    }
}

fn kind(is_quality: bool) -> &'static str {
    if is_quality { "untimed" } else { "timed" }
}
