//! The seal of a run: commands that read a run check it, a run that is resumed is mended or refused, and nothing that is
//! damaged is sealed again in silence. On the stub network.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use crate::support::{Desk, spec};

const RULES: &str = r#"
schema = 1
[[rule]]
cells = ["ar"]
measure = "nfe"
kind = "exact"
"#;

/// What `arguments` makes, and further arguments.
fn made(desk: &Desk, out: &str, more: &[&str]) {
    desk.made(&[&["--limit", "4", "--set", "timing.blocks=2"], more].concat(), out);
}

/// Runs four prompts into `out`; returns the merged records.
fn run(desk: &Desk, out: &str, more: &[&str]) -> Vec<u8> {
    desk.succeeds(&[&arguments(out)[..], more].concat());
    desk.bytes(&format!("{out}/merged/records.jsonl"))
}

fn arguments(out: &str) -> [&str; 8] {
    static STUB: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| spec("ci/stub.toml"));
    ["run", &STUB, "--limit", "4", "--set", "timing.blocks=2", "--out", out]
}

/// Changes a file for as long as `look` takes.
fn with_changed(desk: &Desk, name: &str, change: impl Fn(Vec<u8>) -> Option<Vec<u8>>, look: impl Fn()) {
    let path = desk.path(name);
    let whole = fs::read(&path).unwrap();
    match change(whole.clone()) {
        Some(bytes) => fs::write(&path, bytes).unwrap(),
        None => fs::remove_file(&path).unwrap(),
    }
    look();
    fs::write(path, whole).unwrap();
}

#[test]
fn what_verify_refuses_no_reader_accepts_unless_it_is_told_to() {
    let desk = Desk::new();
    made(&desk, "r", &[]);
    made(&desk, "other", &["--set", "seed=6"]);
    desk.file("b.rules.toml", RULES);
    desk.succeeds(&["gate", "r", "--baseline", "b.json", "--update-baseline", "--reason", "the first"]);
    let readers: [&[&str]; 4] = [
        &["gate", "r", "--baseline", "b.json"],
        &["compare", "r", "r", "--cell", "ar=sd-chain2"],
        &["records", "r"],
        &["report", "r"],
    ];
    let all_refuse = |parts: &[&str]| {
        desk.fails(&["verify", "r"], 4, parts);
        readers.iter().for_each(|reader| desk.fails(reader, 4, parts));
    };
    readers.iter().for_each(|reader| drop(desk.succeeds(reader)));
    let missing = ["r/checksums.json: the list of checksums is missing", "continue with `run --resume`"];
    with_changed(&desk, "r/checksums.json", |_| None, || all_refuse(&missing));
    let cut = |bytes: Vec<u8>| Some(bytes[..bytes.len() / 2].to_vec());
    with_changed(&desk, "r/manifest.json", cut, || all_refuse(&["r/manifest.json:"]));
    with_changed(&desk, "r/manifest.json", |_| Some(Vec::new()), || all_refuse(&["r/manifest.json:1:"]));
    let foreign = |_| Some(desk.bytes("other/manifest.json"));
    with_changed(&desk, "r/manifest.json", foreign, || {
        readers.iter().for_each(|reader| desk.fails(reader, 4, &["r/checksums.json: the list of files"]));
        desk.fails(&["verify", "r"], 4, &["r/plan.json"]);
    });
    let foreign = |_| Some(desk.bytes("other/merged/summary.json"));
    with_changed(&desk, "r/merged/summary.json", foreign, || {
        all_refuse(&["r/merged/summary.json: the file: the digest is", "which merges again"]);
    });
    let flipped = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).unwrap();
        Some(text.replacen("\"nfe\":1", "\"nfe\":2", 1).into_bytes())
    };
    with_changed(&desk, "r/merged/records.jsonl", flipped, || {
        let parts = ["r/merged/records.jsonl: the file: the digest is"];
        readers[1..].iter().for_each(|reader| desk.fails(reader, 4, &parts));
        // A gate reads the summary alone, and says so where it is allowed to read what does not hold.
        desk.succeeds(readers[0]);
        let reported = desk.succeeds(&[readers[1], &["--unverified"]].concat());
        assert!(
            reported.out.starts_with("not verified: r: 1 complaint: r/merged/records.jsonl"),
            "{}",
            reported.out
        );
        let reported = desk.json(&[readers[2], &["--unverified"]].concat());
        assert!(reported["unverified"][0].as_str().unwrap().contains("records.jsonl"), "{reported}");
    });
    with_changed(
        &desk,
        "r/merged/summary.json",
        |bytes| Some([bytes, b"\n".to_vec()].concat()),
        || {
            let reported = desk.succeeds(&[readers[0], &["--unverified", "--markdown", "gate.md"]].concat());
            assert!(
                reported.out.starts_with("not verified: r: 1 complaint: r/merged/summary.json"),
                "{}",
                reported.out
            );
            assert!(desk.text("gate.md").starts_with("**not verified: r: "));
            let page = desk.succeeds(&[readers[3], &["--unverified"]].concat());
            assert!(page.out.starts_with("not verified: r: "), "{}", page.out);
            assert!(desk.text("r/report/index.html").contains("Not verified"));
        },
    );
    fs::remove_file(desk.path("r/checksums.json")).unwrap();
    fs::create_dir(desk.path("r/checksums.json")).unwrap();
    all_refuse(&["r/checksums.json"]);
    desk.fails(&[&arguments("r")[..], &["--resume"]].concat(), 4, &["remove the folder r/checksums.json"]);
}

