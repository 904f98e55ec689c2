//! GenEval and DPG-Bench: images out, scores back, and the run sealed as before.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{collections::BTreeMap, fs};

use serde_json::{Value, json};

use crate::support::Desk;

/// A prompt of each task, and a second one of the first.
fn metadata() -> Vec<Value> {
    let one = |tag: &str, prompt: &str| json!({ "tag": tag, "include": [{ "class": "vase", "count": 1 }], "prompt": prompt });
    vec![
        one("single_object", "a photo of a vase"),
        one("two_object", "a photo of a vase and a clock"),
        one("counting", "a photo of two clocks"),
        one("colors", "a photo of a red vase"),
        one("position", "a photo of a vase left of a clock"),
        one("color_attr", "a photo of a red vase and a blue clock"),
        one("single_object", "a photo of a clock"),
    ]
}

const SPEC: &str = r#"
schema   = 1
name     = "bench"
seed     = 5
analysis = "Whether scores come back."
[dataset]
name    = "DATASET"
samples = 4
[model]
name  = "stub"
dtype = "f32"
[sampling]
temperature = 1.0
top_k       = 0
top_p       = 1.0
guidance    = 2.0
[timing]
warmup = 0
blocks = 1
[[cell]]
name = "ar"
[[cell]]
name    = "sd-chain2"
drafter = { proposer = "eagle1", shape = "chain", depth = 2 }
"#;

/// A desk with a finished run of these prompts.
fn run_of(file: &str, text: &str) -> Desk {
    let desk = Desk::new();
    let path = desk.file(file, text);
    desk.file("bench.toml", &SPEC.replace("DATASET", &path));
    desk.succeeds(&["run", "bench.toml", "--out", "run"]);
    desk
}

/// The folder of a cell below an export.
fn folder_of(desk: &Desk, out: &str, cell: &str) -> String {
    let names =
        fs::read_dir(desk.path(out)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.into_iter().find(|name| name.starts_with(&format!("{cell}+"))).unwrap()
}

/// What GenEval's script writes of the images in an exported folder; `correct` by prompt and sample.
fn geneval_results(desk: &Desk, folder: &str, correct: impl Fn(usize, u32) -> bool) -> String {
    let mut text = String::new();
    for (number, metadata) in metadata().into_iter().enumerate() {
        for sample in 0..4 {
            let image = format!("out/{folder}/{number:05}/samples/{sample:04}.png");
            assert!(desk.path(&image).is_file(), "{image}");
            let line = json!({
                "filename": image, "tag": metadata["tag"], "prompt": metadata["prompt"], "correct": correct(number, sample),
                "reason": "", "metadata": metadata.to_string(), "details": "{}",
            });
            text += &format!("{line}\n");
        }
    }
    text
}

/// The metrics of a cell in the summary, by name.
fn metrics_of(desk: &Desk, cell: &str) -> BTreeMap<String, Value> {
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(desk.path("run/merged/summary.json")).unwrap()).unwrap();
    let cells = summary["cells"].as_array().unwrap();
    let own = cells.iter().find(|own| own["id"] == cell).unwrap();
    let metrics = own["metrics"].as_array().unwrap().iter();
    metrics.map(|metric| (metric["metric"].as_str().unwrap().to_owned(), metric.clone())).collect()
}

