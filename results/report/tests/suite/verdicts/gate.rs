//! A gate passes what is as good as the baseline, names what is not, and cries no wolf over a slow machine.

use crate::{verdicts::fixture, verdicts::fixture::reading};
use insta::assert_snapshot;
use serde_json::json;
use specimen_record::{Digest, Origin, Reading, SUMMARY_SCHEMA, Summary, read_document, write_document};
use specimen_report::{
    verdicts::gate::baseline::Adoption, verdicts::gate::baseline::Baseline, verdicts::gate::check::Gate,
    verdicts::gate::check::check, verdicts::gate::rules::Rules, verdicts::gate::show::refused_junit,
    verdicts::gate::show::refused_markdown, verdicts::gate::starter::starter_rules,
};

const RULES: &str = r#"
schema = 1
[[rule]]
cells = ["*"]
measure = "nfe"
kind = "relative"
tolerance = 0.05
direction = "lower-is-better"
min_n = 32

[[rule]]
cells = ["chain", "tree"]
measure = "accepted_per_step"
kind = "relative"
tolerance = 0.05
direction = "higher-is-better"

[[rule]]
cells = ["*"]
measure = "clip"
kind = "interval"
direction = "higher-is-better"

[[rule]]
cells = ["*"]
measure = "fid"
kind = "absolute"
tolerance = 0.5
min_n = 500

[[rule]]
cells = ["chain", "tree"]
measure = "speedup"
kind = "interval"
direction = "higher-is-better"
legs = 0.1
confirm = 2
runner = "lab"
"#;

fn baseline() -> Baseline {
    let summary = fixture::summary();
    let newest = Adoption {
        reason: "the first".into(),
        finished: None,
        commit: None,
        dirty: None,
        program: "0.1.0".into(),
        libtorch: None,
        machine: "Example CPU".into(),
        runner: Some("lab".into()),
        plan_digest: summary.plan_digest.as_str().into(),
        result_digest: summary.result_digest.as_str().into(),
        changes: Vec::new(),
    };
    Baseline { schema: SUMMARY_SCHEMA, history: vec![newest], summary }
}

fn gate(runs: &[Summary], runner: Option<&str>) -> Gate {
    check(&Rules::parse("rules.toml", RULES).unwrap(), &baseline(), runs, runner).unwrap()
}

/// The made-up run on a machine on which everything takes `factor` times as long.
fn slowed(factor: f64) -> Summary {
    let mut run = fixture::summary();
    for cell in &mut run.cells {
        reading(cell, "decode_s").value = reading(cell, "decode_s").value.map(|s| s * factor);
        reading(cell, "e2e_s").value = reading(cell, "e2e_s").value.map(|s| s * factor);
    }
    run
}

/// The made-up run after the acceptance of `tree` broke.
fn broken() -> Summary {
    let mut run = fixture::summary();
    run.cells[2] = fixture::cell("tree", 1.9, 1.4);
    run
}

#[test]
fn the_baseline_passes_its_own_gate() {
    let found = gate(&[fixture::summary()], Some("lab"));
    assert!(found.passed, "{}", found.failures());
    assert_eq!(found.reruns_wanted, 0);
    // Three of nfe, two of acceptance, three of clip, and of two speedups the ratio and both legs.
    assert_eq!((found.checks.len(), found.skipped.len()), (14, 3));
}

#[test]
fn a_gate_of_speedups_says_that_the_baseline_is_slow() {
    let mut run = fixture::summary();
    run.timing_quality = Some(fixture::on_slow_baseline(fixture::quality(None)));
    let found = gate(&[run], Some("lab"));
    let warning = "WARNING: ar runs at 50 % of what f32 reaches here: speedups are over a slow baseline.";
    assert_eq!(found.table().head[1..], [warning]);
    assert!(gate(&[fixture::summary()], Some("lab")).slow_baselines.is_empty());
}

#[test]
fn of_many_failures_the_line_at_the_end_has_the_first() {
    let mut run = fixture::summary();
    for at in 1..run.cells.len() {
        run.cells[at] = fixture::cell(&run.cells[at].id.clone(), 0.5, 0.4);
    }
    let found = gate(&[run], Some("lab"));
    let n = found.checks.iter().filter(|check| !check.passed).count();
    assert!(n > 6, "{n}");
    let said = found.failures();
    assert!(said.ends_with(&format!("; and {} more", n - 6)), "{said}");
    let n_whys = said.matches(": it moved by ").count() + said.matches(" do not meet").count();
    assert_eq!(n_whys, 6, "{said}");
}

