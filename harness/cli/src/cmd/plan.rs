//! `specimen plan`: what a spec asks for, before anything runs. Needs no weights and no libtorch.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Serialize;
use specimen_datasets::{DatasetError, data_root::DataRoot};
use specimen_experiments::{
    array_shape::{ArrayShape, MAX_ARRAY_SIZE, max_array_size},
    bandwidth::{self, Bandwidth, TimeBound},
    estimate::{Estimate, JudgedBy},
    plan::Plan,
    prompts,
    slurm::SlurmSpec,
    spec::{Cell, ModelSpec, Spec},
};
use specimen_foundation::{
    fail, failure::FailureMessage, folders::DATA_VARIABLE, gpus::NVIDIA_DRIVER, gpus::gpu_folders,
    text::counted,
};
use specimen_record::{Environment, RunDir, Summary, free_bytes, read_document};

use crate::{
    cmd::status::seconds_per_image,
    console::{Console, answer, answer_json},
    free_space, requirements,
    shared_args::Format,
    spec_args::{ExecutorArgs, ExecutorName, SpecArgs, data_root, default_out},
};

/// What to plan.
#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub spec: SpecArgs,
    #[command(flatten)]
    pub workers: ExecutorArgs,
    /// Folder of the run, by whose images so far time and memory are judged [default: results/runs/<name of the spec>]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// List every image, with its seed and prompt
    #[arg(long)]
    pub items: bool,
    /// Bound the time by this memory bandwidth, in GB/s, instead of those of some known GPUs
    #[arg(long, value_name = "GB/S", value_parser = positive)]
    pub bandwidth: Option<f64>,
    /// Generate two images of every cell to estimate time and memory; needs the weights
    #[arg(long)]
    pub probe: bool,
}

impl PlanArgs {
    /// Folder of the run of this name.
    pub(super) fn out_of(&self, name: &str) -> PathBuf {
        self.out.clone().unwrap_or_else(|| default_out(name))
    }
}

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct PlanAnswer<'p> {
    schema: u32,
    #[serde(flatten)]
    estimate: Estimate,
    dataset: &'p str,
    cells: Vec<CellLine<'p>>,
    /// What the plan becomes on a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    slurm: Option<ArrayShape>,
    /// Free bytes on the disk of the run's folder; null if unknown.
    free_bytes: Option<u64>,
    warnings: Vec<String>,
    /// What the plan needs and this machine does not have, which matters only if it runs here.
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Vec<ItemLine<'p>>>,
}

/// One cell.
#[derive(Serialize)]
struct CellLine<'p> {
    name: &'p str,
    model: &'p str,
    method: String,
    is_lossless: bool,
    timed: bool,
    n_items: usize,
}

/// One image to make.
#[derive(Serialize)]
struct ItemLine<'p> {
    key: String,
    seed: String,
    prompt: &'p str,
}