#[test]
fn geneval_scores_come_back_with_intervals_and_the_run_is_sealed_as_before() {
    let lines: String = metadata().iter().map(|line| format!("{line}\n")).collect();
    let desk = run_of("evaluation_metadata.jsonl", &lines);
    let said = desk.succeeds(&["export", "run", "--for", "geneval", "--out", "out"]).out;
    assert!(
        said.contains("python evaluation/evaluate_images.py") && said.contains("import-scores"),
        "{said}"
    );
    let of_ar = folder_of(&desk, "out", "ar");
    let line = fs::read_to_string(desk.path(&format!("out/{of_ar}/00002/metadata.jsonl"))).unwrap();
    assert_eq!(line, lines.lines().nth(2).unwrap().to_owned() + "\n");

    // Of single_object 5 of 8, of the other tasks 2 of 4: (0.625 + 5 * 0.5) / 6.
    let text = geneval_results(&desk, &of_ar, |number, sample| sample < 2 || (number, sample) == (6, 2));
    desk.file("ar.jsonl", &text);
    let said = desk.succeeds(&["import-scores", "run", "ar.jsonl"]).out;
    for part in ["geneval-overall", "geneval-color-attr", "0.5", "(n 28)", "(n 8)"] {
        assert!(said.contains(part), "`{part}` is not in {said}");
    }
    let of_ar_now = metrics_of(&desk, "ar");
    let value = of_ar_now["geneval-overall"]["value"].as_f64().unwrap();
    assert!((value - (0.625 + 2.5) / 6.0).abs() < 1e-12, "{value}");
    assert_eq!(of_ar_now["geneval-single-object"]["value"], 0.625);
    // A task of fewer than six prompts has no interval. Nor has the mean of the tasks where one has a single prompt.
    assert!(of_ar_now["geneval-single-object"]["ci95"].is_null());
    assert!(of_ar_now["geneval-overall"]["ci95"].is_null());
    let why = metrics_of(&desk, "sd-chain2")["geneval-overall"]["why"].as_str().unwrap().to_owned();
    assert!(why.contains("no scores were imported") && why.contains("--for geneval"), "{why}");
    desk.succeeds(&["verify", "run"]);
    let checked = desk.succeeds(&["verify", "--deep", "run"]).out;
    assert!(checked.contains("pass"), "{checked}");

    // The other cell: its difference from the baseline is that of the means of the tasks.
    let of_chain = folder_of(&desk, "out", "sd-chain2");
    desk.file("chain.jsonl", &geneval_results(&desk, &of_chain, |number, _| number == 0));
    let json = desk.json(&["import-scores", "run", "chain.jsonl"]);
    assert_eq!(json["scores"][0]["metric"], "geneval-overall");
    let chain = metrics_of(&desk, "sd-chain2");
    let difference = chain["geneval-overall"]["vs_baseline"]["difference"].as_f64().unwrap();
    assert!((difference - (0.5 / 6.0 - value)).abs() < 1e-12, "{difference}");
    assert_eq!(metrics_of(&desk, "ar")["geneval-overall"]["value"], value);

    // By task: in the report, and in the table of images.
    let said = desk.succeeds(&["report", "run", "--by", "task"]).out;
    assert!(said.contains("single_object") && said.contains("Δ geneval-overall"), "{said}");
    for file in
        ["breakdown-task.md", "breakdown-task-geneval-overall.svg", "breakdown-task-geneval-overall.csv"]
    {
        assert!(desk.path("run/report").join(file).is_file(), "{file}");
    }
    let said = desk.succeeds(&["records", "run", "--by", "task"]).out;
    assert!(said.contains("color_attr") && said.contains("geneval-overall"), "{said}");
    // A report without it takes it away.
    desk.succeeds(&["report", "run"]);
    assert!(!desk.path("run/report/breakdown-task.md").exists());

    // Scored again, and resumed, what was imported stays; a changed file of scores does not.
    desk.succeeds(&["score", "run"]);
    assert_eq!(metrics_of(&desk, "ar")["geneval-overall"]["value"], value);
    let path = desk.path("run/metrics/geneval-overall/ar.json");
    let honest = fs::read_to_string(&path).unwrap();
    fs::write(&path, honest.replacen("0.0", "1.0", 1)).unwrap();
    desk.fails(
        &["import-scores", "run", "ar.jsonl"],
        4,
        &["metrics/geneval-overall/ar.json", "as they were sealed"],
    );
    desk.fails(&["verify", "--deep", "run"], 4, &["geneval-overall"]);
    let said = desk.succeeds(&["score", "run"]).err;
    assert!(said.contains("bring its scores back with `specimen import-scores`"), "{said}");
    assert!(metrics_of(&desk, "ar")["geneval-overall"]["value"].is_null());
    desk.succeeds(&["import-scores", "run", "ar.jsonl"]);
    assert_eq!(metrics_of(&desk, "ar")["geneval-overall"]["value"], value);
    desk.succeeds(&["verify", "run"]);
}

#[test]
fn a_run_that_grows_keeps_imported_scores_only_where_they_are_of_all_images() {
    let lines: String = metadata().iter().map(|line| format!("{line}\n")).collect();
    let desk = run_of("evaluation_metadata.jsonl", &lines);
    desk.succeeds(&["export", "run", "--for", "geneval", "--out", "out"]);
    desk.file("ar.jsonl", &geneval_results(&desk, &folder_of(&desk, "out", "ar"), |number, _| number == 0));
    desk.succeeds(&["import-scores", "run", "ar.jsonl"]);
    let before = metrics_of(&desk, "ar");
    let resume = |more: &[&str]| {
        desk.succeeds(&[&["run", "bench.toml", "--out", "run", "--resume"][..], more].concat())
    };
    let metric = ["--set", "metric=[{ name = \"target-nll\" }]"];
    let said = resume(&metric).err;
    assert!(
        said.contains("stays in the run, though the spec does not name it: imported scores stay"),
        "{said}"
    );
    let now = metrics_of(&desk, "ar");
    assert!(now.contains_key("target-nll") && now["geneval-counting"] == before["geneval-counting"]);
    resume(&[&metric[..], &["--set", "dataset.samples=5"]].concat());
    let now = metrics_of(&desk, "ar");
    for name in ["geneval-overall", "geneval-counting"] {
        let why = now[name]["why"].as_str().unwrap_or_default();
        assert!(now[name]["value"].is_null() && why.contains("of 28 of 35 images"), "{name}: {why}");
    }
    desk.succeeds(&["verify", "run"]);
}