#[test]
fn broken_acceptance_fails_on_any_machine_and_names_cell_and_measure() {
    for runner in [None, Some("lab"), Some("other")] {
        let found = gate(&[broken()], runner);
        assert!(!found.passed);
        let said = found.failures();
        assert!(said.contains("nfe of tree: it moved by +20.69 %, 5 % allowed"), "{said}");
        assert!(said.contains("accepted_per_step of tree: it moved by -24.00 %"), "{said}");
        assert!(!said.contains("chain"), "{said}");
    }
}

#[test]
fn a_better_method_passes_where_only_worse_is_held() {
    let mut run = fixture::summary();
    run.cells[2] = fixture::cell("tree", 3.5, 1.8);
    assert!(gate(&[run], None).passed);
}

#[test]
fn a_relaxed_cell_is_worse_where_it_moves_away_from_its_baseline_on_either_side() {
    let with = |difference: f64| {
        let mut run = fixture::summary();
        let tree = run.cells.iter_mut().find(|cell| cell.id == "tree").unwrap();
        tree.guarantee = specimen_record::Guarantee::Relaxed;
        let mut nll = tree.metrics[0].clone();
        (nll.metric, nll.higher_is_better, nll.value) =
            ("target-nll".into(), Some(false), Some(7.0 + difference));
        let (se, z, detectable) = (None, None, None);
        let ci95 = Some([difference - 0.01, difference + 0.01]);
        nll.vs_baseline = Some(specimen_record::VsBaseline { difference, se, ci95, z, detectable, n: 32 });
        tree.metrics.push(nll);
        run
    };
    let rules = |direction: &str| {
        let text = format!(
            "schema = 1\n[[rule]]\ncells = [\"tree\"]\nmeasure = \"target-nll\"\nkind = \"absolute\"\n\
             tolerance = 0.05\n{direction}"
        );
        Rules::parse("rules.toml", &text).unwrap()
    };
    let baseline = Baseline { summary: with(0.1), ..baseline() };
    let passes = |direction: &str, difference: f64| {
        let found = check(&rules(direction), &baseline, &[with(difference)], None).unwrap();
        (found.passed, found.checks[0].measure.clone(), found.checks[0].measured)
    };
    let lower = "direction = \"lower-is-better\"";
    let (passed, measure, measured) = passes(lower, -0.4);
    assert!(!passed && measure == "|target-nll minus the baseline cell's|" && measured == Some(0.4));
    assert!(passes(lower, -0.1).0 && passes(lower, 0.0).0 && !passes(lower, 0.2).0);
    // Without a direction it is the value itself that must not move.
    assert!(!passes("", -0.1).0 && passes("", 0.1).0);
}

#[test]
fn a_slow_machine_fails_nothing_where_times_are_not_held() {
    let found = gate(&[slowed(3.0)], None);
    assert!(found.passed, "{}", found.failures());
    let skipped = found.skipped.iter().filter(|skipped| skipped.why.contains("checked on runner `lab` only"));
    assert_eq!(skipped.count(), 2);
}

#[test]
fn a_gate_that_checked_nothing_is_not_passed_in_any_format() {
    let text = "schema = 1\n[[rule]]\ncells = [\"*\"]\nmeasure = \"fid\"\nkind = \"absolute\"\ntolerance = 0.5\nmin_n = 500";
    let rules = Rules::parse("r.toml", text).unwrap();
    let found = check(&rules, &baseline(), &[fixture::summary()], None).unwrap();
    let n = found.skipped.len();
    assert!(!found.passed && found.checks.is_empty() && n > 0);
    assert_eq!(found.failures(), format!("all {n} rules of cells were left out, so nothing was checked"));
    let table = found.table().text(200);
    let head = "NOT CHECKED: fid of 3 cells (32 images, the protocol asks for 500). NOT PASSED: nothing was checked against";
    assert!(table.starts_with(head), "{table}");
    let junit = found.junit();
    let counts = format!("tests=\"{}\" failures=\"0\" errors=\"1\" skipped=\"{n}\"", n + 1);
    assert!(junit.contains(&counts) && junit.contains("<error message=\"NOT PASSED"), "{junit}");
    assert_eq!(junit.matches("<testcase").count(), n + 1);
}

