//! `specimen vendi`: how many different pictures a set holds.

use std::path::PathBuf;

use clap::Args;

use crate::{cmd::metric_args::MetricArgs, talk::Talk};

/// What to measure.
#[derive(Debug, Args)]
pub struct VendiArgs {
    /// A folder, .zip, list (.txt) or .npy of pictures, or features (.npy, .npz)
    pub images: PathBuf,
    /// A built-in protocol or the path of a .toml file
    #[arg(long, value_name = "NAME|FILE", default_value = "pytorch-fid")]
    pub protocol: String,
    #[command(flatten)]
    pub shared: MetricArgs,
}

/// Measures it and prints it.
pub(crate) fn vendi(args: &VendiArgs, talk: &Talk) -> anyhow::Result<()> {
    args.shared.run("vendi", &args.protocol, talk, |meter| {
        Ok(specimen_measure::vendi::vendi(meter, &args.images)?.into())
    })
}
