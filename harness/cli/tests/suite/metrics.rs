//! The metrics over any two sets: what they print, and what they refuse. None needs weights.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{fs, path::Path};

use serde_json::Value;
use specimen_extract::{
    aesthetic::{self, AestheticName},
    clip::shape::{ClipLayout, ClipShapes},
    recipe_weights::{clip_tensors, write_clip},
};
use specimen_weights::write_safetensors;

use crate::support::{Desk, spec, workspace};

fn golden(name: &str) -> String {
    workspace("metrics/stats/tests/golden").join(name).to_str().unwrap().to_owned()
}

/// A `.npy` of `rows`, `[n, d]`.
fn features(desk: &Desk, name: &str, d: usize, rows: &[f32]) -> String {
    let shape = format!("({}, {d})", rows.len() / d);
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut file = b"\x93NUMPY\x01\0".to_vec();
    file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    file.extend(header.bytes());
    file.extend(rows.iter().flat_map(|value| value.to_le_bytes()));
    std::fs::write(desk.path(name), file).unwrap();
    name.to_owned()
}

fn two_sets(desk: &Desk) -> [String; 2] {
    let real = features(desk, "real.npy", 2, &[0., 0., 2., 0., 0., 2., 2., 2.]);
    [real, features(desk, "generated.npy", 2, &[3., 0., 7., 0., 3., 4., 7., 4.])]
}

/// Two sets of which about half lies in the other's surroundings.
fn spread_sets(desk: &Desk) -> [String; 2] {
    let rows = |shift: f32| (0..48).map(|k| (k * k % 31) as f32 + shift * (k % 3) as f32).collect::<Vec<_>>();
    [features(desk, "spread.npy", 2, &rows(0.0)), features(desk, "other.npy", 2, &rows(9.0))]
}

