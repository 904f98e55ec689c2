//! `specimen import-scores`: the scores that another program gave the images of a run, into the run.

use std::path::PathBuf;

use clap::{Args, builder::PossibleValuesParser};
use serde::Serialize;
use specimen_catalog::METRICS;
use specimen_record::{MetricFile, RunDir};
use specimen_report::table::{Column, Entry, Table, column_decimals, with_interval};
use specimen_runner::{
    driver::{
        events::DriverEvent,
        import_scores::{Imported, import_scores as take_in},
    },
    process::stop_request::StopRequest,
};

use crate::{
    cmd::report,
    console::{Console, answer, answer_json},
    progress::Progress,
    seal_check::refuse_rehearsal,
    shared_args::Format,
    spec_args::data_root,
    table_width::table_width,
};

/// Which run, and whose results.
#[derive(Debug, Args)]
pub struct ImportScoresArgs {
    /// Folder of the run whose images were scored
    pub run: PathBuf,
    /// Scores by image, as `.csv` or lines of JSON: `image` (the key in the run's records) and `score`, perhaps `value` (of the metric's
    /// values) and `group` (of the prompt); docs/benchmarks.md writes them for each benchmark
    pub file: PathBuf,
    /// What was scored
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(imported()))]
    pub metric: String,
    #[command(flatten)]
    pub look: report::Look,
}

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct Answer<'a> {
    schema: u32,
    scores: Vec<Score<'a>>,
}

/// A value of a cell.
#[derive(Serialize)]
struct Score<'a> {
    cell: &'a str,
    metric: &'a str,
    value: Option<f64>,
    ci95: Option<[f64; 2]>,
    /// Images.
    n: u64,
    why: Option<&'a str>,
}

/// Names of the metrics that other programs compute.
fn imported() -> impl Iterator<Item = &'static str> {
    METRICS.iter().filter(|metric| metric.needs.import()).map(|metric| metric.name.as_str())
}

/// Takes the scores in, writes tables and figures again, and prints the scores by cell.
pub(crate) fn import_scores(args: &ImportScoresArgs, console: &Console) -> anyhow::Result<()> {
    let stop = StopRequest::on_signals()?;
    let run = RunDir::open(&args.run)?;
    refuse_rehearsal(&run)?;
    let mut progress = Progress::new(console, &[]);
    let mut on_event = |event: DriverEvent| progress.on(&event);
    let metric = specimen_catalog::metric(&args.metric).expect("clap takes only names of metrics");
    let taken = take_in(&run, &args.file, metric, data_root().as_ref(), &stop, &mut on_event);
    drop(progress);
    let Imported { files, .. } = taken?;
    report::write(&run, &args.look, &[], console)?;
    match console.format() {
        Format::Human => answer(&table(&files).text(table_width())),
        Format::Json => {
            let scores = files.iter().map(|file| Score {
                cell: &file.cell,
                metric: &file.metric,
                value: file.value,
                ci95: file.ci95,
                n: file.n,
                why: file.why.as_deref(),
            });
            answer_json(&Answer { schema: 1, scores: scores.collect() })
        }
    }
}

/// A row a value, a column a cell.
fn table(files: &[MetricFile]) -> Table {
    let mut names: Vec<&str> = Vec::new();
    let mut cells: Vec<&str> = Vec::new();
    for file in files {
        if !names.contains(&file.metric.as_str()) {
            names.push(&file.metric);
        }
        if !cells.contains(&file.cell.as_str()) {
            cells.push(&file.cell);
        }
    }
    let mut table = Table { id: "scores".to_owned(), ..Table::default() };
    table.push(Column::text("score"), names.iter().map(|name| Entry::plain(name)).collect());
    for cell in cells {
        let of = |name: &&str| files.iter().find(|file| file.metric == **name && file.cell == cell);
        let own: Vec<Option<&MetricFile>> = names.iter().map(of).collect();
        let known: Vec<_> = own.iter().flatten().filter_map(|file| Some((file.value?, file.ci95))).collect();
        let decimals = column_decimals(&known);
        let mut entries = Vec::new();
        for file in own {
            entries.push(match file.and_then(|file| Some((file.value?, file))) {
                Some((value, file)) => Entry::plain(&format!(
                    "{} (n {})",
                    with_interval(value, file.ci95, decimals, true),
                    file.n
                )),
                None => {
                    let why = file.and_then(|file| file.why.as_deref()).unwrap_or("no result");
                    Entry::plain(&format!("–{}", table.footnote(why)))
                }
            });
        }
        table.push(Column::number(cell, "", Some(true)), entries);
    }
    table.legend.push("95 % intervals over prompts; n images.".to_owned());
    table
}