#[test]
fn a_finished_run_that_lost_images_makes_them_again_however_it_is_cut() {
    let desk = Desk::new();
    let before = run(&desk, "r", &["--shards", "2", "--jobs", "1"]);
    let images: Vec<_> = fs::read_dir(desk.path("r/shards/1/images")).unwrap().collect();
    let timed = images.iter().map(|image| image.as_ref().unwrap().path()).min().unwrap();
    // Another picture under the name of an image is no image of the run, although nothing is missing.
    let bytes = fs::read(&timed).unwrap();
    let others = images.iter().map(|image| image.as_ref().unwrap().path());
    let other = others.filter(|image| fs::read(image).unwrap() != bytes).max().unwrap();
    fs::copy(&other, &timed).unwrap();
    let resume = [&arguments("r")[..], &["--resume", "--jobs", "1"]].concat();
    desk.fails(&resume, 4, &["r/shards/1/images/", "the image was changed", "which makes it again"]);
    desk.fails(&["verify", "r"], 4, &["the image was changed", "; remove that image, if it is there"]);
    fs::write(&timed, &bytes).unwrap();
    assert!(desk.succeeds(&resume).err.contains("nothing is left to do"));
    // And neither is a picture of which no record tells.
    let stray = desk.path("r/shards/1/images/stray.png");
    fs::copy(&other, &stray).unwrap();
    let said = desk.run(&["verify", "r"]);
    assert!(said.err.contains("r/shards/1/images/stray.png: no record names this file"), "{}", said.err);
    assert!(said.err.trim_end().ends_with("; move it elsewhere"), "{}", said.err);
    fs::remove_file(stray).unwrap();
    fs::remove_file(&timed).unwrap();
    desk.fails(
        &["verify", "r"],
        4,
        &["r/shards/1/images/", "cannot read the pixels", "which makes it again"],
    );
    // All in one shard now: the image is made there, and is where its record is as well.
    let resumed =
        desk.succeeds(&[&arguments("r")[..], &["--resume", "--shards", "1", "--jobs", "1"]].concat());
    for part in ["1 image(s) were made and are gone, the first is r/shards/1/images/", "1 missing"] {
        assert!(resumed.err.contains(part), "{}", resumed.err);
    }
    assert!(fs::read(&timed).unwrap() == bytes);
    assert!(desk.bytes("r/merged/records.jsonl") == before);
    desk.succeeds(&["verify", "r"]);

    // Every image of an untimed cell: nothing else is made.
    for shard in ["0", "1", "2", "3"] {
        for image in fs::read_dir(desk.path("r/shards").join(shard).join("images")).into_iter().flatten() {
            let path = image.unwrap().path();
            if path.to_str().unwrap().contains("quality+") {
                fs::remove_file(path).unwrap();
            }
        }
    }
    let resumed = desk.succeeds(&[&arguments("r")[..], &["--resume", "--jobs", "1"]].concat());
    assert!(
        resumed.err.contains("8 of 12 images are there, 4 missing; 4 image(s) were made"),
        "{}",
        resumed.err
    );
    desk.succeeds(&["verify", "r"]);
    let resumed = desk.succeeds(&[&arguments("r")[..], &["--resume"]].concat());
    assert!(resumed.err.contains("nothing is left to do"), "{}", resumed.err);
}

