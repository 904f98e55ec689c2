//! `specimen score --cells A,B`: metrics of pairs between the images of two cells of a run.

use serde::Serialize;
use specimen_experiments::spec::MetricSpec;
use specimen_record::{MetricFile, RunDir};
use specimen_report::table::{Column, Entry, Table, column_decimals, with_interval};
use specimen_runner::{
    cell_pairs::{CellPairs, compare_cells},
    process::stop_request::StopRequest,
};
use specimen_stats::fewest::FEWEST_OBSERVATIONS;

use crate::{
    console::{Console, answer, answer_json},
    shared_args::Format,
    spec_args::data_root,
    table_width::table_width,
};

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct Answer<'a> {
    schema: u32,
    /// The cell whose images are compared, and the one that they are compared with.
    cells: &'a [String; 2],
    /// One for each metric; `cell` in it is the first.
    metrics: &'a [MetricFile],
}

/// Compares them and prints the values.
pub(crate) fn score_cells(
    run: &RunDir,
    cells: &str,
    metrics: &[MetricSpec],
    stop: &StopRequest,
    console: &Console,
) -> anyhow::Result<()> {
    let CellPairs { cells, files } = compare_cells(run, cells, metrics, data_root().as_ref(), stop)?;
    match console.format() {
        Format::Human => answer(&table(&cells, &files).text(table_width())),
        Format::Json => answer_json(&Answer { schema: 1, cells: &cells, metrics: &files }),
    }
}

/// A row a metric.
fn table([a, b]: &[String; 2], files: &[MetricFile]) -> Table {
    let mut table = Table { id: "cells".to_owned(), ..Table::default() };
    let names = files.iter().map(|file| Entry::plain(&file.metric)).collect();
    table.push(Column::text("metric"), names);
    let mut values = Vec::new();
    for file in files {
        values.push(match file.value {
            Some(value) => {
                let number = with_interval(value, file.ci95, column_decimals(&[(value, file.ci95)]), true);
                let unit = if file.unit.is_empty() { String::new() } else { format!(" {}", file.unit) };
                Entry::plain(&format!("{number}{unit} (n {})", file.n))
            }
            None => {
                let why = file.why.as_deref().unwrap_or("no reason was given");
                Entry::plain(&format!("–{}", table.footnote(why)))
            }
        });
    }
    table.push(Column::number(&format!("{a} to {b}"), "", None), values);
    let protocols = files.iter().map(|file| Entry::plain(&file.protocol)).collect();
    table.push(Column::text("protocol"), protocols);
    table.legend.push(format!(
        "95 % intervals over prompts, of which one needs {FEWEST_OBSERVATIONS}; n pairs of images of one prompt and seed."
    ));
    table
}
