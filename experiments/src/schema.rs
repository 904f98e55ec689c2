//! The JSON Schema (draft 2020-12) of specs, by which editors complete keys and names and mark misspelt ones. Keys and names are
//! those that the reader knows. Ranges, and what keys mean to each other, the reader alone checks.

use serde_json::{Map, Value, json};
use specimen_catalog::METRICS;
use specimen_datasets::CaptionPolicy;
use specimen_decode::method::{DRAFTER_KEYS, FRONTIER_KEYS, RULE_KEYS, RULE_KINDS, SCHEDULE_KEYS};

use crate::{
    cells::{CELL_KEYS, MODEL_KEYS, SAMPLING_KEYS},
    expect::{EXPECT_KEYS, PUBLISHED_KEYS},
    external::EXTERNAL_KEYS,
    given_heads::HEAD_KINDS,
    names::{self, DIAGNOSTICS, PUBLISHED_COLUMNS},
    parse::{DATASET_KEYS, DIAGNOSTIC_KEYS, METRIC_KEYS, SPEC_KEYS, TIMING_KEYS},
    slurm,
    spec::{Dtype, FilterOrder, SCHEMA},
};

/// The schema of a spec as it is written.
///
/// # Panics
/// Never: a test holds that every key of the reader has its kind here.
pub fn spec_schema() -> Value {
    let model = table(MODEL_KEYS, &["name", "dtype"], model_kinds());
    let sampling = |required: &[&str]| table(SAMPLING_KEYS, required, sampling_kinds());
    let published = json!({
        "cell": text(),
        "from": text(),
        "where": table(PUBLISHED_COLUMNS, &[], all(PUBLISHED_COLUMNS, &text())),
    });
    let expect = json!({
        "cell": text(), "measure": text(), "source": text(),
        "value": number(), "tolerance": number(), "relative": number(),
    });
    let kinds = json!({
        "schema": { "const": SCHEMA },
        "name": text(),
        "seed": whole(),
        "analysis": text(),
        "sources": list(&text()),
        "dataset": table(DATASET_KEYS, &["name"], dataset_kinds()),
        "model": { "anyOf": [model.clone(), list(&model)] },
        "sampling": sampling(&["temperature", "top_k", "top_p", "guidance"]),
        "timing": table(TIMING_KEYS, &["warmup", "blocks"], all(TIMING_KEYS, &whole())),
        "cell": list(&table(CELL_KEYS, &["name"], cell_kinds(&sampling(&[])))),
        // Paths are split into tables by their dots.
        "axes": { "type": "object" },
        "exclude": list(&json!({ "type": "object", "properties": { "cell": text(), "model": text() } })),
        "metric": list(&table(METRIC_KEYS, &["name"], metric_kinds())),
        "diagnostic": list(&table(
            DIAGNOSTIC_KEYS,
            DIAGNOSTIC_KEYS,
            json!({ "name": one_of(DIAGNOSTICS.iter().map(|(name, _)| *name)), "images": whole() }),
        )),
        "published": list(&table(PUBLISHED_KEYS, PUBLISHED_KEYS, published)),
        "expect": list(&table(EXPECT_KEYS, &["cell", "measure", "value", "source"], expect)),
        "slurm": slurm_table(),
    });
    let required = ["schema", "name", "seed", "dataset", "model", "sampling", "timing", "cell"];
    let mut schema = table(SPEC_KEYS, &required, kinds);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("a spec of specimen");
    schema
}

fn dataset_kinds() -> Value {
    json!({
        "name": text_or_one_of(names::datasets()),
        "limit": whole(),
        "subset_seed": whole(),
        "part": list(&whole()),
        "caption": one_of(CaptionPolicy::ALL.into_iter().map(CaptionPolicy::name)),
        "samples": whole(),
    })
}

fn model_kinds() -> Value {
    json!({
        "name": one_of(names::models()),
        "dtype": one_of(Dtype::ALL.into_iter().map(|(name, _)| name)),
        "device": text(),
        "weights": text(),
        "heads": table(HEAD_KINDS, &[], all(HEAD_KINDS, &text())),
        "three_way_guidance": flag(),
        "graphs": flag(),
        "batch": whole(),
    })
}

