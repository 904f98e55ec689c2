//! `specimen cite`: BibTeX of what a spec or a run is made of.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::support::Desk;

#[test]
fn a_spec_of_the_program_is_cited_as_bibtex_with_a_reason_before_each_entry() {
    let desk = Desk::new();
    let text = desk.succeeds(&["cite", "paper/vvs_table1_stage2_coco"]).out;
    let lines: Vec<&str> = text.lines().collect();
    let entries: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].starts_with('@')).collect();
    assert!(entries.len() > 10, "{text}");
    assert!(entries.iter().all(|&at| lines[at - 1].starts_with("% ")), "{text}");
    for part in [
        "@misc{specimen,",
        "% method vvs\n@inproceedings{dong2026vvs,",
        "protocol lantern",
        "network inception-fid",
    ] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }

    let json = desk.json(&["cite", "vvs_table1_stage2_coco"]);
    let works = json["works"].as_array().unwrap();
    assert_eq!(works.len(), entries.len());
    assert_eq!((&works[0]["key"], &json["schema"]), (&"specimen".into(), &1.into()));
    assert_eq!(works[0]["reasons"][0], "the program that made the measurements");
}

#[test]
fn a_protocol_of_ones_own_names_its_works_or_says_that_it_has_none() {
    let desk = Desk::new();
    let stub = desk.succeeds(&["specs", "show", "ci/stub"]).out;
    let recipe = include_str!("../../../../metrics/protocols/pytorch-fid.toml");
    desk.file("mine.toml", &recipe.replace("seitzer2020", "stein2023"));
    desk.file("bare.toml", &recipe.replace("cite = [\"seitzer2020\"]\n", ""));
    desk.file("wrong.toml", &recipe.replace("seitzer2020", "seitzer2021"));
    let with = |protocol: &str| {
        let metric = format!("\n[[metric]]\nname = \"vendi\"\nprotocol = \"{protocol}\"\n");
        desk.file("spec.toml", &format!("{stub}{metric}"))
    };
    let cited = desk.succeeds(&["cite", &with("mine.toml")]).out;
    assert!(cited.contains("% protocol pytorch-fid\n@inproceedings{stein2023,"), "{cited}");
    let cited = desk.succeeds(&["cite", &with("bare.toml")]).out;
    assert!(cited.contains("% protocol pytorch-fid: a file without `cite`"), "{cited}");
    desk.fails(&["cite", &with("wrong.toml")], 2, &["no work has the key `seitzer2021`", "`seitzer2020`"]);
}

#[test]
fn what_is_neither_a_run_nor_a_spec_is_refused() {
    let desk = Desk::new();
    let none = "no run is in this folder and no spec has this name";
    desk.fails(&["cite", "results/runs/nope"], 2, &["results/runs/nope", none, "specimen specs list"]);
    desk.fails(&["cite", "quickstrat"], 2, &[none, "did you mean the spec `quickstart`?"]);
    desk.file("empty/note.txt", "x");
    desk.fails(&["cite", "empty"], 4, &["empty", "manifest.json"]);
}

#[test]
fn a_run_is_cited_as_its_spec_with_the_metrics_that_were_added_to_it() {
    let desk = Desk::new();
    desk.succeeds(&["run", "ci/stub", "--limit", "2", "--out", "run"]);
    let of_run = desk.succeeds(&["cite", "run"]).out;
    assert_eq!(of_run, desk.succeeds(&["cite", "ci/stub"]).out);
    assert!(of_run.contains("@misc{specimen,") && of_run.contains("model stub"), "{of_run}");
}
