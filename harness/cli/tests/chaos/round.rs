//! One round: start, disturb, resume until it ends, compare.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use specimen_decode::rng::{Purpose, Uniforms};
use specimen_record::{ItemKey, Manifest, PlanFile, Record, RunDir, coverage, read_document, read_rows};

use crate::{
    disturb::{Disturbance, children, signal, tear},
    tmpfs::Tmpfs,
};

/// Merging, scoring and sealing take about this long.
const END_MS: f64 = 60.0;

/// The undisturbed run that all others are compared with.
pub(crate) struct Ground {
    folder: tempfile::TempDir,
    pub(crate) digest: String,
    pub(crate) n_items: usize,
    /// How long it took: disturbances come within that time.
    duration_ms: f64,
}

/// What came of a round.
pub(crate) struct Outcome {
    /// Whether the merged digest is that of the undisturbed run.
    pub(crate) is_equal: bool,
    /// Items that were finished before and made again.
    pub(crate) n_repeated: usize,
    /// Whether it cost something, or a second driver was refused; some come too early or too late for that.
    pub(crate) has_cost: bool,
    /// Whether the run, or the one that went on, said so.
    pub(crate) is_reported: bool,
}

/// How a run ended.
struct Ended {
    code: Option<i32>,
    err: String,
}

impl Ground {
    pub(crate) fn prepare() -> Self {
        let mut ground = Self {
            folder: tempfile::tempdir().unwrap(),
            digest: String::new(),
            n_items: 0,
            duration_ms: 0.0,
        };
        let out = ground.folder.path().join("undisturbed");
        let started = std::time::Instant::now();
        let ended = ground.run(&out, &[]);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        ground.duration_ms = started.elapsed().as_secs_f64() * 1e3;
        ground.digest = digest(&out);
        let plan: PlanFile = read_document(&RunDir::open(&out).unwrap().plan()).unwrap();
        ground.n_items = plan.items.len();
        ground
    }

