//! `specimen is`: the Inception Score of a set.

use std::path::PathBuf;

use clap::Args;
use specimen_measure::protocol::MetricSettings;

use crate::{
    cmd::{metric_args::MetricArgs, setting_args::SeedArgs},
    talk::Talk,
};

/// What to measure.
#[derive(Debug, Args)]
pub struct InceptionScoreArgs {
    /// A folder, .zip, list (.txt) or .npy of pictures, or logits without the last bias (.npy, .npz)
    pub images: PathBuf,
    /// A built-in protocol or the path of a .toml file
    #[arg(long, value_name = "NAME|FILE", default_value = "tf1")]
    pub protocol: String,
    #[command(flatten)]
    pub seed: SeedArgs,
    #[command(flatten)]
    pub shared: MetricArgs,
}

/// Measures it and prints it.
pub(crate) fn inception_score(args: &InceptionScoreArgs, talk: &Talk) -> anyhow::Result<()> {
    let settings = MetricSettings { seed: args.seed.seed, ..MetricSettings::default() };
    args.shared.run_with("is", &args.protocol, &settings, talk, |meter| {
        Ok(specimen_measure::inception_score::inception_score(meter, &args.images)?.into())
    })
}
