//! The plan of images that were made elsewhere: one block of items in the order of the table.

use std::collections::{BTreeMap, BTreeSet};

use specimen_datasets::{PromptId, latencies::ImageRow};
use specimen_decode::method::MethodConfig;
use specimen_experiments::{
    plan::{Block, Item, Plan, PlanPrompt},
    spec::{Cell, DatasetSpec, Imported, SCHEMA, Spec, Timing},
};
use specimen_foundation::{fail, failure};
use specimen_record::{Seed, UNKNOWN_DATASET};

use super::Import;
use crate::error::RunError;

/// The cell of a row.
fn cell_of<'r>(row: &'r ImageRow, default: &'r str) -> &'r str {
    row.cell.as_deref().unwrap_or(default)
}

/// Names of the cells, in the order in which rows first name them.
fn cells_of<'r>(rows: &'r [ImageRow], default: &'r str) -> Vec<&'r str> {
    let mut cells: Vec<&str> = Vec::new();
    for row in rows {
        let cell = cell_of(row, default);
        if !cells.contains(&cell) {
            cells.push(cell);
        }
    }
    cells
}

/// Ids of the prompts, in the order in which rows first name them.
pub(super) fn prompts_of(rows: &[ImageRow]) -> Vec<&PromptId> {
    let mut seen = BTreeSet::new();
    rows.iter().map(|row| &row.prompt_id).filter(|id| seen.insert(*id)).collect()
}

/// The rows as a plan orders items: by cell, prompt, and the table's order.
pub(super) fn in_order<'r>(rows: &'r [ImageRow], default: &'r str) -> Vec<&'r ImageRow> {
    let cells = cells_of(rows, default);
    let place: BTreeMap<&PromptId, usize> =
        prompts_of(rows).into_iter().enumerate().map(|(at, id)| (id, at)).collect();
    let mut ordered: Vec<&ImageRow> = rows.iter().collect();
    ordered.sort_by_key(|row| {
        let cell = cells.iter().position(|cell| *cell == cell_of(row, default));
        (cell, place[&row.prompt_id])
    });
    ordered
}

/// Exceptions that a line on uneven prompts names.
const MAX_NAMED: usize = 5;

/// One line for each cell that does not have as many images of every prompt of the table: a row may be given twice, or
/// be missing.
pub(super) fn uneven_prompts(rows: &[ImageRow], default: &str) -> Vec<String> {
    let prompts = prompts_of(rows);
    let of_cell = |cell: &str| {
        let mut n_images: BTreeMap<&PromptId, usize> = prompts.iter().map(|id| (*id, 0)).collect();
        for row in rows.iter().filter(|row| cell_of(row, default) == cell) {
            *n_images.entry(&row.prompt_id).or_default() += 1;
        }
        let mut often: BTreeMap<usize, usize> = BTreeMap::new();
        n_images.values().for_each(|n| *often.entry(*n).or_default() += 1);
        let (usual, n_usual) = often.into_iter().max_by_key(|(_, often)| *often)?;
        // Most prompts have one number, and the others are named; without such a number the first are.
        let is_named = |id: &&&PromptId| n_usual * 2 <= prompts.len() || n_images[**id] != usual;
        let others: Vec<String> = prompts
            .iter()
            .filter(is_named)
            .map(|id| format!("{} of `{}`", n_images[id], id.as_str().escape_debug()))
            .collect();
        let named = others.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
        let rest = match others.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let most = match others.len() < prompts.len() {
            true => format!("{usual} of most, but "),
            false => String::new(),
        };
        (n_usual < prompts.len()).then(|| {
            format!("cell `{cell}` does not have as many images of every prompt: {most}{named}{rest}")
        })
    };
    cells_of(rows, default).into_iter().filter_map(of_cell).collect()
}

