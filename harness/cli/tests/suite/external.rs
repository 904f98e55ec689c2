//! Cells that another process makes: measured beside the baseline, and what comes of processes that misbehave.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may panic, and says when it skips")]

use std::path::Path;

use serde_json::Value;

use crate::{
    support::{Desk, cell, workspace},
    tmpfs::Tmpfs,
};

/// Whether the tests that need Python can run; otherwise the test `name` is skipped aloud.
fn has_python(name: &str) -> bool {
    let found = std::process::Command::new("python3").arg("--version").output();
    if found.is_ok_and(|output| output.status.success()) {
        return true;
    }
    specimen_testdata::skip(name, "python3");
    false
}

#[test]
fn the_python_example_is_measured_beside_the_baseline_in_one_table() {
    if !has_python("the_python_example_is_measured_beside_the_baseline_in_one_table") {
        return;
    }
    let desk = Desk::new();
    let painter = workspace("experiments/external/painter.py").canonicalize().unwrap();
    let text = std::fs::read_to_string(workspace("experiments/specs/ci/external_tiny.toml")).unwrap();
    let spec =
        desk.file("s.toml", &text.replace("experiments/external/painter.py", painter.to_str().unwrap()));
    let set = ["--limit", "4", "--set", "timing.warmup=1", "--set", "timing.blocks=2"];
    let ran = desk.succeeds(&[&["run", spec.as_str(), "--out", "run"], set.as_slice()].concat());
    let row = ran.out.lines().find(|line| line.contains("painter-py")).unwrap_or_default();
    assert!(row.contains("not known"), "{}", ran.out);
    assert!(ran.out.contains("this program timed them from request to answer"), "{}", ran.out);

    let summary = desk.document("run/merged/summary.json");
    let painter = cell(&summary, "painter-py");
    assert_eq!((&painter["origin"], &painter["baseline"]), (&"external".into(), &"ar".into()));
    assert_eq!(painter["measures"]["speedup"]["value"], Value::Null);
    assert!(painter["measures"]["speedup"]["why"].as_str().unwrap().contains("speedup_e2e"));
    assert!(painter["measures"]["speedup_e2e"]["value"].as_f64().unwrap() > 1.0, "painting beats decoding");
    assert_eq!(
        (painter["measures"]["nfe"]["value"].as_f64(), painter["n_images"].as_u64()),
        (Some(1.0), Some(4))
    );
    for name in ["accepted_per_step", "tokens_per_forward", "overhead_fraction"] {
        assert_eq!(painter["measures"][name]["value"], Value::Null);
        assert!(painter["measures"][name]["why"].as_str().unwrap().contains("reports no steps"), "{name}");
    }
    let metric = |name: &str| {
        painter["metrics"].as_array().unwrap().iter().find(|metric| metric["metric"] == name).unwrap().clone()
    };
    assert!(
        metric("target-nll")["why"].as_str().unwrap().contains("are not known; with `tokens` in its answers")
    );
    assert!(metric("scene-clip")["value"].is_f64());

    let timing = desk.rows("run/shards/0/attempts/0/timing.jsonl");
    let of = |id: &'static str| timing.iter().filter(move |row| row["key"].as_str().unwrap().starts_with(id));
    assert_eq!(of("painter-py/").filter(|row| row["warmup"] == true).count(), 1);
    for row in of("painter-py/") {
        assert!(row["told_ns"]["paint"].as_u64().unwrap() < row["e2e_ns"].as_u64().unwrap());
        assert!(row["phases_ns"].as_object().unwrap().values().all(|ns| ns == 0), "its phases are its own");
    }
    assert!(of("ar/").all(|row| row.get("told_ns").is_none()));
    // The blocks alternate: the painter's images stand between the baseline's.
    let blocks: Vec<u64> = of("painter-py/")
        .filter(|row| row["warmup"] == false)
        .map(|row| row["block"].as_u64().unwrap())
        .collect();
    assert_eq!(blocks, [0, 0, 1, 1]);

    assert_eq!(desk.json(&["verify", "run"])["complaints"], serde_json::json!([]));
    desk.succeeds(&["status", "run"]);
    desk.succeeds(&["report", "run"]);
    // Of the metrics the figure takes one that every cell has: the painter's tokens have no likelihood.
    let pareto = desk.text("run/report/pareto.csv");
    assert!(pareto.contains("painter-py") && !pareto.contains("target-nll"), "{pareto}");
    // Only the whole time of another program's image is known.
    let means = desk.succeeds(&["records", "run", "--layout", "csv"]).out;
    let of = |line: &str| {
        means.lines().find(|known| known.starts_with(line)).unwrap().split(',').collect::<Vec<_>>()
    };
    let (head, run_name) = (of("run,"), means.lines().last().unwrap().split(',').next().unwrap());
    let row = of(&format!("{run_name},painter-py,"));
    let at = |column: &str| head.iter().position(|name| *name == column).unwrap();
    assert_eq!(row[at("decode_s")], "–", "{means}");
    assert!(row[at("e2e_s")].parse::<f64>().unwrap() > 0.0, "{means}");
}

