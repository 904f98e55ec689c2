//! `specimen report`: tables and figures of a run, made again from its summary.

use std::path::{Path, PathBuf};

use clap::{Args, builder::PossibleValuesParser};
use serde::Serialize;
use specimen_foundation::{fail, failure};
use specimen_record::{Part, RunDir, Summary, read_document, sweep_unfinished};
use specimen_record::{summary::cost_table::CostTable, summary::projection::project};
use specimen_report::{
    Options, Outcome, PromptFact, Quality, ReportError, Style, breakdown_tables, draw, n_drawn, table::Table,
    table_of,
};

use crate::{
    console::Console,
    prompt_facts::{FACTS, facts_of},
    seal_check::{SealArgs, Unverified},
    shared_args::Format,
    table_width::table_width,
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
    /// Columns of the table after the methods, by their heads or the names that these have in table.csv, in this order; table.md, .tex and
    /// .html get the same columns, and table.csv keeps all
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Break the scores of images down by a fact of their prompts, read from the dataset: a table with intervals, and a figure
    /// a score (`breakdown`); may be repeated. `task` is GenEval's; `supercategory` is of the objects in COCO's images, and
    /// needs instances_val2017.json. A report without --by removes them. Means by a swept setting: `specimen records RUN --by`
    #[arg(long, value_name = "FACT", value_delimiter = ',', value_parser = PossibleValuesParser::new(FACTS))]
    pub by: Vec<String>,
    #[command(flatten)]
    pub figures: FigureArgs,
    #[command(flatten)]
    pub look: Look,
    #[command(flatten)]
    pub seal: SealArgs,
}

/// Which figures to draw alone, and how.
#[derive(Debug, Args)]
pub struct FigureArgs {
    /// Draw only this figure, as SVG, PDF, PNG and CSV, and print the paths: `pareto` or another by its name on the page,
    /// or `sweep` for all sweeps, `breakdown` for all of --by; may be repeated
    #[arg(long = "figure", value_name = "NAME")]
    pub names: Vec<String>,
    /// Its width on paper: `column` (85 mm), `page` (174 mm) or millimetres from 60 to 400
    #[arg(long, value_name = "WIDTH", value_parser = millimetres, requires = "names")]
    pub width: Option<f64>,
    /// Leave out title and conditions, which a paper has in its caption
    #[arg(long, requires = "names")]
    pub no_title: bool,
    /// Folder for the figures of --figure [default: the run's report]
    #[arg(long, value_name = "FOLDER", requires = "names")]
    pub out: Option<PathBuf>,
}

/// How a report looks.
#[derive(Debug, Args)]
pub struct Look {
    /// Metric on the quality axis of the figure: its difference from the baseline for `target-nll`, its value
    /// for any other [default: the metric by which the most cells can be drawn; of equals target-nll, else the first]
    #[arg(long, value_name = "METRIC")]
    pub quality: Option<String>,
    #[command(flatten)]
    pub grid: GridArgs,
    /// Add the speedups that the run's counts give under this cost table, a file that `specimen costs` writes
    #[arg(long, value_name = "FILE", value_parser = cost_table)]
    pub costs: Option<CostTable>,
}

/// How much the grid of images shows.
#[derive(Clone, Copy, Debug, Args)]
pub struct GridArgs {
    /// Prompts in the grid of images
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..))]
    pub rows: u16,
}

/// The cost table in a file.
fn cost_table(path: &str) -> Result<CostTable, String> {
    CostTable::read(Path::new(path)).map_err(|error| error.to_string())
}

/// Metric whose difference from the baseline shows a changed distribution with the fewest prompts.
const DEFAULT_QUALITY: &str = "target-nll";

/// A width on paper, in millimetres.
fn millimetres(text: &str) -> Result<f64, String> {
    let named = match text {
        "column" => Some(85.0),
        "page" => Some(174.0),
        other => other.trim_end_matches("mm").parse().ok(),
    };
    named
        .filter(|mm| (60.0..=400.0).contains(mm))
        .ok_or_else(|| "expected `column`, `page` or millimetres from 60 to 400".to_owned())
}