#[test]
fn on_the_named_runner_a_baseline_that_slowed_down_fails_although_every_speedup_rose() {
    let mut run = fixture::summary();
    reading(&mut run.cells[0], "decode_s").value = Some(3.0);
    for cell in &mut run.cells[1..] {
        reading(cell, "speedup").value = reading(cell, "speedup").value.map(|ratio| ratio * 1.5);
        reading(cell, "speedup").ci95 = reading(cell, "speedup").ci95.map(|ends| ends.map(|end| end * 1.5));
    }
    let found = gate(&[run.clone()], Some("lab"));
    assert!(!found.passed);
    let said = found.failures();
    assert!(said.contains("speedup (leg decode_s of ar) of chain: it moved by +50.00 %"), "{said}");
    // A leg that a rerun clears has its reason in JUnit too.
    let again = gate(&[run, fixture::summary()], Some("lab"));
    let junit = again.junit();
    let leg = junit.lines().find(|line| line.contains("leg decode_s of ar") && line.contains("\"chain\""));
    assert!(
        leg.is_some_and(|line| line.contains("<system-out>") && line.contains("it passes in rerun 1")),
        "{junit}"
    );
}

#[test]
fn a_slow_moment_counts_only_when_reruns_confirm_it() {
    let mut slow = fixture::summary();
    reading(&mut slow.cells[1], "speedup").value = Some(1.25);
    reading(&mut slow.cells[1], "speedup").ci95 = Some([1.2, 1.3]);
    let alone = gate(&[slow.clone()], Some("lab"));
    assert!(!alone.passed && alone.reruns_wanted == 2);
    assert!(
        alone.failures().contains("not confirmed, so it counts: reruns asked for 2, given 0"),
        "{}",
        alone.failures()
    );
    let once = gate(&[slow.clone(), fixture::summary(), slow.clone()], Some("lab"));
    assert!(once.passed && once.reruns_wanted == 0, "{}", once.failures());
    assert!(
        once.checks
            .iter()
            .any(|check| check.why.as_ref().is_some_and(|w| w.contains("it passes in rerun 1")))
    );
    assert!(once.junit().contains("it passes in rerun 1"), "{}", once.junit());
    let thrice = gate(&[slow.clone(), slow.clone(), slow], Some("lab"));
    assert!(!thrice.passed && thrice.failures().contains("it fails in 2 reruns too"));
}

#[test]
fn one_rerun_is_no_plural() {
    let rules = Rules::parse("rules.toml", &RULES.replace("confirm = 2", "confirm = 1")).unwrap();
    let mut slow = fixture::summary();
    reading(&mut slow.cells[1], "speedup").ci95 = Some([1.2, 1.3]);
    reading(&mut slow.cells[1], "speedup").value = Some(1.25);
    let twice = check(&rules, &baseline(), &[slow.clone(), slow], Some("lab")).unwrap();
    assert!(twice.failures().contains("it fails in 1 rerun too"), "{}", twice.failures());
}

#[test]
fn another_protocol_a_lost_cell_and_a_lost_value_fail() {
    let mut run = fixture::summary();
    run.cells[1].metrics[0].protocol = "clip@v2".into();
    run.cells[2].metrics[0].value = None;
    run.cells[2].metrics[0].why = Some("no captions".into());
    run.cells.remove(0);
    let said = gate(&[run], None).failures();
    assert!(
        said.contains(
            "clip of chain: its protocol is clip@v2, the baseline's clip@v1: they cannot be compared"
        ),
        "{said}"
    );
    assert!(said.contains("clip of tree: no captions"), "{said}");
    assert!(said.contains("nfe of ar: the run has no such cell"), "{said}");
}

