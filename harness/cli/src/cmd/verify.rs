//! `specimen verify`: everything of a run that can be checked against a digest, a plan or a record. With `--deep` also
//! whether it is what it says: what follows from its rows, computed again. With `--replay` images are made again. All that
//! is wrong is listed, not only the first.

use std::{fmt::Write, path::PathBuf};

use clap::Args;
use serde::Serialize;
use specimen_decode::rng::{Purpose, Uniforms};
use specimen_experiments::{bundled::BUNDLED, parse::SpecText};
use specimen_foundation::{fail, failure, failure::FailureKind};
use specimen_record::{
    Manifest, Record, RunDir, Summary, compare_json, described, read_document, verify_run,
};
use specimen_runner::{
    images::replay::{Replay, Replayed},
    process::{lock::Lock, stop_request::StopRequest},
    recheck::recheck,
};

use crate::{
    console::{Console, answer, answer_json},
    exit::kind_of,
    provenance::sources,
    seal_check::{refusal, refuse_rehearsal},
    shared_args::Format,
    spec_args::data_root,
};

/// What to check.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Folder of the run
    pub run: PathBuf,
    /// For a run that you were given: compute again what follows from its rows (plan, summary, manifest, protocols). A run
    /// that is not at its end fails then
    #[arg(long)]
    pub deep: bool,
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
    n_finished_shards: u64,
    sealed: bool,
    /// Whether fields that no digest covers, traces and timings could be compared.
    has_checksums: bool,
    result_digest: Option<String>,
    torn: Vec<String>,
    /// Files that a dead process left under way.
    unfinished: Vec<String>,
    /// Images that were made again.
    n_replayed: usize,
    seed: u64,
    /// All that is wrong, each with its file.
    complaints: Vec<String>,
    /// What could not be checked here, and why.
    not_checked: Vec<String>,
    /// What a reader should know and that is not wrong.
    notes: Vec<String>,
    /// The process that works on the run, under which nothing is called wrong; absent where none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_work: Option<String>,
}

/// Checks, and says what was checked. Any complaint is an error with code 4.
pub(crate) fn verify(args: &VerifyArgs, console: &Console) -> anyhow::Result<()> {
    let run = RunDir::open(&args.run)?;
    if args.deep {
        refuse_rehearsal(&run)?;
    }
    // Before anything is read, which may be half written then. What cannot be asked is one of the complaints.
    let at_work = Lock::at_work(&run).unwrap_or_default();
    let verified = verify_run(&run);
    let mut found = Answer {
        schema: 1,
        pass: false,
        n_planned: verified.n_planned,
        n_records: verified.n_records,
        n_images: verified.n_images,
        n_finished_shards: verified.n_finished,
        sealed: verified.sealed,
        has_checksums: verified.has_checksums,
        result_digest: verified.result_digest.as_ref().map(ToString::to_string),
        torn: verified.torn.iter().map(ToString::to_string).collect(),
        unfinished: verified.unfinished.iter().map(|path| path.display().to_string()).collect(),
        n_replayed: 0,
        seed: args.seed,
        complaints: verified.complaints.iter().map(ToString::to_string).collect(),
        not_checked: Vec::new(),
        notes: Vec::new(),
        at_work,
    };
    match &found.at_work {
        // What does not fit yet may be under way.
        Some(_) => found.not_checked.append(&mut found.complaints),
        None if args.deep => deep(args, &run, &mut found),
        None => {}
    }
    match replay(args, &run, &mut found, console) {
        Err(why) if matches!(kind_of(&why), FailureKind::Interrupted | FailureKind::Aborted) => {
            return Err(why);
        }
        Err(why) => found.not_checked.push(format!("the images: {why:#}")),
        Ok(()) => {}
    }
    found.pass = found.complaints.is_empty() && !(args.deep && found.at_work.is_some());
    match console.format() {
        Format::Json => answer_json(&found)?,
        Format::Human => answer(&human(&found))?,
    }
    if let Some(holder) = found.at_work.as_ref().filter(|_| args.deep) {
        let run = args.run.display();
        let why = format!("{run}: {holder} is working on this run; check it when it has ended");
        fail!(Missing: "{why}");
    }
    if found.at_work.is_none() && !verified.complaints.is_empty() {
        return Err(refusal(&run, &verified.complaints).into());
    }
    match found.complaints.as_slice() {
        [] => Ok(()),
        [first, rest @ ..] => {
            let more = if rest.is_empty() { String::new() } else { format!(", and {} more", rest.len()) };
            Err(failure!(Missing: "{}: not as it says: {first}{more}", args.run.display()).into())
        }
    }
}

