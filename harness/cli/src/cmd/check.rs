//! `specimen check`: whether a run that somebody hands on is what it says. `verify` compares files with their digests; this also
//! computes again what follows from the rows, and makes images again.

use std::{fmt::Write, path::PathBuf};

use clap::Args;
use serde::Serialize;
use specimen_experiments::{bundled::BUNDLED, parse::SpecText};
use specimen_record::{Manifest, RunDir, Summary, compare_json, described, read_document, verify_run};
use specimen_runner::{images::replay::Replay, process::stop_request::StopRequest, recheck::recheck};

use crate::{
    args::Format,
    cmd::replay::{at_random, words},
    console::{Console, answer, answer_json},
    exit::CliError,
    provenance::sources,
    seal_check::refuse_rehearsal,
    spec_args::data_root,
};

/// What to check.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Folder of the run
    pub run: PathBuf,
    /// Make this many images again, chosen at random, and compare tokens and pixels
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub replay: u32,
    /// Seed of that choice
    #[arg(long, value_name = "N", default_value_t = 0, requires = "replay")]
    pub seed: u64,
}

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct Answer {
    schema: u32,
    pass: bool,
    n_planned: u64,
    n_records: u64,
    n_images: u64,
    /// Images that were made again.
    n_replayed: usize,
    seed: u64,
    /// All that is wrong, each with its file.
    complaints: Vec<String>,
    /// What could not be checked here, and why.
    not_checked: Vec<String>,
    /// What a reader should know and that is not wrong.
    notes: Vec<String>,
}

/// Checks, and says what was checked. Any complaint is an error with code 4.
pub(crate) fn check(args: &CheckArgs, console: &Console) -> anyhow::Result<()> {
    let stop = StopRequest::on_signals()?;
    specimen_weights::use_threads(1);
    let run = RunDir::open(&args.run)?;
    refuse_rehearsal(&run)?;
    let verified = verify_run(&run);
    let mut found = Answer {
        schema: 1,
        pass: false,
        n_planned: verified.n_planned,
        n_records: verified.n_records,
        n_images: verified.n_images,
        n_replayed: 0,
        seed: args.seed,
        complaints: verified.complaints.iter().map(ToString::to_string).collect(),
        not_checked: Vec::new(),
        notes: Vec::new(),
    };
    if !verified.sealed {
        found
            .complaints
            .push(format!("{}: the run is not sealed, so it is not at its end", run.root().display()));
    }
    match recheck(&run, data_root().as_ref(), &sources()) {
        Ok(again) => {
            found.complaints.extend(again.complaints);
            found.not_checked.extend(again.not_checked);
        }
        Err(why) if found.complaints.is_empty() => found.complaints.push(why.to_string()),
        // What is damaged has been said; what was to be computed from it is not known.
        Err(why) => found.not_checked.push(format!("summary, metrics and claims: {why}")),
    }
    if args.replay == 0 {
        let why = match is_of_this_program(&run) {
            true => "the images: give --replay N to make some again",
            false => "the images: they were made elsewhere, so nothing here makes them again",
        };
        found.not_checked.push(why.to_owned());
    } else if let Err(why) = replay(args, &run, &stop, &mut found, console) {
        found.not_checked.push(format!("the images: {why:#}"));
    }
    let report = run.root().join("report");
    if report.exists() {
        let how = "it is drawn from what was checked: draw it again with `specimen report`";
        found.not_checked.push(format!("{}: {how}", report.display()));
    }
    found.notes.extend(beside_bundled(&run));
    found.pass = found.complaints.is_empty();
    match console.format() {
        Format::Json => answer_json(&found)?,
        Format::Human => answer(&human(&found))?,
    }
    match found.complaints.as_slice() {
        [] => Ok(()),
        [first, rest @ ..] => {
            let more = if rest.is_empty() { String::new() } else { format!(", and {} more", rest.len()) };
            Err(CliError::Missing(format!("{}: not as it says: {first}{more}", args.run.display())).into())
        }
    }
}

/// Whether this program made images of the run; a run without a summary is one of its own.
fn is_of_this_program(run: &RunDir) -> bool {
    let summary: Option<Summary> = read_document(&run.summary()).ok();
    summary.is_none_or(|summary| summary.cells.iter().any(|cell| cell.origin.is_none()))
}

/// Makes images of the run again.
fn replay(
    args: &CheckArgs,
    run: &RunDir,
    stop: &StopRequest,
    found: &mut Answer,
    console: &Console,
) -> anyhow::Result<()> {
    let mut replay = Replay::open(run, data_root())?;
    let records = replay.records()?;
    for record in at_random(args.replay, args.seed, &replay, &records)? {
        stop.check()?;
        let outcome = replay.again(record)?;
        console.detail(words(&outcome));
        found.n_replayed += 1;
        if outcome.err.is_some() {
            found.not_checked.push(words(&outcome));
        } else if !outcome.is_same() {
            found.complaints.push(words(&outcome));
        }
    }
    Ok(())
}

/// How the spec of the run differs from the one of this name in the program; `None` where there is none, or it is the same.
fn beside_bundled(run: &RunDir) -> Option<String> {
    let manifest: Manifest = read_document(&run.manifest()).ok()?;
    let of_name = |text: &str| {
        let spec = SpecText::parse("a spec of the program", text).ok()?.resolve().ok()?;
        (spec.name == manifest.name).then(|| serde_json::to_value(&spec).unwrap_or_default())
    };
    let bundled = BUNDLED.iter().find_map(|spec| of_name(spec.text))?;
    let differences = described(&compare_json(&bundled, &manifest.spec))?;
    Some(format!("it differs from this program's spec `{}`: {differences}", manifest.name))
}

fn human(found: &Answer) -> String {
    let mut text = String::new();
    let mut say = |line: String| writeln!(text, "{line}").expect("writing to a string cannot fail");
    say(format!("items    {}, {} of them with a record", found.n_planned, found.n_records));
    say(format!("images   {} files have the pixels of their record", found.n_images));
    if found.n_replayed > 0 {
        say(format!("replay   {} images made again, chosen with seed {}", found.n_replayed, found.seed));
    }
    found.notes.iter().for_each(|note| say(format!("note     {note}")));
    found.not_checked.iter().for_each(|what| say(format!("unknown  {what}")));
    found.complaints.iter().for_each(|complaint| say(format!("wrong    {complaint}")));
    say(if found.pass { "pass: nothing that was checked is wrong" } else { "fail" }.to_owned());
    text
}
