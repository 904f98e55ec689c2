//! Images from elsewhere, taken in as a run that every command takes and that says what it is.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use serde_json::Value;

use crate::support::{Desk, spec};

const KNOWN: [&str; 12] = [
    "--model",
    "tiny",
    "--dtype",
    "bf16",
    "--temperature",
    "1",
    "--top-k",
    "0",
    "--top-p",
    "1",
    "--guidance",
    "3",
];

/// A picture of one colour, 64 pixels a side.
fn picture(desk: &Desk, name: &str, rgb: [u8; 3]) {
    let path = desk.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    image::RgbImage::from_pixel(64, 64, image::Rgb(rgb)).save(path).unwrap();
}

/// Two methods on two prompts.
fn folder(desk: &Desk) -> String {
    for (at, cell) in ["ar", "lantern"].into_iter().enumerate() {
        for prompt in 0..3_u8 {
            picture(desk, &format!("images/{cell}/{prompt}.png"), [prompt * 80, 50, at as u8 * 200]);
        }
    }
    let mut text = String::from("file,prompt,seconds,cell,forwards\n");
    for (cell, seconds, forwards) in [("ar", 2.0, 256), ("lantern", 0.5, 64)] {
        for prompt in 0..3 {
            let said = format!("\"a red circle, {prompt} of them\"");
            text += &format!(
                "{cell}/{prompt}.png,{said},{},{cell},{forwards}\n",
                seconds + 0.01 * f64::from(prompt)
            );
        }
    }
    desk.file("times.csv", &text)
}

/// The values of a column in a CSV file.
fn column_values(desk: &Desk, file: &str) -> impl Fn(&str) -> Vec<String> {
    let mut reader = csv::Reader::from_path(desk.path(file)).unwrap();
    let head = reader.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    move |column: &str| {
        let at = head.iter().position(|name| name == column).unwrap();
        rows.iter().map(|row| row[at].to_owned()).collect()
    }
}

fn import<'a>(table: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["import", "images", "--table", table, "--name", "there"], KNOWN.as_slice(), more].concat()
}

#[test]
fn a_folder_with_a_table_becomes_a_run_that_every_command_takes() {
    let desk = Desk::new();
    let table = folder(&desk);
    let ran = desk.succeeds(&import(&table, &["--out", "run"]));
    assert!(ran.out.contains("ar, lantern: imported."), "{}", ran.out);
    let summary = desk.document("run/merged/summary.json");
    let cell = &summary["cells"][1];
    assert_eq!(
        (&cell["id"], &cell["origin"], &cell["guarantee"]),
        (&"lantern".into(), &"imported".into(), &"unknown".into())
    );
    // (2.00 + 2.01 + 2.02) / (0.50 + 0.51 + 0.52): told times of one table in one ratio.
    assert!(
        (cell["measures"]["speedup_e2e"]["value"].as_f64().unwrap() - 6.03 / 1.53).abs() < 1e-9,
        "{cell}"
    );
    assert_eq!(
        (&cell["measures"]["speedup"]["value"], cell["measures"]["nfe"]["value"].as_f64()),
        (&Value::Null, Some(64.0))
    );
    assert_eq!(desk.json(&["verify", "run"])["complaints"], serde_json::json!([]));
    assert_eq!(desk.json(&["status", "run"])["n_ok"], 6);
    desk.succeeds(&["report", "run"]);
    // What the table does not say is empty wherever images are listed, not 0.
    desk.succeeds(&["records", "run", "--out", "records.csv"]);
    for file in ["records.csv", "run/report/images.csv"] {
        let listed = column_values(&desk, file);
        for column in ["seed", "n_tokens", "n_steps", "n_draft_forwards", "accepted", "tvd_spent", "forced"] {
            assert_eq!(listed(column), ["", "", "", "", "", ""], "{file}: {column}");
        }
        assert_eq!(listed("nfe")[3..], ["64", "64", "64"], "{file}");
        assert_eq!(listed("width")[0], "64", "{file}");
    }
    assert_eq!(column_values(&desk, "records.csv")("tokens_digest"), [""; 6]);
    let page = desk.text("run/report/index.html");
    assert!(!page.contains("blocks of") && page.contains("the reported time of the baseline"));
    let checked = desk.succeeds(&["verify", "--deep", "run"]).out;
    assert!(checked.contains("nothing here makes them again") && !checked.contains("--replay"), "{checked}");
    assert!(page.contains("no common seed is known") && !page.contains("started from the same seed"));
    desk.succeeds(&["score", "run"]);
    desk.succeeds(&["grid", "run"]);
    let replayed = desk.succeeds(&["verify", "run", "--replay", "2"]).out;
    assert!(
        replayed.contains("unknown  the images: no image of the run was made by this program"),
        "{replayed}"
    );
    desk.fails(
        &import(&table, &["--out", "run"]),
        2,
        &["a run is here already", "another folder by `--out`"],
    );

    // Its times are in no ratio with those of another run.
    desk.succeeds(&import(&table, &["--out", "again"]));
    let compared = desk.run(&["compare", "run", "again", "--format", "json"]);
    assert!(!compared.out.contains("\"measure\": \"decode_s\""), "{}", compared.out);
}

