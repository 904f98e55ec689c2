//! Reading one model, one sampling and one cell, after axes have been applied to them.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use specimen_decode::{
    method::{
        DRAFTER_KEYS, DrafterConfig, FRONTIER_KEYS, FrontierConfig, MOST_RULES, MethodConfig, Proposer,
        RULE_KEYS, RuleConfig, SCHEDULE_KEYS, ScheduleConfig, too_many_rules,
    },
    pipeline::MOST_SCALE,
};
use specimen_foundation::plain_words::plain_words;

use crate::{
    document::{Entry, Node},
    error::SpecError,
    external::{External, external},
    fields::{self, Fields, out_of_range, unknown_name},
    given_heads::given_heads,
    names::{self, BASELINE},
    parse::{choice, name, optional_text, table},
    spec::{Dtype, FilterOrder, MOST_TOGETHER, ModelSpec, Sampling},
};

pub(crate) const MODEL_KEYS: &[&str] =
    &["name", "dtype", "device", "weights", "heads", "three_way_guidance", "graphs", "batch"];
pub(crate) const SAMPLING_KEYS: &[&str] =
    &["temperature", "top_k", "top_p", "guidance", "filter_order", "coupled"];
pub(crate) const CELL_KEYS: &[&str] =
    &["name", "drafter", "accept", "schedule", "frontier", "external", "sampling", "timed"];

/// The name of a device; absent where the table has none.
pub(crate) fn device(fields: &Fields<'_>) -> Result<Option<String>, SpecError> {
    let Some(device) = optional_text(fields, "device")? else { return Ok(None) };
    let numbered =
        device.strip_prefix("cuda:").is_some_and(|n| n.parse::<u16>().is_ok_and(|m| m.to_string() == n));
    if !(numbered || device == "cpu" || device == "cuda") {
        let node = fields.required("device", "it was read above")?;
        return Err(out_of_range(node, &fields.path("device"), "cpu, cuda or cuda:N", format!("{device:?}")));
    }
    Ok(Some(device))
}

/// The images that are decoded together; absent where the table does not say.
pub(crate) fn batch(fields: &Fields<'_>) -> Result<Option<u32>, SpecError> {
    let range = 1..=i64::from(MOST_TOGETHER);
    let batch = fields.get("batch").map(|node| fields::integer(node, &fields.path("batch"), range));
    Ok(batch.transpose()?.map(|n| u32::try_from(n).expect("the range was checked")))
}

/// Reads a `[model]` table at `path`.
pub(crate) fn model(node: &Node, path: &str) -> Result<ModelSpec, SpecError> {
    let fields = Fields::new(node, "[model]", path, MODEL_KEYS)?;
    let name = fields.text("name", "it names the network")?;
    if names::models().all(|known| known != name) {
        let node = fields.required("name", "it was read above")?;
        return Err(unknown_name(node, &fields.path("name"), "model", name, names::models()));
    }
    let dtype =
        fields.required("dtype", "speed and digests depend on it; write for instance dtype = \"bf16\"")?;
    if let Some(weights) =
        fields.get("weights").filter(|_| specimen_catalog::entry::published_entry(name).is_err())
    {
        let conflict = format!("model `{name}` takes no `weights`: its own are part of the program");
        let fault = crate::error::conflict(conflict, "leave the key out");
        return Err(fault.at(weights.place.clone()));
    }
    let flag = |key: &str| fields.get(key).map(|node| fields::flag(node, &fields.path(key))).transpose();
    Ok(ModelSpec {
        name: name.to_owned(),
        dtype: choice(dtype, &fields.path("dtype"), "dtype", &Dtype::ALL)?,
        device: device(&fields)?.unwrap_or_else(|| "cpu".to_owned()),
        weights: optional_text(&fields, "weights")?,
        heads: fields.get("heads").map_or(Ok(BTreeMap::new()), |node| given_heads(&fields, node))?,
        three_way_guidance: flag("three_way_guidance")?.unwrap_or(false),
        graphs: flag("graphs")?,
        batch: batch(&fields)?,
        rehearsed: None,
    })
}

/// Reads `[sampling]`, with the keys that a cell overrides taken from `overrides`.
pub(crate) fn sampling(
    base: &Node,
    overrides: Option<&Node>,
    cell_path: &str,
) -> Result<Sampling, SpecError> {
    Fields::new(base, "[sampling]", "sampling", SAMPLING_KEYS)?;
    let path = format!("{cell_path}.sampling");
    if let Some(node) = overrides {
        Fields::new(node, &format!("`{path}`"), &path, SAMPLING_KEYS)?;
    }
    let overriding = overrides.map_or(&[][..], Node::entries);
    let inherited = base.entries().iter().filter(|entry| !overriding.iter().any(|o| o.key == entry.key));
    let merged: Vec<Entry> = overriding.iter().chain(inherited).cloned().collect();
    let merged = table(&base.place, merged);
    let fields = Fields::new(&merged, "[sampling]", "sampling", SAMPLING_KEYS)?;
    let why = "published settings differ, so there is no default";
    let top_k = fields.integer(
        "top_k",
        0..=i64::from(u32::MAX),
        "published settings differ, so there is no default; 0 is off",
    )?;
    let is_scale = |number: f64| (0.0..=MOST_SCALE).contains(&number);
    // Small numbers are 0 in the type that they are used in.
    let is_share = |p: f64| p as f32 > 0.0 && p <= 1.0;
    let order = |node| choice(node, "sampling.filter_order", "filter order", &FilterOrder::ALL);
    Ok(Sampling {
        temperature: fields.real("temperature", "0 to 1e9 (0 is greedy)", is_scale, why)?,
        top_k: u32::try_from(top_k).expect("the range was checked"),
        top_p: fields.real("top_p", "above 0, at most 1 (1 is off)", is_share, why)?,
        guidance: fields.real("guidance", "0 to 1e9 (1 is off)", is_scale, why)?,
        filter_order: fields.get("filter_order").map_or(Ok(FilterOrder::TopKThenTopP), order)?,
        coupled: fields.get("coupled").map_or(Ok(false), |node| fields::flag(node, "sampling.coupled"))?,
    })
}

