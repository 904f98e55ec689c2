//! `specimen bench-device`: a cost table of each published model with made weights on one device, and a page of all.
//!
//! Each model is timed by a process of its own, so that one that is too large or hangs takes nothing from the others.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use anyhow::Context;
use clap::Args;
use specimen_catalog::{Family, entry};
use specimen_foundation::text::counted;
use specimen_record::write_atomic;
use specimen_runner::images::load::device_of;
use specimen_summary::cost_table::CostTable;
use specimen_table::{Block, Column, Entry, Table, markdown_page};
use specimen_weights::out_of_memory::OutOfMemory;

use crate::{
    args::Format,
    console::{Console, answer, answer_json},
    exit::CliError,
    table_width::table_width,
};

/// How often an unfinished process is looked at.
const PAUSE: Duration = Duration::from_millis(50);
/// Nodes of the verifications that are timed, root included.
const NODES: [u32; 6] = [2, 5, 14, 26, 32, 60];

/// What to time, and where.
#[derive(Debug, Args)]
pub struct BenchDeviceArgs {
    /// Where the models compute: cpu, cuda, cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cuda")]
    pub device: String,
    /// Models to time, with commas between them [default: all published ones whose weights can be made]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub models: Vec<String>,
    /// Kind of number they compute in: bf16, f32, f16
    #[arg(long, value_name = "KIND", default_value = "bf16")]
    pub dtype: String,
    /// Scale of guidance; a forward has two rows unless it is 1
    #[arg(long, value_name = "SCALE", default_value_t = 3.0)]
    pub guidance: f64,
    /// Whether steps run over buffers that stay where they are, on a GPU as CUDA graphs [default: on a GPU that can]
    #[arg(long, value_name = "BOOL")]
    pub graphs: Option<bool>,
    /// Threads of a process
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: u32,
    /// Places of an image at which each forward is timed, at most
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(10..))]
    pub repetitions: u32,
    /// Seconds for all models; one that is not done then is named
    #[arg(long, value_name = "S", default_value_t = 480)]
    pub seconds: u64,
    /// Folder of the cost tables and the page; a model whose table is there is not timed again
    #[arg(short, long, value_name = "DIR", default_value = "bench-device")]
    pub out: PathBuf,
}

/// A model and what came of timing it.
struct Timed {
    model: String,
    /// The table, or why there is none.
    table: Result<CostTable, NotTimed>,
}

/// Why a model was not timed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotTimed {
    /// Its time was over.
    #[error("{0}")]
    TimeOver(String),
    /// It got too little memory.
    #[error("{0}")]
    TooLittleMemory(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

impl NotTimed {
    /// What the process that ended with `status` says of it, `reason` being its last error.
    fn of(reason: Option<String>, status: ExitStatus) -> Self {
        match reason {
            Some(reason) if OutOfMemory::is_named_in(&reason) => Self::TooLittleMemory(reason),
            Some(reason) => Self::Failed(reason),
            None => Self::Failed(format!("its process ended with {status}")),
        }
    }
}

/// Times every model and writes the page.
pub(crate) fn bench_device(args: &BenchDeviceArgs, console: &Console) -> anyhow::Result<()> {
    let models = if args.models.is_empty() { published() } else { args.models.clone() };
    if let Some(unknown) = models.iter().find(|name| entry::target(name).is_none()) {
        let known = published().join(", ");
        return Err(CliError::Usage(format!("--models: no model `{unknown}`; published are {known}")).into());
    }
    // One sentence, in place of one for each model.
    device_of(&args.device)?;
    fs::create_dir_all(&args.out)
        .with_context(|| format!("{}: cannot make the folder", args.out.display()))?;
    let until = Instant::now() + Duration::from_secs(args.seconds);
    let mut all = Vec::new();
    for model in models {
        let table = timed(args, &model, until, console)?;
        if let Err(reason) = &table {
            console.warn(format!("{model} is not timed: {reason}"));
        }
        all.push(Timed { model, table });
    }
    let tables: Vec<&CostTable> = all.iter().filter_map(|timed| timed.table.as_ref().ok()).collect();
    if tables.is_empty() {
        return Err(CliError::Environment("no model was timed; the reasons are above".to_owned()).into());
    }
    let page = args.out.join("README.md");
    write_atomic(&page, markdown_page(&blocks(args, &all)).as_bytes())?;
    match console.format() {
        Format::Json => answer_json(&tables),
        Format::Human => {
            console.say(format!("page: {}", page.display()));
            answer(&costs_of(&tables).text(table_width()))
        }
    }
}

/// Models with published files whose weights can be made, the smallest first.
fn published() -> Vec<String> {
    let can_be_made = |family| !matches!(family, Family::Igpt | Family::Tiny | Family::Stub);
    let mut found: Vec<(u64, &str)> = entry::targets()
        .filter(|(model, target)| can_be_made(target.family) && !model.files.is_empty())
        .map(|(model, _)| (model.streamed_bytes(1).unwrap_or(0), model.name.as_str()))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, name)| name.to_owned()).collect()
}

