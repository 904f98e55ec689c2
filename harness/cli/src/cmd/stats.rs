//! `specimen stats`: files of statistics and features, from pictures, and merged from parts.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use specimen_foundation::{fail, text::counted};
use specimen_measure::{
    statistics::{collect, collect_rows, write, write_rows},
    whole_file::check_place,
};

use crate::{
    cmd::{
        metric_args::{Answer, MetricArgs},
        overwrite::check_absent,
    },
    console::Console,
};

/// What to write.
#[derive(Debug, Args)]
#[command(mut_arg("ci", |ci| ci.hide(true)))]
pub struct StatsArgs {
    /// A folder, .zip, list (.txt) or .npy of pictures, features (.npy, .npz) or statistics with `n` (.npz); several
    /// are merged in this order
    #[arg(required = true)]
    pub sources: Vec<PathBuf>,
    /// The file to write, which pytorch-fid and clean-fid read too
    #[arg(short, long, value_name = "FILE.npz")]
    pub out: PathBuf,
    /// Replace the file if it is there
    #[arg(long)]
    pub force: bool,
    /// What it holds
    #[arg(long, value_enum, default_value_t = Kind::Moments)]
    pub kind: Kind,
    /// A built-in protocol or the path of a .toml file
    #[arg(long, value_name = "NAME|FILE", default_value = "pytorch-fid")]
    pub protocol: String,
    #[command(flatten)]
    pub shared: MetricArgs,
}

/// Contents of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// `mu`, `sigma` and `n`, for `fid`.
    Moments,
    /// `feats`, one row a picture, for every metric.
    Features,
}

/// Writes it.
pub(crate) fn stats(args: &StatsArgs, console: &Console) -> anyhow::Result<()> {
    if args.shared.ci {
        fail!(Usage: "`stats` has no value, so `--ci` has no meaning there");
    }
    check_out(&args.out, args.force)?;
    let sources: Vec<&Path> = args.sources.iter().map(PathBuf::as_path).collect();
    args.shared.run("stats", &args.protocol, console, |meter| {
        let what = match args.kind {
            Kind::Moments => {
                let (gaussian, origin) = collect(meter, &sources)?;
                write(&gaussian, origin.as_ref(), &args.out)?;
                let n = gaussian.n().map_or("an unknown number of rows".to_owned(), |n| counted(n, "row"));
                format!("mean and covariance of {n} of {}", counted(gaussian.mean().len(), "feature"))
            }
            Kind::Features => {
                let rows = collect_rows(meter, &sources)?;
                write_rows(&rows, &args.out)?;
                let [n, d] = [(rows.features.n(), "row"), (rows.features.d(), "feature")]
                    .map(|(count, noun)| counted(count, noun));
                format!("{n} of {d}")
            }
        };
        let what = format!("{what}, {}", meter.protocol().label("stats"));
        Ok(Answer::Written { path: args.out.clone(), what, notes: meter.notes(&sources) })
    })
}

/// Fails where statistics cannot be written to `path`, would not be known again there, or would replace a file without
/// `force`; before anything is computed.
pub(crate) fn check_out(path: &Path, force: bool) -> anyhow::Result<()> {
    if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npz")) {
        let path = path.display();
        let text =
            format!("{path}: statistics and features are known by the ending .npz; give the file that");
        fail!(Usage: "{text}");
    }
    check_absent(path, force)?;
    Ok(check_place(path)?)
}
