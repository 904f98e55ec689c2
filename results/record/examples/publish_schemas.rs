//! Writes `schema/*.schema.json` anew: `cargo run --release -p specimen-record --example publish_schemas`.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema");
    for published in specimen_record::schemas() {
        let text = serde_json::to_string_pretty(&published.schema)? + "\n";
        specimen_record::write_atomic(&folder.join(published.file), text.as_bytes())?;
    }
    Ok(())
}
