//! The plan: every item of a run, in the order in which results are written and reductions run. Its
//! digest is the run's identity; shards and workers are not part of it.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use specimen_foundation::failure;

use crate::{Digest, Document, ItemKey, RecordError, SCHEMA, Seed, canonical_json};

/// One image to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// The item's name, made of the three fields that follow.
    pub key: ItemKey,
    /// Name of the cell.
    pub cell: String,
    /// Id of the prompt within its dataset.
    pub prompt_id: String,
    /// Which of several images of this prompt, from 0.
    pub sample: u32,
    /// Key of the item's random source; the same for every cell.
    pub seed: Seed,
    /// Index of the block it belongs to.
    pub block: u32,
    /// The prompt's text.
    pub prompt: String,
}

/// A unit of work: some prompts with all cells that are timed against one another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Its place among the blocks, from 0.
    pub index: u32,
    /// Its items, in the order in which one worker runs them.
    pub items: Vec<ItemKey>,
}

/// `plan.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanFile {
    /// Schema number.
    pub schema: u32,
    /// Name of the run.
    pub name: String,
    /// Digest of the items and of what [`PlanFile::identity_of`] keeps of the resolved spec: the run's
    /// identity.
    pub digest: Digest,
    /// The units of work.
    pub blocks: Vec<Block>,
    /// The items, in canonical order.
    pub items: Vec<Item>,
}

impl PlanFile {
    /// The plan of these items under this resolved spec, in the order given. The digest takes of the spec
    /// what [`PlanFile::identity_of`] keeps.
    pub fn new(
        name: &str,
        items: Vec<Item>,
        blocks: Vec<Block>,
        resolved_spec: &Value,
    ) -> Result<PlanFile, RecordError> {
        let digest = PlanFile::digest_of(&items, resolved_spec);
        let plan = PlanFile { schema: SCHEMA, name: name.to_owned(), digest, blocks, items };
        plan.check().map_err(|reason| failure!(Spec: "plan `{name}`: {reason}"))?;
        Ok(plan)
    }

    /// What of a resolved spec decides images and timings, and so enters the digest: schema, seed, dataset,
    /// timing and cells. Prose, metrics, published rows and expectations may change without a new run.
    pub fn identity_of(resolved_spec: &Value) -> Value {
        let part = |name: &str| (name.to_owned(), resolved_spec[name].clone());
        Value::Object(["cells", "dataset", "schema", "seed", "timing"].map(part).into_iter().collect())
    }

    /// An identity whose list of cells is an object by their names, so that two can be compared cell by cell.
    pub fn with_cells_by_name(identity: &Value) -> Value {
        let cells = identity["cells"].as_array().map_or(&[][..], Vec::as_slice);
        let named = cells.iter().filter_map(|cell| Some((cell["name"].as_str()?.to_owned(), cell.clone())));
        let mut by_name = identity.clone();
        by_name["cells"] = Value::Object(named.collect());
        by_name
    }

    /// Digest of the canonical JSON of `{"items": …, "spec": …}`: object keys sorted, no spaces.
    pub fn digest_of(items: &[Item], resolved_spec: &Value) -> Digest {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"{\"items\":[");
        for (at, item) in items.iter().enumerate() {
            // Item by item: a plan of a million has no second copy of itself in memory.
            let item = serde_json::to_value(item).expect("an item is plain strings and integers");
            hasher.update(if at > 0 { b"," } else { b"" });
            hasher.update(canonical_json(&item).as_bytes());
        }
        hasher.update(b"],\"spec\":");
        hasher.update(canonical_json(&PlanFile::identity_of(resolved_spec)).as_bytes());
        hasher.update(b"}");
        Digest::from(hasher.finalize())
    }

    /// The items by the text of their key, which costs less to compare than the key, with their place in
    /// canonical order.
    pub fn by_key(&self) -> BTreeMap<&str, (usize, &Item)> {
        self.items.iter().enumerate().map(|(at, item)| (item.key.as_str(), (at, item))).collect()
    }
}

impl Document for PlanFile {
    const KIND: &'static str = "plan";

    fn schema(&self) -> u32 {
        self.schema
    }

    fn check(&self) -> Result<(), String> {
        let mut blocks_of = BTreeMap::new();
        for item in &self.items {
            if item.key != ItemKey::new(&item.cell, &item.prompt_id, item.sample) {
                return Err(format!("key {} does not fit its cell, prompt id and sample", item.key));
            }
            if blocks_of.insert(item.key.as_str(), item.block).is_some() {
                return Err(format!("item {} is there twice", item.key));
            }
        }
        let mut placed = BTreeSet::new();
        for (at, block) in self.blocks.iter().enumerate() {
            if usize::try_from(block.index) != Ok(at) {
                return Err(format!("block {} is at place {at}", block.index));
            }
            for key in &block.items {
                if blocks_of.get(key.as_str()) != Some(&block.index) {
                    return Err(format!(
                        "block {} lists item {key}, which is not one of its items",
                        block.index
                    ));
                }
                if !placed.insert(key.as_str()) {
                    return Err(format!("block {} lists item {key} twice", block.index));
                }
            }
        }
        match self.items.iter().find(|item| !placed.contains(item.key.as_str())) {
            Some(item) => Err(format!("item {} is in no block", item.key)),
            None => Ok(()),
        }
    }
}
