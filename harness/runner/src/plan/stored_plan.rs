//! A plan as `plan.json` stores it, and a plan from what is stored.

use std::{collections::BTreeMap, path::Path};

use specimen_datasets::{PromptSet, catalog::ENTRIES, data_root::DataRoot};
use specimen_experiments::{
    plan::{Block as PlanBlock, Item as PlanItem, Plan, PlanPrompt},
    prompts,
    spec::Spec,
};
use specimen_foundation::failure;
use specimen_record::{Block, Item, ItemKey, Manifest, PlanFile, RunDir, Seed};

use crate::error::RunError;

/// The plan of a spec over its dataset.
pub fn plan_of(spec: Spec, data_root: Option<&DataRoot>) -> Result<(Plan, PromptSet), RunError> {
    let prompts = prompts::open(&spec.dataset, data_root)?;
    let plan = Plan::new(spec.with_digests_of_heads(data_root)?, &prompts)?;
    Ok((plan, prompts))
}

/// The plan as it is stored.
pub fn plan_file(plan: &Plan) -> Result<PlanFile, RunError> {
    let items: Vec<Item> = plan
        .items
        .iter()
        .map(|item| {
            let prompt = &plan.prompts[item.prompt as usize];
            let cell = plan.cell_name(item);
            Item {
                key: ItemKey::new(cell, &prompt.id, item.sample),
                cell: cell.to_owned(),
                prompt_id: prompt.id.clone(),
                sample: item.sample,
                seed: Seed(item.seed),
                block: item.block,
                prompt: prompt.text.clone(),
            }
        })
        .collect();
    let blocks = plan
        .blocks
        .iter()
        .map(|block| Block {
            index: block.index,
            items: block.items.iter().map(|&at| items[at as usize].key.clone()).collect(),
        })
        .collect();
    Ok(PlanFile::new(&plan.spec.name, items, blocks, &plan.spec.identity())?)
}

/// The plan that is stored in `file`, for an imported run, whose prompts are in no dataset.
pub(crate) fn plan_of_stored(spec: Spec, file: &PlanFile) -> Result<Plan, RunError> {
    let mut prompts: Vec<PlanPrompt> = Vec::new();
    let mut place: BTreeMap<&str, u32> = BTreeMap::new();
    let mut items = Vec::with_capacity(file.items.len());
    for item in &file.items {
        let cell = spec.cells.iter().position(|cell| cell.name == item.cell);
        let cell = cell
            .ok_or_else(|| failure!(Spec: "the plan has items of `{}`, the spec no such cell", item.cell))?;
        let prompt = *place.entry(&item.prompt_id).or_insert_with(|| {
            prompts.push(PlanPrompt { id: item.prompt_id.clone(), text: item.prompt.clone() });
            prompts.len() as u32 - 1
        });
        let (cell, sample, block, seed) = (cell as u32, item.sample, item.block, item.seed.0);
        items.push(PlanItem { cell, prompt, sample, block, seed });
    }
    let blocks = vec![PlanBlock { index: 0, timed: true, items: (0..items.len() as u32).collect() }];
    // As the dataset that a path names is called when it is opened.
    let named = &spec.dataset.name;
    let of_path = Path::new(named).file_name().map(|name| name.to_string_lossy().into_owned());
    let is_known = ENTRIES.iter().any(|entry| entry.name == *named);
    let dataset = of_path.filter(|_| !is_known).unwrap_or_else(|| named.clone());
    Ok(Plan { spec, dataset, prompts, items, blocks, digest: file.digest.to_string() })
}

/// The spec that a run's manifest holds.
pub fn spec_of(run: &RunDir, manifest: &Manifest) -> Result<Spec, RunError> {
    serde_json::from_value(manifest.spec.clone())
        .map_err(|e| failure!(Spec: "{}: `spec`: {e}", run.manifest().display()).into())
}

/// A unit variant as a spec writes it.
pub(crate) fn word_of(value: &impl serde::Serialize) -> Result<String, RunError> {
    let value = serde_json::to_value(value).map_err(|e| failure!(Spec: "{e}"))?;
    Ok(value.as_str().unwrap_or_default().to_owned())
}
