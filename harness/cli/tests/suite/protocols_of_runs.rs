//! Metrics of a run's images under named protocols: as part of a spec, and of an existing run.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{fs, path::Path};

use serde_json::Value;
use specimen_extract::{
    clip::shape::{ClipLayout, TextShape, VisionShape},
    recipe_weights::write_clip,
    transformer::{Activation, StackShape},
};

use crate::{
    checking::reseal,
    support::{Desk, metric, spec, workspace},
};

const STACK: StackShape =
    StackShape { width: 64, depth: 1, n_heads: 1, mlp: 64, activation: Activation::QuickGelu, eps: 1e-5 };

/// Everything that a CLIP of any width can be asked.
const PROTOCOL: &str = r#"
schema = 1
name = "narrow"
about = "a test"
source = "none"
pixels = [
    { step = "resize", to = { square = 224 }, by = { engine = "pil-u8", filter = "bicubic" } },
    { step = "standardise", subtract = [0, 0, 0], divide = [255, 255, 255] },
]
[network]
name = "clip-vit-b32"
layer = "embedding"
dtype = "f32"
[fid]
ddof = 1
[prdc]
k = 2
rule = "<"
[clip-score]
scaling = "raw-cosine"
"#;

/// Writes a narrow CLIP by recipe, and returns the path.
fn narrow_clip(desk: &Desk) -> String {
    let vision = VisionShape { stack: STACK, patch: 32, grid: 7, n_joint: 16 };
    let text = TextShape { stack: STACK, context: 77, n_vocab: 49_408, n_joint: 16 };
    let path = desk.path("narrow.safetensors");
    write_clip(&path, ClipLayout::OpenAi, &vision, &text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The pixels of CLIP's own preprocessing, the raw cosine, texts as they are.
const PLAIN_CLIP: &str = r#"
schema = 1
name = "plain"
about = "a test"
source = "none"
pixels = [
    { step = "resize", to = { shortest-side = 224 }, by = { engine = "pil-u8", filter = "bicubic" } },
    { step = "centre-crop", side = { pixels = 224 }, offset = "half-even" },
    { step = "standardise", subtract = [0, 0, 0], divide = [255, 255, 255] },
    { step = "standardise", subtract = [0.48145466, 0.4578275, 0.40821073], divide = [0.26862954, 0.26130258, 0.27577711] },
]
[network]
name = "clip-vit-b32"
layer = "embedding"
dtype = "f32"
[clip-score]
scaling = "raw-cosine"
"#;

/// From photos and captions on disk to the number; what transformers makes of the same weights is among the golden
/// values of the feature networks, with the script that made it.
#[test]
fn clip_scores_of_photos_are_those_of_transformers_in_both_layouts() {
    let name = "clip_scores_of_photos_are_those_of_transformers_in_both_layouts";
    let Some(desk) = Desk::with_data(name, "photos/captions_photos40_longest1.json") else { return };
    let golden = workspace("metrics/extract/tests/golden/clip_narrow/expected.json");
    let golden: Value = serde_json::from_slice(&fs::read(golden).unwrap()).unwrap();
    let protocol = desk.file("plain.toml", PLAIN_CLIP);
    let stack = StackShape {
        width: 128,
        depth: 2,
        n_heads: 2,
        mlp: 512,
        activation: Activation::QuickGelu,
        eps: 1e-5,
    };
    let vision = VisionShape { stack, patch: 32, grid: 7, n_joint: 64 };
    let text = TextShape { stack, context: 77, n_vocab: 49_408, n_joint: 64 };
    let (photos, captions) =
        (desk.data("photos/coco_val2017"), desk.data("photos/captions_photos40_longest1.json"));
    for (layout, name) in [(ClipLayout::HuggingFace, "hf"), (ClipLayout::OpenAi, "openai")] {
        let weights = desk.path(&format!("{name}.safetensors"));
        write_clip(&weights, layout, &vision, &text).unwrap();
        let weights = weights.to_str().unwrap();
        let table = format!("{name}.csv");
        let args = ["clip-score", &photos, &captions, "--protocol", &protocol, "--weights", weights];
        let score = desk.json(&[&args[..], &["--per-image", &table]].concat());
        let cosines: Vec<f64> = serde_json::from_value(golden[format!("{name}_cosines")].clone()).unwrap();
        let mean = cosines.iter().sum::<f64>() / 40.0;
        let value = score["value"].as_f64().unwrap();
        assert!((value - mean).abs() < 1e-6, "{name}: {value}, transformers {mean}");
        // Picture by picture, under its own id.
        let ids: Vec<u64> = serde_json::from_value(golden["ids"].clone()).unwrap();
        let table = desk.text(&table);
        for (id, expected) in ids.iter().zip(&cosines) {
            let row = table.lines().find(|row| row.starts_with(&format!("{id},"))).unwrap();
            let found: f64 = row.split(',').nth(2).unwrap().parse().unwrap();
            assert!((found - expected).abs() < 1e-6, "{name}, {id}: {found}, transformers {expected}");
        }
    }
}

fn metric_file(run: &Path, value: &str, cell: &str) -> Value {
    // A colon is percent-encoded, as everything in such a name that a file system may refuse.
    let path = run.join("metrics").join(value.replace(':', "%3A")).join(format!("{cell}.json"));
    serde_json::from_slice(&fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))).unwrap()
}

