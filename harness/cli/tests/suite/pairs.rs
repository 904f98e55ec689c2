//! Metrics of pictures in pairs: two folders, and the images of a run next to the baseline's.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use serde_json::Value;
use specimen_extract::lpips::{LpipsName, write_recipe};

use crate::{
    checking::reseal,
    support::{Desk, metric, spec},
};

/// Writes a picture in the format of the name's ending; the bytes are those of `byte` for row, column and channel.
fn picture(desk: &Desk, name: &str, [width, height]: [u32; 2], byte: impl Fn(u32, u32, u32) -> u8) {
    let path = desk.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut bytes = format!("P6\n{width} {height}\n255\n").into_bytes();
    for y in 0..height {
        for x in 0..width {
            bytes.extend((0..3).map(|c| byte(y, x, c)));
        }
    }
    fs::write(path, bytes).unwrap();
}

/// Two folders of two pictures each, one pair of which is equal.
fn two_folders(desk: &Desk) {
    let byte = |y: u32, x: u32, c: u32| (7 * x + 3 * y + 40 * c) as u8;
    picture(desk, "a/cat.ppm", [12, 12], byte);
    picture(desk, "a/deep/v1.5.ppm", [16, 9], byte);
    picture(desk, "b/cat.PNM", [12, 12], byte);
    // 16 of every byte's values apart: a squared error of 256.
    picture(desk, "b/deep/v1.5.ppm", [16, 9], |y, x, c| byte(y, x, c) ^ 16);
}

#[test]
fn folders_are_compared_picture_by_picture() {
    let desk = Desk::new();
    two_folders(&desk);
    let decibels = 10.0 * (255.0_f64 * 255.0 / 256.0).log10();
    let psnr = desk.json(&["psnr", "a", "b", "--per-image", "t.csv"]);
    // Of equal pictures it is infinite, so the mean is no number.
    assert_eq!((&psnr["value"], &psnr["ci95"]), (&Value::Null, &Value::Null));
    assert_eq!(psnr["why"], "1 of 2 pairs are of equal pictures, whose psnr is infinite");
    assert_eq!(psnr["details"]["n_equal"], 1);
    let of_mean = psnr["details"]["of_mean_squared_error"].as_f64().unwrap();
    assert!((of_mean - decibels - 10.0 * 2_f64.log10()).abs() < 1e-9, "{psnr}");
    let table = desk.text("t.csv");
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows[..2], ["name,a,b,psnr", "cat,cat.ppm,cat.PNM,"]);
    let found: f64 = rows[2].strip_prefix("deep/v1.5,deep/v1.5.ppm,deep/v1.5.ppm,").unwrap().parse().unwrap();
    assert!((found - decibels).abs() < 1e-12);
    let text = desk.succeeds(&["psnr", "a", "b"]).out;
    assert!(text.starts_with("psnr       no value: 1 of 2 pairs are of equal pictures"), "{text}");

    // Two pairs are too few for an interval; with four more there is one.
    let few = ["interval over pairs", "at least 6", "found 2"];
    desk.fails(&["ssim", "a", "b", "--ci"], 4, &few);
    for size in 13..17 {
        let byte = |y: u32, x: u32, c: u32| (7 * x + 3 * y + 40 * c) as u8;
        picture(&desk, &format!("a/{size}.ppm"), [size, 12], byte);
        picture(&desk, &format!("b/{size}.ppm"), [size, 12], |y, x, c| byte(y, x, c) ^ 16);
    }
    let ssim = desk.json(&["ssim", "a", "b", "--per-image", "t.parquet", "--ci"]);
    let value = ssim["value"].as_f64().unwrap();
    assert!(0.2 < value && value < 1.0, "{ssim}");
    let ends = [0, 1].map(|end| ssim["ci95"][end].as_f64().unwrap());
    assert!(ends[0] < value && value < ends[1] && ends[1] <= 1.0, "{ssim}");
    assert_eq!(ssim["n"], serde_json::json!([6, 6]));
    let keys: Vec<&str> = ssim.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["schema", "metric", "value", "ci95", "protocol", "n", "extractor"]);
    assert!(desk.bytes("t.parquet").starts_with(b"PAR1"));
    // Another window is another recipe and another value, and the digest says so.
    let gaussian =
        desk.succeeds(&["ssim", "a/deep/v1.5.ppm", "a/deep/v1.5.ppm", "--protocol", "skimage"]).out;
    assert!(
        gaussian.starts_with("ssim       1.0000000\n  pairs           1\n  protocol        skimage@"),
        "{gaussian}"
    );
    let other = desk.json(&["ssim", "a/cat.ppm", "b/cat.PNM", "--protocol", "ssim-gaussian"]);
    assert!(other["protocol"].as_str().unwrap().starts_with("ssim-gaussian@"));
    assert_eq!(other["value"], 1.0);
}

