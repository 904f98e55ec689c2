//! Every architecture at toy width by every family of methods, from real captions to pictures and a table; and what a
//! plan of each paper's experiment says before anybody has a GPU.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{collections::BTreeSet, fs};

use serde_json::Value;

use crate::support::{Desk, recorded, spec, workspace};

const COCO: &str = "coco/captions_val2017.json.gz";
const PARTI: &str = "parti/PartiPrompts.tsv";

#[test]
fn every_model_draws_captions_of_mscoco_by_every_family_of_methods() {
    let name = "every_model_draws_captions_of_mscoco_by_every_family_of_methods";
    let Some(desk) = Desk::with_data(name, COCO) else { return };
    let toys = spec("ci/models_toy.toml");
    let run = ["run", &toys, "--limit", "2", "--set", "timing.warmup=0", "--out", "r", "-q"];
    let ran = desk.succeeds(&run);
    let records = desk.rows("r/merged/records.jsonl");
    assert_eq!(records.len(), 6 * 7 * 2);
    let mut images = BTreeSet::new();
    for record in &records {
        assert!(record["err"].is_null(), "{record:#}");
        let model = record["cell"].as_str().unwrap().split("model=").nth(1).unwrap().trim_end_matches(']');
        let n_tokens = record["tokens"].as_array().unwrap().len();
        let expected = match model {
            "lumina-toy" => 32,
            "emu3-toy" => 23,
            _ => 16,
        };
        assert_eq!(n_tokens, expected, "{model}");
        images.insert(record["cell"].as_str().unwrap().to_owned());
    }
    assert_eq!(images.len(), 42);
    let pictures: Vec<_> = fs::read_dir(desk.path("r/shards/0/images")).unwrap().collect();
    assert_eq!(pictures.len(), records.len());
    let summary = desk.document("r/merged/summary.json");
    let table = desk.text("r/report/table.md");
    for cell in summary["cells"].as_array().unwrap() {
        let (id, base) = (cell["id"].as_str().unwrap(), cell["id"].as_str().unwrap().split('[').next());
        assert!(ran.out.contains(id) && table.contains(id), "{id} is in no table");
        let is_exact = ["ar", "eagle1-static", "eagle2-dynamic", "sjd"].contains(&base.unwrap());
        assert_eq!(cell["guarantee"], if is_exact { "exact" } else { "relaxed" }, "{id}");
    }
    assert!(desk.path("r/report/grid.png").is_file());
    let plan = desk.document("r/plan.json");
    let prompts = plan["items"].as_array().unwrap().iter().map(|item| item["prompt"].as_str().unwrap());
    assert_eq!(prompts.collect::<BTreeSet<_>>().len(), 2, "{plan}");
}

#[test]
fn a_third_row_of_guidance_changes_no_image_of_a_text_and_is_refused_where_there_is_none() {
    let desk = Desk::new();
    let prompts = desk.file("prompts.txt", "a red circle\na bus near the sea\n");
    let set = format!("dataset={{ name = \"{prompts}\" }}");
    let cells = "cell=[{ name = \"ar\" }, { name = \"chain\", drafter = { proposer = \"eagle1\", shape = \"chain\", depth = 3 } }]";
    let run = |model: &str, third: bool, out: &str| {
        let model = format!("model={{ name = \"{model}\", dtype = \"f32\", three_way_guidance = {third} }}");
        let args = ["run", &spec("ci/stub.toml"), "--set", &set, "--set", cells, "--set", &model];
        desk.run(&[&args[..], &["--set", "timing.warmup=0", "--out", out, "-q"]].concat())
    };
    let tokens = |out: &str| -> Vec<Value> {
        let rows = desk.rows(&format!("{out}/merged/records.jsonl")).into_iter();
        rows.map(|row| row["tokens"].clone()).inspect(|tokens| assert!(tokens.is_array())).collect()
    };
    for (third, out) in [(false, "two"), (true, "three")] {
        let ran = run("anole-toy", third, out);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    assert_eq!(tokens("two").len(), 4);
    // A prompt of text has no pictures: their row says what the row without prompt says.
    assert_eq!(tokens("two"), tokens("three"));
    let ran = run("lumina-toy", true, "none");
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("use one that has: anole-7b, anole-toy"), "{}", ran.err);
}