#[test]
fn a_table_that_does_not_fit_is_refused_before_anything_is_written() {
    let desk = Desk::new();
    let table = folder(&desk);
    let text = fs::read_to_string(&table).unwrap();
    let check = |text: &str, parts: &[&str]| {
        let table = desk.file("bad.csv", text);
        desk.fails(&import(&table, &["--out", "bad"]), 4, parts);
        assert!(!desk.path("bad").exists(), "nothing was written");
    };
    check(
        &text.replace("ar/0.png", "ar/9.png"),
        &["1 row(s) without an image: `ar/9.png`", "1 image(s) without a row: `ar/0.png`"],
    );
    check(
        &text.replacen("2.00", "soon", 1).replacen(",2,", ",soon,", 1),
        &["line 2, column 36", "seconds above 0", "`soon`"],
    );
    check(&text.replace("ar/0.png", "../ar/0.png"), &["line 2, column 1", "without `..`"]);
    fs::write(desk.path("images/ar/1.png"), "no picture").unwrap();
    check(&text, &["the image `ar/1.png` is no picture"]);
    picture(&desk, "images/ar/1.png", [1, 2, 3]);
    let twice = text.replacen("0 of them", "other words", 1);
    let table = desk.file("bad.csv", &twice);
    desk.fails(&import(&table, &["--out", "bad"]), 3, &["one id stands for one text"]);
    desk.fails(&import(&table, &["--out", "bad", "--cell", "../x"]), 3, &["bad.csv", "one id"]);
    let by_id = desk.file("bad.csv", &text.replace("file,prompt,", "file,prompt_id,"));
    let said = desk.run(&import(&by_id, &["--out", "bad"]));
    assert!(
        said.code == 3
            && said.err.contains("line 2, column 10: the prompt")
            && said.err.contains("has no text"),
        "{}",
        said.err
    );
    let named = desk.file("bad.csv", &text.replacen(",ar,", ",Mine!,", 1));
    desk.fails(&import(&named, &["--out", "bad"]), 3, &["line 2, column 38: `Mine!` is not a name"]);
}

#[test]
fn a_cell_with_brackets_and_equal_signs_is_taken_wherever_a_name_is() {
    const NAME: &str = "lantern[tau_pos=0.85,k=100]";
    let desk = Desk::new();
    let table = folder(&desk);
    let named = fs::read_to_string(&table).unwrap().replace(",lantern,", &format!(",\"{NAME}\","));
    let table = desk.file("named.csv", &named);
    desk.succeeds(&import(&table, &["--out", "run"]));
    // The name is found. Its forwards are compared; its times are not.
    let compared = desk.succeeds(&["compare", "run", "run", "--cell", &format!("{NAME}=ar")]).out;
    assert!(compared.contains("undecided: too few pairs"), "{compared}");
    assert!(compared.contains("p —: all pairs of that row differ by the same"), "{compared}");
    assert!(compared.contains("are of another program's clock"), "{compared}");
    let unknown = ["compare", "run", "run", "--cell", "lantern[tau_pos=0.9]=ar"];
    desk.fails(&unknown, 2, &["no cell `lantern[tau_pos=0.9]`; it has ar, lantern[tau_pos=0.85,k=100]"]);
    let rule = "measure = \"nfe\"\nkind = \"exact\"";
    desk.file("b.rules.toml", &format!("schema = 1\n[[rule]]\ncells = [\"{NAME}\"]\n{rule}\n"));
    let gate = ["gate", "run", "--baseline", "b.json"];
    desk.succeeds(&[&gate[..], &["--update-baseline", "--reason", "the first"]].concat());
    assert!(desk.succeeds(&gate).out.contains("Passed: 1 of 1 checks"));
    desk.succeeds(&["report", "run"]);
    let broken = desk.file("broken.csv", &named.replace("k=100]", "k=100"));
    desk.fails(&import(&broken, &["--out", "bad"]), 3, &["not a name of a run or a cell"]);
}

