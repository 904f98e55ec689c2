//! `specimen verify`: everything of a run that can be checked against a digest, a plan or a record. All that is
//! wrong is listed, not only the first.

use std::{fmt::Write, path::PathBuf};

use clap::Args;
use serde::Serialize;
use specimen_record::{RunDir, Verified, verify_run};

use crate::{
    args::Format,
    console::{Console, answer, answer_json},
    seal_check,
};

/// Arguments of `specimen verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Folder of the run
    pub run: PathBuf,
}

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct Answer {
    schema: u32,
    n_planned: u64,
    n_records: u64,
    n_images: u64,
    n_finished_shards: u64,
    sealed: bool,
    /// Whether fields that no digest covers, traces and timings could be compared.
    has_checksums: bool,
    result_digest: Option<String>,
    torn: Vec<String>,
    /// Files that a dead process left under way.
    unfinished: Vec<String>,
    complaints: Vec<String>,
}

/// Checks, and says what was checked. Any complaint is an error with code 4.
pub(crate) fn verify(args: &VerifyArgs, console: &Console) -> anyhow::Result<()> {
    let run = RunDir::open(&args.run)?;
    let found = verify_run(&run);
    let complaints: Vec<String> = found.complaints.iter().map(ToString::to_string).collect();
    let torn: Vec<String> = found.torn.iter().map(ToString::to_string).collect();
    let unfinished: Vec<String> = found.unfinished.iter().map(|path| path.display().to_string()).collect();
    match console.format() {
        Format::Json => answer_json(&Answer {
            schema: 1,
            n_planned: found.n_planned,
            n_records: found.n_records,
            n_images: found.n_images,
            n_finished_shards: found.n_finished,
            sealed: found.sealed,
            has_checksums: found.has_checksums,
            result_digest: found.result_digest.as_ref().map(ToString::to_string),
            torn: torn.clone(),
            unfinished: unfinished.clone(),
            complaints: complaints.clone(),
        })?,
        Format::Human => answer(&human(&found, &torn, &unfinished, &complaints))?,
    }
    match found.complaints.is_empty() {
        true => Ok(()),
        false => Err(seal_check::refusal(&run, &found.complaints).into()),
    }
}

fn human(found: &Verified, torn: &[String], unfinished: &[String], complaints: &[String]) -> String {
    let mut text = String::new();
    let mut say = |line: String| writeln!(text, "{line}").expect("writing to a string cannot fail");
    say(format!("items    {}, {} of them with a record", found.n_planned, found.n_records));
    say(format!("images   {} files of all attempts have the pixels of their record", found.n_images));
    say(format!("shards   {} finished", found.n_finished));
    if let Some(digest) = &found.result_digest {
        let of = if found.sealed { "" } else { ", of the run as it was merged last" };
        say(format!("result   {digest}{of}"));
    }
    let sealed = if found.sealed { "sealed" } else { "not sealed: the run is not at its end" };
    say(format!("manifest {sealed}"));
    if found.sealed && !found.has_checksums {
        say("note     an earlier version sealed the run without checksums: traces and timings were read and not compared"
            .to_owned());
    }
    for path in unfinished {
        say(format!("left     {path}: a process died while it wrote this; `run --resume` removes it"));
    }
    torn.iter().for_each(|torn| say(format!("torn     {torn}")));
    complaints.iter().for_each(|complaint| say(format!("wrong    {complaint}")));
    match (complaints.is_empty(), found.sealed) {
        (false, _) => {}
        (true, true) => say("nothing is wrong".to_owned()),
        (true, false) => say(
            "nothing that is here is wrong; the rest is not made, or not merged: `run --resume` (of an import: `score`) ends it, and `check` fails until then"
                .to_owned(),
        ),
    }
    text
}
