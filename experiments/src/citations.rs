//! The works that an experiment is made of: of its methods, models, dataset and metrics. Protocols are `specimen-measure`'s.

use specimen_catalog::{
    Bibliography,
    citation::{OWN, UnknownWork},
    entry, metric,
};
use specimen_datasets::catalog::ENTRIES;

use crate::spec::{Cell, Spec};

/// The works of this program, of the cells of `spec`, of its dataset and of its metrics, in this order.
pub fn works_of(spec: &Spec) -> Result<Bibliography, UnknownWork> {
    let mut works = Bibliography::default();
    works.add(&[OWN], "the program that made the measurements")?;
    for cell in &spec.cells {
        add_method(cell, &mut works)?;
    }
    for cell in &spec.cells {
        add_model(cell, &mut works)?;
    }
    let dataset = &spec.dataset.name;
    match ENTRIES.iter().find(|entry| entry.name == dataset) {
        Some(entry) => works.add(entry.cite, &format!("dataset {dataset}"))?,
        None => works.note(format!("dataset {dataset}: a file of your own; cite where its prompts are from")),
    }
    for asked in &spec.metrics {
        if let Some(known) = metric(&asked.name) {
            works.add(&known.cite, &format!("metric {}", asked.name))?;
        }
    }
    Ok(works)
}

fn add_method(cell: &Cell, works: &mut Bibliography) -> Result<(), UnknownWork> {
    if cell.external.is_some() {
        works.note(format!("cell {}: another program makes its images; cite its authors", cell.name));
        return Ok(());
    }
    if let Some(imported) = &cell.imported {
        let table = &imported.table;
        works.note(format!("cell {}: its images were taken in by {table}; cite who made them", cell.name));
        return Ok(());
    }
    for part in cell.method.works().into_iter().chain(cell.sampling.works()) {
        works.add(part.cite, &format!("method {}", part.method))?;
    }
    Ok(())
}

/// The model of a cell, what it needs, and what drafts for it.
fn add_model(cell: &Cell, works: &mut Bibliography) -> Result<(), UnknownWork> {
    let Ok(model) = entry(&cell.model.name) else { return Ok(()) };
    if cell.is_of_another_program() {
        return Ok(());
    }
    let mut models = model.with_needs();
    let drafter = &cell.method.drafter;
    if let Some((proposer, weights)) = drafter.head() {
        models.extend(model.head(proposer, weights).and_then(|name| entry(name).ok()));
        let name = weights.map_or(proposer.to_owned(), |weights| format!("{proposer} {weights}"));
        works.add(model.head_cite(proposer, weights), &format!("head {name} of {}", model.name))?;
    }
    models.extend(drafter.model.as_deref().and_then(|name| entry(name).ok()));
    for model in models {
        works.add(&model.cite, &format!("model {}", model.name))?;
    }
    Ok(())
}
