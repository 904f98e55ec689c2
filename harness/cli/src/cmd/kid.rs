//! `specimen kid`: the kernel distance of two sets.

use std::path::PathBuf;

use clap::Args;
use specimen_measure::protocol::MetricSettings;

use crate::{
    cmd::{
        metric_args::MetricArgs,
        setting_args::{SeedArgs, SubsetArgs},
    },
    talk::Talk,
};

/// What to compare.
#[derive(Debug, Args)]
#[command(mut_arg("ci", |ci| ci.help("Compute an interval of 95 %, of the estimate over all pairs: 20 groups of generated rows are left out in turn")))]
pub struct KidArgs {
    /// The reference: a folder, .zip, list (.txt) or .npy of pictures, features (.npy, .npz)
    pub real: PathBuf,
    /// What is measured: as the reference
    pub generated: PathBuf,
    /// A built-in protocol or the path of a .toml file
    #[arg(long, value_name = "NAME|FILE", default_value = "pytorch-fid")]
    pub protocol: String,
    #[command(flatten)]
    pub subsets: SubsetArgs,
    #[command(flatten)]
    pub seed: SeedArgs,
    #[command(flatten)]
    pub shared: MetricArgs,
}

/// Measures it and prints it.
pub(crate) fn kid(args: &KidArgs, talk: &Talk) -> anyhow::Result<()> {
    let settings = MetricSettings {
        subset_size: args.subsets.subset_size,
        n_subsets: args.subsets.subsets,
        seed: args.seed.seed,
        ..MetricSettings::default()
    };
    args.shared.run_with("kid", &args.protocol, &settings, talk, |meter| {
        Ok(specimen_measure::kid::kid(meter, &args.real, &args.generated)?.into())
    })
}
