//! What makes a run trustworthy: the same bytes whatever the cut, dead workers survived, records that can be made
//! again, and commands that tell where a run stands. On the stub network.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use crate::support::{Desk, spec};

/// Runs the stub spec into `out`; returns the merged records.
fn run(desk: &Desk, out: &str, more: &[&str]) -> Vec<u8> {
    desk.succeeds(&[&["run", &spec("ci/stub.toml"), "--limit", "12", "--out", out], more].concat());
    desk.bytes(&format!("{out}/merged/records.jsonl"))
}

#[test]
fn shards_and_workers_do_not_change_a_byte() {
    let desk = Desk::new();
    desk.made(&["--limit", "12", "--jobs", "1"], "1-1");
    let one = desk.bytes("1-1/merged/records.jsonl");
    for (shards, jobs) in [("1", "2"), ("2", "1"), ("5", "2")] {
        let other = run(&desk, &format!("{shards}-{jobs}"), &["--shards", shards, "--jobs", jobs]);
        assert!(one == other, "{shards} shards and {jobs} workers give other records");
    }
    let side_by_side = run(&desk, "timed", &["--timed-jobs", "2"]);
    assert!(one == side_by_side, "timed cells side by side give other records");
}

#[test]
fn an_item_that_kills_its_worker_becomes_a_row_and_the_rest_is_made() {
    let desk = Desk::new();
    let prompts = desk.file("prompts.txt", "a circle\nplease abort here\na square\nplease panic here\n");
    let set = format!("dataset.name=\"{prompts}\"");
    let cells = "cell=[{ name = \"ar\" }, { name = \"quality\", timed = false }]";
    let args = ["run", &spec("ci/stub.toml"), "--set", &set, "--set", cells, "--limit", "4", "--out", "r"];
    let ran = desk.run(&args);
    assert_eq!(ran.code, 5, "{}", ran.err);
    assert!(ran.err.contains("died of signal 6 (aborted) while it made"), "{}", ran.err);
    assert!(ran.err.contains("4 of 8 items failed"), "{}", ran.err);
    let records = desk.text("r/merged/records.jsonl");
    let n = |text: &str| records.lines().filter(|line| line.contains(text)).count();
    assert_eq!((n("\"status\":\"ok\""), n("died 3 times"), n("the prompt asks for a panic")), (4, 2, 2));
    let status = desk.json(&["status", "r"]);
    assert_eq!(
        (&status["n_ok"], &status["n_failed"], &status["n_missing"]),
        (&4.into(), &4.into(), &0.into())
    );
}

#[test]
fn a_gpu_that_vanishes_ends_the_run_and_a_resumed_one_has_the_same_records() {
    let desk = Desk::new();
    let flag = desk.file("flag", "");
    let prompts =
        desk.file("prompts.txt", &format!("a circle\na square\nplease vanish {flag}\na star\na hill\n"));
    let set = format!("dataset.name=\"{prompts}\"");
    let cells = "cell=[{ name = \"ar\" }, { name = \"quality\", timed = false }]";
    let args = |out| {
        ["run", &spec("ci/stub.toml"), "--set", &set, "--set", cells, "--limit", "5", "--out", out]
            .map(str::to_owned)
    };
    let run = |out, more: &[&str]| {
        let args = args(out);
        desk.run(&args.iter().map(String::as_str).chain(more.iter().copied()).collect::<Vec<_>>())
    };
    let lost = run("lost", &[]);
    assert_eq!(lost.code, 6, "{}", lost.err);
    let why = "the GPU cannot be used any more by this process (CUDA error: an illegal memory access was encountered)";
    assert_eq!(lost.err.matches(why).count(), 1, "{}", lost.err);
    assert!(lost.err.contains("a run with --resume"), "{}", lost.err);
    assert!(!lost.err.contains("internal error"), "{}", lost.err);
    let status = desk.json(&["status", "lost"]);
    assert_eq!(status["n_failed"], 0, "{status}");
    assert!(0 < status["n_missing"].as_u64().unwrap(), "{status}");

    fs::remove_file(&flag).unwrap();
    let resumed = run("lost", &["--resume"]);
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    let whole = run("whole", &[]);
    assert_eq!(whole.code, 0, "{}", whole.err);
    let records = |out: &str| desk.bytes(&format!("{out}/merged/records.jsonl"));
    assert!(records("lost") == records("whole"), "a resumed run has other records");
}