/// A file of a narrow CLIP ViT-L/14 and a head of the aesthetic predictor with made weights.
fn made_aesthetic(desk: &Desk) -> String {
    let ClipShapes { vision, text, .. } = ClipShapes::L14.narrow();
    let mut tensors = clip_tensors(ClipLayout::OpenAi, &vision, &text);
    tensors.extend(aesthetic::recipe_tensors(AestheticName::SacLogosAva1Linear));
    let path = desk.path("aesthetic.safetensors");
    write_safetensors(&path, &tensors).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_aesthetic_score_is_of_folders_and_of_runs() {
    let desk = Desk::new();
    desk.fails(
        &["aesthetic", "a", "--no-cache"],
        4,
        &["no weights of aesthetic-sac-logos-ava1", "`specimen data fetch aesthetic-sac-logos-ava1`"],
    );
    let weights = made_aesthetic(&desk);
    let metric = format!(
        r#"metric=[{{ name = "aesthetic", protocol = "improved-aesthetic-predictor", weights = "{weights}" }}]"#
    );
    let cells = r#"cell=[{ name = "ar" }]"#;
    let spec = spec("ci/stub.toml");
    desk.succeeds(&["run", &spec, "--limit", "3", "--out", "run", "-q", "--set", &metric, "--set", cells]);
    let of_run = desk.document("run/metrics/aesthetic%3Aimproved-aesthetic-predictor/ar.json");
    assert_eq!(of_run["per_item"].as_object().unwrap().len(), 3);
    desk.images_by_cell("run");
    let args = ["aesthetic", "ar", "--weights", &weights, "--ci", "--per-image", "t.csv"];
    let measured = desk.json(&args);
    assert_eq!(measured["value"], of_run["value"]);
    assert_eq!(measured["extractor"], of_run["extractor"]);
    let identity = measured["extractor"].as_str().unwrap();
    assert!(identity.starts_with("clip-vit-l14[") && identity.contains(" + aesthetic-sac-logos-ava1-f32@"));
    let table = desk.text("t.csv");
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!((rows[0], rows.len()), ("file,aesthetic", 4));
    let sum: f64 = rows[1..].iter().map(|row| row.rsplit(',').next().unwrap().parse::<f64>().unwrap()).sum();
    assert!((sum / 3.0 - measured["value"].as_f64().unwrap()).abs() < 1e-12);
    desk.fails(&args, 2, &["t.csv"]);
}

#[test]
fn scores_of_preference_are_of_folders_and_of_runs() {
    let name = "scores_of_preference_are_of_folders_and_of_runs";
    let Some(desk) = Desk::with_data(name, "tokenizers/bpe_simple_vocab_16e6.txt.gz") else { return };
    let weights = desk.path("narrow.safetensors");
    let ClipShapes { vision, text, .. } = ClipShapes::H14.narrow();
    write_clip(&weights, ClipLayout::OpenAi, &vision, &text).unwrap();
    let weights = weights.to_str().unwrap();
    let of = |metric: &str, protocol: &str| {
        format!(r#"{{ name = "{metric}", protocol = "{protocol}", weights = "{weights}" }}"#)
    };
    let metrics = [
        ("pickscore", "pickscore"),
        ("hpsv2.0", "hpsv2.0-no-antialias"),
        ("hpsv2.1", "hpsv2.1"),
        ("hpsv2.1", "hpsv2.1-no-antialias"),
    ];
    let list = metrics.map(|(metric, protocol)| of(metric, protocol)).join(", ");
    let (metric, cells) = (format!("metric=[{list}]"), r#"cell=[{ name = "ar" }]"#);
    let args = ["run", &spec("ci/stub.toml"), "--limit", "3", "--out", "run", "-q"];
    desk.succeeds(&[&args[..], &["--set", &metric, "--set", cells]].concat());
    let captions = desk.captioned("run", "ar");
    let mut values = Vec::new();
    for (metric, protocol) in metrics {
        let of_run = desk.document(&format!("run/metrics/{metric}%3A{protocol}/ar.json"));
        assert_eq!(of_run["per_item"].as_object().unwrap().len(), 3, "{of_run:#}");
        assert_eq!(of_run["higher_is_better"], true);
        let table = format!("{protocol}.csv");
        let args = [metric, "ar", &captions, "--protocol", protocol, "--weights", weights];
        let alone = desk.json(&[&args[..], &["--per-image", &table, "--ci"]].concat());
        let value = alone["value"].as_f64().unwrap();
        assert!((value - of_run["value"].as_f64().unwrap()).abs() < 1e-6, "{alone} {of_run}");
        assert_eq!(alone["protocol"], of_run["protocol"]);
        let table = desk.text(&table);
        let head = format!("id,file,{metric},caption");
        assert_eq!((table.lines().next(), table.lines().count()), (Some(head.as_str()), 4));
        values.push(value);
    }
    // Pixels with and without antialiasing are others.
    assert_ne!(values[2], values[3]);
    desk.succeeds(&["report", "run"]);
    let report = desk.text("run/report/table.csv");
    assert!(report.contains("hpsv2.1:hpsv2.1") && report.contains("pickscore:pickscore"), "{report}");
}

#[test]
fn absent_weights_of_a_score_of_preference_are_said_with_what_fetches_and_converts_them() {
    let desk = Desk::new();
    for (metric, network, file) in [
        ("pickscore", "pickscore-v1", "model.safetensors of yuvalkirstain/PickScore_v1"),
        ("hpsv2.0", "hps-v2.0", "HPS_v2_compressed.pt"),
        ("hpsv2.1", "hps-v2.1", "HPS_v2.1_compressed.pt"),
    ] {
        let captions = desk.file("captions.csv", "id,caption\n1,a cat\n");
        fs::create_dir_all(desk.path("a")).unwrap();
        fs::write(desk.path("a/1.ppm"), "P6 1 1 255\nabc").unwrap();
        let fetch = format!("`specimen data fetch {network}`");
        let absent = format!("no weights of {network}");
        let parts = [absent.as_str(), fetch.as_str(), file, "specimen convert '"];
        desk.fails(&[metric, "a", &captions, "--no-cache"], 4, &parts);
    }
}

#[test]
fn the_json_of_a_distance_is_what_scripts_rely_on() {
    let desk = Desk::new();
    let [real, generated] = two_sets(&desk);
    let ran = desk.succeeds(&["fid", &real, &generated, "--format", "json"]);
    assert_eq!(ran.err, "");
    let expected = r#"{
  "schema": 1,
  "metric": "fid",
  "value": VALUE,
  "ci95": null,
  "protocol": "pytorch-fid@3ccdd880c4f6",
  "n": [
    4,
    4
  ],
  "extractor": null,
  "made_by": [
    "unknown",
    "unknown"
  ],
  "notes": [
    "real.npy: 4 NOTE",
    "generated.npy: 4 NOTE"
  ],
  "details": {
    "mean_term": 17.0,
    "covariance_term": COVARIANCE
  }
}
"#;
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    let (value, covariance) = (&found["value"], &found["details"]["covariance_term"]);
    assert!((value.as_f64().unwrap() - 17.0 - 8.0 / 3.0).abs() < 1e-12);
    let note = "pictures or rows; a distance of fewer than 2,048 is biased upwards by much, compare it only with \
                distances of equally many";
    let expected = expected.replace("NOTE", note);
    let expected =
        expected.replace("VALUE", &value.to_string()).replace("COVARIANCE", &covariance.to_string());
    assert_eq!(ran.out, expected);
}

#[test]
fn prdc_is_a_list_and_the_others_are_objects_of_the_same_keys() {
    let desk = Desk::new();
    let (a, b) = (golden("a.npy"), golden("b.npy"));
    let four = desk.json(&["prdc", &a, &b]);
    let names: Vec<&Value> = four.as_array().unwrap().iter().map(|one| &one["metric"]).collect();
    assert_eq!(names, ["precision", "recall", "density", "coverage"]);
    let kid = desk.json(&["kid", &a, &b]);
    let cmmd = desk.json(&["cmmd", &a, &b]);
    let vendi = desk.json(&["vendi", &a]);
    let is = desk.json(&["is", &a]);
    let clip = desk.json(&["clip-score", &a, &a]);
    for one in [&four[0], &kid, &cmmd, &vendi, &is, &clip] {
        let keys: Vec<&str> = one.as_object().unwrap().keys().map(String::as_str).take(7).collect();
        assert_eq!(keys, ["schema", "metric", "value", "ci95", "protocol", "n", "extractor"]);
        assert!(one["value"].is_f64(), "{one}");
    }
    assert_eq!(vendi["n"], serde_json::json!([300]));
    assert!((clip["value"].as_f64().unwrap() - 2.5).abs() < 1e-9);
}

#[test]
fn an_interval_lies_about_the_value_when_it_is_asked_for() {
    let desk = Desk::new();
    let (a, b) = (golden("a.npy"), golden("b.npy"));
    for command in ["fid", "kid", "cmmd"] {
        let measured = desk.json(&[command, &a, &b, "--ci"]);
        let value = measured["value"].as_f64().unwrap();
        let ends = [0, 1].map(|end| measured["ci95"][end].as_f64().unwrap());
        assert!(ends[0] < value && value < ends[1], "{measured}");
    }
    // Few rows: Student's t alone would leave the range of a share.
    let [real, generated] = spread_sets(&desk);
    for one in desk.json(&["prdc", &real, &generated, "--ci"]).as_array().unwrap() {
        let ends = [0, 1].map(|end| one["ci95"][end].as_f64().unwrap());
        assert!(ends[0] <= ends[1], "{one}");
        if one["metric"] != "density" {
            assert!(0.0 <= ends[0] && ends[1] <= 1.0, "{one}");
        }
    }
    let statistics = golden("b_pytorch_fid_compressed.npz");
    desk.fails(&["fid", &a, &statistics, "--ci"], 2, &["b_pytorch_fid_compressed.npz", "needs features"]);
}

#[test]
fn the_help_of_an_interval_is_that_of_the_metric() {
    let desk = Desk::new();
    for (command, part) in [
        ("fid", "20 groups of rows are left out in turn"),
        ("clip-score", "a BCa bootstrap over the captions"),
        ("kid", "of the estimate over all pairs"),
        ("prdc", "shares are cut to 0 and 1"),
    ] {
        let help = desk.succeeds(&[command, "--help"]).out;
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(part), "{command}: {help}");
    }
    assert!(!desk.succeeds(&["stats", "--help"]).out.contains("--ci"));
}

#[test]
fn people_read_value_counts_and_protocol() {
    let desk = Desk::new();
    let text = desk.succeeds(&["fid", &golden("a.npy"), &golden("b.npy")]).out;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "fid        2.7690685");
    assert!(text.contains("300 and 256"), "{text}");
    assert!(text.contains("pytorch-fid@3ccdd880c4f6"), "{text}");
    assert!(text.contains("unknown (features or statistics as given)"), "{text}");
}

