//! `doctor --weights`: networks with weights by recipe against values of the reference tools with the same weights, a weight that
//! was changed, and what is said where files or values are missing.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use serde_json::Value;
use specimen_extract::lpips::{self, LpipsName};
use specimen_weights::write_safetensors;

use crate::{
    recipe_networks::{GOLDEN, golden},
    support::{Desk, workspace},
};

#[test]
fn networks_with_weights_by_recipe_say_what_the_references_say() {
    let name = "networks_with_weights_by_recipe_say_what_the_references_say";
    let Some(desk) = Desk::with_data(name, "tokenizers/bpe_simple_vocab_16e6.txt.gz") else { return };
    let values = golden(&desk);
    let args = ["doctor", "--weights", "--values", &values];
    let ran = desk.run(&[&args[..], &["--format", "json"]].concat());
    let answer: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &answer["passed"]), (0, &true.into()), "{answer:#}");
    assert_eq!((&answer["n_compared"], &answer["n_not_checked"]), (&14.into(), &0.into()));
    for network in answer["networks"].as_array().unwrap() {
        // Of f32 much more is expected than a machine with other vector units is allowed.
        let largest = network["largest_difference"].as_f64().unwrap();
        assert!(largest < 1e-5, "{}: {largest:e}", network["protocol"]);
        assert!(!network["identities"].as_array().unwrap().is_empty(), "{network:#}");
        assert!(network["provenance"][0].as_str().unwrap().contains("of unknown origin"), "{network:#}");
    }
    let people = desk.succeeds(&[&args[..], &["--network", "hpsv2.1"]].concat());
    assert!(people.out.starts_with("ok           hpsv2.1  hps-v2.1: largest difference "), "{}", people.out);
    assert!(
        people.out.ends_with("1 compared, 0 off, 0 refused, 0 not converted, 0 not checked, 0 to fill\n"),
        "{}",
        people.out
    );
}

/// The values of one network of the golden file, with weights of one's own.
fn one(desk: &Desk, protocol: &str, values: Option<&str>) -> String {
    let golden = fs::read_to_string(workspace(GOLDEN)).unwrap();
    let entry = golden.split("[[answer]]").find(|entry| entry.contains(&format!("\"{protocol}\""))).unwrap();
    let lines = entry.lines().map(|line| match values {
        Some(values) if line.starts_with("values") => format!("values = {values}\n"),
        _ => format!("{line}\n"),
    });
    desk.file("golden/one.toml", &format!("schema = 1\n[[answer]]{}", lines.collect::<String>()))
}