#[test]
fn pictures_that_are_no_pairs_are_named() {
    let desk = Desk::new();
    two_folders(&desk);
    let byte = |_: u32, x: u32, _: u32| x as u8;
    picture(&desk, "b/dog.ppm", [12, 12], byte);
    let alone = ["only in a: none; only in b: dog", "by their names without the ending"];
    desk.fails(&["psnr", "a", "b"], 4, &alone);
    fs::rename(desk.path("b/dog.ppm"), desk.path("b/cat.ppm")).unwrap();
    desk.fails(&["psnr", "a", "b"], 4, &["cat.PNM and cat.ppm have one name"]);
    fs::remove_file(desk.path("b/cat.PNM")).unwrap();
    picture(&desk, "b/cat.ppm", [12, 13], byte);
    let sizes = ["a/cat.ppm and b/cat.ppm: ", "expected two pictures of one size, found 12x12 and 12x13"];
    desk.fails(&["ssim", "a", "b"], 4, &sizes);
    let small = ["a/deep/v1.5.ppm", "a window is 11x11 pixels, the pictures are 16x9"];
    desk.fails(&["ssim", "a/deep", "b/deep", "--protocol", "ssim-gaussian"], 4, &small);
    desk.fails(&["ssim", "a/cat.ppm", "a/cat.ppm", "--ci"], 4, &["needs at least 6 observations, found 1"]);
    desk.fails(&["psnr", "a", "nowhere"], 4, &["nowhere"]);
    desk.fails(&["psnr", "a", "b", "--per-image", "t.txt"], 2, &["t.txt", ".csv or .parquet"]);
    desk.fails(&["psnr", "a", "a", "--protocol", "tf1"], 2, &["unknown protocol `tf1`", "skimage"]);
    desk.fails(&["psnr", "a", "a", "--protocol", "ssim-gaussian"], 2, &["no table `[psnr]`", "skimage"]);
    desk.fails(&["fid", "a", "b", "--protocol", "skimage"], 2, &["unknown protocol `skimage`"]);
    let even = "schema = 1\nname = \"even\"\nabout = \"\"\nsource = \"\"\nssim = { channels = \"rgb\", window = { uniform = 4 } }\n";
    let even = desk.file("even.toml", even);
    desk.fails(
        &["ssim", "a", "a", "--protocol", &even],
        3,
        &["even.toml", "[ssim] window of SSIM", "odd number"],
    );
}

#[test]
fn protocols_of_pairs_are_listed_with_the_others() {
    let desk = Desk::new();
    let all = desk.json(&["protocols"]);
    let all = all["protocols"].as_array().unwrap();
    let skimage = all.iter().find(|one| one["name"] == "skimage").unwrap();
    let names: Vec<&Value> = skimage["metrics"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["psnr", "ssim"]);
    let text = desk.succeeds(&["protocols", "scikit-image"]).out;
    assert!(text.contains("window = {\"uniform\":7}") && text.contains("one size"), "{text}");
}