#[test]
fn every_plan_of_a_paper_says_what_it_takes_and_exactly_what_is_missing() {
    let name = "every_plan_of_a_paper_says_what_it_takes_and_exactly_what_is_missing";
    if Desk::with_data(name, COCO).is_none() {
        return;
    }
    // The captions are all that is there.
    let desk = Desk::as_data_folder();
    let from = Desk::with_data(name, COCO).unwrap();
    for file in [COCO, PARTI] {
        fs::create_dir_all(desk.path(file).parent().unwrap()).unwrap();
        fs::copy(from.data(file), desk.path(file)).unwrap();
    }
    let mut n_full = 0;
    for entry in fs::read_dir(workspace("experiments/specs/paper")).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        // What a twin over the embedded model takes is here.
        if file.ends_with("_tiny.toml") {
            continue;
        }
        let plan = ["plan", &spec(&format!("paper/{file}"))];
        let mut command = desk.command(&plan);
        for name in ["XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE", "TORCH_HOME"] {
            command.env_remove(name);
        }
        let output = command.env("HOME", desk.path("home")).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
        n_full += 1;
        for part in
            ["cells   ", "items   ", "memory  about ", " GB per worker", " at 4.80 TB/s (NVIDIA H200)"]
        {
            assert!(said.contains(part), "{file}: `{part}` is not in\n{said}");
        }
        let missing: Vec<&str> = said.lines().filter(|line| line.starts_with("missing ")).collect();
        let model = if file.contains("lumina") {
            "lumina-mgpt-7b-768"
        } else if file.contains("janus") {
            "janus-pro-7b"
        } else if file.contains("emu3") {
            "emu3-gen-8b"
        } else if file.starts_with("vvs") && !file.contains("stage2") {
            "llamagen-t2i-xl-256"
        } else {
            "llamagen-t2i-xl-512"
        };
        let is_missing =
            |what: &str| missing.iter().any(|line| line.contains(&format!("weights of {what}:")));
        assert!(is_missing(model), "{file}: {missing:#?}");
        let drafts = !["sjd", "scd"].iter().any(|method| file.starts_with(method));
        let is_of = |parts: &[&str]| parts.iter().any(|part| file.contains(part));
        for (head, is_needed) in [
            (format!("{model}-drafter"), drafts && !file.contains("table3a")),
            (format!("{model}-drafter-cascade"), is_of(&["table2", "table3a", "fig4", "thresholds"])),
            (format!("{model}-drafter-eagle3"), file.contains("table3a")),
        ] {
            assert_eq!(is_missing(&head), is_needed, "{file}: {head}, {missing:#?}");
        }
        // Nobody publishes these; a plan says where a trained one goes instead of a command that cannot help.
        for line in missing.iter().filter(|line| line.contains("nobody publishes it")) {
            assert!(line.contains("put it at weights/") && !line.contains("data fetch"), "{line}");
        }
    }
    assert!(n_full >= 24, "{n_full} specs at full size");
}

#[test]
fn a_time_bound_follows_the_bandwidth_that_is_given() {
    let name = "a_time_bound_follows_the_bandwidth_that_is_given";
    let Some(desk) = Desk::with_data(name, COCO) else { return };
    let full = spec("paper/cascade_table1_llamagen_coco.toml");
    let bound = |gb: &str| {
        let plan = desk.json(&["plan", &full, "--bandwidth", gb]);
        let bounds = plan["time_bounds"].as_array().unwrap();
        assert_eq!(bounds.len(), 1, "{plan:#}");
        bounds[0]["seconds"].as_f64().unwrap()
    };
    // 35,000 images of 1,024 forwards over 752,446,720 weights and half of the keys and values, in bf16.
    let bytes = 35_000.0 * 1024.0 * (2.0 * 752_446_720.0 + 211_000_000.0);
    assert!((bound("4800") / (bytes / 4.8e12) - 1.0).abs() < 1e-9, "{}", bound("4800"));
    assert!((bound("1000") / (bytes / 1e12) - 1.0).abs() < 1e-9);
    desk.fails(&["plan", &spec("quickstart.toml"), "--bandwidth", "1000"], 2, &["--bandwidth has no effect"]);
    desk.fails(&["plan", &full, "--bandwidth", "0"], 2, &["above 0"]);
}

#[test]
fn help_names_every_model_and_a_model_of_captions_needs_its_guidance() {
    let desk = Desk::new();
    let help = desk.succeeds(&["generate", "--help"]).out.split_whitespace().collect::<Vec<_>>().join(" ");
    for (model, _) in specimen_catalog::entry::targets() {
        assert!(help.contains(&model.name), "{} is not in {help}", model.name);
    }
    let toy = ["generate", "a red bus", "--seed", "1", "--model", "janus-toy", "--dtype", "f32"];
    desk.fails(&toy, 2, &["--guidance", "janus-toy", "no default"]);
    let image = desk.json(&[&toy[..], &["--guidance", "5", "--out", "bus.png"]].concat());
    assert_eq!((&image["width"], &image["n_tokens"]), (&8.into(), &16.into()));
    desk.fails(&["generate", "x", "--seed", "1", "--model", "janus-toi"], 2, &["janus-toi"]);
}

