//! Lists the files of `models/`, so that adding a model is adding its file.

use std::{env, error::Error, fmt::Write, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("models");
    let paths = fs::read_dir(&folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<Result<Vec<_>, _>>()?;
    // By name without the ending: `a` comes before `a-b`.
    paths.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
    let mut list = String::from("[\n");
    for path in paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "toml")) {
        let name = path.file_stem().and_then(|name| name.to_str()).ok_or("a file name that is no text")?;
        writeln!(list, "    ({name:?}, include_str!({path:?})),")?;
    }
    list.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("models.rs"), list)?;
    println!("cargo::rerun-if-changed={}", folder.display());
    Ok(())
}