#[test]
fn saved_statistics_stand_for_their_side() {
    let desk = Desk::new();
    let (a, b) = (golden("a.npy"), golden("b.npy"));
    let first = desk.json(&["fid", &a, &b, "--save-stats", "a.npz"]);
    let again = desk.json(&["fid", "a.npz", &b]);
    let difference = first["value"].as_f64().unwrap() - again["value"].as_f64().unwrap();
    assert!(difference.abs() < 1e-9 && again["n"] == first["n"]);
    let written = desk.json(&["stats", &a, &b, "-o", "both.npz"]);
    assert!(written["holds"].as_str().unwrap().starts_with("mean and covariance of 556 rows of 64"));
    desk.succeeds(&["stats", &a, "-o", "feats.npz", "--kind", "features"]);
    // One rule for every file that is written: what is there stays.
    let before = desk.bytes("a.npz");
    let parts = ["a.npz: is there already", "--force"];
    desk.fails(&["stats", &b, "-o", "a.npz"], 2, &parts);
    desk.fails(&["fid", &b, &a, "--save-stats", "a.npz"], 2, &parts);
    assert_eq!(desk.bytes("a.npz"), before);
    desk.succeeds(&["stats", &b, "-o", "a.npz", "--force"]);
    desk.succeeds(&["fid", &a, &b, "--save-stats", "a.npz", "--force"]);
    assert_eq!(desk.bytes("a.npz"), before);
    let value = desk.json(&["kid", "feats.npz", &b])["value"].clone();
    assert_eq!(value, desk.json(&["kid", &a, &b])["value"]);
}