#[test]
fn results_that_do_not_fit_change_nothing() {
    let lines: String = metadata().iter().map(|line| format!("{line}\n")).collect();
    let desk = run_of("evaluation_metadata.jsonl", &lines);
    desk.succeeds(&["export", "run", "--for", "geneval", "--out", "out"]);
    let of_ar = folder_of(&desk, "out", "ar");
    let text = geneval_results(&desk, &of_ar, |_, _| true);
    let seal = || fs::read(desk.path("run/checksums.json")).unwrap();
    let before = seal();
    let other = of_ar.rsplit_once('+').map(|(cell, _)| format!("{cell}+0123456789ab")).unwrap();
    for (text, code, parts) in [
        (text.replace(&of_ar, &other), 4, ["line 1", "of another run"]),
        (
            text.lines().skip(1).map(|line| format!("{line}\n")).collect(),
            4,
            ["1 of 28 images of cell ar", "ar/0/0"],
        ),
        (format!("{text}{}\n", text.lines().next().unwrap()), 4, ["line 29", "on line 1 already"]),
        (text.replacen("counting", "count", 1), 4, ["line 9", "`tag`"]),
        (text.replace("/samples/", "/../"), 4, ["line 1", "FOLDER/00000/samples/0000.png"]),
    ] {
        desk.file("r.jsonl", &text);
        desk.fails(&["import-scores", "run", "r.jsonl"], code, &parts);
    }
    desk.file("r.csv", &text);
    desk.fails(&["import-scores", "run", "r.csv"], 2, &["expected a file of results"]);
    desk.fails(&["import-scores", "run", "none.jsonl"], 4, &["none.jsonl"]);
    desk.fails(&["import-scores", "none", "r.jsonl"], 4, &["none"]);
    assert_eq!(seal(), before);
    desk.succeeds(&["verify", "run"]);
    let parts = ["evaluation_metadata.jsonl", "expected `dpg-bench` or a file like it"];
    desk.fails(&["export", "run", "--for", "dpg", "--out", "new"], 4, &parts);
    assert!(!desk.path("new").exists());
}

#[test]
fn dpg_scores_come_back_by_category() {
    let csv = "\
item_id,text,keywords,proposition_id,dependency,category_broad,category_detailed,tuple,question_natural_language
cups,\"two cups, blue\",,1,0,entity,whole,entity - whole (cups),Are there cups?
cups,\"two cups, blue\",,2,1,attribute,color,\"attribute - color (cups, blue)\",Are the cups blue?
sky,a wide sky,,1,0,global,,global - (sky),Is it a sky?
";
    let desk = run_of("dpg_bench.csv", csv);
    let said = desk.succeeds(&["export", "run", "--for", "dpg", "--out", "out"]).out;
    assert!(said.contains("dist_eval.sh") && said.contains("RESOLUTION is"), "{said}");
    let folder = folder_of(&desk, "out", "ar");
    assert!(desk.path(&format!("out/{folder}/cups.png")).is_file());
    let results = format!(
        "out/{folder}/cups.png, 0.5, 0.5, 1.0, 0.0, 0.5\nout/{folder}/sky.png, 1.0, 1.0, 1.0, 0.0, 0.75\n"
    );
    desk.file("r_results.txt", &format!("{results}Model: x\nDPG-Bench score: 62.5\n"));
    let mut details = String::new();
    for (corner, blue) in
        [("0, 0, 1, 1", "no"), ("1, 0, 2, 1", "no"), ("0, 1, 1, 2", "yes"), ("1, 1, 2, 2", "no")]
    {
        details += &format!("out/{folder}/cups.png, ({corner}), Are the cups blue?, {blue}\n");
    }
    desk.file("r_results_detail.txt", &details);
    let said = desk.succeeds(&["import-scores", "run", "r_results.txt"]).out;
    assert!(said.contains("dpg-attribute") && said.contains("(n 4)"), "{said}");
    let metrics = metrics_of(&desk, "ar");
    assert_eq!(
        (&metrics["dpg-overall"]["value"], &metrics["dpg-attribute"]["value"]),
        (&json!(0.625), &json!(0.25))
    );
    let why = metrics["dpg-entity"]["why"].as_str().unwrap();
    assert!(why.contains("no question about ar is of the category entity"), "{why}");
    desk.succeeds(&["verify", "run"]);

    let three = Desk::new();
    let path = three.file("dpg_bench.csv", csv);
    three.file("bench.toml", &SPEC.replace("DATASET", &path).replace("samples = 4", "samples = 3"));
    three.succeeds(&["run", "bench.toml", "--out", "run"]);
    three.fails(
        &["export", "run", "--for", "dpg", "--out", "out"],
        4,
        &["has 3 images, expected 4", "samples = 4"],
    );
    assert!(!three.path("out").exists());
}
