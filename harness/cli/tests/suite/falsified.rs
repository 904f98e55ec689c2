//! Every field of a finished run, changed alone and with all digests made again: `verify --deep` finds it, or it is one of those
//! that nobody can find, which are listed here and on the page about handing a run on.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use specimen_record::{Git, RunDir, verify_run};
use specimen_runner::recheck::recheck;

use crate::{
    checking::reseal,
    support::{Desk, files_below},
};

const SPEC: &str = r#"
schema = 1
name = "small"
seed = 5
analysis = "Every kind of row."
[dataset]
name = "scenes-val"
limit = 1
[model]
name = "stub"
dtype = "f32"
[sampling]
temperature = 1.0
top_k = 0
top_p = 1.0
guidance = 3.0
[timing]
warmup = 1
blocks = 1
[[cell]]
name = "ar"
[[cell]]
name = "vvs"
drafter = { proposer = "eagle1", shape = "dynamic", top_k = 6, depth = 4, total_token = 26 }
schedule = { kind = "vvs", trigger = "interval", every = 2, warm_up = 0 }
[[metric]]
name = "target-nll"
"#;

/// What no other file of the run and nothing in the program contradicts, by file and field; `#` is any place of a list.
const NOT_FOUND: &[&str] = &[
    "attempts/0/env.json cpu_mhz/#",
    "attempts/0/env.json load_average/#",
    "attempts/0/env.json peak_memory_mb",
    "attempts/0/env.json program",
    "attempts/0/env.json seconds",
    "attempts/0/env.json steps/#/n_captured",
    "attempts/0/env.json steps/#/n_refused",
    "attempts/0/env.json steps/#/n_while_timed",
    "attempts/0/env.json steps/#/ns_while_timed",
    "attempts/0/env.json steps/#/ran",
    "attempts/0/machine.jsonl busy",
    "attempts/0/machine.jsonl cpu_mhz",
    "attempts/0/machine.jsonl load_average/#",
    "attempts/0/machine.jsonl own",
    "attempts/0/machine.jsonl seconds",
    // Nothing was accepted there, so that no rate has changed.
    "attempts/0/records.jsonl tested_by_depth/#",
    "manifest.json argv/#",
    "manifest.json environment/CUDA_VISIBLE_DEVICES",
    "manifest.json hardware/cores",
    "manifest.json hardware/memory_mb",
    "manifest.json sealed/finished",
    "manifest.json started",
    "metrics/target-nll/vvs.json per_item/vvs~10~10",
];

/// Digests that whoever changes a file makes again.
const MADE_AGAIN: [&str; 5] =
    ["/spec_digest", "/plan_digest", "/result_digest", "/sealed/result_digest", "/sealed/files_digest"];

/// Files of one kind, each given as the text that its path ends with; a change is made in the same row of all.
const FILES: [&[&str]; 9] = [
    &["attempts/0/records.jsonl", "merged/records.jsonl"],
    &["attempts/0/steps.jsonl", "merged/steps.jsonl"],
    &["merged/steps.jsonl"],
    &["attempts/0/timing.jsonl"],
    &["attempts/0/machine.jsonl"],
    &["attempts/0/env.json"],
    &["merged/summary.json"],
    &["metrics/target-nll/vvs.json"],
    &["manifest.json"],
];

/// The pointers to all values of a document that hold no others; of a list the last element alone.
fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                leaves(value, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            if let Some(last) = items.last() {
                leaves(last, &format!("{at}/{}", items.len() - 1), found);
            }
        }
        Value::Null => {}
        _ => found.push(at.to_owned()),
    }
}

/// Another value of the same kind, which a reader takes.
fn other(value: &Value) -> Value {
    match value {
        Value::Bool(flag) => (!flag).into(),
        Value::Number(number) => match number.as_u64() {
            Some(whole) => (whole + 1).into(),
            None => (number.as_f64().unwrap() * 0.75 + 0.001).into(),
        },
        Value::String(text) => {
            let is_hex = |length| text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit());
            let is_time = text.len() == 20 && text.ends_with('Z');
            match text.as_str() {
                hex if is_hex(64) || is_hex(16) => {
                    let first = if hex.starts_with('0') { "1" } else { "0" };
                    format!("{first}{}", &hex[1..]).into()
                }
                time if is_time => format!("2031{}", &time[4..]).into(),
                "set" => "unset".into(),
                "unset" => "set".into(),
                "eager" => "buffers".into(),
                "buffers" => "eager".into(),
                text => format!("{text}x").into(),
            }
        }
        _ => unreachable!("only values that hold no others are changed"),
    }
}

