//! Scores of GenEval and DPG-Bench: into the run, which is sealed as before.

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

/// Scores of GenEval for a cell's images; `correct` by prompt and sample.
fn geneval_scores(cell: &str, correct: impl Fn(usize, u32) -> bool) -> String {
    let mut text = String::new();
    for (number, metadata) in metadata().into_iter().enumerate() {
        for sample in 0..4 {
            let (image, score) = (format!("{cell}/{number}/{sample}"), u8::from(correct(number, sample)));
            let line = json!({ "image": image, "score": score, "group": metadata["tag"] });
            text += &format!("{line}\n");
        }
    }
    text
}

const IMPORT: [&str; 5] = ["import-scores", "run", "--metric", "geneval", "scores.jsonl"];

/// The metrics of a cell in the summary, by name.
fn metrics_of(desk: &Desk, cell: &str) -> BTreeMap<String, Value> {
    let summary = desk.document("run/merged/summary.json");
    let cells = summary["cells"].as_array().unwrap();
    let own = cells.iter().find(|own| own["id"] == cell).unwrap();
    let metrics = own["metrics"].as_array().unwrap().iter();
    metrics.map(|metric| (metric["metric"].as_str().unwrap().to_owned(), metric.clone())).collect()
}

#[test]
fn geneval_scores_come_back_with_intervals_and_the_run_is_sealed_as_before() {
    let lines: String = metadata().iter().map(|line| format!("{line}\n")).collect();
    let desk = run_of("evaluation_metadata.jsonl", &lines);
    // Of single_object 5 of 8, of the other tasks 2 of 4: (0.625 + 5 * 0.5) / 6.
    let of_ar = geneval_scores("ar", |number, sample| sample < 2 || (number, sample) == (6, 2));
    desk.file("scores.jsonl", &of_ar);
    let said = desk.succeeds(&IMPORT).out;
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
    assert!(why.contains("no scores were imported") && why.contains("--metric geneval"), "{why}");
    desk.succeeds(&["verify", "run"]);
    let checked = desk.succeeds(&["verify", "--deep", "run"]).out;
    assert!(checked.contains("pass"), "{checked}");

    // The other cell: its difference from the baseline is that of the means of the tasks.
    desk.file("scores.jsonl", &geneval_scores("sd-chain2", |number, _| number == 0));
    let json = desk.json(&IMPORT);
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
    desk.file("scores.jsonl", &of_ar);
    desk.fails(&IMPORT, 4, &["metrics/geneval-overall/ar.json", "as they were sealed"]);
    desk.fails(&["verify", "--deep", "run"], 4, &["geneval-overall"]);
    let said = desk.succeeds(&["score", "run"]).err;
    assert!(said.contains("bring its scores back with `specimen import-scores`"), "{said}");
    assert!(metrics_of(&desk, "ar")["geneval-overall"]["value"].is_null());
    desk.succeeds(&IMPORT);
    assert_eq!(metrics_of(&desk, "ar")["geneval-overall"]["value"], value);
    desk.succeeds(&["verify", "run"]);
}

