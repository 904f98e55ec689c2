//! `specimen shard`: one worker of a run. Its stdout carries one JSON object a line to the driver, its stderr
//! is the worker's log.

use std::{io::Write, path::PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use specimen_record::RunDir;
use specimen_runner::worker::{Progress, run_shard};

use crate::{exit::Code, spec_args::data_root};

/// What to do with a shard.
#[derive(Debug, Subcommand)]
pub enum ShardCommand {
    /// Run the blocks of a shard
    Run(ShardRunArgs),
}

/// Which shard.
#[derive(Debug, Args)]
pub struct ShardRunArgs {
    /// Folder of the run
    pub dir: PathBuf,
    /// The shard, from 0
    pub k: u32,
    /// Shards of the run
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub shards: u32,
}

/// Runs the shard.
pub(crate) fn shard(command: &ShardCommand) -> anyhow::Result<()> {
    let ShardCommand::Run(args) = command;
    // Before anything touches a tensor: the number of threads is part of what makes the bytes.
    specimen_weights::use_threads(1);
    let run = RunDir::open(&args.dir)?;
    let mut report = |progress: Progress| tell(&progress);
    run_shard(&run, args.k, args.shards, data_root(), &mut report)
        .with_context(|| format!("shard {} of {}", args.k, args.shards))
}

/// One line to the driver. A driver that is gone would start this shard again when it resumes, and two
/// workers must not make the same images: the worker ends too, with all its rows on disk.
fn tell(progress: &Progress) {
    let line = serde_json::to_string(progress).expect("a progress report is plain data");
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        std::process::exit(Code::Interrupted as i32);
    }
}
