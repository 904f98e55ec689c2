//! Commands that say what a run means, on the stub network: a gate that passes and one that does not, two runs, a
//! document whose tables are renewed.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use crate::support::{Desk, spec};

const RULES: &str = r#"
schema = 1
[[rule]]
cells = ["ar", "sd-*"]
measure = "nfe"
kind = "exact"
min_n = 8
[[rule]]
cells = ["sd-*"]
measure = "accepted_per_step"
kind = "relative"
tolerance = 0.05
direction = "higher-is-better"
[[rule]]
cells = ["sd-*"]
measure = "speedup"
kind = "interval"
legs = 0.2
runner = "lab"
"#;

fn stub(desk: &Desk, out: &str) {
    desk.made(&["--limit", "8"], out);
}

#[test]
fn a_gate_passes_what_it_was_made_from_and_names_what_is_worse() {
    let desk = Desk::new();
    stub(&desk, "r");
    desk.file("b.rules.toml", RULES);
    let gate = ["gate", "r", "--baseline", "b.json"];
    desk.fails(&gate, 4, &["b.json: there is no baseline yet", "--update-baseline --reason"]);
    desk.fails(&[&gate[..], &["--update-baseline"]].concat(), 2, &["required arguments"]);
    desk.succeeds(&[&gate[..], &["--update-baseline", "--reason", "the first"]].concat());

    desk.fails(&[&gate[..], &["./r"]].concat(), 2, &["./r: named twice"]);
    let found = desk.json(&[&gate[..], &["--junit", "gate.xml", "--markdown", "gate.md"]].concat());
    assert_eq!((&found["passed"], found["checks"].as_array().unwrap().len()), (&true.into(), 3));
    let check = &found["checks"][0];
    for field in ["cell", "measure", "rule", "baseline", "measured", "passed"] {
        assert!(!check[field].is_null(), "{check}");
    }
    let why = found["skipped"][0]["why"].as_str().unwrap();
    assert!(why.contains("checked on runner `lab` only"), "{why}");
    assert!(desk.text("gate.xml").contains("failures=\"0\""));
    assert!(desk.text("gate.md").contains("Passed: 3 of 3 checks"));

    // A baseline that accepted half as much again: the run is worse than it.
    let mut baseline = desk.document("b.json");
    let accepted = &mut baseline["summary"]["cells"][1]["measures"]["accepted_per_step"]["value"];
    *accepted = (accepted.as_f64().unwrap() * 1.5).into();
    fs::write(desk.path("b.json"), baseline.to_string()).unwrap();
    desk.fails(&gate, 1, &["accepted_per_step of sd-chain2: it moved by -33.33 %, 5 % allowed"]);

    let renew = [&gate[..], &["--update-baseline", "--reason", "acceptance is as it was"]].concat();
    desk.succeeds(&[&renew[..], &["--runner", "lab"]].concat());
    let ran = desk.succeeds(&renew);
    assert!(
        ran.err.contains("the former baseline was of runner `lab` and this one has no label"),
        "{}",
        ran.err
    );
    let renewed = desk.document("b.json");
    assert_eq!(renewed["history"][0]["reason"], "acceptance is as it was");
    assert_eq!(renewed["history"][2]["reason"], "the first");
    let change = renewed["history"][1]["changes"][0].as_str().unwrap();
    assert!(change.starts_with("sd-chain2: accepted_per_step "), "{change}");
    desk.succeeds(&gate);
}

#[test]
fn a_first_baseline_comes_with_rules_and_a_refusal_is_in_both_files() {
    let desk = Desk::new();
    stub(&desk, "r");
    let gate = ["gate", "r", "--baseline", "b.json"];
    desk.succeeds(&[&gate[..], &["--update-baseline", "--reason", "the first"]].concat());
    let rules = desk.text("b.rules.toml");
    assert!(rules.contains("# Forwards of the target") && rules.contains("measure   = \"nfe\""), "{rules}");
    desk.succeeds(&gate);
    // Edited rules are the person's.
    fs::write(desk.path("b.rules.toml"), RULES).unwrap();
    desk.succeeds(&[&gate[..], &["--update-baseline", "--reason", "again"]].concat());
    assert_eq!(desk.text("b.rules.toml"), RULES);

    desk.made(&["--limit", "4"], "other");
    let other = ["gate", "other", "--baseline", "b.json", "--junit", "gate.xml", "--markdown", "gate.md"];
    desk.fails(&other, 1, &["another experiment", "`dataset.limit` was "]);
    let junit = desk.text("gate.xml");
    assert!(junit.contains("errors=\"1\"") && junit.contains("another experiment"), "{junit}");
    let markdown = desk.text("gate.md");
    assert!(markdown.contains("REFUSED") && markdown.contains("another experiment"), "{markdown}");
    fs::write(desk.path("b.rules.toml"), RULES.replace("\"exact\"", "\"exactly\"")).unwrap();
    desk.fails(&gate, 3, &["b.rules.toml:6:8: kind is `exactly`"]);
    fs::write(desk.path("b.rules.toml"), RULES).unwrap();
    // The summary of a run serves as a baseline, and is never made into one: it is sealed.
    let of_run = ["gate", "r", "--baseline", "r/merged/summary.json"];
    desk.fails(&of_run, 4, &["r/merged/summary.rules.toml: there are no rules; name a file with --rules\n"]);
    let renew = [&of_run[..], &["--update-baseline", "--reason", "again"]].concat();
    desk.fails(&renew, 2, &["r/merged/summary.json is the summary of a run and stays so; name a new file"]);
    desk.succeeds(&["verify", "r"]);
    desk.succeeds(&[&of_run[..], &["--rules", "b.rules.toml"]].concat());
    fs::remove_file(desk.path("b.rules.toml")).unwrap();
    desk.fails(
        &gate,
        4,
        &["b.rules.toml: there are no rules; name a file with --rules, or write rules to begin with"],
    );
}