#[test]
fn another_experiment_and_a_rule_for_nothing_are_refused() {
    let rules = Rules::parse("rules.toml", RULES).unwrap();
    let mut run = fixture::summary();
    run.plan_digest = Digest::of(b"another");
    let refused = check(&rules, &baseline(), &[run], None).unwrap_err().to_string();
    assert!(refused.contains("is another experiment than the baseline"), "{refused}");
    // Cells are named where only one of the two has them; settings are shown where both have the cell.
    let mut run = fixture::summary();
    run.plan_digest = Digest::of(b"another");
    let cell = |name: &str, depth: u32| json!({"name": name, "depth": depth});
    let mut old = baseline();
    old.summary.spec = json!({"cells": [cell("ar", 0), cell("gone", 1), cell("tree", 5)]});
    run.spec = json!({"cells": [cell("ar", 0), cell("tree", 6), cell("new-1", 1), cell("new-2", 1)]});
    let refused = check(&rules, &old, &[run], None).unwrap_err().to_string();
    let words = "only the baseline has the cells gone; only the run has the cells new-1, new-2; `cells.tree.depth` was 5, is 6; \
                 run the baseline's spec";
    assert!(refused.contains(words), "{refused}");
    let idle =
        Rules::parse("r", "schema = 1\n[[rule]]\ncells = [\"tre\"]\nmeasure = \"nfe\"\nkind = \"exact\"");
    let refused = check(&idle.unwrap(), &baseline(), &[fixture::summary()], None).unwrap_err();
    assert!(refused.to_string().contains("matches no cell"), "{refused}");
    // One misspelt name beside a right one would never be checked.
    let half =
        "schema = 1\n[[rule]]\ncells = [\"tree\", \"chian\", \"x*\"]\nmeasure = \"nfe\"\nkind = \"exact\"";
    let half = Rules::parse("r", half).unwrap();
    let refused = check(&half, &baseline(), &[fixture::summary()], None).unwrap_err().to_string();
    assert!(refused.contains("`chian`, `x*` of the rule for `nfe` matches no cell"), "{refused}");
    // A misspelt measure would never be checked again.
    let misspelt =
        Rules::parse("r", "schema = 1\n[[rule]]\ncells = [\"*\"]\nmeasure = \"n_faild\"\nkind = \"exact\"");
    let refused =
        check(&misspelt.unwrap(), &baseline(), &[fixture::summary()], None).unwrap_err().to_string();
    assert!(refused.contains("unknown measure `n_faild`, did you mean `n_failed`?"), "{refused}");
    assert!(refused.starts_with("r:4:"), "{refused}");
}

#[test]
fn the_committed_baseline_passes_its_committed_rules_and_says_where_it_comes_from() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../baselines");
    let baseline = Baseline::read(&folder.join("quickstart.json")).unwrap();
    let rules = Rules::read(&folder.join("quickstart.rules.toml")).unwrap();
    let newest = &baseline.history[0];
    assert!(newest.commit.is_some() && newest.dirty == Some(false) && newest.finished.is_some());
    let found = check(&rules, &baseline, std::slice::from_ref(&baseline.summary), None).unwrap();
    assert!(found.passed && found.checks.len() > 20, "{}", found.failures());
    // Half of what the tree accepts lost: its forwards rise, and the gate names the cell on any machine.
    let mut run = baseline.summary.clone();
    let cell = run.cells.iter_mut().find(|cell| cell.id == "eagle1-static13").unwrap();
    reading(cell, "accepted_per_step").value =
        reading(cell, "accepted_per_step").value.map(|accepted| accepted / 2.0);
    reading(cell, "nfe").value = reading(cell, "nfe").value.map(|nfe| nfe * 1.5);
    let said = check(&rules, &baseline, &[run], None).unwrap().failures();
    assert!(
        said.contains("nfe of eagle1-static13") && said.contains("accepted_per_step of eagle1-static13"),
        "{said}"
    );
}

#[test]
fn the_table_for_people_reads_as_printed() {
    assert_snapshot!(gate(&[broken()], None).table().text(160));
}

#[test]
fn the_junit_file_reads_as_printed() {
    assert_snapshot!(gate(&[broken()], None).junit());
}

#[test]
fn a_test_case_keeps_its_name_when_a_tolerance_is_edited_and_no_two_share_one() {
    let names = |rules: &str| -> Vec<String> {
        let rules = Rules::parse("b.rules.toml", rules).unwrap();
        let junit = check(&rules, &baseline(), &[broken()], None).unwrap().junit();
        let names = junit.lines().filter(|line| line.starts_with("<testcase"));
        names.map(|line| line.split('>').next().unwrap().trim_end_matches('/').to_owned()).collect()
    };
    let found = names(RULES);
    assert_eq!(found, names(&RULES.replace("0.05", "0.07")));
    assert!(found.contains(&"<testcase classname=\"tree\" name=\"nfe\"".to_owned()), "{found:?}");
    let again = "[[rule]]\ncells = [\"ar\"]\nmeasure = \"nfe\"\nkind = \"exact\"\n";
    let twice = names(&format!("{RULES}\n{again}"));
    assert!(twice.contains(&"<testcase classname=\"ar\" name=\"nfe (2)\"".to_owned()), "{twice:?}");
}

