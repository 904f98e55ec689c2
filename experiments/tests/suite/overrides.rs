//! `--set`, `--sweep`, axes, exclusions and lists of models: which cells a spec has, and what is refused.

use specimen_decode::method::Shape;
use specimen_experiments::{parse::SpecText, spec::Spec};

const SPEC: &str = r#"schema = 1
name = "s"
seed = 42
dataset = { name = "scenes-val", limit = 8 }
model = { name = "tiny", dtype = "bf16" }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 3.0 }
timing = { warmup = 2, blocks = 4 }
[[cell]]
name = "ar"
[[cell]]
name = "sd"
drafter = { proposer = "eagle1", shape = "chain", depth = 3 }
[[cell]]
name = "sd.v2"
drafter = { proposer = "eagle1", shape = "dynamic", top_k = 4, depth = 3, total_token = 14 }
sampling = { temperature = 0.5 }
"#;

fn text() -> SpecText {
    SpecText::parse("s.toml", SPEC).unwrap()
}

fn set(argument: &str) -> Result<Spec, String> {
    let mut text = text();
    text.set(argument).and_then(|()| text.resolve()).map_err(|error| error.to_string())
}

fn sweep(argument: &str) -> Result<Spec, String> {
    let mut text = text();
    text.sweep(argument).and_then(|()| text.resolve()).map_err(|error| error.to_string())
}

fn with(more: &str) -> Result<Spec, String> {
    let text = SpecText::parse("s.toml", &format!("{SPEC}{more}")).unwrap();
    text.resolve().map_err(|error| error.to_string())
}

fn names(spec: &Spec) -> Vec<&str> {
    spec.cells.iter().map(|cell| cell.name.as_str()).collect()
}

fn check_refused(result: Result<Spec, String>, expected: &str) {
    assert_eq!(result.map(|spec| names(&spec).join(" ")), Err(expected.to_owned()));
}

#[test]
fn a_cell_is_addressed_by_name_and_a_list_by_index() {
    for argument in ["cell.sd.drafter.depth=5", "cell.1.drafter.depth = 5"] {
        let spec = set(argument).unwrap();
        assert_eq!(spec.cells[1].method.drafter.shape, Some(Shape::Chain { depth: 5 }), "{argument}");
    }
    let spec = set("cell.sd.v2.sampling.top_k=7").unwrap();
    assert_eq!((spec.cells[2].sampling.top_k, spec.cells[2].sampling.temperature), (7, 0.5));
    let spec = set("cell.sd.accept=[{ kind = \"lossless\" }]").unwrap();
    assert_eq!(spec.cells[1].method.accept.len(), 1);
}

#[test]
fn a_key_that_was_absent_can_be_set() {
    assert_eq!(set("dataset.samples=3").unwrap().dataset.samples, 3);
    assert_eq!(set("cell.sd.sampling.top_p=0.9").unwrap().cells[1].sampling.top_p, 0.9);
    assert_eq!(set("analysis=\"why\"").unwrap().analysis, "why");
}

#[test]
fn a_part_of_the_prompts_lies_inside_the_limit() {
    assert_eq!(set("dataset.part=[2, 8]").unwrap().dataset.part, Some([2, 8]));
    for part in ["[2]", "[3, 3]", "[4, 9]"] {
        let message = set(&format!("dataset.part={part}")).unwrap_err();
        assert!(message.contains("expected two positions [from, to] with 0 <= from < to <= 8"), "{message}");
    }
    // A spec without the key is the experiment that it always was.
    assert!(text().resolve().unwrap().identity()["dataset"].get("part").is_none());
}

