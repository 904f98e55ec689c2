//! What a plan allows but its author probably did not mean. Each warning says which value will be missing
//! and why, before anything runs.

use std::fmt;

use serde::{Deserialize, Serialize};
use specimen_catalog::entry;
use specimen_datasets::scenes::Vocabulary;

use crate::{
    names::{BASELINE, EMBEDDED},
    plan::Plan,
    spec::{Cell, MetricSpec, Spec},
};

/// One thing that will be missing from the results, or should not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Warning {
    /// Timed cells whose speedup will be null.
    NoBaseline {
        /// The cells.
        cells: Vec<String>,
        /// Why there is nothing to compare them with.
        why: String,
    },
    /// Cells that are the same method on the same model with the same sampling: their images are the same, made again.
    SameMethod {
        /// The cells.
        cells: Vec<String>,
    },
    /// A cell whose rule asks for more near tokens than there are.
    EveryTokenIsNear {
        /// The cell.
        cell: String,
        /// Near tokens that it asks for.
        n_nearest: usize,
        /// Name of its model.
        model: String,
        /// Tokens that the model has.
        n_vocab: usize,
    },
    /// A metric that will be null, because cells have fewer images than it asks for.
    TooFewImages {
        /// Name of the metric.
        metric: String,
        /// Images that it asks for.
        min_n: usize,
        /// Images that each cell will have.
        n: usize,
    },
    /// The dataset is smaller than the limit.
    FewerPromptsThanLimit {
        /// The limit.
        limit: usize,
        /// Prompts found.
        n_prompts: usize,
    },
    /// Prompts that a model cannot take: their images will fail.
    PromptsNotTaken {
        /// Name of the model.
        model: String,
        /// How many prompts it cannot take.
        n: usize,
        /// Of how many.
        n_prompts: usize,
        /// The first by its id, and why it cannot.
        first: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBaseline { cells, why } => {
                write!(f, "speedup will be null for {}: {why}", cells.join(", "))
            }
            Self::SameMethod { cells } => {
                write!(
                    f,
                    "{} are the same method under {} names: their images will be the same, made that many times; leave out \
                     all but one, or exclude a value of an axis",
                    cells.join(", "),
                    cells.len()
                )
            }
            Self::EveryTokenIsNear { cell, n_nearest, model, n_vocab } => {
                write!(
                    f,
                    "`{cell}` asks for the {n_nearest} nearest tokens, and `{model}` has {} besides the token itself: all of them \
                     count as near; give a smaller `k`",
                    n_vocab.saturating_sub(1)
                )
            }
            Self::TooFewImages { metric, min_n, n } => {
                write!(
                    f,
                    "{metric} will be null: it needs {min_n} images (min_n) and each cell will have {n}"
                )
            }
            Self::FewerPromptsThanLimit { limit, n_prompts } => {
                write!(f, "the dataset has {n_prompts} prompts, fewer than the limit of {limit}")
            }
            Self::PromptsNotTaken { model, n, n_prompts, first } => {
                write!(
                    f,
                    "`{model}` cannot take {n} of {n_prompts} prompts, whose images will fail; the first is {first}"
                )
            }
        }
    }
}

impl Plan {
    /// What results will miss, in the order of the spec; empty if nothing.
    pub fn warnings(&self) -> Vec<Warning> {
        let n_prompts = self.prompts.len();
        // A part is never cut short.
        let limit = self.spec.dataset.limit.filter(|_| self.spec.dataset.part.is_none());
        let limit = limit.filter(|limit| n_prompts < *limit);
        let fewer = limit.map(|limit| Warning::FewerPromptsThanLimit { limit, n_prompts });
        let n = n_prompts * self.spec.dataset.samples as usize;
        let of_metrics = self.spec.metrics.iter().filter_map(|metric| of_metric(metric, n));
        fewer
            .into_iter()
            .chain(no_baseline(&self.spec))
            .chain(same_method(&self.spec))
            .chain(self.spec.cells.iter().filter_map(every_token_is_near))
            .chain(of_metrics)
            .chain(not_taken(self))
            .collect()
    }
}

/// Cells under several names, in the order of the first of each.
fn same_method(spec: &Spec) -> Vec<Warning> {
    let is_same = |a: &Cell, b: &Cell| {
        a.model == b.model && a.sampling == b.sampling && a.method == b.method && a.external == b.external
    };
    let cells: Vec<&Cell> = spec.cells.iter().filter(|cell| cell.imported.is_none()).collect();
    let mut found = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        if cells[..at].iter().any(|earlier| is_same(earlier, cell)) {
            continue;
        }
        let alike = cells[at..].iter().filter(|other| is_same(cell, other));
        let names: Vec<String> = alike.map(|other| other.name.clone()).collect();
        if names.len() > 1 {
            found.push(Warning::SameMethod { cells: names });
        }
    }
    found
}

fn every_token_is_near(cell: &Cell) -> Option<Warning> {
    let n_nearest = cell.method.needs().n_nearest.filter(|_| !cell.is_of_another_program())?;
    let n_vocab = entry::target(&cell.model.name)?.1.n_vocab()?;
    (n_nearest >= n_vocab).then(|| Warning::EveryTokenIsNear {
        cell: cell.name.clone(),
        n_nearest,
        model: cell.model.name.clone(),
        n_vocab,
    })
}

fn of_metric(metric: &MetricSpec, n: usize) -> Option<Warning> {
    let name = metric.name.clone();
    let min_n = metric.fewest_images().filter(|min_n| n < *min_n)?;
    Some(Warning::TooFewImages { metric: name, min_n, n })
}

/// What the embedded model, whose vocabulary is known without opening it, cannot take of the prompts.
fn not_taken(plan: &Plan) -> Option<Warning> {
    let model = plan.spec.models().into_iter().find(|model| model.name == EMBEDDED)?;
    let refused: Vec<String> = plan
        .prompts
        .iter()
        .filter_map(|prompt| {
            let why = Vocabulary::encode(&prompt.text).err()?;
            Some(format!("`{}`: {why}", prompt.id))
        })
        .collect();
    let first = refused.first()?.clone();
    Some(Warning::PromptsNotTaken {
        model: model.name.clone(),
        n: refused.len(),
        n_prompts: plan.prompts.len(),
        first,
    })
}

fn no_baseline(spec: &Spec) -> Option<Warning> {
    let lacking = spec.cells.iter().filter(|cell| cell.timed && spec.baseline_of(cell).is_none());
    let cells: Vec<String> = lacking.map(|cell| cell.name.clone()).collect();
    if cells.is_empty() {
        return None;
    }
    let baselines: Vec<_> = spec.cells.iter().filter(|cell| cell.base == BASELINE).collect();
    let why = if baselines.is_empty() {
        format!("the spec has no cell `{BASELINE}` to compare with")
    } else if baselines.iter().all(|cell| !cell.timed) {
        format!("the cell `{BASELINE}` is untimed")
    } else {
        format!("no timed cell `{BASELINE}` has their model and sampling")
    };
    Some(Warning::NoBaseline { cells, why })
}
