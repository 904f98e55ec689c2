//! Runs that another command makes: a run once more, from the spec in its manifest, to confirm times; and a run of a spec
//! that the command made.

use std::path::{Path, PathBuf};

use anyhow::Context;
use specimen_experiments::spec::Spec;
use specimen_foundation::fail;
use specimen_record::{Manifest, RunDir, read_document};
use specimen_runner::plan::stored_plan::plan_of;
use specimen_runner::{
    driver::{self, Options, events::DriverEvent, local::Local},
    images::external_processes::files_of,
    process::stop_request::StopRequest,
};

use crate::{
    cmd::{
        gate::other_file,
        run::{is_finished, left, n_cores, to_make},
    },
    console::Console,
    progress::Progress,
    provenance,
    spec_args::data_root,
};

/// Runs the spec of the run in `folder` again, into a folder next to it, and returns that folder; an unfinished rerun is
/// continued.
pub(crate) fn rerun(folder: &Path, number: usize, console: &Console) -> anyhow::Result<PathBuf> {
    let manifest: Manifest = read_document(&RunDir::open(folder)?.manifest())?;
    let spec: Spec = serde_json::from_value(manifest.spec).with_context(|| {
        format!("{}: another version of the program wrote the manifest's spec", folder.display())
    })?;
    // A rerun of another script confirms nothing, so it is not made.
    if let Some(file) = other_file(&manifest.weights, &files_of(&spec)?) {
        fail!(Mismatch: "{} has other content than it had for {}: a rerun confirms nothing of other files; \
            restore the file, or make a new run", file.name, folder.display());
    }
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    run(spec, &folder.with_file_name(format!("{name}.rerun-{number}")), console)
}

/// Runs a spec into `out`, one worker at a time for what is timed, and one for each core where nothing is; an unfinished run is continued, and one that is
/// finished is left as it is.
pub(crate) fn run(spec: Spec, out: &Path, console: &Console) -> anyhow::Result<PathBuf> {
    let stop = StopRequest::on_signals()?;
    specimen_weights::use_threads(1);
    let data_root = data_root();
    let (plan, prompts) = plan_of(spec, data_root.as_ref())?;
    if is_finished(out, &plan)? {
        console.detail(format!("{}: the run is finished", out.display()));
        return Ok(out.to_owned());
    }
    let left = left(out, &plan, true)?;
    let program = std::env::current_exe().context("the path of this program is needed to start workers")?;
    // Where nothing is timed, the processor's cores share the images; a GPU is left to one worker.
    let is_alone = plan.spec.cells.iter().any(|cell| cell.timed || cell.model.device != "cpu");
    let n_workers = if is_alone { 1 } else { n_cores() };
    let executor = Local {
        program: &program,
        n_shards: n_workers,
        n_jobs: n_workers,
        n_timed_jobs: 1,
        gpus: Vec::new(),
        fail_fast: false,
    };
    let options = Options {
        out,
        resume: out.join("manifest.json").exists(),
        executor: &executor,
        argv: provenance::argv(),
        git: provenance::sources(),
        data_root,
        disk_wait: None,
    };
    console.say(to_make(&plan, out, &left));
    let mut progress = Progress::new(console, &left);
    let ending = driver::run(&plan, &prompts, &options, &stop, &mut |stage: DriverEvent| progress.on(&stage));
    drop(progress);
    ending?.finished().context("workers of this machine do not outlive their driver")?.check()?;
    Ok(out.to_owned())
}
