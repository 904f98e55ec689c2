//! Every mistake in a spec is an error that names file, line and column, what was expected, and the nearest
//! name. Each case changes one line of a spec that is sound.

use specimen_experiments::parse::SpecText;

const SOUND: &str = r#"schema = 1
name = "s"
seed = 42
[dataset]
name = "scenes-val"
limit = 8
[model]
name = "tiny"
dtype = "bf16"
[sampling]
temperature = 1.0
top_k = 0
top_p = 1.0
guidance = 3.0
[timing]
warmup = 2
blocks = 4
[[cell]]
name = "ar"
[[cell]]
name = "sd"
drafter = { proposer = "eagle1", shape = "chain", depth = 3 }
accept = [{ kind = "lossless" }]
schedule = { kind = "always" }
[[metric]]
name = "fd-scenes"
min_n = 500
[[published]]
cell = "sd"
from = "cascade_table1.csv"
where = { method = "Naive" }
[[expect]]
cell = "sd"
measure = "speedup"
value = 1.5
relative = 0.2
source = "a guess"
"#;

fn message(text: &str) -> String {
    match SpecText::parse("s.toml", text).and_then(|text| text.resolve()) {
        Ok(_) => panic!("the spec was accepted:\n{text}"),
        Err(error) => error.to_string(),
    }
}

/// Replaces `from` by `to`, once, and expects exactly this message.
fn check(from: &str, to: &str, expected: &str) {
    assert_eq!(SOUND.matches(from).count(), 1, "`{from}` must stand once in the sound spec");
    assert_eq!(message(&SOUND.replace(from, to)), expected);
}

/// Removes the line that starts with `from`.
fn check_without(from: &str, expected: &str) {
    check(&format!("\n{from}"), "", expected);
}

#[test]
fn the_sound_spec_is_sound() {
    SpecText::parse("s.toml", SOUND).unwrap().resolve().unwrap();
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = SpecText::read(std::path::Path::new("no/such.toml")).unwrap_err().to_string();
    assert!(error.starts_with("no/such.toml: the spec cannot be read: "), "{error}");
}

#[test]
fn a_file_without_end_and_a_text_without_bottom_are_refused() {
    let error = SpecText::read(std::path::Path::new("/dev/zero")).unwrap_err().to_string();
    assert!(error.contains("more than 4194304 bytes; is it the right file?"), "{error}");
    for deep in ["[".repeat(100_000), "{a=".repeat(100_000), "a.".repeat(100_000)] {
        let error = message(&format!("x = {deep}"));
        assert!(error.starts_with("s.toml:1:"), "{error}");
        let error = message(&format!("{deep}x = 1"));
        assert!(error.starts_with("s.toml:1:"), "{error}");
    }
}

#[test]
fn text_that_is_not_toml_is_refused_where_it_stops_being() {
    check(
        "seed = 42",
        "seed = ",
        "s.toml:3:8: not TOML: string values must be quoted, expected literal string",
    );
    check("limit = 8", "limit = 8\nlimit = 9", "s.toml:7:1: not TOML: duplicate key");
    check(
        "seed = 42",
        "seed = 99999999999999999999",
        "s.toml:3:8: the number 99999999999999999999 does not fit into 64 bits",
    );
}

