//! `specimen man`: the manual, one page a subcommand.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, CommandFactory};

use crate::{args::Cli, console::Console};

/// Arguments of `specimen man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Folder of the pages; `man -l DIR/specimen-run.1` shows one
    pub dir: PathBuf,
}

/// Writes the pages.
pub(crate) fn man(args: &ManArgs, console: &Console) -> anyhow::Result<()> {
    let write = |dir: &PathBuf| {
        std::fs::create_dir_all(dir)?;
        clap_mangen::generate_to(Cli::command(), dir)
    };
    write(&args.dir).with_context(|| format!("{}: cannot write the manual", args.dir.display()))?;
    console.say(format!("manual: {}", args.dir.display()));
    Ok(())
}
