//! Compiles the part that only C++ can say, against the headers of the libtorch that is linked.

use std::path::PathBuf;

#[path = "../weights/rpath.rs"]
mod rpath;

fn main() {
    rpath::main();
    println!("cargo:rerun-if-changed=src/operators.cc");
    let torch = PathBuf::from(std::env::var_os("LIBTORCH").unwrap_or_default());
    cc::Build::new()
        .cpp(true)
        .std("c++20")
        .pic(true)
        .warnings(false)
        .include(torch.join("include"))
        .file("src/operators.cc")
        .compile("specimen_operators");
}