#[test]
fn a_finished_run_that_was_changed_is_mended_or_refused_with_the_command_that_mends_it() {
    let desk = Desk::new();
    made(&desk, "r", &[]);
    let before = desk.bytes("r/merged/records.jsonl");
    let resume = [&arguments("r")[..], &["--resume"]].concat();
    let change = |name: &str, from: &str, to: &str| {
        let text = desk.text(name);
        assert!(text.contains(from), "{name}: {text}");
        fs::write(desk.path(name), text.replacen(from, to, 1)).unwrap();
    };
    let path = desk.path("r/shards/0/done.json");
    let mut done: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    done["records_digest"] = "0".repeat(64).into();
    fs::write(&path, done.to_string()).unwrap();
    desk.fails(&["verify", "r"], 4, &["r/shards/0"]);
    let mended = desk.succeeds(&resume);
    let said = "r/shards/0/done.json: the file: the digest is";
    assert!(mended.err.contains(said) && mended.err.contains("it is made again"), "{}", mended.err);
    desk.succeeds(&["verify", "r"]);

    change("r/shards/0/attempts/0/timing.jsonl", "\"decode_ns\":", "\"decode_ns\":1");
    let parts =
        ["timing.jsonl: the file: the digest is", "remove the folder r/shards/0 and continue with --resume"];
    desk.fails(&resume, 4, &parts);
    fs::remove_dir_all(desk.path("r/shards/0")).unwrap();
    desk.succeeds(&resume);
    desk.succeeds(&["verify", "r"]);

    for folder in ["r/shards/4294967295", "r/shards/1/attempts/4294967295"] {
        fs::create_dir(desk.path(folder)).unwrap();
        let parts = [folder, "no shard and no attempt has a number above", "remove the folder"];
        desk.fails(&["verify", "r"], 4, &parts);
        desk.fails(&resume, 4, &parts);
        fs::remove_dir(desk.path(folder)).unwrap();
    }
    change("r/manifest.json", "\"threads\": 1", "\"threads\": 2");
    desk.fails(&resume, 4, &["r/manifest.json: the file: the digest is", "from a copy"]);
    change("r/manifest.json", "\"threads\": 2", "\"threads\": 1");
    // The list is lost, and a file was changed: nobody knows which.
    let list = desk.bytes("r/checksums.json");
    fs::remove_file(desk.path("r/checksums.json")).unwrap();
    change("r/merged/steps.jsonl", "[[", "[[1");
    desk.fails(&resume, 4, &["r/checksums.json: the list of checksums is missing", "from a copy"]);
    change("r/merged/steps.jsonl", "[[1", "[[");
    // The list alone is lost.
    let mended = desk.succeeds(&resume);
    assert!(mended.err.contains("checksums is missing"), "{}", mended.err);
    assert!(!list.is_empty() && desk.bytes("r/merged/records.jsonl") == before);
    desk.succeeds(&["verify", "r"]);
}

#[test]
fn a_plan_that_was_edited_by_hand_is_refused_before_anything_is_made() {
    let desk = Desk::new();
    made(&desk, "r", &[]);
    let path = desk.path("r/plan.json");
    let whole = fs::read_to_string(&path).unwrap();
    let mut plan: serde_json::Value = serde_json::from_str(&whole).unwrap();
    plan["items"][3]["prompt"] = "a small blue square on grass at night".into();
    fs::write(&path, plan.to_string()).unwrap();
    // As if the run had not come to its end.
    fs::remove_dir_all(desk.path("r/shards")).unwrap();
    let mut manifest = desk.document("r/manifest.json");
    manifest["sealed"] = serde_json::Value::Null;
    fs::write(desk.path("r/manifest.json"), manifest.to_string()).unwrap();
    fs::remove_file(desk.path("r/checksums.json")).unwrap();
    let resume = [&arguments("r")[..], &["--resume"]].concat();
    let parts = ["r/plan.json: the plan: the digest is", "remove the file and continue with --resume"];
    desk.fails(&resume, 4, &parts);
    assert!(!desk.path("r/shards").exists(), "nothing was made");
    // Nor does a worker make anything of it.
    let worker = ["shard", "run", "r", "0", "--timed-shards", "1", "--untimed-shards", "1"];
    desk.fails(&worker, 4, &["r/plan.json: the plan: the digest is"]);
    fs::write(&path, whole).unwrap();
    desk.succeeds(&resume);
}