#[test]
fn what_makes_no_sense_is_refused_with_the_reason() {
    let desk = Desk::new();
    let (a, b) = (golden("a.npy"), golden("b.npy"));
    desk.fails(&["fid", &a, &b, "--protocol", "pytorch_fid"], 2, &["`pytorch_fid`", "torchmetrics-1.8"]);
    desk.fails(
        &["fid", &a, &b, "--protocol", "clipscore"],
        2,
        &["has no table `[fid]`", "protocols that have one: clean"],
    );
    desk.fails(
        &["fid", &a, &b, "--protocol", "no.toml"],
        4,
        &["no.toml: cannot read: there is no such file"],
    );
    let broken = desk.file("mine.toml", "schema = 1\nnam = \"x\"\n");
    desk.fails(&["fid", &a, &b, "--protocol", &broken], 3, &["mine.toml", "nam"]);
    desk.fails(&["fid", "nowhere", &b], 4, &["nowhere: cannot be read"]);
    desk.fails(&["fid", &a, &golden("expected.json")], 4, &["expected.json", "a folder, a .zip archive"]);
    desk.fails(&["kid", &a, &golden("b_pytorch_fid_compressed.npz")], 2, &["kid needs features"]);
    let narrow = features(&desk, "narrow.npy", 2, &[0., 0., 1., 1.]);
    desk.fails(&["fid", &a, &narrow], 4, &["narrow.npy: 2 features a row", "has 64"]);
    desk.fails(&["fid", &a, &b, "--batch", "0"], 2, &["--batch"]);
    desk.fails(&["stats", &a, "-o", "a.npz", "--ci"], 2, &["`--ci`"]);
    for out in ["a.txt", "a", "a.npy"] {
        desk.fails(&["stats", &a, "-o", out], 2, &["known by the ending .npz"]);
        desk.fails(&["fid", &a, &b, "--save-stats", out], 2, &["known by the ending .npz"]);
        assert!(!desk.path(out).exists());
    }
    desk.fails(&["stats", "nowhere", "-o", "no/a.npz"], 6, &["no/a.npz: cannot write"]);
    let captions = desk.file("captions.csv", "id,caption\n2,a dog\n");
    let nowhere = ["clip-score", "nowhere", &captions, "--per-image", "no/p.csv"];
    desk.fails(&nowhere, 6, &["no/p.csv: cannot write"]);
    desk.fails(&["clip-score", &a, &a, "--caption", "first"], 2, &["a.npy holds embeddings", "`--caption`"]);
    desk.fails(
        &["clip-score", &a, &a, "--per-image", "x.csv"],
        2,
        &["a.npy holds embeddings", "`--per-image`"],
    );
    desk.file("p.csv", "mine");
    let mine = ["clip-score", "nowhere", &captions, "--per-image", "p.csv"];
    desk.fails(&mine, 2, &["p.csv: is there already", "--force"]);
    desk.fails(&["fid", &a, &b, "--force"], 2, &["required arguments were not provided"]);
    desk.fails(&["clip-score", &a, &captions], 2, &["a.npy: holds features", "needs pictures"]);
    let ran = desk.run(&["fid", &a]);
    assert_eq!(ran.code, 2);
}

