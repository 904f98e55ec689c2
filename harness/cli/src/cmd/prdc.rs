//! `specimen prdc`: precision, recall, density and coverage of one set against another.

use std::path::PathBuf;

use clap::Args;
use specimen_measure::protocol::MetricSettings;

use crate::{
    cmd::{
        metric_args::{Answer, MetricArgs},
        setting_args::NeighbourArgs,
    },
    talk::Talk,
};

/// What to compare.
#[derive(Debug, Args)]
#[command(mut_arg("ci", |ci| ci.help("Compute intervals of 95 %: 20 groups of generated rows are left out in turn; shares are cut to 0 and 1")))]
pub struct PrdcArgs {
    /// The reference: a folder, .zip, list (.txt) or .npy of pictures, features (.npy, .npz)
    pub real: PathBuf,
    /// What is measured: as the reference
    pub generated: PathBuf,
    /// A built-in protocol or the path of a .toml file
    #[arg(long, value_name = "NAME|FILE", default_value = "prdc")]
    pub protocol: String,
    #[command(flatten)]
    pub neighbours: NeighbourArgs,
    #[command(flatten)]
    pub shared: MetricArgs,
}

/// Measures them and prints a list.
pub(crate) fn prdc(args: &PrdcArgs, talk: &Talk) -> anyhow::Result<()> {
    let settings = MetricSettings { k: args.neighbours.k, ..MetricSettings::default() };
    args.shared.run_with("prdc", &args.protocol, &settings, talk, |meter| {
        Ok(Answer::Several(specimen_measure::prdc::prdc(meter, &args.real, &args.generated)?))
    })
}