/// A run of this program on three prompts, and its images imported under its own cell names with their tokens.
fn run_and_import(desk: &Desk, more: &[&str]) -> String {
    let prompts = desk.file("prompts.txt", "a red circle\na blue square\na green star\n");
    let set = format!("dataset.name={prompts:?}");
    desk.succeeds(&["run", &spec("ci/stub.toml"), "--set", &set, "--limit", "3", "--out", "ours", "-q"]);
    let mut table = String::from("file,prompt_id,seconds,cell,forwards,tokens\n");
    let records = desk.text("ours/merged/records.jsonl");
    for record in records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let (cell, id) = (record["cell"].as_str().unwrap(), record["prompt_id"].as_str().unwrap());
        picture(desk, &format!("images/{cell}/{id}.png"), [9, 50, 9]);
        let tokens: Vec<String> =
            record["tokens"].as_array().unwrap().iter().map(ToString::to_string).collect();
        let forwards = 40 + id.len() + cell.len() + tokens[0].len();
        table += &format!("{cell}/{id}.png,{id},1.5,{cell},{forwards},{}\n", tokens.join(" "));
    }
    let table = desk.file("times.csv", &table);
    let known = "--model stub --dtype f32 --temperature 1 --top-k 0 --top-p 1 --guidance 2";
    let args = ["import", "images", "--table", &table, "--name", "theirs", "--out", "theirs", "-q"];
    let known: Vec<&str> = known.split(' ').collect();
    desk.succeeds(&[&args[..], &known, more].concat());
    prompts
}

#[test]
fn comparing_a_run_with_an_import_asks_for_what_is_unknown_and_names_it() {
    let desk = Desk::new();
    run_and_import(&desk, &["--dataset", desk.path("prompts.txt").to_str().unwrap()]);
    let compare = ["compare", "ours", "theirs"];
    let unknown = "of B, which is imported, these are not known: method, device";
    let asked = ["the seeds of B's cell ar are not all known", unknown, "with --mix identity,seed"];
    desk.fails(&compare, 1, &asked);
    let mixed = desk.succeeds(&[&compare[..], &["--mix", "identity,seed"]].concat()).out;
    assert!(mixed.contains("nfe") && mixed.contains("identity, seed"), "{mixed}");
    // A pair that is named is compared whatever its method is.
    let pair = [&compare[..], &["--cell", "ar=ar"]].concat();
    let ran = desk.run(&pair);
    assert!(ran.err.contains("with --mix seed") && !ran.err.contains("method"), "{}", ran.err);
    desk.succeeds(&[&pair[..], &["--mix", "seed"]].concat());
    // Whoever allows the one is asked for the other.
    let one = [&compare[..], &["--mix", "seed"]].concat();
    desk.fails(&one, 1, &[unknown, "--mix identity compares them anyway"]);
    // Nor is it known on how many threads the images were made.
    let records = ["records", "ours", "theirs", "--mix", "identity"];
    desk.fails(&records, 1, &["times of run", "(1 thread)", "unknown (imported) (threads unknown)"]);
}