#[test]
fn what_dead_processes_left_under_way_is_listed_and_the_next_holder_removes_it() {
    let desk = Desk::new();
    made(&desk, "r", &[]);
    let left = ["r/shards/0/images/.unfinished-a", "r/report/.unfinished-b"];
    left.iter().for_each(|name| drop(desk.file(name, "half")));
    let reported = desk.succeeds(&["verify", "r"]).out;
    for name in left {
        assert!(reported.contains(&format!("left     {name}: a process died")), "{reported}");
    }
    let json = desk.json(&["verify", "r"]);
    assert_eq!(json["unfinished"].as_array().unwrap().len(), 2, "{json}");
    desk.succeeds(&["report", "r"]);
    assert!(!desk.path(left[1]).exists());
    // Another worker takes the shard over.
    let worker = ["shard", "run", "r", "0", "--timed-shards", "1", "--untimed-shards", "1"];
    desk.succeeds(&worker);
    assert!(!desk.path(left[0]).exists());
}

#[test]
fn the_program_says_which_sources_it_was_built_from_wherever_it_runs() {
    let desk = Desk::new();
    let version = desk.succeeds(&["--version"]).out;
    assert!(version.starts_with("specimen 0.1.0 (commit "), "{version}");
    // Inside of another repository, whose commit is not the program's.
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        let ran =
            std::process::Command::new("git").args(identity).args(args).current_dir(desk.path("")).output();
        let ran = ran.unwrap();
        assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "--message", "another repository"]);
    let theirs = git(&["rev-parse", "HEAD"]);
    run(&desk, "r", &["--set", "cell=[{ name = \"ar\" }]"]);
    let manifest = desk.document("r/manifest.json");
    assert_ne!(manifest["git"]["sha"], theirs.as_str());
    match manifest["git"]["sha"].as_str() {
        Some(commit) => {
            assert!(version.contains(&format!("(commit {}", &commit[..12])), "{version}: {commit}")
        }
        None => assert!(version.contains("commit unknown"), "{version}"),
    }
    assert_eq!(
        manifest["git"]["dirty"] == true,
        version.contains("sources changed"),
        "{version}: {manifest}"
    );
}

#[test]
fn a_changed_image_is_not_scored_and_not_shown() {
    let desk = Desk::new();
    made(&desk, "r", &[]);
    let image = "r/shards/0/images/ar+1+0.png";
    let other = |_| Some(desk.bytes("r/shards/0/images/ar+0+0.png"));
    let summary = desk.bytes("r/merged/summary.json");
    with_changed(&desk, image, other, || {
        let parts = ["ar+1+0.png: the pixels of ar/1/0 have digest", "the image was changed"];
        desk.fails(
            &["score", "r", "--metric", "target-nll"],
            4,
            &[parts[0], "remove r/", "--resume, which makes it again"],
        );
        desk.fails(&["report", "r"], 4, &parts);
        desk.fails(&["verify", "r"], 4, &parts);
    });
    with_changed(
        &desk,
        image,
        |_| Some(b"no picture".to_vec()),
        || {
            desk.fails(&["score", "r", "--metric", "target-nll"], 4, &["ar+1+0.png: cannot read the pixels"]);
        },
    );
    assert_eq!(desk.bytes("r/merged/summary.json"), summary);
    fs::remove_file(desk.path(image)).unwrap();
    desk.succeeds(&[&arguments("r")[..], &["--resume"]].concat());
    desk.succeeds(&["score", "r", "--metric", "target-nll"]);
}
