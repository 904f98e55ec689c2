//! The plan of a run: every image to make, in canonical order, with its seed, and the blocks in which they
//! run. It depends on the spec and the prompts alone; shards and workers are no part of it.

use serde::{Deserialize, Serialize};
use specimen_datasets::PromptSet;
use specimen_foundation::names::suggestion;
use std::{collections::BTreeMap, path::Path};

use crate::{
    abilities,
    canonical::{self, ItemRow},
    error::PlanError,
    interleave,
    seeds::SeedKey,
    spec::{Cell, Spec},
};

/// Items of a plan, at most: more do not fit into the memory that a driver may take.
pub const MAX_ITEMS: u32 = 1 << 24;

/// Every image that a spec asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The resolved spec.
    pub spec: Spec,
    /// Name of the prompt set, which the seeds depend on.
    pub dataset: String,
    /// The prompts, in the order of the dataset.
    pub prompts: Vec<PlanPrompt>,
    /// All items, sorted by cell, prompt and sample in the order of spec and dataset.
    pub items: Vec<Item>,
    /// The units of work; each item is in exactly one.
    pub blocks: Vec<Block>,
    /// Hex blake3 of the canonical JSON of items and [`Spec::identity`]: the identity of the run.
    pub digest: String,
}

/// One prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanPrompt {
    /// Unique in the plan.
    pub id: String,
    /// The text; empty for unconditional models.
    pub text: String,
}

/// One image to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Index into the cells of the spec.
    pub cell: u32,
    /// Index into the prompts of the plan.
    pub prompt: u32,
    /// Which image of the prompt, from 0.
    pub sample: u32,
    /// Index into the blocks.
    pub block: u32,
    /// Key of the item's random source; the same for every cell of one model.
    pub seed: u64,
}

/// A unit of work for one worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Its place among the blocks.
    pub index: u32,
    /// Whether its cells are timed against one another; otherwise it holds one cell.
    pub timed: bool,
    /// Indices into the items, in the order in which they run.
    pub items: Vec<u32>,
}

impl Plan {
    /// The plan of `spec` over `prompts`, which must be the spec's dataset with its limit applied
    /// ([`prompts::open`](crate::prompts::open)).
    pub fn new(spec: Spec, prompts: &PromptSet) -> Result<Self, PlanError> {
        check_dataset(&spec, prompts)?;
        abilities::check(&spec)?;
        check_baselines(&spec)?;
        check_coupled(&spec)?;
        check_batches(&spec, prompts.n_prompts())?;
        let (n_cells, n_prompts, n_samples) = (spec.cells.len(), prompts.n_prompts(), spec.dataset.samples);
        let n_items = [n_prompts, n_samples as usize].iter().try_fold(n_cells, |n, &by| n.checked_mul(by));
        if n_items.is_none_or(|n| n > MAX_ITEMS as usize) {
            return Err(PlanError::Whole(format!(
                "the plan has {n_cells} cells x {n_prompts} prompts x {n_samples} samples, more than {MAX_ITEMS} items; \
                 split the spec"
            )));
        }
        let mut items = items(&spec, prompts);
        let blocks = blocks(&spec, n_prompts, &mut items);
        let dataset = prompts.name().to_owned();
        let prompts = prompts.prompts().iter();
        let prompts =
            prompts.map(|prompt| PlanPrompt { id: prompt.id.to_string(), text: prompt.text.clone() });
        let mut plan =
            Self { spec, dataset, prompts: prompts.collect(), items, blocks, digest: String::new() };
        plan.digest = canonical::digest(plan.items.iter().map(|item| plan.row(item)), &plan.spec.identity());
        Ok(plan)
    }

    /// The item's name in records, `<cell>/<prompt id>/<sample>` with percent-encoded parts.
    pub fn key(&self, item: &Item) -> String {
        canonical::item_key(self.cell_name(item), &self.prompts[item.prompt as usize].id, item.sample)
    }

    /// Name of the item's cell.
    pub fn cell_name(&self, item: &Item) -> &str {
        &self.spec.cells[item.cell as usize].name
    }

    fn row(&self, item: &Item) -> ItemRow<'_> {
        let prompt = &self.prompts[item.prompt as usize];
        ItemRow {
            block: item.block,
            cell: self.cell_name(item),
            key: self.key(item),
            prompt: &prompt.text,
            prompt_id: &prompt.id,
            sample: item.sample,
            seed: format!("{:016x}", item.seed),
        }
    }
}

/// Refuses coupled seeds for another program's cells.
fn check_coupled(spec: &Spec) -> Result<(), PlanError> {
    match spec.cells.iter().find(|cell| cell.sampling.coupled && cell.external.is_some()) {
        Some(cell) => Err(PlanError::cell(
            &cell.name,
            "`sampling.coupled` is for methods of this program, whose draws it couples; this cell is another program's; \
             give it `sampling = { coupled = false }`, or leave it out"
                .to_owned(),
        )),
        None => Ok(()),
    }
}

