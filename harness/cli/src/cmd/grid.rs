//! `specimen grid`: the qualitative figure of a run, made again: rows prompts, columns methods, same seed.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use specimen_foundation::fail;
use specimen_record::RunDir;
use specimen_report::Outcome;

use crate::{
    console::{Console, answer, answer_json},
    seal_check::refuse_rehearsal,
    shared_args::Format,
};

/// Which run, and how many rows.
#[derive(Debug, Args)]
pub struct GridArgs {
    /// Folder of the run
    pub run: PathBuf,
    /// Prompts, the first of the plan
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..))]
    pub rows: u16,
}

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct Answer {
    schema: u32,
    grid: PathBuf,
}

/// Writes `report/grid.png` and prints its path.
pub(crate) fn grid(args: &GridArgs, console: &Console) -> anyhow::Result<()> {
    let run = RunDir::open(&args.run)?;
    refuse_rehearsal(&run)?;
    let paths = match specimen_report::grid(&run, usize::from(args.rows))? {
        Outcome::Written(paths) => paths,
        Outcome::Skipped(why) => fail!(Missing: "no grid: {why}"),
    };
    for grid in paths {
        match console.format() {
            Format::Human => answer(&format!("{}\n", grid.display()))?,
            Format::Json => answer_json(&Answer { schema: 1, grid })?,
        }
    }
    Ok(())
}
