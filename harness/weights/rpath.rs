//! Build script of every crate that links libtorch: its binaries and tests find the library without
//! environment variables, and know which version they were built for. Its CUDA part is not linked:
//! `specimen_weights::cuda` opens it.
#![allow(clippy::print_stdout, reason = "cargo reads what a build script prints")]

use std::path::Path;

pub(crate) fn main() {
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    let dir = std::env::var("LIBTORCH").unwrap_or_default();
    let dir = Path::new(&dir);
    // A filled folder, an archive, a Python package.
    let files = ["older-version", "build-version", "version.py"].map(|name| dir.join(name));
    // A file that is not there would run this every time.
    for file in files.iter().filter(|file| file.exists()) {
        println!("cargo:rerun-if-changed={}", file.display());
    }
    let version = files.iter().find_map(|file| version_in(&std::fs::read_to_string(file).ok()?));
    println!("cargo:rustc-env=SPECIMEN_LIBTORCH={}", version.as_deref().unwrap_or("unknown"));
    if let Ok(lib) = dir.join("lib").canonicalize() {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", lib.display());
    }
}

/// The first three numbers with dots between, without a suffix such as `+cpu`.
fn version_in(text: &str) -> Option<String> {
    let mut words = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
    words
        .find(|word| word.split('.').count() == 3 && word.split('.').all(|n| !n.is_empty()))
        .map(str::to_owned)
}
