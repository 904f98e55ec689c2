//! `specimen shard`: one worker of a run. Its stdout carries one JSON object a line to the driver, its stderr
//! is the worker's log.

use std::{io::Write, path::PathBuf, time::Duration};

use anyhow::Context;
use clap::{Args, Subcommand};
use specimen_foundation::{fail, failure::FailureKind};
use specimen_record::{ItemKey, RunDir, SCHEMA, WorkerEnd, write_document};
use specimen_runner::{
    error::RunError,
    plan::shard_map::ShardMap,
    process::stop_request::StopRequest,
    work::{shard_work::Share, worker::run_shard, worker_event::WorkerEvent},
};

use crate::{console::log, exit::kind_of, spec_args::data_root};

/// What to do with a shard.
#[derive(Debug, Subcommand)]
pub enum ShardCommand {
    /// Run the blocks of a shard
    Run(ShardRunArgs),
}

/// Arguments of `specimen shard run`.
#[derive(Debug, Args)]
pub struct ShardRunArgs {
    /// Folder of the run
    pub dir: PathBuf,
    /// The shard, from 0; those of timed blocks come first
    pub k: u32,
    /// Shards that the timed blocks are cut into
    #[arg(long, value_name = "N")]
    pub timed_shards: u32,
    /// Shards that the other blocks are cut into
    #[arg(long, value_name = "N")]
    pub untimed_shards: u32,
    /// Leave this item alone; may be repeated
    #[arg(long, value_name = "KEY")]
    pub skip: Vec<ItemKey>,
    /// The GPU that `device = "cuda"` means
    #[arg(long, value_name = "N")]
    pub gpu: Option<u32>,
    /// Finish the image under way and stop when stdin closes
    #[arg(long)]
    pub stop_with_stdin: bool,
    /// How long a write waits for disk space, in seconds [default: until asked to stop]
    #[arg(long, value_name = "SECONDS")]
    pub disk_wait: Option<u64>,
    /// Nobody listens: say nothing on stdout, and leave on disk what a driver must know
    #[arg(long, conflicts_with = "stop_with_stdin")]
    pub unattended: bool,
}

/// Runs the shard.
pub(crate) fn shard(command: &ShardCommand) -> anyhow::Result<()> {
    let ShardCommand::Run(args) = command;
    let stop = StopRequest::on_signals()?;
    if args.stop_with_stdin {
        stop.on_end_of_stdin();
    }
    // Before anything touches a tensor: the number of threads is part of what makes the bytes.
    specimen_weights::use_threads(1);
    let run = RunDir::open(&args.dir)?;
    let map = ShardMap { timed: args.timed_shards, untimed: args.untimed_shards };
    if args.k >= map.n_shards() {
        let n = map.n_shards();
        fail!(Usage: "there is no shard {}, the run has {n}", args.k);
    }
    let share = Share {
        shard: args.k,
        map,
        skip: args.skip.iter().cloned().collect(),
        gpu: args.gpu,
        is_unattended: args.unattended,
        disk_wait: args.disk_wait.map(Duration::from_secs),
        data_root: data_root(),
    };
    if args.unattended {
        return unattended(&run, &share, &stop)
            .with_context(|| format!("shard {} of {}", args.k, map.n_shards()));
    }
    let mut voice = Voice::default();
    let ended = run_shard(&run, &share, &stop, &mut |progress| voice.report(&progress));
    if let Err(error) = &ended {
        voice.report(&WorkerEvent::Failed { why: error.to_string() });
    }
    voice.flush();
    ended.with_context(|| format!("shard {} of {}", args.k, map.n_shards()))
}

/// Runs a shard for a driver that reads the disk alone: what made the worker end too early is left there.
fn unattended(run: &RunDir, share: &Share, stop: &StopRequest) -> anyhow::Result<()> {
    let path = run.worker_end(share.shard);
    match std::fs::remove_file(&path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            return Err(e).with_context(|| format!("{}: cannot remove", path.display()));
        }
        _ => {}
    }
    let ended = run_shard(run, share, stop, &mut note);
    let Err(error) = ended else { return Ok(()) };
    let is_ours = !matches!(error, RunError::Superseded { .. });
    let why = error.to_string();
    let error = anyhow::Error::from(error);
    // The shard is another's when this one was superseded, and so are its last words.
    if is_ours {
        let job = std::env::var("SLURM_ARRAY_JOB_ID").ok().and_then(|job| job.parse().ok());
        let end = WorkerEnd { schema: SCHEMA, job, code: kind_of(&error).exit_code().into(), why };
        if let Err(unwritten) = write_document(&path, &end) {
            return Err(error.context(unwritten.to_string()));
        }
    }
    Err(error)
}

/// Writes to the log of a worker without a driver what a person must know while it runs. The log may be on the full disk,
/// so failures are ignored.
fn note(progress: WorkerEvent) {
    match progress {
        WorkerEvent::DiskFull(shortage) => log(shortage),
        WorkerEvent::DiskFree => log("there is disk space again"),
        WorkerEvent::Warning { what } => log(format!("warning: {what}")),
        _ => {}
    }
}

/// Progress reports to the driver, one line each.
#[derive(Default)]
struct Voice {
    /// Lines that wait for the next: the end of an image is sent with the start of the one that follows, so that
    /// the driver wakes once for both.
    waiting: String,
}

impl Voice {
    fn report(&mut self, progress: &WorkerEvent) {
        self.waiting += &serde_json::to_string(progress).expect("a progress report is plain data");
        self.waiting.push('\n');
        if !matches!(progress, WorkerEvent::Item { .. }) {
            self.flush();
        }
    }

    /// A driver that is gone would start this shard again when it resumes, and two workers must not make the same
    /// images: the worker ends too, with all its rows on disk.
    fn flush(&mut self) {
        // Written in one piece: a line-buffered stdout would wake the driver for each line.
        let mut out = std::io::stdout().lock();
        if out.write_all(self.waiting.as_bytes()).and_then(|()| out.flush()).is_err() {
            std::process::exit(FailureKind::Interrupted.exit_code().into());
        }
        self.waiting.clear();
    }
}