/// Computes again what follows from the rows of the run.
fn deep(args: &VerifyArgs, run: &RunDir, found: &mut Answer) {
    if !found.sealed {
        let root = run.root().display();
        found.complaints.push(format!("{root}: the run is not sealed, so it is not at its end"));
    }
    match recheck(run, data_root().as_ref(), &sources()) {
        Ok(again) => {
            found.complaints.extend(again.complaints);
            found.not_checked.extend(again.not_checked);
        }
        Err(why) if found.complaints.is_empty() => found.complaints.push(why.to_string()),
        // What is damaged has been said; what was to be computed from it is not known.
        Err(why) => found.not_checked.push(format!("summary, metrics and claims: {why}")),
    }
    let summary: Option<Summary> = read_document(&run.summary()).ok();
    found.notes.extend(summary.iter().flat_map(Summary::notes_of_metrics));
    if args.replay == 0 {
        let is_made_here = summary.is_none_or(|all| all.cells.iter().any(|cell| cell.origin.is_none()));
        let why = match is_made_here {
            true => "the images: give --replay N to make some again",
            false => "the images: they were made elsewhere, so nothing here makes them again",
        };
        found.not_checked.push(why.to_owned());
    }
    let report = run.root().join("report");
    if report.exists() {
        let how = "it is drawn from what was checked: draw it again with `specimen report`";
        found.not_checked.push(format!("{}: {how}", report.display()));
    }
    found.notes.extend(beside_bundled(run));
}

/// Makes images of the run again.
fn replay(args: &VerifyArgs, run: &RunDir, found: &mut Answer, console: &Console) -> anyhow::Result<()> {
    if args.replay == 0 {
        return Ok(());
    }
    let stop = StopRequest::on_signals()?;
    specimen_weights::use_threads(1);
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

/// The first `n` of a shuffle of all records that can be made again.
fn at_random<'r>(
    n: u32,
    seed: u64,
    replay: &Replay<'_>,
    records: &'r [Record],
) -> anyhow::Result<Vec<&'r Record>> {
    let lot = Uniforms::new(seed);
    let mut order: Vec<&Record> = records.iter().filter(|record| replay.is_made_here(record)).collect();
    if order.is_empty() {
        fail!(Usage: "no image of the run was made by this program");
    }
    let n = (n as usize).min(order.len());
    for at in 0..n {
        let left = (order.len() - at) as f64;
        let draw = (lot.uniform(Purpose::Init, 0, at as u32) * left) as usize;
        order.swap(at, at + draw);
    }
    order.truncate(n);
    Ok(order)
}

fn words(outcome: &Replayed) -> String {
    let key = &outcome.key;
    // As tables spell it: `casc[tau_pos=0.85]/3/0`.
    let key = format!("{}/{}/{}", key.cell(), key.prompt_id(), key.sample());
    match (&outcome.err, outcome.first_different_token) {
        (Some(why), _) => format!("{key}: not made: {why}"),
        (None, Some(at)) => format!("{key}: token {at} differs"),
        (None, None) if !outcome.same_pixels => format!("{key}: same tokens, other pixels"),
        (None, None) => format!("{key}: same tokens, same pixels"),
    }
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
    say(format!("images   {} files of all attempts have the pixels of their record", found.n_images));
    say(format!("shards   {} finished", found.n_finished_shards));
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
    if found.n_replayed > 0 {
        say(format!("replay   {} images made again, chosen with seed {}", found.n_replayed, found.seed));
    }
    for path in &found.unfinished {
        say(format!(
            "left     {path}: a process died while it wrote this; `run --resume` removes it (of an import: remove it)"
        ));
    }
    found.torn.iter().for_each(|torn| say(format!("torn     {torn}")));
    found.notes.iter().for_each(|note| say(format!("note     {note}")));
    found.not_checked.iter().for_each(|what| say(format!("unknown  {what}")));
    found.complaints.iter().for_each(|complaint| say(format!("wrong    {complaint}")));
    if let Some(holder) = &found.at_work {
        say(format!("running  {holder}; what is unknown may be under way: check again when it has ended"));
        return text;
    }
    say(match (found.pass, found.sealed) {
        (false, _) => "fail",
        (true, true) => "pass: nothing that was checked is wrong",
        (true, false) => {
            "nothing that is here is wrong; the rest is not made, or not merged: `run --resume` (of an import: `score`) ends it, \
             and `verify --deep` fails until then"
        }
    }
    .to_owned());
    text
}