/// What a `[[cell]]` says itself.
pub(crate) struct CellBody {
    pub(crate) name: String,
    pub(crate) method: MethodConfig,
    pub(crate) external: Option<External>,
    pub(crate) timed: bool,
}

/// Reads a `[[cell]]` table at `path` (`cell.<name>`).
pub(crate) fn cell(node: &Node, path: &str) -> Result<CellBody, SpecError> {
    let fields = Fields::new(node, &format!("`{path}`"), path, CELL_KEYS)?;
    let name = name(&fields, "results are filed under it")?;
    let method = method(node, &fields)?;
    if name == BASELINE && (method.drafter.proposer != Proposer::None || method.frontier.is_some()) {
        let key = if method.frontier.is_some() { "frontier" } else { "drafter" };
        return Err(crate::error::conflict(
            format!("the cell `{BASELINE}` is the autoregressive baseline, but has a {key}"),
            format!("remove the {key}, or give the cell another name"),
        )
        .at(fields.get(key).map_or(&node.place, |node| &node.place).clone()));
    }
    let external = fields.get("external").map(|node| external(&fields, node)).transpose()?;
    if name == BASELINE && external.is_some() {
        return Err(crate::error::conflict(
            format!("the cell `{BASELINE}` is this program's own baseline, but has `external`"),
            "give the cell another name, and keep a cell `ar` to compare it with",
        )
        .at(fields.get("external").map_or(&node.place, |node| &node.place).clone()));
    }
    let timed = fields.get("timed").map_or(Ok(true), |node| fields::flag(node, &fields.path("timed")))?;
    Ok(CellBody { name, method, external, timed })
}

fn method(node: &Node, fields: &Fields<'_>) -> Result<MethodConfig, SpecError> {
    if let Some(drafter) = fields.get("drafter") {
        let path = fields.path("drafter");
        let keys = Fields::new(drafter, "`drafter`", &path, DRAFTER_KEYS)?;
        configured::<DrafterConfig>(drafter, &path)?;
        if let Some(model) = keys.get("model") {
            let name = fields::text(model, &keys.path("model"))?;
            if names::models().all(|known| known != name) {
                return Err(unknown_name(model, &keys.path("model"), "model", name, names::models()));
            }
        }
    }
    let rules = fields.list("accept")?;
    if rules.len() > MOST_RULES {
        let (path, found) = (fields.path("accept"), rules.len());
        let reason = too_many_rules(MOST_RULES, found).to_string();
        return Err(crate::error::method(path, reason)
            .at(fields.get("accept").map_or(&node.place, |accept| &accept.place).clone()));
    }
    for (index, rule) in rules.iter().enumerate() {
        let path = format!("{}.{index}", fields.path("accept"));
        Fields::new(rule, "`accept`", &path, &RULE_KEYS)?;
        configured::<RuleConfig>(rule, &path)?;
    }
    if let Some(schedule) = fields.get("schedule") {
        let path = fields.path("schedule");
        Fields::new(schedule, "`schedule`", &path, SCHEDULE_KEYS)?;
        configured::<ScheduleConfig>(schedule, &path)?;
    }
    if let Some(frontier) = fields.get("frontier") {
        let path = fields.path("frontier");
        Fields::new(frontier, "`frontier`", &path, FRONTIER_KEYS)?;
        configured::<FrontierConfig>(frontier, &path)?;
    }
    // The parts are sound; together they are read as one, so that defaults are the decoder's own.
    const PARTS: [&str; 4] = ["drafter", "accept", "schedule", "frontier"];
    let parts = node.entries().iter().filter(|entry| PARTS.contains(&entry.key.as_str()));
    let whole = table(&node.place, parts.cloned().collect());
    let method: MethodConfig = configured(&whole, fields.path("").trim_end_matches('.'))?;
    method.validate().map_err(|error| {
        crate::error::method(fields.path("accept"), error)
            .at(fields.get("accept").map_or(&node.place, |accept| &accept.place).clone())
    })?;
    Ok(method)
}

fn configured<T: DeserializeOwned>(node: &Node, path: &str) -> Result<T, SpecError> {
    T::deserialize(node.to_json()).map_err(|error| {
        let reason = error.to_string();
        let mut tables = node.entries().iter().filter(|entry| !entry.node.entries().is_empty());
        // What serde says of a table in place of a name does not say which key has it.
        match (tables.next(), tables.next()) {
            (Some(entry), None) if reason.contains("map with a single key") => crate::error::method(
                format!("{path}.{}", entry.key),
                format!(
                    "found a table, expected a name in quotes; what belongs to it stands next to `{}`",
                    entry.key
                ),
            )
            .at(entry.node.place.clone()),
            _ => crate::error::method(path, plain_words(&reason)).at(node.place.clone()),
        }
    })
}
