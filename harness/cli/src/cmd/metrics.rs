//! `specimen metrics`: every metric of a protocol over one pass of the pictures.

use std::path::PathBuf;

use clap::Args;
use specimen_measure::all::{All, all};

use crate::{
    cmd::{
        metric_args::{Answer, MetricArgs},
        setting_args::AllSettingArgs,
    },
    console::Console,
};

/// What to compare.
#[derive(Debug, Args)]
#[command(mut_arg("layer", |layer| layer.help("Another layer of the protocol's network, `192` say, for all metrics but the Inception Score; another recipe")))]
pub struct MetricsArgs {
    /// The reference: a folder, .zip, list (.txt) or .npy of pictures, features (.npy, .npz) or statistics (.npz)
    pub real: PathBuf,
    /// What is measured: as the reference
    pub generated: PathBuf,
    /// A built-in protocol or the path of a .toml file
    #[arg(long, value_name = "NAME|FILE", default_value = "tf1")]
    pub protocol: String,
    #[command(flatten)]
    pub settings: AllSettingArgs,
    #[command(flatten)]
    pub shared: MetricArgs,
}

/// Measures them and prints a list.
pub(crate) fn metrics(args: &MetricsArgs, console: &Console) -> anyhow::Result<()> {
    let settings = args.settings.settings();
    args.shared.run_with("metrics", &args.protocol, &settings, console, |meter| {
        let All { measured, failed } = all(meter, &args.real, &args.generated)?;
        let failed = failed.into_iter().map(|(metric, why)| format!("{metric}: {why}"));
        Ok(Answer::All { measured, failed: failed.collect() })
    })
}