#[test]
fn what_only_some_images_of_an_import_have_is_no_mean_and_no_score() {
    let desk = Desk::new();
    let prompts = run_and_import(&desk, &["--dataset", desk.path("prompts.txt").to_str().unwrap()]);
    assert!(desk.path("theirs/plan.json").exists(), "{prompts}");
    // The last image loses its tokens and forwards.
    let text = desk.text("times.csv");
    let last = text.trim_end().lines().last().unwrap();
    let poor = last.split(',').take(4).collect::<Vec<_>>().join(",") + ",,";
    let cell = last.split(',').nth(3).unwrap().to_owned();
    let table = desk.file("some.csv", &text.replace(last, &poor));
    let known =
        "--model stub --dtype f32 --temperature 1 --top-k 0 --top-p 1 --guidance 2 --out some -q --dataset";
    let known: Vec<&str> = known.split(' ').chain(["prompts.txt"]).collect();
    desk.succeeds(&[&["import", "images", "--table", &table, "--name", "some"], &known[..]].concat());
    desk.succeeds(&["records", "some", "--layout", "csv"]);
    desk.succeeds(&["score", "some", "--metric", "target-nll"]);
    let file = desk.bytes(&format!("some/metrics/target-nll/{cell}.json"));
    let file: Value = serde_json::from_slice(&file).unwrap();
    let why = "the tokens of 1 of 3 are not known; with `tokens` in its table for all of them";
    assert!(file["why"].as_str().unwrap().contains(why) && file["n"] == 0, "{file}");
    let means = desk.succeeds(&["records", "some", "--layout", "csv"]).out;
    let mut means = csv::Reader::from_reader(means.as_bytes());
    let head = means.headers().unwrap().clone();
    let at = |name: &str| {
        head.iter().position(|column| column.starts_with(name)).unwrap_or_else(|| panic!("{head:?}"))
    };
    for row in means.records().map(Result::unwrap) {
        let is_poor = row.iter().any(|field| field == cell);
        for name in ["nfe", "step compression"] {
            assert_eq!(row[at(name)].parse::<f64>().is_err(), is_poor, "{name}: {row:?}");
        }
    }
    let summary = desk.document("some/merged/summary.json");
    let of_cell = crate::support::cell(&summary, &cell);
    assert_eq!(
        of_cell["measures"]["nfe"]["why"],
        "the program that made the images reports forwards of 2 of 3 only"
    );
    desk.succeeds(&["report", "some"]);
    let page = desk.text("some/report/index.html");
    assert!(!page.contains("0 cores") && !page.contains("0 MiB") && !page.contains("a worker"));
    assert!(desk.succeeds(&["status", "some"]).out.contains("state   merged: its images were imported\n"));
    assert!(desk.succeeds(&["records", "some"]).out.contains("Imported: some. Another program"));
    // Nor does `compare` say that another scoring would help.
    let compare = ["compare", "theirs", "some", "--mix", "identity,seed"];
    desk.succeeds(&["score", "theirs", "--metric", "target-nll"]);
    let ran = desk.succeeds(&compare);
    assert!(
        ran.out.contains("A: imported run theirs") && ran.out.contains("B: imported run some"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("B has no values of it: the images are another program's"), "{}", ran.out);
    assert!(!ran.out.contains("`specimen score` can compute"), "{}", ran.out);

    let bad = desk.file("bad.csv", &text.replace(&format!(",{cell},"), ",Ar X,"));
    let known: Vec<&str> = known.iter().map(|&word| if word == "some" { "bad" } else { word }).collect();
    let import = [&["import", "images", "--table", &bad, "--name", "bad"], &known[..]].concat();
    desk.fails(&import, 3, &["bad.csv: line", "`Ar X` is not a name"]);
}

#[test]
fn the_prompts_of_an_import_are_checked_against_the_dataset_that_it_names() {
    let desk = Desk::new();
    let prompts = desk.path("prompts.txt").to_str().unwrap().to_owned();
    run_and_import(&desk, &["--dataset", &prompts]);
    let check = |code: i32, parts: &[&str]| {
        let ran = desk.run(&["verify", "--deep", "theirs"]);
        assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
        parts.iter().for_each(|part| assert!(ran.out.contains(part), "`{part}` is not in {}", ran.out));
        assert!(code != 0 || !parts.is_empty() || !ran.out.contains("prompts"), "{}", ran.out);
    };
    check(0, &[]);
    let whole = fs::read_to_string(&prompts).unwrap();
    desk.file("prompts.txt", &whole.replace("blue", "grey"));
    check(4, &["the prompt `1` is \"a blue square\", in `prompts.txt` it is \"a grey square\""]);
    desk.file("prompts.txt", "a red circle\n");
    check(0, &["2 of the prompts: `prompts.txt` does not have them; the first is `1`"]);
    fs::remove_file(&prompts).unwrap();
    check(0, &["unknown  the prompts: ", "prompts.txt"]);

    let desk = Desk::new();
    let table = folder(&desk);
    desk.succeeds(&import(&table, &["--out", "run"]));
    let said = desk.succeeds(&["verify", "--deep", "run"]).out;
    assert!(said.contains("the prompts: the images were imported without --dataset"), "{said}");
    // A text that is not the dataset's would never pass.
    let other = desk.file("other.txt", "one\ntwo\nthree\n");
    let args = import(&table, &["--out", "bad", "--dataset", &other]);
    desk.fails(&args, 3, &["in `other.txt`", "mend the ids of the table", "leave --dataset out"]);
}

#[test]
fn tokens_of_imported_images_are_scored_on_the_cpu_or_the_device_that_is_given() {
    let desk = Desk::new();
    run_and_import(&desk, &["--dataset", desk.path("prompts.txt").to_str().unwrap()]);
    let value = |run: &str, more: &[&str]| {
        desk.succeeds(&[&["score", run, "--metric", "target-nll", "-q"][..], more].concat());
        let path = desk.path(run).join("metrics/target-nll/sd-chain2.json");
        serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap()["value"].as_f64()
    };
    let ours = value("ours", &[]);
    assert!(ours.is_some());
    assert_eq!(value("theirs", &[]), ours);
    assert_eq!(value("theirs", &["--device", "cpu"]), ours);
    let score = |run: &str, more: &[&str], parts: &[&str]| {
        desk.fails(&[&["score", run, "--metric", "target-nll"][..], more].concat(), 3, parts);
    };
    score("theirs", &["--device", "tpu"], &["tpu"]);
    score("ours", &["--device", "cpu"], &["on the devices of its cells; leave --device out"]);
    desk.succeeds(&["verify", "theirs"]);
}

#[test]
fn an_import_without_a_baseline_says_so_and_equal_images_compare() {
    let desk = Desk::new();
    picture(&desk, "images/0.png", [9, 50, 9]);
    let table = desk.file("times.csv", "file,prompt,seconds,cell,forwards\n0.png,a red circle,2.0,fast,64\n");
    let shown = desk.succeeds(&import(&table, &["--out", "one"])).out;
    assert!(
        shown.contains("baseline none") && shown.contains("the table of the import has no cell `ar`"),
        "{shown}"
    );
    let same = desk.succeeds(&["compare", "one", "one"]).out;
    assert!(
        same.contains("No row, because the value is the same on every prompt of both runs: nfe 64 of fast."),
        "{same}"
    );
}

#[test]
fn a_prompt_given_twice_while_another_is_missing_is_said() {
    let desk = Desk::new();
    let table = folder(&desk);
    let even = desk.succeeds(&import(&table, &["--out", "even"])).err;
    assert!(!even.contains("as many images"), "{even}");
    let mut text = String::from("file,prompt_id,prompt,seconds,cell\n");
    for (file, prompt, cell) in [
        ("ar/0", 0, "ar"),
        ("ar/1", 1, "ar"),
        ("ar/2", 2, "ar"),
        ("lantern/0", 0, "lantern"),
        ("lantern/1", 1, "lantern"),
        ("lantern/2", 1, "lantern"),
    ] {
        text += &format!("{file}.png,{prompt},\"a red circle, {prompt} of them\",1.0,{cell}\n");
    }
    let table = desk.file("twice.csv", &text);
    let said = desk.succeeds(&import(&table, &["--out", "uneven"])).err;
    let cell = "twice.csv: cell `lantern` does not have as many images of every prompt: 1 of `0`, 2 of `1`, 0 of `2`";
    assert!(said.contains(cell) && !said.contains("cell `ar`"), "{said}");
}

#[test]
fn an_import_that_fails_leaves_no_folder() {
    let desk = Desk::new();
    let table = folder(&desk);
    // It has no scores to show yet.
    desk.fails(&import(&table, &["--out", "bad", "--quality", "fid"]), 2, &["--quality"]);
    assert!(!desk.path("bad").exists());
    // A file that cannot be written whole, as where the disk is full: none may have more than 1 KiB here.
    let limited = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
    let args = import(&table, &["--out", "bad"]);
    let ran = std::process::Command::new("sh")
        .args(["-c", limited, env!("CARGO_BIN_EXE_specimen")])
        .args(&args)
        .current_dir(desk.path("."))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success() && said.contains("manifest.json"), "{said}");
    assert!(!desk.path("bad").exists(), "{said}");
    desk.succeeds(&import(&table, &["--out", "bad"]));
}

