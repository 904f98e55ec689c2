//! The folder of real data: found through `SPECIMEN_DATA`, else beside the checkout.

use std::io::Write;
use std::path::{Path, PathBuf};

/// The file or folder `part` of the real data; otherwise says that `test` is skipped, or panics with `STRICT=1`.
pub(crate) fn find(test: &str, part: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let root = std::env::var_os("SPECIMEN_DATA").map_or_else(beside, PathBuf::from);
    let found = root.join(part);
    if found.exists() {
        return Some(found);
    }
    skip(&format!("SKIPPED: {test}: no {part} below SPECIMEN_DATA"));
    None
}

#[allow(clippy::print_stderr)] // A skipped test must be seen.
fn skip(line: &str) {
    assert!(std::env::var("STRICT").as_deref() != Ok("1"), "{line}");
    eprintln!("{line}");
    if let Some(log) = std::env::var_os("SPECIMEN_SKIP_LOG") {
        let mut log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        writeln!(log, "{line}").unwrap();
    }
}