#[test]
fn a_bad_override_is_reported_at_the_argument() {
    check_refused(
        set("dataset.limt=3"),
        "--set dataset.limt=3: unknown key `limt` in [dataset], did you mean `limit`?",
    );
    check_refused(
        set("dataset.limit=0"),
        "--set dataset.limit=0: `dataset.limit` is 0, expected 1 to 1000000",
    );
    check_refused(
        set("datset.limit=3"),
        "--set datset.limit=3: the path `datset.limit` leads nowhere: a spec has no key `datset`, did you mean `dataset`?",
    );
    check_refused(
        set("cell.sdd.drafter.depth=1"),
        "--set cell.sdd.drafter.depth=1: the path `cell.sdd.drafter.depth` leads nowhere: a list has no element \
         `sdd`, did you mean `sd`?",
    );
    check_refused(
        set("cell.7.timed=false"),
        "--set cell.7.timed=false: the path `cell.7.timed` leads nowhere: index 7 is past the end of a list of 3",
    );
    check_refused(
        set("seed.x=1"),
        "--set seed.x=1: the path `seed.x` leads nowhere: the value before `x` is the integer 42, which holds no keys",
    );
    check_refused(
        set("seed"),
        "--set seed: there is no `=` between path and value; write it like --set sampling.temperature=0.5",
    );
    check_refused(
        set("seed="),
        "--set seed=: there is no value; write it like --set sampling.temperature=0.5",
    );
    check_refused(
        set("a..b=1"),
        "--set a..b=1: the path has an empty part; write it like --set sampling.temperature=0.5",
    );
    check_refused(
        set("model.dtype=f32"),
        "--set model.dtype=f32: `f32` is not TOML; values are written as in a spec, and text needs quotes: \
         'model.dtype=\"f32\"'",
    );
}

#[test]
fn a_bad_value_below_a_list_element_is_reported_at_the_argument_that_brought_it() {
    const MORE: &str =
        "accept = [{ kind = \"lantern\", k = 10, delta = 0.1 }]\n[[metric]]\nname = \"target-nll\"\n";
    let with = |arguments: &[&str]| {
        let mut text = SpecText::parse("s.toml", &format!("{SPEC}{MORE}")).unwrap();
        arguments.iter().try_for_each(|argument| text.set(argument)).unwrap();
        text.resolve().map_err(|error| error.to_string())
    };
    let fine = "cell.sd.v2.accept.0.k=20";
    assert!(with(&[fine]).is_ok());
    for (bad, words) in [
        ("cell.sd.v2.accept.0.delta=\"abc\"", "`cell.sd.v2.accept.0`: "),
        ("cell.sd.v2.accept.0.delta=-3", "`cell.sd.v2.accept"),
        ("cell.sd.v2.accept.0={ kind = \"lantern\", k = 10 }", "`cell.sd.v2.accept.0`: "),
        ("metric.0.name=\"fid\"", "[[metric]] has no `protocol`"),
        ("metric.0={ name = \"target-nll\", min_n = \"x\" }", "`metric.0.min_n` is the text"),
    ] {
        // Alone, and among others.
        for arguments in [&[bad][..], &[fine, bad], &[bad, "seed=7"]] {
            let message = with(arguments).unwrap_err();
            assert!(message.starts_with(&format!("--set {bad}: {words}")), "{message}");
        }
    }
    // One override may be below another.
    let whole = "metric=[{ name = \"target-nll\" }]";
    let message = with(&[whole, "metric.0.name=\"fid\""]).unwrap_err();
    assert!(message.starts_with("--set metric.0.name=\"fid\": [[metric]] has no"), "{message}");
    // What the file has wrong itself stays where it is written.
    let mut text = SpecText::parse("s.toml", &format!("{SPEC}{}", MORE.replace("0.1", "\"x\""))).unwrap();
    text.set(fine).unwrap();
    let message = text.resolve().unwrap_err().to_string();
    assert!(message.starts_with("s.toml:17:11: "), "{message}");
}

#[test]
fn a_sweep_multiplies_only_the_cell_that_it_touches() {
    let spec = sweep("cell.sd.drafter.depth=1,2,3").unwrap();
    assert_eq!(names(&spec), ["ar", "sd[depth=1]", "sd[depth=2]", "sd[depth=3]", "sd.v2"]);
    assert_eq!(spec.cells[2].params["depth"], 2);
    assert_eq!(spec.cells[2].base, "sd");
    assert_eq!(spec.cells[2].method.drafter.shape, Some(Shape::Chain { depth: 2 }));
}