#[test]
fn what_was_not_checked_is_said_before_anything_passed() {
    let text = gate(&[fixture::summary()], None).table().text(400);
    let first = text.lines().next().unwrap();
    let not_checked =
        "NOT CHECKED: fid of 3 cells (32 images, the protocol asks for 500); speedup of 2 cells (";
    assert!(first.starts_with(not_checked), "{first}");
    assert!(first.ends_with("Passed: 8 of 8 checks against the baseline."), "{first}");
}

#[test]
fn the_json_that_scripts_rely_on_keeps_its_fields() {
    let mut found = gate(&[broken()], None);
    found.checks.truncate(3);
    found.skipped.truncate(1);
    assert_snapshot!(serde_json::to_string_pretty(&found).unwrap());
}

#[test]
fn a_baseline_survives_the_disk_and_a_bare_summary_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("baseline.json");
    write_document(&path, &baseline()).unwrap();
    assert_eq!(Baseline::read(&path).unwrap(), baseline());
    let bare = folder.path().join("summary.json");
    write_document(&bare, &fixture::summary()).unwrap();
    let read = Baseline::read(&bare).unwrap();
    assert_eq!((read.summary, read.history), (fixture::summary(), Vec::new()));
    let mut silent = baseline();
    silent.history[0].reason = " ".into();
    assert!(write_document(&path, &silent).unwrap_err().to_string().contains("reason is empty"));
    assert!(read_document::<Baseline>(&bare).is_err());
    // Cut off in the middle, or with a field that is no number, it is said what to do.
    let text = std::fs::read_to_string(&bare).unwrap();
    std::fs::write(&bare, text.replacen("\"threads\": ", "\"threads\": -", 1)).unwrap();
    let error = Baseline::read(&bare).unwrap_err().to_string();
    assert!(
        error.contains("not a valid summary") && error.contains("; bring the file back from a copy"),
        "{error}"
    );
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let error = Baseline::read(&path).unwrap_err().to_string();
    assert!(
        error.contains("not a valid baseline") && error.contains("; bring the file back from a copy"),
        "{error}"
    );
}

#[test]
fn a_rule_names_cells_with_brackets_and_equal_signs_as_they_are() {
    let mut baseline = baseline();
    baseline.summary.cells.push(fixture::cell("casc[tau_pos=0.85,tau_seq=0.5]", 1.0, 1.2));
    baseline.summary.cells.push(fixture::cell("casc[tau_pos=0.9,tau_seq=0.5]", 1.0, 1.2));
    let held = |pattern: &str| {
        let rule = "measure = \"nfe\"\nkind = \"exact\"";
        let text = format!("schema = 1\n[[rule]]\ncells = [\"{pattern}\"]\n{rule}");
        let rules = Rules::parse("rules.toml", &text).unwrap();
        check(&rules, &baseline, &[baseline.summary.clone()], None).unwrap().checks.len()
    };
    assert_eq!(held("casc[tau_pos=0.85,tau_seq=0.5]"), 1);
    assert_eq!(held("casc[*tau_seq=0.5]"), 2);
}