#[test]
fn an_unknown_key_is_answered_with_the_nearest_at_every_level() {
    check("seed = 42", "sed = 42", "s.toml:3:1: unknown key `sed` in the spec, did you mean `seed`?");
    check("limit = 8", "limt = 8", "s.toml:6:1: unknown key `limt` in [dataset], did you mean `limit`?");
    check(
        "dtype = \"bf16\"",
        "dtpye = \"bf16\"",
        "s.toml:9:1: unknown key `dtpye` in [model], did you mean `dtype`?",
    );
    check("top_k = 0", "topk = 0", "s.toml:12:1: unknown key `topk` in [sampling], did you mean `top_k`?");
    check(
        "warmup = 2",
        "warm_up = 2",
        "s.toml:16:1: unknown key `warm_up` in [timing], did you mean `warmup`?",
    );
    check("accept = [", "acept = [", "s.toml:23:1: unknown key `acept` in `cell.sd`, did you mean `accept`?");
    check("depth = 3", "dept = 3", "s.toml:22:51: unknown key `dept` in `drafter`, did you mean `depth`?");
    check(
        "{ kind = \"lossless\" }",
        "{ knd = \"lossless\" }",
        "s.toml:23:13: unknown key `knd` in `accept`, did you mean `kind`?",
    );
    check(
        "{ kind = \"always\" }",
        "{ knd = \"always\" }",
        "s.toml:24:14: unknown key `knd` in `schedule`, did you mean `kind`?",
    );
    check(
        "min_n = 500",
        "minn = 500",
        "s.toml:27:1: unknown key `minn` in [[metric]], did you mean `min_n`?",
    );
    check(
        "from = \"c",
        "form = \"c",
        "s.toml:30:1: unknown key `form` in [[published]], did you mean `from`?",
    );
    check(
        "{ method =",
        "{ metod =",
        "s.toml:31:11: unknown key `metod` in `where` of [[published]], did you mean `method`?",
    );
    check(
        "relative = 0.2",
        "relativ = 0.2",
        "s.toml:36:1: unknown key `relativ` in [[expect]], did you mean `relative`?",
    );
    check(
        "accept = [",
        "sampling = { temprature = 0.5 }\naccept = [",
        "s.toml:23:14: unknown key `temprature` in `cell.sd.sampling`, did you mean `temperature`?",
    );
}

#[test]
fn an_unknown_key_that_is_near_none_is_answered_with_all() {
    check(
        "warmup = 2",
        "repetitions = 2",
        "s.toml:16:1: unknown key `repetitions` in [timing], expected one of `warmup`, `blocks`, `batch`",
    );
}

#[test]
fn a_missing_seed_is_an_error_that_says_why() {
    check_without(
        "seed = 42",
        "s.toml:1:1: the spec has no `seed`, which must be given: there is no default, because a run without a \
         recorded seed cannot be repeated; write for instance seed = 42",
    );
}

#[test]
fn what_must_be_given_is_missed_with_its_reason() {
    check_without(
        "name = \"s\"",
        "s.toml:1:1: the spec has no `name`, which must be given: it names the run and its folder",
    );
    check_without(
        "dtype = \"bf16\"",
        "s.toml:7:1: [model] has no `dtype`, which must be given: speed and digests depend on it; write for instance dtype = \"bf16\"",
    );
    check_without(
        "guidance = 3.0",
        "s.toml:10:1: [sampling] has no `guidance`, which must be given: published settings differ, so there is no default",
    );
    check_without(
        "name = \"ar\"",
        "s.toml:18:1: `cell.0` has no `name`, which must be given: results are filed under it",
    );
    check_without(
        "relative = 0.2",
        "s.toml:32:1: [[expect]] has no `tolerance`, which must be given: it is how far off a value may be, in its own unit; or give `relative`, a share of it",
    );
    let no_timing = SOUND.replace("[timing]\nwarmup = 2\nblocks = 4\n", "");
    assert_eq!(
        message(&no_timing),
        "s.toml:1:1: the spec has no `timing`, which must be given: it says how timed cells are interleaved"
    );
}

#[test]
fn a_wrong_type_is_named_with_its_value() {
    check("seed = 42", "seed = \"42\"", "s.toml:3:8: `seed` is the text \"42\", expected an integer");
    check("seed = 42", "seed = 42.0", "s.toml:3:8: `seed` is the number 42.0, expected an integer");
    check("name = \"s\"", "name = 5", "s.toml:2:8: `name` is the integer 5, expected text");
    check(
        "temperature = 1.0",
        "temperature = true",
        "s.toml:11:15: `sampling.temperature` is the flag true, expected a number",
    );
    check(
        "limit = 8",
        "limit = 2026-01-01",
        "s.toml:6:9: `dataset.limit` is the date 2026-01-01, expected an integer",
    );
    check(
        "accept = [{ kind = \"lossless\" }]",
        "accept = { kind = \"lossless\" }",
        "s.toml:23:10: `cell.sd.accept` is a table, expected a list",
    );
    check(
        "name = \"ar\"",
        "name = \"ar\"\ntimed = 1",
        "s.toml:20:9: `cell.ar.timed` is the integer 1, expected true or false",
    );
    check(
        "where = { method = \"Naive\" }",
        "where = { method = 3 }",
        "s.toml:31:20: `published.0.where.method` is the integer 3, expected text",
    );
}

