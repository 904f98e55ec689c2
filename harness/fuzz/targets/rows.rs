//! JSON lines of a run: records, traces, times; and its documents.
#![no_main]

use libfuzzer_sys::fuzz_target;
use specimen_fuzz::with_file;
use specimen_record::{
    ItemKey, Manifest, MetricFile, PlanFile, Record, StepsRow, Summary, TimingRow, read_document, read_rows,
};

fuzz_target!(|bytes: &[u8]| {
    with_file("rows.jsonl", bytes, |path| {
        if let Ok(rows) = read_rows::<Record>(path) {
            for record in rows.rows {
                let name = record.key.file_name("png");
                assert!(!name.contains('/') && !name.starts_with('.'), "a key is a plain file name");
            }
        }
        let _ = read_rows::<StepsRow>(path);
        let _ = read_rows::<TimingRow>(path);
        let _ = read_document::<PlanFile>(path);
        let _ = read_document::<Manifest>(path);
        let _ = read_document::<Summary>(path);
        let _ = read_document::<MetricFile>(path);
    });
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(key) = text.parse::<ItemKey>()
    {
        assert_eq!(ItemKey::new(&key.cell(), &key.prompt_id(), key.sample()), key, "one item has one spelling");
    }
});