fn sampling_kinds() -> Value {
    json!({
        "temperature": number(),
        "top_k": whole(),
        "top_p": number(),
        "guidance": number(),
        "filter_order": one_of(FilterOrder::ALL.into_iter().map(|(name, _)| name)),
        "coupled": flag(),
    })
}

/// Values of methods are those of many parts; their kinds are left to the reader.
fn cell_kinds(sampling: &Value) -> Value {
    let any = json!({});
    let mut rule = all(&RULE_KEYS, &any);
    rule["kind"] = one_of(RULE_KINDS.iter().copied());
    let mut drafter = all(DRAFTER_KEYS, &any);
    drafter["proposer"] = text();
    json!({
        "name": text(),
        "drafter": table(DRAFTER_KEYS, &["proposer"], drafter),
        "accept": list(&table(&RULE_KEYS, &["kind"], rule)),
        "schedule": table(SCHEDULE_KEYS, &["kind"], all(SCHEDULE_KEYS, &any)),
        "frontier": table(FRONTIER_KEYS, &["kind"], all(FRONTIER_KEYS, &any)),
        "external": table(EXTERNAL_KEYS, &["command"], external_kinds()),
        "sampling": sampling,
        "timed": flag(),
    })
}

fn external_kinds() -> Value {
    json!({
        "command": list(&text()),
        "cwd": text(),
        "env": list(&text()),
        "files": list(&text()),
        "timeout_s": number(),
        "start_timeout_s": number(),
        "baseline": text(),
    })
}

fn metric_kinds() -> Value {
    let mut kinds = all(METRIC_KEYS, &text());
    kinds["name"] = one_of(METRICS.iter().map(|metric| metric.name.as_str()));
    kinds["min_n"] = whole();
    kinds
}

fn slurm_table() -> Value {
    let kinds = |keys: &[&str]| {
        let mut kinds = all(keys, &text());
        for key in ["cpus", "throttle", "max_attempts", "signal_s", "lag_s"] {
            kinds[key] = whole();
        }
        kinds["time"] = json!({ "type": ["string", "integer"] });
        kinds["exclusive"] = flag();
        for key in ["setup", "extra"] {
            kinds[key] = list(&text());
        }
        kinds.as_object_mut().expect("it was made as one").retain(|key, _| keys.contains(&key.as_str()));
        kinds
    };
    let mut all = kinds(slurm::SLURM_KEYS);
    all[slurm::TIMING] = table(slurm::TIMING_KEYS, &[], kinds(slurm::TIMING_KEYS));
    table(slurm::SLURM_KEYS, &[], all)
}

/// A table with the keys that the reader knows and no others; `kinds` has what each of them holds.
fn table(keys: &[&str], required: &[&str], kinds: Value) -> Value {
    let Value::Object(kinds) = kinds else { unreachable!("kinds are made as a table") };
    let is_known = |key: &&str| kinds.contains_key(*key);
    assert!(keys.len() == kinds.len() && keys.iter().all(is_known), "{keys:?} but {:?}", kinds.keys());
    json!({ "type": "object", "properties": kinds, "required": required, "additionalProperties": false })
}

/// The same kind for every key.
fn all(keys: &[&str], kind: &Value) -> Value {
    Value::Object(keys.iter().map(|key| ((*key).to_owned(), kind.clone())).collect::<Map<_, _>>())
}

fn list(of: &Value) -> Value {
    json!({ "type": "array", "items": of })
}

fn one_of<'n>(names: impl IntoIterator<Item = &'n str>) -> Value {
    json!({ "enum": names.into_iter().collect::<Vec<_>>() })
}

/// A text, among which editors offer the names.
fn text_or_one_of<'n>(names: impl IntoIterator<Item = &'n str>) -> Value {
    json!({ "anyOf": [one_of(names), text()] })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn whole() -> Value {
    json!({ "type": "integer" })
}

fn number() -> Value {
    json!({ "type": "number" })
}

fn flag() -> Value {
    json!({ "type": "boolean" })
}
