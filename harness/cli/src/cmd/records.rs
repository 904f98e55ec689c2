//! `specimen records`: the images of any number of runs as one table.

use std::{collections::BTreeSet, path::PathBuf};

use clap::{Args, builder::PossibleValuesParser};
use serde_json::json;
use specimen_record::Part;
use specimen_report::{ImageRecords, Mix};

use super::compare::Layout;
use specimen_measure::words::counted;

use crate::{
    args::Format,
    sealed::{SealArgs, Unverified},
    talk::Talk,
};

/// Which images, and where to.
#[derive(Debug, Args)]
pub struct RecordsArgs {
    /// Folders of merged runs, and .parquet files that this command wrote
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Write one row an image to this file: .parquet or .csv
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Differences between runs that do not keep them out of one table
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = PossibleValuesParser::new(Mix::ALL.map(|(name, _)| name)))]
    pub mix: Vec<String>,
    /// How the means are written
    #[arg(long, value_enum, default_value_t = Layout::Terminal)]
    pub layout: Layout,
    #[command(flatten)]
    pub seal: SealArgs,
}

/// Reads the images, writes them where asked, and prints means by run and cell.
pub(crate) fn records(args: &RecordsArgs, talk: &Talk) -> anyhow::Result<()> {
    let named = |name: &String| Mix::ALL.iter().find(|(known, _)| known == name).map(|(_, kind)| *kind);
    let mix: BTreeSet<Mix> = args.mix.iter().filter_map(named).collect();
    // A .parquet file has no seal.
    let folders = args.runs.iter().filter(|run| !run.is_file());
    let unverified = Unverified::check(folders, Part::Values, &args.seal, talk)?;
    let images = ImageRecords::read(&args.runs, &mix)?;
    if let Some(path) = &args.out {
        images.write(path)?;
        let (n, n_columns) = (counted(images.n(), "image"), counted(images.columns().len(), "column"));
        talk.say(format!("{}: {n}, {n_columns}", path.display()));
    }
    match talk.format() {
        Format::Human => unverified.answer(&args.layout.of(&images.means()?)),
        Format::Json => unverified.answer_json(&json!({
            "schema": 1,
            "images": images.n(),
            "columns": images.columns(),
            "out": args.out,
        })),
    }
}
