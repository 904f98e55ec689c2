//! Rows on disk: the run directory, the schema of every file in it, and the digests that make a run
//! comparable. Level 0: no tensors, no statistics, no clock.
//!
//! Rows are free of times, host names and paths; timings and environment lie beside them. A file is
//! never readable under its final name before it is whole (`atomic`), a torn last line of a JSON-lines
//! file is dropped and reported (`read`), and no NaN is ever written (`finite`).
//!
//! A worker writes an item's image, its trace and its timing first and its record last: an item with a
//! record has everything else, and resuming asks for records only ([`coverage`]).

mod error;

mod key;
mod seed;
mod timestamp;

mod better;
mod checksums;
mod diagnostic;
mod family;
mod machine;
mod manifest;
mod metric;
mod plan;
mod record;
mod shard;
mod submission;
mod summary;
mod timing;
mod timing_quality;

mod run_dir;

mod append;
mod atomic;
mod canonical;
mod canonical_row;
mod document;
mod finite;
mod read;
mod room;

mod attempts;
mod done;
mod images;
mod merge;
mod seal;
mod tally;
mod verify;
mod verify_run;

mod schema;

pub use append::{Appender, Durability};
pub use atomic::{sweep_unfinished, unfinished_files, write_atomic, write_document};
pub use attempts::{Coverage, Timed, Timings, coverage, read_timings};
pub use better::{Better, TARGET_NLL, distances};
pub use canonical::canonical_json;
pub use checksums::{Checksums, Part};
pub use diagnostic::{DiagnosticFile, DraftPaths, FeatureRows};
pub use document::{Document, SCHEMA};

pub use error::{RecordError, io_words};
pub use family::Family;
pub use finite::{NotFinite, check_finite};
pub use images::restore_images;
pub use key::{ItemKey, decode_part, encode_part};
pub use machine::{Allocation, Environment, MachineRow};
pub use manifest::{
    DatasetDigest, EnvironmentFlag, FileDigest, Git, Hardware, Manifest, Seal, Software, WeightsDigest,
};
pub use merge::{Merged, merge};
pub use metric::MetricFile;
pub use plan::{Block, Item, PlanFile};
pub use read::{Rows, TornTail, file_digest, read_bounded, read_document, read_rows, visit_rows};
pub use record::{Record, Status, StepsRow};
pub use room::{free_bytes, want_of_room};
pub use run_dir::{LAST_NUMBER, RunDir};
pub use schema::{PublishedSchema, schemas};
pub use seal::{has_list, seal_complaints};
pub use seed::Seed;
pub use shard::{Done, Lease};
pub use specimen_foundation::digest::Digest;
pub use submission::{Submissions, SubmittedArray, WorkerEnd};
pub use summary::{
    CellSummary, Guarantee, MetricSummary, Origin, Pooled, PredictedSpeedup, Ratio, Sampling, Summary,
    VsBaseline, WallSeconds,
};
pub use tally::{CellTally, Tally, tally};
pub use timestamp::Timestamp;
pub use timing::{Phases, TimingRow};
pub use timing_quality::{CellTimingQuality, MOST_OUTLIERS, TimingQuality};
pub use verify::{verify_plan, verify_result, verify_shard};
pub use verify_run::{Verified, verify_run};
