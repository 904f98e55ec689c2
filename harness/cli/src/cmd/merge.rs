//! `specimen merge`: the attempts of all shards put together, one record for each item in plan order.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use specimen_record::{Manifest, RunDir, mend_of, merge as merge_run, read_document, verify_plan};
use specimen_runner::process::lock::Lock;

use crate::{
    console::{Console, answer, answer_json},
    shared_args::Format,
};

/// Arguments of `specimen merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Folder of the run
    pub run: PathBuf,
}

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct Answer {
    schema: u32,
    n_records: u64,
    n_failed: u64,
    result_digest: String,
    steps_digest: String,
    /// Items with an image and without a trace.
    without_steps: Vec<String>,
    /// Rows that were begun and never finished.
    torn: Vec<String>,
}

/// Merges, and prints the counts. The summary is not made again: `run --resume` scores and summarises.
pub(crate) fn merge(args: &MergeArgs, console: &Console) -> anyhow::Result<()> {
    let run = RunDir::open(&args.run)?;
    // The driver merges too, and two processes must not write the same files.
    let _lock = Lock::take(&run.lock())?;
    let plan = verify_plan(&run)?;
    let merged = merge_run(&run, &plan)?;
    let manifest: Manifest = read_document(&run.manifest())?;
    match manifest.sealed {
        Some(seal) if seal.result_digest == merged.result_digest => {
            if !run.summary().exists() {
                console
                    .say("merged; the summary is not here: `run --resume` (of an import: `score`) makes it");
            }
        }
        Some(seal) => console.warn(format!(
            "the manifest was sealed with another result ({}); its summary is out of date; {}",
            seal.result_digest,
            mend_of(&run, "continue with `run --resume`")
        )),
        None => console.say("merged; scores and summary are made by `run --resume` (of an import: `score`)"),
    }
    let answered = Answer {
        schema: 1,
        n_records: merged.n_records,
        n_failed: merged.n_failed,
        result_digest: merged.result_digest.to_string(),
        steps_digest: merged.steps_digest.to_string(),
        without_steps: merged.without_steps.iter().map(ToString::to_string).collect(),
        torn: merged.torn.iter().map(ToString::to_string).collect(),
    };
    match console.format() {
        Format::Json => answer_json(&answered),
        Format::Human => {
            let mut text = format!(
                "records {}, {} of them failed\nresult  {}\n",
                answered.n_records, answered.n_failed, answered.result_digest
            );
            for torn in &answered.torn {
                text += &format!("torn    {torn}\n");
            }
            for key in &answered.without_steps {
                text += &format!("trace   missing for {key}\n");
            }
            answer(&text)
        }
    }
}
