//! The table of single pictures, of any metric that has a value of each.

use std::path::PathBuf;

use clap::Args;
use specimen_measure::{per_image::TableFormat, whole_file::check_place};

use crate::cmd::overwrite::check_absent;

/// Where the table goes.
#[derive(Debug, Args)]
pub(crate) struct PerImageArgs {
    /// Write the names and the value of every picture, or of every pair, to this .csv or .parquet file
    #[arg(long, value_name = "FILE")]
    pub(crate) per_image: Option<PathBuf>,
    /// Replace the file of `--per-image` if it is there
    #[arg(long, requires = "per_image")]
    force: bool,
}

impl PerImageArgs {
    /// Fails where the table could not be written; before anything is computed.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        if let Some(path) = &self.per_image {
            TableFormat::of(path)?;
            check_absent(path, self.force)?;
            check_place(path)?;
        }
        Ok(())
    }
}
