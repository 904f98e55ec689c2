//! Two runs are paired prompt by prompt, told apart where they differ and only there, and never mixed unasked.

use std::collections::BTreeSet;

use crate::{verdicts::fixture, verdicts::fixture::reading};
use fixture::run::Made;
use insta::assert_snapshot;
use specimen_record::{Mix, Origin, UNKNOWN_DATASET, UNKNOWN_DEVICE};
use specimen_report::{
    verdicts::compare::cell_pair::cell_pair, verdicts::compare::comparison::Comparison,
    verdicts::compare::comparison::Options, verdicts::compare::comparison::Refused,
    verdicts::compare::comparison::Row, verdicts::compare::comparison::compare, verdicts::values::RunValues,
};

fn compared(a: &Made, b: &Made, options: &Options) -> anyhow::Result<Comparison> {
    let folder = tempfile::tempdir().unwrap();
    let read = |made: &Made| RunValues::read(&made.write(folder.path())).unwrap();
    compare(&read(a), &read(b), options)
}

fn mix(kinds: &[Mix]) -> Options {
    Options { mix: kinds.iter().copied().collect::<BTreeSet<_>>(), ..Options::default() }
}

fn row<'a>(found: &'a Comparison, cell: &str, measure: &str) -> &'a Row {
    let is_it = |row: &&Row| row.cell == cell && row.measure == measure;
    found.rows.iter().find(is_it).unwrap_or_else(|| panic!("no row for {cell} {measure}: {found:#?}"))
}

/// The made-up run with a tree that accepts less.
fn worse_tree() -> Made {
    Made { accepted: vec![("ar", 0.0), ("chain", 1.5), ("tree", 2.2)], ..Made::plain("b") }
}

#[test]
fn a_run_against_its_copy_shows_no_difference_anywhere() {
    let found = compared(&Made::plain("a"), &Made::plain("b"), &Options::default()).unwrap();
    assert!(found.rows.len() >= 8 && found.refused.is_empty(), "{found:#?}");
    for row in &found.rows {
        let none = if row.measure == "decode_s" { 1.0 } else { 0.0 };
        assert_eq!(row.estimate.value, none, "{} {}", row.cell, row.measure);
        assert!(!row.significant);
    }
}

#[test]
fn what_differs_by_the_same_on_every_prompt_has_no_p_and_needs_six_pairs_to_be_decided() {
    for n_prompts in [5, 8] {
        let made = |made: Made| Made { n_prompts, ..made };
        let found = compared(&made(Made::plain("a")), &made(worse_tree()), &Options::default()).unwrap();
        let nfe = row(&found, "tree", "nfe");
        assert_eq!((nfe.estimate.p, nfe.significant), (None, false));
        let table = found.table().text(400);
        assert_eq!(table.contains("B is higher, by the same on every prompt"), 6 <= n_prompts, "{table}");
        assert_eq!(table.contains("undecided: too few pairs"), n_prompts < 6, "{table}");
        assert_eq!(table.contains("A median needs 6 pairs."), n_prompts < 6, "{table}");
    }
}

#[test]
fn what_is_one_number_everywhere_has_no_row_and_is_named() {
    let found = compared(&Made::plain("a"), &worse_tree(), &Options::default()).unwrap();
    let of_ar = |measure: &str| {
        found.same.iter().find(|same| (same.cell.as_str(), same.measure.as_str()) == ("ar", measure))
    };
    assert_eq!(of_ar("accepted_per_step").unwrap().value, 0.0);
    assert!(found.same.iter().all(|same| {
        !found.rows.iter().any(|row| (&row.cell, &row.measure) == (&same.cell, &same.measure))
    }));
    let legend = found.table().legend.join("\n");
    assert!(
        legend.contains("No row, because the value is the same on every prompt of both runs: "),
        "{legend}"
    );
    assert!(legend.contains("accepted_per_step 0"), "{legend}");
}

