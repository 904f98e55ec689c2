//! Writes `specs/spec.schema.json` anew: `cargo run --release -p specimen-experiments --example publish_schema`.

use std::{error::Error, fs, path::Path};

use specimen_experiments::schema::{SCHEMA_FILE, spec_schema};

fn main() -> Result<(), Box<dyn Error>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs").join(SCHEMA_FILE);
    fs::write(file, serde_json::to_string_pretty(&spec_schema())? + "\n")?;
    Ok(())
}