#[test]
fn records_are_made_again_to_the_last_pixel_and_a_changed_one_is_found() {
    let desk = Desk::new();
    desk.made(&["--limit", "12"], "r");
    let replayed = desk.json(&["verify", "r", "--replay", "10", "--seed", "7"]);
    assert_eq!((&replayed["pass"], &replayed["n_replayed"]), (&true.into(), &10.into()));
    let said = desk.succeeds(&["verify", "r", "--replay", "10", "--seed", "7", "-v"]).err;
    let made: std::collections::BTreeSet<&str> =
        said.lines().filter(|line| line.contains(": same tokens, same pixels")).collect();
    assert_eq!(made.len(), 10, "{said}");

    let path = desk.path("r/merged/records.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let line = text.lines().find(|line| line.contains("\"key\":\"ar/3/0\"")).unwrap();
    let pixels = line.split("\"image_digest\":\"").nth(1).unwrap().split('"').next().unwrap();
    let other = line.replace(pixels, &pixels.chars().rev().collect::<String>());
    fs::write(&path, text.replace(line, &other)).unwrap();
    let ran = desk.run(&["verify", "r", "--replay", "1000"]);
    assert!(ran.code == 4 && ran.out.contains("ar/3/0: same tokens, other pixels"), "{}", ran.out);
}

#[test]
fn a_plan_is_judged_by_an_earlier_run_whose_cells_are_not_all_timed() {
    let desk = Desk::new();
    let cells = "cell=[{ name = \"ar\" }, { name = \"quality\", timed = false }]";
    let spec = spec("ci/stub.toml");
    let ran = |command: &str| desk.succeeds(&[command, &spec, "--set", cells, "--limit", "2"]).out;
    assert!(ran("plan").contains("time    unknown: no earlier run in its folder has images of every cell"));
    ran("run");
    assert!(ran("plan").contains("as the earlier run in its folder took"));
    // A run that was made elsewhere is found there.
    let plan = |out: &str| desk.succeeds(&["plan", &spec, "--set", cells, "--limit", "2", "--out", out]).out;
    assert!(plan("elsewhere").contains("time    unknown: no earlier run in its folder"));
    fs::rename(desk.path("results/runs/stub"), desk.path("elsewhere")).unwrap();
    assert!(plan("elsewhere").contains("as the earlier run in its folder took"));
    assert!(ran("plan").contains("time    unknown"));
}

#[test]
fn an_untimed_cell_has_its_baseline_and_quality_beside_it_and_no_times() {
    let desk = Desk::new();
    let metric = "metric=[{ name = \"target-nll\" }]";
    desk.succeeds(&["run", &spec("ci/stub.toml"), "--limit", "3", "--set", metric, "--out", "r"]);
    let summary = desk.document("r/merged/summary.json");
    let cell = &summary["cells"][2];
    assert_eq!((&cell["id"], &cell["baseline"]), (&"quality".into(), &"ar".into()));
    let whys = ["speedup", "speedup_e2e", "predicted_speedup"].map(|ratio| &cell["measures"][ratio]["why"]);
    assert_eq!(whys, [&serde_json::Value::from("the cell is untimed"); 3]);
    assert_eq!(cell["metrics"][0]["vs_baseline"]["n"], 3, "{cell}");
    assert!(!desk.succeeds(&["report", "r"]).out.contains("no baseline"));
}