/// How a process times a model.
pub(crate) struct Timing<'a> {
    /// Name of the model, of which weights of published size are made.
    pub(crate) model: &'a str,
    /// Where it computes.
    pub(crate) device: &'a str,
    /// Kind of number.
    pub(crate) dtype: &'a str,
    /// Scale of guidance.
    pub(crate) guidance: f64,
    /// Nodes of the verifications, root included.
    pub(crate) nodes: &'a [u32],
    /// Threads of the process.
    pub(crate) threads: u32,
    /// Places of an image at which each forward is timed.
    pub(crate) repetitions: u32,
    /// Whether steps run over buffers.
    pub(crate) graphs: Option<bool>,
}

impl Timing<'_> {
    /// The cost table that a process of this program writes into the file `path` before `until`. Inside: why there is none.
    ///
    /// # Errors
    /// A process that cannot be started, or a folder that cannot be written.
    pub(crate) fn by_process(
        &self,
        path: &Path,
        until: Instant,
    ) -> anyhow::Result<Result<CostTable, NotTimed>> {
        let program =
            std::env::current_exe().context("the path of this program is needed to start processes")?;
        let log = path.with_extension("log");
        let errors = fs::File::create(&log).with_context(|| format!("{}: cannot write it", log.display()))?;
        let nodes = self.nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let mut command = Command::new(program);
        command
            .args(["costs", "--made", "--format", "json", "--model", self.model, "--device", self.device])
            .args(["--dtype", self.dtype, "--guidance", &self.guidance.to_string(), "--nodes", &nodes])
            .args(["--threads", &self.threads.to_string(), "--repetitions", &self.repetitions.to_string()])
            .args(self.graphs.map(|graphs| format!("--graphs={graphs}")))
            .arg("--out")
            .arg(path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors);
        let Some(status) = ended(&mut command, until)? else {
            return Ok(Err(NotTimed::TimeOver("it was not done when its time was over".to_owned())));
        };
        if status.success() {
            fs::remove_file(&log).with_context(|| format!("{}: cannot remove it", log.display()))?;
            return Ok(Ok(CostTable::read(path)?));
        }
        Ok(Err(NotTimed::of(reason(&log)?, status)))
    }
}

/// The cost table of `model`: the one that is in the folder, or that of a process that ends before `until`. Inside: why
/// there is none.
fn timed(
    args: &BenchDeviceArgs,
    model: &str,
    until: Instant,
    console: &Console,
) -> anyhow::Result<Result<CostTable, NotTimed>> {
    let path = args.out.join(format!("{model}.toml"));
    if path.exists() {
        console.say(format!("{model} was timed before: {}", path.display()));
        let table = CostTable::read(&path)?;
        if (&table.device, &table.dtype, table.guidance) != (&args.device, &args.dtype, args.guidance) {
            return Err(CliError::Usage(format!(
                "{}: it was timed on {} in {} with guidance {}; choose another --out",
                path.display(),
                table.device,
                table.dtype,
                table.guidance
            ))
            .into());
        }
        return Ok(Ok(table));
    }
    if Instant::now() >= until {
        return Ok(Err(NotTimed::TimeOver(format!("the {} s were over", args.seconds))));
    }
    console.say(format!("timing {model}; other work on this machine distorts it"));
    let timing = Timing {
        model,
        device: &args.device,
        dtype: &args.dtype,
        guidance: args.guidance,
        nodes: &NODES,
        threads: args.threads,
        repetitions: args.repetitions,
        graphs: args.graphs,
    };
    timing.by_process(&path, until)
}