#[test]
fn a_run_that_grows_keeps_imported_scores_only_where_they_are_of_all_images() {
    let lines: String = metadata().iter().map(|line| format!("{line}\n")).collect();
    let desk = run_of("evaluation_metadata.jsonl", &lines);
    desk.file("scores.jsonl", &geneval_scores("ar", |number, _| number == 0));
    desk.succeeds(&IMPORT);
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
fn scores_that_do_not_fit_change_nothing() {
    let lines: String = metadata().iter().map(|line| format!("{line}\n")).collect();
    let desk = run_of("evaluation_metadata.jsonl", &lines);
    let text = geneval_scores("ar", |_, _| true);
    let without_first: String = text.lines().skip(1).map(|line| format!("{line}\n")).collect();
    let first = text.lines().next().unwrap();
    let seal = || desk.bytes("run/checksums.json");
    let before = seal();
    for (text, parts) in [
        (text.replace("ar/", "eagle/"), ["line 1: ", "the run has no image eagle/0/0"]),
        (text.replacen("ar/0/0", "ar/0/4", 1), ["line 1: ", "no image ar/0/4"]),
        (text.replacen("ar/0/0", "ar/0/00", 1), ["line 1: ", "ar/0/00"]),
        (without_first, ["1 of 28 images of cell ar have no score", "the first is ar/0/0"]),
        (format!("{text}{first}\n"), ["line 29: ", "ar/0/0 has a score above already"]),
        (text.replacen("counting", "count", 4), ["line 9: ", "geneval-counting, geneval-colors"]),
        (text.replacen("counting", "position", 1), ["line 10: ", "of group `position`, found `counting`"]),
        (text.replacen(",\"group\":\"counting\"", "", 4), ["4 of 28 images", "no score with a group"]),
        (text.replacen("\"score\":1", "\"score\":true", 1), ["line 1: ", "expected f64"]),
        (text.replacen("\"score\":1", "\"score\":1e999", 1), ["line 1: ", "out of range"]),
        ("[1]\n".to_owned(), ["line 1: ", "nothing was imported"]),
        ("\n".to_owned(), ["no score is in the file", "scores.jsonl"]),
    ] {
        desk.file("scores.jsonl", &text);
        desk.fails(&IMPORT, 4, &parts);
    }
    // A file cannot take a terminal over, nor fill it.
    let hostile = text.replacen("ar/0/0", &format!("\\u001b[2J{}", "x".repeat(10_000)), 1);
    desk.file("scores.jsonl", &hostile);
    let said = desk.run(&IMPORT).err;
    assert!(said.contains("line 1: ") && !said.contains('\u{1b}') && said.len() < 1_500, "{said}");
    for (args, code, part) in [
        (["import-scores", "run", "--metric", "geneval", "none.jsonl"], 4, "none.jsonl"),
        (["import-scores", "none", "--metric", "geneval", "scores.jsonl"], 4, "none"),
        (["import-scores", "run", "--metric", "fid", "scores.jsonl"], 2, "[possible values: dpg, geneval]"),
        (["export", "run", "--for", "geneval", "--quiet"], 2, "docs/benchmarks.md"),
    ] {
        desk.fails(&args, code, &[part]);
    }
    let gone = desk.run(&["export", "run", "--for", "dpg", "--format", "json"]);
    let said: Value = serde_json::from_str(&gone.err).unwrap();
    assert!(gone.code == 2 && said.to_string().contains("`specimen export` is gone"), "{said}");
    assert_eq!(seal(), before);
    desk.succeeds(&["verify", "run"]);
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
    let mut scores = "image,score,value,prompt\n".to_owned();
    for (sample, cups, sky) in [(0, 0.5, 1), (1, 0.5, 1), (2, 1.0, 1), (3, 0.0, 0)] {
        scores +=
            &format!("ar/cups/{sample},{cups},,\"two cups, blue\"\nar/sky/{sample},{sky},,a wide sky\n");
        scores += &format!("ar/cups/{sample},{},attribute,\n", u8::from(sample == 2));
    }
    desk.file("scores.csv", &scores);
    let import = ["import-scores", "run", "--metric", "dpg", "scores.csv"];
    let said = desk.succeeds(&import).out;
    assert!(said.contains("dpg-attribute") && said.contains("(n 4)"), "{said}");
    let metrics = metrics_of(&desk, "ar");
    assert_eq!(
        (&metrics["dpg-overall"]["value"], &metrics["dpg-attribute"]["value"]),
        (&json!(0.625), &json!(0.25))
    );
    assert_eq!(metrics["dpg-overall"]["protocol"], "TencentQQGYLab/ELLA");
    let why = metrics["dpg-entity"]["why"].as_str().unwrap();
    assert!(why.contains("no score of ar is of dpg-entity"), "{why}");
    desk.succeeds(&["verify", "run"]);
    desk.file("scores.csv", &scores.replacen(",0.5,", ",nan,", 1));
    desk.fails(&import, 4, &["line 2: ", "expected a finite score, found NaN"]);
    desk.file("scores.csv", "image,scores\nar/cups/0,1\n");
    desk.fails(&import, 4, &["line 2: ", "missing field `score`"]);
}
