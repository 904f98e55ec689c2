//! Makes the report of a run: reads its summary, writes the files of `report/`. What cannot be made is
//! skipped with the reason, and files of an earlier report are removed.

use std::path::{Path, PathBuf};

use specimen_foundation::fail;
use specimen_record::{DiagnosticFile, RunDir, Summary, read_document, write_atomic};

use crate::{
    ReportError,
    drawing::figure::{DrawnFigure, Style},
    figures::{
        Besides, NamedFigure, breakdown::BREAKDOWN, diagnostics::DIAGNOSTIC_FIGURES, figures, pareto::Quality,
    },
    images::{by_prompt::ImagesByPrompt, grid::Grid},
    page::{MOST_ROWS, page},
    records::breakdown::{Breakdown, PromptFact, breakdown_csv, breakdown_table, breakdowns},
    table::Table,
    tables::table::{table_csv, table_of},
};

/// What a report shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Vertical axis of the Pareto plot.
    pub quality: Quality,
    /// Rows of the grid.
    pub n_grid_prompts: usize,
    /// Columns of the table, in this order after that of the methods; all where none is named.
    pub columns: Vec<String>,
    /// Facts of prompts by which the scores of images are broken down.
    pub facts: Vec<PromptFact>,
    /// The run's summary with projections, where the report is to show them; else it is read from the run.
    pub projected: Option<Summary>,
}

impl Options {
    /// A report with every column.
    pub fn new(quality: Quality, n_grid_prompts: usize) -> Options {
        Options { quality, n_grid_prompts, columns: Vec::new(), facts: Vec::new(), projected: None }
    }
}

/// A part of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// These files were written.
    Written(Vec<PathBuf>),
    /// There is nothing to show, because.
    Skipped(String),
}

/// The files of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// `index.html`
    pub page: PathBuf,
    /// `table.md`
    pub table_md: PathBuf,
    /// `table.csv`
    pub table_csv: PathBuf,
    /// `table.tex`
    pub table_tex: PathBuf,
    /// `table.html`
    pub table_html: PathBuf,
    /// Every figure by the name of its files, in reading order: `pareto.svg`, `pareto.pdf`, `pareto.png`, `pareto.csv` and
    /// so on.
    pub figures: Vec<(String, Outcome)>,
    /// The scores by each fact of the prompts: `breakdown-FACT.md`, `.csv` and `.tex`.
    pub breakdowns: Vec<(String, Outcome)>,
    /// `grid.png`
    pub grid: Outcome,
    /// `images.csv`
    pub images: Outcome,
}

/// Endings of a figure's files.
const ENDINGS: [&str; 4] = ["svg", "pdf", "png", "csv"];

/// Writes `report/` of a run.
pub fn report(run: &RunDir, options: &Options) -> Result<Report, ReportError> {
    let summary = options.projected.clone().map_or_else(|| read_summary(run), Ok)?;
    let folder = run.report();
    let [table_md, table_csv_path, table_tex, table_html] =
        ["table.md", "table.csv", "table.tex", "table.html"].map(|name| folder.join(name));
    let table = table_of(&summary, &options.columns)?;
    write_atomic(&table_md, table.markdown().as_bytes())?;
    write_atomic(&table_csv_path, table_csv(&summary)?.as_bytes())?;
    write_atomic(&table_tex, table.latex().as_bytes())?;
    write_atomic(&table_html, table.html().as_bytes())?;
    let looked_at = diagnostics(run, &summary)?;
    let breakdowns = broken_down(run, &summary, &options.facts)?;
    let besides = Besides { diagnostics: &looked_at, breakdowns: &breakdowns };
    let named_figures = figures(&summary, &besides, &options.quality, &[], &Style::SCREEN)?;
    remove_old(&folder, &named_figures)?;
    let breakdowns = write_breakdowns(&folder, &summary, &breakdowns)?;
    let mut outcomes = Vec::new();
    for named in &named_figures {
        outcomes.push((named.name.clone(), write_figure(&folder, named)?));
    }
    let by_prompt = ImagesByPrompt::of(run, &summary, MOST_ROWS.max(options.n_grid_prompts))?;
    let by_prompt = by_prompt.as_ref().map_err(String::as_str);
    let grid = write_grid(run, &summary, by_prompt, options.n_grid_prompts)?;
    let images = write_images(&folder, by_prompt)?;
    let index = folder.join("index.html");
    write_atomic(&index, page(run, &summary, &named_figures, by_prompt)?.as_bytes())?;
    Ok(Report {
        page: index,
        table_md,
        table_csv: table_csv_path,
        table_tex,
        table_html,
        figures: outcomes,
        breakdowns,
        grid,
        images,
    })
}