/// How a process ended; `None` if it was killed because it did not end before `until`.
fn ended(command: &mut Command, until: Instant) -> anyhow::Result<Option<ExitStatus>> {
    let mut child = command.spawn().context("cannot start a process of this program")?;
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for a process")? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            // It may have ended just now.
            let _ = child.kill();
            child.wait().context("cannot wait for a process")?;
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
    }
}

/// The message of the error that a process wrote last.
fn reason(log: &Path) -> anyhow::Result<Option<String>> {
    let text = fs::read_to_string(log).with_context(|| format!("{}: cannot read it", log.display()))?;
    let error = text.lines().rev().find_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    Ok(error.and_then(|error| Some(error["error"]["message"].as_str()?.to_owned())))
}

/// The page: under what it was measured, the costs, and what was not timed.
fn blocks(args: &BenchDeviceArgs, all: &[Timed]) -> Vec<Block> {
    let tables: Vec<&CostTable> = all.iter().filter_map(|timed| timed.table.as_ref().ok()).collect();
    let first = tables[0];
    let mut blocks = vec![
        Block::Heading(1, format!("Forwards of {} on {}", counted(tables.len(), "model"), first.machine)),
        Block::Words(format!(
            "{}, {}, libtorch {}, guidance {}, {} on the host; {}. specimen {}.",
            first.device,
            first.dtype,
            first.libtorch,
            first.guidance,
            counted(first.threads as usize, "thread"),
            first.date,
            specimen_provenance::VERSION,
        )),
        Block::Words(format!("Command: {}", command_of(args))),
        Block::Table(costs_of(&tables)),
    ];
    let missing: Vec<(&str, String)> = all
        .iter()
        .filter_map(|timed| Some((timed.model.as_str(), timed.table.as_ref().err()?.to_string())))
        .collect();
    if !missing.is_empty() {
        let mut table = Table { id: "not-timed".to_owned(), ..Table::default() };
        let entries = |texts: Vec<&str>| texts.into_iter().map(Entry::plain).collect();
        table.push(Column::text("not timed"), entries(missing.iter().map(|(model, _)| *model).collect()));
        table.push(Column::text("why"), entries(missing.iter().map(|(_, why)| why.as_str()).collect()));
        blocks.push(Block::Table(table));
    }
    blocks
}

/// The command that times the same again, with what was left to its defaults.
fn command_of(args: &BenchDeviceArgs) -> String {
    let BenchDeviceArgs { device, models, dtype, guidance, graphs, threads, repetitions, seconds, out } =
        args;
    let mut command =
        format!("specimen bench-device --device {device} --dtype {dtype} --guidance {guidance}");
    if !models.is_empty() {
        command.push_str(&format!(" --models {}", models.join(",")));
    }
    if let Some(graphs) = graphs {
        command.push_str(&format!(" --graphs {graphs}"));
    }
    let out = out.file_name().unwrap_or_default().display();
    command + &format!(" --threads {threads} --repetitions {repetitions} --seconds {seconds} --out {out}")
}