#[test]
fn a_value_outside_its_range_is_named_with_the_range() {
    check(
        "schema = 1",
        "schema = 2",
        "s.toml:1:10: `schema` is 2, expected 1, the schema that this version reads",
    );
    check("seed = 42", "seed = -1", "s.toml:3:8: `seed` is -1, expected at least 0");
    check(
        "temperature = 1.0",
        "temperature = -0.1",
        "s.toml:11:15: `sampling.temperature` is -0.1, expected 0 to 1e9 (0 is greedy)",
    );
    check(
        "temperature = 1.0",
        "temperature = nan",
        "s.toml:11:15: `sampling.temperature` is NaN, expected 0 to 1e9 (0 is greedy)",
    );
    check("top_k = 0", "top_k = -5", "s.toml:12:9: `sampling.top_k` is -5, expected 0 to 4294967295");
    check(
        "top_p = 1.0",
        "top_p = 0",
        "s.toml:13:9: `sampling.top_p` is 0, expected above 0, at most 1 (1 is off)",
    );
    check(
        "top_p = 1.0",
        "top_p = 1.01",
        "s.toml:13:9: `sampling.top_p` is 1.01, expected above 0, at most 1 (1 is off)",
    );
    check(
        "guidance = 3.0",
        "guidance = inf",
        "s.toml:14:12: `sampling.guidance` is inf, expected 0 to 1e9 (1 is off)",
    );
    check("limit = 8", "limit = 0", "s.toml:6:9: `dataset.limit` is 0, expected 1 to 1000000");
    check("blocks = 4", "blocks = 0", "s.toml:17:10: `timing.blocks` is 0, expected 1 to 1000000");
    check(
        "dtype = \"bf16\"",
        "dtype = \"bf16\"\ndevice = \"gpu\"",
        "s.toml:10:10: `model.device` is \"gpu\", expected cpu, cuda or cuda:N",
    );
    check(
        "relative = 0.2",
        "relative = -0.2",
        "s.toml:36:12: `expect.0.relative` is -0.2, expected at least 0",
    );
    check(
        "from = \"cascade_table1.csv\"",
        "from = \"../t.csv\"",
        "s.toml:30:8: `published.0.from` is \"../t.csv\", expected the plain file name of a .csv table of published numbers",
    );
    check(
        "where = { method = \"Naive\" }",
        "where = {}",
        "s.toml:31:9: `published.0.where` is an empty table, expected at least one column",
    );
}

#[test]
fn names_are_safe_as_file_names() {
    for bad in ["", ".hidden", "-flag", "a/b", "A", "a b", "é", "..", &"a".repeat(65)] {
        let text = SOUND.replace("name = \"ar\"", &format!("name = \"{bad}\""));
        assert!(message(&text).contains("a letter or digit first"), "{bad}: {}", message(&text));
    }
}

#[test]
fn unknown_names_are_answered_with_the_nearest() {
    check(
        "name = \"tiny\"",
        "name = \"tny\"",
        "s.toml:8:8: `model.name`: unknown model `tny`, did you mean `tiny`?",
    );
    check(
        "name = \"fd-scenes\"",
        "name = \"fd-scene\"",
        "s.toml:26:8: `metric.0.name`: unknown metric `fd-scene`, did you mean `fd-scenes`?",
    );
    check(
        "dtype = \"bf16\"",
        "dtype = \"bf61\"",
        "s.toml:9:9: `model.dtype`: unknown dtype `bf61`, did you mean `bf16`?",
    );
    check(
        "limit = 8",
        "caption = \"longst\"",
        "s.toml:6:11: `dataset.caption`: unknown caption rule `longst`, did you mean `longest`?",
    );
    check(
        "measure = \"speedup\"",
        "measure = \"sppedup\"",
        "s.toml:34:11: `expect.0.measure`: unknown measure `sppedup`, did you mean `speedup`?",
    );
    check(
        "cell = \"sd\"\nfrom",
        "cell = \"sdd\"\nfrom",
        "s.toml:29:8: `published.0.cell`: unknown cell `sdd`, did you mean `sd`?",
    );
    check(
        "name = \"scenes-val\"",
        "name = \"scenes-vla\"",
        "s.toml:5:8: `dataset.name`: unknown dataset (and no path of a .txt, .csv, .tsv, .json or .jsonl file) \
         `scenes-vla`, did you mean `scenes-val`?",
    );
    check(
        "proposer = \"eagle1\", shape",
        "proposer = \"model\", model = \"igpt-fmnst\", shape",
        "s.toml:22:41: `cell.sd.drafter.model`: unknown model `igpt-fmnst`, did you mean `igpt-fmnist`?",
    );
}

