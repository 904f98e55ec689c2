//! What tests need from outside the checkout, and what they say where it is absent: real data below `SPECIMEN_DATA`, else
//! beside the checkout; programs such as a browser. A test that cannot run prints one line, adds it to the file that
//! `SPECIMEN_SKIP_LOG` names, from which `make test` lists it at the end, and fails where `STRICT` is 1.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The folder of real data, there or not: `SPECIMEN_DATA`, else `../shared/data` from the root of the workspace.
pub fn folder() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    env::var_os("SPECIMEN_DATA").map_or_else(beside, PathBuf::from)
}

/// The file or folder `part` of the real data; where it is absent `test` is skipped.
///
/// # Panics
/// As [`skip`].
pub fn find(test: &str, part: &str) -> Option<PathBuf> {
    folder_with(test, &[part]).map(|folder| folder.join(part))
}

/// The folder of real data, if it has all of `parts`; else `test` is skipped.
///
/// # Panics
/// As [`skip`].
pub fn folder_with(test: &str, parts: &[&str]) -> Option<PathBuf> {
    let folder = folder();
    let absent: Vec<&str> = parts.iter().filter(|part| !folder.join(part).exists()).copied().collect();
    if absent.is_empty() {
        return Some(folder);
    }
    skip(test, &format!("{} below SPECIMEN_DATA", absent.join(", ")));
    None
}

/// The folder of real data, if it has one of `parts`; else `test` is skipped.
///
/// # Panics
/// As [`skip`].
pub fn folder_with_any(test: &str, parts: &[&str]) -> Option<PathBuf> {
    let folder = folder();
    if parts.iter().any(|part| folder.join(part).exists()) {
        return Some(folder);
    }
    skip(test, &format!("{} below SPECIMEN_DATA", parts.join(" or ")));
    None
}

/// Whether tests run at the size that shows most (`make test-long`), and not at the smallest that shows the same.
pub fn is_long() -> bool {
    env::var_os("LONG_TESTS").is_some_and(|long| long == "1")
}

/// Says that `test` does not run for want of `needed`.
///
/// # Panics
/// Where `STRICT` is 1, and when the log cannot be written.
pub fn skip(test: &str, needed: &str) {
    let is_strict = env::var_os("STRICT").is_some_and(|strict| strict == "1");
    assert!(!is_strict, "{}", line(test, needed));
    note(test, needed);
}

/// As [`skip`], of something that even a strict machine may lack: a right, or a service of the system.
///
/// # Panics
/// When the log cannot be written.
#[allow(clippy::print_stderr)] // a skipped test must be seen
pub fn note(test: &str, needed: &str) {
    let line = line(test, needed);
    eprintln!("{line}");
    if let Some(log) = env::var_os("SPECIMEN_SKIP_LOG") {
        let mut log =
            OpenOptions::new().create(true).append(true).open(log).expect("the log of skipped tests opens");
        writeln!(log, "{line}").expect("the log of skipped tests takes a line");
    }
}

fn line(test: &str, needed: &str) -> String {
    format!("SKIPPED: {test}: {needed}")
}