/// A file of trunk and heads of LPIPS with made weights.
fn made_lpips(desk: &Desk) -> String {
    let path = desk.path("lpips.safetensors");
    write_recipe(&path, LpipsName::Alex).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn lpips_compares_by_a_network_whose_weights_are_given_or_fetched() {
    let desk = Desk::new();
    let byte = |y: u32, x: u32, c: u32| (7 * x + 3 * y + 40 * c) as u8;
    let six = [[40, 32], [33, 50], [34, 40], [35, 40], [36, 40], [37, 40]];
    for (name, size) in ["cat", "dog", "cow", "elk", "fox", "hen"].into_iter().zip(six) {
        picture(&desk, &format!("a/{name}.ppm"), size, byte);
        picture(&desk, &format!("b/{name}.ppm"), size, |y, x, c| byte(y, x, c) ^ 16);
    }
    desk.fails(&["lpips", "a", "b"], 4, &["no weights of lpips-alex", "`specimen data fetch lpips-alex`"]);
    let weights = made_lpips(&desk);
    let given = ["lpips", "a", "b", "--weights", &weights];
    let measured = desk.json(&[&given[..], &["--ci", "--per-image", "t.csv", "--device", "cpu"]].concat());
    let value = measured["value"].as_f64().unwrap();
    let ends = [0, 1].map(|end| measured["ci95"][end].as_f64().unwrap());
    assert!(0.0 < ends[0] && ends[0] <= value && value <= ends[1], "{measured}");
    assert!(measured["protocol"].as_str().unwrap().starts_with("lpips-alex@"));
    assert!(measured["extractor"].as_str().unwrap().starts_with("lpips-alex-f32@"), "{measured}");
    let note = measured["notes"][0].as_str().unwrap();
    assert!(note.contains("no published digest vouches for its weights: lpips.safetensors"), "{note}");
    let table = desk.text("t.csv");
    assert_eq!(table.lines().next().unwrap(), "name,a,b,lpips");
    let said = desk.succeeds(&given);
    assert!(said.out.starts_with("lpips      ") && said.out.contains("network         lpips-alex-f32@"));
    assert!(said.err.contains(note), "{}", said.err);
    // Weights of another trunk, and pictures that are too small.
    let other = [&given[..], &["--protocol", "lpips-vgg"]].concat();
    desk.fails(&other, 4, &["features.0.weight"]);
    picture(&desk, "c/cat.ppm", [30, 40], byte);
    let small = ["lpips", "c", "c", "--weights", &weights];
    desk.fails(&small, 4, &["c/cat.ppm", "lpips-alex takes pictures of at least 31x31 pixels, found 30x40"]);
    let all = desk.json(&["protocols", "lpips"]);
    assert_eq!(all["protocols"][0]["weights"]["detail"], "specimen data fetch lpips-alex");
    assert_eq!(all["protocols"][0]["network"], "lpips-alex");
}

/// `cells` on the embedded model, with the metrics that compare images of a run with the baseline's.
fn run_of_pairs(desk: &Desk, cells: &str, more: &[&str]) -> Value {
    let weights = made_lpips(desk);
    let metrics = format!(
        r#"metric=[{{ name = "psnr", protocol = "skimage" }}, {{ name = "ssim", protocol = "skimage" }}, {{ name = "token-match" }}, {{ name = "lpips", protocol = "lpips", weights = "{weights}" }}]"#
    );
    let cells = format!("cell=[{cells}]");
    let spec = spec("ci/methods_tiny.toml");
    let args = ["run", &spec, "--limit", "2", "--out", "run", "-q", "--set", &cells, "--set", &metrics];
    desk.succeeds(&[&args[..], &["--set", "model.dtype=\"f32\""], more].concat());
    desk.succeeds(&["verify", "run"]);
    let checked = desk.run(&["verify", "--deep", "run"]);
    assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
    desk.document("run/merged/summary.json")
}

fn per_item(desk: &Desk, name: &str, cell: &str) -> Value {
    desk.document(&format!("run/metrics/{}/{cell}.json", name.replace(':', "%3A")))["per_item"].clone()
}

#[test]
fn with_coupled_seeds_an_exact_method_has_the_baselines_images() {
    let desk = Desk::new();
    let cells = r#"{ name = "ar" }, { name = "sjd", drafter = { proposer = "jacobi", window = 16, init = "random" } }, { name = "untimed", timed = false, drafter = { proposer = "eagle1", shape = "chain", depth = 3 } }"#;
    let summary = run_of_pairs(&desk, cells, &["--set", "sampling.coupled=true"]);
    for cell in ["sjd", "untimed"] {
        let lpips = metric(&summary, cell, "lpips:lpips");
        // Two prompts have no interval.
        assert_eq!((&lpips["value"], &lpips["ci95"]), (&0.0.into(), &Value::Null));
        let note = lpips["notes"][0].as_str().unwrap();
        assert!(note.contains("no published digest vouches for its weights: lpips.safetensors"), "{note}");
        for name in ["ssim:skimage", "token-match"] {
            let found = metric(&summary, cell, name);
            assert_eq!((&found["value"], &found["ci95"]), (&1.0.into(), &Value::Null), "{found}");
            assert_eq!(per_item(&desk, name, cell).as_object().unwrap().len(), 2);
        }
        let psnr = metric(&summary, cell, "psnr:skimage");
        assert_eq!(psnr["value"], Value::Null);
        assert_eq!(psnr["why"], "2 of 2 pairs are of equal pictures, whose psnr is infinite");
        assert_eq!(per_item(&desk, "psnr:skimage", cell), Value::Null);
    }
    for name in ["psnr:skimage", "ssim:skimage", "token-match", "lpips:lpips"] {
        let found = metric(&summary, "ar", name);
        assert_eq!(found["value"], Value::Null);
        assert_eq!(found["why"], "it is the baseline, with whose images the others are compared");
        // One column of a table, whether a cell has a value or not.
        assert_eq!(found["protocol"], metric(&summary, "sjd", name)["protocol"]);
    }
    // Tables, page and figures with values that are absent.
    let table = desk.text("run/report/table.csv");
    assert_eq!(table.lines().next().unwrap().matches("token-match").count(), 1, "{table}");
    let page = desk.text("run/report/index.html");
    assert!(page.contains("2 of 2 pairs are of equal pictures, whose psnr is infinite"));
    assert!(page.contains("it is the baseline, with whose images the others are compared"));
    // A run against itself, under its own rules.
    desk.succeeds(&["gate", "run", "--baseline", "base.json", "--update-baseline", "--reason", "a test"]);
    desk.succeeds(&["gate", "run", "--baseline", "base.json"]);
    desk.succeeds(&["compare", "run", "run"]);
}

#[test]
fn a_relaxed_method_has_images_of_its_own() {
    let desk = Desk::new();
    let cells = r#"{ name = "ar" }, { name = "gsd", drafter = { proposer = "jacobi", window = 16, init = "random" }, accept = [{ kind = "gsd", group = 10 }] }"#;
    let summary = run_of_pairs(&desk, cells, &[]);
    for (name, least, most) in [
        ("psnr:skimage", 0.0, 60.0),
        ("ssim:skimage", -1.0, 0.999),
        ("token-match", 0.0, 0.999),
        ("lpips:lpips", 1e-6, 10.0),
    ] {
        let found = metric(&summary, "gsd", name);
        let value = found["value"].as_f64().unwrap();
        assert!(least <= value && value <= most, "{name}: {value}");
        let values: Vec<f64> = per_item(&desk, name, "gsd")
            .as_object()
            .unwrap()
            .values()
            .map(|one| one.as_f64().unwrap())
            .collect();
        assert!((values.iter().sum::<f64>() / 2.0 - value).abs() < 1e-12, "{values:?}");
    }
    // By the images themselves.
    desk.images_by_cell("run");
    for name in ["psnr", "ssim"] {
        let alone = desk.json(&[name, "gsd", "ar"]);
        assert_eq!(alone["value"], metric(&summary, "gsd", &format!("{name}:skimage"))["value"]);
        assert_eq!(alone["protocol"], metric(&summary, "gsd", &format!("{name}:skimage"))["protocol"]);
    }
    let alone = desk.json(&["lpips", "gsd", "ar", "--weights", &made_lpips(&desk)]);
    let of_run = metric(&summary, "gsd", "lpips:lpips");
    assert_eq!(alone["value"], of_run["value"]);
    // The network is part of what a run's value depends on.
    let label = ["protocol", "extractor"].map(|key| alone[key].as_str().unwrap()).join(":");
    assert_eq!(of_run["protocol"], label);
    assert!(of_run["ci95"].is_null(), "two prompts have no interval: {of_run}");
    // By the tokens of the records.
    let text = desk.text("run/merged/records.jsonl");
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for row in rows.iter().filter(|row| row["cell"] == "gsd") {
        let plain = rows.iter().find(|other| other["cell"] == "ar" && other["prompt_id"] == row["prompt_id"]);
        let [ours, theirs] = [row, plain.unwrap()].map(|row| row["tokens"].as_array().unwrap());
        let n_equal = ours.iter().zip(theirs).filter(|(ours, theirs)| ours == theirs).count();
        let found = per_item(&desk, "token-match", "gsd")[row["key"].as_str().unwrap()].as_f64().unwrap();
        assert_eq!(found, n_equal as f64 / ours.len() as f64);
    }
    // Two runs are not compared by a selection of images.
    desk.succeeds(&["compare", "run", "run"]);
    let (file, of_run) =
        (desk.path("run/metrics/psnr%3Askimage/gsd.json"), desk.path("run/merged/summary.json"));
    let value = metric(&summary, "gsd", "psnr:skimage")["value"].to_string();
    let [before, before_of_run] = [&file, &of_run].map(|path| fs::read_to_string(path).unwrap());
    let absent = |text: &str| {
        let (head, tail) = text.split_once(&format!("\"value\": {value}")).unwrap();
        let tail = tail.replacen("\"why\": null", "\"why\": \"1 of 2 pairs\"", 1);
        format!("{head}\"value\": null{tail}")
    };
    fs::write(&file, absent(&before)).unwrap();
    fs::write(&of_run, absent(&before_of_run)).unwrap();
    let compared = desk.run(&["compare", "run", "run", "--unverified"]);
    assert!(
        compared.out.contains("psnr:skimage") && compared.out.contains("1 of 2 pairs"),
        "{}{}",
        compared.out,
        compared.err
    );
    fs::write(&file, before).unwrap();
    fs::write(&of_run, before_of_run).unwrap();
    // Another digest in a metric's file is another recipe.
    let file = desk.path("run/metrics/ssim%3Askimage/gsd.json");
    let label = metric(&summary, "gsd", "ssim:skimage")["protocol"].as_str().unwrap();
    let changed = fs::read_to_string(&file).unwrap().replace(label, "skimage@0123456789ab");
    fs::write(&file, changed).unwrap();
    reseal(&desk.path("run"));
    let ran = desk.run(&["verify", "--deep", "run"]);
    assert!(ran.code == 4 && ran.out.contains("`protocol`: expected skimage@"), "{}", ran.out);
}

#[test]
fn metrics_of_pairs_join_a_finished_run() {
    let desk = Desk::new();
    desk.made(&["--limit", "4"], "run");
    desk.succeeds(&["score", "run", "--protocol", "skimage", "--metric", "ssim,token-match", "-q"]);
    let summary = desk.document("run/merged/summary.json");
    for cell in ["sd-chain2", "quality"] {
        for name in ["ssim:skimage", "token-match"] {
            let found = metric(&summary, cell, name);
            let value = found["value"].as_f64().unwrap();
            assert!(value < 0.999 && found["n"] == 4, "{found}");
        }
    }
    desk.succeeds(&["verify", "run"]);
    let refused = |metric: &str, parts: &[&str]| {
        let metric = format!("metric=[{metric}]");
        desk.fails(&["run", &spec("ci/stub.toml"), "--set", &metric, "--out", "other"], 3, parts);
    };
    refused("{ name = \"ssim\" }", &["no `protocol`"]);
    refused("{ name = \"token-match\", protocol = \"skimage\" }", &["`token-match` has no `protocol`"]);
    refused("{ name = \"ssim\", protocol = \"skimage\", real = \"val\" }", &["`ssim` has no `real`"]);
    let unknown = "metric=[{ name = \"ssim\", protocol = \"tf1\" }]";
    desk.fails(
        &["run", &spec("ci/stub.toml"), "--set", unknown, "--out", "other"],
        2,
        &["unknown protocol `tf1`"],
    );
}

#[test]
fn two_cells_that_are_named_are_compared_in_pairs_and_the_run_stays_as_it_is() {
    let desk = Desk::new();
    desk.made(&["--limit", "4"], "run");
    let manifest = desk.bytes("run/manifest.json");
    let score = ["score", "run", "--protocol", "skimage", "--metric", "psnr,ssim,token-match"];
    let compared = desk.json(&[&score[..], &["--cells", "quality,sd-chain2"]].concat());
    assert_eq!(compared["cells"], serde_json::json!(["quality", "sd-chain2"]));
    let value = |answer: &Value, name: &str| {
        let metrics = answer["metrics"].as_array().unwrap();
        metrics.iter().find(|one| one["metric"] == name).unwrap_or_else(|| panic!("{answer:#}")).clone()
    };
    // By the images themselves, and by the tokens of the records.
    let mut tokens = std::collections::BTreeMap::new();
    for row in desk.rows("run/merged/records.jsonl") {
        let (cell, id) = (row["cell"].as_str().unwrap(), row["prompt_id"].as_str().unwrap());
        tokens.insert((cell.to_owned(), id.to_owned()), row["tokens"].as_array().unwrap().clone());
    }
    desk.images_by_cell("run");
    for name in ["psnr", "ssim"] {
        let (alone, found) =
            (desk.json(&[name, "quality", "sd-chain2"]), value(&compared, &format!("{name}:skimage")));
        assert_eq!(
            (&found["value"], &found["protocol"], &found["n"]),
            (&alone["value"], &alone["protocol"], &4.into())
        );
        assert_eq!(found["cell"], "quality");
        // Some pictures of the two are equal.
        assert_eq!(
            (found["ci95"].is_array(), found["why"].is_null()),
            // Four prompts have no interval.
            (false, name == "ssim"),
            "{found}"
        );
    }
    let shares = tokens.iter().filter(|((cell, _), _)| cell == "quality").map(|((_, id), ours)| {
        let theirs = &tokens[&("sd-chain2".to_owned(), id.clone())];
        ours.iter().zip(theirs).filter(|(ours, theirs)| ours == theirs).count() as f64 / ours.len() as f64
    });
    let share = value(&compared, "token-match")["value"].as_f64().unwrap();
    assert!((share - shares.sum::<f64>() / 4.0).abs() < 1e-12, "{share}");
    // Not the comparison with the baseline, and in words.
    let baseline = desk.json(&["score", "run", "--metric", "token-match", "--cells", "quality,ar"]);
    assert_ne!(value(&baseline, "token-match")["value"], share);
    let said = desk.succeeds(&[&score[..], &["--cells", "quality,sd-chain2"]].concat()).out;
    for part in ["quality to sd-chain2", "ssim:skimage", " (n 4)", "skimage@", "pairs are of equal pictures"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(desk.bytes("run/manifest.json"), manifest);
    assert!(!desk.path("run/metrics/ssim%3Askimage").exists());
    desk.succeeds(&["verify", "run"]);

    let refused = |cells: &str, more: &[&str], code: i32, parts: &[&str]| {
        desk.fails(&[&["score", "run", "--cells", cells], more].concat(), code, parts);
    };
    let tokens = ["--metric", "token-match"];
    refused("quality,other", &tokens, 3, &["`quality,other` is not two cells", "ar, sd-chain2, quality"]);
    refused("quality,quality", &tokens, 3, &["`quality` twice"]);
    refused("quality,ar", &["--metric", "target-nll"], 3, &["`target-nll` is no metric of two cells"]);
    refused("quality,ar", &["--metric", "difference-gap"], 3, &["`difference-gap`"]);
    refused("quality,ar", &[&tokens[..], &["--quality", "token-match"]].concat(), 2, &["--quality"]);
    // Metrics of the spec, of which none compares pairs.
    refused("quality,ar", &[], 3, &["no metric of pairs", "--metric token-match"]);
    let image = fs::read_dir(desk.path("run/shards/0/images")).unwrap().next().unwrap().unwrap();
    fs::remove_file(image.path()).unwrap();
    let name = image.file_name();
    let parts =
        ["run/shards/*/images/", name.to_str().unwrap(), "is not there; continue with `run --resume`"];
    desk.fails(&score, 4, &parts);
    fs::write(desk.path("run/merged/summary.json"), "{}").unwrap();
    refused("quality,ar", &tokens, 4, &["summary.json", "as they were sealed"]);
}