fn value_of(summary: &Value, cell: &str, name: &str) -> Value {
    metric(summary, cell, name)["value"].clone()
}

fn summary(run: &Path) -> Value {
    serde_json::from_slice(&fs::read(run.join("merged/summary.json")).unwrap()).unwrap()
}

#[test]
fn a_run_is_scored_under_a_protocol_as_its_folders_are() {
    let desk = Desk::new();
    let (protocol, weights) = (desk.file("narrow.toml", PROTOCOL), narrow_clip(&desk));
    desk.made(&["--limit", "5"], "run");
    let run = desk.path("run");
    desk.images_by_cell("run");
    let of_ar = desk.path("ar");
    let score = |protocol: &str| {
        let real = of_ar.to_str().unwrap();
        let mut args = vec!["score", "run", "--protocol", protocol, "--real", real, "--weights", &weights];
        args.extend(["--metric", "fid,prdc", "--min-n", "2", "-q"]);
        desk.succeeds(&args);
    };
    score(&protocol);
    // More neighbours than images: that metric has a reason in place of its values, and the others have theirs.
    score(&desk.file("wide.toml", &PROTOCOL.replace("\"narrow\"", "\"wide\"").replace("k = 2", "k = 9")));
    let without = metric_file(&run, "recall:wide", "sd-chain2");
    let why = without["why"].as_str().unwrap_or_default();
    assert!(
        without["value"].is_null() && why.contains("needs at least 10") && !why.contains("run"),
        "{without:#}"
    );
    assert!(metric_file(&run, "fid:wide", "sd-chain2")["value"].is_number());
    let summary = summary(&run);
    let itself = value_of(&summary, "ar", "fid:narrow").as_f64().unwrap();
    assert!(itself.abs() < 1e-9, "{itself}");
    assert_eq!(value_of(&summary, "ar", "recall:narrow"), 1.0);
    let alone = |metric: &str| {
        desk.json(&[metric, "ar", "sd-chain2", "--protocol", &protocol, "--weights", &weights])
    };
    let fid = alone("fid");
    let of_run = value_of(&summary, "sd-chain2", "fid:narrow").as_f64().unwrap();
    let apart = (of_run - fid["value"].as_f64().unwrap()).abs();
    assert!(of_run > 1e-6 && apart < 1e-6 * of_run, "{of_run} in the run, {fid}");
    assert_eq!(metric_file(&run, "fid:narrow", "sd-chain2")["protocol"], fid["protocol"]);
    assert_eq!(metric_file(&run, "fid:narrow", "sd-chain2")["notes"][0], fid["notes"][0]);
    for value in alone("prdc").as_array().unwrap() {
        let name = format!("{}:narrow", value["metric"].as_str().unwrap());
        assert_eq!(value_of(&summary, "sd-chain2", &name), value["value"], "{name}");
    }
    // What was there before is there still, and a second metric joins the first.
    assert!(value_of(&summary, "ar", "fid:narrow").is_number());
    desk.succeeds(&["verify", "run"]);

    // Changed values are found though every digest is made again.
    desk.succeeds(&["verify", "--deep", "run"]);
    let file = run.join("metrics/fid%3Anarrow/sd-chain2.json");
    let whole = fs::read_to_string(&file).unwrap();
    let digest = fid["protocol"].as_str().unwrap().rsplit('@').next().unwrap();
    let value = |text: &str| text.replacen("\"value\": ", "\"value\": 1", 1);
    let other = |text: &str| text.replace(digest, "0123456789ab");
    for (change, expected) in [
        (&value as &dyn Fn(&str) -> String, "summary.json: it is not what the rows give: `cells."),
        (&other, "`protocol`: expected narrow@"),
    ] {
        fs::write(&file, change(&whole)).unwrap();
        reseal(&run);
        let ran = desk.run(&["verify", "--deep", "run"]);
        assert!(ran.code == 4 && ran.out.contains(expected), "{expected}: {}", ran.out);
    }
}

