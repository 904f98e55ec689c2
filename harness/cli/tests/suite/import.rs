//! Images from elsewhere, taken in as a run that every command takes and that says what it is.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use serde_json::Value;

use crate::support::Desk;

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

fn import<'a>(table: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["import", "images", "--table", table, "--name", "there"], KNOWN.as_slice(), more].concat()
}

#[test]
fn a_folder_with_a_table_becomes_a_run_that_every_command_takes() {
    let desk = Desk::new();
    let table = folder(&desk);
    let ran = desk.succeeds(&import(&table, &["--out", "run"]));
    assert!(ran.out.contains("ar, lantern: imported."), "{}", ran.out);
    let summary: Value =
        serde_json::from_slice(&fs::read(desk.path("run/merged/summary.json")).unwrap()).unwrap();
    let cell = &summary["cells"][1];
    assert_eq!(
        (&cell["id"], &cell["origin"], &cell["guarantee"]),
        (&"lantern".into(), &"imported".into(), &"unknown".into())
    );
    // (2.00 + 2.01 + 2.02) / (0.50 + 0.51 + 0.52): told times of one table in one ratio.
    assert!((cell["speedup_e2e"]["value"].as_f64().unwrap() - 6.03 / 1.53).abs() < 1e-9, "{cell}");
    assert_eq!((&cell["speedup"]["value"], cell["nfe"].as_f64()), (&Value::Null, Some(64.0)));
    assert_eq!(desk.json(&["verify", "run"])["complaints"], serde_json::json!([]));
    assert_eq!(desk.json(&["status", "run"])["n_ok"], 6);
    desk.succeeds(&["report", "run"]);
    desk.succeeds(&["score", "run"]);
    desk.succeeds(&["grid", "run"]);
    let replay = ["replay", "run", "--random", "2", "--seed", "1"];
    desk.fails(&replay, 2, &["no image of the run was made by this program"]);
    desk.fails(&import(&table, &["--out", "run"]), 2, &["run"]);

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
    check(&text, &["the image `ar/1.png`", "is no picture"]);
    picture(&desk, "images/ar/1.png", [1, 2, 3]);
    let twice = text.replacen("0 of them", "other words", 1);
    let table = desk.file("bad.csv", &twice);
    desk.fails(&import(&table, &["--out", "bad"]), 3, &["one id stands for one text"]);
    desk.fails(&import(&table, &["--out", "bad", "--cell", "../x"]), 3, &["bad.csv", "one id"]);
    let by_id = desk.file("bad.csv", &text.replace("file,prompt,", "file,prompt_id,"));
    desk.fails(&import(&by_id, &["--out", "bad"]), 3, &["line 2, column 1", "has no text"]);
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
    assert!(compared.contains("B is higher, by the same on every prompt"), "{compared}");
    assert!(compared.contains("p —: all pairs of that row differ by the same"), "{compared}");
    assert!(compared.contains("are of another program's clock"), "{compared}");
    let unknown = ["compare", "run", "run", "--cell", "lantern[tau_pos=0.9]=ar"];
    desk.fails(&unknown, 2, &["no cell `lantern[tau_pos=0.9]`; it has ar, lantern[tau_pos=0.85,k=100]"]);
    // An image that this program did not make is never made again; its key is found first.
    desk.fails(&["replay", "run", &format!("{NAME}/0/0")], 3, &["another program made it"]);
    desk.fails(&["replay", "run", "lantern[k=1]/0/0"], 2, &["no image of the item lantern[k=1]/0/0"]);
    let rule = "measure = \"nfe\"\nkind = \"exact\"";
    desk.file("b.rules.toml", &format!("schema = 1\n[[rule]]\ncells = [\"{NAME}\"]\n{rule}\n"));
    let gate = ["gate", "run", "--baseline", "b.json"];
    desk.succeeds(&[&gate[..], &["--update-baseline", "--reason", "the first"]].concat());
    assert!(desk.succeeds(&gate).out.contains("Passed: 1 of 1 checks"));
    desk.succeeds(&["report", "run"]);
    let broken = desk.file("broken.csv", &named.replace("k=100]", "k=100"));
    desk.fails(&import(&broken, &["--out", "bad"]), 3, &["not a name of a run or a cell"]);
}