#[test]
fn where_decoding_is_unknown_seconds_to_the_saved_image_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = RunValues::read(&Made::plain("a").write(folder.path())).unwrap();
    for cell in &mut run.summary.cells {
        reading(cell, "decode_s").value = None;
    }
    let options = Options { cells: vec![("chain".into(), "tree".into())], ..Options::default() };
    let found = compare(&run, &run, &options).unwrap();
    let seconds = row(&found, "chain = tree", "e2e_s");
    assert!((seconds.estimate.value - 2.0 / 1.6).abs() < 0.05, "{seconds:?}");
    let speedup = row(&found, "chain = tree", "speedup_e2e");
    assert!((speedup.estimate.value - 0.4).abs() < 0.05, "{speedup:?}");
    assert!(found.refused.is_empty(), "{:?}", found.refused);
}

#[test]
fn a_speedup_that_only_one_side_has_is_named_with_the_reason() {
    let pair = |a: &str, b: &str| {
        let options = Options { cells: vec![(a.into(), b.into())], ..Options::default() };
        compared(&Made::plain("a"), &Made::plain("b"), &options).unwrap().refused
    };
    let why = |refused: Vec<Refused>| -> Vec<(String, String)> {
        refused.into_iter().map(|refused| (refused.measure, refused.why)).collect()
    };
    let speedup = |why: &str| vec![("speedup".to_owned(), why.to_owned())];
    assert_eq!(why(pair("ar", "tree")), speedup("A's ar is the baseline of its run"));
    assert_eq!(why(pair("tree", "ar")), speedup("B's ar is the baseline of its run"));
    assert_eq!(why(pair("ar", "ar")), []);

    let folder = tempfile::tempdir().unwrap();
    let run = RunValues::read(&Made::plain("a").write(folder.path())).unwrap();
    let mut alone = run.clone();
    alone.summary.cells[1].baseline = None;
    let options = Options { cells: vec![("chain".into(), "chain".into())], ..Options::default() };
    let refused = compare(&run, &alone, &options).unwrap().refused;
    assert_eq!(why(refused), speedup("B's chain has no baseline"));
}

#[test]
fn missing_times_are_given_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunValues::read(&Made::plain("a").write(folder.path())).unwrap();
    let (mut imported, mut untimed) = (run.clone(), run.clone());
    imported.summary.cells[1].origin = Some(Origin::Imported);
    reading(&mut imported.summary.cells[1], "decode_s").value = None;
    reading(&mut untimed.summary.cells[1], "decode_s").value = None;
    reading(&mut untimed.summary.cells[1], "e2e_s").value = None;
    let why = |other: &RunValues| {
        let options = Options { cells: vec![("chain".into(), "chain".into())], ..Options::default() };
        let found = compare(&run, other, &options).unwrap();
        let refused: Vec<String> =
            found.refused.iter().map(|refused| format!("{}: {}", refused.measure, refused.why)).collect();
        refused.join("; ")
    };
    let times = "decode_s, e2e_s and speedups";
    assert_eq!(why(&imported), format!("{times}: the times of chain are of another program's clock"));
    assert_eq!(why(&untimed), format!("{times}: chain is not timed"));
}

#[test]
fn cells_and_values_that_one_run_lacks_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunValues::read(&Made::plain("a").write(folder.path())).unwrap();
    let mut other = run.clone();
    other.summary.cells.retain(|cell| cell.id != "tree");
    let found = compare(&run, &other, &Options::default()).unwrap();
    assert_eq!((found.only_in_a.as_slice(), found.only_in_b.len()), (&["tree".to_owned()][..], 0));
    assert!(found.table().legend.join(" ").contains("In A only, so not compared: tree."));
    assert_eq!(compare(&other, &run, &Options::default()).unwrap().only_in_b, ["tree"]);
    // Pairs that were named are all that is asked for.
    let named = Options { cells: vec![("chain".into(), "chain".into())], ..Options::default() };
    assert!(compare(&run, &other, &named).unwrap().only_in_a.is_empty());

    // A cell whose program says forwards and no steps, and that was not scored.
    let poorer = tempfile::tempdir().unwrap();
    let written = Made::plain("a").write(poorer.path());
    let rows = std::fs::read_to_string(written.merged_records()).unwrap();
    let of_row = |line: &str| {
        let mut row: serde_json::Value = serde_json::from_str(line).unwrap();
        if row["cell"] == "chain" {
            for count in ["n_steps", "emitted", "accepted"] {
                row[count] = 0.into();
            }
        }
        format!("{row}\n")
    };
    std::fs::write(written.merged_records(), rows.lines().map(of_row).collect::<String>()).unwrap();
    for path in written.metric_files().unwrap() {
        if std::fs::read_to_string(&path).unwrap().contains("\"chain\"") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let other = RunValues::read(&written).unwrap();
    let why = |found: &Comparison, measure: &str| {
        let of_chain = |refused: &&specimen_report::verdicts::compare::comparison::Refused| {
            refused.cell == "chain" && refused.measure == measure
        };
        found.refused.iter().find(of_chain).map(|refused| refused.why.clone()).unwrap_or_default()
    };
    let found = compare(&run, &other, &Options::default()).unwrap();
    assert_eq!(why(&found, "accepted_per_step"), "B has no values of it");
    assert_eq!(why(&found, "clip"), "B has no values of it; `specimen score` can compute them");
    let found = compare(&other, &run, &Options::default()).unwrap();
    assert_eq!(why(&found, "clip"), "A has no values of it; `specimen score` can compute them");
}