/// Writes the files of some figures of `summary` alone into `folder`, in a style; `sweep` names all sweeps, `breakdown` all
/// breakdowns by the facts of prompts.
pub fn draw(
    run: &RunDir,
    summary: &Summary,
    folder: &Path,
    names: &[String],
    (quality, facts): (&Quality, &[PromptFact]),
    style: &Style,
) -> Result<Vec<(String, Outcome)>, ReportError> {
    let breakdowns = broken_down(run, summary, facts)?;
    let besides = Besides { diagnostics: &diagnostics(run, summary)?, breakdowns: &breakdowns };
    let named_figures = figures(summary, &besides, quality, names, style)?;
    named_figures.iter().map(|named| Ok((named.name.clone(), write_figure(folder, named)?))).collect()
}

/// A figure by its name, drawn or with the reason why it is not there.
pub type Asked = (String, Result<DrawnFigure, String>);

/// Some figures of a run; `sweep` names all sweeps.
pub fn drawn(run: &RunDir, names: &[String], quality: &Quality) -> Result<Vec<Asked>, ReportError> {
    let summary = read_summary(run)?;
    let besides = Besides { diagnostics: &diagnostics(run, &summary)?, breakdowns: &[] };
    let named_figures = figures(&summary, &besides, quality, names, &Style::SCREEN)?;
    Ok(named_figures.into_iter().map(|named| (named.name, named.drawn.map(DrawnFigure::from))).collect())
}

/// The images of a run's cells side by side as a PNG file, with so many prompts; or why there is none.
pub fn grid_picture(run: &RunDir, n_prompts: usize) -> Result<Result<Vec<u8>, String>, ReportError> {
    let summary = read_summary(run)?;
    match ImagesByPrompt::of(run, &summary, n_prompts)? {
        Ok(by_prompt) => Ok(Ok(Grid::of(run, &summary, &by_prompt, n_prompts)?.png()?)),
        Err(why) => Ok(Err(why)),
    }
}

/// Writes `report/grid.png` alone, with so many prompts.
pub fn grid(run: &RunDir, n_prompts: usize) -> Result<Outcome, ReportError> {
    let summary = read_summary(run)?;
    let by_prompt = ImagesByPrompt::of(run, &summary, n_prompts)?;
    write_grid(run, &summary, by_prompt.as_ref().map_err(String::as_str), n_prompts)
}

fn read_summary(run: &RunDir) -> Result<Summary, ReportError> {
    let path = run.summary();
    if !path.exists() {
        return Err(crate::error::no_summary(&path));
    }
    Ok(read_document(&path)?)
}

/// The diagnostics that the spec asks for, cell by cell in the summary's order. Files that an earlier spec asked for are
/// left out.
fn diagnostics(run: &RunDir, summary: &Summary) -> Result<Vec<DiagnosticFile>, ReportError> {
    let asked = summary.spec.get("diagnostics").and_then(|asked| asked.as_array());
    let is_asked = |name: &&str| asked.is_some_and(|asked| asked.iter().any(|one| one["name"] == **name));
    let mut found = Vec::new();
    for name in DIAGNOSTIC_FIGURES.iter().map(|figure| figure.diagnostic).filter(|name| is_asked(name)) {
        for cell in &summary.cells {
            let path = run.diagnostic(name, &cell.id);
            if path.is_file() {
                found.push(read_document(&path)?);
            }
        }
    }
    Ok(found)
}

fn write_figure(folder: &Path, named: &NamedFigure) -> Result<Outcome, ReportError> {
    let paths = ENDINGS.map(|ending| folder.join(format!("{}.{ending}", named.name)));
    let figure = match &named.drawn {
        Ok(figure) => figure,
        Err(why) => return skip(&paths, why),
    };
    write_atomic(&paths[0], figure.svg.as_bytes())?;
    write_atomic(&paths[1], &figure.pdf)?;
    write_atomic(&paths[2], &figure.png)?;
    write_atomic(&paths[3], figure.csv.as_bytes())?;
    Ok(Outcome::Written(paths.to_vec()))
}

