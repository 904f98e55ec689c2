//! `specimen report`: tables and figures of a run, made again from its summary.

use std::path::PathBuf;

use clap::Args;
use specimen_record::{RunDir, Summary, read_document};
use specimen_report::{Options, Outcome, Quality, ReportError, table_text};

use crate::{
    args::Format,
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
    /// `<!-- /specimen:table -->`
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
    let written = args.runs.iter().map(|folder| write(&RunDir::open(folder)?, &args.look, talk));
    let summaries = written.collect::<anyhow::Result<Vec<Summary>>>()?;
    if let Some(file) = &args.splice {
        specimen_report::splice(file, &summaries)?;
        talk.say(format!("{}: tables renewed", file.display()));
    }
    if args.ablation && talk.format() == Format::Human {
        return show_ablations(&summaries, talk);
    }
    match (talk.format(), summaries.as_slice()) {
        (_, [summary]) => show(summary, talk),
        (Format::Json, _) => answer_json(&summaries),
        (Format::Human, _) => {
            let tables = summaries.iter().map(|summary| table_text(summary, table_width()));
            answer(&tables.collect::<Result<Vec<_>, _>>()?.join("\n"))
        }
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

/// Writes the files of the report and says where they are.
pub(crate) fn write(run: &RunDir, look: &Look, talk: &Talk) -> anyhow::Result<Summary> {
    let path = run.summary();
    if !path.exists() {
        return Err(ReportError::NoSummary { path }.into());
    }
    let summary: Summary = read_document(&path)?;
    let options = Options { quality: quality(&summary, look), n_grid_prompts: usize::from(look.rows) };
    let written = specimen_report::report(run, &options)?;
    for (figure, outcome) in [("pareto", &written.pareto), ("grid", &written.grid)] {
        if let Outcome::Skipped(why) = outcome {
            talk.warn(format!("no {figure} figure: {why}"));
        }
    }
    talk.say(format!("report: {}", run.report().display()));
    Ok(summary)
}

/// Prints the numbers.
pub(crate) fn show(summary: &Summary, talk: &Talk) -> anyhow::Result<()> {
    match talk.format() {
        Format::Human => answer(&table_text(summary, table_width())?),
        Format::Json => answer_json(summary),
    }
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
