//! The images of several runs in one table, on the stub network.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{collections::BTreeSet, fs};

use crate::support::Desk;

fn stub(desk: &Desk, name: &str, more: &[&str]) {
    let named = format!("name=\"{name}\"");
    desk.made(&[&["--limit", "6", "--set", &named], more].concat(), name);
}

#[test]
fn images_of_runs_and_of_files_stand_in_one_table_whole() {
    let desk = Desk::new();
    stub(&desk, "a", &[]);
    stub(&desk, "b", &["--set", "seed=7"]);
    let reported = desk.json(&["records", "a", "b", "--out", "both.parquet"]);
    let n_images = desk.text("a/merged/records.jsonl").lines().count();
    assert_eq!(reported["images"], 2 * n_images);
    // A file in the place of its run, and the file again: the same bytes.
    desk.succeeds(&["records", "a", "--out", "a.parquet"]);
    desk.succeeds(&["records", "a.parquet", "b", "--out", "again.parquet"]);
    desk.succeeds(&["records", "both.parquet", "--out", "thrice.parquet"]);
    let bytes = |name: &str| desk.bytes(name);
    assert!(bytes("both.parquet") == bytes("again.parquet"));
    assert!(bytes("both.parquet") == bytes("thrice.parquet"));
    desk.succeeds(&["records", "both.parquet", "--out", "both.csv"]);
    let csv = desk.text("both.csv");
    assert_eq!(csv.lines().count(), 1 + 2 * n_images);
    assert!(csv.starts_with("run,plan_digest,cell,identity,model,"), "{csv}");

    // The means of the table are those of the run's own.
    let table = desk.succeeds(&["records", "a", "--layout", "csv"]).out;
    let summary = desk.document("a/merged/summary.json");
    for cell in summary["cells"].as_array().unwrap() {
        let id = cell["id"].as_str().unwrap();
        let row = table.lines().find(|line| line.starts_with(&format!("a,{id},"))).unwrap();
        let nfe: f64 = row.split(',').nth(4).unwrap().parse().unwrap();
        assert!(
            (nfe - cell["measures"]["nfe"]["value"].as_f64().unwrap()).abs() < 0.06,
            "{row} {}",
            cell["measures"]["nfe"]["value"]
        );
        // An untimed cell has no time, as in the run's own table.
        let decode_s: Result<f64, _> = row.split(',').nth(6).unwrap().parse();
        assert_eq!(decode_s.is_ok(), id != "quality", "{row}");
    }
}

#[test]
fn what_does_not_belong_into_one_table_is_refused_with_the_reason() {
    let desk = Desk::new();
    stub(&desk, "a", &[]);
    desk.fails(&["records", "a", "a"], 1, &["both hold a run `a`", "`OTHER=a`"]);
    let table = desk.succeeds(&["records", "a", "again=a", "--layout", "csv"]).out;
    assert!(table.contains("\na,ar,") && table.contains("\nagain,ar,"), "{table}");
    stub(&desk, "warm", &["--set", "sampling.temperature=0.5"]);
    let both = ["records", "a", "warm"];
    desk.fails(&both, 1, &["cell ar is `", "T 1 ", "in run a", "T 0.5 ", "--mix identity"]);
    desk.succeeds(&[&both[..], &["--mix", "identity"]].concat());

    stub(&desk, "elsewhere", &[]);
    let edit = |name: &str, from: &str, to: &str| {
        let path = desk.path(name);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    };
    edit("elsewhere/merged/summary.json", "\"threads\": 1", "\"threads\": 3");
    desk.fails(&["records", "a", "elsewhere"], 4, &["summary.json: the file: the digest is"]);
    let both = ["records", "a", "elsewhere", "--unverified"];
    desk.fails(&both, 1, &["times of run a are from", "(1 thread)", "run elsewhere from", "--mix device"]);
    desk.succeeds(&[&both[..], &["--mix", "device"]].concat());
    desk.fails(&[&both[..], &["--mix", "colour"]].concat(), 2, &["colour"]);
}

