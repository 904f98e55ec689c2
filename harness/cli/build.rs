//! Build script: where libtorch is, and which sources the program is built from. The commit and whether sources differ
//! from it are put into the program; both are unknown where the workspace is not a repository of its own, as after
//! unpacking an archive.
//!
//! It runs again when a source or the commit changes, and not otherwise.

use std::{env, fs, path::Path};

use workspace::{git, is_changed, is_repository};

#[path = "../weights/rpath.rs"]
mod rpath;
#[path = "src/provenance/workspace.rs"]
mod workspace;

/// Files and folders below the root that decide what the program is. Folders of runs and of fuzzing are not among
/// them: what is written there changes nothing.
const SOURCES: [&str; 9] = [
    "Cargo.toml",
    "Cargo.lock",
    "datasets",
    "experiments",
    "harness",
    "metrics",
    "results/papers",
    "results/record",
    "results/report",
];
/// What is no part of the program in a folder of a crate.
const NO_SOURCES: [&str; 5] = ["tests", "examples", "benches", "target", "fuzz"];

fn main() {
    rpath::main();
    // Asked when it runs: a script that was compiled in another checkout may serve this one.
    let manifest_dir = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it for build scripts");
    let root = Path::new(&manifest_dir).join("../..");
    SOURCES.iter().for_each(|source| watch(&root.join(source)));
    let commit = if is_repository(&root) { git(&root, &["rev-parse", "HEAD"]) } else { None };
    if commit.is_some() {
        watch_commit(&root);
    }
    let is_changed = commit.as_ref().and_then(|_| is_changed(&root, &SOURCES));
    let words = match (&commit, is_changed) {
        (Some(commit), Some(true)) => format!("commit {}, sources changed", &commit[..12.min(commit.len())]),
        (Some(commit), _) => format!("commit {}", &commit[..12.min(commit.len())]),
        (None, _) => "commit unknown".to_owned(),
    };
    let changed = is_changed.map_or(String::new(), |is_changed| is_changed.to_string());
    println!("cargo:rustc-env=SPECIMEN_COMMIT={}", commit.unwrap_or_default());
    println!("cargo:rustc-env=SPECIMEN_CHANGED={changed}");
    println!("cargo:rustc-env=SPECIMEN_VERSION={} ({words})", env!("CARGO_PKG_VERSION"));
}

/// Has cargo run this again when the commit is another one. A file that is absent would have it run every time.
fn watch_commit(root: &Path) {
    let reference = git(root, &["symbolic-ref", "--quiet", "HEAD"]);
    for name in [Some("HEAD"), Some("packed-refs"), reference.as_deref()].into_iter().flatten() {
        let path = git(root, &["rev-parse", "--git-path", name]).map(|path| root.join(path));
        if let Some(path) = path.filter(|path| path.exists()) {
            println!("cargo:rerun-if-changed={}", path.display());
        }
    }
}

/// Has cargo run this again when a source changes. Of a crate's folder its tests are left out.
fn watch(path: &Path) {
    if path.is_file() {
        return println!("cargo:rerun-if-changed={}", path.display());
    }
    let is_crate = path.join("Cargo.toml").exists();
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if NO_SOURCES.iter().any(|left_out| name == *left_out) {
            continue;
        }
        match is_crate {
            true => println!("cargo:rerun-if-changed={}", entry.path().display()),
            false => watch(&entry.path()),
        }
    }
}
