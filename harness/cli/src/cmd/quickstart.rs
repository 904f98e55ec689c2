//! `specimen quickstart`: the first experiment, from the spec in the program; no checkout is needed.

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, Parser};

use crate::{
    args::{Cli, Command},
    cmd::run,
    console::Console,
};

/// Arguments of `specimen quickstart`.
#[derive(Debug, Args)]
pub struct QuickstartArgs {
    /// Folder of the run; what is there already is kept
    #[arg(long, value_name = "DIR", default_value = "results/runs/quickstart")]
    pub out: PathBuf,
    /// Take only the first N prompts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
}

/// Runs it: what `specimen run quickstart --resume` does.
pub(crate) fn quickstart(args: &QuickstartArgs, console: &Console) -> anyhow::Result<()> {
    let mut words: Vec<OsString> =
        ["specimen", "run", "quickstart", "--resume", "--out"].map(Into::into).into();
    words.push(args.out.clone().into());
    if let Some(limit) = args.limit {
        words.extend(["--limit".into(), limit.to_string().into()]);
    }
    match Cli::try_parse_from(words)?.command {
        Command::Run(run_args) => run::run(&run_args, console),
        other => unreachable!("`run` was parsed, and is {other:?}"),
    }
}
