//! The built binary from outside: exit codes, messages, files.

mod all_metrics;
mod batches;
mod benchmarks;
mod breakdowns;
mod checking;
mod citing;
mod costs;
mod diagnostics;
mod doctor_weights;
#[cfg(feature = "torch")]
#[cfg(feature = "torch")]
mod external;
mod falsified;
mod growth;
mod hostile;
mod imagereward;
mod import;
mod instrument;
mod metrics;
mod models;
mod open_shards;
mod other_libtorch;
mod pairs;
mod protocols_of_runs;
mod published_weights;
mod received_runs;
mod recipe_networks;
mod records;
mod rehearsals;
mod report_options;
mod seals;
mod specs;
mod support;
#[path = "../chaos/tmpfs.rs"]
mod tmpfs;
mod training;
mod tuning;
mod verdicts;
mod with_weights;
mod without_weights;