#[test]
fn a_sweep_of_the_sampling_leaves_out_cells_that_set_it_themselves() {
    let spec = sweep("sampling.temperature=0.8,1.0").unwrap();
    assert_eq!(
        names(&spec),
        ["ar[temperature=0.8]", "ar[temperature=1]", "sd[temperature=0.8]", "sd[temperature=1]", "sd.v2"]
    );
    let baseline = spec.baseline_of(&spec.cells[2]).unwrap();
    assert_eq!(baseline.name, "ar[temperature=0.8]");
}

#[test]
fn bad_sweeps_are_refused_with_the_nearest_path() {
    let at = "--sweep ";
    check_refused(
        sweep("cel.sd.drafter.depth=1"),
        &format!(
            "{at}cel.sd.drafter.depth=1: the path `cel.sd.drafter.depth` leads nowhere: an axis varies a key of \
                  a model, of the sampling or of a cell, did you mean `cell`?"
        ),
    );
    check_refused(
        sweep("cell.ds.drafter.depth=1"),
        &format!(
            "{at}cell.ds.drafter.depth=1: the path `cell.ds.drafter.depth` leads nowhere: a list has no element \
                  `ds`, expected one of `ar`, `sd`, `sd.v2`"
        ),
    );
    check_refused(
        sweep("cell.sd.drafter.dept=1"),
        &format!("{at}cell.sd.drafter.dept=1: unknown key `dept` in `drafter`, did you mean `depth`?"),
    );
    check_refused(
        sweep("dataset.limit=1,2"),
        &format!(
            "{at}dataset.limit=1,2: the path `dataset.limit` leads nowhere: a run has one dataset; write one \
                  spec per dataset"
        ),
    );
    check_refused(
        sweep("cell.sd=1"),
        &format!(
            "{at}cell.sd=1: the path `cell.sd` leads nowhere: it ends before a key; write it like \
                  \"cell.sd.drafter.depth\""
        ),
    );
    check_refused(
        sweep("sampling.top_k=1,1"),
        &format!("{at}sampling.top_k=1,1: the axis `sampling.top_k` has the integer 1 twice; remove one"),
    );
    check_refused(
        sweep("sampling.top_p=0.5,1.5"),
        &format!(
            "{at}sampling.top_p=0.5,1.5: `sampling.top_p` is 1.5, expected above 0, at most 1 (1 is off)"
        ),
    );
    check_refused(
        sweep("cell.sd.name=\"a\""),
        &format!(
            "{at}cell.sd.name=\"a\": the path `cell.sd.name` leads nowhere: `name` cannot be varied; write it \
                  like \"cell.sd.drafter.depth\""
        ),
    );
}

#[test]
fn axes_in_the_spec_may_be_quoted_paths_or_nested_tables() {
    let quoted = with("[axes]\n\"cell.sd.drafter.depth\" = [1, 2]\n").unwrap();
    let nested = with("[axes]\ncell.sd.drafter.depth = [1, 2]\n").unwrap();
    assert_eq!(quoted, nested);
    check_refused(
        with("[axes]\n\"cell.sd.drafter.depth\" = 3\n"),
        "s.toml:18:27: `axes.cell.sd.drafter.depth` is the integer 3, expected a list",
    );
    check_refused(
        with("[axes]\n\"cell.sd.drafter.depth\" = []\n"),
        "s.toml:18:27: `axes.cell.sd.drafter.depth` is an empty list, expected at least one value",
    );
}

#[test]
fn a_wrong_value_of_an_axis_is_found_on_its_line() {
    check_refused(
        with("[axes]\n\"cell.sd.sampling.top_k\" = [0, 9]\n\"cell.sd.drafter.depth\" = [1,\n  200]\n"),
        "s.toml:20:3: `cell.sd.drafter`: drafter key `depth` is 200, expected 1..=64",
    );
    check_refused(
        with("[axes]\n\"cell.sd.drafter.depth\" = [\"x\"]\n"),
        "s.toml:18:28: `cell.sd.drafter`: found the text \"x\", expected a whole number of at least 0",
    );
    // Without the value the cell is wrong all the same: its own line is named.
    let wrong = SPEC.replacen("depth = 3", "depth = 300", 1);
    let axes = "[axes]\n\"cell.sd.sampling.top_k\" = [0, 9]\n";
    let text = SpecText::parse("s.toml", &format!("{wrong}{axes}")).unwrap();
    check_refused(
        text.resolve().map_err(|error| error.to_string()),
        "s.toml:12:11: `cell.sd.drafter`: drafter key `depth` is 300, expected 1..=64",
    );
}

