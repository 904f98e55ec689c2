//! `specimen report`: tables and figures of a run, made again from its summary.

use std::path::PathBuf;

use clap::Args;
use specimen_record::{RunDir, Summary, read_document};
use specimen_report::{Options, Outcome, Quality, ReportError, check_quality, table_text};

use crate::{
    args::Format,
    exit::CliError,
    table_width::table_width,
    talk::{Talk, answer, answer_json},
};

/// What to show.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folders of runs; their tables are printed one after the other
    #[arg(required = true)]
    pub runs: Vec<PathBuf>,
    /// Renew the tables of these runs in a Markdown file, between `<!-- specimen:table NAME -->` and
    /// `<!-- /specimen:table -->`; `NAME brief` leaves out what the columns mean
    #[arg(long, value_name = "FILE")]
    pub splice: Option<PathBuf>,
    /// Print the ablation instead: cells by the settings in which they differ
    #[arg(long)]
    pub ablation: bool,
    #[command(flatten)]
    pub look: Look,
}

/// How a report looks.
#[derive(Debug, Args)]
pub struct Look {
    /// Metric on the quality axis of the figure: its difference from the baseline for `target-nll`, its value
    /// for any other [default: target-nll if the run has it, else the first metric]
    #[arg(long, value_name = "METRIC")]
    pub quality: Option<String>,
    /// Prompts in the grid of images
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..))]
    pub rows: u16,
}

/// Metric whose difference from the baseline is the sharpest sign of a changed law.
const DEFAULT_QUALITY: &str = "target-nll";

/// Makes the report again.
pub(crate) fn report(args: &ReportArgs, talk: &Talk) -> anyhow::Result<()> {
    for folder in &args.runs {
        check(&RunDir::open(folder)?, &args.look)?;
    }
    let written = args.runs.iter().map(|folder| write(&RunDir::open(folder)?, &args.look, talk));
    let written = written.collect::<anyhow::Result<Vec<Written>>>()?;
    let summaries: Vec<Summary> = written.iter().map(|written| written.summary.clone()).collect();
    if let Some(file) = &args.splice {
        specimen_report::splice(file, &summaries)?;
        talk.say(format!("{}: tables renewed", file.display()));
    }
    if args.ablation && talk.format() == Format::Human {
        return show_ablations(&summaries, talk);
    }
    match (talk.format(), written.as_slice()) {
        (Format::Json, [_, _, ..]) => answer_json(&summaries),
        (_, several) => several.iter().try_for_each(|written| show(written, talk)),
    }
}

/// Prints the ablation of each run that has one.
fn show_ablations(summaries: &[Summary], talk: &Talk) -> anyhow::Result<()> {
    for summary in summaries {
        match specimen_verdicts::ablation::ablation(summary) {
            Some(table) => answer(&table.text(table_width()))?,
            None => talk.warn(format!("run {}: its cells differ in no setting", summary.name)),
        }
    }
    Ok(())
}

/// A report that was written.
pub(crate) struct Written {
    summary: Summary,
    /// Its page.
    page: PathBuf,
}

/// Writes the files of the report, and says which could not be made.
pub(crate) fn write(run: &RunDir, look: &Look, talk: &Talk) -> anyhow::Result<Written> {
    let summary = check(run, look)?;
    let options = Options { quality: quality(&summary, look), n_grid_prompts: usize::from(look.rows) };
    let written = specimen_report::report(run, &options)?;
    for (name, outcome) in written.figures.iter().chain([&("grid".to_owned(), written.grid)]) {
        match outcome {
            // Every run should have these two; what else a run shows depends on its spec.
            Outcome::Skipped(why) if matches!(name.as_str(), "pareto" | "grid") => {
                talk.warn(format!("no {name} figure: {why}"));
            }
            Outcome::Skipped(why) => talk.detail(format!("no {name} figure: {why}")),
            Outcome::Written(_) => {}
        }
    }
    Ok(Written { summary, page: written.page })
}

/// The summary of a run, once it is known that it has what was asked for by name: nothing is written before.
fn check(run: &RunDir, look: &Look) -> anyhow::Result<Summary> {
    let path = run.summary();
    if !path.exists() {
        return Err(ReportError::NoSummary { path }.into());
    }
    let summary: Summary = read_document(&path)?;
    if let Some(metric) = &look.quality {
        let chosen = quality(&summary, look);
        check_quality(&summary, &chosen)
            .map_err(|why| CliError::Usage(format!("--quality {metric}: {}: {why}", run.root().display())))?;
    }
    Ok(summary)
}

/// Prints the numbers, and says where the page is.
pub(crate) fn show(written: &Written, talk: &Talk) -> anyhow::Result<()> {
    match talk.format() {
        Format::Human => answer(&table_text(&written.summary, table_width())?)?,
        Format::Json => answer_json(&written.summary)?,
    }
    talk.say(format!("report: {}", written.page.display()));
    Ok(())
}

fn quality(summary: &Summary, look: &Look) -> Quality {
    let metrics = || summary.cells.iter().flat_map(|cell| &cell.metrics).map(|metric| metric.metric.as_str());
    let chosen = look.quality.as_deref();
    let chosen =
        chosen.or_else(|| metrics().find(|name| *name == DEFAULT_QUALITY)).or_else(|| metrics().next());
    match chosen.unwrap_or(DEFAULT_QUALITY) {
        DEFAULT_QUALITY => Quality::Difference(DEFAULT_QUALITY.to_owned()),
        other => Quality::Value(other.to_owned()),
    }
}
