//! What can be typed: the subcommands.

use clap::{Parser, Subcommand};

use crate::{cmd, provenance, shared_args::Shared};

/// Speculative decoding of autoregressive image models, measured.
#[derive(Debug, Parser)]
#[command(name = "specimen", version = provenance::VERSION, propagate_version = true, after_help = AFTER_HELP)]
pub struct Cli {
    /// What every subcommand takes.
    #[command(flatten)]
    pub shared: Shared,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const AFTER_HELP: &str = "\
Exit codes: 0 ok, 1 mismatch, gate not passed or budget not met, 2 usage, 3 spec or plan invalid, 4 data or weights missing or damaged, 5 some \
items failed and the rest is valid, 6 environment, 7 another process works on the run, 70 bug, 75 interrupted and \
resumable, 130 aborted by a second interrupt.
Environment: SPECIMEN_DATA is the folder of datasets and published weights; SPECIMEN_CACHE the folder of \
cached features [default: specimen below XDG_CACHE_HOME or ~/.cache]; HF_HOME, HF_HUB_CACHE, \
HF_ENDPOINT and HF_TOKEN have their usual meaning; SPECIMEN_OFFLINE or HF_HUB_OFFLINE forbids \
downloads; SPECIMEN_RUNNER is the label of this machine, for gates on times; NO_COLOR turns colours off.
Results go to stdout, everything else to stderr.";

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the first experiment, on the embedded model
    Quickstart(cmd::quickstart::QuickstartArgs),
    /// Plan, generate, score and report an experiment
    Run(cmd::run::RunArgs),
    /// List, show or copy the specs that are in the program
    #[command(subcommand)]
    Specs(cmd::specs::SpecsCommand),
    /// List what a spec asks for, what it takes and what is missing
    Plan(cmd::plan::PlanArgs),
    /// Rehearse a whole spec with made weights, and list all that would stop it
    Rehearse(cmd::rehearse::RehearseArgs),
    /// Generate one image
    Generate(cmd::generate::GenerateArgs),
    /// Show how much of a run is done, and which process works on it
    Status(cmd::status::StatusArgs),
    /// Merge the shards of a run; checks that every item is there once, with its digest
    Merge(cmd::merge::MergeArgs),
    /// Check every digest of a run, and every image against its record; with --deep all that follows from its rows
    Verify(cmd::verify::VerifyArgs),
    /// Score the images of a run again, or under further protocols
    Score(cmd::score::ScoreArgs),
    /// Import images of another program as a run, with a table of their times
    Import(cmd::import::ImportArgs),
    /// Write tables, figures and the HTML page of a run
    Report(cmd::report::ReportArgs),
    /// Take the scores that another program gave the images of a run into the run: GenEval, DPG-Bench
    ImportScores(cmd::import_scores::ImportScoresArgs),
    /// Print the works that a run or a spec is made of, as BibTeX
    Cite(cmd::cite::CiteArgs),
    /// Draw a grid of images: a row per prompt, a column per method, same seeds
    Grid(cmd::grid::GridArgs),
    /// Write the images of several runs as one table
    Records(cmd::records::RecordsArgs),
    /// Compare two runs, paired prompt by prompt
    Compare(cmd::compare::CompareArgs),
    /// Compare a paper's table with a run of its twin, the same experiment at small scale on the embedded model
    Reproduce(cmd::reproduce::ReproduceArgs),
    /// Compare a run with a baseline, by rules; ends with 1 if it is worse
    Gate(cmd::gate::GateArgs),
    /// Find the best setting of a spec within a budget
    Tune(cmd::tune::TuneArgs),
    /// The metrics.
    #[command(flatten)]
    Metric(cmd::metric::MetricCall),
    /// The metrics of pairs.
    #[command(flatten)]
    PairMetric(cmd::pair_metric::PairCall),
    /// Measure all metrics of a protocol in one pass over the images
    Metrics(cmd::metrics::MetricsArgs),
    /// List the protocols of metrics, or print the recipe of one in words
    Protocols(cmd::protocols::ProtocolsArgs),
    /// Write a file of statistics or features
    Stats(cmd::stats::StatsArgs),
    /// Check this machine; with --lossless, the exact methods against the target's distribution; with --weights, the metrics' networks
    Doctor(cmd::doctor::DoctorArgs),
    /// Time verifications and forwards of drafters on this machine, for `report --costs`
    Costs(cmd::costs::CostsArgs),
    /// Datasets and published weights on disk, and the embedded dataset
    #[command(subcommand)]
    Data(cmd::data::DataCommand),
    /// Train a network of the embedded model
    Train(cmd::train::TrainArgs),
    /// Train a head that drafts for any model, from a specification
    TrainDrafter(cmd::train_drafter::TrainDrafterArgs),
    /// Convert published weights to safetensors, and torch-fidelity's caches to .npz and .npy; runs no code from a file
    Convert(cmd::convert::ConvertArgs),
    /// Print a completion script for a shell
    Completions(cmd::completions::CompletionsArgs),
    /// Write the manual pages
    Man(cmd::man::ManArgs),
    /// Print the JSON Schema of specs or protocols, for editors
    Schema(cmd::schema::SchemaArgs),
    /// Show what the program is made of, and the licences of these packages
    Licences(cmd::licences::LicencesArgs),
    /// Worker processes, started by an executor
    #[command(subcommand, hide = true)]
    Shard(cmd::shard::ShardCommand),
}

impl Command {
    /// Whether this process is a worker of a run, whose log its driver reads.
    pub fn is_worker(&self) -> bool {
        matches!(self, Self::Shard(_))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_arguments_do_not_contradict_one_another() {
        Cli::command().debug_assert();
    }
}