/// Refuses batches of images that are not decoded by the common loop, and timed ones that are not full: the time of an image
/// is its share of a whole batch.
fn check_batches(spec: &Spec, n_prompts: usize) -> Result<(), PlanError> {
    let n_samples = spec.dataset.samples as usize;
    let n_of_block = spec.timing.blocks as usize * n_samples;
    for cell in &spec.cells {
        let batch = cell.model.n_together();
        let refusal = if batch == 1 {
            continue;
        } else if cell.external.is_some() {
            ("another program makes its images one by one".to_owned(), "leave `batch` out".to_owned())
        } else if cell.method.frontier.is_some() {
            let why = "its method decodes several rows of one image together";
            (why.to_owned(), "leave `batch` out, or give the cell a spec of its own".to_owned())
        } else if cell.timed && ![n_of_block, n_prompts * n_samples].iter().all(|n| n.is_multiple_of(batch)) {
            let why = format!(
                "the cell is timed, and {n_prompts} prompts x {n_samples} samples in blocks of {} prompts give batches \
                 that are not full",
                spec.timing.blocks
            );
            (
                why,
                "make the images of a block, and all, a multiple of it, or write `timed = false`".to_owned(),
            )
        } else {
            continue;
        };
        let (why, remedy) = refusal;
        return Err(PlanError::cell(&cell.name, format!("`batch` is {batch}, but {why}; {remedy}")));
    }
    Ok(())
}

/// Refuses an external cell whose baseline is not there.
fn check_baselines(spec: &Spec) -> Result<(), PlanError> {
    let names = |cell: &&Cell| cell.external.as_ref().is_some_and(|external| external.baseline.is_some());
    match spec.cells.iter().filter(names).find(|cell| cell.timed && spec.baseline_of(cell).is_none()) {
        None => Ok(()),
        Some(cell) => {
            let known = spec.cells.iter().filter(|other| other.timed).map(|other| other.name.as_str());
            let found = spec.baseline_name(cell);
            Err(PlanError::cell(
                &cell.name,
                format!(
                    "`external.baseline` is `{found}`, but no timed cell `{found}` has its model and sampling; {}",
                    suggestion(found, known)
                ),
            ))
        }
    }
}

fn check_dataset(spec: &Spec, prompts: &PromptSet) -> Result<(), PlanError> {
    let expected = spec.dataset.name.as_str();
    let file_name = Path::new(expected).file_name().and_then(|name| name.to_str());
    if prompts.name() == expected || Some(prompts.name()) == file_name {
        return Ok(());
    }
    let found = prompts.name();
    Err(PlanError::Whole(format!(
        "the spec asks for dataset `{expected}`, the prompts given are of `{found}`"
    )))
}

/// All items in canonical order, not yet in blocks.
fn items(spec: &Spec, prompts: &PromptSet) -> Vec<Item> {
    let mut seeds: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let mut items =
        Vec::with_capacity(spec.cells.len() * prompts.n_prompts() * spec.dataset.samples as usize);
    for (cell_idx, cell) in spec.cells.iter().enumerate() {
        let seeds =
            seeds.entry(&cell.model.name).or_insert_with(|| seeds_of(spec, &cell.model.name, prompts));
        let places = (0..prompts.n_prompts() as u32)
            .flat_map(|prompt| (0..spec.dataset.samples).map(move |sample| (prompt, sample)));
        let item = |((prompt, sample), seed): ((u32, u32), &u64)| Item {
            cell: cell_idx as u32,
            prompt,
            sample,
            block: 0,
            seed: *seed,
        };
        items.extend(places.zip(seeds.iter()).map(item));
    }
    items
}

/// The seeds of one model's images, by prompt and sample.
fn seeds_of(spec: &Spec, model: &str, prompts: &PromptSet) -> Vec<u64> {
    let dataset = prompts.name();
    let of = |prompt_id| {
        let key = move |sample| SeedKey { run_seed: spec.seed, model, dataset, prompt_id, sample };
        (0..spec.dataset.samples).map(move |sample| key(sample).seed())
    };
    prompts.prompts().iter().flat_map(|prompt| of(prompt.id.as_str())).collect()
}

/// Puts every item into its block.
fn blocks(spec: &Spec, n_prompts: usize, items: &mut [Item]) -> Vec<Block> {
    let n_samples = spec.dataset.samples as usize;
    let groups = interleave::groups(&spec.cells, n_prompts, spec.timing.blocks as usize);
    let place =
        |(cell, prompt, sample): (usize, usize, usize)| (cell * n_prompts + prompt) * n_samples + sample;
    let mut blocks = Vec::with_capacity(groups.len());
    for (index, group) in groups.iter().enumerate() {
        // There are no more blocks than items, and those are counted in u32.
        let index = index as u32;
        let places: Vec<usize> = group.run_order(&spec.cells, n_samples).into_iter().map(place).collect();
        for &place in &places {
            items[place].block = index;
        }
        let items = places.into_iter().map(|place| place as u32).collect();
        blocks.push(Block { index, timed: group.timed, items });
    }
    blocks
}