#[test]
fn tokens_that_break_the_grammar_of_their_model_are_not_scored() {
    const SOUND: &str = "18 19 20 0 1 5 11 8 8 16 3 8 6 10 13 4 16 5 11 8 2 4 9 16 11 9 9 9 0 9 16 17";
    let desk = Desk::new();
    picture(&desk, "images/1.png", [9, 9, 9]);
    let scored = |name: &str, tokens: &str| {
        let table = format!("id,prompt,seconds,tokens\n1,a red bus,1.0,{tokens}\n");
        let table = desk.file("table.csv", &table);
        let known = ["--model", "lumina-toy", "--dtype", "f32", "--temperature", "1", "--top-k", "0"];
        let more = ["--top-p", "1", "--guidance", "3", "--cell", "them", "--out", name];
        let import = ["import", "images", "--table", &table, "--name", "there"];
        desk.succeeds(&[&import[..], &known, &more].concat());
        desk.succeeds(&["score", name, "--metric", "target-nll"]);
        let file = desk.bytes(&format!("{name}/metrics/target-nll/them.json"));
        serde_json::from_slice::<Value>(&file).unwrap()
    };
    assert!(scored("sound", SOUND)["value"].as_f64().is_some_and(|bits| bits < 10.0));
    for (name, [from, to], why) in [
        ("grid", ["19 20", "20 19"], "position 1, from 0: expected the structural token 19, found 20"),
        ("row-end", ["8 16 3", "8 3 3"], "position 9, from 0: expected the structural token 16, found 3"),
        ("inside", ["1 5 11", "1 18 11"], "position 5, from 0: expected a code below 16, found 18"),
        ("short", [" 16 17", ""], "expected 32 tokens, found 30"),
    ] {
        let file = scored(name, &SOUND.replacen(from, to, 1));
        let found = file["why"].as_str().unwrap();
        assert!(found.ends_with(&format!("no image tokens of `lumina-toy`: {why}")), "{name}: {found}");
        assert_eq!(file["value"], Value::Null, "{name}");
    }
}

