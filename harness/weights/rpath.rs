//! Build script of every crate that links libtorch: its binaries and tests find the library without
//! environment variables. Its CUDA part is not linked: `specimen_weights::cuda` opens it.
#![expect(clippy::print_stdout, reason = "cargo reads what a build script prints")]

fn main() {
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    let dir = std::env::var("LIBTORCH").unwrap_or_default();
    let lib = std::path::Path::new(&dir).join("lib");
    println!("cargo:rerun-if-changed={}", std::path::Path::new(&dir).join("build-version").display());
    if let Ok(lib) = lib.canonicalize() {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", lib.display());
    }
}
