//! Lists the files of `models/`, `metrics/`, `citations/`, `metrics/protocols` and its folder `pairs`, so that adding one is
//! adding its file.

use std::{env, error::Error, fmt::Write, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    list("models", "toml", "models")?;
    list("metrics", "toml", "metrics")?;
    list("citations", "bib", "citations")?;
    list("../../metrics/protocols", "toml", "protocols")?;
    list("../../metrics/protocols/pairs", "toml", "pair_protocols")
}

/// Writes `NAME.rs`: name and text of every file of `folder` whose name has this ending.
fn list(folder: &str, ending: &str, name: &str) -> Result<(), Box<dyn Error>> {
    let files = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join(folder);
    let paths = fs::read_dir(&files)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<Result<Vec<_>, _>>()?;
    // By name without the ending: `a` comes before `a-b`.
    paths.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
    let mut list = String::from("[\n");
    for path in paths.iter().filter(|path| path.extension().is_some_and(|found| found == ending)) {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).ok_or("a file name that is no text")?;
        writeln!(list, "    ({stem:?}, include_str!({path:?})),")?;
    }
    list.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join(name).with_extension("rs"), list)?;
    println!("cargo::rerun-if-changed={}", files.display());
    Ok(())
}
