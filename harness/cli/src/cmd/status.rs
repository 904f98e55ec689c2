//! `specimen status`: how much of a run is done, which process works on it, and the remaining time. Reads little and
//! writes nothing, so that it can be asked again and again.

use std::{fmt::Write, path::PathBuf};

use clap::Args;
use serde::Serialize;
use specimen_foundation::text::counted;
use specimen_record::{
    CellProgress, ItemKey, Manifest, OF_AN_IMPORT, PlanFile, RunDir, read_document, read_timings,
    run_progress,
};
use specimen_runner::{
    plan::{shard_map::made_again, stored_plan::spec_of},
    process::lock::Lock,
    slurm::arrays::{Array, Arrays, arrays},
};

use crate::{
    console::{Console, answer, answer_json},
    shared_args::Format,
};

/// Arguments of `specimen status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Folder of the run
    pub run: PathBuf,
}

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct Status {
    schema: u32,
    name: String,
    plan_digest: String,
    /// `running`, `incomplete`, `merged`: every item has a row and the manifest is sealed.
    state: &'static str,
    /// Whether the images were imported.
    is_imported: bool,
    /// The driver at work.
    holder: Option<String>,
    n_items: u64,
    n_ok: u64,
    n_failed: u64,
    n_missing: u64,
    /// Images that are there and are made again when the run is continued: those of timed blocks that lack some. Null where that
    /// is not known.
    n_again: Option<u64>,
    n_shards: usize,
    n_finished_shards: usize,
    /// Rows that were begun and never finished.
    torn: Vec<String>,
    /// Seconds of one worker for what a run that is continued makes, judged by the images of each cell so far.
    seconds_left: Option<f64>,
    /// Arrays of a cluster; absent where nothing was ever submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    slurm: Option<Arrays>,
    cells: Vec<CellLine>,
}

#[derive(Serialize)]
struct CellLine {
    name: String,
    n_ok: u64,
    n_failed: u64,
    n_missing: u64,
    /// As of the run.
    n_again: u64,
    /// Mean from prompt to saved image.
    seconds_per_image: Option<f64>,
}

/// Prints how much of the run is done.
pub(crate) fn status(args: &StatusArgs, console: &Console) -> anyhow::Result<()> {
    let run = RunDir::open(&args.run)?;
    let manifest: Manifest = read_document(&run.manifest())?;
    let plan: PlanFile = read_document(&run.plan())?;
    let is_imported = manifest.is_imported();
    let progress = run_progress(&run, &plan)?;
    let seconds = seconds_per_image(&run)?;
    let holder = Lock::holder(&run.lock())?;
    let n_missing: u64 = progress.cells.iter().map(|cell| cell.n_missing).sum();
    let slurm = if manifest.sealed.is_none() { arrays(&run)? } else { None };
    let is_alive = |array: &Array| array.n_running.unwrap_or(0) + array.n_waiting.unwrap_or(0) > 0;
    let has_tasks = slurm.as_ref().is_some_and(|slurm| slurm.arrays.iter().any(is_alive));
    let state = match (&holder, n_missing, &manifest.sealed) {
        (Some(_), _, _) => "running",
        (None, _, _) if has_tasks => "running",
        (None, 0, Some(_)) => "merged",
        _ => "incomplete",
    };
    // Those of a run under way are at work. The spec of another version of this program does not say which blocks are timed.
    let again: Option<Vec<String>> = match state {
        "running" => Some(Vec::new()),
        _ if is_imported => Some(Vec::new()),
        _ => spec_of(&run, &manifest)
            .ok()
            .map(|spec| made_again(&plan, &spec, &progress).into_iter().map(ItemKey::cell).collect()),
    };
    let cells: Vec<CellLine> = progress
        .cells
        .iter()
        .map(|cell| line(cell, &seconds, again.as_deref().unwrap_or_default()))
        .collect();
    let sum = |of: fn(&CellLine) -> u64| cells.iter().map(of).sum::<u64>();
    let left = |cell: &CellLine| match cell.n_missing + cell.n_failed + cell.n_again {
        0 => Some(0.0),
        n => cell.seconds_per_image.map(|seconds| seconds * n as f64),
    };
    let answered = Status {
        schema: 1,
        name: manifest.name,
        plan_digest: plan.digest.to_string(),
        state,
        is_imported,
        holder,
        n_items: plan.items.len() as u64,
        n_ok: sum(|cell| cell.n_ok),
        n_failed: sum(|cell| cell.n_failed),
        n_missing,
        n_again: again.is_some().then(|| sum(|cell| cell.n_again)),
        n_shards: progress.shards.len(),
        n_finished_shards: progress.finished.len(),
        torn: progress.torn.iter().map(ToString::to_string).collect(),
        seconds_left: cells.iter().map(left).sum(),
        slurm,
        cells,
    };
    match console.format() {
        Format::Json => answer_json(&answered),
        Format::Human => answer(&human(&answered)),
    }
}

