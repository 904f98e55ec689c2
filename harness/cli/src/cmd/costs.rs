//! `specimen costs`: what verifications and forwards of drafters cost on this machine, as a cost table of each model.

use std::path::PathBuf;

use clap::Args;
use specimen_catalog::entry::{entry, target};
use specimen_models::seam::clock::{DeviceClock, copy_costs, memory_bandwidth};
use specimen_record::{
    Timestamp,
    summary::cost_table::{Copies, CostTable, Draft, EagerCost, SCHEMA, Verification, Weights},
    write_atomic,
};
use specimen_runner::{
    images::{
        load::{Models, device_of},
        out_of_memory::within_memory,
        step_costs::{MedianEstimate, forward_costs},
    },
    machine::{computed_on, peak_memory_mb},
};
use specimen_weights::{
    cuda_graph::{peak_memory, reset_peak_memory},
    libtorch,
};

use crate::{
    cmd::{
        costs_page::costs_of_several,
        generate::{ModelArgs, cell_of, has_prompts},
    },
    console::{Console, answer, answer_json},
    requirements::streamed_bytes,
    shared_args::Format,
    spec_args::data_root,
};

/// Any prompt costs the same; this one is in the vocabulary of the embedded model.
const PROMPT: &str = "a large red circle on sand at sunset";
/// The prompt of models that take the number of a class.
const CLASS: &str = "0";
/// The embedded model.
const EMBEDDED: &str = "tiny";

/// What to time, and where.
#[derive(Debug, Args)]
#[command(
    after_help = "Several models have commas between their names. Each is timed by a process of its own; one that fails is named."
)]
pub struct CostsArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// Time random weights of the published sizes: no files are needed
    #[arg(long)]
    pub made: bool,
    /// Whether steps run over buffers that stay where they are, on a GPU as CUDA graphs [default: on a GPU that can]
    #[arg(long, value_name = "BOOL")]
    pub graphs: Option<bool>,
    /// The prompt [default: "a large red circle on sand at sunset"; 0 for models of classes, empty for models without prompts]
    #[arg(long, value_name = "TEXT")]
    pub prompt: Option<String>,
    /// Threads of the process
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: u32,
    /// Nodes of the verifications, root included
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_value = "2,4,5,8,11,14,17,21,26,33,42,61",
        value_parser = clap::value_parser!(u32).range(2..=1024)
    )]
    pub nodes: Vec<u32>,
    /// Places of an image at which each forward is timed, at most; at least 10
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(10..))]
    pub repetitions: u32,
    /// Write the table to this file; else it is printed. Of several models: the folder of their tables and of a page of all
    #[arg(short, long, value_name = "PATH")]
    pub out: Option<PathBuf>,
}

/// Times the forwards and writes the table, or those of several models.
pub(crate) fn costs(args: &CostsArgs, console: &Console) -> anyhow::Result<()> {
    if args.model.model.contains(',') {
        return costs_of_several(args, console);
    }
    specimen_weights::use_threads(args.threads as usize);
    let mut cell = cell_of(&args.model, "ar")?;
    cell.model.graphs = args.graphs;
    let device = device_of(&cell.model.device)?;
    // Before the weights: they take the memory that this leaves.
    let bandwidth = memory_bandwidth(device);
    let copies = copy_costs(device);
    let peak_begun = reset_peak_memory(device);
    let mut models = if args.made { Models::made() } else { Models::new(data_root()) };
    let model = models.get(&cell.model)?;
    model.warnings.iter().for_each(|what| console.warn(what));
    let mut nodes = args.nodes.clone();
    nodes.sort_unstable();
    nodes.dedup();
    let sizes: Vec<usize> = nodes.iter().map(|&n| n as usize).collect();
    console.say(format!("timing forwards of {}; other work on this machine distorts them", model.name));
    let clock = DeviceClock::new(device);
    let prompt = args.prompt.as_deref().unwrap_or_else(|| prompt_of(&cell.model.name));
    let asked = (sizes.as_slice(), args.repetitions as usize);
    let costs =
        within_memory(&cell.model, None, || forward_costs(&model, prompt, &cell.sampling, asked, &clock))?;
    model.take_refusal().iter().for_each(|what| console.warn(what));
    let peak_device = peak_begun.and_then(|()| peak_memory(device));
    let eager_cost = |cost: &MedianEstimate| EagerCost { steps: rounded(cost.value), ci95: ends(cost) };
    let verification = |(at, (nodes, cost)): (usize, &(usize, MedianEstimate))| Verification {
        nodes: *nodes as u32,
        steps: rounded(cost.value),
        ci95: ends(cost),
        eager: costs.eager_verifications.get(at).map(|(_, cost)| eager_cost(cost)),
    };
    let draft = |(proposer, cost): &(&str, MedianEstimate)| Draft {
        proposer: (*proposer).to_owned(),
        steps: rounded(cost.value),
        ci95: ends(cost),
    };
    let table = CostTable {
        schema: SCHEMA,
        model: cell.model.name.clone(),
        weights: match cell.model.name.as_str() {
            EMBEDDED => Weights::Embedded,
            name if args.made || entry(name)?.files.is_empty() => Weights::Made,
            _ => Weights::Published,
        },
        machine: computed_on(&cell.model.device),
        device: cell.model.device.clone(),
        dtype: cell.model.dtype.name().to_owned(),
        threads: args.threads,
        libtorch: libtorch::version(),
        date: Timestamp::from(std::time::SystemTime::now()).to_string()[..10].to_owned(),
        guidance: cell.sampling.guidance,
        context: costs.context.map(|n| n as u32),
        repetitions: costs.step_s.n as u32,
        bytes_per_second: bandwidth.round(),
        step_bytes: streamed_bytes(&cell.model),
        step_seconds: rounded(costs.step_s.value),
        step_seconds_ci95: ends(&costs.step_s),
        eager_step: costs.eager_step.as_ref().map(eager_cost),
        prefill_seconds: Some(rounded(costs.prefill_s.value)),
        picture_seconds: Some(rounded(costs.picture_s.value)),
        peak_host_bytes: peak_memory_mb().map(|mb| mb << 20),
        peak_device_bytes: peak_device.as_ref().ok().copied(),
        peak_device_unknown: peak_device.err(),
        copies: copies.map(|copies| Copies {
            small_to_device_seconds: rounded(copies.small_to_device_s),
            small_to_host_seconds: rounded(copies.small_to_host_s),
            to_device_bytes_per_second: copies.to_device_bytes_per_s.round(),
            to_host_bytes_per_second: copies.to_host_bytes_per_s.round(),
        }),
        verifications: costs.verifications.iter().enumerate().map(verification).collect(),
        drafters: costs.drafters.iter().map(draft).collect(),
    };
    if let Some(path) = &args.out {
        write_atomic(path, table.text().as_bytes())?;
        console.say(format!("cost table: {}", path.display()));
    }
    match console.format() {
        Format::Json => answer_json(&table),
        Format::Human if args.out.is_none() => answer(&table.text()),
        Format::Human => Ok(()),
    }
}

/// A prompt that the model called `name` takes.
fn prompt_of(name: &str) -> &'static str {
    let takes_classes = || target(name).is_some_and(|(_, target)| target.n_classes().is_some());
    match has_prompts(name) {
        false => "",
        true if takes_classes() => CLASS,
        true => PROMPT,
    }
}

/// Ends of a 95 % interval, as a table has them.
fn ends(estimate: &MedianEstimate) -> [f64; 2] {
    [estimate.interval.lower, estimate.interval.upper].map(rounded)
}

/// Four significant digits: the fifth is noise.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().expect("a number that was just written can be read")
}