#[test]
fn nobody_is_told_to_resume_an_import() {
    let desk = Desk::new();
    let table = folder(&desk);
    desk.succeeds(&import(&table, &["--out", "run"]));
    desk.file("scores.jsonl", "");
    // Each place with what ends there, and whether scoring makes it again.
    let places = [
        ("checksums.json", true),
        ("merged/records.jsonl", true),
        ("merged/summary.json", true),
        ("shards/0/done.json", true),
        ("shards/0/attempts/0/records.jsonl", false),
        ("shards/0/attempts/0/steps.jsonl", false),
        ("shards/0/images/ar+0+0.png", false),
        ("plan.json", false),
    ];
    let commands: [&[&str]; 8] = [
        &["verify", "run"],
        &["verify", "run", "--deep"],
        &["status", "run"],
        &["merge", "run"],
        &["compare", "run", "run"],
        &["import-scores", "run", "--metric", "dpg", "scores.jsonl"],
        &["report", "run"],
        &["score", "run"],
    ];
    for (place, is_made_again) in places {
        let path = desk.path("run").join(place);
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let mut n_advised = 0;
        for command in commands {
            let ran = desk.run(command);
            let said = format!("{}{}", ran.out, ran.err);
            let is_fit = !said.contains("--resume") || said.contains("of an import");
            assert!(is_fit, "{command:?} without {place}: {said}");
            n_advised += usize::from(said.contains("an import is not resumed"));
        }
        assert!(n_advised > 0 || place == "plan.json", "{place}");
        // The last command scores.
        assert_eq!(desk.run(&["verify", "run"]).code == 0, is_made_again, "{place}");
        if !is_made_again {
            fs::write(&path, whole).unwrap();
            // What was merged without it is merged again.
            desk.succeeds(&["score", "run"]);
            desk.succeeds(&["verify", "run"]);
        }
    }
}