#[test]
fn a_run_that_is_continued_keeps_the_metrics_that_score_added() {
    let desk = Desk::new();
    let (protocol, weights) = (desk.file("narrow.toml", PROTOCOL), narrow_clip(&desk));
    let run = |limit: &str, out: &str| {
        desk.succeeds(&["run", &spec("ci/stub.toml"), "--limit", limit, "--resume", "--out", out])
    };
    desk.made(&["--limit", "5"], "run");
    desk.images_by_cell("run");
    let real = desk.path("ar");
    let score = |out: &str| {
        let real = real.to_str().unwrap();
        let args = ["score", out, "--protocol", &protocol, "--real", real, "--weights", &weights];
        desk.succeeds(&[&args[..], &["--metric", "fid", "--min-n", "2", "-q"]].concat());
    };
    score("run");
    let of_run = |out: &str| metric_file(&desk.path(out), "fid:narrow", "sd-chain2");
    let before = of_run("run");

    // Nothing is left to make, and a report was not drawn yet: the metric is in the table.
    let said = run("5", "run");
    assert!(said.err.contains("nothing is left to do") && said.out.contains("fid:narrow"), "{}", said.err);

    // Of more images it is that of a run made at once.
    let said = run("8", "run");
    let stays = "fid:narrow stays in the run, though the spec does not name it: it is computed again, over all images";
    assert!(said.err.contains(stays) && said.out.contains("fid:narrow"), "{}", said.err);
    run("8", "whole");
    score("whole");
    assert_eq!(of_run("run"), of_run("whole"));
    assert_eq!((&before["n"], &of_run("run")["n"]), (&5.into(), &8.into()));
    desk.succeeds(&["verify", "run"]);
    desk.succeeds(&["verify", "--deep", "run"]);

    // What cannot be computed any more is said, with the command that computes it.
    fs::rename(&weights, desk.path("away")).unwrap();
    let said = run("9", "run");
    assert!(said.err.contains("warning: fid:narrow stays in the run"), "{}", said.err);
    let file = of_run("run");
    let why = file["why"].as_str().unwrap_or_default();
    let command =
        format!("`specimen score run --metric fid --protocol {protocol} --real {} ", real.display());
    assert!(file["value"].is_null() && why.contains(&command) && why.contains(" --min-n 2`"), "{file:#}");
    assert!(value_of(&summary(&desk.path("run")), "ar", "fid:narrow").is_null());
    desk.succeeds(&["verify", "run"]);
    fs::rename(desk.path("away"), &weights).unwrap();
    score("run");
    assert_eq!((&of_run("run")["n"], &of_run("run")["why"]), (&9.into(), &Value::Null));
}

#[test]
fn prompts_are_the_captions_of_a_runs_images() {
    let name = "prompts_are_the_captions_of_a_runs_images";
    let Some(desk) = Desk::with_data(name, "tokenizers/bpe_simple_vocab_16e6.txt.gz") else { return };
    let (protocol, weights) = (desk.file("narrow.toml", PROTOCOL), narrow_clip(&desk));
    let metric =
        format!("metric=[{{ name = \"clip-score\", protocol = {protocol:?}, weights = {weights:?} }}]");
    desk.succeeds(&["run", &spec("ci/stub.toml"), "--limit", "4", "--set", &metric, "--out", "run", "-q"]);
    let run = desk.path("run");
    let file = metric_file(&run, "clip-score:narrow", "ar");
    let per_item = file["per_item"].as_object().unwrap();
    let mean = per_item.values().map(|value| value.as_f64().unwrap()).sum::<f64>() / 4.0;
    assert!(per_item.len() == 4 && (mean - file["value"].as_f64().unwrap()).abs() < 1e-12, "{file:#}");
    // The same pairs by hand.
    let captions = desk.captioned("run", "ar");
    let args = ["clip-score", "ar", &captions, "--protocol", &protocol, "--weights", &weights];
    let alone = desk.json(&args)["value"].as_f64().unwrap();
    assert!((alone - mean).abs() < 1e-6, "{alone} alone, {mean} in the run");
    assert!(value_of(&summary(&run), "ar", "clip-score:narrow").is_number());
}

