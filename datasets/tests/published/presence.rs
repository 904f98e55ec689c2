//! Finding published data for a test, or saying loudly that it is absent: a line on stderr, the same line
//! in the file named by `SPECIMEN_SKIP_LOG`, and a failure when `STRICT` is 1.
#![allow(clippy::print_stderr)] // a skipped test says so

use specimen_datasets::data_root::DataRoot;
use std::io::Write;
use std::path::Path;

/// The data folder, when it has all of `places`; otherwise `test` is reported as skipped.
pub(crate) fn root_with(test: &str, places: &[&str]) -> Option<DataRoot> {
    let root = root();
    let absent: Vec<&str> = places.iter().filter(|place| !exists(root.as_ref(), place)).copied().collect();
    if absent.is_empty() {
        return root;
    }
    report(&format!("SKIPPED: {test}: {} absent below the data folder", absent.join(", ")));
    None
}

/// The data folder, when it has at least one of `places`; otherwise `test` is reported as skipped.
pub(crate) fn root_with_any(test: &str, places: &[&str]) -> Option<DataRoot> {
    let root = root();
    if places.iter().any(|place| exists(root.as_ref(), place)) {
        return root;
    }
    report(&format!("SKIPPED: {test}: {} absent below the data folder", places.join(" or ")));
    None
}

fn root() -> Option<DataRoot> {
    DataRoot::find(Path::new(env!("CARGO_MANIFEST_DIR")))
}

fn exists(root: Option<&DataRoot>, place: &str) -> bool {
    root.is_some_and(|root| root.path().join(place).exists())
}

fn report(line: &str) {
    if std::env::var_os("STRICT").is_some_and(|strict| strict == "1") {
        panic!("{line}");
    }
    eprintln!("{line}");
    if let Some(log) = std::env::var_os("SPECIMEN_SKIP_LOG") {
        let mut log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        writeln!(log, "{line}").unwrap();
    }
}
