//! A cell that another process makes: what its table may say, and what of it decides the identity of a run.

use specimen_experiments::{
    estimate::{Estimate, Footprint},
    parse::SpecText,
    plan::Plan,
    prompts,
    spec::Spec,
};

const SPEC: &str = r#"schema = 1
name = "s"
seed = 42
dataset = { name = "scenes-val", limit = 2 }
model = { name = "tiny", dtype = "bf16" }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 3.0 }
timing = { warmup = 1, blocks = 1 }
[[cell]]
name = "ar"
[[cell]]
name = "py"
external = { command = ["python3", "x.py"], timeout_s = 5 }
"#;

fn resolve(text: &str) -> Result<Spec, String> {
    SpecText::parse("s.toml", text).and_then(|text| text.resolve()).map_err(|error| error.to_string())
}

fn check(from: &str, to: &str, expected: &str) {
    assert_eq!(SPEC.matches(from).count(), 1, "`{from}` must stand once in the spec");
    assert_eq!(resolve(&SPEC.replace(from, to)).unwrap_err(), expected);
}

#[test]
fn an_external_cell_is_compared_with_the_built_in_baseline() {
    let spec = resolve(SPEC).unwrap();
    let cell = &spec.cells[1];
    let external = cell.external.as_ref().unwrap();
    assert_eq!((external.command_line().as_str(), external.cwd.as_str()), ("python3 x.py", "."));
    assert_eq!((external.timeout_s, external.start_timeout_s), (5.0, 1800.0));
    assert!(!cell.is_autoregressive() && spec.cells[0].is_autoregressive());
    assert_eq!(spec.baseline_of(cell).unwrap().name, "ar");
}

#[test]
fn the_first_image_of_a_process_is_a_warm_up_in_the_estimate_too() {
    let n_warmup = |warmup: u32| {
        let spec = resolve(&SPEC.replace("warmup = 1", &format!("warmup = {warmup}"))).unwrap();
        Plan::new(spec.clone(), &prompts::open(&spec.dataset, None).unwrap())
            .unwrap()
            .estimate(|_| None)
            .n_warmup_per_worker
    };
    assert_eq!([0, 1, 2].map(n_warmup), [1, 2, 4]);
}

#[test]
fn the_disk_space_of_another_programs_images_is_unknown() {
    let tiny = Footprint { n_tokens: 256, width: 64, height: 64 };
    let mut spec = resolve(SPEC).unwrap();
    let bytes = |spec: &Spec| Estimate::without_prompts(spec, 2, |_| Some(tiny)).disk_bytes;
    assert_eq!(bytes(&spec), None);
    spec.cells.retain(|cell| !cell.is_of_another_program());
    assert_eq!(bytes(&spec), Some(2 * tiny.bytes()));
}

#[test]
fn an_external_cell_may_name_another_one_as_its_baseline() {
    let fast =
        "[[cell]]\nname = \"py-fast\"\nexternal = { command = [\"python3\", \"y.py\"], baseline = \"py\" }\n";
    let spec = resolve(&format!("{SPEC}{fast}")).unwrap();
    let baselines = spec.cells.iter().map(|cell| spec.baseline_of(cell).unwrap().name.as_str());
    assert_eq!(baselines.collect::<Vec<_>>(), ["ar", "py", "py"]);
    assert_eq!(resolve(SPEC).unwrap().cells[1].external, spec.cells[1].external, "who is named says nothing");
    let other = resolve(&format!("{SPEC}{}", fast.replace("\"py\" }", "\"pi\" }"))).unwrap();
    let prompts = prompts::open(&other.dataset, None).unwrap();
    assert_eq!(
        Plan::new(other, &prompts).unwrap_err().to_string(),
        "cell `py-fast`: `external.baseline` is `pi`, but no timed cell `pi` has its model and sampling; expected \
         one of ar, py, py-fast"
    );
}

#[test]
fn coupled_seeds_are_refused_for_a_cell_whose_draws_are_not_made_here() {
    let coupled = SPEC.replace("guidance = 3.0 }", "guidance = 3.0, coupled = true }");
    let planned = |text: &str| {
        let spec = resolve(text).unwrap();
        let prompts = prompts::open(&spec.dataset, None).unwrap();
        Plan::new(spec, &prompts).map(|_| ()).map_err(|error| error.to_string())
    };
    let refusal = "cell `py`: `sampling.coupled` is for methods of this program, whose draws it couples; this cell is \
                   another program's; give it `sampling = { coupled = false }`, or leave it out";
    assert_eq!(planned(&coupled).unwrap_err(), refusal);
    let own = coupled.replace("timeout_s = 5 }\n", "timeout_s = 5 }\nsampling = { coupled = false }\n");
    assert_ne!(own, coupled);
    assert!(!planned(&own).is_err_and(|error| error == refusal), "{:?}", planned(&own));
    assert_eq!(planned(SPEC), Ok(()));
}