#[test]
fn settings_of_a_metric_change_the_digest_and_say_so() {
    let desk = Desk::new();
    let (a, b) = (golden("a.npy"), golden("b.npy"));
    let subsets = ["--subset-size", "40", "--subsets", "20", "--seed", "2020"];
    let args = [&["kid", &a, &b, "--protocol", "tf1"], &subsets[..]].concat();
    let ran = desk.succeeds(&args);
    assert!(ran.err.contains("tf1+subset-size-40+subsets-20 is another recipe than tf1"), "{}", ran.err);
    assert!(
        ran.out.contains("subset_size") && ran.out.contains("tf1+subset-size-40+subsets-20@"),
        "{}",
        ran.out
    );
    desk.fails(&["kid", &a, &b, "--protocol", "tf1"], 4, &["take a smaller subset"]);
    desk.fails(&["kid", &a, &b, "--subset-size", "40"], 2, &["over all pairs", "take `tf1`"]);
    let of_k = |k: &str| desk.json(&["prdc", &a, &b, "-k", k])[0].clone();
    assert_eq!(of_k("5")["protocol"], desk.json(&["prdc", &a, &b])[0]["protocol"]);
    assert_eq!(of_k("3")["details"]["k"], 3);
    assert!(of_k("3")["protocol"].as_str().unwrap().starts_with("prdc+k-3@"));
}

#[test]
fn one_command_measures_all_of_a_protocol_and_names_what_has_no_value() {
    let desk = Desk::new();
    let (a, b) = (golden("a.npy"), golden("b.npy"));
    let args = ["metrics", &a, &b, "--protocol", "pytorch-fid"];
    let names = |values: &Value| -> Vec<String> {
        let metrics = values.as_array().unwrap().iter().map(|one| one["metric"].as_str().unwrap().to_owned());
        metrics.collect()
    };
    let values = desk.json(&args);
    assert_eq!(names(&values), ["fid", "kid", "vendi"]);
    assert_eq!(values[1], desk.json(&["kid", &a, &b]));
    // Subsets of 1,000 of 300 rows, and features of another layer than that of the logits.
    let args = ["metrics", &a, &b, "--format", "json"];
    let ran = desk.run(&args);
    assert_eq!(ran.code, 5, "{}", ran.err);
    let values: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(names(&values), ["fid", "precision", "recall", "density", "coverage"]);
    assert!(
        ran.err.contains("take a smaller subset") && ran.err.contains("`logits-unbiased`"),
        "{}",
        ran.err
    );
    let text = desk.run(&["metrics", &a, &b, "--subset-size", "40"]);
    assert!(text.out.contains("\n\nkid "), "{}", text.out);
    assert_eq!(text.err.matches("is biased upwards").count(), 2, "{}", text.err);
}

#[test]
fn a_protocol_file_of_ones_own_has_the_digest_of_its_recipe() {
    let desk = Desk::new();
    let text = std::fs::read_to_string(workspace("metrics/protocols/sjd.toml")).unwrap();
    let mine = desk.file("mine.toml", &text.replace("name = \"sjd\"", "name = \"mine\""));
    let (a, b) = (golden("a.npy"), golden("b.npy"));
    let measured = desk.json(&["fid", &a, &b, "--protocol", &mine]);
    let sjd = desk.json(&["fid", &a, &b, "--protocol", "sjd"]);
    let digest =
        |measured: &Value| measured["protocol"].as_str().unwrap().split('@').nth(1).unwrap().to_owned();
    assert!(measured["protocol"].as_str().unwrap().starts_with("mine@"));
    assert_eq!((digest(&measured), &measured["value"]), (digest(&sjd), &sjd["value"]));
}

