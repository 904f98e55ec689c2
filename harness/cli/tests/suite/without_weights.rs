//! What needs no trained weights: plans, data, usage, and every kind of bad input up to the first network.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{collections::BTreeSet, process::Stdio};

use crate::support::{Desk, spec};

#[test]
fn plans_over_the_real_prompts_list_5000_and_1632_images() {
    let cases = [("coco", "real/coco_plan.toml", 5000), ("parti", "real/parti_plan.toml", 1632)];
    for (folder, file, n) in cases {
        let Some(desk) = Desk::with_data("plans_over_the_real_prompts", folder) else { return };
        let plan = desk.json(&["plan", &spec(file), "--items"]);
        assert_eq!((&plan["n_items"], &plan["n_prompts"]), (&n.into(), &n.into()), "{file}");
        let keys: BTreeSet<&str> =
            plan["items"].as_array().unwrap().iter().map(|item| item["key"].as_str().unwrap()).collect();
        assert_eq!(keys.len(), n, "{file}");
        let text = desk.succeeds(&["plan", &spec(file)]).out;
        assert!(text.contains(&format!("items   {n} in ")), "{text}");
    }
}

#[test]
fn a_plan_says_what_it_takes_cell_by_cell() {
    let desk = Desk::new();
    let text = desk.succeeds(&["plan", &spec("ci/smoke.toml")]).out;
    for part in
        ["cells   4, 4 timed", "items   16 in 2 blocks, over 4 prompts", "disk    at most ", "cell    ar "]
    {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
    assert!(
        text.contains("eagle1-static13  4 images of tiny, drafter=eagle1/static(tree=tiny_13)"),
        "{text}"
    );
}

#[test]
fn overrides_change_the_plan() {
    let desk = Desk::new();
    let smoke = spec("ci/smoke.toml");
    let n_items = |extra: &[&str]| desk.json(&[&["plan", &smoke], extra].concat())["n_items"].clone();
    assert_eq!(n_items(&["--limit", "3"]), 12);
    assert_eq!(n_items(&["--set", "dataset.samples=2"]), 32);
    assert_eq!(n_items(&["--sweep", "cell.sd-chain3.drafter.depth=1,2,3", "--limit", "1"]), 6);
}

#[test]
fn a_plan_names_missing_weights_and_what_to_fetch() {
    let desk = Desk::new();
    let file = spec("real/igpt_mnist_fd.toml");
    let ran = desk.succeeds(&["plan", &file]);
    // The pictures to compare with are a dataset, and need a folder.
    let for_all = format!(
        "; set SPECIMEN_DATA to a folder for data, and fetch it with:\n        specimen data fetch --for {file}\n"
    );
    for part in [
        "missing weights of igpt-mnist: 1 of 1 files, ",
        "\n        specimen data fetch igpt-mnist\n",
        &for_all,
    ] {
        assert!(ran.out.contains(part), "`{part}` is not in {}", ran.out);
    }
}

#[test]
fn a_plan_tells_what_one_command_fetches_from_what_a_person_must() {
    let desk = Desk::new();
    let file = spec("paper/sjd_lumina_coco.toml");
    let ran = desk.run(&["plan", &file]);
    // Its prompts are missing too.
    assert_eq!(ran.code, 4, "{}", ran.err);
    let ran = ran.out;
    let command = format!(
        ", besides what the lines above ask of you; set SPECIMEN_DATA to a folder for data, and fetch it with:\n        \
         specimen data fetch --for {file}\n"
    );
    assert!(ran.contains(&command), "`{command}` is not in {ran}");
    let by_hand: Vec<&str> = ran.lines().filter(|line| line.contains("vqgan.ckpt below chameleon")).collect();
    assert!(by_hand.len() == 1 && !by_hand[0].contains("data fetch"), "{ran}");
}

#[test]
fn a_plan_whose_prompts_alone_are_of_a_dataset_says_that_a_fetch_needs_a_folder() {
    let desk = Desk::new();
    let ran = desk.run(&["plan", &spec("real/parti_plan.toml")]);
    let folder = "; set SPECIMEN_DATA to a folder for data, and fetch it with:";
    assert!(ran.code == 4 && ran.out.contains(folder), "{}{}", ran.out, ran.err);
}

#[test]
fn a_plan_warns_of_what_will_be_missing() {
    let desk = Desk::new();
    let warnings = desk.json(&["plan", &spec("quickstart.toml")])["warnings"].clone();
    assert!(warnings[0].as_str().unwrap().contains("fd-scenes will be null"), "{warnings}");
}

#[test]
fn a_spec_that_is_absent_or_wrong_is_an_error_with_its_place() {
    let desk = Desk::new();
    desk.fails(&["plan", "no/such.toml"], 3, &["no/such.toml: the spec cannot be read"]);
    let text = std::fs::read_to_string(spec("ci/smoke.toml")).unwrap();
    let file = desk.file("misspelt.toml", &text.replace("guidance    = 3.0", "guidence    = 3.0"));
    desk.fails(
        &["plan", &file],
        3,
        &["misspelt.toml:", "unknown key `guidence`", "did you mean `guidance`?"],
    );
    let file = desk.file("broken.toml", "schema = 1\nname = \n");
    desk.fails(&["plan", &file], 3, &["broken.toml:2:", "not TOML"]);
    desk.fails(
        &["plan", &spec("ci/smoke.toml"), "--set", "sampling.temperature=-1"],
        3,
        &["is -1, expected 0 to 1e9"],
    );
}

#[test]
fn a_plan_for_a_gpu_that_is_not_here_says_so_and_is_made() {
    let desk = Desk::new();
    // Which GPU a machine has no test knows; none has so many.
    let set = "model.device=\"cuda:99\"";
    let plan = ["plan", &spec("ci/stub.toml"), "--limit", "2", "--set", set];
    let said = desk.succeeds(&plan).out;
    assert!(said.contains("\nnote    device cuda:99: ") && said.contains(" seen here; "), "{said}");
    let notes = desk.json(&plan)["notes"].clone();
    assert!(notes.as_array().is_some_and(|notes| notes.len() == 1), "{notes}");
    assert_eq!(desk.json(&["plan", &spec("ci/stub.toml"), "--limit", "2"])["notes"], serde_json::json!([]));
}

#[test]
fn arguments_that_make_no_sense_are_a_usage_error() {
    let desk = Desk::new();
    let smoke = spec("ci/smoke.toml");
    desk.fails(&["plan"], 2, &["required arguments"]);
    desk.fails(&["pla", &smoke], 2, &["unrecognized subcommand 'pla'"]);
    desk.fails(&["plan", &smoke, "--limit", "0"], 2, &["--limit"]);
    desk.fails(&["plan", &smoke, "--set", "nonsense"], 2, &["--set nonsense", "no `=`"]);
    desk.fails(&["plan", &smoke, "--set", "samplin.temperature=1"], 2, &["did you mean `sampling`?"]);
    desk.fails(&["data", "verify", "coco"], 2, &["unknown key `coco`, did you mean `coco2017-val-"]);
    desk.fails(&["data", "render", "scenes"], 2, &["required arguments"]);
}

#[test]
fn with_json_an_error_is_one_object_on_stderr() {
    let desk = Desk::new();
    for (args, code) in [
        (vec!["plan", "no/such.toml", "--format", "json"], 3),
        (vec!["--format=json", "nonsense"], 2),
        (vec!["report", "nowhere", "--format", "json"], 4),
    ] {
        let ran = desk.run(&args);
        assert_eq!(ran.code, code, "{}", ran.err);
        assert_eq!(ran.out, "");
        let error: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
        assert_eq!(error["error"]["code"], code);
        assert!(!error["error"]["message"].as_str().unwrap().is_empty());
    }
}

#[test]
fn help_and_version_end_well() {
    let desk = Desk::new();
    assert!(desk.succeeds(&["help", "plan"]).out.contains("--sweep"));
    assert!(desk.succeeds(&["--version"]).out.starts_with("specimen "));
    assert!(desk.succeeds(&["completions", "bash"]).out.contains("specimen"));
}

#[test]
fn absent_data_ends_a_plan_with_what_to_fetch() {
    let desk = Desk::new();
    let parts =
        ["parti-prompts", "set SPECIMEN_DATA", "`specimen data fetch parti`", "google-research/parti"];
    desk.fails(&["plan", &spec("real/parti_plan.toml")], 4, &parts);
}

#[test]
fn a_plan_without_its_prompts_lists_everything_that_is_missing() {
    let desk = Desk::new();
    let file = spec("paper/cascade_table1_llamagen_coco.toml");
    let ran = desk.run(&["plan", &file]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    for part in [
        "(no digest without its prompts)",
        "items   at most 35000, over 5000 prompts",
        "bound   ",
        " at 4.80 TB/s (NVIDIA H200), ",
        " at 3.35 TB/s (NVIDIA H100 SXM), ",
        " at 2.04 TB/s (NVIDIA A100 80GB SXM), ",
        "fetch   in total at least ",
        "missing coco2017-val-captions, 3.9 MB\n        specimen data fetch coco2017-captions\n",
        "specimen data fetch llamagen-t2i-xl-512\n",
        "images to compare with, for fid",
        "`specimen data fetch coco2017-val`",
        &format!("specimen data fetch --for {file}\n"),
    ] {
        assert!(ran.out.contains(part), "`{part}` is not in\n{}", ran.out);
    }
}

#[test]
fn a_malformed_prompt_file_is_an_error_with_line_and_column() {
    let desk = Desk::new();
    let plan = |file: &str, text: &str| {
        let path = desk.file(file, text);
        (spec("ci/smoke.toml"), format!("dataset.name=\"{path}\""))
    };
    let cases: [(&str, &str, &[&str]); 3] = [
        ("blank.txt", "a red circle\n\n", &["blank.txt", "line 2"]),
        ("cut.jsonl", "{\"prompt\": \"a\"}\n{\"prompt\": \n", &["cut.jsonl", "line 2, column"]),
        ("none.csv", "caption\nred\n", &["none.csv", "prompt"]),
    ];
    for (file, text, parts) in cases {
        let (spec, set) = plan(file, text);
        desk.fails(&["plan", &spec, "--set", &set], 4, parts);
    }
}

#[test]
fn published_files_are_checked_and_a_wrong_one_is_named() {
    let desk = Desk::as_data_folder();
    desk.file("parti/PartiPrompts.tsv", "Prompt\n");
    let listed = desk.json(&["data", "list"]);
    let items = listed["items"].as_array().unwrap();
    let (absent, there): (Vec<_>, Vec<_>) = items.iter().partition(|item| item["status"] == "absent");
    let there: Vec<_> = there.iter().map(|item| (&item["key"], &item["status"])).collect();
    assert_eq!(there, [(&"parti-prompts".into(), &"mismatch".into())]);
    assert!(absent.len() >= 4, "{listed:#}");
    desk.fails(&["data", "verify"], 4, &["parti-prompts"]);
    desk.fails(&["data", "verify", "mnist-test-images"], 4, &["mnist-test-images"]);
    let alone = Desk::as_data_folder();
    assert!(alone.succeeds(&["data", "verify"]).out.contains("absent"));
}

#[test]
fn rendered_scenes_are_the_same_every_time_and_make_a_prompt_file() {
    let desk = Desk::new();
    let render = |out: &str| {
        desk.succeeds(&[
            "data",
            "render",
            "scenes",
            "--n",
            "5",
            "--seed",
            "2",
            "--out",
            out,
            "--sheet",
            "sheet.png",
        ]);
        let names = ["000000.png", "000004.png", "captions.jsonl"];
        names.map(|name| std::fs::read(desk.path(out).join(name)).unwrap())
    };
    assert_eq!(render("first"), render("second"));
    assert_eq!(std::fs::read_dir(desk.path("first")).unwrap().count(), 6);
    assert!(std::fs::metadata(desk.path("sheet.png")).unwrap().len() > 1000);
    let set = "dataset.name=\"first/captions.jsonl\"";
    let plan = desk.json(&["plan", &spec("ci/smoke.toml"), "--set", set, "--limit", "5", "--items"]);
    assert_eq!(plan["n_prompts"], 5);
    let scenes = desk.json(&["plan", &spec("ci/smoke.toml"), "--limit", "5", "--items"]);
    assert_eq!(plan["items"][4]["prompt"], scenes["items"][4]["prompt"]);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let desk = Desk::new();
    let file = desk.file("a_file", "");
    let out = format!("{file}/pictures");
    desk.fails(&["data", "render", "scenes", "--n", "1", "--out", &out], 6, &["a_file"]);
}

#[test]
fn a_reader_that_hangs_up_is_no_error() {
    let desk = Desk::new();
    let mut command = desk.command(&["plan", &spec("ci/smoke.toml"), "--limit", "2000", "--items"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stderr, b"");
}

#[test]
fn nothing_is_coloured_in_a_pipe() {
    let ran = Desk::new().run(&["plan", "no/such.toml"]);
    assert!(!ran.err.contains('\u{1b}'), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
}

#[test]
fn a_report_of_what_is_no_run_is_refused() {
    let desk = Desk::new();
    desk.fails(&["report", "nowhere"], 4, &["nowhere: there is no such folder"]);
    desk.fails(&["grid", "nowhere"], 4, &["nowhere: there is no such folder"]);
    desk.file("here/notes.txt", "no run");
    desk.fails(&["report", "here"], 4, &["here: not a run directory: manifest.json is missing\n"]);
    // A tuning, and every folder of runs, says which runs it has.
    desk.file("here/rung-1/manifest.json", "{}");
    desk.file("here/held-out/manifest.json", "{}");
    desk.fails(&["status", "here"], 4, &["manifest.json is missing; runs in it: held-out, rung-1\n"]);
}

mod torch {
    use super::*;

    #[test]
    fn a_truncated_weights_file_is_named_with_its_size() {
        let desk = Desk::as_data_folder();
        desk.file("weights/igpt/mnist_gen.safetensors", "\u{8}\0\0\0\0\0\0\0{\"a\":{\"d");
        let args = ["generate", "", "--seed", "1", "--model", "igpt-mnist", "--dtype", "f32"];
        desk.fails(
            &args,
            4,
            &["mnist_gen.safetensors: not a whole safetensors file (16 bytes)", "fetch it again"],
        );
    }

    #[test]
    fn absent_weights_are_named_with_what_to_fetch() {
        let args = ["generate", "", "--seed", "1", "--model", "igpt-mnist", "--dtype", "f32"];
        let parts = [
            "error: model `igpt-mnist` is not on this machine: no weights in",
            "; fetch it:\n    specimen data fetch igpt-mnist\n",
        ];
        Desk::as_data_folder().fails(&args, 4, &parts);
        let desk = Desk::new();
        desk.fails(&args, 4, &parts);
        desk.fails(&["run", &spec("real/igpt_mnist.toml"), "--out", "r"], 4, &parts);
    }

    #[test]
    fn weights_that_a_spec_names_are_read_and_nothing_else() {
        let desk = Desk::as_data_folder();
        let with = |file: &str, weights: &str, code: i32, parts: &[&str]| {
            let set = format!("model.weights=\"{weights}\"");
            desk.fails(&["run", &spec(file), "--set", &set, "--out", "r"], code, parts);
        };
        let absent = ["model `igpt-mnist`: ", "mine.safetensors has no weights; expected a file of tensors"];
        with("real/igpt_mnist.toml", "mine.safetensors", 4, &absent);
        desk.file("mine.safetensors", "\u{8}\0\0\0\0\0\0\0{\"a\":{\"d");
        let damaged = ["mine.safetensors: not a whole safetensors file (16 bytes)"];
        with("real/igpt_mnist.toml", "mine.safetensors", 4, &damaged);
        let none = ["model `tiny` takes no `weights`", "leave the key out"];
        with("ci/smoke.toml", "mine.safetensors", 3, &none);
        let set = "model.weights=\"mine.safetensors\"";
        desk.fails(&["plan", &spec("ci/smoke.toml"), "--set", set], 3, &none);
    }

    #[test]
    fn settings_of_an_image_that_make_no_sense_are_a_usage_error() {
        let desk = Desk::new();
        let generate = |extra: &[&str], parts: &[&str]| {
            desk.fails(&[&["generate", "a red circle", "--seed", "1"], extra].concat(), 2, parts);
        };
        generate(&["--model", "tinny"], &["unknown model `tinny`", "did you mean `tiny`?"]);
        generate(&["--method", "eagle9"], &["unknown method `eagle9`", "`eagle1-static13`"]);
        generate(
            &["--method", "{ proposer = \"eagle1\", shpe = \"chain\" }"],
            &["`shpe`", "did you mean `shape`?"],
        );
        generate(
            &["--method", "{ drafter = { proposer = \"none\" }, acept = [] }"],
            &["`acept`", "`accept`"],
        );
        generate(&["--temperature", "nan"], &["--temperature", "finite", "NaN"]);
        generate(&["--out", "red.jpg"], &["red.jpg", "PNG"]);
        generate(&["--temperature", "-1"], &["`sampling.temperature` is -1", "expected 0 to 1e9"]);
        generate(&["--device", "gpu"], &["`model.device`", "cpu, cuda or cuda:N"]);
        let ran = desk.run(&["generate", "a red circle"]);
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains("--seed <N>"), "{}", ran.err);
    }

    #[test]
    fn a_cell_of_any_spec_is_found_by_name_or_answered_with_those_there_are() {
        let desk = Desk::new();
        let text = std::fs::read_to_string(spec("ci/smoke.toml")).unwrap();
        let own =
            desk.file("own.toml", &format!("{text}\n[axes]\n\"cell.sd-chain3.drafter.depth\" = [2, 5]\n"));
        let generate = ["generate", "a red circle on sand", "--seed", "1", "--spec", &own];
        let fails = |extra: &[&str], parts: &[&str]| desk.fails(&[&generate[..], extra].concat(), 2, parts);
        fails(
            &[],
            &["own.toml: name one of its cells with --cell: ar, ", "sd-chain3[depth=2], sd-chain3[depth=5]"],
        );
        fails(
            &["--cell", "sd-chain3[depth=4]"],
            &["has no cell `sd-chain3[depth=4]`", "did you mean `sd-chain3[depth=2]`"],
        );
        fails(&["--cell", "ar", "--method", "ar"], &["--method"]);
        fails(&["--cell", "ar", "--temperature", "0.5"], &["--temperature"]);
        desk.fails(&["generate", "x", "--seed", "1", "--cell", "ar"], 2, &["--spec"]);
        desk.fails(
            &["generate", "x", "--seed", "1", "--spec", "quickstrt", "--cell", "ar"],
            3,
            &["quickstart"],
        );
        desk.fails(
            &["generate", "x", "--seed", "1", "--method", "sd-chain"],
            2,
            &["did you mean `sd-chain3`?", "--spec SPEC"],
        );
    }

    #[test]
    fn a_shard_of_what_is_no_run_is_refused() {
        let args = ["shard", "run", "nowhere", "0", "--timed-shards", "1", "--untimed-shards", "0"];
        Desk::new().fails(&args, 4, &["nowhere: there is no such folder"]);
    }
}