#[test]
fn what_is_not_known_of_an_import_is_named_and_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunValues::read(&Made::plain("a").write(folder.path())).unwrap();
    let mut imported = run.clone();
    for cell in &mut imported.summary.cells {
        cell.origin = Some(Origin::Imported);
        (cell.device, cell.dataset) = (UNKNOWN_DEVICE.to_owned(), UNKNOWN_DATASET.to_owned());
    }
    let expected = "of B, which is imported, these are not known: method, dataset, device; --mix identity compares them anyway";
    let why = compare(&run, &imported, &Options::default()).unwrap_err().to_string();
    assert!(why.contains(expected), "{why}");
    assert!(compare(&imported, &run, &Options::default()).unwrap_err().to_string().contains("of A, which"));
    assert!(compare(&run, &imported, &mix(&[Mix::Identity])).is_ok());
    // Two imports of one table are as much the same as they say.
    assert!(compare(&imported, &imported, &Options::default()).is_ok());
}

#[test]
fn a_worse_method_is_found_in_its_own_cell_only() {
    let found = compared(&Made::plain("a"), &worse_tree(), &Options::default()).unwrap();
    let accepted = row(&found, "tree", "accepted_per_step");
    assert!(accepted.significant && (accepted.estimate.value + 0.3).abs() < 0.02, "{accepted:?}");
    assert!(
        accepted.estimate.ci95.unwrap()[1] < 0.0 && accepted.p_holm.unwrap() >= accepted.estimate.p.unwrap()
    );
    let time = row(&found, "tree", "decode_s");
    // The times of a cell rise as its speedup falls: 1.88 over 2.0.
    assert!(time.significant && (time.estimate.value - 1.88 / 2.0).abs() < 0.01, "{time:?}");
    let (geomean, median) = (time.estimate.geomean.unwrap(), time.estimate.median.unwrap());
    assert!((geomean - 0.94).abs() < 0.01 && (median - 0.94).abs() < 0.01, "{time:?}");
    for measure in ["accepted_per_step", "decode_s", "clip"] {
        assert!(!row(&found, "chain", measure).significant, "{measure}");
    }
}

#[test]
fn a_slower_machine_moves_seconds_and_no_speedup() {
    let slow = Made { slowness: 2.0, ..Made::plain("b") };
    let found = compared(&Made::plain("a"), &slow, &Options::default()).unwrap();
    assert!((row(&found, "tree", "decode_s").estimate.value - 0.5).abs() < 1e-6);
    // What is left is the rounding to nanoseconds.
    let speedup = row(&found, "tree", "speedup");
    assert!(speedup.estimate.value.abs() < 1e-6, "{speedup:?}");
}

#[test]
fn times_of_two_machines_are_refused_with_the_reason_unless_mixed() {
    let other = Made { cpu_model: "Another CPU", ..Made::plain("b") };
    let found = compared(&Made::plain("a"), &other, &Options::default()).unwrap();
    assert!(found.rows.iter().all(|row| row.measure != "decode_s" && row.measure != "speedup"));
    let refused = found.refused.iter().find(|refused| refused.measure == "decode_s").unwrap();
    assert_eq!(refused.kind, Some(Mix::Device));
    assert!(refused.why.contains("A has Example CPU, B has Another CPU; --mix device"), "{refused:?}");
    let mixed = compared(&Made::plain("a"), &other, &mix(&[Mix::Device])).unwrap();
    assert!(
        mixed.refused.is_empty()
            && mixed.table().text(200).contains("MIXED, although these may differ: device")
    );
    row(&mixed, "tree", "decode_s");
}