#[test]
fn a_drafter_that_is_none_is_refused_by_the_decoders_own_words() {
    let at = "s.toml:22:11: `cell.sd.drafter`: ";
    check("depth = 3", "depth = 65", &format!("{at}drafter key `depth` is 65, expected 1..=64"));
    check(", depth = 3", "", &format!("{at}drafter with shape = \"chain\" needs the key `depth`"));
    check(
        "depth = 3",
        "depth = 3, top_k = 4",
        &format!("{at}drafter with shape = \"chain\" has no key `top_k`; remove it"),
    );
    check(
        "shape = \"chain\"",
        "shape = \"chian\"",
        &format!("{at}there is no `chian`; did you mean `chain`?"),
    );
    check(
        "shape = \"chain\", depth = 3",
        "shape = \"static\", tree = [[0, 0]]",
        &format!("{at}path [0, 0] of a static tree needs [0], which is not listed"),
    );
    let no_tree =
        message(&SOUND.replace("shape = \"chain\", depth = 3", "shape = \"static\", tree = \"oak\""));
    assert!(
        no_tree.starts_with(&format!("{at}no tree is called `oak`; known are mc_sim_7b_63")),
        "{no_tree}"
    );
}

#[test]
fn a_rule_or_schedule_that_is_none_is_refused_where_it_stands() {
    let rule = message(&SOUND.replace("kind = \"lossless\"", "kind = \"losless\""));
    assert!(
        rule.starts_with("s.toml:23:11: `cell.sd.accept.0`: there is no `losless`; did you mean `lossless`?"),
        "{rule}"
    );
    let schedule = message(&SOUND.replace("kind = \"always\"", "kind = \"sometimes\""));
    assert!(
        schedule.starts_with("s.toml:24:12: `cell.sd.schedule`: there is no `sometimes`; expected one of"),
        "{schedule}"
    );
    let table =
        SOUND.replace("kind = \"always\"", "kind = \"vvs\", trigger = { kind = \"interval\", every = 5 }");
    assert_eq!(
        message(&table),
        "s.toml:24:38: `cell.sd.schedule.trigger`: found a table, expected a name in quotes; what belongs to it stands next \
         to `trigger`"
    );
    let twice = message(
        &SOUND.replace("{ kind = \"lossless\" }", "{ kind = \"lossless\" }, { kind = \"lossless\" }"),
    );
    assert!(twice.starts_with("s.toml:23:10: `cell.sd.accept`: accept rule 0 is lossless"), "{twice}");
}

#[test]
fn duplicates_are_named_with_both_places() {
    check(
        "name = \"sd\"",
        "name = \"ar\"",
        "s.toml:21:8: cell `ar` is already there at s.toml:19:8; names must differ",
    );
    check(
        "min_n = 500",
        "[[metric]]\nname = \"fd-scenes\"",
        "s.toml:28:8: metric `fd-scenes` is already there at s.toml:26:8; names must differ",
    );
}

#[test]
fn a_diagnostic_has_a_known_name_and_a_few_images() {
    let asked = |entry: &str| format!("min_n = 500\n[[diagnostic]]\n{entry}");
    let of = |entry: &str, expected: &str| check("min_n = 500", &asked(entry), expected);
    of(
        "name = \"feature-row\"\nimages = 2",
        "s.toml:29:8: `diagnostic.0.name`: unknown diagnostic `feature-row`, did you mean `feature-rows`?",
    );
    of("name = \"feature-rows\"\nimages = 9", "s.toml:30:10: `diagnostic.0.images` is 9, expected 1 to 8");
    of(
        "name = \"draft-paths\"",
        "s.toml:28:1: [[diagnostic]] has no `images`, which must be given: it is the number of images of each cell that \
         are looked at",
    );
    of(
        "name = \"draft-paths\"\nimages = 1\n[[diagnostic]]\nname = \"draft-paths\"",
        "s.toml:32:8: diagnostic `draft-paths` is already there at s.toml:29:8; names must differ",
    );
}