#[test]
fn a_model_that_only_processes_stand_for_is_not_opened() {
    let own = "[[cell]]\nname = \"ar\"\n";
    assert_eq!(resolve(&SPEC.replace(own, "")).unwrap().models().len(), 0);
    assert_eq!(resolve(SPEC).unwrap().models().len(), 1);
}

#[test]
fn a_mistake_in_the_table_is_named_with_its_place_and_the_nearest_key() {
    check(
        "timeout_s = 5",
        "timeout = 5",
        "s.toml:12:45: unknown key `timeout` in `external`, did you mean `timeout_s`?",
    );
    check(
        "timeout_s = 5",
        "timeout_s = 0",
        "s.toml:12:57: `cell.py.external.timeout_s` is 0, expected seconds above 0, at most 864000",
    );
    check(
        "command = [\"python3\", \"x.py\"], ",
        "",
        "s.toml:12:12: `external` has no `command`, which must be given: it is the program that makes the images, with its arguments",
    );
    check(
        "[\"python3\", \"x.py\"]",
        "[]",
        "s.toml:12:24: `cell.py.external.command` is an empty list, expected a program and its arguments",
    );
    check(
        "[\"python3\", \"x.py\"]",
        "[\"\"]",
        "s.toml:12:24: `cell.py.external.command` is an empty first text, expected a program and its arguments",
    );
    check("\"x.py\"", "7", "s.toml:12:36: `cell.py.external.command.1` is the integer 7, expected text");
    check(
        "\"x.py\"",
        "\"\\u0000\"",
        "s.toml:12:36: `cell.py.external.command.1` is a zero byte, expected a text without zero bytes, of at most 32768 bytes",
    );
    check(
        "timeout_s = 5",
        "env = [\"A=1\", \"=2\"]",
        "s.toml:12:59: `cell.py.external.env.1` is \"=2\", expected NAME=value",
    );
    check(
        "timeout_s = 5",
        "env = [\"A\"]",
        "s.toml:12:52: `cell.py.external.env.0` is \"A\", expected NAME=value",
    );
}

#[test]
fn a_process_and_a_method_of_this_program_exclude_each_other() {
    check(
        "name = \"py\"",
        "name = \"py\"\ndrafter = { proposer = \"eagle1\", shape = \"chain\", depth = 2 }",
        "s.toml:12:11: the cell has `external` and `drafter`, but its process has its own drafter; remove `drafter`, and pass it as an argument of `command`",
    );
    let only = SPEC.replace("[[cell]]\nname = \"ar\"\n", "").replace("\"py\"", "\"ar\"");
    let message = resolve(&only).unwrap_err();
    assert!(
        message.contains("this program's own baseline") && message.contains("give the cell another name"),
        "{message}"
    );
}

#[test]
fn the_command_its_folder_and_its_variables_decide_the_identity_of_a_run() {
    let digest = |text: &str| {
        let spec = resolve(text).unwrap();
        let prompts = prompts::open(&spec.dataset, None).unwrap();
        Plan::new(spec, &prompts).unwrap().digest
    };
    let whole = digest(SPEC);
    for (from, to) in [
        ("\"x.py\"", "\"y.py\""),
        ("timeout_s = 5", "timeout_s = 6"),
        ("timeout_s = 5", "timeout_s = 5, cwd = \"x\""),
        ("timeout_s = 5", "timeout_s = 5, env = [\"A=1\"]"),
        ("timeout_s = 5", "timeout_s = 5, files = [\"x.py\"]"),
    ] {
        assert_ne!(digest(&SPEC.replace(from, to)), whole, "{to}");
    }
    // A spec without such cells keeps the identity it always had.
    let spec = resolve(SPEC).unwrap();
    assert!(!serde_json::to_string(&spec.cells[0]).unwrap().contains("external"));
}

#[test]
fn an_axis_reaches_into_the_table() {
    let text = format!("{SPEC}[axes]\n\"cell.py.external.timeout_s\" = [1, 2]\n");
    let names: Vec<String> = resolve(&text).unwrap().cells.into_iter().map(|cell| cell.name).collect();
    assert_eq!(names, ["ar", "py[timeout_s=1]", "py[timeout_s=2]"]);
}
