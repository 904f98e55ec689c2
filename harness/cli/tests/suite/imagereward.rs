//! ImageReward from outside: of folders and of runs, its checkpoint, and what is said when files are missing.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use serde_json::json;
use specimen_extract::imagereward::{self, ImageRewardShape, WordPieces};
use specimen_weights::write_safetensors;

use crate::support::{Desk, spec};

/// A file of a narrow network with made weights, its vocabulary beside it.
fn narrow(desk: &Desk, name: &str) -> String {
    let path = desk.path(name);
    imagereward::write_narrow(&path).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn imagereward_is_of_folders_and_of_runs() {
    let desk = Desk::new();
    let weights = narrow(&desk, "narrow.safetensors");
    let metric =
        format!(r#"metric=[{{ name = "imagereward", protocol = "image-reward", weights = "{weights}" }}]"#);
    let cells = r#"cell=[{ name = "ar" }]"#;
    let stub = spec("ci/stub.toml");
    desk.succeeds(&["run", &stub, "--limit", "3", "--out", "run", "-q", "--set", &metric, "--set", cells]);
    let of_run = desk.document("run/metrics/imagereward%3Aimage-reward/ar.json");
    assert_eq!(of_run["per_item"].as_object().unwrap().len(), 3);
    assert_eq!((&of_run["unit"], &of_run["higher_is_better"]), (&json!("sd"), &json!(true)));

    let captions = desk.captioned("run", "ar");
    let args = ["imagereward", "ar", &captions, "--weights", &weights, "--ci", "--per-image", "t.csv"];
    let measured = desk.json(&args);
    let value = measured["value"].as_f64().unwrap();
    assert!((value - of_run["value"].as_f64().unwrap()).abs() < 1e-6, "{measured} {of_run}");
    assert_eq!(
        (&measured["extractor"], measured["details"]["captions_cut"].as_u64()),
        (&of_run["extractor"], Some(3))
    );
    let identity = measured["extractor"].as_str().unwrap();
    assert!(identity.starts_with("imagereward[64x1,64x1]-reward-f32@"), "{identity}");
    let notes = measured["notes"].to_string();
    assert!(measured["ci95"].is_null() && notes.contains("an interval needs at least 6"), "{measured}");
    let table = desk.text("t.csv");
    assert_eq!((table.lines().next(), table.lines().count()), (Some("id,file,imagereward,caption"), 4));
    let mut table = csv_numbers(&table, 2);
    table.sort_by(f64::total_cmp);
    assert!((table.iter().sum::<f64>() / 3.0 - value).abs() < 1e-9);
    desk.succeeds(&["imagereward", "ar", &captions, "--weights", &weights, "--per-image", "t.parquet"]);
    assert!(desk.path("t.parquet").is_file());
    desk.fails(
        &["imagereward", "ar", &captions, "--weights", &weights, "--protocol", "clipscore"],
        2,
        &["clipscore", "imagereward"],
    );
    desk.succeeds(&["report", "run"]);
    let report = desk.text("run/report/table.csv");
    assert!(report.contains("imagereward:image-reward"), "{report}");
}

/// The numbers in a column of a table without commas in its texts before it.
fn csv_numbers(table: &str, column: usize) -> Vec<f64> {
    table.lines().skip(1).map(|line| line.split(',').nth(column).unwrap().parse().unwrap()).collect()
}

#[test]
fn missing_files_are_said_with_what_fetches_and_converts_them() {
    let desk = Desk::as_data_folder();
    let captions = desk.file("captions.csv", "id,caption\n1,a cat\n");
    fs::create_dir_all(desk.path("a")).unwrap();
    fs::write(desk.path("a/1.ppm"), "P6 1 1 255\nabc").unwrap();
    let args = ["imagereward", "a", &captions, "--no-cache"];
    let parts = [
        "no weights of imagereward: ImageReward.pt of THUDM/ImageReward",
        "`specimen data fetch imagereward`",
        "specimen convert 'ImageReward.pt' '",
    ];
    desk.fails(&args, 4, &parts);
    fs::create_dir_all(desk.path("weights")).unwrap();
    narrow(&desk, "weights/ImageReward.safetensors");
    fs::rename(desk.path("weights/vocab.txt"), desk.path("mine.txt")).unwrap();
    let parts = [
        "no vocab.txt of google-bert/bert-base-uncased (231508 bytes, SHA-256 07eced375cec",
        "for imagereward",
        "`specimen data fetch imagereward`",
    ];
    desk.fails(&args, 4, &parts);
    // One that is not the published one.
    let place = desk.path("weights/google-bert/bert-base-uncased");
    fs::create_dir_all(&place).unwrap();
    fs::rename(desk.path("mine.txt"), place.join("vocab.txt")).unwrap();
    desk.fails(&args, 4, &["vocab.txt", "expected 231508 bytes, found 311"]);
    let protocols = desk.succeeds(&["protocols", "image-reward"]).out;
    assert!(protocols.contains("n-tokens = 35") && protocols.contains("agrees with"), "{protocols}");
    // It makes no features.
    desk.fails(&["fid", "a", "a", "--protocol", "imagereward"], 2, &["imagereward", "no table"]);
}

#[test]
fn the_checkpoint_is_converted_strictly() {
    let desk = Desk::new();
    let n_words = WordPieces::of_characters().lines().count() as i64 + 2;
    let shape = ImageRewardShape::new([64, 1, 128], [64, 1, 128], n_words, 35);
    let mut tensors = imagereward::recipe_tensors(&shape);
    let n_tensors = tensors.len();
    let left_out = [
        "blip.text_encoder.embeddings.position_ids",
        "blip.text_proj.bias",
        "blip.text_proj.weight",
        "blip.vision_proj.bias",
        "blip.vision_proj.weight",
    ];
    let any = tensors["mlp.layers.7.bias"].shallow_clone();
    for name in left_out {
        tensors.insert(name.to_owned(), any.shallow_clone());
    }
    let from = desk.path("ImageReward.safetensors");
    let from = from.to_str().unwrap();
    write_safetensors(from.as_ref(), &tensors).unwrap();
    let report = desk.json(&["convert", from, "out.safetensors", "--model", "imagereward"]);
    assert_eq!((&report["n_tensors"], &report["dropped"]), (&json!(n_tensors), &json!(left_out)));
    // With and without what is left out the file opens, and scores alike.
    fs::write(desk.path("vocab.txt"), WordPieces::of_characters()).unwrap();
    let captions = desk.file("captions.csv", "id,caption\n1,a cat\n");
    fs::create_dir_all(desk.path("a")).unwrap();
    fs::write(desk.path("a/1.ppm"), "P6 2 1 255\nabcdef").unwrap();
    let value =
        |weights: &str| desk.json(&["imagereward", "a", &captions, "--weights", weights])["value"].clone();
    assert_eq!(value(from), value("out.safetensors"));
    tensors.insert("blip.text_decoder.bert.weight".to_owned(), any);
    write_safetensors(from.as_ref(), &tensors).unwrap();
    let parts = ["the recipe imagereward: tensor `blip.text_decoder.bert.weight` is none of the model's"];
    desk.fails(&["convert", from, "x.safetensors", "--model", "imagereward"], 4, &parts);
}
