//! The built binary from outside: exit codes, messages, files.

#[cfg(feature = "torch")]
mod all_metrics;
#[cfg(feature = "torch")]
mod batches;
#[cfg(feature = "torch")]
mod benchmarks;
#[cfg(feature = "torch")]
mod breakdowns;
#[cfg(feature = "torch")]
mod checking;
mod citing;
#[cfg(feature = "torch")]
mod costs;
#[cfg(feature = "torch")]
mod diagnostics;
#[cfg(feature = "torch")]
mod doctor_weights;
#[cfg(feature = "torch")]
mod exporting;
#[cfg(feature = "torch")]
mod external;
#[cfg(feature = "torch")]
mod falsified;
#[cfg(feature = "torch")]
mod growth;
#[cfg(feature = "torch")]
mod hostile;
#[cfg(feature = "torch")]
mod imagereward;
#[cfg(feature = "torch")]
mod import;
#[cfg(feature = "torch")]
mod instrument;
mod metrics;
#[cfg(feature = "torch")]
mod models;
#[cfg(feature = "torch")]
mod open_shards;
#[cfg(feature = "torch")]
mod other_libtorch;
#[cfg(feature = "torch")]
mod pairs;
#[cfg(feature = "torch")]
mod protocols_of_runs;
mod published_weights;
#[cfg(feature = "torch")]
mod received_runs;
#[cfg(feature = "torch")]
mod recipe_networks;
#[cfg(feature = "torch")]
mod records;
#[cfg(feature = "torch")]
mod rehearsals;
#[cfg(feature = "torch")]
mod report_options;
#[cfg(feature = "torch")]
mod seals;
mod specs;
mod support;
#[cfg(feature = "torch")]
#[path = "../chaos/tmpfs.rs"]
mod tmpfs;
#[cfg(feature = "torch")]
mod training;
#[cfg(feature = "torch")]
mod tuning;
#[cfg(feature = "torch")]
mod verdicts;
#[cfg(feature = "torch")]
mod with_weights;
mod without_weights;