#[test]
fn other_protocols_methods_and_seeds_are_refused_unless_mixed() {
    let other = Made { protocol: "clip@v2", ..Made::plain("b") };
    let found = compared(&Made::plain("a"), &other, &Options::default()).unwrap();
    assert!(
        found.refused.iter().any(|r| r.measure == "clip" && r.why.contains("A has clip@v1, B has clip@v2"))
    );
    assert!(compared(&Made::plain("a"), &other, &mix(&[Mix::Protocol])).unwrap().refused.is_empty());

    let spec = |tree: u32| serde_json::json!({"cells": [{"name": "tree", "method": {"depth": tree}}]});
    let (a, b) = (Made { spec: spec(3), ..Made::plain("a") }, Made { spec: spec(4), ..Made::plain("b") });
    let found = compared(&a, &b, &Options::default()).unwrap();
    assert!(found.rows.iter().all(|row| row.cell != "tree"));
    assert!(found.refused.iter().any(|r| r.cell == "tree" && r.kind == Some(Mix::Identity)), "{found:#?}");

    let seeds = Made { seed: 8, ..Made::plain("b") };
    let refused = compared(&Made::plain("a"), &seeds, &Options::default()).unwrap_err().to_string();
    assert!(refused.contains("differ by chance too") && refused.contains("--mix seed"), "{refused}");
    assert!(compared(&Made::plain("a"), &seeds, &mix(&[Mix::Seed])).is_ok());
}

#[test]
fn heads_of_a_users_own_are_compared_where_a_compared_cell_drafts_with_them() {
    let with = |name, proposer: &str, weights: Option<&str>, [eagle1, eagle3]: [&str; 2]| {
        let heads = serde_json::json!({
            "eagle1": {"path": format!("{name}/one"), "blake3": eagle1},
            "eagle3": {"path": format!("{name}/three"), "blake3": eagle3},
        });
        let cell = |id: &str, drafter: serde_json::Value| serde_json::json!({"name": id, "model": {"heads": heads}, "method": {"drafter": drafter}});
        let ar = cell("ar", serde_json::json!({"proposer": "none"}));
        let chain = cell("chain", serde_json::json!({"proposer": proposer, "weights": weights}));
        Made { spec: serde_json::json!({ "cells": [ar, chain] }), ..Made::plain(name) }
    };
    let refused = |proposer, weights, heads| {
        let (a, b) = (with("a", proposer, weights, ["x", "y"]), with("b", proposer, weights, heads));
        let found = compared(&a, &b, &Options::default()).unwrap();
        let cells: BTreeSet<String> = found.refused.iter().map(|refused| refused.cell.clone()).collect();
        cells.into_iter().collect::<Vec<_>>()
    };
    // The head that the cell drafts with, wherever it is; no other one.
    assert_eq!(refused("eagle1", None, ["x", "y"]), [""; 0]);
    assert_eq!(refused("eagle1", None, ["x", "z"]), [""; 0]);
    assert_eq!(refused("eagle1", None, ["z", "y"]), ["chain"]);
    assert_eq!(refused("eagle3", None, ["x", "z"]), ["chain"]);
    // One of the model's own by name, and none.
    assert_eq!(refused("eagle1", Some("further"), ["z", "z"]), [""; 0]);
    assert_eq!(refused("jacobi", None, ["z", "z"]), [""; 0]);
}

#[test]
fn a_cell_that_is_another_and_of_other_seeds_is_refused_for_both_at_once() {
    let spec = |tree: u32| serde_json::json!({"cells": [{"name": "tree", "method": {"depth": tree}}]});
    let a = Made { spec: spec(3), ..Made::plain("a") };
    let b = Made { spec: spec(4), unseeded: Some("tree"), ..Made::plain("b") };
    let found = compared(&a, &b, &Options::default()).unwrap();
    let why = &found.refused.iter().find(|refused| refused.cell == "tree").unwrap().why;
    assert!(
        why.contains("B's cell tree") && why.ends_with("--mix identity,seed compares them anyway"),
        "{why}"
    );
    assert!(compared(&a, &b, &mix(&[Mix::Identity, Mix::Seed])).unwrap().refused.is_empty());
}