/// Plans, and prints the estimate. Missing weights and data are part of the answer; without the prompts
/// there is no plan.
pub(crate) fn plan(args: &PlanArgs, console: &Console) -> anyhow::Result<()> {
    if let Some(training) = specimen_train::head_spec::HeadSpec::if_one(&args.spec.spec)? {
        return super::plan_training::plan_training(&training, args, console);
    }
    let text = args.spec.text(args.workers.profile.as_deref())?;
    let spec = text.resolve()?;
    let root = data_root();
    let prompts = match prompts::open(&spec.dataset, root.as_ref()) {
        Err(absent @ DatasetError::Absent { .. }) => {
            if console.format() == Format::Human {
                let name = args.spec.spec.display().to_string();
                answer(&without_prompts(&spec, root.as_ref(), &name, args.bandwidth)?)?;
            }
            return Err(absent.into());
        }
        prompts => prompts?,
    };
    let plan = Plan::new(spec.with_digests_of_heads(root.as_ref())?, &prompts)?;
    plan.spec.metrics.iter().try_for_each(requirements::check_protocol)?;
    let mut estimate = plan.estimate(requirements::footprint);
    estimate.missing = requirements::missing(&plan.spec, root.as_ref());
    let out = args.out_of(&plan.spec.name);
    let seconds = seconds_by_history(&plan, &out);
    estimate.judged_by = seconds.map(|_| JudgedBy::History);
    estimate.time_bounds = time_bounds(&plan.spec, plan.prompts.len(), args.bandwidth)?;
    estimate.memory_bytes = memory_by_history(&out).or_else(|| requirements::memory(&plan.spec));
    let seconds = if args.probe { Some(judge_by_probe(&plan, &mut estimate)?) } else { seconds };
    estimate.seconds = seconds.map(|seconds| seconds.iter().sum());
    let settings = text.slurm()?.unwrap_or_else(SlurmSpec::of_the_cluster);
    let shape = || ArrayShape::new(&plan, &settings, args.workers.shards, size_of_arrays(console), seconds);
    let free_bytes = free_bytes(&out);
    let mut warnings: Vec<String> = plan.warnings().iter().map(ToString::to_string).collect();
    warnings.extend(free_space::complaint(estimate.disk_bytes, free_bytes));
    let mut notes = notes(args, &plan.spec);
    {
        let cut = super::plan_cuts::cuts(&plan, root.as_ref());
        warnings.extend(cut.warnings);
        notes.extend(cut.notes);
    }
    let answered = PlanAnswer {
        schema: 1,
        estimate,
        dataset: &plan.dataset,
        cells: plan.spec.cells.iter().map(|cell| cell_line(&plan, cell)).collect(),
        slurm: (args.workers.executor == ExecutorName::Slurm).then(shape),
        free_bytes,
        warnings,
        notes,
        items: args.items.then(|| item_lines(&plan)),
    };
    match console.format() {
        Format::Json => answer_json(&answered),
        Format::Human => {
            let name = args.spec.spec.display().to_string();
            answer(&human(&answered, &name, needs_folder(&plan.spec, root.as_ref())))
        }
    }
}

/// What can be said without the prompts: sizes, a bound on the time for as many as the dataset is known to have, and
/// everything that is missing with the command that fetches it.
fn without_prompts(
    spec: &Spec,
    root: Option<&DataRoot>,
    name: &str,
    bandwidth: Option<f64>,
) -> Result<String, FailureMessage> {
    let n_prompts = prompts::published_number(&spec.dataset).unwrap_or(0);
    let mut estimate = Estimate::without_prompts(spec, n_prompts, requirements::footprint);
    estimate.time_bounds = time_bounds(spec, n_prompts, bandwidth)?;
    estimate.memory_bytes = requirements::memory(spec);
    let prompts = requirements::absent_prompts(spec, root);
    estimate.missing = prompts.into_iter().chain(requirements::missing(spec, root)).collect();
    Ok(format!("{estimate}{}", to_fetch(&estimate, name, needs_folder(spec, root))))
}

/// Whether files of datasets are to be fetched and there is no folder for them.
fn needs_folder(spec: &Spec, root: Option<&DataRoot>) -> bool {
    root.is_none() && !requirements::absent_items(spec, root).is_empty()
}

/// How much of what is missing one command fetches, and the command; empty where nothing is to be fetched.
fn to_fetch(estimate: &Estimate, spec: &str, needs_folder: bool) -> String {
    estimate.to_fetch().map_or_else(String::new, |size| {
        let is_all = estimate.missing.iter().all(|missing| missing.fetch.is_some());
        let rest = if is_all { "" } else { ", besides what the lines above ask of you" };
        let folder = match needs_folder {
            true => format!("set {DATA_VARIABLE} to a folder for data, and "),
            false => String::new(),
        };
        format!("fetch   in total {size}{rest}; {folder}fetch it with:\n        specimen data fetch --for {spec}\n")
    })
}

/// What this machine lacks for a run here; the machines of a cluster are not looked at.
fn notes(args: &PlanArgs, spec: &Spec) -> Vec<String> {
    match args.workers.executor {
        ExecutorName::Local => device_notes(spec),
        ExecutorName::Slurm => Vec::new(),
    }
}

/// A number of GB/s.
fn positive(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|n: &f64| n.is_finite() && *n > 0.0)
        .ok_or_else(|| "it must be above 0".to_owned())
}

