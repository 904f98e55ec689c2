//! `specimen cmmd`: the maximum mean discrepancy of the CLIP embeddings of two sets.

use std::path::PathBuf;

use clap::Args;

use crate::{cmd::metric_args::MetricArgs, talk::Talk};

/// What to compare.
#[derive(Debug, Args)]
pub struct CmmdArgs {
    /// The reference: a folder, .zip, list (.txt) or .npy of pictures, features (.npy, .npz)
    pub real: PathBuf,
    /// What is measured: as the reference
    pub generated: PathBuf,
    /// A built-in protocol or the path of a .toml file
    #[arg(long, value_name = "NAME|FILE", default_value = "cmmd")]
    pub protocol: String,
    #[command(flatten)]
    pub shared: MetricArgs,
}

/// Measures it and prints it.
pub(crate) fn cmmd(args: &CmmdArgs, talk: &Talk) -> anyhow::Result<()> {
    args.shared.run("cmmd", &args.protocol, talk, |meter| {
        Ok(specimen_measure::cmmd::cmmd(meter, &args.real, &args.generated)?.into())
    })
}
