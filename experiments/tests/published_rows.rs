//! Every reference of a committed spec to published numbers finds its row, where the tables are at hand: they belong to
//! the papers and lie beside the data, not in the product.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

use std::{
    collections::BTreeMap,
    io::Write,
    path::{Path, PathBuf},
};

use specimen_datasets::data_root::DataRoot;
use specimen_experiments::{expect::PublishedRef, parse::SpecText, spec::Spec};

/// The fields of one line of a table; quoted ones may hold commas and doubled quotes.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut is_quoted) = (vec![String::new()], false);
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        let field = fields.last_mut().unwrap();
        match c {
            '"' if is_quoted && rest.peek() == Some(&'"') => field.push(rest.next().unwrap()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            other => field.push(other),
        }
    }
    fields
}

/// The rows of a table by the names of its columns.
fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut lines = text.lines();
    let names = fields(lines.next().unwrap());
    lines.map(|line| names.iter().cloned().zip(fields(line)).collect()).collect()
}

/// Whether a row with a value is what `reference` means.
fn is_meant(reference: &PublishedRef, row: &BTreeMap<String, String>) -> bool {
    let has = |(column, value): (&String, &String)| row.get(column) == Some(value);
    reference.columns.iter().all(has) && row.get("value").is_some_and(|value| !value.is_empty())
}

fn specs() -> Vec<(String, Spec)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/paper");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let named =
        |path: PathBuf| (path.display().to_string(), SpecText::read(&path).unwrap().resolve().unwrap());
    files.into_iter().map(named).collect()
}

#[test]
fn every_reference_to_a_published_row_matches_rows_of_one_setting() {
    let root = DataRoot::find(Path::new(env!("CARGO_MANIFEST_DIR")));
    let Some(tables) = root
        .map(|root| root.path().join("../papers"))
        .filter(|folder| folder.join("cascade_table1.csv").exists())
    else {
        return skip(
            "every_reference_to_a_published_row_matches_rows_of_one_setting",
            "no ../papers beside the data",
        );
    };
    let mut n_references = 0;
    for (file, spec) in specs() {
        for reference in &spec.published {
            let rows = rows(&tables.join(&reference.from));
            let meant: Vec<_> = rows.iter().filter(|row| is_meant(reference, row)).collect();
            assert!(!meant.is_empty(), "{file}: no row of {} has {:?}", reference.from, reference.columns);
            // One value a metric: two would be two settings.
            let mut metrics: Vec<&String> = meant.iter().map(|row| &row["metric"]).collect();
            metrics.sort();
            let n = metrics.len();
            metrics.dedup();
            assert_eq!(
                metrics.len(),
                n,
                "{file}: {:?} means several rows of {}",
                reference.columns,
                reference.from
            );
            n_references += 1;
        }
    }
    assert!(n_references > 60, "{n_references} references");
}

#[test]
fn a_quoted_field_keeps_its_commas_and_quotes() {
    assert_eq!(fields(r#"a,"b, ""c""",,d"#), ["a", r#"b, "c""#, "", "d"]);
}

/// Says that a test did not run for want of the tables; fails instead where data is required.
#[allow(clippy::print_stderr)] // A skipped test must be seen.
fn skip(test: &str, absent: &str) {
    let line = format!("SKIPPED: {test}: {absent}");
    assert!(std::env::var_os("STRICT").is_none_or(|strict| strict != "1"), "{line}");
    eprintln!("{line}");
    if let Some(log) = std::env::var_os("SPECIMEN_SKIP_LOG") {
        let mut log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        writeln!(log, "{line}").unwrap();
    }
}
