//! An ablation: one row a cell, one column for each setting in which the cells differ, then what they measured. Nothing is
//! known of any method: settings are the places of the cells' configurations.

use std::collections::BTreeMap;

use serde_json::Value;
use specimen_experiments::measures;
use specimen_record::{Better, CellSummary, Guarantee, Summary};

use crate::{
    table::{Column, Entry, Rank, Table, column_decimals, ranks, with_interval},
    verdicts::measured,
};

/// Measures that an ablation shows.
const SHOWN: [&str; 4] = ["speedup", "accepted_per_step", "tokens_per_forward", "nfe"];

/// The ablation table of a run; baselines are left out, since they have no settings to switch. `None` where fewer than two
/// cells are left, or these do not differ in any setting.
pub fn ablation(summary: &Summary) -> Option<Table> {
    let cells: Vec<&CellSummary> = summary.cells.iter().filter(|cell| !cell.is_baseline()).collect();
    let settings: Vec<BTreeMap<String, String>> =
        cells.iter().map(|cell| settings_of(summary, cell)).collect();
    let mut places: Vec<&String> = settings.iter().flat_map(BTreeMap::keys).collect();
    places.sort();
    places.dedup();
    places.retain(|place| settings.iter().any(|cell| cell.get(*place) != settings[0].get(*place)));
    if cells.len() < 2 || places.is_empty() {
        return None;
    }
    let mut table = Table {
        id: format!("{}-ablation", summary.name),
        head: vec![format!("Run {}: cells by the settings in which they differ.", summary.name)],
        marked: Some("of its model, dataset and output (exact or not).".to_owned()),
        legend: vec!["✓: the setting is there; –: it is not.".to_owned()],
        ..Table::default()
    };
    table.push(Column::text("cell"), cells.iter().map(|cell| Entry::plain(&cell.id)).collect());
    for place in &places {
        let values: Vec<Option<&String>> = settings.iter().map(|cell| cell.get(*place)).collect();
        let present: Vec<&String> = values.iter().flatten().copied().collect();
        let is_switch = present.len() < values.len() && present.iter().all(|value| *value == present[0]);
        let shown = values.iter().map(|value| match value {
            None => Entry::plain("–"),
            Some(_) if is_switch => Entry::plain("✓"),
            Some(value) => Entry::plain(value),
        });
        let head = match is_switch {
            true => format!("{} = {}", short(place, &places), present[0]),
            false => short(place, &places),
        };
        table.push(Column::text(&head), shown.collect());
    }
    for measure in SHOWN.into_iter().filter_map(measures::measure) {
        let unit = if measure.ratio_of.is_some() { "×" } else { "" };
        let direction = measure.higher_is_better();
        push(&mut table, &cells, &measure.key, unit, direction, |_| true);
    }
    // Images of exact cells differ by chance only, and those of relaxed cells are no better for more likely tokens.
    let mut metrics: Vec<(&str, &str, Option<bool>)> = Vec::new();
    for metric in cells.iter().flat_map(|cell| &cell.metrics) {
        if !metrics.iter().any(|(name, ..)| *name == metric.metric) {
            let direction = match summary.better(&metric.metric) {
                Some(Better::Higher) => Some(true),
                Some(Better::Lower) => Some(false),
                Some(Better::NearerToBaseline) | None => None,
            };
            metrics.push((&metric.metric, &metric.unit, direction));
        }
    }
    for (metric, unit, direction) in metrics {
        push(&mut table, &cells, metric, unit, direction, |cell| cell.guarantee != Guarantee::Exact);
    }
    Some(table)
}

/// `is_ranked`: which cells can be the best by this measure.
fn push(
    table: &mut Table,
    cells: &[&CellSummary],
    measure: &str,
    unit: &str,
    direction: Option<bool>,
    is_ranked: fn(&CellSummary) -> bool,
) {
    let found: Vec<_> = cells.iter().map(|cell| measured::of(cell, measure)).collect();
    let shown: Vec<(f64, Option<[f64; 2]>)> =
        found.iter().filter_map(|of| Some((of.value?, of.ci95))).collect();
    let decimals = column_decimals(&shown);
    let rivals: Vec<_> = cells
        .iter()
        .zip(&found)
        .map(|(cell, of)| {
            Some((
                (cell.model.as_str(), cell.dataset.as_str(), cell.guarantee),
                of.value.filter(|_| is_ranked(cell))?,
            ))
        })
        .collect();
    let places = direction.map_or_else(|| vec![Rank::None; rivals.len()], |higher| ranks(&rivals, higher));
    let mut entries = Vec::new();
    for (of, rank) in found.iter().zip(places) {
        let text = match of.value {
            Some(value) => with_interval(value, of.ci95, decimals, measure == "speedup"),
            None => format!("—{}", table.footnote(of.why.as_deref().unwrap_or("there is no value"))),
        };
        entries.push(Entry { text, rank });
    }
    table.push(Column::number(measure, unit, direction), entries);
}

/// The settings of a cell by their places: its method's as the spec has them, and its axis values.
fn settings_of(summary: &Summary, cell: &CellSummary) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    let specs = summary.spec.get("cells").and_then(Value::as_array);
    match specs.and_then(|specs| specs.iter().find(|spec| spec["name"] == cell.id.as_str())) {
        // Of another program's method nothing is known.
        Some(_) if cell.origin.is_some() => {}
        Some(spec) => {
            collect("", &spec["method"], &mut settings);
            // Axes set more than methods, such as the batch of the model.
            for (name, value) in spec["params"].as_object().into_iter().flatten() {
                if !settings.keys().any(|place| place.rsplit('.').next() == Some(name)) {
                    collect(name, value, &mut settings);
                }
            }
        }
        None => cell.params.iter().for_each(|(name, value)| collect(name, value, &mut settings)),
    }
    settings
}

fn collect(place: &str, value: &Value, settings: &mut BTreeMap<String, String>) {
    let below = |key: &str| if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") };
    match value {
        Value::Null => {}
        Value::Object(fields) => fields.iter().for_each(|(key, value)| collect(&below(key), value, settings)),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            items.iter().enumerate().for_each(|(at, item)| collect(&below(&at.to_string()), item, settings));
        }
        Value::String(text) => {
            settings.insert(place.to_owned(), text.clone());
        }
        other => {
            settings.insert(place.to_owned(), other.to_string());
        }
    }
}

/// The last part of a place, or the whole where two end alike.
fn short(place: &str, places: &[&String]) -> String {
    let last = |place: &str| place.rsplit('.').next().unwrap_or_default().to_owned();
    match places.iter().filter(|other| last(other) == last(place)).count() {
        1 => last(place),
        _ => place.to_owned(),
    }
}