#[test]
fn a_metric_that_cannot_be_computed_stops_a_run_before_its_first_image() {
    let desk = Desk::new();
    let protocol = desk.file("narrow.toml", PROTOCOL);
    let run = |metric: &str, code: i32, parts: &[&str]| {
        let metric = format!("metric=[{metric}]");
        desk.fails(&["run", &spec("ci/stub.toml"), "--set", &metric, "--out", "run"], code, parts);
        assert!(!desk.path("run").exists());
    };
    run("{ name = \"fid\" }", 3, &["no `protocol`"]);
    // With the line to write.
    run(
        "{ name = \"hpsv2.1\" }",
        3,
        &["no `protocol`", "`protocol = \"hpsv2.1\"` is that of `specimen hpsv2.1`"],
    );
    run("{ name = \"lpips\" }", 3, &["`protocol = \"lpips-alex\"` is that of `specimen lpips`"]);
    run("{ name = \"fid\", protocol = \"clean\" }", 3, &["no `real`"]);
    run("{ name = \"target-nll\", protocol = \"clean\" }", 3, &["`target-nll` has no `protocol`"]);
    run(&format!("{{ name = \"is\", protocol = {protocol:?} }}"), 2, &["`narrow`", "tf1"]);
    let unknown = "metric=[{ name = \"psnr\", protocol = \"psnr\" }]";
    desk.fails(&["plan", &spec("ci/stub.toml"), "--set", unknown], 2, &["`psnr`", "skimage"]);
    let absent = "{ name = \"fid\", protocol = \"clean\", real = \"val2017\" }";
    run(absent, 4, &["pt_inception-2015-12-05-6726825d.pth"]);
}

#[test]
fn what_score_cannot_do_is_said() {
    let desk = Desk::new();
    desk.made(&["--limit", "2"], "run");
    desk.fails(&["score", "run", "--protocol", "clean"], 2, &["fid under clean", "--real"]);
    desk.fails(
        &["score", "run", "--protocol", "clean", "--metric", "cmmd"],
        2,
        &["no protocol given defines `cmmd`"],
    );
    desk.fails(&["score", "nowhere"], 4, &["nowhere"]);
    // An option that would change nothing.
    desk.fails(
        &["score", "run", "--min-n", "2"],
        2,
        &["--min-n is for distances", "must name; leave it out"],
    );
    desk.fails(&["score", "run", "--metric", "target-nll", "--device", "cpu"], 3, &["leave --device out"]);
    let skimage = ["score", "run", "--protocol", "skimage"];
    for (option, value) in [("--weights", "w.safetensors"), ("--real", "pictures"), ("--device", "cpu")] {
        let said = format!("{option} is for ");
        desk.fails(&[&skimage[..], &[option, value]].concat(), 2, &[&said, "leave it out"]);
    }
    desk.succeeds(&["score", "run", "-q"]);
}

#[test]
fn a_metric_that_failed_does_not_stay_in_the_run() {
    let desk = Desk::new();
    let (protocol, weights) = (desk.file("narrow.toml", PROTOCOL), narrow_clip(&desk));
    desk.made(&["--limit", "5"], "run");
    let statistics = workspace("metrics/stats/tests/golden/a_pytorch_fid_compressed.npz");
    let statistics = statistics.to_str().unwrap();
    let fails = |metrics: &str, code: i32, parts: &[&str]| {
        let args = ["score", "run", "--protocol", &protocol, "--weights", &weights, "--min-n", "2"];
        desk.fails(&[&args[..], &["--real", statistics, "--metric", metrics]].concat(), code, parts);
    };
    let manifest = desk.text("run/manifest.json");
    // Told before anything is scored.
    fails("fid,prdc", 2, &["prdc needs features", "leave prdc out"]);
    assert_eq!(desk.text("run/manifest.json"), manifest);
    desk.succeeds(&["verify", "run"]);
    // Told when it is met: 64 features a row, where the narrow network has 16.
    fails("fid", 4, &["64"]);
    let spec = |text: &str| serde_json::from_str::<Value>(text).unwrap()["spec"].clone();
    assert_eq!(spec(&desk.text("run/manifest.json")), spec(&manifest));
    desk.succeeds(&["score", "run", "-q"]);
    desk.succeeds(&["verify", "run"]);
}

