//! Metrics and diagnostics tried on the images of a run, one by one: a failure is an answer and ends nothing. The run itself
//! gets no file of them.

use specimen_datasets::data_root::DataRoot;
use specimen_experiments::{
    plan::Plan,
    spec::{Cell, DiagnosticSpec, MetricSpec},
};
use specimen_record::{DiagnosticFile, MetricFile, Record, RunDir, read_rows};

use crate::{
    diagnostics::look,
    error::RunError,
    images::load::Models,
    process::stop_request::StopRequest,
    score::{CellImages, Scorer},
};

/// What came of a metric or a diagnostic on the images of one cell.
#[derive(Debug)]
pub struct Tried {
    /// The metric's value as tables call it (all values of one that failed), or the diagnostic.
    pub name: String,
    /// Name of the cell; `all cells` for a metric that cannot be opened.
    pub cell: String,
    /// What came of it.
    pub result: TryResult,
}

/// Whether there was something.
#[derive(Debug)]
pub enum TryResult {
    /// There is a value.
    Value,
    /// It does not apply to these images.
    None {
        /// Why.
        why: String,
    },
    /// It failed.
    Failed(RunError),
}

/// A finished run whose images are tried.
pub struct Rehearsed<'a> {
    /// The run.
    pub run: &'a RunDir,
    /// Its plan.
    pub plan: &'a Plan,
    /// The folder of the data.
    pub data_root: Option<&'a DataRoot>,
    /// What can end it.
    pub stop: &'a StopRequest,
}

impl Rehearsed<'_> {
    /// Tries `metrics` and `diagnostics` on every cell of the plan, in this order.
    pub fn tried(
        &self,
        metrics: &[MetricSpec],
        diagnostics: &[DiagnosticSpec],
    ) -> Result<Vec<Tried>, RunError> {
        let &Self { run, plan, data_root, stop } = self;
        let records = read_rows::<Record>(&run.merged_records())?.rows;
        let mut models = Models::of(&plan.spec, data_root.cloned());
        let mut found = Vec::new();
        for metric in metrics {
            let mut scorer = match Scorer::open(metric, data_root) {
                Ok(scorer) => scorer,
                Err(error) => {
                    let result = TryResult::Failed(error);
                    let (name, cell) = (metric.values().join(", "), "all cells".to_owned());
                    found.push(Tried { name, cell, result });
                    continue;
                }
            };
            for cell in &plan.spec.cells {
                stop.check()?;
                match scorer.files(run, (plan, cell), &records, &mut models) {
                    Ok(files) => found.extend(files.iter().map(of_metric)),
                    Err(error) => found.push(failed(&metric.values().join(", "), cell, error)),
                }
            }
        }
        for diagnostic in diagnostics {
            for cell in &plan.spec.cells {
                stop.check()?;
                let images = CellImages::of(plan, &records, cell).first(diagnostic.images);
                found.push(match look(diagnostic, &images, &mut models) {
                    Ok(file) => of_diagnostic(&file),
                    Err(error) => failed(&diagnostic.name, cell, error),
                });
            }
        }
        Ok(found)
    }
}

fn of_metric(file: &MetricFile) -> Tried {
    Tried {
        name: file.metric.clone(),
        cell: file.cell.clone(),
        result: match (file.value, &file.why) {
            (Some(_), _) => TryResult::Value,
            (None, why) => TryResult::None {
                why: why.clone().unwrap_or_else(|| "no value, without a reason".to_owned()),
            },
        },
    }
}

fn of_diagnostic(file: &DiagnosticFile) -> Tried {
    let result = file.why.clone().map_or(TryResult::Value, |why| TryResult::None { why });
    Tried { name: file.diagnostic.clone(), cell: file.cell.clone(), result }
}

fn failed(name: &str, cell: &Cell, error: RunError) -> Tried {
    Tried { name: name.to_owned(), cell: cell.name.clone(), result: TryResult::Failed(error) }
}