#[test]
fn rules_to_begin_with_read_back_have_comments_and_pass_their_own_baseline() {
    let mut baseline = baseline();
    baseline.summary.cells.push(fixture::cell("casc[tau_pos=0.85,tau_seq=0.5]", 1.0, 1.2));
    for runner in [None, Some("lab")] {
        let text = starter_rules(&baseline.summary, runner);
        let rules = Rules::parse("b.rules.toml", &text).unwrap_or_else(|why| panic!("{why}\n{text}"));
        for (at, line) in text.lines().enumerate().filter(|(_, line)| *line == "[[rule]]") {
            let before = text.lines().nth(at - 1).unwrap();
            assert!(before.starts_with("# "), "line {at}: {line} has no comment:\n{text}");
        }
        let found = check(&rules, &baseline, &[baseline.summary.clone()], runner).unwrap();
        assert!(found.passed && found.skipped.is_empty(), "{found:#?}");
        assert_eq!(rules.rules.iter().any(|rule| rule.is_time()), runner.is_some(), "{text}");
    }
    assert_snapshot!(starter_rules(&baseline.summary, None));
    // Of another program's images the whole time is what can become slower.
    let mut with_external = baseline.clone();
    let mut external = fixture::cell("painter", 1.0, 1.2);
    external.origin = Some(Origin::External);
    *reading(&mut external, "speedup") = Reading::default();
    with_external.summary.cells.push(external);
    let text = starter_rules(&with_external.summary, Some("lab"));
    let rules = Rules::parse("b.rules.toml", &text).unwrap();
    let mut slower = with_external.summary.clone();
    let whole = reading(slower.cells.last_mut().unwrap(), "speedup_e2e");
    whole.value = whole.value.map(|value| value * 0.5);
    whole.ci95 = whole.ci95.map(|ends| ends.map(|end| end * 0.5));
    let found = check(&rules, &with_external, &[slower], Some("lab")).unwrap();
    let failed: Vec<_> = found
        .checks
        .iter()
        .filter(|check| !check.passed)
        .map(|check| (&*check.cell, &*check.measure))
        .collect();
    assert!(failed.contains(&("painter", "speedup_e2e")) || found.reruns_wanted > 0, "{found:#?}");
    // A cell of which an image failed: every rule can be checked, and holds.
    let last = baseline.summary.cells.last_mut().unwrap();
    last.n_failed = 1;
    last.n_images -= 1;
    last.metrics.iter_mut().for_each(|metric| metric.n -= 1);
    let text = starter_rules(&baseline.summary, None);
    let rules = Rules::parse("b.rules.toml", &text).unwrap();
    let found = check(&rules, &baseline, &[baseline.summary.clone()], None).unwrap();
    assert!(found.passed && found.skipped.is_empty(), "{found:#?}\n{text}");
    // No interval would ever be there, so that any slowdown would fail.
    for cell in &mut baseline.summary.cells {
        reading(cell, "speedup").ci95 = None;
    }
    let text = starter_rules(&baseline.summary, Some("lab"));
    assert!(text.contains("# No rule about times: no speedup of this run has an interval."), "{text}");
    assert!(!Rules::parse("b.rules.toml", &text).unwrap().rules.iter().any(|rule| rule.is_time()), "{text}");
}

#[test]
fn a_rule_for_no_cell_names_its_line_and_the_cells_there_are() {
    let text = "schema = 1\n\n[[rule]]\nmeasure = \"nfe\"\nkind = \"exact\"\ncells = [\"tre\"]\n";
    let rules = Rules::parse("r.toml", text).unwrap();
    let said = check(&rules, &baseline(), &[fixture::summary()], None).unwrap_err().to_string();
    assert!(
        said.starts_with("r.toml:6:9: `tre` of the rule for `nfe`") && said.contains("ar, chain, tree"),
        "{said}"
    );
}

#[test]
fn the_rules_of_the_page_are_rules() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gates.md")).unwrap();
    let blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let rules: Vec<&str> = blocks.filter(|block| block.contains("[[rule]]")).collect();
    assert_eq!(rules.len(), 2, "the grammar and an example of each kind");
    for block in rules {
        let text = if block.contains("schema") { block.to_owned() } else { format!("schema = 1\n{block}") };
        Rules::parse("gates.md", &text).unwrap();
    }
}

#[test]
fn a_refusal_is_an_error_in_junit_and_said_in_markdown() {
    let junit = refused_junit("results/<run>", "another \"experiment\"");
    assert!(junit.contains("errors=\"1\"") && junit.contains("classname=\"results/&lt;run&gt;\""), "{junit}");
    assert!(junit.contains("<error message=\"another &quot;experiment&quot;\"/>"), "{junit}");
    let markdown = refused_markdown("r", "another experiment");
    assert!(
        markdown.contains("REFUSED: run r was not checked") && markdown.contains("another experiment"),
        "{markdown}"
    );
}

#[test]
fn a_failure_shows_the_digits_that_tell_both_values_apart() {
    let rules = Rules::parse(
        "r.toml",
        "schema = 1\n[[rule]]\ncells = [\"tree\"]\nmeasure = \"nfe\"\nkind = \"exact\"",
    )
    .unwrap();
    let mut run = fixture::summary();
    reading(&mut run.cells[2], "nfe").value =
        reading(&mut run.cells[2], "nfe").value.map(|nfe| nfe + 0.000_003);
    let found = check(&rules, &baseline(), &[run], None).unwrap();
    assert!(found.failures().contains("it moved by +0.000003, and may not move"), "{}", found.failures());
    let text = found.table().text(200);
    assert!(text.contains("73.142857") && text.contains("73.142860"), "{text}");
}
