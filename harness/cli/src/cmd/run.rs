//! `specimen run`: plan, workers, scores, report, and the table on stdout.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context;
use clap::Args;
use specimen_experiments::{expect::Expectation, expect::Tolerance, plan::Plan, slurm::SlurmSpec};
use specimen_foundation::{fail, failure, failure::FailureMessage, text::counted};
use specimen_record::{
    CellProgress, CellSummary, Manifest, Part, Record, RecordError, RunDir, Summary, free_bytes,
    read_document, read_rows, run_progress, seal_complaints, verify_plan,
};
use specimen_runner::plan::{
    shard_map::made_again,
    stored_plan::{plan_file, plan_of},
};
use specimen_runner::{
    driver::{self, Ending, Options, events::DriverEvent, kept_metrics::keep_metrics, local::Local},
    images::{external_processes::files_of, load::ANY_GPU},
    process::stop_request::StopRequest,
    score::check_images,
    slurm::Slurm,
};

use crate::{
    cmd::report,
    console::Console,
    free_space,
    progress::Progress,
    provenance, requirements,
    spec_args::{ExecutorArgs, ExecutorName, SpecArgs, data_root, default_out},
};

/// What to run, and where to.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub spec: SpecArgs,
    /// Folder of the run [default: results/runs/<name of the spec>]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub workers: ExecutorArgs,
    /// With `--executor slurm`: submit what is missing and return; `run --resume` continues
    #[arg(long)]
    pub detach: bool,
    /// Workers at a time for untimed cells [default: number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Workers at a time for timed cells; with more than one they disturb each other's times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub timed_jobs: u32,
    /// Continue the run in the folder; existing images are kept
    #[arg(long)]
    pub resume: bool,
    /// GPUs for workers, by index, for cells with `device = "cuda"`; one named twice gets two workers
    #[arg(long, value_name = "N,N…", value_delimiter = ',')]
    pub gpus: Vec<u32>,
    /// How long to wait for disk space; 0 ends the run at once [default: no limit]
    #[arg(long, value_name = "SECONDS")]
    pub disk_wait: Option<u64>,
    /// End the run at the first failed item; by default its row has the error and the others are generated
    #[arg(long)]
    pub fail_fast: bool,
    #[command(flatten)]
    pub look: report::Look,
}

/// Runs the experiment to its end. Items that fail end it with an error after everything is written.
pub(crate) fn run(args: &RunArgs, console: &Console) -> anyhow::Result<()> {
    let stop = StopRequest::on_signals()?;
    specimen_weights::use_threads(1);
    let data_root = data_root();
    let text = args.spec.text(args.workers.profile.as_deref())?;
    let (plan, prompts) = plan_of(text.resolve()?, data_root.as_ref())?;
    for warning in plan.warnings() {
        console.warn(warning);
    }
    let out = args.out.clone().unwrap_or_else(|| default_out(&plan.spec.name));
    if args.resume && is_finished(&out, &plan)? {
        console.say(format!("{}: the run is finished, nothing is left to do", out.display()));
        let written = report::write(&RunDir::open(&out)?, &args.look, &[], console)?;
        return report::show(&written, console);
    }
    check(args, &plan, &out, console)?;
    let left = left(&out, &plan, args.resume)?;
    // Said once the folder is accepted: a run that is refused makes nothing.
    let mut to_make = Some(to_make(&plan, &out, &left));
    let program = std::env::current_exe().context("the path of this program is needed to start workers")?;
    let settings = text.slurm()?.unwrap_or_else(SlurmSpec::of_the_cluster);
    let local = Local {
        program: &program,
        n_shards: args.workers.shards,
        n_jobs: args.jobs.unwrap_or_else(n_cores),
        n_timed_jobs: args.timed_jobs,
        gpus: args.gpus.clone(),
        fail_fast: args.fail_fast,
    };
    let slurm =
        Slurm { settings: &settings, program: &program, n_shards: args.workers.shards, detach: args.detach };
    let options = Options {
        out: &out,
        resume: args.resume,
        executor: match args.workers.executor {
            ExecutorName::Local => &local,
            ExecutorName::Slurm => &slurm,
        },
        argv: provenance::argv(),
        git: provenance::sources(),
        data_root,
        disk_wait: args.disk_wait.map(Duration::from_secs),
    };
    let mut progress = Progress::new(console, &left);
    let outcome = driver::run(&plan, &prompts, &options, &stop, &mut |stage: DriverEvent| {
        if matches!(stage, DriverEvent::Resuming { .. } | DriverEvent::Generating { .. }) {
            to_make.take().into_iter().for_each(|text| console.say(text));
        }
        progress.on(&stage);
    });
    drop(progress);
    let outcome = match outcome? {
        Ending::Finished(outcome) => outcome,
        Ending::UnderWay { n_shards } => {
            console.say(format!(
                "{}: the cluster works on {n_shards} shard(s); `specimen status` shows the progress, and the same \
                 command with --resume continues",
                out.display()
            ));
            return Ok(());
        }
    };
    let written = report::write(&RunDir::open(&out)?, &args.look, &[], console)?;
    report::show(&written, console)?;
    let summary: Summary = read_document(&RunDir::open(&out)?.summary())?;
    missed_expectations(&plan.spec.expect, &summary).iter().for_each(|warning| console.warn(warning));
    let checked = outcome.check();
    if checked.is_err() && plan.spec.cells.iter().any(|cell| cell.external.is_some()) {
        name_logs(&RunDir::open(&out)?, console)?;
    }
    Ok(checked?)
}