#[test]
fn two_runs_of_one_spec_accept_the_same_and_cells_of_one_run_do_not() {
    let desk = Desk::new();
    stub(&desk, "a");
    desk.succeeds(&["run", &spec("ci/stub.toml"), "--limit", "8", "--out", "b"]);
    let found = desk.json(&["compare", "a", "b"]);
    let rows = found["rows"].as_array().unwrap();
    let accepted = |row: &&serde_json::Value| row["measure"] == "accepted_per_step";
    assert!(rows.iter().filter(accepted).all(|row| row["value"] == 0.0), "{found:#}");
    assert!(rows.iter().any(|row| row["measure"] == "speedup"), "{found:#}");
    let shown = desk.succeeds(&["compare", "a", "a", "--cell", "ar=sd-chain2", "--layout", "markdown"]).out;
    assert!(shown.contains("| ar = sd-chain2 "), "{shown}");
    desk.fails(&["compare", "a", "b", "--cell", "ar"], 2, &["no `=`"]);
    desk.fails(&["compare", "a", "b", "--cell", "ar=none"], 2, &["no cell `none`", "sd-chain2"]);
    desk.fails(&["compare", "a", "b", "--mix", "colour"], 2, &["colour"]);
}

#[test]
fn cells_that_axes_made_are_named_in_full() {
    let desk = Desk::new();
    let depths = ["--sweep", "cell.sd-chain2.drafter.depth=1,2"];
    desk.succeeds(&[&["run", &spec("ci/stub.toml"), "--limit", "4", "--out", "r"], &depths[..]].concat());
    let pair = "sd-chain2[depth=1]=sd-chain2[depth=2]";
    let shown = desk.succeeds(&["compare", "r", "r", "--cell", pair]).out;
    assert!(shown.contains("sd-chain2[depth=1] = sd-chain2[depth=2]"), "{shown}");
    desk.fails(
        &["compare", "r", "r", "--cell", "sd-chain2[depth=3]=ar"],
        2,
        &["no cell `sd-chain2[depth=3]`"],
    );
    let again = desk.succeeds(&["verify", "r", "--replay", "100", "-v"]).err;
    assert!(again.contains("sd-chain2[depth=1]/0/0: same tokens, same pixels"), "{again}");
}

#[test]
fn a_document_has_its_tables_renewed_and_is_otherwise_left_alone() {
    let desk = Desk::new();
    stub(&desk, "r");
    let page = "# Page\n<!-- specimen:table stub -->\nan earlier table\n<!-- /specimen:table -->\nend\n";
    let file = desk.file("page.md", page);
    let shown = desk.succeeds(&["report", "r", "r", "--splice", &file]).out;
    assert_eq!(shown.matches("Run stub,").count(), 2);
    let renewed = fs::read_to_string(&file).unwrap();
    assert!(renewed.starts_with("# Page\n<!-- specimen:table stub -->\nRun stub, plan "), "{renewed}");
    assert!(
        renewed.ends_with("<!-- /specimen:table -->\nend\n") && !renewed.contains("an earlier table"),
        "{renewed}"
    );
    for name in ["table.md", "table.csv", "table.tex", "table.html"] {
        assert!(desk.path("r/report").join(name).is_file(), "{name}");
    }
    desk.fails(
        &["report", "r", "--splice", &desk.file("bare.md", "")],
        4,
        &["bare.md", "specimen:table stub"],
    );
}

#[test]
fn a_quality_that_a_run_does_not_have_is_refused_before_anything_is_touched() {
    let desk = Desk::new();
    stub(&desk, "r");
    let figure = desk.file("r/report/pareto.png", "a figure of an earlier report");
    let known = ["--quality fid", "no cell has the metric `fid`; the run has no metric at all"];
    desk.fails(&["report", "r", "--quality", "fid"], 2, &known);
    assert_eq!(fs::read_to_string(figure).unwrap(), "a figure of an earlier report");
}

#[test]
fn a_run_that_is_no_twin_of_a_papers_table_is_refused_and_left_alone() {
    let desk = Desk::new();
    stub(&desk, "r");
    let said =
        ["run `stub` is no run of `cascade:table3b`", "[[published]] with from = \"cascade_table3b.csv\""];
    desk.fails(&["reproduce", "cascade:table3b", "--run", "r"], 1, &said);
    for name in ["reproduce.md", "reproduce.tex", "reproduce.html", "reproduce.json"] {
        assert!(!desk.path("r/report").join(name).exists(), "{name}");
    }
    desk.fails(&["reproduce", "cascade:table9", "--run", "r"], 2, &["no table `table9`", "table3b"]);
    let listed = desk.succeeds(&["reproduce"]).out;
    for table in ["cascade:table1", "vvs:table6", "sjdvp:fig4", "tiny"] {
        assert!(listed.contains(table), "{listed}");
    }
    desk.fails(&["reproduce", "all", "--model", "large"], 2, &["no table of `all`", "`large`"]);
    desk.fails(&["reproduce", "all", "--run", "r"], 2, &["name it, as in cascade:table1"]);
    desk.fails(&["reproduce", "nobody"], 2, &["nobody", "cascade, vvs"]);
    desk.fails(&["reproduce", "cascade", "--run", "r"], 2, &["name it, as in cascade:table1"]);
    desk.fails(
        &["reproduce", "cascade:table1", "--model", "large"],
        2,
        &["no spec reproduces `table1`", "tiny"],
    );
}