/// The arrays in words.
fn array_lines(slurm: &Arrays) -> Vec<String> {
    let array = |array: &Array| {
        let Array { job, submitted, n_owed, n_running, n_without_room, n_waiting, reasons } = array;
        let room = match n_without_room {
            None | Some(0) => String::new(),
            Some(n) => format!(" ({n} of them wait for disk space)"),
        };
        let how = match (n_running, n_waiting) {
            (Some(running), Some(0)) => format!("{running} running{room}"),
            (Some(running), Some(waiting)) => {
                format!("{running} running{room}, {waiting} waiting ({})", reasons.join(", "))
            }
            _ if *n_owed == 0 => "all done".to_owned(),
            _ => "unknown: the queue does not answer".to_owned(),
        };
        format!("slurm   job {job} ({}) of {submitted}: {n_owed} shard(s) owed, {how}", slurm.name)
    };
    let given_up =
        slurm.given_up.iter().map(|(shard, why)| format!("slurm   shard {shard} was given up: it {why}"));
    slurm.arrays.iter().map(array).chain(given_up).collect()
}

/// `again`: the cell of each image that is made again.
fn line(cell: &CellProgress, seconds: &[(String, f64)], again: &[String]) -> CellLine {
    let known = seconds.iter().find(|(name, _)| *name == cell.cell);
    CellLine {
        name: cell.cell.clone(),
        n_ok: cell.n_ok,
        n_failed: cell.n_failed,
        n_missing: cell.n_missing,
        n_again: again.iter().filter(|name| **name == cell.cell).count() as u64,
        seconds_per_image: known.map(|(_, seconds)| *seconds),
    }
}