#[test]
fn a_metric_by_two_protocols_is_refused_and_told_apart_where_it_is_wanted() {
    let desk = Desk::new();
    for name in ["a", "b"] {
        stub(&desk, name, &[]);
        let plan = fs::read_to_string(desk.path(name).join("plan.json")).unwrap();
        let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
        let key = plan["items"][0]["key"].as_str().unwrap();
        let file = serde_json::json!({
            "schema": 1, "protocol": format!("mine-{name}"), "cell": "ar", "metric": "mine", "value": 0.5,
            "ci95": null, "n": 1, "unit": "", "higher_is_better": true, "why": null, "extractor": null,
            "per_item": { key: 0.5 }, "extra": {},
        });
        fs::create_dir_all(desk.path(name).join("metrics/mine")).unwrap();
        fs::write(desk.path(name).join("metrics/mine/ar.json"), file.to_string()).unwrap();
    }
    // One image has the score and the others lack it.
    let means = desk.succeeds(&["records", "a", "--unverified", "--layout", "csv"]).out;
    let of = |line: &str| means.lines().find(|known| known.starts_with(line)).unwrap().to_owned();
    let at = of("run,").split(',').position(|column| column == "mine").unwrap();
    assert_eq!(of("a,ar").split(',').nth(at), Some("–"), "{means}");
    let said = desk.succeeds(&["records", "a", "--unverified"]).out;
    assert!(said.contains("No mean of mine@mine-a for ar of a: it has values of 1 of"), "{said}");
    let both = ["records", "a", "b", "--out", "both.csv", "--unverified"];
    desk.fails(&both, 1, &["mine was computed by mine-a for a and by mine-b for b", "--mix protocol"]);
    assert!(!desk.path("both.csv").exists());
    desk.succeeds(&[&both[..], &["--mix", "protocol"]].concat());
    let head = desk.text("both.csv");
    assert!(head.lines().next().unwrap().ends_with("score:mine@mine-a,score:mine@mine-b"), "{head}");
}

#[test]
fn files_that_are_no_such_tables_are_named() {
    let desk = Desk::new();
    desk.fails(&["records", "nothing"], 4, &["nothing"]);
    desk.file("text.parquet", "not columns");
    desk.fails(&["records", "text.parquet"], 4, &["text.parquet: not a table of images"]);
    stub(&desk, "a", &[]);
    desk.fails(&["records", "a", "--out", "a.xlsx"], 2, &["a.xlsx", ".parquet or .csv"]);
    desk.succeeds(&["records", "a", "--out", "a.parquet"]);
    let whole = desk.bytes("a.parquet");
    for cut in [0, 3, whole.len() / 2, whole.len() - 1] {
        fs::write(desk.path("cut.parquet"), &whole[..cut]).unwrap();
        desk.fails(&["records", "cut.parquet"], 4, &["cut.parquet: not a table of images"]);
    }
}