/// What the plan takes at the limit of memory, on a GPU that was named by its bandwidth or on those that are known. On a
/// CPU, arithmetic counts too.
fn time_bounds(
    spec: &Spec,
    n_prompts: usize,
    bandwidth: Option<f64>,
) -> Result<Vec<TimeBound>, FailureMessage> {
    let devices = bandwidth.map_or_else(Bandwidth::known, |gb| vec![Bandwidth::given(gb * 1e9)]);
    let streamed = |model: &ModelSpec| {
        if model.device == "cpu" { None } else { requirements::streamed_bytes(model) }
    };
    let bounds = bandwidth::time_bounds(spec, n_prompts, devices, requirements::footprint, streamed);
    if bandwidth.is_some() && bounds.is_empty() && n_prompts > 0 {
        let reason =
            "--bandwidth has no effect: a model runs on a CPU, or the bytes that it reads are unknown";
        fail!(Usage: "{reason}");
    }
    Ok(bounds)
}

fn cell_line<'p>(plan: &'p Plan, cell: &'p Cell) -> CellLine<'p> {
    CellLine {
        name: &cell.name,
        model: &cell.model.name,
        method: cell.described(),
        is_lossless: cell.external.is_none() && cell.method.is_lossless(),
        timed: cell.timed,
        n_items: plan.prompts.len() * plan.spec.dataset.samples as usize,
    }
}

fn item_lines(plan: &Plan) -> Vec<ItemLine<'_>> {
    let line = |item: &specimen_experiments::plan::Item| {
        let specimen_experiments::plan::Item { prompt, seed, .. } = *item;
        ItemLine {
            key: plan.key(item),
            seed: format!("{seed:016x}"),
            prompt: &plan.prompts[prompt as usize].text,
        }
    };
    plan.items.iter().map(line).collect()
}

fn human(answer: &PlanAnswer<'_>, spec: &str, needs_folder: bool) -> String {
    let mut text = format!("{}{}", answer.estimate, to_fetch(&answer.estimate, spec, needs_folder));
    let width = answer.cells.iter().map(|cell| cell.name.chars().count()).max().unwrap_or(0);
    for cell in &answer.cells {
        let CellLine { name, model, method, n_items, .. } = cell;
        let timed = if cell.timed { "" } else { ", untimed" };
        writeln!(text, "cell    {name:width$}  {} of {model}, {method}{timed}", counted(n_items, "image"))
            .expect("writing to a string cannot fail");
    }
    if let Some(shape) = &answer.slurm {
        write!(text, "{shape}").expect("writing to a string cannot fail");
    }
    for warning in &answer.warnings {
        writeln!(text, "warning {warning}").expect("writing to a string cannot fail");
    }
    for note in &answer.notes {
        writeln!(text, "note    {note}").expect("writing to a string cannot fail");
    }
    for ItemLine { key, seed, prompt } in answer.items.iter().flatten() {
        writeln!(text, "{key}\t{seed}\t{prompt}").expect("writing to a string cannot fail");
    }
    text
}

/// The size of arrays that the cluster takes, or Slurm's own default where there is none to ask.
fn size_of_arrays(console: &Console) -> u32 {
    let said = std::process::Command::new("scontrol").args(["show", "config"]).output();
    let config = said.ok().filter(|said| said.status.success()).map(|said| said.stdout).unwrap_or_default();
    max_array_size(&String::from_utf8_lossy(&config)).unwrap_or_else(|| {
        console.warn(format!(
            "no cluster answers here; arrays are planned with Slurm's default of {MAX_ARRAY_SIZE}"
        ));
        MAX_ARRAY_SIZE
    })
}

/// Time and memory, judged by two images of every cell; seconds of the timed and of all other cells.
fn judge_by_probe(plan: &Plan, estimate: &mut Estimate) -> anyhow::Result<[f64; 2]> {
    let stop = specimen_runner::process::stop_request::StopRequest::on_signals()?;
    specimen_weights::use_threads(1);
    let probe = specimen_runner::images::probe::probe(plan, data_root(), &stop)?;
    let per_cell = (plan.prompts.len() * plan.spec.dataset.samples as usize) as f64;
    estimate.judged_by = Some(JudgedBy::Probe);
    estimate.memory_bytes = probe.memory_bytes;
    let mut seconds = [0.0; 2];
    for (cell, s) in plan.spec.cells.iter().zip(&probe.seconds_per_image) {
        seconds[usize::from(!cell.timed)] += s * per_cell;
    }
    Ok(seconds)
}