/// A spec over the stub with a cell for each of these scripts.
fn spec_of(desk: &Desk, scripts: &[(&str, &str)]) -> String {
    let mut text = String::from(
        r#"
schema = 1
name = "misbehaving"
seed = 1
analysis = "Processes that do not do as they should."
dataset = { name = "scenes-val", limit = 2 }
model = { name = "stub", dtype = "f32" }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 1.0 }
timing = { warmup = 0, blocks = 1 }
[[cell]]
name = "ar"
"#,
    );
    for (name, script) in scripts {
        let command = serde_json::to_string(&["sh", "-c", script]).unwrap();
        text += &format!(
            "[[cell]]\nname = \"{name}\"\nexternal = {{ command = {command}, timeout_s = 2, start_timeout_s = 3 }}\n"
        );
    }
    desk.file("s.toml", &text)
}

/// What a well-behaved script does with a request: `$id` and `$folder` are set, a picture is made.
const READ: &str = r#"while read -r line; do
    id=${line#*\"id\":\"}; id=${id%%\"*}; folder=${line#*\"folder\":\"}; folder=${folder%%\"*}
    printf 'P6 2 1 255\nabcdef' > "$folder/a.ppm"
    "#;

fn script(answer: &str) -> String {
    format!("{READ}{answer}\ndone")
}

const GOOD: &str =
    r#"echo "{\"protocol\": 1, \"id\": \"$id\", \"image\": \"a.ppm\", \"tokens\": [1, 2], \"forwards\": 2}""#;

#[test]
fn a_full_disk_of_the_run_is_waited_for_and_costs_no_row() {
    let test = "a_full_disk_of_the_run_is_waited_for_and_costs_no_row";
    let Some(disk) = Tmpfs::mount(test) else { return };
    let desk = Desk::new();
    let painter = script(GOOD);
    let spec = spec_of(&desk, &[("good", &painter)]);
    // Not a byte more fits where the run is, and with it the pictures of the process.
    assert!(std::fs::write(disk.path().join("filler"), vec![1; 400_000]).is_err());
    let run = disk.path().join("run");
    let said = desk.path("said");
    let log = std::fs::File::create(&said).unwrap();
    let mut command = desk.command(&["run", &spec, "--out", run.to_str().unwrap()]);
    let mut running = command.stdout(std::process::Stdio::null()).stderr(log).spawn().unwrap();
    let said = || std::fs::read_to_string(&said).unwrap();
    let started = std::time::Instant::now();
    while !said().contains("disk full (") {
        assert!(started.elapsed().as_secs() < 300 && running.try_wait().unwrap().is_none(), "{}", said());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    disk.remount("size=64m");
    assert!(running.wait().unwrap().success(), "{}", said());
    let text = std::fs::read_to_string(run.join("merged/records.jsonl")).unwrap();
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(records.len() == 4 && records.iter().all(|record| record["status"] == "ok"), "{records:?}");
}

#[test]
fn pictures_of_processes_are_made_below_the_run_and_a_killed_worker_leaves_none_for_long() {
    let desk = Desk::new();
    // The script notes the folder that it is given, and refuses until a file is there.
    let (noted, ready) = (desk.path("folders"), desk.path("ready"));
    let refusal = r#"echo "{\"protocol\": 1, \"id\": \"$id\", \"error\": \"not yet\"}""#;
    let answer = format!(
        "echo \"$folder\" >> '{}'; if [ -e '{}' ]; then {GOOD}; else {refusal}; fi",
        noted.display(),
        ready.display()
    );
    let spec = spec_of(&desk, &[("good", &script(&answer))]);
    assert_eq!(desk.run(&["run", &spec, "--out", "run"]).code, 5);
    let shard = desk.path("run/shards/0");
    let folders = std::fs::read_to_string(&noted).unwrap();
    assert!(folders.lines().count() >= 2, "{folders}");
    for folder in folders.lines().map(Path::new) {
        let of_worker = folder.parent().and_then(Path::parent).unwrap();
        assert!(folder.is_absolute() && of_worker.canonicalize().unwrap() == shard.canonicalize().unwrap());
    }
    let left = || {
        let entries = std::fs::read_dir(&shard).unwrap().map(|entry| entry.unwrap().file_name());
        entries.filter(|name| name.to_string_lossy().starts_with("specimen-external-")).count()
    };
    assert_eq!(left(), 0);
    // As a worker that was killed leaves it: a folder, and a file that nobody has locked.
    std::fs::create_dir(shard.join("specimen-external-0")).unwrap();
    std::fs::write(shard.join("specimen-external-0/a.png"), "half").unwrap();
    std::fs::write(shard.join("specimen-external-0.lock"), "").unwrap();
    std::fs::write(&ready, "").unwrap();
    desk.succeeds(&["run", &spec, "--out", "run", "--resume"]);
    assert_eq!(left(), 0);
}

#[test]
fn a_process_that_misbehaves_costs_its_own_items_only_and_says_why() {
    let desk = Desk::new();
    let outside = GOOD.replace("a.ppm", "../../etc/passwd");
    let text = "echo 'tracing: step 1' >&2; echo hello";
    let scripts = [
        ("good", script(GOOD)),
        ("crash", "read -r line; echo 'out of memory' >&2; exit 3".to_owned()),
        ("noise", script(text)),
        ("outside", script(&outside)),
        // It writes nothing: `noise` before it left a picture of this name.
        ("steals", script(GOOD).replace("printf 'P6 2 1 255\\nabcdef' > \"$folder/a.ppm\"", "")),
        ("hang", "read -r line; sleep 600".to_owned()),
        ("refuses", script(r#"echo "{\"protocol\": 1, \"id\": \"$id\", \"error\": \"too long\"}""#)),
    ];
    let scripts: Vec<(&str, &str)> = scripts.iter().map(|(name, script)| (*name, script.as_str())).collect();
    let spec = spec_of(&desk, &scripts);
    desk.fails(&["run", &spec, "--out", "run"], 5, &["12 of 16 items failed"]);
    let records = desk.rows("run/merged/records.jsonl");
    let errors = |id: &str| -> Vec<String> {
        let of = records.iter().filter(|record| record["cell"] == id && record["status"] == "err");
        of.map(|record| record["err"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((errors("ar").len(), errors("good").len()), (0, 0));
    let expected = [
        (
            "crash",
            "the process ended (exit code 3) instead of answering; what it said on stderr is in shards/<k>/worker.log of the run",
        ),
        (
            "noise",
            "line 1 of its answers: expected one JSON object with `protocol`, `id`, and `image` or `error`, found `hello` (expected value at line 1 column 1)",
        ),
        ("hang", "the process did not answer within 3 s (`start_timeout_s`) and was ended with its group"),
        ("refuses", "the process says: too long"),
    ];
    for (id, error) in expected {
        assert_eq!(errors(id), [error, error], "{id}");
    }
    assert!(errors("outside")[0].contains("`../../etc/passwd`"), "{:?}", errors("outside"));
    assert!(errors("steals").iter().all(|why| why.contains("cannot be found")), "{:?}", errors("steals"));
    let good = records.iter().find(|record| record["cell"] == "good").unwrap();
    assert_eq!(
        (good["width"].as_u64(), good["n_tokens"].as_u64(), good["nfe"].as_u64()),
        (Some(2), Some(2), Some(2))
    );
    let log = desk.text("run/shards/0/worker.log");
    assert!(log.contains("out of memory") && log.contains("tracing: step 1"), "{log}");
    assert_eq!(desk.json(&["verify", "run"])["complaints"], serde_json::json!([]));
}

#[test]
fn a_program_that_is_not_there_ends_the_run_with_its_name() {
    let desk = Desk::new();
    let spec = spec_of(&desk, &[("gone", "x")]);
    let text = std::fs::read_to_string(&spec).unwrap().replace("\"sh\"", "\"no-such-program-of-specimen\"");
    let spec = desk.file("s.toml", &text);
    desk.fails(
        &["run", &spec, "--out", "run"],
        6,
        &["cell `gone`", "cannot start `no-such-program-of-specimen"],
    );
}

#[test]
fn a_declared_file_may_change_until_images_were_made_with_it() {
    check_that_a_program_is_fixed_once_it_made_images(true);
}

#[test]
fn so_may_a_script_that_only_the_command_names() {
    check_that_a_program_is_fixed_once_it_made_images(false);
}

fn check_that_a_program_is_fixed_once_it_made_images(is_declared: bool) {
    let desk = Desk::new();
    let refuses = r#"echo "{\"protocol\": 1, \"id\": \"$id\", \"error\": \"not yet\"}""#;
    let program = desk.file("program.sh", &script(refuses));
    let spec = spec_of(&desk, &[("good", "x")]);
    let text = std::fs::read_to_string(&spec).unwrap();
    let files = if is_declared { format!(", files = [{program:?}]") } else { String::new() };
    let text = text.replace(r#"["sh","-c","x"]"#, &format!("[\"sh\", {program:?}]{files}"));
    let spec = desk.file("s.toml", &text);
    let log = "the stderr of the processes is in run/shards/0/worker.log";
    let ran = desk.run(&["run", &spec, "--out", "run"]);
    assert!(ran.code == 5 && ran.err.contains("2 of 4 items failed") && ran.err.contains(log), "{}", ran.err);
    let manifest = || desk.document("run/manifest.json")["weights"][0].clone();
    let begun = manifest();
    assert!(begun["name"].as_str().unwrap().starts_with("good file "), "{begun}");
    // The fix makes the first image, and refuses every other.
    let half = format!("n=$((n + 1)); if [ $n -lt 3 ]; then {GOOD}; else {refuses}; fi");
    desk.file("program.sh", &script(&half));
    desk.fails(&["run", &spec, "--out", "run", "--resume"], 5, &["1 of 4 items failed"]);
    assert_ne!(manifest(), begun);
    desk.file("program.sh", &script(GOOD));
    let made = "cell `good` has made 1 images with another ";
    let again = format!("or make a new run: `specimen run {spec} --out run-2`");
    desk.fails(&["run", &spec, "--out", "run", "--resume"], 4, &[made, "program.sh (blake3 ", &again]);
    desk.succeeds(&["run", &spec, "--out", "run-2"]);
    let again = format!("`specimen run {spec} --out run-3`");
    desk.fails(&["run", &spec, "--out", "run", "--resume"], 4, &[&again]);

    // Or the old file stays, and a cell of its own has the mended one: the run grows by it.
    let old = script(&half);
    desk.file("program.sh", &old);
    let mended = desk.file("mended.sh", &script(GOOD));
    let cell = text.split("[[cell]]").last().unwrap();
    let cell = cell.replace("\"good\"", "\"mended\"").replace(&program, &mended);
    let spec = desk.file("s.toml", &format!("{text}[[cell]]{cell}"));
    desk.fails(&["run", &spec, "--out", "run", "--resume"], 5, &["1 of 6 items failed"]);
    assert!(desk.path("run/merged/summary.json").is_file());
}

#[test]
fn a_finished_run_does_not_pass_for_one_of_a_script_that_changed_since() {
    let desk = Desk::new();
    let program = desk.file("program.sh", &script(GOOD));
    let spec = spec_of(&desk, &[("good", "x")]);
    let text = std::fs::read_to_string(&spec).unwrap();
    let spec = desk.file("s.toml", &text.replace(r#"["sh","-c","x"]"#, &format!("[\"sh\", {program:?}]")));
    desk.succeeds(&["run", &spec, "--out", "run"]);
    let again = ["run", &spec, "--out", "run", "--resume"];
    assert!(desk.succeeds(&again).err.contains("nothing is left to do"));
    let gate = ["gate", "run", "--baseline", "b.json"];
    desk.succeeds(&[&gate[..], &["--update-baseline", "--reason", "the first"]].concat());
    desk.succeeds(&["run", &spec, "--out", "same"]);
    desk.succeeds(&[&gate[..], &["same"]].concat());
    desk.file("program.sh", &format!("{}\n# mended", script(GOOD)));
    desk.fails(&again, 4, &["cell `good` has made 2 images with another ", "program.sh (blake3 "]);
    // Nor may a rerun by it excuse a failure of the run.
    desk.succeeds(&["run", &spec, "--out", "other"]);
    desk.fails(
        &[&gate[..], &["other"]].concat(),
        1,
        &["other: ", "program.sh", "has other content than that of run"],
    );
    // One that `gate` would make itself is refused before it is made.
    let failing = "schema = 1\n[[rule]]\ncells = [\"good\"]\nmeasure = \"nfe\"\nkind = \"window\"\nlow = 1e6\nhigh = 2e6\nconfirm = 1";
    let rules = desk.file("failing.toml", failing);
    let program = "program.sh has other content than it had for run";
    desk.fails(&[&gate[..], &["--rules", &rules, "--rerun"]].concat(), 1, &[program]);
    assert!(!desk.path("run.rerun-1").exists());
}

#[test]
fn a_tuning_names_the_command_of_another_programs_setting() {
    let desk = Desk::new();
    let spec = spec_of(&desk, &[("good", &script(GOOD)), ("alike", &script(GOOD))]);
    let text = std::fs::read_to_string(&spec).unwrap();
    let spec = desk.file("s.toml", &text.replace("limit = 2", "limit = 6"));
    let ran = desk.run(&["tune", &spec, "--objective", "nfe", "--subject-to", "nfe<=ar", "--out", "t"]);
    assert!(ran.out.contains("Best: `good` (external: sh -c "), "{} {}", ran.out, ran.err);
    // The decoding of another program has no time of its own: the bound is kept, and nothing can be ranked.
    let ran = desk.run(&["tune", "t", "--objective", "speedup", "--subject-to", "nfe<=ar"]);
    let none = "No setting that meets the bounds has a value of speedup: ";
    assert!(ran.out.contains(none) && ran.out.contains("see speedup_e2e"), "{}{}", ran.out, ran.err);
}

#[test]
fn another_program_can_be_the_baseline_of_its_own_group() {
    let desk = Desk::new();
    let spec = spec_of(&desk, &[("py-ar", &script(GOOD)), ("py-fast", &script(GOOD))]);
    let text = std::fs::read_to_string(&spec).unwrap();
    let (before, last) = text.split_at(text.rfind("timeout_s = 2").unwrap());
    let spec = desk.file("s.toml", &format!("{before}baseline = \"py-ar\", {last}"));
    desk.succeeds(&["run", &spec, "--out", "run"]);
    let summary = desk.document("run/merged/summary.json");
    let of = |id: &str| cell(&summary, id)["baseline"].clone();
    assert_eq!((of("ar"), of("py-ar"), of("py-fast")), ("ar".into(), "py-ar".into(), "py-ar".into()));
    assert!(cell(&summary, "py-fast")["measures"]["speedup_e2e"]["value"].is_f64(), "{summary}");
    // The same requests give the same records in a second run.
    desk.succeeds(&["run", &spec, "--out", "again"]);
    assert_eq!(desk.document("again/merged/summary.json")["result_digest"], summary["result_digest"]);
}

#[test]
fn returned_tokens_are_scored_where_the_model_is_known_here() {
    let desk = Desk::new();
    let sixteen = GOOD.replace("[1, 2]", "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]");
    let scripts = [("whole", script(&sixteen)), ("short", script(GOOD))];
    let spec = spec_of(&desk, &[(scripts[0].0, &scripts[0].1), (scripts[1].0, &scripts[1].1)]);
    let text = std::fs::read_to_string(&spec).unwrap();
    let metric = "metric = [{ name = \"target-nll\" }]\n[[cell]]";
    let spec = desk.file("s.toml", &text.replacen("[[cell]]", metric, 1));
    desk.succeeds(&["run", &spec, "--out", "run"]);
    let summary = desk.document("run/merged/summary.json");
    let nll = |id: &str| cell(&summary, id)["metrics"][0].clone();
    assert!(nll("whole")["value"].as_f64().is_some_and(|bits| bits > 0.0), "{}", nll("whole"));
    assert!(nll("whole")["vs_baseline"]["difference"].is_f64(), "{}", nll("whole"));
    let why = nll("short")["why"].as_str().unwrap().to_owned();
    assert!(why.contains("no image tokens of `stub`: expected 16 tokens, found 2"), "{why}");
}

#[test]
fn another_programs_sampler_is_tested_and_a_wrong_one_is_found() {
    if !has_python("another_programs_sampler_is_tested_and_a_wrong_one_is_found") {
        return;
    }
    let desk = Desk::new();
    let sampler = workspace("experiments/external/rejection_sampler.py");
    // With fewer images than the command makes of its own accord both mistakes are found too.
    let (samples, n): (&[&str], u32) =
        if specimen_testdata::is_long() { (&[], 40_000) } else { (&["--samples", "10000"], 10_000) };
    let examine = |more: &[&str]| {
        let program = ["--external", "python3", sampler.to_str().unwrap()];
        desk.run(&[&["doctor", "--lossless"], samples, &program, more].concat())
    };
    let right = examine(&[]);
    assert_eq!(right.code, 0, "{}{}", right.out, right.err);
    assert_eq!(right.out.matches("\nkept").count(), 2, "the sampler and the control: {}", right.out);
    assert!(right.out.contains(&format!("; {n} images a method")), "{}", right.out);
    for mistake in ["residual", "bonus"] {
        let wrong = examine(&["--mistake", mistake]);
        assert_eq!(wrong.code, 1, "{mistake}: {}{}", wrong.out, wrong.err);
        assert!(wrong.err.contains("not lossless: external"), "{}", wrong.err);
        assert_eq!(wrong.out.matches("\nkept").count(), 1, "the control: {}", wrong.out);
    }
}

#[test]
fn a_sampler_that_misbehaves_is_named_with_what_it_said() {
    let desk = Desk::new();
    let says = |line: &str| {
        let program = format!("read line; echo '{line}'");
        let args = ["doctor", "--lossless", "--samples", "1000", "--external", "sh", "-c"];
        desk.run(&[&args[..], &[&program]].concat())
    };
    for (line, parts) in [
        ("nonsense", ["line 1 of the program", "`nonsense`"]),
        (r#"{"protocol": 1, "id": "0/0", "accepted": 9, "token": 0}"#, ["`accepted` up to 3", "found 9"]),
        (r#"{"protocol": 1, "id": "0/0", "accepted": 0, "token": 4}"#, ["`token` below 4", "found 4"]),
        (r#"{"protocol": 1, "id": "7/0", "accepted": 0, "token": 0}"#, ["id 0/0", "id 7/0"]),
    ] {
        let ran = says(line);
        assert_eq!(ran.code, 6, "{}", ran.err);
        assert!(parts.iter().all(|part| ran.err.contains(part)), "{line}: {}", ran.err);
    }
    desk.fails(&["doctor", "--lossless", "--external", "no-such-program"], 6, &["no-such-program"]);
}