/// The last row of a file of rows, or the document, and where it begins.
fn last_row(path: &Path) -> (Value, usize) {
    let text = fs::read_to_string(path).unwrap();
    let begin = match path.extension().and_then(|ending| ending.to_str()) {
        Some("jsonl") => text.trim_end().rfind('\n').map_or(0, |at| at + 1),
        _ => 0,
    };
    (serde_json::from_str(&text[begin..]).unwrap(), begin)
}

fn change(path: &Path, pointer: &str) {
    let (mut row, begin) = last_row(path);
    let Some(field) = row.pointer_mut(pointer) else { return };
    *field = other(field);
    let text = fs::read_to_string(path).unwrap();
    fs::write(path, format!("{}{row}\n", &text[..begin])).unwrap();
}

fn is_found(folder: &Path) -> bool {
    let Ok(run) = RunDir::open(folder) else { return true };
    let git = Git { sha: None, dirty: None };
    let again = recheck(&run, None, &git);
    !verify_run(&run).complaints.is_empty() || again.is_err() || !again.unwrap().complaints.is_empty()
}

#[test]
fn every_field_of_a_run_that_something_contradicts_is_found() {
    let desk = Desk::new();
    let spec = desk.file("small.toml", SPEC);
    desk.succeeds(&["run", &spec, "--out", "r", "--jobs", "1", "--shards", "1", "-q"]);
    let run = desk.path("r");
    reseal(&run);
    assert!(
        !is_found(&run),
        "{:?}",
        recheck(&RunDir::open(&run).unwrap(), None, &Git { sha: None, dirty: None })
    );
    let kept: Vec<(PathBuf, Vec<u8>)> =
        files_below(&run).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    let (mut passed, mut n_changed) = (BTreeSet::new(), 0);
    for group in FILES {
        let is_one = |path: &&PathBuf| group.iter().any(|ending| path.ends_with(ending));
        let files: Vec<&PathBuf> = kept.iter().map(|(path, _)| path).filter(is_one).collect();
        let mut pointers = Vec::new();
        leaves(&last_row(files[0]).0, "", &mut pointers);
        pointers.retain(|pointer| !pointer.starts_with("/spec/") && !MADE_AGAIN.contains(&pointer.as_str()));
        // The summary is compared as a whole, and one variable is noted as the others.
        pointers.retain(|pointer| !pointer.starts_with("/environment/") || pointer.ends_with("_DEVICES"));
        let every = if group[0] == "merged/summary.json" { 15 } else { 1 };
        for pointer in pointers.iter().step_by(every) {
            files.iter().for_each(|file| change(file, pointer));
            // A field that makes a file unreadable is found when the digests are made again.
            let sealed = std::panic::catch_unwind(|| reseal(&run));
            // The tests are another program than the one that made the run, so only the latter can answer for itself.
            let is_of_program =
                ["/git", "/software", "/weights"].iter().any(|field| pointer.starts_with(field));
            let passes =
                || !(is_found(&run) || is_of_program && desk.run(&["verify", "--deep", "r"]).code == 4);
            if sealed.is_ok() && passes() {
                let plain =
                    |part: &str| if part.parse::<u32>().is_ok() { "#".to_owned() } else { part.to_owned() };
                let pointer: Vec<String> = pointer.split('/').skip(1).map(plain).collect();
                passed.insert(format!("{} {}", group[0], pointer.join("/")));
            }
            n_changed += 1;
            kept.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
        }
    }
    assert!(n_changed > 110, "{n_changed}");
    let expected: BTreeSet<String> = NOT_FOUND.iter().map(|&field| field.to_owned()).collect();
    let unlisted: Vec<_> = passed.difference(&expected).collect();
    let found: Vec<_> = expected.difference(&passed).collect();
    assert!(unlisted.is_empty() && found.is_empty(), "passes: {unlisted:#?}\nfound after all: {found:#?}");
}

#[test]
fn digests_of_weights_that_are_part_of_the_program_are_found() {
    let desk = Desk::new();
    let plain = SPEC.split("[[cell]]\nname = \"vvs\"").next().unwrap();
    let spec = desk.file("tiny.toml", &plain.replace("\"stub\"", "\"tiny\""));
    desk.succeeds(&["run", &spec, "--out", "r", "--jobs", "1", "-q"]);
    let run = desk.path("r");
    let manifest = run.join("manifest.json");
    let whole = fs::read(&manifest).unwrap();
    for pointer in ["/weights/0/blake3", "/weights/0/file", "/weights/0/name"] {
        fs::write(&manifest, &whole).unwrap();
        change(&manifest, pointer);
        reseal(&run);
        let said = desk.run(&["verify", "--deep", "r"]).out;
        assert!(
            said.contains("manifest.json: other facts follow") && said.contains("`weights."),
            "{pointer}: {said}"
        );
    }
}
