//! `specimen verify --deep`: a run passes, and one that was tampered with fails with the reason, also where the tamperer made every
//! digest again.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{fs, path::Path};

use serde_json::Value;
use specimen_record::{
    Checksums, Digest, Done, Manifest, PlanFile, RunDir, canonical_json, file_digest, read_document,
    write_document,
};

use crate::support::{Desk, all_named};

/// Four prompts of the stub network; every trial works on a copy.
const MADE: [&str; 4] = ["--limit", "4", "--set", "timing.blocks=2"];

/// Changes the text of every file of this name, those of attempts and the merged one alike.
fn edit(run: &Path, name: &str, change: impl Fn(String) -> String) {
    let files = all_named(run, name);
    assert!(!files.is_empty(), "no file is called {name}");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, change(text)).unwrap();
    }
}

fn edit_json(path: &Path, change: impl Fn(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, serde_json::to_string_pretty(&value).unwrap()).unwrap();
}

/// Makes every digest again, as somebody who knows the format can.
pub(crate) fn reseal(folder: &Path) {
    let run = RunDir::open(folder).unwrap();
    for shard in run.shards().unwrap() {
        write_document(&run.done(shard), &Done::of_shard(&run, shard).unwrap()).unwrap();
    }
    let mut manifest: Manifest = read_document(&run.manifest()).unwrap();
    manifest.spec_digest = Digest::of(canonical_json(&manifest.spec).as_bytes());
    let mut plan: PlanFile = read_document(&run.plan()).unwrap();
    plan.digest = PlanFile::digest_of(&plan.items, &manifest.spec);
    manifest.plan_digest = plan.digest.clone();
    write_document(&run.plan(), &plan).unwrap();
    let result = file_digest(&run.merged_records()).unwrap();
    let (plan_digest, result_digest) = (plan.digest.to_string(), result.to_string());
    edit_json(&run.summary(), |summary| {
        summary["plan_digest"] = plan_digest.clone().into();
        summary["result_digest"] = result_digest.clone().into();
    });
    let list = Checksums::of_run(&run).unwrap();
    let seal = manifest.sealed.as_mut().unwrap();
    seal.result_digest = result;
    seal.files_digest = Some(list.digest());
    write_document(&run.manifest(), &manifest).unwrap();
    write_document(&run.checksums(), &list.with_manifest(&run).unwrap()).unwrap();
}

/// A copy of the run that `change` was done to must fail with these parts.
#[track_caller]
fn fails(desk: &Desk, change: impl FnOnce(&Path), more: &[&str], parts: &[&str]) {
    let copied = desk.path("tampered");
    desk.made(&MADE, "tampered");
    change(&copied);
    let ran = desk.run(&[&["verify", "--deep", "tampered"], more].concat());
    assert_eq!(ran.code, 4, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("error: tampered: "), "{}", ran.err);
    for part in parts {
        assert!(ran.out.contains(part), "`{part}` is not in {}", ran.out);
    }
    fs::remove_dir_all(copied).unwrap();
}

#[test]
fn a_run_passes_and_its_images_are_made_again() {
    let desk = Desk::new();
    desk.made(&MADE, "r");
    let checked = desk.succeeds(&["verify", "--deep", "r", "--replay", "3", "--seed", "1"]);
    for part in ["12, 12 of them with a record", "3 images made again, chosen with seed 1", "\npass: "] {
        assert!(checked.out.contains(part), "{part} is not in {}", checked.out);
    }
    let json = desk.json(&["verify", "--deep", "r"]);
    assert_eq!((json["pass"].as_bool(), json["complaints"].as_array().unwrap().len()), (Some(true), 0));
    assert!(json["notes"][0].as_str().unwrap().contains("`dataset.limit` was 24, is 4"), "{json}");
    // Resealed as it is, it passes all the same: the tool that tampers in these tests is sound.
    reseal(&desk.path("r"));
    desk.succeeds(&["verify", "--deep", "r", "--replay", "1"]);
}

#[test]
fn what_was_changed_is_found_by_its_digest() {
    let desk = Desk::new();
    let changed = |name: &'static str, from: &'static str, to: &'static str| {
        move |run: &Path| edit(run, name, |text| text.replacen(from, to, 1))
    };
    fails(&desk, changed("records.jsonl", "\"nfe\":16", "\"nfe\":15"), &[], &["records.jsonl"]);
    fails(&desk, changed("timing.jsonl", "\"decode_ns\":", "\"decode_ns\":1"), &[], &["timing.jsonl"]);
    fails(
        &desk,
        changed("manifest.json", "\"top_k\":", "\"top_k\": 1,\n\"top_k\":"),
        &[],
        &["manifest.json"],
    );
    let other_spec =
        |run: &Path| edit_json(&run.join("manifest.json"), |manifest| manifest["spec"]["seed"] = 9.into());
    fails(&desk, other_spec, &[], &["manifest.json: the spec: the digest is"]);
    desk.made(&[&MADE[..], &["--set", "seed=6"]].concat(), "other");
    let other_plan = |run: &Path| {
        fs::copy(desk.path("other/plan.json"), run.join("plan.json")).unwrap();
    };
    fails(&desk, other_plan, &[], &["plan.json: the plan"]);
}

