//! An item that kills the workers that make it.

use specimen_record::{Appender, Durability, Item, Record, RecordError, RunDir};

use crate::error::RunError;

/// Workers that an item may kill; with the last of them it becomes a failed row.
pub(crate) const DEATHS_OF_A_FAILED_ITEM: u32 = 3;

/// Writes the row of an item that has killed [`DEATHS_OF_A_FAILED_ITEM`] workers, as an attempt of its own.
/// How they died was reported then: the row is the same on every machine.
pub(crate) fn write_failure(run: &RunDir, shard: u32, item: &Item, n_deaths: u32) -> Result<(), RunError> {
    let number = run.attempts(shard)?.last().map_or(0, |last| last + 1);
    let path = run.attempt_records(shard, number);
    let why = format!("the worker died {n_deaths} times while it made this image");
    let write = || -> Result<(), RecordError> {
        let mut records: Appender<Record> = Appender::create(&path, Durability::EachRow)?;
        records.append(&Record::failed(item, &why))?;
        records.finish()
    };
    let written = write();
    if written.is_err() {
        // The next try finds no attempt there. It is certainly ours: it has a new number.
        let _ = std::fs::remove_dir_all(run.attempt(shard, number));
    }
    Ok(written?)
}
