//! Rows on disk: the run directory, the schema of every file in it, and the digests that make a run
//! comparable; and the [`summary`] of a run, which is made of them. No tensors, no clock, and statistics in [`summary`] only.
//!
//! Rows are free of times, host names and paths; timings and environment are in files next to them. A file is
//! never readable under its final name before it is whole (`atomic`), a torn last line of a JSON-lines
//! file is dropped and reported (`read`), and no NaN is ever written (`finite`).
//!
//! A worker writes an item's image, its trace and its timing first and its record last: an item with a
//! record has everything else, and resuming asks for records only ([`coverage`]).

mod checks;
mod error;
mod files;
mod merging;
mod rows;
mod run;
mod summaries;
pub mod summary;

pub use checks::checksums::{Checksums, Part};
pub use checks::pixels::check_pixels;
pub use checks::seal::{has_list, seal_complaints};
pub use checks::verify::{verify_plan, verify_shard};
pub use checks::verify_run::{Verified, verify_run};
pub use error::{FROM_A_COPY, OF_AN_IMPORT, RecordError, io_words, mend_of};
pub use files::append::{Appender, Durability};
pub use files::atomic::{sweep_unfinished, unfinished_files, write_atomic, write_document};
pub use files::canonical::canonical_json;
pub use files::disk_space::{disk_full, free_bytes};
pub use files::document::{Document, SCHEMA};
pub use files::finite::{NotFinite, check_finite};
pub use files::read::{
    Rows, TornTail, file_digest, read_bounded, read_document, read_given, read_rows, visit_rows,
};
pub use files::regular::{open_in_place, open_to_read};
pub use files::schema::{PublishedSchema, schemas};
pub use merging::attempts::{Coverage, Timed, Timings, coverage, read_timings};
pub use merging::merge::{Merged, merge};
pub use merging::progress::{CellProgress, RunProgress, run_progress};
pub use rows::diagnostic::{
    Confidence, DiagnosticFile, DraftPaths, FeaturePairs, FeatureRows, GuessTally, RisenTokens,
};
pub use rows::key::{ItemKey, decode_part, encode_part};
pub use rows::machine::{Allocation, Environment, MachineRow, ModelSteps, OtherStep, PlainStep, StepKind};
pub use rows::metric::{ImportedScores, MetricFile};
pub use rows::record::{KnownCounts, Record, Status, StepsRow};
pub use rows::seed::Seed;
pub use rows::timing::{Batch, Phases, TimingRow};
pub use rows::unknown::{UNKNOWN_DATASET, UNKNOWN_DEVICE};
pub use run::images::restore_images;
pub use run::json_differences::{Difference, compare as compare_json, described};
pub use run::manifest::{
    DatasetDigest, EnvironmentFlag, FileDigest, Git, Hardware, Manifest, Seal, Software, WeightsDigest,
};
pub use run::plan::{Block, Item, PlanFile};
pub use run::run_dir::{LAST_NUMBER, RunDir};
pub use run::shard::{Done, Lease};
pub use run::submission::{Submissions, SubmittedArray, WorkerEnd};
pub use run::timestamp::Timestamp;
pub use specimen_foundation::digest::Digest;
pub use summaries::better::{Better, TARGET_NLL, distances};
pub use summaries::family::Family;
pub use summaries::mix::Mix;
pub use summaries::summary::{
    CellSummary, Guarantee, MetricSummary, Observations, ObservedUnit, Origin, Reading, SUMMARY_SCHEMA,
    Sampling, Summary, VsBaseline,
};
pub use summaries::timing_quality::{CellTimingQuality, MOST_OUTLIERS, TimingQuality, TimingQuantity};
