//! What can be typed: the subcommands and what all of them share.

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use crate::cmd;

/// Speculative decoding of autoregressive image models, measured.
#[derive(Debug, Parser)]
#[command(name = "specimen", version = specimen_provenance::VERSION, propagate_version = true, after_help = AFTER_HELP)]
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
items failed and the rest is valid, 6 environment, 7 locked by a live run, 70 internal, 75 interrupted and \
resumable, 130 aborted by a second interrupt.
Environment: SPECIMEN_DATA is the folder that datasets and published weights lie in; SPECIMEN_CACHE the one that \
features of pictures are kept in [default: specimen below XDG_CACHE_HOME or ~/.cache]; HF_HOME, HF_HUB_CACHE, \
HF_ENDPOINT and HF_TOKEN as the Hugging Face hub's own tools read them; SPECIMEN_OFFLINE or HF_HUB_OFFLINE forbids to \
fetch; SPECIMEN_RUNNER is the label of this machine, for gates on times; NO_COLOR turns colours off.
Results go to stdout, everything else to stderr.";

/// What every subcommand takes.
#[derive(Clone, Debug, Args)]
pub struct Shared {
    /// How answers and errors are written; `json` also silences the talk on stderr
    #[arg(long, global = true, value_enum, default_value_t = Format::Human, help_heading = "Output")]
    pub format: Format,
    /// Say more
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet", help_heading = "Output")]
    pub verbose: u8,
    /// Say nothing but errors
    #[arg(short, long, global = true, help_heading = "Output")]
    pub quiet: bool,
}

/// How answers and errors are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Human,
    /// For scripts.
    Json,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the first experiment, on the embedded model
    #[cfg(feature = "torch")]
    Quickstart(cmd::quickstart::QuickstartArgs),
    /// Plan, generate, score and report an experiment
    #[cfg(feature = "torch")]
    Run(cmd::run::RunArgs),
    /// List, show or copy the specs that are in the program
    #[command(subcommand)]
    Specs(cmd::specs::SpecsCommand),
    /// List what a spec asks for, what it takes and what is missing
    Plan(cmd::plan::PlanArgs),
    /// Generate one image
    #[cfg(feature = "torch")]
    Generate(cmd::generate::GenerateArgs),
    /// Tell where a run stands and who works on it
    #[cfg(feature = "torch")]
    Status(cmd::status::StatusArgs),
    /// Put the shards of a run together: coverage, duplicates and digests are checked
    #[cfg(feature = "torch")]
    Merge(cmd::merge::MergeArgs),
    /// Check every digest of a run, and every image against its record
    Verify(cmd::verify::VerifyArgs),
    /// Make records of a run again and compare tokens and pixels
    #[cfg(feature = "torch")]
    Replay(cmd::replay::ReplayArgs),
    /// Score the images of a run again, or under further protocols
    #[cfg(feature = "torch")]
    Score(cmd::score::ScoreArgs),
    /// Take in images that were made elsewhere, with a table of how long each took
    #[cfg(feature = "torch")]
    Import(cmd::import::ImportArgs),
    /// Write tables, figures and the page of a run again
    Report(cmd::report::ReportArgs),
    /// Write the picture of a run: rows prompts, columns methods, same seed
    Grid(cmd::grid::GridArgs),
    /// Put the images of any number of runs into one table
    Records(cmd::records::RecordsArgs),
    /// Compare two runs, paired prompt by prompt
    Compare(cmd::compare::CompareArgs),
    /// Set a paper's table beside a run of its twin: printed values, ours, and a verdict on every claim
    Reproduce(cmd::reproduce::ReproduceArgs),
    /// Hold a run against a baseline, by rules; ends with 1 where it is not as good
    Gate(cmd::gate::GateArgs),
    /// Find the best setting of a spec inside a budget, by halving over prompts
    #[cfg(feature = "torch")]
    Tune(cmd::tune::TuneArgs),
    /// Measure the Frechet distance of two sets of pictures, features or statistics
    Fid(cmd::fid::FidArgs),
    /// Measure the kernel distance of two sets
    Kid(cmd::kid::KidArgs),
    /// Measure precision, recall, density and coverage of a set against another
    Prdc(cmd::prdc::PrdcArgs),
    /// Measure the maximum mean discrepancy of the CLIP embeddings of two sets
    Cmmd(cmd::cmmd::CmmdArgs),
    /// Measure how many different pictures a set holds
    Vendi(cmd::vendi::VendiArgs),
    /// Measure the Inception Score of a set
    Is(cmd::inception_score::InceptionScoreArgs),
    /// Measure how well pictures show their captions
    ClipScore(cmd::clip_score::ClipScoreArgs),
    /// Measure everything that a protocol defines over one pass of the pictures
    Metrics(cmd::metrics::MetricsArgs),
    /// Write a file of statistics or features
    Stats(cmd::stats::StatsArgs),
    /// Check that this machine computes as it should, or that every method keeps the law it claims to keep
    #[cfg(feature = "torch")]
    Doctor(cmd::doctor::DoctorArgs),
    /// Datasets and published weights on disk, and the embedded dataset
    #[command(subcommand)]
    Data(cmd::data::DataCommand),
    /// Train a network of the embedded model
    #[cfg(feature = "torch")]
    Train(cmd::train::TrainArgs),
    /// Convert published weights to safetensors, and torch-fidelity's caches to .npz and .npy; nothing in a file is ever run
    Convert(cmd::convert::ConvertArgs),
    /// Print a completion script
    Completions(cmd::completions::CompletionsArgs),
    /// Write the manual pages
    Man(cmd::man::ManArgs),
    /// What an executor starts
    #[cfg(feature = "torch")]
    #[command(subcommand, hide = true)]
    Shard(cmd::shard::ShardCommand),
}

impl Command {
    /// Whether this process is a worker of a run, whose log its driver reads.
    #[must_use]
    pub fn is_worker(&self) -> bool {
        match self {
            #[cfg(feature = "torch")]
            Self::Shard(_) => true,
            _ => false,
        }
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