#[test]
fn pictures_and_captions_that_do_not_match_are_listed() {
    let desk = Desk::new();
    for name in ["1.ppm", "2.ppm"] {
        std::fs::create_dir_all(desk.path("images")).unwrap();
        std::fs::write(Path::new(&desk.path("images")).join(name), b"P6 1 1 255\nabc").unwrap();
    }
    let captions = desk.file("captions.csv", "id,caption\n2,a dog\n3,a cat\n");
    let parts = ["1 picture without a caption (1)", "1 caption without a picture (3)"];
    desk.fails(&["clip-score", "images", &captions], 4, &parts);
}

#[test]
fn protocols_are_listed_with_their_tool_and_the_recipe_of_one_is_printed_in_words() {
    let desk = Desk::new();
    let all = desk.json(&["protocols"]);
    let tf1 = all["protocols"].as_array().unwrap().iter().find(|one| one["name"] == "tf1").unwrap();
    assert_eq!((&tf1["tool"], &tf1["alias"]), (&"torch-fidelity 0.4.0".into(), &"torch-fidelity".into()));
    assert_eq!(tf1["weights"]["status"], "absent");
    assert_eq!(tf1["metrics"][0]["recipe"], "tf1@23e17650a258");
    let listed = desk.succeeds(&["protocols"]).out;
    for part in [
        "tf1 (or torch-fidelity)  agrees with torch-fidelity 0.4.0\n    torch-fidelity 0.4.0 with its default extractor: \
         TensorFlow 1's bilinear kernel to 299x299, no half-pixel centres, no antialiasing\n    pixels: resize to 299x299, \
         whatever the shape, by TensorFlow 1's bilinear kernel, without half-pixel centres or antialiasing; subtract 128, \
         then divide by 128\n    ",
        // Not the whole of a long text, and not cut at `et al.`.
        "    FD-DINOv2 of Stein et al. 2023 as dgm-eval computes it by default: DINOv2 ViT-L/14, the class token behind the \
         last norm, each picture squashed to 224x224 by Pillow's bicubic filter, without the option `--clean_resize`\n    pixels: ",
        "    PSNR and SSIM of scikit-image as it computes them",
        "\n    pixels: both pictures of a pair are compared as they are, and have one size\n    psnr, ssim: none\n",
    ] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    // What it is and its pixels, of every protocol.
    let n_protocols = all["protocols"].as_array().unwrap().len();
    assert_eq!(listed.matches("\n    pixels: ").count(), n_protocols, "{listed}");
    let recipe = desk.succeeds(&["protocols", "torch-fidelity"]).out;
    for part in [
        "  1. resize to 299x299, whatever the shape, by TensorFlow 1's bilinear kernel",
        "  2. subtract 128, then divide by 128\n",
        "inception-fid, layer 2048, in f32\n  weights absent: specimen data fetch inception-fid",
        "prdc  tf1@800dfa18c26d  k = 3, rule = <=\n",
    ] {
        assert!(recipe.contains(part), "{part}: {recipe}");
    }
    desk.fails(&["protocols", "tf2"], 2, &["unknown protocol `tf2`", "did you mean `tf1`?"]);
}

#[test]
fn a_tools_name_is_its_protocol() {
    let desk = Desk::new();
    let (a, b) = (golden("a.npy"), golden("b.npy"));
    let by_tool = desk.json(&["fid", &a, &b, "--protocol", "torch-fidelity"]);
    assert_eq!(by_tool, desk.json(&["fid", &a, &b, "--protocol", "tf1"]));
    assert_eq!(by_tool["protocol"], "tf1@23e17650a258");
}

#[test]
fn a_network_on_a_gpu_that_is_not_here_ends_with_the_remedy() {
    let name = "a_network_on_a_gpu_that_is_not_here_ends_with_the_remedy";
    if specimen_runner::images::load::device_of("cuda").is_ok() {
        return specimen_testdata::note(name, "a machine without CUDA");
    }
    let desk = Desk::new();
    for folder in ["a", "b"] {
        fs::create_dir(desk.path(folder)).unwrap();
        for shade in [0, 90, 180] {
            let picture = image::RgbImage::from_pixel(32, 32, image::Rgb([shade, 50, 60]));
            picture.save(desk.path(folder).join(format!("{shade}.png"))).unwrap();
        }
    }
    desk.fails(&["fid", "a", "b", "--device", "cuda"], 6, &["libtorch", "cuda"]);
}