#[test]
fn a_spec_without_cells_is_refused() {
    let cells = SOUND.find("[[cell]]").unwrap()..SOUND.find("[[metric]]").unwrap();
    let mut none = SOUND.to_owned();
    none.replace_range(cells.clone(), "");
    assert_eq!(
        message(&none),
        "s.toml:1:1: the spec has no `cell`, which must be given: a spec needs at least one [[cell]]"
    );
    let empty = none.replace("schema = 1", "schema = 1\ncell = []");
    assert_eq!(message(&empty), "s.toml:2:8: `cell` is an empty list, expected at least one [[cell]]");
}

#[test]
fn things_that_do_not_go_together_are_refused() {
    check(
        "name = \"ar\"",
        "name = \"ar\"\ndrafter = { proposer = \"eagle1\", shape = \"chain\", depth = 1 }",
        "s.toml:20:11: the cell `ar` is the autoregressive baseline, but has a drafter; remove the drafter, or \
         give the cell another name",
    );
    check(
        "limit = 8",
        "subset_seed = 3",
        "s.toml:6:15: `subset_seed` chooses `limit` prompts, but there is no `limit`; give both or neither",
    );
    check(
        "name = \"scenes-val\"\nlimit = 8",
        "name = \"unconditional\"",
        "s.toml:5:8: `unconditional` has no prompts to count; give `limit`, the number of images",
    );
    check(
        "name = \"scenes-val\"\nlimit = 8",
        "name = \"unconditional\"\nlimit = 8\nsubset_seed = 1",
        "s.toml:7:15: `unconditional` has no prompts to choose from; remove `subset_seed`",
    );
    check(
        "relative = 0.2",
        "relative = 0.2\ntolerance = 0.1",
        "s.toml:32:1: [[expect]] has both `tolerance` and `relative`; keep the one that is meant",
    );
}

#[test]
fn no_damage_to_a_spec_is_a_panic_and_every_error_has_a_place() {
    let damaged = SOUND.char_indices().flat_map(|(at, c)| {
        let (before, after) = (&SOUND[..at], &SOUND[at + c.len_utf8()..]);
        ["", "\"", "[", "é", "0", "\n"].map(|instead| format!("{before}{instead}{after}"))
    });
    let mut n_refused = 0;
    for text in damaged {
        if let Err(error) = SpecText::parse("s.toml", &text).and_then(|text| text.resolve()) {
            assert!(error.to_string().starts_with("s.toml:"), "{error}");
            n_refused += 1;
        }
    }
    assert!(n_refused > 3000, "only {n_refused} were refused");
}

#[test]
fn numbers_of_the_sampling_are_checked_in_32_bits_in_which_they_are_used() {
    let expected = [
        ("temperature = 1.0", "sampling.temperature", "11:15", "0 to 1e9 (0 is greedy)"),
        ("guidance = 3.0", "sampling.guidance", "14:12", "0 to 1e9 (1 is off)"),
    ];
    for (line, path, place, expected) in expected {
        let (key, _) = line.split_once(" = ").unwrap();
        for number in [1e10, 1e38, 1e39, 1e300] {
            let said = format!("s.toml:{place}: `{path}` is {number}, expected {expected}");
            check(line, &format!("{key} = {number:e}"), &said);
        }
        for number in ["1e9", "1e-300", "-0.0"] {
            let text = SOUND.replace(line, &format!("{key} = {number}"));
            SpecText::parse("s.toml", &text).unwrap().resolve().unwrap();
        }
    }
    let said = format!("s.toml:13:9: `sampling.top_p` is {}, expected above 0, at most 1 (1 is off)", 1e-60);
    check("top_p = 1.0", "top_p = 1e-60", &said);
}

#[test]
fn minus_zero_is_zero() {
    let resolved = |number: &str| {
        let text = SOUND.replace(
            "[[metric]]",
            &format!("[axes]\n\"cell.ar.sampling.temperature\" = [{number}, 1.0]\n[[metric]]"),
        );
        let spec = SpecText::parse("s.toml", &text).unwrap().resolve().unwrap();
        (spec.cells[0].name.clone(), serde_json::to_string(&spec.identity()).unwrap())
    };
    assert_eq!(resolved("-0.0"), resolved("0.0"));
    assert!(resolved("-0.0").0.ends_with("[temperature=0]"), "{}", resolved("-0.0").0);
}