/// Says where the messages of external processes are.
fn name_logs(run: &RunDir, console: &Console) -> anyhow::Result<()> {
    for log in run.shards()?.into_iter().map(|shard| run.worker_log(shard)).filter(|log| log.exists()) {
        console.warn(format!("the stderr of the processes is in {}", log.display()));
    }
    Ok(())
}

/// Refuses arguments that do nothing, and warns of a full disk and of times that disturb each other.
fn check(args: &RunArgs, plan: &Plan, out: &Path, console: &Console) -> Result<(), FailureMessage> {
    check_executor(args)?;
    let is_free = plan.spec.cells.iter().any(|cell| cell.model.device == ANY_GPU);
    if !args.gpus.is_empty() && !is_free {
        let why = "--gpus is given and no cell of the spec has device = \"cuda\"; set model.device, or leave it out";
        fail!(Usage: "{why}");
    }
    if args.timed_jobs > 1 {
        console.warn("timed cells run side by side: their times disturb each other");
    }
    let most = plan.estimate(requirements::footprint).disk_bytes;
    if let Some(complaint) = free_space::complaint(most, free_bytes(out)) {
        console.warn(complaint);
    }
    Ok(())
}

/// Refuses arguments that the executor has no use for.
fn check_executor(args: &RunArgs) -> Result<(), FailureMessage> {
    let is_slurm = args.workers.executor == ExecutorName::Slurm;
    let of_local = [
        ("--jobs", args.jobs.is_some(), "how many tasks run at a time is `throttle` in [slurm]"),
        (
            "--timed-jobs",
            args.timed_jobs != 1,
            "how many tasks run at a time is `throttle` in [slurm.timing]",
        ),
        ("--gpus", !args.gpus.is_empty(), "what a task gets is `gres` in [slurm]"),
        ("--fail-fast", args.fail_fast, "tasks of an array do not learn of each other's failures"),
    ];
    let of_slurm = [
        ("--detach", args.detach, "workers of this machine end with their driver"),
        ("--profile", args.workers.profile.is_some(), "a profile is for clusters"),
    ];
    let (found, executor) = if is_slurm { (&of_local[..], "slurm") } else { (&of_slurm[..], "local") };
    match found.iter().find(|(_, is_given, _)| *is_given) {
        Some((name, _, why)) => Err(failure!(Usage: "{name} does not go with --executor {executor}: {why}")),
        None => Ok(()),
    }
}

pub(crate) fn n_cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}

