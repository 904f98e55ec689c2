//! An ablation shows the settings in which cells differ and no others, for any method.

use insta::assert_snapshot;
use serde_json::json;
use specimen_record::{Guarantee, Origin, Summary};
use specimen_report::verdicts::ablation::ablation;

use crate::verdicts::fixture;

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
fn quality_is_ranked_among_cells_that_are_not_exact_and_nearer_to_the_baseline_is_no_rank() {
    let mut summary = summary();
    for cell in &mut summary.cells[2..] {
        cell.guarantee = Guarantee::Relaxed;
    }
    let cells = &mut summary.cells;
    (cells[2].metrics[0].value, cells[3].metrics[0].value) = (Some(0.30), Some(0.32));
    let shown = |summary: &Summary| ablation(summary).unwrap().markdown();
    let clip = |text: &str, cell: &str| {
        let line = text.lines().find(|line| line.starts_with(&format!("| {cell} "))).unwrap().to_owned();
        line.split('|').nth_back(2).unwrap().trim().to_owned()
    };
    let text = shown(&summary);
    assert!(clip(&text, "ic").starts_with("**0.320"), "{text}");
    assert!(!clip(&text, "i").contains('*') && clip(&text, "c").starts_with("0.30"), "{text}");
    // The exact cell is alone, so its speedup has no rival either.
    assert!(
        text.lines().find(|line| line.starts_with("| i ")).is_some_and(|line| !line.contains('*')),
        "{text}"
    );
    for cell in &mut summary.cells {
        cell.metrics[0].metric = "target-nll".into();
    }
    assert!(!clip(&shown(&summary), "ic").contains('*'));
    assert!(!shown(&summary).contains("target-nll ↓") && !shown(&summary).contains("target-nll ↑"));
}

#[test]
fn nothing_is_said_of_the_settings_of_another_program() {
    let mut summary = summary();
    summary.cells[4].origin = Some(Origin::External);
    let text = ablation(&summary).unwrap().markdown();
    let line = text.lines().find(|line| line.starts_with("| loose ")).unwrap();
    assert_eq!(line.split('|').skip(2).take(3).map(str::trim).collect::<Vec<_>>(), ["–", "–", "–"], "{text}");
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
