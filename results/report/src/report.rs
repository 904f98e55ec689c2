//! Makes the report of a run: reads its summary, writes the files of `report/`. What cannot be made is
//! skipped with the reason, and the figure of an earlier report does not stay behind.

use std::path::{Path, PathBuf};

use specimen_record::{RunDir, Summary, read_document, write_atomic};

use crate::figure::Figure;
use crate::grid::Grid;
use crate::pareto::{Pareto, Quality};
use crate::scatter::Scatter;
use crate::table::{table, table_csv};
use crate::{ReportError, facts};

/// What a report shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Vertical axis of the Pareto plot.
    pub quality: Quality,
    /// Rows of the grid.
    pub n_grid_prompts: usize,
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
    /// `table.md`
    pub table_md: PathBuf,
    /// `table.csv`
    pub table_csv: PathBuf,
    /// `table.tex`
    pub table_tex: PathBuf,
    /// `table.html`
    pub table_html: PathBuf,
    /// `pareto.svg`, `pareto.png`, `pareto.csv`
    pub pareto: Outcome,
    /// `grid.png`
    pub grid: Outcome,
}

/// Writes `report/` of a run.
///
/// # Errors
/// When the run has no valid summary, an image it names is not readable, or a file cannot be written.
pub fn report(run: &RunDir, options: &Options) -> Result<Report, ReportError> {
    let summary = read_summary(run)?;
    let folder = run.report();
    let [table_md, table_csv_path, table_tex, table_html] =
        ["table.md", "table.csv", "table.tex", "table.html"].map(|name| folder.join(name));
    let table = table(&summary)?;
    write_atomic(&table_md, table.markdown().as_bytes())?;
    write_atomic(&table_csv_path, table_csv(&summary)?.as_bytes())?;
    write_atomic(&table_tex, table.latex().as_bytes())?;
    write_atomic(&table_html, table.html().as_bytes())?;
    let pareto = write_pareto(&folder, &summary, &options.quality)?;
    let grid = write_grid(run, &summary, options.n_grid_prompts)?;
    Ok(Report { table_md, table_csv: table_csv_path, table_tex, table_html, pareto, grid })
}

/// Writes `report/grid.png` alone, with so many prompts.
///
/// # Errors
/// As [`report`].
pub fn grid(run: &RunDir, n_prompts: usize) -> Result<Outcome, ReportError> {
    write_grid(run, &read_summary(run)?, n_prompts)
}

fn read_summary(run: &RunDir) -> Result<Summary, ReportError> {
    let path = run.summary();
    if !path.exists() {
        return Err(ReportError::NoSummary { path });
    }
    Ok(read_document(&path)?)
}

fn write_pareto(folder: &Path, summary: &Summary, quality: &Quality) -> Result<Outcome, ReportError> {
    let paths = ["pareto.svg", "pareto.png", "pareto.csv"].map(|name| folder.join(name));
    let pareto = match Pareto::of(summary, quality) {
        Ok(pareto) => pareto,
        Err(why) => return skip(&paths, why),
    };
    let conditions = facts::conditions(summary);
    let drawing = Scatter {
        pareto: &pareto,
        title: format!("{}: speed against quality", summary.name),
        subtitle: conditions,
        baseline: summary.baseline.clone(),
    };
    let figure = Figure { name: "pareto", width: 1200, height: 800 };
    write_atomic(&paths[0], figure.svg(&drawing)?.as_bytes())?;
    write_atomic(&paths[1], &figure.png(&drawing)?)?;
    write_atomic(&paths[2], pareto.csv()?.as_bytes())?;
    Ok(Outcome::Written(paths.to_vec()))
}

fn write_grid(run: &RunDir, summary: &Summary, n_prompts: usize) -> Result<Outcome, ReportError> {
    let path = run.report().join("grid.png");
    match Grid::of(run, summary, n_prompts)? {
        Ok(grid) => {
            write_atomic(&path, &grid.png()?)?;
            Ok(Outcome::Written(vec![path]))
        }
        Err(why) => skip(&[path], why),
    }
}

/// Takes away what an earlier report left under these names.
fn skip(paths: &[PathBuf], why: String) -> Result<Outcome, ReportError> {
    for path in paths {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(ReportError::Stale { path: path.clone(), source: error });
            }
            _ => {}
        }
    }
    Ok(Outcome::Skipped(why))
}