    fn command(&self, out: &Path, more: &[&str]) -> Command {
        let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/specs/ci/stub.toml");
        let mut command = Command::new(env!("CARGO_BIN_EXE_specimen"));
        command.arg("run").arg(spec).arg("--out").arg(out).args(more);
        command.current_dir(self.folder.path()).env_remove("SPECIMEN_DATA").stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    fn run(&self, out: &Path, more: &[&str]) -> Ended {
        ended(self.command(out, more).spawn().unwrap())
    }

    /// Disturbs a run and resumes it until it ends.
    pub(crate) fn round(&self, disturbance: Disturbance, number: u32) -> Outcome {
        let lot = Uniforms::new(u64::from(number) << 8 | disturbance as u64);
        let draw = |slot| lot.uniform(Purpose::Init, 0, slot);
        let cut = |slot: u32| (1 + (draw(slot) * 5.0) as u32).to_string();
        let jobs = |slot: u32| (1 + (draw(slot) * 2.0) as u32).to_string();
        let out = self.folder.path().join(format!("{disturbance:?}-{number}"));
        let driver = self.command(&out, &["--shards", &cut(0), "--jobs", &jobs(1)]).spawn().unwrap();
        if disturbance == Disturbance::KillDriverAtTheEnd {
            self.wait_for_the_end(&out);
            std::thread::sleep(Duration::from_secs_f64(draw(2) * END_MS * 1e-3));
        } else {
            std::thread::sleep(Duration::from_secs_f64(draw(2) * self.duration_ms * 1e-3));
        }
        let (first, mut has_cost, mut is_reported) = self.disturb(disturbance, driver, &out, draw(3));
        let what = format!("{} {number}", disturbance.name());

        let mut n_repeated = 0;
        // A driver that was killed before it wrote the manifest left nothing to resume.
        if first.code != Some(0) {
            let finished = finished(&out);
            let before = attempts(&out);
            let mut resume = vec!["--shards", "3", "--jobs", "2"];
            if out.join("manifest.json").exists() {
                resume.push("--resume");
            }
            let is_begun = out.join("shards").exists();
            let is_torn = disturbance == Disturbance::TornTail && has_cost;
            let second = self.run(&out, &resume);
            assert_eq!(second.code, Some(0), "{what}: {}", second.err);
            has_cost = is_begun;
            let word = if is_torn { "never finished" } else { "images are there" };
            is_reported = second.err.contains(word);
            let left: Vec<PathBuf> =
                files_below(&out).into_iter().filter(|file| is_unfinished(file)).collect();
            assert_eq!(left, [""; 0].map(PathBuf::from), "{what}: half written files are left");
            let later = attempts(&out);
            let made = later.difference(&before).flat_map(|path| keys_of(path));
            n_repeated = made.filter(|key| finished.contains(key)).count();
        }
        let is_equal = digest(&out) == self.digest;
        std::fs::remove_dir_all(&out).unwrap();
        Outcome { is_equal, n_repeated, has_cost, is_reported }
    }

    /// Waits until no worker has anything left to do, at most twice as long as that took undisturbed.
    fn wait_for_the_end(&self, out: &Path) {
        let started = std::time::Instant::now();
        let is_done = || {
            let Ok(run) = RunDir::open(out) else { return false };
            let shards = run.shards().unwrap_or_default();
            run.merged_dir().exists() || (shards.len() > 1 && shards.iter().all(|&k| run.done(k).exists()))
        };
        while !is_done() && started.elapsed().as_secs_f64() * 1e3 < 2.0 * self.duration_ms {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Does it, and waits for the driver; whether that cost something, and whether it was reported.
    fn disturb(&self, disturbance: Disturbance, driver: Child, out: &Path, draw: f64) -> (Ended, bool, bool) {
        let id = driver.id();
        let worker = || {
            let workers = children(id);
            workers.get((draw * workers.len() as f64) as usize).copied()
        };
        match disturbance {
            Disturbance::KillWorker => {
                let worker = worker();
                worker.iter().for_each(|&worker| signal("KILL", worker));
                let first = ended(driver);
                assert_eq!(first.code, Some(0), "{}", first.err);
                let is_reported = first.err.contains("died of signal 9");
                (first, worker.is_some(), is_reported)
            }
            Disturbance::KillDriver | Disturbance::KillDriverAtTheEnd => {
                signal("KILL", id);
                (ended(driver), false, false)
            }
            Disturbance::KillBoth => {
                let workers = children(id);
                signal("KILL", id);
                workers.into_iter().for_each(|worker| signal("KILL", worker));
                (ended(driver), false, false)
            }
            Disturbance::StopAndContinueWorker => {
                let worker = worker();
                worker.iter().for_each(|&worker| signal("STOP", worker));
                std::thread::sleep(Duration::from_millis(300));
                worker.iter().for_each(|&worker| signal("CONT", worker));
                (ended(driver), false, false)
            }
            Disturbance::TerminateDriver => self.asked_to_stop(driver, &["TERM"], 75),
            Disturbance::InterruptOnce => self.asked_to_stop(driver, &["INT"], 75),
            Disturbance::InterruptTwice => self.asked_to_stop(driver, &["INT", "INT"], 130),
            Disturbance::TerminateWorker => {
                worker().into_iter().for_each(|worker| signal("TERM", worker));
                let first = ended(driver);
                assert_eq!(first.code, Some(0), "{}", first.err);
                (first, false, false)
            }
            Disturbance::SecondDriver => {
                let second = self.run(out, &["--resume"]);
                let is_refused = second.code == Some(7);
                // It may come before the first has its lock, or after the end: then one of the two does the work.
                if is_refused {
                    assert!(second.err.contains(&format!("process {id} on ")), "{}", second.err);
                }
                (ended(driver), is_refused, is_refused)
            }
            Disturbance::TornTail => {
                let workers = children(id);
                signal("KILL", id);
                workers.into_iter().for_each(|worker| signal("KILL", worker));
                let first = ended(driver);
                let is_torn = tear(out);
                (first, is_torn, false)
            }
        }
    }

    fn asked_to_stop(&self, driver: Child, signals: &[&str], code: i32) -> (Ended, bool, bool) {
        let id = driver.id();
        for name in signals {
            signal(name, id);
            // Two signals of one kind that wait at the same time are one.
            std::thread::sleep(Duration::from_millis(30));
        }
        let first = ended(driver);
        // It may have ended before the signal came, or stopped before a second one.
        let is_stopped = first.code == Some(code);
        assert!(is_stopped || matches!(first.code, Some(0 | 75) | None), "{:?} {}", first.code, first.err);
        if is_stopped {
            assert!(first.err.contains("--resume"), "{}", first.err);
        }
        (first, is_stopped, is_stopped)
    }

    /// A disk that fills up and has room again: for a run that waits for that, one that is interrupted meanwhile, and
    /// one that was told not to wait.
    pub(crate) fn full_disk(&self, disk: &Tmpfs) {
        let out = disk.path().join("full");
        let (driver, said) = self.run_until_short(&out);
        let n_before = finished(&out).len();
        assert!((1..self.n_items).contains(&n_before), "the disk was full after {n_before} items");
        disk.remount("size=64m");
        let ended = driver.wait_with_output().unwrap().status;
        let text = std::fs::read_to_string(&said).unwrap();
        assert_eq!(ended.code(), Some(0), "{text}");
        let n_said = |words: &str| text.matches(words).count();
        assert_eq!(n_said(": disk full ("), n_said("there is disk space again"), "{text}");
        assert_eq!(digest(&out), self.digest);
        std::fs::remove_dir_all(&out).unwrap();

        disk.remount("size=300k");
        let (driver, said) = self.run_until_short(&out);
        signal("INT", driver.id());
        let ended = driver.wait_with_output().unwrap().status;
        assert_eq!(ended.code(), Some(75), "{}", std::fs::read_to_string(&said).unwrap());
        disk.remount("size=64m");
        self.resume_to_the_same(&out);
        std::fs::remove_dir_all(&out).unwrap();

        disk.remount("size=300k");
        let first = self.run(&out, &["--disk-wait", "0"]);
        assert_eq!(first.code, Some(6), "{}", first.err);
        assert!(first.err.contains("free some disk space and continue with --resume"), "{}", first.err);
        disk.remount("size=64m");
        self.resume_to_the_same(&out);
        println!("a full disk: {n_before} items were there, the rest came after");
    }

    /// Starts a run and waits until it says that it waits for room; the driver, and where its words are kept.
    fn run_until_short(&self, out: &Path) -> (Child, PathBuf) {
        let said = self.folder.path().join("said");
        let log = std::fs::File::create(&said).unwrap();
        let driver = self.command(out, &[]).stderr(log).spawn().unwrap();
        let started = std::time::Instant::now();
        while !std::fs::read_to_string(&said).unwrap().contains(": disk full (") {
            assert!(started.elapsed() < Duration::from_secs(300), "the disk was never full");
            std::thread::sleep(Duration::from_millis(20));
        }
        // There is one for an instant, whenever it is tried again.
        while files_below(out).iter().any(|file| is_unfinished(file)) {
            assert!(started.elapsed() < Duration::from_secs(600), "half written files are left");
            std::thread::sleep(Duration::from_millis(20));
        }
        (driver, said)
    }

    /// A disk that may not be written, then may.
    pub(crate) fn read_only(&self, disk: &Tmpfs) {
        let out = disk.path().join("read-only");
        let driver = self.command(&out, &[]).spawn().unwrap();
        let id = driver.id();
        std::thread::sleep(Duration::from_secs_f64(self.duration_ms * 0.5e-3));
        signal("KILL", id);
        children(id).into_iter().for_each(|worker| signal("KILL", worker));
        ended(driver);
        disk.remount("ro");
        let refused = self.run(&out, &["--resume"]);
        assert_eq!(refused.code, Some(6), "{}", refused.err);
        assert!(refused.err.contains("Read-only file system"), "{}", refused.err);
        disk.remount("rw");
        self.resume_to_the_same(&out);
    }

    /// One bit of one file of a finished run.
    pub(crate) fn flipped_bit(&self, number: u32) {
        let lot = Uniforms::new(u64::from(number));
        let out = self.folder.path().join(format!("flipped-{number}"));
        let ran = self.run(&out, &["--shards", "2"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let verify = || {
            let command = &mut Command::new(env!("CARGO_BIN_EXE_specimen"));
            ended(
                command.arg("verify").arg(&out).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap(),
            )
        };
        assert_eq!(verify().code, Some(0));

        let mut files = files_below(&out);
        // Who held what, and what was said, is no result; a report is drawn again from the summary.
        files.retain(|file| {
            !["lock", "lease.json", "heartbeat", "worker.log"].iter().any(|name| file.ends_with(name))
        });
        files.retain(|file| !file.starts_with(out.join("report")));
        files.sort();
        let pick = |slot, n: usize| (lot.uniform(Purpose::Init, 1, slot) * n as f64) as usize;
        let file = &files[pick(0, files.len())];
        let mut bytes = std::fs::read(file).unwrap();
        let before = bytes.clone();
        let at = pick(1, bytes.len());
        bytes[at] ^= 1 << pick(2, 8);
        std::fs::write(file, bytes).unwrap();
        let found = verify();
        assert_eq!(found.code, Some(4), "{}: byte {at}: {}", file.display(), found.err);
        let place = file.strip_prefix(&out).unwrap().components().next().unwrap();
        let place = place.as_os_str().to_str().unwrap();
        assert!(found.err.contains(place), "{}: {}", file.display(), found.err);

        // What `verify` advises.
        match place {
            "shards" => {
                let shard = file.ancestors().find(|path| path.parent() == Some(&out.join("shards"))).unwrap();
                std::fs::remove_dir_all(shard).unwrap();
            }
            "plan.json" | "checksums.json" => std::fs::remove_file(file).unwrap(),
            "manifest.json" => std::fs::write(file, before).unwrap(),
            _ => {}
        }
        self.resume_to_the_same(&out);
        assert_eq!(verify().code, Some(0));
        std::fs::remove_dir_all(&out).unwrap();
    }

    fn resume_to_the_same(&self, out: &Path) {
        let resume: &[&str] = if out.join("manifest.json").exists() { &["--resume"] } else { &[] };
        let second = self.run(out, resume);
        assert_eq!(second.code, Some(0), "{}", second.err);
        assert_eq!(digest(out), self.digest);
    }
}

fn ended(driver: Child) -> Ended {
    let output = driver.wait_with_output().unwrap();
    Ended { code: output.status.code(), err: String::from_utf8_lossy(&output.stderr).into_owned() }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

fn digest(out: &Path) -> String {
    let manifest: Manifest = read_document(&RunDir::open(out).unwrap().manifest()).unwrap();
    manifest.sealed.unwrap().result_digest.to_string()
}

fn is_unfinished(file: &Path) -> bool {
    file.file_name().unwrap().to_string_lossy().starts_with(".unfinished-")
}

/// Items that a resumed run has no reason to make again: those of complete blocks, and all others with an image
/// whose cell is not timed.
fn finished(out: &Path) -> BTreeSet<ItemKey> {
    let Ok(run) = RunDir::open(out) else { return BTreeSet::new() };
    let Ok(plan) = read_document::<PlanFile>(&run.plan()) else { return BTreeSet::new() };
    let ok: BTreeSet<ItemKey> = coverage(&run, &plan).unwrap().ok.into_iter().collect();
    let is_whole = |key: &&ItemKey| {
        let block = plan.blocks.iter().find(|block| block.items.contains(*key)).unwrap();
        key.cell() == "quality" || block.items.iter().all(|key| ok.contains(key))
    };
    ok.iter().filter(is_whole).cloned().collect()
}

/// The record files of all attempts.
fn attempts(out: &Path) -> BTreeSet<PathBuf> {
    let Ok(run) = RunDir::open(out) else { return BTreeSet::new() };
    let shards = run.shards().unwrap();
    let of_shard = |k: u32| run.attempts(k).unwrap().into_iter().map(move |n| (k, n)).collect::<Vec<_>>();
    shards.into_iter().flat_map(of_shard).map(|(k, n)| run.attempt_records(k, n)).collect()
}

fn keys_of(records: &Path) -> Vec<ItemKey> {
    read_rows::<Record>(records).unwrap().rows.into_iter().map(|record| record.key).collect()
}
