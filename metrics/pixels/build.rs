//! Asks the JPEG decoder's build whether it found an assembler, so that `simd_jpeg` tells the truth.

use std::path::Path;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(jpeg_simd)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=DEP_JPEG_INCLUDE");
    // The decoder's build script writes its configuration header beside those that it installs, and cargo hands
    // their folders to the crates that name the decoder.
    let folders = std::env::var_os("DEP_JPEG_INCLUDE").expect("mozjpeg-sys says where its headers are");
    let header = std::env::split_paths(&folders).map(|folder| folder.join("jconfig.h"));
    let header = header.into_iter().find(|header| header.is_file()).expect("the decoder has a jconfig.h");
    if has_simd(&header) {
        println!("cargo::rustc-cfg=jpeg_simd");
    }
}

fn has_simd(header: &Path) -> bool {
    let text = std::fs::read_to_string(header).expect("jconfig.h can be read");
    text.lines().any(|line| line.trim() == "#define WITH_SIMD 1")
}
