//! Prompts that a model of the plan does not read to their end.

use std::collections::BTreeSet;

use specimen_datasets::data_root::DataRoot;
use specimen_experiments::plan::Plan;
use specimen_foundation::text::counted;
use specimen_models::catalog::{Made, prompt_cut};

/// What is known of the prompts of a plan that are cut: warnings, and notes where the tokenizer is not here.
pub(super) struct Cuts {
    pub(super) warnings: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// Counts the prompts that each model of `plan` cuts.
pub(super) fn cuts(plan: &Plan, root: Option<&DataRoot>) -> Cuts {
    let (mut cuts, mut asked) = (Cuts { warnings: Vec::new(), notes: Vec::new() }, BTreeSet::new());
    let own = plan.spec.cells.iter().filter(|cell| !cell.is_of_another_program());
    for model in own.map(|cell| &cell.model) {
        let made = model.rehearsed.map_or(Made::Not, |side| Made::Narrow { side });
        let weights = model.weights.as_ref().map(|path| DataRoot::place(root, path));
        if !asked.insert((&model.name, weights.clone())) {
            continue;
        }
        let cut = match prompt_cut(&model.name, root.map(DataRoot::path), weights.as_deref(), made) {
            Ok(Some(cut)) => cut,
            Ok(None) => continue,
            Err(error) => {
                cuts.notes.push(format!("prompts that `{}` cuts are not counted: {error}", model.name));
                continue;
            }
        };
        let long: Vec<(&str, u64)> = plan
            .prompts
            .iter()
            .map(|prompt| (prompt.id.as_str(), cut(&prompt.text)))
            .filter(|&(_, n)| n > 0)
            .collect();
        if let Some((first, n)) = long.first() {
            cuts.warnings.push(format!(
                "`{}` does not read {} of {} to the end; the first is `{first}`, which loses {}",
                model.name,
                long.len(),
                counted(plan.prompts.len(), "prompt"),
                counted(n, "token"),
            ));
        }
    }
    cuts
}
