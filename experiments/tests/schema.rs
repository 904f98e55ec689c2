//! The published schema of specs is that of the reader, every committed spec names it, and is valid under it.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use specimen_experiments::schema::{SCHEMA_FILE, spec_schema};

fn specs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("specs")
}

/// The specs below `folder`. Those of `specs/train` are another grammar.
fn spec_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries
        .filter(|path| !path.ends_with("specs/train"))
        .flat_map(|path| if path.is_dir() { spec_files(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect()
}

/// The complaints of a validator about a text in TOML.
fn complaints(text: &str) -> Vec<String> {
    let validator = jsonschema::draft202012::new(&spec_schema()).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let document: Value = serde_json::to_value(table).unwrap();
    validator.iter_errors(&document).map(|error| error.to_string()).collect()
}

#[test]
fn the_committed_schema_is_that_of_the_reader() {
    let text = fs::read_to_string(specs().join(SCHEMA_FILE)).unwrap_or_default();
    let made = serde_json::to_string_pretty(&spec_schema()).unwrap() + "\n";
    let how = "run `cargo run --release -p specimen-experiments --example publish_schema`";
    assert!(text == made, "{SCHEMA_FILE} is out of date; {how}");
}

#[test]
fn every_committed_spec_begins_with_its_schema_and_is_valid_under_it() {
    let files = spec_files(&specs());
    assert!(files.len() > 50, "{}", files.len());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let named = text.lines().next().unwrap().strip_prefix("#:schema ");
        let named = named.unwrap_or_else(|| panic!("{}: no `#:schema` line", file.display()));
        let found = file.parent().unwrap().join(named).canonicalize().unwrap();
        assert_eq!(found, specs().join(SCHEMA_FILE).canonicalize().unwrap(), "{}", file.display());
        assert_eq!(complaints(&text), [""; 0], "{}", file.display());
    }
}

#[test]
fn misspelt_keys_unknown_names_and_wrong_kinds_are_refused() {
    let good = fs::read_to_string(specs().join("quickstart.toml")).unwrap();
    assert_eq!(complaints(&good), [""; 0]);
    for (from, to) in [
        ("seed ", "sead "),
        ("warmup ", "warm_up "),
        ("\"tiny\"", "\"tyni\""),
        ("\"bf16\"", "\"bf61\""),
        ("top_k ", "topk "),
        ("temperature = 1.0", "temperature = \"1.0\""),
        ("kind = \"gsd\"", "kind = \"gds\""),
        ("proposer = \"eagle1\"", "proposr = \"eagle1\""),
        ("[[metric]]", "[[metrics]]"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good, "`{from}` is not in quickstart.toml");
        assert_ne!(complaints(&bad), [""; 0], "{to}");
    }
}