/// Makes the report again.
pub(crate) fn report(args: &ReportArgs, console: &Console) -> anyhow::Result<()> {
    let unverified = Unverified::check(&args.runs, Part::All, &args.seal, console)?;
    for folder in &args.runs {
        let (summary, warning) = check(&RunDir::open(folder)?, &args.look)?;
        warning.iter().for_each(|what| console.warn(format!("--costs: {what}")));
        table_of(&summary, &args.columns).map_err(|error| failure!(Usage: "--columns: {error}"))?;
    }
    if !args.figures.names.is_empty() {
        return draw_figures(args, &unverified, console);
    }
    let written = args.runs.iter().map(|folder| {
        let facts = facts(folder, &args.by)?;
        write_with(&RunDir::open(folder)?, &args.look, &args.columns, facts, console)
    });
    let written = written.collect::<anyhow::Result<Vec<Written>>>()?;
    let summaries: Vec<Summary> = written.iter().map(|written| written.summary.clone()).collect();
    if let Some(file) = &args.splice {
        specimen_report::splice(file, &summaries, &args.columns)?;
        console.say(format!("{}: tables renewed", file.display()));
    }
    if args.ablation && console.format() == Format::Human {
        return show_ablations(&summaries, &unverified, console);
    }
    match (console.format(), written.as_slice()) {
        (Format::Json, [_, _, ..]) => unverified.answer_json(&summaries),
        (_, several) => several.iter().try_for_each(|written| show_checked(written, &unverified, console)),
    }
}

/// Draws the figures that were asked for, and prints the paths of their files.
fn draw_figures(args: &ReportArgs, unverified: &Unverified, console: &Console) -> anyhow::Result<()> {
    let FigureArgs { names, width, no_title, out } = &args.figures;
    if out.is_some() && args.runs.len() > 1 {
        let reason = "--out takes the figures of one run: those of two have the same names";
        fail!(Usage: "{reason}");
    }
    let style = Style { width_mm: *width, is_titled: !no_title };
    let mut paths = Vec::new();
    for folder in &args.runs {
        let run = RunDir::open(folder)?;
        let (summary, _) = check(&run, &args.look)?;
        let out = out.clone().unwrap_or_else(|| run.report());
        let facts = facts(folder, &args.by)?;
        let drawn = draw(&run, &summary, &out, names, (&quality(&summary, &args.look), &facts), &style);
        let drawn = drawn.map_err(|error| match error {
            ReportError::NoFigure { .. } => failure!(Usage: "--figure: {error}").into(),
            other => anyhow::Error::from(other),
        })?;
        for (name, outcome) in drawn {
            match outcome {
                Outcome::Written(files) => paths.extend(files),
                Outcome::Skipped(why) => {
                    fail!(Missing: "no {name} figure: {why}");
                }
            }
        }
    }
    match console.format() {
        Format::Human => {
            let lines: Vec<String> = paths.iter().map(|path| format!("{}\n", path.display())).collect();
            unverified.answer(&lines.concat())
        }
        Format::Json => unverified.answer_json(&FigureFiles { schema: 1, files: paths }),
    }
}

/// The files of figures, as `--format json` prints them.
#[derive(Serialize)]
struct FigureFiles {
    schema: u32,
    files: Vec<PathBuf>,
}

/// Prints the ablation of each run that has one.
fn show_ablations(summaries: &[Summary], unverified: &Unverified, console: &Console) -> anyhow::Result<()> {
    for summary in summaries {
        match specimen_report::verdicts::ablation::ablation(summary) {
            Some(table) => unverified.answer(&table.text(table_width()))?,
            None => console.warn(format!(
                "run {}: its cells have the same settings, so there is no ablation",
                summary.name
            )),
        }
    }
    Ok(())
}

/// The facts of a run's prompts that are asked for.
fn facts(folder: &Path, by: &[String]) -> anyhow::Result<Vec<PromptFact>> {
    Ok(if by.is_empty() { Vec::new() } else { facts_of(folder, by)?.1 })
}

/// A report that was written.
pub(crate) struct Written {
    summary: Summary,
    /// Columns of the table; all where none is named.
    columns: Vec<String>,
    /// Path of its page.
    page: PathBuf,
    /// Scores by facts of the prompts.
    breakdowns: Vec<Table>,
}

/// Writes the files of the report, and says which could not be made.
pub(crate) fn write(
    run: &RunDir,
    look: &Look,
    columns: &[String],
    console: &Console,
) -> anyhow::Result<Written> {
    write_with(run, look, columns, Vec::new(), console)
}

