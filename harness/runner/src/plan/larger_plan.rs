//! Whether a run may be enlarged to a larger plan: more prompts, more samples or more cells, and every image
//! of the old plan has the same meaning in the new one. The digest is then the larger plan's, as of a run
//! made at once.

use std::collections::BTreeMap;

use serde_json::Value;
use specimen_record::{Item, PlanFile, RunDir, Submissions, compare_json, described, read_document};

use crate::error::RunError;

/// Settings of the dataset that say how many images are asked for, not what they are.
const AMOUNTS: [&str; 3] = ["limit", "part", "samples"];

/// Where the new plan changes what the images of the old one mean or leaves one out, in words; `None` where
/// it only asks for more. `before` and `now` are the resolved specs.
pub(crate) fn obstacle(before: &Value, now: &Value, old: &PlanFile, new: &PlanFile) -> Option<String> {
    let (before, now) = (PlanFile::identity_of(before), PlanFile::identity_of(now));
    let cells = names(&before);
    let found = compare_json(&meaning(&before, &cells), &meaning(&now, &cells));
    if let Some(differences) = described(&found) {
        return Some(differences);
    }
    let planned = new.by_key();
    let same = |item: &&Item| {
        let there = planned.get(item.key.as_str());
        there.is_some_and(|(_, now)| (now.seed, &now.prompt) == (item.seed, &item.prompt))
    };
    let others: Vec<&Item> = old.items.iter().filter(|item| !same(item)).collect();
    let first = others.first()?;
    let what = match planned.get(first.key.as_str()) {
        None => "is not asked for any more",
        Some((_, now)) if now.prompt != first.prompt => "has another prompt",
        Some(_) => "has another seed",
    };
    let amounts = compare_json(&before["dataset"], &now["dataset"]);
    let amounts =
        amounts.iter().map(|difference| format!("; in the dataset {difference}")).collect::<String>();
    Some(format!("of {} image(s) the first, {}, {what}{amounts}", others.len(), first.key))
}

/// Names of the cells.
fn names(identity: &Value) -> Vec<&str> {
    let cells = identity["cells"].as_array().map_or(&[][..], Vec::as_slice);
    cells.iter().filter_map(|cell| cell["name"].as_str()).collect()
}

/// What decides the images and times of these cells: everything but how many there are.
fn meaning(identity: &Value, names: &[&str]) -> Value {
    let mut meaning = PlanFile::with_cells_by_name(identity);
    if let Some(dataset) = meaning["dataset"].as_object_mut() {
        AMOUNTS.iter().for_each(|amount| drop(dataset.remove(*amount)));
    }
    if let Some(cells) = meaning["cells"].as_object_mut() {
        cells.retain(|name, _| names.contains(&name.as_str()));
    }
    meaning
}

/// Refuses to enlarge a run that a cluster still works on: its tasks know the smaller plan.
pub(crate) fn check_no_arrays(run: &RunDir) -> Result<(), RunError> {
    let path = run.submissions();
    if !path.exists() {
        return Ok(());
    }
    let submissions: Submissions = read_document(&path)?;
    let mut jobs: BTreeMap<u64, usize> = BTreeMap::new();
    for array in &submissions.arrays {
        let owed = array.owed.keys().filter(|&&shard| !run.done(shard).is_file()).count();
        if owed > 0 {
            jobs.insert(array.job, owed);
        }
    }
    match jobs.first_key_value() {
        None => Ok(()),
        Some((job, n)) => {
            let holder = format!("job {job}, which owes {n} shard(s) of the smaller plan,");
            Err(RunError::Locked { path, holder })
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use serde_json::json;
    use specimen_record::{Block, ItemKey, Seed};

    use super::*;

    fn spec(cells: &[&str], limit: u32) -> Value {
        let cells: Vec<Value> =
            cells.iter().map(|name| json!({"name": name, "method": name.len()})).collect();
        json!({"schema": 1, "seed": 7, "timing": {"blocks": 2}, "cells": cells, "metrics": [],
               "dataset": {"name": "d", "limit": limit, "samples": 1, "subset_seed": null}})
    }

    fn plan(spec: &Value, prompts: &[&str]) -> PlanFile {
        let mut items = Vec::new();
        for cell in names(spec) {
            for (at, prompt) in prompts.iter().enumerate() {
                let id = at.to_string();
                items.push(Item {
                    key: ItemKey::new(cell, &id, 0),
                    cell: cell.to_owned(),
                    prompt_id: id,
                    sample: 0,
                    seed: Seed(at as u64 + spec["seed"].as_u64().unwrap()),
                    block: 0,
                    prompt: (*prompt).to_owned(),
                });
            }
        }
        let keys = items.iter().map(|item| item.key.clone()).collect();
        PlanFile::new("p", items, vec![Block { index: 0, items: keys }], spec).unwrap()
    }

    #[track_caller]
    fn check(now: &Value, prompts: &[&str], expected: Option<&str>) {
        let before = spec(&["ar", "sd"], 2);
        let (old, new) = (plan(&before, &["a", "b"]), plan(now, prompts));
        let found = obstacle(&before, now, &old, &new);
        match expected {
            None => assert_eq!(found, None),
            Some(words) => assert!(found.as_ref().is_some_and(|found| found.contains(words)), "{found:?}"),
        }
    }

    #[test]
    fn more_prompts_and_cells_are_more_and_anything_else_is_something_else() {
        check(&spec(&["ar", "sd"], 2), &["a", "b"], None);
        check(&spec(&["ar", "sd"], 3), &["a", "b", "c"], None);
        check(&spec(&["new", "sd", "ar"], 2), &["a", "b"], None);
        check(&spec(&["ar"], 2), &["a", "b"], Some("`cells.sd` was {"));
        check(
            &spec(&["ar", "sd"], 1),
            &["a"],
            Some(
                "2 image(s) the first, ar/1/0, is not asked for any more; in the dataset `limit` was 2, is 1",
            ),
        );
        check(&spec(&["ar", "sd"], 3), &["a", "other", "c"], Some("ar/1/0, has another prompt"));
        let mut other = spec(&["ar", "sd"], 3);
        other["cells"][1]["method"] = json!(9);
        check(&other, &["a", "b", "c"], Some("`cells.sd.method` was 2, is 9"));
        let mut other = spec(&["ar", "sd"], 2);
        other["seed"] = json!(8);
        check(&other, &["a", "b"], Some("`seed` was 7, is 8"));
        let mut other = spec(&["ar", "sd"], 2);
        other["timing"]["blocks"] = json!(4);
        check(&other, &["a", "b"], Some("`timing.blocks` was 2, is 4"));
    }
}