#[test]
fn two_axes_make_a_product_whose_last_varies_fastest() {
    let spec =
        with("[axes]\n\"cell.sd.drafter.depth\" = [1, 2]\n\"cell.sd.sampling.top_k\" = [0, 9]\n").unwrap();
    let names: Vec<&str> = names(&spec).into_iter().filter(|name| name.starts_with("sd[")).collect();
    assert_eq!(
        names,
        ["sd[depth=1,top_k=0]", "sd[depth=1,top_k=9]", "sd[depth=2,top_k=0]", "sd[depth=2,top_k=9]"]
    );
}

#[test]
fn axes_that_end_alike_are_told_apart_by_longer_names() {
    let spec =
        with("[axes]\n\"cell.sd.v2.drafter.top_k\" = [2]\n\"cell.sd.v2.sampling.top_k\" = [9]\n").unwrap();
    assert_eq!(names(&spec)[2], "sd.v2[drafter.top_k=2,sampling.top_k=9]");
}

#[test]
fn values_that_are_not_plain_are_named_by_their_place() {
    let axes = "[axes]\n\"cell.sd.drafter\" = [{ proposer = \"eagle1\", shape = \"chain\", depth = 1 }, { proposer = \"none\" }]\n";
    assert_eq!(names(&with(axes).unwrap())[1..3], ["sd[drafter=v0]", "sd[drafter=v1]"]);
}

#[test]
fn a_set_pins_an_axis() {
    let mut text =
        SpecText::parse("s.toml", &format!("{SPEC}[axes]\n\"cell.sd.drafter.depth\" = [1, 2]\n")).unwrap();
    text.set("cell.sd.drafter.depth=7").unwrap();
    let spec = text.resolve().unwrap();
    assert_eq!(names(&spec), ["ar", "sd", "sd.v2"]);
    assert_eq!(spec.cells[1].method.drafter.shape, Some(Shape::Chain { depth: 7 }));
}

#[test]
fn a_sweep_takes_the_place_of_an_axis_of_the_same_path() {
    let mut text =
        SpecText::parse("s.toml", &format!("{SPEC}[axes]\n\"cell.sd.drafter.depth\" = [1, 2]\n")).unwrap();
    text.sweep("cell.sd.drafter.depth=4").unwrap();
    assert_eq!(names(&text.resolve().unwrap()), ["ar", "sd[depth=4]", "sd.v2"]);
}

#[test]
fn several_models_are_an_axis() {
    let list = "model = [{ name = \"tiny\", dtype = \"bf16\" }, { name = \"tiny\", dtype = \"f32\" }]";
    let text = SPEC.replace("model = { name = \"tiny\", dtype = \"bf16\" }", list);
    let spec = SpecText::parse("s.toml", &text).unwrap().resolve().unwrap();
    assert_eq!(names(&spec)[..4], ["ar[dtype=bf16]", "sd[dtype=bf16]", "sd.v2[dtype=bf16]", "ar[dtype=f32]"]);
    assert_eq!(spec.baseline_of(&spec.cells[4]).unwrap().name, "ar[dtype=f32]");
    assert_eq!(spec.models().len(), 2);
    let mut swept = SpecText::parse("s.toml", &text).unwrap();
    swept.sweep("model.1.device=\"cpu\",\"cuda\"").unwrap();
    assert_eq!(names(&swept.resolve().unwrap())[3], "ar[dtype=f32,device=cpu]");
    let twice = text.replace("\"f32\"", "\"bf16\"");
    let error = SpecText::parse("s.toml", &twice).unwrap().resolve().unwrap_err().to_string();
    assert_eq!(error, "s.toml:5:45: this model is the same as the one at s.toml:5:10; remove one of them");
}