#[test]
fn the_status_of_a_run_is_told_before_and_after_its_end() {
    let desk = Desk::new();
    desk.made(&["--limit", "12"], "r");
    let status = desk.json(&["status", "r"]);
    let counts = ["n_items", "n_ok", "n_failed", "n_missing"].map(|name| status[name].as_u64().unwrap());
    assert_eq!((status["state"].as_str().unwrap(), counts), ("merged", [36, 36, 0, 0]));
    assert!(status["holder"].is_null());

    // One shard is lost with everything in it.
    fs::remove_dir_all(desk.path("r/shards/1")).unwrap();
    let status = desk.json(&["status", "r"]);
    assert_eq!(status["state"], "incomplete");
    assert!(status["n_missing"].as_u64().unwrap() > 0);
    desk.fails(&["merge", "r"], 4, &["have no record"]);
    let before = desk.bytes("r/merged/records.jsonl");
    run(&desk, "r", &["--resume"]);
    assert!(before == desk.bytes("r/merged/records.jsonl"));
    assert!(desk.succeeds(&["merge", "r"]).out.contains("records 36, 0 of them failed"));
    fs::remove_file(desk.path("r/merged/summary.json")).unwrap();
    let lost = desk.succeeds(&["merge", "r"]).err;
    assert!(
        lost.contains("the summary is not here: `run --resume` (of an import: `score`) makes it"),
        "{lost}"
    );
    run(&desk, "r", &["--resume"]);

    // One image of a timed block is lost: the others of the block are there, and are made again with it.
    let plan = desk.document("r/plan.json");
    let items = plan["blocks"][0]["items"].as_array().unwrap();
    assert!(items.len() > 1, "{plan}");
    let name = format!("{}.png", items[0].as_str().unwrap().replace('/', "+"));
    let image = (0..9).map(|k| desk.path(&format!("r/shards/{k}/images/{name}"))).find(|path| path.exists());
    fs::remove_file(image.unwrap()).unwrap();
    let status = desk.json(&["status", "r"]);
    let counts = ["n_ok", "n_missing", "n_again"].map(|name| status[name].as_u64().unwrap());
    assert_eq!(counts, [35, 1, items.len() as u64 - 1]);
    let seconds = status["cells"].as_array().unwrap().iter().map(|cell| {
        let n = |name: &str| cell[name].as_u64().unwrap();
        (n("n_missing") + n("n_again")) as f64 * cell["seconds_per_image"].as_f64().unwrap_or(0.0)
    });
    assert!((status["seconds_left"].as_f64().unwrap() - seconds.sum::<f64>()).abs() < 1e-9, "{status}");
    let said = desk.succeeds(&["status", "r"]).out;
    let again = specimen_foundation::text::counted(items.len() - 1, "existing image");
    assert!(said.contains(&format!("also makes {again} again")), "{said}");
}

#[test]
fn another_spec_is_refused_with_what_differs() {
    let desk = Desk::new();
    desk.made(&["--limit", "12"], "r");
    let stub = spec("ci/stub.toml");
    let args = ["run", &stub, "--limit", "12", "--set", "sampling.guidance=3.5", "--out", "r", "--resume"];
    desk.fails(&args, 3, &["`cells.ar.sampling.guidance` was 2.0, is 3.5"]);
}

