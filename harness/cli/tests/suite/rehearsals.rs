//! Whole specs with made weights: what runs, what is listed, and what refuses the run.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use serde_json::Value;

use crate::support::{Desk, spec};

const STUB: &str = r#"
schema = 1
name = "stub"
seed = 1
analysis = "a rehearsal"
dataset = { name = "scenes-val", limit = 20 }
model = { name = "stub", dtype = "f32" }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 2.0 }
timing = { warmup = 1, blocks = 2 }
cell = [
  { name = "ar" },
  { name = "chain", drafter = { proposer = "eagle1", shape = "chain", depth = 2 } },
  MORE
]
"#;

/// Rehearses, which must end with `code`; the answer.
#[track_caller]
fn rehearsed(desk: &Desk, args: &[&str], code: i32) -> Value {
    let args = [&["rehearse"], args, &["--out", "r", "--format", "json"]].concat();
    let ran = desk.run(&args);
    assert_eq!(ran.code, code, "{args:?}: {}{}", ran.out, ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

/// The findings of `kind`, by what they are about.
fn found<'a>(answer: &'a Value, kind: &str) -> Vec<&'a str> {
    let findings = answer["findings"].as_array().unwrap().iter();
    findings
        .filter(|finding| finding["kind"] == kind)
        .map(|finding| finding["what"].as_str().unwrap())
        .collect()
}

/// Names of the cells, each of which made `n` images without a failure.
#[track_caller]
fn cells(answer: &Value, n: u64) -> Vec<&str> {
    let cells = answer["cells"].as_array().unwrap();
    for cell in cells {
        assert_eq!((&cell["n_images"], &cell["n_failed"]), (&n.into(), &0.into()), "{cell}");
    }
    cells.iter().map(|cell| cell["name"].as_str().unwrap()).collect()
}

/// Values that a metric gave.
fn values(answer: &Value, name: &str) -> u64 {
    let tried = answer["tried"].as_array().unwrap();
    tried.iter().find(|tried| tried["name"] == name).unwrap()["n_values"].as_u64().unwrap()
}

#[test]
fn a_table_at_full_size_runs_by_made_weights_and_no_command_takes_the_run_for_a_result() {
    let desk = Desk::new();
    let answer = rehearsed(&desk, &[&spec("paper/cascade_table1_llamagen_coco.toml"), "--prompts", "2"], 4);
    assert_eq!(
        cells(&answer, 2),
        ["ar", "naive", "lantern", "lantern-static", "lantern++", "gsd", "cascade"]
    );
    for metric in ["target-nll", "fid:lantern"] {
        assert_eq!(values(&answer, metric), 7, "{metric}: {answer}");
    }
    let missing = found(&answer, "missing");
    assert_eq!(missing.len(), answer["findings"].as_array().unwrap().len(), "{missing:?}");
    for part in
        ["prompts: ", "weights of llamagen-t2i-xl-512:", "weights of inception-fid:", "images to compare"]
    {
        assert!(missing.iter().any(|what| what.starts_with(part)), "{part}: {missing:?}");
    }
    assert_eq!(answer["n_prompts"], 5000);

    let refused: [&[&str]; 9] = [
        &["report", "r/run"],
        &["records", "r/run"],
        &["compare", "r/run", "r/run"],
        &["reproduce", "cascade:table1", "--run", "r/run"],
        &["gate", "r/run", "--baseline", "b.json", "--update-baseline", "--reason", "none"],
        &["score", "r/run"],
        &["grid", "r/run"],
        &["verify", "--deep", "r/run"],
        &["cite", "r/run"],
    ];
    for args in refused {
        desk.fails(args, 2, &["r/run: this run is a rehearsal by made weights", "by `specimen run`"]);
    }
    desk.succeeds(&["verify", "r/run"]);
}

#[test]
fn janus_and_anole_run_on_their_own_grammar_and_too_few_prompts_are_listed() {
    let desk = Desk::new();
    let few = [&spec("paper/cascade_table1_janus_coco.toml")[..], "--prompts", "1", "--limit", "4"];
    let answer = rehearsed(&desk, &few, 4);
    assert_eq!(cells(&answer, 1).len(), 4);
    let open = found(&answer, "undecidable");
    assert!(
        open.iter().any(|what| what.starts_with("claim fastest-janus of cascade:table1-janus")),
        "{open:?}"
    );
    let answer = rehearsed(&desk, &[&spec("real/anole.toml"), "--prompts", "1"], 4);
    assert_eq!(cells(&answer, 1), ["ar", "naive", "cascade"]);
    assert_eq!((values(&answer, "target-nll"), found(&answer, "failed").len()), (3, 0), "{answer}");
    let answer = rehearsed(&desk, &[&spec("paper/sjd_lumina_coco.toml"), "--prompts", "1"], 4);
    assert_eq!(cells(&answer, 1).len(), 5);
    // Plain decoding guesses nothing.
    assert_eq!(values(&answer, "risen-tokens"), 4, "{answer}");
    assert_eq!(found(&answer, "failed"), Vec::<&str>::new());
}

#[test]
fn a_refused_cell_is_listed_and_the_others_run() {
    let desk = Desk::new();
    let more = r#"{ name = "named", drafter = { proposer = "eagle1", weights = "none", shape = "chain", depth = 2 } }"#;
    let file = desk.file("s.toml", &STUB.replace("MORE", more));
    let answer = rehearsed(&desk, &[&file], 3);
    assert_eq!(cells(&answer, 4), ["ar", "chain"]);
    assert_eq!(found(&answer, "refused"), ["cell `named`"]);
}

#[test]
fn a_spec_that_lacks_nothing_ends_with_an_empty_list() {
    let desk = Desk::new();
    let file = desk.file("s.toml", &STUB.replace("MORE", ""));
    let ran = desk.succeeds(&["rehearse", &file, "--out", "r"]);
    assert!(ran.out.contains("the list is empty: nothing is missing"), "{}", ran.out);
    // An earlier rehearsal is replaced; anything else is not.
    desk.succeeds(&["rehearse", &file, "--out", "r", "--prompts", "2"]);
    desk.file("s/run/notes.txt", "mine");
    desk.fails(&["rehearse", &file, "--out", "s"], 2, &["s/run: it is there and no rehearsal"]);
    assert!(desk.path("s/run/notes.txt").exists());
}

#[test]
fn a_model_that_does_not_fit_into_the_memory_of_its_device_is_listed() {
    let desk = Desk::new();
    // With 256 images together it fits into no machine.
    let model = r#"{ name = "lumina-mgpt-7b-768", dtype = "f32", batch = 256 }"#;
    let text = STUB.replace(r#"{ name = "stub", dtype = "f32" }"#, model).replace("MORE", "");
    let untimed = |text: String, cell: &str| text.replace(cell, &format!("{cell}, timed = false"));
    let text = untimed(untimed(text, r#"name = "ar""#), r#"name = "chain""#);
    let file = desk.file("s.toml", &text);
    let answer = rehearsed(&desk, &[&file, "--prompts", "1"], 4);
    assert_eq!(found(&answer, "too-little"), ["memory"], "{answer}");
    let device = ["--set", "model.device='cuda'"];
    let answer = rehearsed(&desk, &[&[&file[..], "--prompts", "1"], &device[..]].concat(), 4);
    assert_eq!(found(&answer, "too-little"), Vec::<&str>::new(), "{answer}");
}
