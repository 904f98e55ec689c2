//! `specimen completions`: a script that teaches a shell what can be typed.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::{args::Cli, console::answer};

/// Arguments of `specimen completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell that reads the script
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Prints the script.
pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "specimen", &mut script);
    answer(&String::from_utf8_lossy(&script))
}
