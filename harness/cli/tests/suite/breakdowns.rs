//! Scores by facts of the prompts through `report --by`: challenges of PartiPrompts and supercategories of COCO.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{collections::BTreeMap, fs};

use serde_json::{Value, json};

use crate::support::{Desk, spec};

/// A run of the stub network over a dataset at `path`, with a score of every image.
fn run(desk: &Desk, path: &str) {
    let dataset = format!("dataset={{ name = {path:?} }}");
    let stub = spec("ci/stub.toml");
    let scored = r#"metric=[{ name = "target-nll" }]"#;
    desk.succeeds(&["run", &stub, "--out", "run", "-q", "--set", &dataset, "--set", scored]);
}

/// Rows of the breakdown's CSV by group and cell: prompts, value and difference from the baseline.
fn rows(desk: &Desk, fact: &str) -> BTreeMap<(String, String), (u64, f64, Option<f64>)> {
    let path = desk.path(&format!("run/report/breakdown-{fact}-target-nll.csv"));
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heads = lines.next().unwrap();
    let at = |name: &str| heads.iter().position(|head| *head == name).unwrap_or_else(|| panic!("{heads:?}"));
    let places = [fact, "cell", "prompts", "value", "difference"].map(at);
    let row = |line: Vec<&str>| {
        let [group, cell, n, value, difference] = places.map(|at| line[at]);
        let numbers = (n.parse().unwrap(), value.parse().unwrap(), difference.parse().ok());
        ((group.to_owned(), cell.to_owned()), numbers)
    };
    lines.map(row).collect()
}

/// What the metric's own file says of the images of a cell, by prompt.
fn scores(desk: &Desk, cell: &str) -> BTreeMap<String, f64> {
    let file = desk.bytes(&format!("run/metrics/target-nll/{cell}.json"));
    let file: Value = serde_json::from_slice(&file).unwrap();
    let prompt = |key: &str| key.split('/').nth(1).unwrap().to_owned();
    let per_item = file["per_item"].as_object().unwrap();
    per_item.iter().map(|(key, score)| (prompt(key), score.as_f64().unwrap())).collect()
}

/// The breakdown has a row of each group and cell, with the mean of the images of its prompts.
#[track_caller]
fn check(desk: &Desk, fact: &str, groups: &[(&str, &[&str])]) {
    let rows = rows(desk, fact);
    assert_eq!(rows.len(), 3 * groups.len(), "{rows:?}");
    let baseline = scores(desk, "ar");
    for cell in ["ar", "sd-chain2", "quality"] {
        let scores = scores(desk, cell);
        for (group, prompts) in groups {
            let (n, value, difference) = rows[&((*group).to_owned(), cell.to_owned())];
            let mean = |of: &BTreeMap<String, f64>| {
                prompts.iter().map(|prompt| of[*prompt]).sum::<f64>() / prompts.len() as f64
            };
            assert_eq!(n, prompts.len() as u64, "{group} {cell}");
            assert!((value - mean(&scores)).abs() < 1e-9, "{group} {cell}: {value} {scores:?}");
            // An untimed cell has a baseline too.
            assert_eq!(difference.is_some(), cell != "ar", "{group} {cell}");
            let expected = mean(&scores) - mean(&baseline);
            assert!(difference.is_none_or(|found| (found - expected).abs() < 1e-9), "{group} {cell}");
        }
    }
}

#[test]
fn scores_are_broken_down_by_the_challenge_of_partiprompts() {
    let desk = Desk::new();
    let row = |text: &str, challenge: &str| format!("{text}\tAnimals\t{challenge}\t\n");
    let rows = [
        row("a dog", "Basic"),
        row("two dogs", "Quantity"),
        row("a cat", "Basic"),
        // Without a challenge it is in no group.
        row("a cat and a dog", ""),
        row("three cats", "Quantity"),
    ];
    let path = desk.file("prompts.tsv", &format!("Prompt\tCategory\tChallenge\tNote\n{}", rows.concat()));
    run(&desk, &path);
    let said = desk.succeeds(&["report", "run", "--by", "challenge"]).out;
    for part in ["challenge", "Basic", "Quantity", "Δ target-nll"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    check(&desk, "challenge", &[("Basic", &["0", "2"]), ("Quantity", &["1", "4"])]);
    assert!(desk.path("run/report/breakdown-challenge-target-nll.svg").is_file());
    // A fact that no prompt has is said, and is no figure.
    let ran = desk.run(&["report", "run", "--by", "task"]);
    assert!(ran.err.contains("no breakdown by task: no prompt of the run has a task"), "{}", ran.err);
    assert!(!desk.path("run/report/breakdown-task-target-nll.svg").exists());
}

#[test]
fn scores_are_broken_down_by_the_supercategories_of_the_objects_in_cocos_images() {
    let desk = Desk::as_data_folder();
    let caption =
        |image: u32| json!({ "id": image + 100, "image_id": image, "caption": format!("caption {image}") });
    let all = [1, 2, 3, 4].map(caption);
    let captions = json!({ "annotations": all });
    let path = desk.file("captions.json", &captions.to_string());
    run(&desk, &path);
    // The file is not here: the breakdown is refused with the command that fetches it.
    desk.fails(&["report", "run", "--by", "supercategory"], 4, &["`specimen data fetch coco2017-instances`"]);
    // As many objects as the published file has, most of them in images that the run does not have.
    let object = |image: usize, category: u32| json!({ "image_id": image, "category_id": category });
    let category = |id: u32, name: &str, over: &str| json!({ "id": id, "name": name, "supercategory": over });
    let categories =
        [category(17, "cat", "animal"), category(18, "dog", "animal"), category(2, "bicycle", "vehicle")];
    let write = |n_objects: usize| {
        let mut objects = vec![object(1, 17), object(1, 18), object(2, 2), object(3, 17), object(3, 2)];
        objects.extend((objects.len()..n_objects).map(|at| object(1000 + at, 2)));
        let instances = json!({ "categories": categories, "annotations": objects });
        desk.file("coco/annotations/instances_val2017.json", &instances.to_string());
    };
    write(36_781);
    let said = desk.succeeds(&["report", "run", "--by", "supercategory"]).out;
    assert!(said.contains("animal") && said.contains("vehicle"), "{said}");
    // Image 3 counts in both, image 4 has no object.
    check(&desk, "supercategory", &[("animal", &["1", "3"]), ("vehicle", &["2", "3"])]);
    // A file of another number of objects is not the published one.
    write(36_780);
    desk.fails(&["report", "run", "--by", "supercategory"], 4, &["36781", "36780"]);
}