/// Whether a run of the very same spec is at `out`, sealed, unchanged since, and with every image.
pub(crate) fn is_finished(out: &Path, plan: &Plan) -> anyhow::Result<bool> {
    if !out.join("manifest.json").exists() {
        return Ok(false);
    }
    let run = RunDir::open(out)?;
    let manifest: Manifest = read_document(&run.manifest())?;
    let mut with_kept = plan.clone();
    keep_metrics(out, &mut with_kept)?;
    let spec = serde_json::to_value(&with_kept.spec).context("a spec is plain data")?;
    let is_same = manifest.plan_digest == plan_file(plan)?.digest && manifest.spec == spec;
    if manifest.sealed.is_none() || !is_same {
        return Ok(false);
    }
    // Another content of a script is refused where the run is continued.
    if files_of(&plan.spec)?.iter().any(|file| !manifest.weights.contains(file)) {
        return Ok(false);
    }
    // What is not as it was sealed the driver makes again, or refuses.
    if !run.checksums().exists() || !seal_complaints(&run, Part::All).is_empty() {
        return Ok(false);
    }
    let progress = run_progress(&run, &verify_plan(&run)?)?;
    if !progress.cells.iter().all(|cell| cell.n_ok == cell.n_planned()) {
        return Ok(false);
    }
    // The checksums list no images: each is compared with its record.
    check_images(&run, &read_rows::<Record>(&run.merged_records())?.rows)?;
    Ok(true)
}

/// What a run is about to make: `left` images of each cell.
pub(crate) fn to_make(plan: &Plan, out: &Path, left: &[(String, u64)]) -> String {
    let n_left: u64 = left.iter().map(|(_, n)| n).sum();
    let (images, cells) = (counted(n_left, "image"), counted(plan.spec.cells.len(), "cell"));
    format!("run {} into {}: {images} to make in {cells}", plan.spec.name, out.display())
}

/// Images of each cell that are still to be made, those of timed blocks that are timed again included, judged by what is at
/// `out`; all where it is no part of this plan, which the driver refuses, or nothing.
pub(crate) fn left(out: &Path, plan: &Plan, resume: bool) -> anyhow::Result<Vec<(String, u64)>> {
    let per_cell = (plan.prompts.len() * plan.spec.dataset.samples as usize) as u64;
    let all = || plan.spec.cells.iter().map(|cell| (cell.name.clone(), per_cell)).collect();
    if !resume || !out.join("manifest.json").exists() {
        return Ok(all());
    }
    let file = plan_file(plan)?;
    let progress = match run_progress(&RunDir::open(out)?, &file) {
        Err(RecordError::NotInPlan { .. }) => return Ok(all()),
        found => found?,
    };
    let again = made_again(&file, &plan.spec, &progress);
    let left = |cell: &CellProgress| {
        let n_again = again.iter().filter(|key| key.cell() == cell.cell).count() as u64;
        (cell.cell.clone(), cell.n_failed + cell.n_missing + n_again)
    };
    Ok(progress.cells.iter().map(left).collect())
}

/// A warning for each of `expected` whose value is missed or was not measured.
fn missed_expectations(expected: &[Expectation], summary: &Summary) -> Vec<String> {
    let warning = |row: &Expectation| {
        let cell = summary.cells.iter().find(|cell| cell.id == row.cell);
        let measured = cell.and_then(|cell| measured(cell, &row.measure));
        let Expectation { cell, measure, value, tolerance, source } = row;
        let bound = match tolerance {
            Tolerance::Absolute(bound) => format!("within {bound}"),
            Tolerance::Relative(share) => format!("within {} %", share * 100.0),
        };
        match measured {
            Some(measured) if row.is_met_by(measured) => None,
            Some(measured) => {
                Some(format!("{cell}: {measure} is {measured:.4}, expected {value} {bound} ({source})"))
            }
            None => Some(format!("{cell}: {measure} was not measured, expected {value} {bound} ({source})")),
        }
    };
    expected.iter().filter_map(warning).collect()
}

/// The value of a measure in the summary of a cell, or of a metric.
fn measured(cell: &CellSummary, measure: &str) -> Option<f64> {
    let metric = || cell.metrics.iter().find(|found| found.metric == measure)?.value;
    cell.measured(measure).value.or_else(metric)
}