#[test]
fn what_was_changed_and_sealed_again_is_found_by_computing_it_again() {
    let desk = Desk::new();
    // A count: the steps of the image say another.
    let count = |run: &Path| {
        edit(run, "records.jsonl", |text| text.replacen("\"nfe\":16", "\"nfe\":15", 1));
        reseal(run);
    };
    fails(&desk, count, &[], &["`nfe` is 15, its steps in steps.jsonl give 16", "summary.json: "]);
    // Times, all of one kind: the summary has the old ones.
    let times = |run: &Path| {
        edit(run, "timing.jsonl", |text| text.replace("\"e2e_ns\":", "\"e2e_ns\":1"));
        reseal(run);
    };
    fails(&desk, times, &[], &["summary.json: it is not what the rows give: `cells.0."]);
    // A number of the summary itself.
    let number = |run: &Path| {
        edit_json(&run.join("merged/summary.json"), |summary| {
            summary["cells"][1]["measures"]["nfe"]["value"] = 1.5.into()
        });
        reseal(run);
    };
    fails(
        &desk,
        number,
        &[],
        &["summary.json: it is not what the rows give: `cells.1.measures.nfe.value` was"],
    );
    // An image.
    let image = |run: &Path| {
        let images = run.join("shards/0/images");
        fs::copy(images.join("ar+1+0.png"), images.join("ar+0+0.png")).unwrap();
        reseal(run);
    };
    fails(&desk, image, &[], &["ar+0+0.png", "pixels"]);
    // Tokens and their digest, which only making the image again can find.
    let tokens = |run: &Path| {
        edit(run, "records.jsonl", |text| {
            text.lines()
                .map(|line| {
                    let mut record: Value = serde_json::from_str(line).unwrap();
                    let tokens = record["tokens"].as_array_mut().unwrap();
                    tokens.swap(0, 1);
                    let digest = Digest::of_tokens(
                        &serde_json::from_value::<Vec<u32>>(record["tokens"].clone()).unwrap(),
                    );
                    record["tokens_digest"] = digest.to_string().into();
                    format!("{record}\n")
                })
                .collect()
        });
        reseal(run);
    };
    fails(&desk, tokens, &["--replay", "12"], &["token 0 differs"]);
    // A seed, in the records alone and in the plan as well.
    let seed = |run: &Path| {
        edit(run, "records.jsonl", |text| text.replacen("\"seed\":\"7", "\"seed\":\"6", 1));
        reseal(run);
    };
    fails(&desk, seed, &[], &["records.jsonl"]);
    let seeds = |run: &Path| {
        edit_json(&run.join("plan.json"), |plan| {
            plan["items"]
                .as_array_mut()
                .unwrap()
                .iter_mut()
                .for_each(|item| item["seed"] = "00000000000000aa".into());
        });
        reseal(run);
    };
    fails(&desk, seeds, &[], &["plan.json: an item of the spec `seed` was \""]);
    // What the spec claims.
    let claim = |run: &Path| {
        edit_json(&run.join("manifest.json"), |manifest| {
            manifest["spec"]["analysis"] = "It is the fastest.".into()
        });
        reseal(run);
    };
    fails(&desk, claim, &[], &["`spec.analysis` was \"It is the fastest.\""]);
    // A row.
    let row = |run: &Path| {
        edit(run, "records.jsonl", |text| {
            text.lines().filter(|line| !line.contains("\"ar/3/0\"")).map(|line| format!("{line}\n")).collect()
        });
        reseal(run);
    };
    fails(&desk, row, &[], &["ar/3/0"]);
}

#[test]
fn a_run_that_a_process_works_on_is_said_to_be_running_and_not_to_be_damaged() {
    let desk = Desk::new();
    desk.made(&MADE, "r");
    let run = RunDir::open(desk.path("r")).unwrap();
    // As a resumed run that has made an image since: its merged rows are those of before.
    edit_json(&run.manifest(), |manifest| manifest["sealed"] = Value::Null);
    let merged = fs::read_to_string(run.merged_records()).unwrap();
    fs::write(run.merged_records(), merged.replacen("\"n_steps\":", "\"n_steps\":1", 1)).unwrap();
    for lock in [run.lock(), run.shard_lock(0)] {
        let held = specimen_runner::process::lock::Lock::take(&lock).unwrap();
        let deep = desk.run(&["verify", "--deep", "r"]);
        assert_eq!(deep.code, 4, "{}", deep.err);
        assert!(deep.out.contains("running  process ") && deep.err.contains("is working on this run"));
        assert!(
            !deep.out.contains("wrong ") && !deep.out.contains("fail") && !deep.err.contains("not as it")
        );
        assert!(deep.out.contains("unknown  ") && deep.out.contains("compared with those of the shards"));
        let plain = desk.json(&["verify", "r"]);
        assert_eq!((&plain["pass"], &plain["complaints"]), (&true.into(), &serde_json::json!([])));
        assert!(plain["at_work"].as_str().unwrap().starts_with("process "));
        drop(held);
    }
    let ended = desk.run(&["verify", "--deep", "r"]);
    assert!(ended.code == 4 && ended.out.contains("wrong    ") && !ended.out.contains("running  "));
}
