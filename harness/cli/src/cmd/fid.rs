//! `specimen fid`: the Frechet distance of two sets.

use std::path::PathBuf;

use clap::Args;

use crate::{
    cmd::{metric_args::MetricArgs, stats::check_out},
    talk::Talk,
};

/// What to compare.
#[derive(Debug, Args)]
pub struct FidArgs {
    /// The reference: a folder, .zip, list (.txt) or .npy of pictures, features (.npy, .npz) or statistics (.npz)
    pub real: PathBuf,
    /// What is measured: as the reference
    pub generated: PathBuf,
    /// A built-in protocol or the path of a .toml file
    #[arg(long, value_name = "NAME|FILE", default_value = "pytorch-fid")]
    pub protocol: String,
    /// Write the statistics of REAL to this file (.npz: mu, sigma, n), for the next comparison
    #[arg(long, value_name = "FILE")]
    pub save_stats: Option<PathBuf>,
    /// Replace the file of `--save-stats` if it is there
    #[arg(long, requires = "save_stats")]
    pub force: bool,
    #[command(flatten)]
    pub shared: MetricArgs,
}

/// Measures it and prints it.
pub(crate) fn fid(args: &FidArgs, talk: &Talk) -> anyhow::Result<()> {
    if let Some(path) = &args.save_stats {
        check_out(path, args.force)?;
    }
    args.shared.run("fid", &args.protocol, talk, |meter| {
        let save = args.save_stats.as_deref();
        Ok(specimen_measure::fid::fid_saving(meter, &args.real, &args.generated, save)?.into())
    })
}