/// That steps over buffers have the same probabilities for every method is tested next to the decoder.
#[test]
fn a_run_over_buffers_says_so_and_draws_the_same_tokens() {
    let desk = Desk::new();
    let tokens = |graphs: bool| -> Vec<Value> {
        let out = if graphs { "buffers" } else { "eager" };
        let model = format!("model={{ name = \"tiny\", dtype = \"f32\", graphs = {graphs} }}");
        let tree = r#"cell=[{ name = "tree", drafter = { proposer = "eagle1", shape = "static", tree = "mc_sim_7b_63" } }]"#;
        let run = ["run", &spec("ci/methods_tiny.toml"), "--limit", "1", "--out", out, "--set", &model];
        desk.succeeds(&[&run[..], &["--set", tree, "-q"]].concat());
        assert_eq!(recorded(&desk.path(out), "env.json", "/steps/0/ran"), [out]);
        let rows = desk.rows(&format!("{out}/merged/records.jsonl")).into_iter();
        rows.map(|row| row["tokens"].clone()).collect()
    };
    let eager = tokens(false);
    assert!(eager.len() == 1 && eager[0].as_array().is_some_and(|tokens| tokens.len() == 256), "{eager:?}");
    assert_eq!(tokens(true), eager);
}

/// One image tests whether a method is lossless, on a network as on a toy: on the embedded one (`make test-long`), or on
/// noise of 16 tokens, which has no head of CASCADE's.
#[test]
fn with_coupled_seeds_every_lossless_method_draws_the_image_of_plain_decoding() {
    let desk = Desk::new();
    let (model, limit, n_tokens) =
        if specimen_testdata::is_long() { ("tiny", "1", 256) } else { ("stub", "2", 16) };
    let mut text = fs::read_to_string(spec("ci/methods_tiny.toml")).unwrap();
    if model == "stub" {
        text = text.replace(r#"weights = "cascade", "#, "");
    }
    let file = desk.file("methods.toml", &text);
    let args = ["run", &file, "--limit", limit, "--out", "coupled", "-q"];
    let metrics =
        r#"metric = [{ name = "token-match" }, { name = "first-difference" }, { name = "difference-gap" }]"#;
    let model = format!("model={{ name = \"{model}\", dtype = \"f32\" }}");
    let set = ["--set", &model, "--set", "sampling.coupled=true", "--set", metrics];
    let ran = desk.run(&[&args[..], &set].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let summary = desk.document("coupled/merged/summary.json");
    let (mut n_exact, mut n_others) = (0, 0);
    let none = format!("no token of {limit} images differs from the baseline's");
    for cell in summary["cells"].as_array().unwrap() {
        let metric = |name: &str| {
            let metrics = cell["metrics"].as_array().unwrap();
            metrics.iter().find(|metric| metric["metric"] == name).unwrap()
        };
        if cell["id"] == "ar" {
            continue;
        }
        let equal = metric("token-match")["value"].as_f64().unwrap();
        if cell["guarantee"] == "exact" {
            n_exact += 1;
            assert_eq!(equal, 1.0, "{}", cell["id"]);
            assert_eq!(metric("first-difference")["value"], f64::from(n_tokens));
            assert_eq!(metric("difference-gap")["why"], none.as_str());
        } else {
            n_others += u32::from(equal < 1.0);
            assert!(metric("difference-gap")["why"].as_str().unwrap().contains("what its rule grants"));
        }
    }
    assert!(n_exact > 15 && n_others > 10, "{n_exact} exact, {n_others} others that differ");
}

#[test]
fn what_a_model_does_not_read_of_a_long_prompt_is_counted_in_plan_answer_and_record() {
    let desk = Desk::new();
    let long = "a red bus and ".repeat(60);
    desk.file("prompts.txt", &format!("{long}a cat\na red bus\n"));
    let spec = desk.file(
        "s.toml",
        r#"
schema   = 1
name     = "long"
seed     = 1
dataset  = { name = "prompts.txt" }
model    = { name = "llamagen-toy", dtype = "f32" }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 3.0 }
timing   = { warmup = 0, blocks = 1 }
cell     = [{ name = "ar" }]
"#,
    );
    let planned: Value = serde_json::from_str(&desk.run(&["plan", &spec, "--format", "json"]).out).unwrap();
    let warnings: Vec<&str> =
        planned["warnings"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let said = "`llamagen-toy` does not read 1 of 2 prompts to the end; the first is `0`, which loses ";
    assert!(warnings.iter().any(|warning| warning.starts_with(said)), "{warnings:?}");

    let generate = |prompt: &str| {
        let model = ["--model", "llamagen-toy", "--guidance", "3", "--dtype", "f32", "--out", "t.png"];
        let args = [&["generate", prompt, "--seed", "1"], &model[..]].concat();
        (desk.json(&args)["prompt_tokens_cut"].as_u64().unwrap(), desk.run(&args).err)
    };
    let (n_cut, err) = generate(&format!("{long}a cat"));
    assert!(n_cut > 0 && err.contains(&format!("did not read the last {n_cut} tokens")), "{n_cut}: {err}");
    assert_eq!(generate("a red bus").0, 0);

    desk.succeeds(&["run", &spec, "--out", "run"]);
    let records = desk.text("run/merged/records.jsonl");
    let cut: Vec<Value> = records.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // A row without cut tokens is as it was before they were counted.
    assert_eq!((&cut[0]["prompt_tokens_cut"], cut[1].get("prompt_tokens_cut")), (&n_cut.into(), None));
}
