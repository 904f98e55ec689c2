//! Training through the command line, with networks so small that they learn nothing.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use crate::{
    support::{Desk, workspace},
    tmpfs::Tmpfs,
};

const SPEC: &str = r#"
seed         = 1
n_scenes     = 16
n_validation = 8
n_replicas   = 1

[tokenizer]
mse_weight   = 2.0
reseed_every = 100
schedule = { n_steps = 2, batch = 2, learning_rate = 1e-3, n_warmup = 1, weight_decay = 0.0 }
model    = { side = 64, patch = 4, n_codes = 32, d_code = 4, d_encoder = 16, d_decoder = [16, 8] }

[target]
caption_dropout = 0.1
object_weight   = 4.0
schedule = { n_steps = 2, batch = 2, learning_rate = 1e-3, n_warmup = 1, weight_decay = 0.0 }
model = { d_model = 16, n_layers = 1, n_heads = 1, d_head = 16, d_ffn = 16, n_vocab = 32, grid = 16, caption_len = 20, n_words = 41, rope_base = 1000.0, norm_eps = 1e-5 }

[drafter]
depth          = 2
depth_decay    = 0.8
feature_noise  = 0.1
feature_weight = 1.0
guidance       = 3.0
schedule = { n_steps = 2, batch = 2, learning_rate = 1e-3, n_warmup = 1, weight_decay = 0.0 }
model = { bias = false, input_norm = true, output_norm = true, prefix = "image-only", n_heads = 1, d_head = 16, d_ffn = 16, norm_eps = 1e-5 }

[own_images]
n_validation = 2
guidance     = 3.0

[further]
n_replicas = 1
n_images   = 2
redundancy = { c = 2.0, tau_seq = 0.5 }
schedule   = { n_steps = 2, batch = 2, learning_rate = 1e-3, n_warmup = 1, weight_decay = 0.0 }

[eagle3]
n_replicas    = 1
n_images      = 2
depth         = 2
depth_decay   = 0.8
feature_noise = 0.0
guidance      = 3.0
schedule = { n_steps = 2, batch = 2, learning_rate = 1e-3, n_warmup = 1, weight_decay = 0.0 }
model = { taps = [0, 0, 0], prefix = "image-only", n_heads = 1, d_head = 16, d_ffn = 16, norm_eps = 1e-5 }

[features]
schedule = { n_steps = 2, batch = 4, learning_rate = 1e-3, n_warmup = 1, weight_decay = 0.0 }
"#;

const NETWORKS: [&str; 7] =
    ["tokenizer", "target", "drafter", "drafter-further", "drafter-cascade", "drafter-eagle3", "features"];

#[test]
fn all_networks_train_in_order_and_a_seed_gives_the_same_weights_again() {
    let desk = Desk::new();
    let spec = desk.file("small.toml", SPEC);
    let train = |network: &str, folder: &str| {
        let work = format!("{folder}/work");
        desk.succeeds(&["train", network, &spec, "--weights", folder, "--work", &work]).err
    };
    let said = train("all", "first");
    for network in NETWORKS {
        assert!(said.contains(&format!("training the {network}")), "{said}");
        train(network, "second");
        for ending in ["safetensors", "json", "csv", "svg", "results.json"] {
            let name = format!("{network}.{ending}");
            assert!(desk.path("first").join(&name).is_file(), "{name}");
        }
        let weights =
            |folder: &str| std::fs::read(desk.path(folder).join(format!("{network}.safetensors"))).unwrap();
        assert!(weights("first") == weights("second"), "{network}");
        assert!(desk.path("first/work").join(format!("{network}.png")).is_file(), "{network}");
    }
    // Curves are drawn again from their numbers, or refused with the line that is none.
    let again = ["train", "target", &spec, "--weights", "first", "--work", "pictures", "--curves"];
    let svg = || desk.text("first/target.svg");
    let drawn = svg();
    std::fs::remove_file(desk.path("first/target.svg")).unwrap();
    desk.succeeds(&again);
    assert_eq!(svg(), drawn);
    assert!(desk.path("pictures/target.png").is_file());
    desk.file("first/target.csv", "step,seconds,nats\n1,2\n");
    desk.fails(&again, 4, &["target.csv: line 2: expected 3 finite numbers, found `1,2`"]);
}