#[test]
fn exclusions_leave_out_the_combinations_that_fit_all_their_keys() {
    let axes = "[axes]\n\"cell.sd.drafter.depth\" = [1, 2]\n\"cell.sd.sampling.top_k\" = [0, 9]\n";
    let spec =
        with(&format!("{axes}[[exclude]]\n\"cell.sd.drafter.depth\" = 2\n\"cell.sd.sampling.top_k\" = 0\n"))
            .unwrap();
    assert_eq!(names(&spec)[1..4], ["sd[depth=1,top_k=0]", "sd[depth=1,top_k=9]", "sd[depth=2,top_k=9]"]);
    check_refused(
        with(&format!("{axes}[[exclude]]\n\"cell.sd.drafter.depth\" = 5\n")),
        "s.toml:20:1: this exclusion excludes nothing; correct its values, or remove it",
    );
    check_refused(
        with(&format!("{axes}[[exclude]]\n\"cell.sd.drafter.dept\" = 5\n")),
        "s.toml:21:1: unknown key `cell.sd.drafter.dept` in [[exclude]], did you mean `cell.sd.drafter.depth`?",
    );
    check_refused(
        with("[[exclude]]\ncell = \"sd\"\nmodel = \"tiny\"\n"),
        "s.toml:10:1: the exclusions leave nothing of the cell `sd`; remove the cell, or exclude less",
    );
}

#[test]
fn a_row_about_a_cell_that_became_several_must_name_one() {
    let more = "[axes]\n\"cell.sd.drafter.depth\" = [1, 2]\n[[published]]\ncell = \"sd\"\nfrom = \"t.csv\"\nwhere = { method = \"Naive\" }\n";
    check_refused(
        with(more),
        "s.toml:20:8: `sd` means 2 cells; name one of them in full, for instance `sd[depth=1]`",
    );
    let spec = with(&more.replace("cell = \"sd\"", "cell = \"sd[depth=2]\"")).unwrap();
    assert_eq!(spec.published[0].cell, "sd[depth=2]");
}

#[test]
fn axes_that_multiply_beyond_reason_are_refused() {
    let values = (1..=64).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let axes =
        format!("[axes]\n\"cell.sd.drafter.depth\" = [{values}]\n\"cell.sd.sampling.top_k\" = [{values}]\n");
    check_refused(
        with(&axes),
        "s.toml:17:1: models and axes multiply to more than 4096 cells; sweep fewer values at a time",
    );
}

#[test]
fn a_resolved_spec_survives_the_way_through_json() {
    let spec = sweep("sampling.temperature=0.85,1.0").unwrap();
    let json = serde_json::to_string(&spec).unwrap();
    assert_eq!(serde_json::from_str::<Spec>(&json).unwrap(), spec);
}

#[test]
fn an_exclusion_may_name_a_cell_in_full() {
    let axes = "[axes]\n\"cell.sd.drafter.depth\" = [1, 2]\n\"cell.sd.sampling.top_p\" = [0.5, 1.0]\n";
    let spec = with(&format!("{axes}[[exclude]]\ncell = \"sd[depth=2,top_p=0.5]\"\n")).unwrap();
    assert_eq!(names(&spec)[1..4], ["sd[depth=1,top_p=0.5]", "sd[depth=1,top_p=1]", "sd[depth=2,top_p=1]"]);
    check_refused(
        with(&format!("{axes}[[exclude]]\ncell = \"sd[depth=3,top_p=0.5]\"\n")),
        "s.toml:20:1: this exclusion excludes nothing; correct its values, or remove it",
    );
}

#[test]
fn a_key_of_a_cell_that_an_axis_made_is_refused_with_the_cell_that_has_it() {
    let mut spec = SpecText::parse("s.toml", SPEC).unwrap();
    let error = spec.set("cell.sd[top_p=0.5,depth=2].drafter.depth=3").unwrap_err().to_string();
    // The name ends where its brackets do; whether an axis makes such a cell is not known here.
    assert!(error.contains("`sd[top_p=0.5,depth=2]` is not written in the spec"), "{error}");
    assert!(error.contains("set a key of `sd`"), "{error}");
}