#[test]
fn a_changed_weight_is_found_and_named_with_what_to_do() {
    let desk = Desk::new();
    let values = one(&desk, "lpips-squeeze", None);
    let mut tensors = lpips::recipe_tensors(LpipsName::Squeeze);
    let path = desk.path("golden/lpips-squeeze.safetensors");
    let args = ["doctor", "--weights", "--values", &values];
    write_safetensors(&path, &tensors).unwrap();
    desk.succeeds(&args);
    // One number of one of 58 tensors.
    let bias = &tensors["features.12.squeeze.bias"];
    let _ = bias.get(3).fill_(bias.double_value(&[3]) + 0.5);
    write_safetensors(&path, &tensors).unwrap();
    desk.fails(&args, 1, &["1 of 1 network not as the reference says: lpips-squeeze"]);
    let said = desk.run(&args).out;
    for part in [
        "OFF          lpips-squeeze  lpips-squeeze: largest difference ",
        "(at most 1e-4): the distance of pictures ",
        "lpips 0.1.4, torchvision 0.28.0, torch 2.13.0 has 0.2",
        "`specimen data fetch lpips-squeeze` fetches the published ones",
        "1 compared, 1 off,",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // A file that is no such network is refused, which is no pass either.
    tensors.remove("lin2.model.1.weight");
    write_safetensors(&path, &tensors).unwrap();
    let refused = "error: 1 of 1 network not compared, since its files cannot be used: lpips-squeeze\n";
    desk.fails(&args, 1, &[refused]);
    let said = desk.run(&args).out;
    assert!(said.starts_with("REFUSED ") && said.contains("lin2.model.1.weight"), "{said}");
}

#[test]
fn an_unknown_value_is_never_compared_and_says_what_to_send() {
    let desk = Desk::new();
    let values = one(&desk, "lpips-squeeze", Some("\"unknown\""));
    let path = desk.path("golden/lpips-squeeze.safetensors");
    lpips::write_recipe(&path, LpipsName::Squeeze).unwrap();
    let args = ["doctor", "--weights", "--values", &values];
    desk.fails(&args, 4, &["nothing was compared: 0 without files, 0 with files that are not converted, 1 without values of the reference"]);
    let said = desk.run(&args).out;
    for part in [
        "to fill      lpips-squeeze  lpips-squeeze: no value of the reference is known: to be filled by whoever has the file",
        "\n    ours       [0.204411",
        "\n    by         specimen ",
        "lpips-squeeze-f32@",
        "\n    reference  what `metrics/measure/tests/golden/published_answers/make.py` prints, by lpips 0.1.4",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn without_weights_nothing_is_ok_and_the_commands_that_fetch_are_named() {
    let desk = Desk::as_data_folder();
    desk.fails(&["doctor", "--weights"], 4, &["nothing was compared: 21 without files"]);
    let said = desk.run(&["doctor", "--weights"]).out;
    let lines: Vec<&str> = said.lines().collect();
    let (last, networks) = lines.split_last().unwrap();
    assert_eq!(*last, "0 compared, 0 off, 0 refused, 0 not converted, 21 not checked, 0 to fill");
    for line in networks {
        assert!(line.starts_with("not checked  ") && line.contains("`specimen data fetch "), "{line}");
    }
    for name in ["inception-fid", "dinov2-vit-l14", "pickscore-v1", "hps-v2.1", "imagereward", "lpips-vgg"] {
        assert!(said.contains(&format!("`specimen data fetch {name}`")), "{name}: {said}");
    }
    desk.fails(&["doctor", "--weights", "--network", "resnet"], 2, &["`resnet`", "pytorch-fid"]);
    desk.fails(&["doctor", "--network", "x"], 2, &["--weights"]);
    desk.fails(&["doctor", "--weights", "--lossless"], 2, &["cannot be used with"]);
    let broken = desk.file("v.toml", "schema = 1\n[[answer]]\nprotocol = 1\n");
    desk.fails(&["doctor", "--weights", "--values", &broken], 3, &["v.toml:3:12", "expected text"]);
}

#[test]
fn a_file_that_is_here_and_not_converted_is_counted_apart_from_one_that_is_absent() {
    let desk = Desk::as_data_folder();
    desk.file("weights/THUDM/ImageReward/ImageReward.pt", "a pickle, says its name");
    let args = ["doctor", "--weights", "--network", "imagereward"];
    desk.fails(
        &args,
        4,
        &["nothing was compared: 0 without files, 1 with files that are not converted, 0 without"],
    );
    let ran = desk.run(&args);
    let (line, last) = ran.out.split_once('\n').unwrap();
    assert!(line.starts_with("unconverted  imagereward") && line.contains("specimen convert '"), "{line}");
    assert_eq!(last, "0 compared, 0 off, 0 refused, 1 not converted, 0 not checked, 0 to fill\n");
    let ran = desk.run(&[&args[..], &["--format", "json"]].concat());
    let answer: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&answer["n_not_converted"], &answer["n_not_checked"]), (&1.into(), &0.into()), "{answer:#}");
    assert_eq!(answer["networks"][0]["status"], "not-converted");
}

/// The heads in the package lpips are the only published weights of these networks that are small; their values are known.
#[test]
fn the_published_heads_of_lpips_say_what_the_package_says() {
    let name = "the_published_heads_of_lpips_say_what_the_package_says";
    let Some(heads) = std::env::var_os("LPIPS_HEADS") else {
        return specimen_testdata::note(name, "LPIPS_HEADS, alex.pth of the package lpips 0.1.4");
    };
    let desk = Desk::as_data_folder();
    fs::create_dir_all(desk.path("weights")).unwrap();
    desk.succeeds(&["convert", heads.to_str().unwrap(), "weights/lpips-alex-v0.1.safetensors"]);
    let ran = desk.run(&["doctor", "--weights", "--network", "lpips-alex", "--format", "json"]);
    let answer: Value = serde_json::from_str(&ran.out).unwrap();
    let heads =
        answer["networks"].as_array().unwrap().iter().find(|one| one["of"] == "distances-by-heads").unwrap();
    assert_eq!(heads["status"], "ok", "{heads:#}");
}

#[test]
fn other_heads_than_the_published_ones_are_off() {
    let desk = Desk::as_data_folder();
    fs::create_dir_all(desk.path("weights")).unwrap();
    let mut heads = lpips::recipe_tensors(LpipsName::Alex);
    heads.retain(|name, _| name.starts_with("lin"));
    write_safetensors(&desk.path("weights/lpips-alex-v0.1.safetensors"), &heads).unwrap();
    let args = ["doctor", "--weights", "--network", "lpips-alex"];
    desk.fails(&args, 1, &["not as the reference says: lpips-alex"]);
    let said = desk.run(&args).out;
    assert!(said.contains("OFF          lpips-alex  lpips-alex, heads alone: largest difference "), "{said}");
    assert!(
        said.contains("not checked  lpips-alex  lpips-alex: ") && said.contains("no weights of alexnet"),
        "{said}"
    );
}