#[test]
fn a_network_without_the_one_it_needs_is_refused() {
    let desk = Desk::new();
    let spec = desk.file("small.toml", SPEC);
    let parts = ["tokenizer has to be trained first", "tokenizer.safetensors"];
    desk.fails(&["train", "target", &spec, "--weights", "w", "--work", "w"], 4, &parts);
}

#[test]
fn a_training_specification_that_is_wrong_is_refused_with_its_place() {
    let desk = Desk::new();
    desk.fails(&["train", "all", "absent.toml", "--weights", "w"], 3, &["absent.toml: cannot read"]);
    let spec = desk.file("bad.toml", &SPEC.replace("n_scenes ", "n_scene "));
    desk.fails(
        &["train", "all", &spec, "--weights", "w"],
        3,
        &["bad.toml:3:1", "unknown key `n_scene`; did you mean `n_scenes`?"],
    );
}

#[test]
fn without_a_checkout_the_folder_for_weights_must_be_named() {
    let desk = Desk::new();
    let spec = workspace("harness/train/tiny.toml");
    desk.fails(&["train", "all", spec.to_str().unwrap()], 2, &["--weights"]);
}

/// A training of a head that takes seconds, in `n_steps` steps.
const HEAD: &str = r#"
name         = "short"
seed         = 3
save_every   = 20
n_validation = 4
model    = { name = "llamagen-toy", dtype = "f32", device = "cpu" }
dataset  = { name = "scenes-train", limit = 24 }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 3.0 }
head     = { proposer = "eagle1" }
loss     = { depth = 1, depth_decay = 1.0, feature_weight = 1.0, row_weight = 0.1, guided_weight = 0.0, hard_ce_weight = 0.0, feature_noise = 0.1 }
schedule = { n_steps = 160, batch = 4, learning_rate = 3e-3, n_warmup = 5, weight_decay = 0.01 }
trial    = { drafter = { proposer = "eagle1", shape = "chain", depth = 2 } }
"#;

/// The rows of a curve without their seconds.
fn rows(curve: &str) -> Vec<String> {
    let without = |row: &str| {
        let mut values: Vec<&str> = row.split(',').collect();
        values.remove(1);
        values.join(",")
    };
    curve.lines().map(without).collect()
}

