//! An ablation shows the settings in which cells differ and no others, for any method.

mod fixture;

use insta::assert_snapshot;
use serde_json::json;
use specimen_record::Summary;
use specimen_verdicts::ablation::ablation;

/// CASCADE's two parts alone and together, over one drafter.
fn summary() -> Summary {
    let rule = |extra: serde_json::Value| {
        let mut rule = json!({"kind": "cascade", "tvd_budget": 0.5});
        for (key, value) in extra.as_object().into_iter().flatten() {
            rule[key] = value.clone();
        }
        json!({"drafter": {"proposer": "eagle1", "tree": [[0], [0, 0]]}, "accept": [rule]})
    };
    let cells = [
        ("i", rule(json!({"tau_pos": 0.85}))),
        ("c", rule(json!({"tau_seq": 0.5}))),
        ("ic", rule(json!({"tau_pos": 0.85, "tau_seq": 0.5}))),
        ("loose", rule(json!({"tau_pos": 0.85, "tau_seq": 0.5, "tvd_budget": 0.9}))),
    ];
    let specs: Vec<_> = cells.iter().map(|(name, method)| json!({"name": name, "method": method})).collect();
    let mut summary = fixture::summary();
    summary.spec = json!({"cells": specs});
    summary.cells = vec![fixture::cell("ar", 0.0, 1.0)];
    for (at, (name, _)) in (0_u32..).zip(&cells) {
        summary.cells.push(fixture::cell(name, 2.0 + 0.4 * f64::from(at), 1.5 + 0.2 * f64::from(at)));
    }
    summary
}

#[test]
fn switches_are_ticked_and_other_settings_have_their_values() {
    assert_snapshot!(ablation(&summary()).map(|table| table.markdown()).unwrap_or_default());
}

#[test]
fn cells_that_do_not_differ_have_no_ablation() {
    let mut alone = summary();
    alone.cells.truncate(2);
    assert_eq!(ablation(&alone), None);
    let mut same = summary();
    same.spec = json!({});
    assert_eq!(ablation(&same), None);
}