fn write_grid(
    run: &RunDir,
    summary: &Summary,
    by_prompt: Result<&ImagesByPrompt, &str>,
    n_prompts: usize,
) -> Result<Outcome, ReportError> {
    let path = run.report().join("grid.png");
    match by_prompt {
        Ok(by_prompt) => {
            write_atomic(&path, &Grid::of(run, summary, by_prompt, n_prompts)?.png()?)?;
            Ok(Outcome::Written(vec![path]))
        }
        Err(why) => skip(&[path], why),
    }
}

fn write_images(folder: &Path, by_prompt: Result<&ImagesByPrompt, &str>) -> Result<Outcome, ReportError> {
    let path = folder.join("images.csv");
    match by_prompt {
        Ok(by_prompt) => {
            write_atomic(&path, by_prompt.csv.as_bytes())?;
            Ok(Outcome::Written(vec![path]))
        }
        Err(why) => skip(&[path], why),
    }
}

/// The name of a fact of prompts, and what was made of it, or why there is nothing.
pub type ByFact<T> = (String, Result<T, String>);

/// The breakdowns by each fact.
fn broken_down(
    run: &RunDir,
    summary: &Summary,
    facts: &[PromptFact],
) -> Result<Vec<ByFact<Vec<Breakdown>>>, ReportError> {
    facts.iter().map(|fact| Ok((fact.name.clone(), breakdowns(run, summary, fact)?))).collect()
}

/// The breakdowns of a run's scores by facts of its prompts as tables, one a fact; or why there is none.
pub fn breakdown_tables(run: &RunDir, facts: &[PromptFact]) -> Result<Vec<ByFact<Table>>, ReportError> {
    let summary = read_summary(run)?;
    let table =
        |(fact, found): ByFact<Vec<Breakdown>>| (fact, found.map(|found| breakdown_table(&summary, &found)));
    Ok(broken_down(run, &summary, facts)?.into_iter().map(table).collect())
}

/// Writes the tables of the breakdowns, and takes away those of an earlier report.
fn write_breakdowns(
    folder: &Path,
    summary: &Summary,
    all: &[(String, Result<Vec<Breakdown>, String>)],
) -> Result<Vec<(String, Outcome)>, ReportError> {
    let mut outcomes = Vec::new();
    for (fact, found) in all {
        let paths = ["md", "csv", "tex"].map(|ending| folder.join(format!("{BREAKDOWN}-{fact}.{ending}")));
        let outcome = match found {
            Ok(found) => {
                let table = breakdown_table(summary, found);
                let texts = [table.markdown(), breakdown_csv(found)?, table.latex()];
                for (path, text) in paths.iter().zip(texts) {
                    write_atomic(path, text.as_bytes())?;
                }
                Outcome::Written(paths.to_vec())
            }
            Err(why) => Outcome::Skipped(why.clone()),
        };
        outcomes.push((fact.clone(), outcome));
    }
    Ok(outcomes)
}

/// The names of sweeps and breakdowns depend on the spec and on what was asked for: takes those away that an earlier report drew
/// and this one does not.
fn remove_old(folder: &Path, named_figures: &[NamedFigure]) -> Result<(), ReportError> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for path in entries.flatten().map(|entry| entry.path()) {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let is_figure =
            stem.starts_with("sweep-") && ENDINGS.contains(&ending) || stem.starts_with("breakdown-");
        if is_figure && !named_figures.iter().any(|named| named.name == stem) {
            remove(&path)?;
        }
    }
    Ok(())
}

/// Takes away what an earlier report left under these names.
fn skip(paths: &[PathBuf], why: &str) -> Result<Outcome, ReportError> {
    for path in paths {
        remove(path)?;
    }
    Ok(Outcome::Skipped(why.to_owned()))
}

fn remove(path: &Path) -> Result<(), ReportError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            fail!(Environment: "{}: cannot remove the figure of an earlier report: {error}", path.display())
        }
        _ => Ok(()),
    }
}