/// As [`write`], with scores by facts of the prompts.
fn write_with(
    run: &RunDir,
    look: &Look,
    columns: &[String],
    facts: Vec<PromptFact>,
    console: &Console,
) -> anyhow::Result<Written> {
    let (summary, _) = check(run, look)?;
    // A report that was killed left what it had begun.
    sweep_unfinished(&run.report())?;
    let options = Options {
        columns: columns.to_vec(),
        facts,
        projected: look.costs.is_some().then(|| summary.clone()),
        ..Options::new(quality(&summary, look), usize::from(look.grid.rows))
    };
    let written = specimen_report::report(run, &options)?;
    for (name, outcome) in written.figures.iter().chain([&("grid".to_owned(), written.grid)]) {
        match outcome {
            // Every run should have these two; what else a run shows depends on its spec.
            Outcome::Skipped(why) if matches!(name.as_str(), "pareto" | "grid") => {
                console.warn(format!("no {name} figure: {why}"));
            }
            Outcome::Skipped(why) => console.detail(format!("no {name} figure: {why}")),
            Outcome::Written(_) => {}
        }
    }
    let mut breakdowns = Vec::new();
    for (fact, table) in breakdown_tables(run, &options.facts)? {
        match table {
            Ok(table) => breakdowns.push(table),
            Err(why) => console.warn(format!("no breakdown by {fact}: {why}")),
        }
    }
    Ok(Written { summary, columns: options.columns, page: written.page, breakdowns })
}

/// The summary of a run, once it is known that it has what was asked for by name: nothing is written before. With what a reader
/// of its projected speedups must know.
fn check(run: &RunDir, look: &Look) -> anyhow::Result<(Summary, Option<String>)> {
    let path = run.summary();
    if !path.exists() {
        return Err(specimen_report::error::no_summary(&path).into());
    }
    let mut summary: Summary = read_document(&path)?;
    let warning = match &look.costs {
        Some(costs) => project(&mut summary, costs)?,
        None => None,
    };
    if let Some(metric) = &look.quality {
        let chosen = quality(&summary, look);
        n_drawn(&summary, &chosen)
            .map_err(|why| failure!(Usage: "--quality {metric}: {}: {why}", run.root().display()))?;
    }
    Ok((summary, warning))
}

/// Prints the numbers, and says where the page is.
pub(crate) fn show(written: &Written, console: &Console) -> anyhow::Result<()> {
    show_checked(written, &Unverified::default(), console)
}

fn show_checked(written: &Written, unverified: &Unverified, console: &Console) -> anyhow::Result<()> {
    match console.format() {
        Format::Human => {
            unverified.answer(&table_of(&written.summary, &written.columns)?.text(table_width()))?;
            for table in &written.breakdowns {
                unverified.answer(&format!("\n{}", table.text(table_width())))?;
            }
        }
        Format::Json => unverified.answer_json(&written.summary)?,
    }
    console.say(format!("report: {}", written.page.display()));
    Ok(())
}

/// The metric that was asked for, or the default.
fn quality(summary: &Summary, look: &Look) -> Quality {
    look.quality.as_deref().map_or_else(|| default_quality(summary), quality_by)
}

/// The metric by which the most cells can be drawn: the likelihood under the target if it is one of those, else the first of
/// the run.
pub(crate) fn default_quality(summary: &Summary) -> Quality {
    let mut names: Vec<&str> = Vec::new();
    for metric in summary.cells.iter().flat_map(|cell| &cell.metrics) {
        if !names.contains(&metric.metric.as_str()) {
            names.push(&metric.metric);
        }
    }
    names.sort_by_key(|name| *name != DEFAULT_QUALITY);
    let drawn = names.into_iter().map(quality_by);
    let drawn = drawn.map(|quality| (n_drawn(summary, &quality).unwrap_or(0), quality));
    // Of equal ones the first.
    let most = drawn.reduce(|best, next| if next.0 > best.0 { next } else { best });
    most.map_or_else(|| quality_by(DEFAULT_QUALITY), |(_, quality)| quality)
}

fn quality_by(name: &str) -> Quality {
    match name {
        DEFAULT_QUALITY => Quality::Difference(DEFAULT_QUALITY.to_owned()),
        other => Quality::Value(other.to_owned()),
    }
}