#[test]
fn seeds_of_one_cell_that_are_not_known_refuse_that_cell_only() {
    let (a, b) = (Made::plain("a"), Made { unseeded: Some("tree"), ..Made::plain("b") });
    let found = compared(&a, &b, &Options::default()).unwrap();
    assert!(found.rows.iter().all(|row| row.cell != "tree"), "{found:#?}");
    row(&found, "chain", "clip");
    let refused: Vec<_> = found.refused.iter().filter(|refused| refused.cell == "tree").collect();
    assert_eq!((refused.len(), refused[0].kind), (1, Some(Mix::Seed)), "{refused:?}");
    let why = "the seeds of B's cell tree are not all known: its images were imported, and their table has none for prompt `0`, \
               sample 0; --mix seed compares them anyway";
    assert_eq!(refused[0].why, why);
    // Cells that are paired by hand are refused as a whole.
    let pair = Options { cells: vec![("chain".into(), "tree".into())], ..Options::default() };
    let why = compared(&a, &b, &pair).unwrap_err().to_string();
    assert!(why.contains("B's cell tree") && why.contains("--mix seed"), "{why}");
    assert!(compared(&a, &b, &mix(&[Mix::Seed])).unwrap().refused.is_empty());
}

#[test]
fn runs_without_a_common_prompt_are_refused_as_a_whole() {
    let later = Made { first_prompt: 24, n_prompts: 48, ..Made::plain("b") };
    let refused = compared(&Made::plain("a"), &later, &Options::default()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "nothing of the two runs can be compared: everything of ar: no prompt of A is one of B: prompts are paired by \
         their ids"
    );
    // Counts that are the same in all images are no comparison of the one prompt.
    let last = Made { first_prompt: 23, n_prompts: 48, ..Made::plain("b") };
    let refused = compared(&Made::plain("a"), &last, &Options::default()).unwrap_err().to_string();
    assert!(
        refused.ends_with("one prompt of A is one of B, by their ids, and a comparison needs two"),
        "{refused}"
    );
    // Of runs that have no other prompt it says what is equal.
    let one = |name| Made { n_prompts: 1, ..Made::plain(name) };
    let found = compared(&one("a"), &one("b"), &Options::default()).unwrap();
    assert!(found.rows.is_empty() && !found.same.is_empty(), "{found:#?}");
    let half = Made { first_prompt: 12, n_prompts: 36, ..Made::plain("b") };
    let found = compared(&Made::plain("a"), &half, &Options::default()).unwrap();
    assert_eq!(row(&found, "tree", "clip").estimate.n, 12);
}

#[test]
fn cells_of_other_names_are_paired_on_demand() {
    let options = Options { cells: vec![("chain".into(), "tree".into())], ..Options::default() };
    let found = compared(&Made::plain("a"), &Made::plain("b"), &options).unwrap();
    let nfe = row(&found, "chain = tree", "nfe");
    assert!(nfe.estimate.value < 0.0);
    let options = Options { cells: vec![("chain".into(), "trie".into())], ..Options::default() };
    let refused = compared(&Made::plain("a"), &Made::plain("b"), &options).unwrap_err().to_string();
    assert!(refused.contains("no cell `trie`; it has ar, chain, tree"), "{refused}");
}

#[test]
fn holm_corrects_over_the_cells_of_a_measure() {
    let found = compared(&Made::plain("a"), &worse_tree(), &Options::default()).unwrap();
    let of_measure: Vec<&Row> = found.rows.iter().filter(|row| row.measure == "speedup").collect();
    let tested = of_measure.iter().filter(|row| row.estimate.p.is_some()).count();
    let smallest = of_measure.iter().filter_map(|row| row.estimate.p).fold(1.0, f64::min);
    let corrected = of_measure.iter().filter_map(|row| row.p_holm).fold(1.0, f64::min);
    assert!((corrected - (tested as f64 * smallest).min(1.0)).abs() < 1e-12, "{of_measure:#?}");
}