#[test]
fn a_head_whose_training_was_killed_has_the_bytes_of_one_that_was_not() {
    let desk = Desk::new();
    let spec = desk.file("head.toml", HEAD);
    let said = desk.succeeds(&["train-drafter", &spec, "--out", "whole", "--format", "json"]);
    let answer: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert!(answer["results"]["accepted_per_step"].is_f64(), "{answer}");
    let mut cut =
        desk.command(&["train-drafter", &spec, "--out", "cut"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(cut.stderr.take().unwrap()).lines();
    // A state is saved behind each row, so that of step 40 is there when the row of step 60 is.
    let reached = lines.by_ref().map_while(Result::ok).any(|line| line.starts_with("step 60/160"));
    assert!(reached, "the training ends before it is killed");
    cut.kill().unwrap();
    cut.wait().unwrap();
    assert!(!desk.path("cut/model.safetensors").exists());
    let said = desk.succeeds(&["train-drafter", &spec, "--out", "cut"]);
    assert!(!said.err.contains("step 20/160"), "it begins again: {}", said.err);
    let read = |folder: &str, file: &str| std::fs::read(desk.path(folder).join(file)).unwrap();
    for file in ["model.safetensors", "config.json", "model.results.json"] {
        assert!(read("whole", file) == read("cut", file), "{file}");
    }
    let curve = |folder: &str| rows(&String::from_utf8(read(folder, "model.csv")).unwrap());
    assert_eq!(curve("whole"), curve("cut"));
}

#[test]
fn a_head_of_the_embedded_model_is_tried_beside_the_committed_one() {
    let desk = Desk::new();
    let path = workspace("experiments/specs/train/tiny_eagle1.toml");
    let mut text = std::fs::read_to_string(path).unwrap();
    for (whole, short) in [
        ("n_validation = 16", "n_validation = 2"),
        ("limit = 272", "limit = 4"),
        ("n_steps       = 300", "n_steps = 2"),
    ] {
        assert!(text.contains(whole), "{whole}");
        text = text.replace(whole, short);
    }
    let spec = desk.file("tiny.toml", &text);
    let said = desk.succeeds(&["train-drafter", &spec, "--out", "t", "--format", "json"]);
    let answer: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let result = |name: &str| answer["results"][name].as_f64().unwrap_or_else(|| panic!("{name}: {answer}"));
    // Two steps teach nothing; the committed head is accepted more than once a step.
    assert!(result("accepted_per_step") < 1.0 && 1.0 < result("accepted_per_step_standard"), "{answer}");
    assert!(result("gain_over_standard") < 0.0, "{answer}");
    let written = desk.text("t/model.results.json");
    assert!(written.contains("accepted_per_step_standard"), "{written}");
}

#[test]
fn a_head_that_cannot_be_trained_is_refused_before_anything_is_written() {
    let desk = Desk::new();
    let spec = desk.file("head.toml", &HEAD.replace("llamagen-toy", "stub"));
    desk.fails(&["train-drafter", &spec, "--out", "w"], 3, &["head.toml", "no head that can be trained"]);
    let spec = desk.file("typo.toml", &HEAD.replace("llamagen-toy", "llamagen-tyo"));
    desk.fails(&["train-drafter", &spec, "--out", "w"], 3, &["typo.toml", "llamagen-toy"]);
    desk.fails(&["train-drafter", "absent.toml", "--out", "w"], 3, &["absent.toml: cannot read"]);
    assert!(!desk.path("w").exists());
}

/// The same with its features in `folder`, and with more images.
fn with_features(folder: &str) -> String {
    format!(
        "features = \"{folder}\"\n{}",
        HEAD.replace("limit = 24", "limit = 600").replace("n_steps = 160", "n_steps = 4")
    )
}

#[test]
fn an_export_that_was_killed_has_the_bytes_of_one_that_was_not_and_a_training_reads_it() {
    let desk = Desk::new();
    let spec = desk.file("head.toml", &with_features("features"));
    let said = desk.succeeds(&["data", "features", &spec, "--out", "whole", "--format", "json"]);
    let answer: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&answer["n_images"], &answer["n_files"]), (&600.into(), &5.into()), "{answer}");
    let args = ["data", "features", &spec];
    let mut cut = desk.command(&args).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(cut.stderr.take().unwrap()).lines().map_while(Result::ok);
    let announced = lines.next().unwrap();
    assert!(announced.contains("features of 600 images of llamagen-toy: at most"), "{announced}");
    assert!(lines.any(|line| line.starts_with("features of image 256/600  ")), "it ends before it is killed");
    cut.kill().unwrap();
    cut.wait().unwrap();
    assert!(!desk.path("features/features.json").exists());
    desk.fails(&["train-drafter", &spec, "--out", "t"], 4, &["features: there are no whole features"]);
    // What a kill leaves of a file under way.
    desk.file("features/.unfinished-x", "half");
    let said = desk.succeeds(&args);
    assert!(!said.err.contains("features of image 128/"), "it begins again: {}", said.err);
    assert!(
        said.out.contains("600 images in 5 files") && said.out.contains("features = \"features\""),
        "{}",
        said.out
    );
    let names = |folder: &str| {
        let entries = std::fs::read_dir(desk.path(folder)).unwrap().map(|entry| entry.unwrap().file_name());
        entries.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!((names("whole"), names("whole").len()), (names("features"), 7));
    for name in names("whole").iter().filter(|name| *name != "images") {
        let read = |folder: &str| std::fs::read(desk.path(folder).join(name)).unwrap();
        assert!(read("whole") == read("features"), "{}", name.display());
    }
    desk.succeeds(&["train-drafter", &spec, "--out", "with"]);
}

#[test]
fn an_export_that_does_not_fit_on_the_disk_is_refused_before_anything_is_written() {
    let test = "an_export_that_does_not_fit_on_the_disk_is_refused_before_anything_is_written";
    let Some(disk) = Tmpfs::mount(test) else { return };
    let desk = Desk::new();
    let spec = desk.file("head.toml", &with_features("f"));
    let out = disk.path().join("f");
    let args = ["data", "features", &spec, "--out", out.to_str().unwrap()];
    desk.fails(&args, 6, &["the features take ", "and the disk has 1 MB left", "choose another --out"]);
    assert_eq!(std::fs::read_dir(disk.path()).unwrap().count(), 0);
}

/// An experiment on a toy with a head of the user's own.
const EXPERIMENT: &str = r#"
schema = 1
name = "own"
seed = 1
dataset = { name = "scenes-val", limit = 2 }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 3.0 }
timing = { warmup = 0, blocks = 1 }
cell = [
  { name = "ar" },
  { name = "head", drafter = { proposer = "eagle1", shape = "chain", depth = 2 } },
]
model = { name = "llamagen-toy", dtype = "f32" HEADS }
"#;