/// One row a model.
fn costs_of(tables: &[&CostTable]) -> Table {
    let mut shown = Table { id: "forwards".to_owned(), ..Table::default() };
    let mut column = |column: Column, text: &dyn Fn(&CostTable) -> Option<String>| {
        let entries = tables.iter().map(|table| Entry::plain(&text(table).unwrap_or_else(|| "—".to_owned())));
        shown.push(column, entries.collect());
    };
    let ms = |seconds: f64| format!("{:.3}", seconds * 1e3);
    column(Column::text("model"), &|table| Some(table.model.clone()));
    column(Column::number("weights", "GB a step", None), &|table| {
        Some(format!("{:.2}", table.step_bytes? as f64 * 1e-9))
    });
    column(Column::number("bandwidth", "GB/s", None), &|table| {
        Some(format!("{:.0}", table.bytes_per_second * 1e-9))
    });
    column(Column::number("bound", "ms", None), &|table| Some(ms(table.bound_s()?)));
    column(Column::number("plain step", "ms", Some(false)), &|table| Some(ms(table.step_seconds)));
    column(Column::number("of the bound", "%", Some(true)), &|table| {
        Some(format!("{:.0}", table.step_efficiency()? * 100.0))
    });
    column(Column::number("eager step", "steps", None), &|table| {
        Some(format!("{:.2}", table.eager_step?.steps))
    });
    for nodes in NODES {
        column(Column::number(&format!("{nodes} nodes"), "steps", Some(false)), &|table| {
            let cost = table.verifications.iter().find(|cost| cost.nodes == nodes)?;
            Some(format!("{:.2}", cost.steps))
        });
        let eager = |table: &CostTable| {
            table.verifications.iter().find(|cost| cost.nodes == nodes)?.eager.map(|cost| cost.steps)
        };
        if tables.iter().any(|table| eager(table).is_some()) {
            column(Column::number(&format!("{nodes} nodes, eager"), "steps", None), &|table| {
                Some(format!("{:.2}", eager(table)?))
            });
        }
    }
    column(Column::text("drafters, steps"), &|table| {
        let all: Vec<String> =
            table.drafters.iter().map(|draft| format!("{} {:.3}", draft.proposer, draft.steps)).collect();
        (!all.is_empty()).then(|| all.join(", "))
    });
    column(Column::number("prefill", "ms", Some(false)), &|table| Some(ms(table.prefill_seconds?)));
    column(Column::number("picture", "ms", Some(false)), &|table| Some(ms(table.picture_seconds?)));
    column(Column::number("memory of the host", "GB", None), &|table| {
        Some(format!("{:.1}", table.peak_host_bytes? as f64 * 1e-9))
    });
    column(Column::number("memory of the GPU", "GB", None), &|table| {
        Some(format!("{:.1}", table.peak_device_bytes? as f64 * 1e-9))
    });
    let us = |seconds: f64| format!("{:.1}", seconds * 1e6);
    let gb = |bytes_per_s: f64| format!("{:.1}", bytes_per_s * 1e-9);
    if tables.iter().any(|table| table.copies.is_some()) {
        column(Column::number("4 KiB up, down", "us", None), &|table| {
            let copies = table.copies?;
            Some(format!("{}, {}", us(copies.small_to_device_seconds), us(copies.small_to_host_seconds)))
        });
        column(Column::number("64 MiB up, down", "GB/s", None), &|table| {
            let copies = table.copies?;
            Some(format!(
                "{}, {}",
                gb(copies.to_device_bytes_per_second),
                gb(copies.to_host_bytes_per_second)
            ))
        });
    }
    shown.legend = vec![
        "Weights are random numbers in the published sizes. Times are medians; the tables next to this page have 95 % intervals."
            .to_owned(),
        "bound: the bytes that a plain step must read, over the bandwidth that was measured just before. n nodes: a \
         verification of n nodes, root included. eager: the same without CUDA graphs, where the others have them. drafters: one forward, which never is a graph. All in \
         plain steps at the same place of an image. No time holds the capture of a graph. up, down: copies between pageable \
         memory of the host and the device."
            .to_owned(),
    ];
    let unknown: BTreeSet<&str> =
        tables.iter().filter_map(|table| table.peak_device_unknown.as_deref()).collect();
    shown.legend.extend(unknown.into_iter().map(|why| format!("The memory of the GPU is not known: {why}.")));
    shown
}