/// Memory of one worker, judged by those of the run in `out`; `None` without one.
fn memory_by_history(out: &Path) -> Option<u64> {
    let run = RunDir::open(out).ok()?;
    let of_shard = |k: u32| run.attempts(k).ok().into_iter().flatten().map(move |n| (k, n));
    let files = run.shards().ok()?.into_iter().flat_map(of_shard).map(|(k, n)| run.attempt_env(k, n));
    let peaks = files.filter_map(|path| read_document::<Environment>(&path).ok()?.peak_memory_mb);
    peaks.max().map(|mb| mb << 20)
}

/// Seconds of work of the timed and of all other cells, judged by the run in `out` if it has images of every cell;
/// `None` otherwise.
fn seconds_by_history(plan: &Plan, out: &Path) -> Option<[f64; 2]> {
    let run = RunDir::open(out).ok()?;
    let of_images = seconds_per_image(&run).ok()?;
    // A run that is not at its end has none.
    let earlier: Option<Summary> = read_document(&run.summary()).ok();
    let is_other = |cell: &Cell| {
        let known = earlier.iter().flat_map(|earlier| &earlier.cells).find(|known| known.id == cell.name);
        known.is_some_and(|known| known.model != cell.model.name)
    };
    let per_cell = (plan.prompts.len() * plan.spec.dataset.samples as usize) as f64;
    let mut seconds = [0.0; 2];
    for cell in &plan.spec.cells {
        let (_, of_image) = of_images.iter().find(|(name, _)| *name == cell.name && !is_other(cell))?;
        seconds[usize::from(!cell.timed)] += of_image * per_cell;
    }
    Some(seconds)
}

/// A note for each GPU that `spec` asks for and that is not seen on this machine: a plan is for other machines too.
fn device_notes(spec: &Spec) -> Vec<String> {
    let of_cells = spec.cells.iter().map(|cell| cell.model.device.as_str());
    let of_metrics = spec.metrics.iter().filter_map(|metric| metric.device.as_deref());
    missing_devices(of_cells.chain(of_metrics), gpu_folders(Path::new(NVIDIA_DRIVER)).len())
}

/// A note for each of these devices that is not seen, on a machine with `n_gpus`.
fn missing_devices<'d>(devices: impl Iterator<Item = &'d str>, n_gpus: usize) -> Vec<String> {
    let mut asked: Vec<&str> = devices.filter(|device| !has_device(device, n_gpus)).collect();
    asked.sort_unstable();
    asked.dedup();
    let seen = match n_gpus {
        0 => "no GPU is".to_owned(),
        1 => "only 1 GPU is".to_owned(),
        n => format!("only {} are", counted(n, "GPU")),
    };
    let note = |device: &str| format!("device {device}: {seen} seen here; this plan needs it to run");
    asked.into_iter().map(note).collect()
}

/// Whether a machine with `n_gpus` has this device. `cuda` is any GPU; another name than a GPU's is none of ours.
fn has_device(device: &str, n_gpus: usize) -> bool {
    match device {
        "cuda" => n_gpus > 0,
        other => other.strip_prefix("cuda:").and_then(|n| n.parse::<usize>().ok()).is_none_or(|n| n < n_gpus),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_gpu_that_is_not_seen_has_one_note() {
        let asked = ["cpu", "cuda", "cuda:1", "cuda"];
        let of = |n_gpus| missing_devices(asked.into_iter(), n_gpus);
        assert_eq!(
            of(0),
            [
                "device cuda: no GPU is seen here; this plan needs it to run",
                "device cuda:1: no GPU is seen here; this plan needs it to run"
            ]
        );
        assert_eq!(of(1), ["device cuda:1: only 1 GPU is seen here; this plan needs it to run"]);
        assert!(of(2).is_empty() && missing_devices(["cpu"].into_iter(), 0).is_empty());
    }
}