#[test]
fn a_spec_names_a_head_that_a_user_trained_and_its_digest_is_part_of_the_plan() {
    let desk = Desk::new();
    let training = desk.file("head.toml", &HEAD.replace("n_steps = 160", "n_steps = 2"));
    desk.succeeds(&["train-drafter", &training, "--out", "mine"]);
    let with = |heads: &str| EXPERIMENT.replace("HEADS", heads);
    let own = desk.file("own.toml", &with(r#", heads = { eagle1 = "mine" }"#));
    let plain = desk.file("plain.toml", &with(""));
    let digest = |spec: &str| {
        let planned = desk.succeeds(&["plan", spec, "--format", "json"]);
        let answer: serde_json::Value = serde_json::from_str(&planned.out).unwrap();
        answer["digest"].as_str().unwrap().to_owned()
    };
    let planned = digest(&own);
    assert!(planned != digest(&plain));
    assert_eq!(planned, digest(&desk.file("same.toml", &with(r#", heads = { eagle1 = "mine" }"#))));
    desk.succeeds(&["run", &own, "--out", "r"]);
    let manifest = desk.text("r/manifest.json");
    let tensors = desk.path("mine/model.safetensors");
    let of_tensors = blake3_of(&tensors);
    assert!(manifest.contains("llamagen-toy head eagle1") && manifest.contains(&of_tensors), "{manifest}");
    // The head of another model, no head, and none at all.
    let other =
        desk.file("other.toml", &with(r#", heads = { eagle1 = "mine" }"#).replace("llamagen", "janus"));
    desk.fails(&["run", &other, "--out", "o"], 4, &["mine/model.safetensors", "embed_tokens.weight"]);
    let wrong =
        desk.file("wrong.toml", &with(r#", heads = { eagle3 = "mine" }"#).replace("eagle1", "eagle3"));
    desk.fails(
        &["run", &wrong, "--out", "w"],
        4,
        &["mine/model.safetensors", "is it the head of another model?"],
    );
    let absent = desk.file("absent.toml", &with(r#", heads = { eagle1 = "yours" }"#));
    let said = ["cell `ar`", "the head `eagle1`", "yours cannot be read", "specimen train-drafter"];
    desk.fails(&["plan", &absent], 3, &said);
    let unknown = desk.file("unknown.toml", &with(r#", heads = { eagle2 = "mine" }"#));
    desk.fails(&["plan", &unknown], 3, &["unknown key `eagle2` in `heads`"]);
    // Another configuration beside the tensors is another head.
    let config = desk.text("mine/config.json");
    desk.file("mine/config.json", &config.replace("1e-6", "1e-5"));
    assert!(planned != digest(&own));
    desk.fails(&["run", &own, "--out", "r", "--resume"], 3, &["heads"]);
}

/// Hex blake3 of a file.
fn blake3_of(path: &std::path::Path) -> String {
    specimen_record::Digest::of_file(path).unwrap().to_string()
}

#[test]
fn a_training_is_planned_by_images_tokens_steps_disk_and_hours() {
    let desk = Desk::new();
    let spec = workspace("experiments/specs/train/llamagen_t2i_xl_512_eagle3.toml");
    let spec = spec.to_str().unwrap();
    let text = desk.succeeds(&["plan", spec]).out;
    for part in [
        "train   llamagen-t2i-xl-512-eagle3: eagle3 for llamagen-t2i-xl-512",
        "images  100000, 64 held out, of 1024 tokens: 102400000 tokens to draw",
        "passes over the images",
        "about 2.3 TB more if the target's features are exported (23.4 MB an image)",
        "memory  about ",
        "(NVIDIA H200): 10.",
        "assumed: images are drawn one after the other",
        "missing ",
    ] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
    let answer = desk.succeeds(&["plan", spec, "--format", "json"]).out;
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["training"]["disk"]["images"], 819_200_000);
    desk.fails(&["plan", spec, "--limit", "3"], 2, &["planned as it is written"]);
}
