//! Lists the files of `specs/`, so that adding a spec to the program is adding its file. Those of `specs/train` train a head
//! and are none of its experiments.

use std::{
    env,
    error::Error,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("specs");
    let mut files = Vec::new();
    collect(&folder, &mut files)?;
    let mut named: Vec<(String, PathBuf)> = Vec::new();
    for path in files {
        let below = path.strip_prefix(&folder)?.with_extension("");
        let parts: Option<Vec<&str>> = below.iter().map(|part| part.to_str()).collect();
        named.push((parts.ok_or("a file name that is no text")?.join("/"), path));
    }
    named.sort();
    let mut list = String::from("[\n");
    for (name, path) in named {
        writeln!(list, "    BundledSpec {{ name: {name:?}, text: include_str!({path:?}) }},")?;
    }
    list.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("specs.rs"), list)?;
    println!("cargo::rerun-if-changed={}", folder.display());
    Ok(())
}

/// Appends the TOML files of a folder and of the folders in it.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.ends_with("specs/train") {
            continue;
        }
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "toml") {
            files.push(path);
        }
    }
    Ok(())
}