#[test]
fn a_speedup_is_the_ratio_of_mean_times_as_in_the_tables_of_the_runs() {
    let found = compared(&Made::plain("a"), &worse_tree(), &Options::default()).unwrap();
    let seconds = |cell: &str| &row(&found, cell, "decode_s").estimate;
    let speedup = &row(&found, "tree", "speedup").estimate;
    assert!((speedup.a - seconds("ar").a / seconds("tree").a).abs() < 1e-12, "{speedup:?}");
    assert!((speedup.b - seconds("ar").b / seconds("tree").b).abs() < 1e-12, "{speedup:?}");
    assert!((speedup.value - (speedup.b - speedup.a)).abs() < 1e-12, "{speedup:?}");
}

#[test]
fn a_drift_is_the_summarys_number_with_its_direction() {
    let folder = tempfile::tempdir().unwrap();
    let mut a = RunValues::read(&Made::plain("a").write(folder.path())).unwrap();
    let b = RunValues::read(&Made::plain("b").write(folder.path())).unwrap();
    a.summary.timing_quality = Some(fixture::on_slow_baseline(fixture::quality(Some(0.975))));
    let found = compare(&a, &b, &Options::default()).unwrap();
    assert_eq!((found.a.drift, found.b.drift), (Some(0.975), None));
    let head = found.table().head.join(" ");
    assert!(head.contains("; the baseline's median time fell by 2.5 %"), "{head}");
    assert!(head.contains("in the session in which it moved most"), "{head}");
    assert!(head.contains("WARNING: ar runs at 50 % of what f32 reaches here"), "{head}");
    // Of two baselines it is that of the first, and says so.
    let mut second = a.summary.cells[0].clone();
    second.id = "ar other".to_owned();
    second.baseline = Some(second.id.clone());
    a.summary.cells.push(second);
    let words = a.summary.drift_in_words().unwrap();
    assert!(words.starts_with("a baseline's median time fell by 2.5 %"), "{words}");
}

#[test]
fn the_table_reads_as_printed() {
    let mut found = compared(&Made::plain("a"), &worse_tree(), &Options::default()).unwrap();
    found.rows.retain(|row| ["accepted_per_step", "decode_s", "speedup"].contains(&row.measure.as_str()));
    assert_snapshot!(found.table().text(160));
}

#[test]
fn cells_with_equal_signs_in_their_names_are_told_apart_in_a_pair() {
    let mut summary = fixture::summary();
    summary.cells.push(fixture::cell("casc[tau_pos=0.85,tau_seq=0.5]", 1.0, 1.2));
    summary.cells.push(fixture::cell("casc[tau_pos=0.9]", 1.0, 1.2));
    let check = |text: &str, expected: [&str; 2]| {
        let (a, b) = cell_pair(text, &summary, &summary).unwrap();
        assert_eq!([a.as_str(), b.as_str()], expected);
    };
    check("ar=tree", ["ar", "tree"]);
    check("casc[tau_pos=0.85,tau_seq=0.5]=tree", ["casc[tau_pos=0.85,tau_seq=0.5]", "tree"]);
    check("tree = casc[tau_pos=0.9]", ["tree", "casc[tau_pos=0.9]"]);
    check(
        "casc[tau_pos=0.9]=casc[tau_pos=0.85,tau_seq=0.5]",
        ["casc[tau_pos=0.9]", "casc[tau_pos=0.85,tau_seq=0.5]"],
    );
    let refused = |text: &str, part: &str| {
        let said = cell_pair(text, &summary, &summary).unwrap_err().to_string();
        assert!(said.contains(part), "`{part}` is not in `{said}`");
    };
    refused("tree", "no `=`");
    refused("casc[tau_pos=0.85,tau_seq=0.5]", "no `=` between two names");
    refused("casc[tau_pos=0.9]=none", "no cell `none`; it has ar, chain");
    refused("casc[tau_pos=7]=tree", "no cell `casc[tau_pos=7]`");
    refused("casc[tau_pos=7]=casc[tau_pos=8]", "no cell `casc[tau_pos=7]`");
}