#[test]
fn a_swept_parameter_is_a_column_by_which_means_are_grouped() {
    let desk = Desk::new();
    stub(&desk, "a", &["--sweep", "cell.sd-chain2.drafter.depth=1,4"]);
    desk.succeeds(&["records", "a", "--out", "a.csv"]);
    let csv = desk.text("a.csv");
    // Texts with commas are before the settings and after the cell.
    let head = csv.lines().next().unwrap();
    let from_end = head.split(',').rev().position(|column| column == "param:depth").unwrap();
    let cell_and_depth = |line: &'_ str| {
        (line.split(',').nth(2).unwrap().to_owned(), line.rsplit(',').nth(from_end).unwrap().to_owned())
    };
    let depths: BTreeSet<(String, String)> = csv.lines().skip(1).map(cell_and_depth).collect();
    let wanted = [("ar", ""), ("quality", "3"), ("sd-chain2[depth=1]", "1"), ("sd-chain2[depth=4]", "4")];
    let wanted = wanted.map(|(cell, depth)| (cell.to_owned(), depth.to_owned()));
    assert_eq!(depths, wanted.into());

    // The Parquet file has the same column.
    desk.succeeds(&["records", "a", "--out", "a.parquet"]);
    desk.succeeds(&["records", "a.parquet", "--out", "again.csv"]);
    assert_eq!(desk.text("again.csv"), csv);

    let table = desk.succeeds(&["records", "a", "--by", "depth", "--layout", "csv"]).out;
    let keys = table.lines().map(|line| line.split(',').take(4).collect::<Vec<_>>().join(","));
    let rows = ["a,ar,,6", "a,sd-chain2,1,6", "a,sd-chain2,4,6", "a,quality,3,6"];
    let found: Vec<String> = keys.filter(|key| key.starts_with("a,")).collect();
    assert_eq!(found.len(), 4, "{table}");
    assert!(rows.iter().all(|row| found.iter().any(|key| key == row)), "{table}");
    let apart = desk.succeeds(&["records", "a", "--by", "depth,cell", "--layout", "csv"]).out;
    assert!(apart.contains("a,sd-chain2[depth=1],1,6"), "{apart}");

    // Of a grid of two parameters, a row a value of the one is over all values of the other.
    let grid =
        ["--sweep", "cell.sd-chain2.drafter.depth=1,4", "--sweep", "cell.sd-chain2.sampling.top_k=0,9"];
    stub(&desk, "grid", &grid);
    let table = desk.succeeds(&["records", "grid", "--by", "depth", "--layout", "csv"]).out;
    assert_eq!(table.lines().filter(|line| line.starts_with("grid,sd-chain2")).count(), 2, "{table}");
    assert!(table.contains("grid,sd-chain2,1,12,") && table.contains("grid,sd-chain2,4,12,"), "{table}");
    let shown = desk.succeeds(&["records", "grid", "--by", "depth"]).out;
    assert!(shown.contains("A row is over all cells that axes made of one cell"), "{shown}");
    desk.fails(&["records", "a", "--by", "colour"], 2, &["no column `colour`", "depth"]);
    for column in ["nfe", "decode_s", "e2e_s"] {
        desk.fails(&["records", "a", "--by", column], 2, &[&format!("no groups by `{column}`"), "its mean"]);
    }
    desk.fails(&["records", "grid", "--by", "dept"], 2, &["no column `dept`", "did you mean `depth`?"]);
}

#[test]
fn means_are_grouped_by_the_category_that_the_dataset_gives_a_prompt() {
    let desk = Desk::new();
    let line =
        |text: &str, category: &str| format!("{{\"prompt\": \"{text}\", \"category\": \"{category}\"}}\n");
    let prompts = [line("a dog", "Animals"), line("a car", "Vehicles"), line("a cat", "Animals")].concat();
    let dataset = format!("dataset.name={:?}", desk.file("prompts.jsonl", &prompts));
    stub(&desk, "a", &["--set", &dataset]);
    let table = desk.succeeds(&["records", "a", "--by", "category", "--layout", "csv"]).out;
    for row in ["a,ar,Animals,2,0,", "a,ar,Vehicles,1,0,", "a,quality,Animals,2,0,"] {
        assert!(table.lines().any(|line| line.starts_with(row)), "{row}: {table}");
    }
    // A misspelt name means a fact that the prompts have, and none that they lack.
    desk.fails(&["records", "a", "--by", "catgory"], 2, &["catgory", "did you mean `category`?"]);
    let ran = desk.run(&["records", "a", "--by", "chalenge"]);
    assert!(ran.code == 2 && !ran.err.contains("`challenge`"), "{}", ran.err);
    // A file keeps the column, so that it needs the dataset no more.
    desk.succeeds(&["records", "a", "--by", "category", "--out", "a.parquet"]);
    fs::remove_file(desk.path("prompts.jsonl")).unwrap();
    assert_eq!(desk.succeeds(&["records", "a.parquet", "--by", "category", "--layout", "csv"]).out, table);
    desk.fails(&["records", "a", "--by", "category"], 3, &["prompts.jsonl"]);
    let none = "no image has a value of `challenge`, so there is nothing to group by";
    desk.fails(&["records", "a.parquet", "--by", "challenge"], 2, &[none]);
}