/// The plan whose items are the rows of the table.
pub(super) fn plan(import: &Import<'_>, rows: &[ImageRow], imported: &Imported) -> Result<Plan, RunError> {
    let cells = cells_of(rows, import.cell);
    let refused = [import.name].into_iter().find(|name| !is_name(name));
    if let Some(name) = refused.or_else(|| cells.iter().copied().find(|name| !is_cell_name(name))) {
        let place =
            rows.iter().find(|row| row.cell.as_deref() == Some(name)).and_then(|row| row.cell_place.as_ref());
        let place = place.map_or_else(String::new, |place| format!("{}: {place}: ", import.table.display()));
        fail!(Spec: "{place}`{}` is not a name of a run or a cell: 1 to 64 of `a-z 0-9 . _ + -`, a letter or \
            digit first; a cell may have its settings in brackets, as in `lantern[delta=0.1,k=100]`",
            name.escape_debug());
    }
    let texts = texts_of(import, rows)?;
    let prompts: Vec<PlanPrompt> = prompts_of(rows)
        .into_iter()
        .map(|id| PlanPrompt { id: id.to_string(), text: texts[id].to_owned() })
        .collect();
    let place: BTreeMap<&str, u32> =
        prompts.iter().zip(0..).map(|(prompt, at)| (prompt.id.as_str(), at)).collect();
    let mut samples: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let items: Vec<Item> = in_order(rows, import.cell)
        .into_iter()
        .map(|row| {
            let cell = cells.iter().position(|cell| *cell == cell_of(row, import.cell)).unwrap_or(0) as u32;
            let prompt = place[row.prompt_id.as_str()];
            let sample = samples.entry((cell, prompt)).or_default();
            let item =
                Item { cell, prompt, sample: *sample, block: 0, seed: row.seed.unwrap_or(Seed::UNKNOWN.0) };
            *sample += 1;
            item
        })
        .collect();
    let cell = |name: &&str| Cell {
        name: (*name).to_owned(),
        base: name.split('[').next().unwrap_or(name).to_owned(),
        params: BTreeMap::new(),
        model: import.model.clone(),
        sampling: import.sampling,
        method: MethodConfig::ar(),
        external: None,
        imported: Some(imported.clone()),
        timed: true,
    };
    let dataset = import.dataset.map_or(UNKNOWN_DATASET, |(_, prompts)| prompts.name()).to_owned();
    let spec = Spec {
        schema: SCHEMA,
        name: import.name.to_owned(),
        seed: 0,
        analysis: "Images made elsewhere and imported; their times are as reported, not measured here."
            .to_owned(),
        sources: vec![imported.table.clone()],
        dataset: import
            .dataset
            .map_or_else(|| DatasetSpec::whole(UNKNOWN_DATASET, None), |(spec, _)| spec.clone()),
        timing: Timing { warmup: 0, blocks: 1 },
        cells: cells.iter().map(cell).collect(),
        metrics: Vec::new(),
        diagnostics: Vec::new(),
        published: Vec::new(),
        expect: Vec::new(),
    };
    let blocks = vec![Block { index: 0, timed: true, items: (0..items.len() as u32).collect() }];
    Ok(Plan { spec, dataset, prompts, items, blocks, digest: String::new() })
}

/// The text of every prompt, from the table or from the dataset.
fn texts_of<'t>(
    import: &Import<'t>,
    rows: &'t [ImageRow],
) -> Result<BTreeMap<&'t PromptId, &'t str>, RunError> {
    let at = |row: &ImageRow| format!("{}: {}", import.table.display(), row.prompt_place);
    let prompts = import.dataset.map(|(_, prompts)| prompts);
    let mut texts: BTreeMap<&PromptId, &str> = BTreeMap::new();
    for row in rows {
        let known = || prompts.and_then(|set| set.get(&row.prompt_id)).map(|prompt| prompt.text.as_str());
        let text = row.prompt.as_deref().or_else(known).ok_or_else(|| {
            let remedy = match prompts {
                None => "give the texts in a column `prompt`, or the dataset that has them with --dataset"
                    .to_owned(),
                Some(set) => format!("`{}` has no prompt of this id", set.name()),
            };
            failure!(Spec: "{}: the prompt `{}` has no text; {remedy}", at(row), row.prompt_id)
        })?;
        if let (Some(set), Some(other)) = (prompts, known().filter(|other| *other != text)) {
            let (id, text, other) = (&row.prompt_id, text.escape_debug(), other.escape_debug());
            fail!(Spec: "{}: the prompt `{id}` is \"{text}\" here and \"{other}\" in `{}`; mend the ids of \
                the table, choose another --caption, or leave --dataset out", at(row), set.name());
        }
        if let Some(other) = texts.insert(&row.prompt_id, text).filter(|other| *other != text) {
            let (id, other, text) = (&row.prompt_id, other.escape_debug(), text.escape_debug());
            fail!(Spec: "{}: the prompt `{id}` is \"{text}\" here and \"{other}\" before; one id stands for \
                one text, and where the table has no column `prompt_id` the id is the number in the file's \
                name", at(row));
        }
    }
    Ok(texts)
}

/// A name that is also a file name, as cells of specs have it.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._+-".contains(c);
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    starts && name.len() <= 64 && name.chars().all(fits)
}

/// The name of a cell: with settings in brackets, such as those that axes make.
fn is_cell_name(name: &str) -> bool {
    let Some((base, rest)) = name.split_once('[') else { return is_name(name) };
    let settings = rest.strip_suffix(']').unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let is_setting = |text: &str| {
        text.split_once('=').is_some_and(|(key, value)| {
            !key.is_empty() && !value.is_empty() && key.chars().chain(value.chars()).all(fits)
        })
    };
    is_name(base) && name.len() <= 256 && settings.split(',').all(is_setting)
}