#[test]
fn a_distance_of_few_images_is_asked_for_by_name_and_keeps_its_least_number() {
    let desk = Desk::new();
    let alone = r#"cell=[{ name = "ar" }]"#;
    let smoke = spec("ci/smoke.toml");
    desk.succeeds(&["run", &smoke, "--limit", "2", "--set", alone, "--out", "run", "-q"]);
    let value = |args: &[&str]| {
        desk.succeeds(&[&["score", "run", "-q"], args].concat());
        value_of(&summary(&desk.path("run")), "ar", "fd-scenes").as_f64()
    };
    let found = value(&["--metric", "fd-scenes", "--min-n", "2"]);
    assert!(found.is_some_and(f64::is_finite), "{found:?}");
    // What is not said again stays.
    assert_eq!(value(&["--metric", "fd-scenes,target-nll"]), found);
    assert_eq!(value(&["--metric", "fd-scenes", "--min-n", "3"]), None);
    assert_eq!(value(&["--metric", "fd-scenes"]), None);
}

#[test]
fn what_a_reader_must_know_of_a_metric_is_in_its_file_the_summary_the_report_and_the_check() {
    let desk = Desk::new();
    let (protocol, weights) = (desk.file("narrow.toml", PROTOCOL), narrow_clip(&desk));
    let caption = specimen_datasets::scenes::Scene::new(0, 0).caption();
    let mut table = String::from("id,prompt,seconds\n");
    fs::create_dir(desk.path("images")).unwrap();
    for id in 0..3 {
        let image = desk.path(&format!("images/{id}.png"));
        image::RgbImage::from_pixel(64, 64, image::Rgb([9, 50, 9])).save(image).unwrap();
        table += &format!("{id},\"{caption}\",1.0\n");
    }
    let table = desk.file("times.csv", &table);
    let known = "--model tiny --dtype f32 --temperature 1 --top-k 0 --top-p 1 --guidance 1 --cell them";
    let import = ["import", "images", "--table", &table, "--name", "there", "--out", "run", "-q"];
    let known: Vec<&str> = known.split(' ').collect();
    desk.succeeds(&[&import[..], &known].concat());
    desk.succeeds(&["score", "run", "--metric", "scene-clip", "-q"]);
    desk.succeeds(&["score", "run", "--metric", "fd-scenes", "--min-n", "2", "-q"]);
    let real = desk.path("images");
    let real = real.to_str().unwrap();
    let score = ["score", "run", "--protocol", &protocol, "--real", real, "--weights", &weights];
    let said = desk.succeeds(&[&score[..], &["--metric", "fid", "--min-n", "2"]].concat()).out;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");

    let run = desk.path("run");
    let page = fs::read_to_string(run.join("report/index.html")).unwrap();
    let checked = desk.json(&["verify", "--deep", "run"]);
    let summary = summary(&run);
    let of_cell = &summary["cells"][0]["metrics"];
    for (value, expected) in [
        ("scene-clip", vec!["scene-clip: all 3 scores are equal"]),
        ("fd-scenes", vec!["fd-scenes: all rows are equal"]),
        (
            "fid:narrow",
            vec![
                "vouches for its weights: narrow.safetensors",
                "images: all rows",
                "images of them: all rows",
            ],
        ),
    ] {
        let file = metric_file(&run, value, "them");
        let notes: Vec<&str> =
            file["notes"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
        let kept = of_cell.as_array().unwrap().iter().find(|one| one["metric"] == value).unwrap();
        assert_eq!(kept["notes"], file["notes"]);
        for expected in expected {
            let note = notes.iter().find(|note| note.contains(expected));
            let note = note.unwrap_or_else(|| panic!("`{expected}` is not in {notes:?}"));
            let note = format!("them: {note}");
            let is_on_page = page.contains(&note.replace('/', "&#x2f;"));
            assert!(said.contains(&note) && is_on_page, "`{note}` is not in {said}");
            assert!(checked["notes"].as_array().unwrap().contains(&note.as_str().into()), "{checked:#}");
        }
    }
    // A note that was taken out is missed.
    let file = run.join("metrics/scene-clip/them.json");
    let mut without: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    without.as_object_mut().unwrap().remove("notes");
    fs::write(&file, serde_json::to_vec(&without).unwrap()).unwrap();
    reseal(&run);
    desk.fails(&["verify", "--deep", "run"], 4, &["summary.json: it is not what the rows give", "notes"]);
}