fn human(status: &Status) -> String {
    let mut text = String::new();
    let mut say = |line: String| writeln!(text, "{line}").expect("writing to a string cannot fail");
    say(format!("run     {} (plan {})", status.name, &status.plan_digest[..12]));
    match &status.holder {
        Some(holder) => say(format!("state   running: {holder}")),
        None if status.state == "running" => {
            say("state   running on the cluster, no driver waits for it; continue with `run --resume`"
                .to_owned())
        }
        None if status.is_imported && status.n_missing > 0 => {
            say(format!("state   incomplete: images are missing; {OF_AN_IMPORT}"))
        }
        // A scoring that failed or was stopped leaves an import without its seal.
        None if status.state == "incomplete" && status.is_imported => {
            say("state   incomplete: not scored to the end; `specimen score` ends it".to_owned())
        }
        None if status.state == "incomplete" => {
            say("state   incomplete; continue with `run --resume`".to_owned())
        }
        None if status.is_imported => say("state   merged: its images were imported".to_owned()),
        None => say(format!("state   {}", status.state)),
    }
    let Status { n_items, n_ok, n_failed, n_missing, n_again, .. } = status;
    let again = if *n_failed > 0 { "; `run --resume` tries the failed ones again" } else { "" };
    say(format!("items   {n_items}: {n_ok} made, {n_failed} failed, {n_missing} missing{again}"));
    if let Some(n @ 1..) = n_again {
        let images = counted(*n as usize, "existing image");
        say(format!("again   `run --resume` also makes {images} again: their timed blocks are incomplete"));
    }
    say(format!("shards  {} finished of {}", status.n_finished_shards, status.n_shards));
    let untold = |cell: &&CellLine| cell.n_missing + cell.n_failed > 0 && cell.seconds_per_image.is_none();
    match (status.seconds_left, status.cells.iter().find(untold)) {
        _ if n_missing + n_failed == 0 || status.is_imported => {}
        (Some(seconds), _) => say(format!("left    about {seconds:.0} s of one worker")),
        (None, Some(cell)) => {
            say(format!("left    unknown: cell {} has no image with a time yet", cell.name))
        }
        (None, None) => {}
    }
    for line in status.slurm.iter().flat_map(array_lines) {
        say(line);
    }
    let width = status.cells.iter().map(|cell| cell.name.chars().count()).max().unwrap_or(0);
    for CellLine { name, n_ok, n_failed, n_missing, n_again: _, seconds_per_image } in &status.cells {
        let n = n_ok + n_failed + n_missing;
        let seconds = seconds_per_image
            .map_or_else(String::new, |s| format!(", {s:.3} s from prompt to image (all timings)"));
        let failed = if *n_failed > 0 { format!(", {n_failed} failed") } else { String::new() };
        say(format!("cell    {name:width$}  {n_ok}/{n}{failed}{seconds}"));
    }
    for torn in &status.torn {
        say(format!("torn    {torn}"));
    }
    text
}

/// Mean seconds of an image, warm-ups apart, for every cell that has images.
pub(crate) fn seconds_per_image(run: &RunDir) -> anyhow::Result<Vec<(String, f64)>> {
    let mut sums: Vec<(String, u64, u64)> = Vec::new();
    for timed in read_timings(run)?.rows.iter().filter(|timed| !timed.row.warmup) {
        let cell = timed.row.key.cell();
        match sums.iter_mut().find(|(name, _, _)| *name == cell) {
            Some((_, ns, n)) => (*ns, *n) = (*ns + timed.row.e2e_ns, *n + 1),
            None => sums.push((cell, timed.row.e2e_ns, 1)),
        }
    }
    Ok(sums.into_iter().map(|(name, ns, n)| (name, ns as f64 * 1e-9 / n as f64)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_unknown_while_a_cell_has_no_time_and_the_cell_is_named() {
        let cell = |name: &str, n_missing: u64, seconds_per_image: Option<f64>| CellLine {
            name: name.to_owned(),
            n_ok: 4,
            n_failed: 0,
            n_missing,
            n_again: 0,
            seconds_per_image,
        };
        let mut status = Status {
            schema: 1,
            name: "r".to_owned(),
            plan_digest: "0123456789abcdef".to_owned(),
            state: "incomplete",
            is_imported: false,
            holder: None,
            n_items: 12,
            n_ok: 8,
            n_failed: 0,
            n_missing: 4,
            n_again: Some(0),
            n_shards: 1,
            n_finished_shards: 0,
            torn: Vec::new(),
            seconds_left: None,
            slurm: None,
            cells: vec![cell("ar", 0, Some(0.5)), cell("casc", 4, None)],
        };
        assert!(human(&status).contains("left    unknown: cell casc has no image with a time yet\n"));
        status.seconds_left = Some(2.0);
        assert!(human(&status).contains("left    about 2 s of one worker\n"));
        status.is_imported = true;
        let lacking = human(&status);
        assert!(lacking.contains("state   incomplete: images are missing; an import is not resumed"));
        assert!(!lacking.contains("left    ") && !lacking.contains("--resume"), "{lacking}");
        (status.n_missing, status.n_items) = (0, 8);
        assert!(
            human(&status).contains("state   incomplete: not scored to the end; `specimen score` ends it\n")
        );
        assert!(!human(&status).contains("left    "));
    }
}
