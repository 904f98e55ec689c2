//! What every subcommand takes.

use clap::{ArgAction, Args, ValueEnum};

/// What every subcommand takes.
#[derive(Clone, Debug, Args)]
pub struct Shared {
    /// Format of answers and errors; `json` also silences progress messages on stderr
    #[arg(long, global = true, value_enum, default_value_t = Format::Human, help_heading = "Output")]
    pub format: Format,
    /// Print more details
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet", help_heading = "Output")]
    pub verbose: u8,
    /// Print errors only
    #[arg(short, long, global = true, help_heading = "Output")]
    pub quiet: bool,
}

/// Format of answers and errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Human,
    /// For scripts.
    Json,
}