#[test]
fn every_subcommand_has_a_page_of_the_manual() {
    let desk = Desk::new();
    desk.succeeds(&["man", "pages"]);
    for name in ["specimen", "specimen-run", "specimen-status", "specimen-verify"] {
        let page = desk.text(&format!("pages/{name}.1"));
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
}

#[test]
fn what_verify_advises_mends_the_damage() {
    let desk = Desk::new();
    desk.made(&["--limit", "12"], "r");
    let before = desk.bytes("r/merged/records.jsonl");
    fs::write(desk.path("r/plan.json"), "{\"schema\": 1, \"na").unwrap();
    desk.fails(&["verify", "r"], 4, &["r/plan.json", "remove the file and continue with `run --resume`"]);
    fs::remove_file(desk.path("r/plan.json")).unwrap();
    assert!(before == run(&desk, "r", &["--resume"]));
    desk.succeeds(&["verify", "r"]);

    fs::write(desk.path("r/merged/records.jsonl"), "").unwrap();
    desk.fails(&["verify", "r"], 4, &["r/merged/records.jsonl", "which merges again"]);
    assert!(before == run(&desk, "r", &["--resume"]));
    desk.succeeds(&["verify", "r"]);

    // What is there of a run that is not at its end can be right.
    unseal(&desk, "r");
    let said = desk.succeeds(&["verify", "r"]).out;
    for part in ["of the run as it was merged last", "nothing that is here is wrong; the rest is not made"] {
        assert!(said.contains(part), "`{part}` is not in {said}");
    }
    assert_eq!(desk.run(&["verify", "--deep", "r"]).code, 4);
    assert!(before == run(&desk, "r", &["--resume"]));
}

/// Opens a finished run again, as if its driver had been killed before the end.
fn unseal(desk: &Desk, out: &str) {
    let path = desk.path(out).join("manifest.json");
    let mut manifest: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    manifest["sealed"] = serde_json::Value::Null;
    fs::write(path, manifest.to_string()).unwrap();
    fs::remove_file(desk.path(out).join("checksums.json")).unwrap();
}

fn rows_of(desk: &Desk, path: &str) -> Vec<String> {
    desk.text(path).lines().map(str::to_owned).collect()
}

#[test]
fn a_timed_block_whose_images_come_from_two_attempts_is_timed_again() {
    let desk = Desk::new();
    desk.made(&["--limit", "12", "--jobs", "1"], "r");
    let before = desk.bytes("r/merged/records.jsonl");
    // The first two rows are of the first block; its others stay with the first attempt.
    let rows = rows_of(&desk, "r/shards/0/attempts/0/records.jsonl");
    fs::create_dir_all(desk.path("r/shards/0/attempts/1")).unwrap();
    for file in ["records.jsonl", "steps.jsonl"] {
        let path = |attempt: u32| format!("r/shards/0/attempts/{attempt}/{file}");
        let rows = rows_of(&desk, &path(0));
        fs::write(desk.path(&path(1)), rows[..2].join("\n") + "\n").unwrap();
        fs::write(desk.path(&path(0)), rows[2..].join("\n") + "\n").unwrap();
    }
    unseal(&desk, "r");
    assert!(run(&desk, "r", &["--jobs", "1", "--resume"]) == before);
    let later = (2..9).map(|n| format!("r/shards/0/attempts/{n}/records.jsonl"));
    let later: Vec<String> = later.filter(|path| desk.path(path).exists()).collect();
    assert_eq!(later.len(), 1, "{later:?}");
    let again = rows_of(&desk, &later[0]);
    // Four prompts times two timed cells, whole, and nothing of the other blocks.
    assert_eq!(again.len(), 8, "{again:?}");
    assert!(rows[..2].iter().all(|row| again.contains(row)));
}

#[test]
fn a_run_goes_on_with_another_cut_and_says_what_is_there_and_who_made_it() {
    let desk = Desk::new();
    let before = run(&desk, "r", &["--shards", "3", "--jobs", "2"]);
    unseal(&desk, "r");
    // The second shard's worker was killed before its last row and its marker, on another machine.
    fs::remove_file(desk.path("r/shards/1/done.json")).unwrap();
    let path = "r/shards/1/attempts/0/records.jsonl";
    let rows = rows_of(&desk, path);
    fs::write(desk.path(path), rows[..rows.len() - 1].join("\n") + "\n").unwrap();
    let env = desk.path("r/shards/1/attempts/0/env.json");
    let mut reported: serde_json::Value = serde_json::from_slice(&fs::read(&env).unwrap()).unwrap();
    reported["host_cpu"] = "Example CPU".into();
    fs::write(&env, reported.to_string()).unwrap();
    fs::write(desk.path("r/shards/1/images/.unfinished-a"), "half").unwrap();

    let args = ["run", &spec("ci/stub.toml"), "--limit", "12", "--out", "r", "--resume", "--jobs", "1"];
    let ran = desk.run(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let there = "continuing: 35 of 36 images are there, 1 missing, 1 files were never finished and are removed; 1 timed \
                 block(s) have some of their images and are timed again";
    assert!(ran.err.contains(there), "{}", ran.err);
    assert!(ran.err.contains("come from another machine or build (CPU Example CPU then, "), "{}", ran.err);
    assert!(desk.bytes("r/merged/records.jsonl") == before);
    let shards = fs::read_dir(desk.path("r/shards")).unwrap();
    assert!(shards.map(|shard| shard.unwrap().path()).all(|shard| shard.join("done.json").exists()));
    assert_eq!(desk.run(&["verify", "r"]).code, 0);
}

#[test]
fn a_record_whose_trace_is_lost_is_named_with_what_mends_it() {
    let desk = Desk::new();
    desk.made(&["--limit", "12"], "r");
    let path = "r/shards/0/attempts/0/steps.jsonl";
    let rows = rows_of(&desk, path);
    fs::write(desk.path(path), rows[1..].join("\n") + "\n").unwrap();
    unseal(&desk, "r");
    let ran = desk.run(&["run", &spec("ci/stub.toml"), "--limit", "12", "--out", "r", "--resume"]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(ran.err.contains("1 image(s) have no trace of their steps, the first is "), "{}", ran.err);
    assert!(ran.err.contains("remove the folder of its shard"), "{}", ran.err);
}

#[test]
fn the_first_failure_ends_a_run_that_asks_for_it() {
    let desk = Desk::new();
    let prompts = desk.file("prompts.txt", "a circle\nplease panic here\na square\n");
    let set = format!("dataset.name=\"{prompts}\"");
    let cells = "cell=[{ name = \"ar\" }]";
    let args = ["run", &spec("ci/stub.toml"), "--set", &set, "--set", cells, "--limit", "3", "--out", "r"];
    let ran = desk.run(&[&args[..], &["--fail-fast"]].concat());
    assert_eq!(ran.code, 5, "{}", ran.err);
    assert!(ran.err.contains("ar/1/0 failed, and --fail-fast ends the run"), "{}", ran.err);
    assert!(!desk.path("r/merged").exists());
    let ran = desk.run(&[&args[..], &["--resume"]].concat());
    assert_eq!(ran.code, 5, "{}", ran.err);
    assert!(ran.err.contains("1 of 3 items failed, the first is ar/1/0"), "{}", ran.err);
}

#[test]
fn a_metric_that_cannot_take_the_images_is_null_with_the_reason() {
    let desk = Desk::new();
    let text = fs::read_to_string(spec("ci/stub.toml")).unwrap();
    let metrics = ["scene-clip", "attribute-accuracy"].map(|name| format!("[[metric]]\nname = \"{name}\"\n"));
    let spec = desk.file("s.toml", &format!("{text}\n{}", metrics.concat()));
    desk.succeeds(&["run", &spec, "--limit", "4", "--out", "r"]);
    let summary = desk.text("r/merged/summary.json");
    let why = "takes images of 64x64, those of this cell are 8x8";
    assert_eq!(summary.matches(why).count(), 3 * metrics.len(), "{summary}");
}

#[test]
fn a_merge_beside_a_driver_is_refused() {
    let desk = Desk::new();
    desk.made(&["--limit", "12"], "r");
    let lock = specimen_runner::process::lock::Lock::take(&desk.path("r/lock")).unwrap();
    let ran = desk.run(&["merge", "r"]);
    assert_eq!(ran.code, 7, "{}", ran.err);
    assert!(ran.err.contains("is working on this run"), "{}", ran.err);
    drop(lock);
    assert_eq!(desk.run(&["merge", "r"]).code, 0);
}

#[test]
fn gpus_are_for_cells_that_leave_their_choice_to_the_run() {
    let desk = Desk::new();
    let args = ["run", &spec("ci/stub.toml"), "--limit", "2", "--out", "r", "--gpus", "0,1"];
    let ran = desk.run(&args);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("no cell of the spec has device = \"cuda\""), "{}", ran.err);
    if specimen_runner::images::load::device_of("cuda").is_err() {
        let ran = desk.run(&[&args[..], &["--set", "model.device=\"cuda\""]].concat());
        assert_eq!(ran.code, 6, "{}", ran.err);
        assert!(ran.err.contains("device `cuda` cannot be used: "), "{}", ran.err);
    }
}

#[test]
fn an_expectation_that_a_run_misses_is_a_warning_with_both_values() {
    let desk = Desk::new();
    let row = |cell: &str, measure: &str, value: f64| {
        format!(
            "{{ cell = \"{cell}\", measure = \"{measure}\", value = {value}, tolerance = 0.5, source = \"a paper\" }}"
        )
    };
    let rows = [row("ar", "nfe", 3.0), row("ar", "tokens_per_forward", 1.0), row("quality", "speedup", 1.0)]
        .join(", ");
    let expect = format!("expect=[{rows}]");
    let ran = desk.succeeds(&["run", &spec("ci/stub.toml"), "--limit", "4", "--out", "r", "--set", &expect]);
    let warnings: Vec<&str> = ran.err.lines().filter(|line| line.contains("(a paper)")).collect();
    assert_eq!(warnings.len(), 2, "{}", ran.err);
    assert_eq!(warnings[0], "warning: ar: nfe is 16.0000, expected 3 within 0.5 (a paper)");
    assert_eq!(warnings[1], "warning: quality: speedup was not measured, expected 1 within 0.5 (a paper)");
}
