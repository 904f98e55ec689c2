//! `specimen costs` of several models: a cost table each, by a process of its own, so that one that is too large or hangs
//! takes nothing from the others, and a page of all.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, bail};
use specimen_foundation::{fail, text::counted};
use specimen_record::{summary::cost_table::CostTable, write_atomic};
use specimen_report::{table::Block, table::Column, table::Entry, table::Table, table::markdown_page};
use specimen_runner::images::load::device_of;

use crate::{
    cmd::{
        costs::CostsArgs,
        generate::{ModelArgs, cell_of},
    },
    console::{Console, answer, answer_json, message_of},
    provenance::{VERSION, argv},
    shared_args::Format,
    table_width::table_width,
};

/// Times each of the models and writes its table and the page into the folder `--out`.
pub(crate) fn costs_of_several(args: &CostsArgs, console: &Console) -> anyhow::Result<()> {
    let models: Vec<&str> = args.model.model.split(',').collect();
    let Some(folder) = &args.out else {
        let why = "--model: several models need a folder for their tables and the page: --out DIR";
        fail!(Usage: "{why}");
    };
    for model in &models {
        cell_of(&ModelArgs { model: (*model).to_owned(), ..args.model.clone() }, "ar")?;
    }
    // One sentence, in place of one for each model.
    device_of(&args.model.device)?;
    fs::create_dir_all(folder).with_context(|| format!("{}: cannot make the folder", folder.display()))?;
    let (mut tables, mut untimed) = (Vec::new(), Vec::new());
    for model in models {
        console.say(format!("timing {model}; other work on this machine distorts it"));
        match by_process(&options(args, model), &folder.join(format!("{model}.toml"))) {
            Ok(table) => tables.push(table),
            Err(error) => {
                untimed.push(format!("{model} is not timed: {}", message_of(&error)));
                untimed.last().iter().for_each(|why| console.warn(why));
            }
        }
    }
    let Some(first) = tables.first() else {
        fail!(Environment: "no model was timed; the reasons are above");
    };
    let mut blocks = vec![
        Block::Heading(1, format!("Forwards of {} on {}", counted(tables.len(), "model"), first.machine)),
        Block::Words(format!(
            "{}, {}, libtorch {}, {} on the host; {}. specimen {}. Times are medians; the tables next to this page have 95 % \
             intervals, and the weights of each.",
            first.device,
            first.dtype,
            first.libtorch,
            counted(first.threads as usize, "thread"),
            first.date,
            VERSION,
        )),
        Block::Words(format!("Command: specimen {}", argv()[1..].join(" "))),
        Block::Table(of_models(&tables)),
    ];
    blocks.extend(untimed.into_iter().map(Block::Words));
    let page = folder.join("README.md");
    write_atomic(&page, markdown_page(&blocks).as_bytes())?;
    console.say(format!("page: {}", page.display()));
    match console.format() {
        Format::Json => answer_json(&tables),
        Format::Human => answer(&of_models(&tables).text(table_width())),
    }
}

/// The options that time `model` as `args` say.
fn options(args: &CostsArgs, model: &str) -> Vec<String> {
    let CostsArgs { model: all, made, graphs, prompt, threads, nodes, repetitions, out: _ } = args;
    let ModelArgs { model: _, guidance, temperature, top_k, top_p, dtype, device } = all;
    let nodes = nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let mut options = vec![
        format!("--model={model}"),
        format!("--temperature={temperature}"),
        format!("--top-k={top_k}"),
        format!("--top-p={top_p}"),
        format!("--dtype={dtype}"),
        format!("--device={device}"),
        format!("--threads={threads}"),
        format!("--nodes={nodes}"),
        format!("--repetitions={repetitions}"),
    ];
    options.extend(guidance.map(|guidance| format!("--guidance={guidance}")));
    options.extend(graphs.map(|graphs| format!("--graphs={graphs}")));
    options.extend(prompt.as_ref().map(|prompt| format!("--prompt={prompt}")));
    options.extend(made.then(|| "--made".to_owned()));
    options
}

/// The cost table that a process of `specimen costs` with `options` writes to `path`.
fn by_process(options: &[String], path: &Path) -> anyhow::Result<CostTable> {
    let program = std::env::current_exe().context("the path of this program is needed to start processes")?;
    let mut command = Command::new(program);
    command.args(["costs", "--format", "json"]).args(options).arg("--out").arg(path);
    command.stdin(Stdio::null());
    let ended = command.output().context("cannot start a process of this program")?;
    if ended.status.success() {
        return Ok(CostTable::read(path)?);
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let last = said.lines().rev().find_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let reason = last.and_then(|last| Some(last["error"]["message"].as_str()?.to_owned()));
    bail!(reason.unwrap_or_else(|| format!("its process ended with {}", ended.status)))
}

/// One row a model.
fn of_models(tables: &[CostTable]) -> Table {
    let ms = |seconds: f64| format!("{:.3}", seconds * 1e3);
    let gb = |bytes: f64, decimals: usize| format!("{:.decimals$}", bytes * 1e-9);
    let mut shown = Table { id: "forwards".to_owned(), ..Table::default() };
    let mut column = |column: Column, text: &dyn Fn(&CostTable) -> Option<String>| {
        let entry = |table| Entry::plain(&text(table).unwrap_or_else(|| "—".to_owned()));
        shown.push(column, tables.iter().map(entry).collect());
    };
    column(Column::text("model"), &|table| Some(table.model.clone()));
    column(Column::number("weights", "GB a step", None), &|table| Some(gb(table.step_bytes? as f64, 2)));
    column(Column::number("bandwidth", "GB/s", None), &|table| Some(gb(table.bytes_per_second, 0)));
    column(Column::number("bound", "ms", None), &|table| Some(ms(table.bound_s()?)));
    column(Column::number("plain step", "ms", Some(false)), &|table| Some(ms(table.step_seconds)));
    column(Column::number("of the bound", "%", Some(true)), &|table| {
        Some(format!("{:.0}", table.step_efficiency()? * 100.0))
    });
    column(Column::text("verifications, steps"), &|table| {
        let costs = table.verifications.iter().map(|cost| format!("{}: {:.2}", cost.nodes, cost.steps));
        Some(costs.collect::<Vec<_>>().join(", "))
    });
    column(Column::number("prefill", "ms", Some(false)), &|table| Some(ms(table.prefill_seconds?)));
    column(Column::number("picture", "ms", Some(false)), &|table| Some(ms(table.picture_seconds?)));
    column(Column::number("host", "GB", None), &|table| Some(gb(table.peak_host_bytes? as f64, 1)));
    column(Column::number("GPU", "GB", None), &|table| Some(gb(table.peak_device_bytes? as f64, 1)));
    shown.legend = vec![
        "weights: the bytes that a plain step must read. bound: these over the bandwidth. verifications: by their nodes, root \
         included, in plain steps at the same place of an image. host, GPU: most memory that the process had."
            .to_owned(),
    ];
    shown
}
