//! Published numbers resolve: every file reads, and every reference of a committed spec means one setting.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use specimen_experiments::{expect::PublishedRef, parse::SpecText};
use specimen_report::verdicts::papers;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every spec of an experiment below a folder, in the order of their paths; specs of training are others.
fn specs(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("train") {
            continue;
        } else if path.is_dir() {
            found.extend(specs(&path));
        } else if path.extension().is_some_and(|ending| ending == "toml") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn reference(from: &str, columns: &[(&str, &str)]) -> PublishedRef {
    let columns = columns.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    PublishedRef { cell: "c".to_owned(), from: from.to_owned(), columns: columns.collect::<BTreeMap<_, _>>() }
}

#[test]
fn every_file_of_the_folder_is_part_of_the_program_and_reads() {
    let folder = root().join("results/papers");
    let mut on_disk: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".csv"))
        .collect();
    on_disk.sort();
    assert_eq!(on_disk, papers::files().collect::<Vec<_>>());
    for file in papers::files() {
        let rows = papers::rows(file).unwrap();
        assert!(!rows.is_empty(), "{file}");
        let complete = |row: &papers::PublishedRow| !row.source.is_empty() && !row.metric.is_empty();
        assert!(rows.iter().all(complete), "{file}");
    }
}

#[test]
fn every_published_row_of_a_spec_means_one_setting() {
    let mut n_references = 0;
    for path in specs(&root().join("experiments/specs")) {
        let spec = SpecText::read(&path).unwrap().resolve().unwrap();
        for reference in &spec.published {
            let rows = papers::resolve(reference).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            // A point that is drawn and not printed says so.
            let is_said =
                |row: &papers::PublishedRow| row.value.is_some() || row.params.contains("not printed");
            assert!(rows.iter().all(is_said), "{}", path.display());
            n_references += 1;
        }
    }
    assert!(n_references > 60, "{n_references} references");
}

#[test]
fn second_hand_values_keep_their_mark() {
    for file in papers::files() {
        let marked = papers::rows(file).unwrap().iter().all(papers::PublishedRow::is_second_hand);
        assert_eq!(marked, file.ends_with("_secondhand.csv"), "{file}");
    }
}

#[test]
fn a_reference_that_means_nothing_or_too_much_is_named() {
    let cascade = [("model", "LlamaGen-XL-Stage2"), ("dataset", "MSCOCO-2017"), ("method", "CASCADE")];
    let rows = papers::resolve(&reference("cascade_table1.csv", &cascade)).unwrap();
    let of = |metric: &str| rows.iter().find(|row| row.metric == metric).unwrap().value.unwrap();
    assert_eq!((of("speedup"), of("mean_alpha"), of("fid"), of("clip")), (3.3, 3.8, 40.4, 0.29));
    let said = |reference: &PublishedRef| papers::resolve(reference).unwrap_err().to_string();
    let unknown = said(&reference("cascade_table9.csv", &cascade));
    assert!(unknown.contains("cascade_table9.csv") && unknown.contains("cascade_table1.csv"), "{unknown}");
    let none = said(&reference("cascade_table1.csv", &[("method", "CASCADES")]));
    assert!(none.contains("no row"), "{none}");
    let many = said(&reference("cascade_table1.csv", &[("method", "CASCADE")]));
    assert!(many.contains("several values of `speedup`"), "{many}");
    assert!(
        papers::rows("nothing").unwrap_err().to_string().contains("no file of published numbers is named")
    );
}
