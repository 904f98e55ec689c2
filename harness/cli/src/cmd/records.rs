//! `specimen records`: the images of any number of runs as one table.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use clap::{Args, builder::PossibleValuesParser};
use serde_json::json;
use specimen_foundation::{names::nearest, text::counted};
use specimen_record::{Mix, Part};
use specimen_report::{ImageRecords, MIXABLE, ReportError, Source};

use super::compare::Layout;

use crate::{
    console::Console,
    prompt_facts::{FACTS, facts_of},
    seal_check::{SealArgs, Unverified},
    shared_args::Format,
};

/// Which images, and where to.
#[derive(Debug, Args)]
pub struct RecordsArgs {
    /// Folders of merged runs, and .parquet files that this command wrote; NAME=FOLDER gives a run another name in the table
    #[arg(required = true, value_name = "RUN", value_parser = source)]
    pub runs: Vec<Source>,
    /// Write one row an image to this file: .parquet or .csv
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Allow this difference between runs in one table
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = PossibleValuesParser::new(MIXABLE.map(Mix::name)))]
    pub mix: Vec<String>,
    /// Print means for each value of this column too: `category`, `challenge`, `task` (GenEval) or `supercategory` (COCO) of
    /// the prompts (read from the dataset), a swept parameter (over all cells that an axis made of one cell; with `cell`
    /// each stays apart), or any other column of --out whose mean is not printed; may be repeated. Intervals and figures: `specimen report RUN --by`
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub by: Vec<String>,
    /// How the means are written
    #[arg(long, value_enum, default_value_t = Layout::Terminal)]
    pub layout: Layout,
    #[command(flatten)]
    pub seal: SealArgs,
}

/// `FOLDER`, or `NAME=FOLDER` where there is no such folder.
fn source(text: &str) -> Result<Source, String> {
    Ok(match text.split_once('=') {
        Some(("", _)) => return Err("the name before `=` is empty".to_owned()),
        Some((name, path)) if !name.contains(['/', '\\']) && !Path::new(text).exists() => {
            Source { name: Some(name.to_owned()), path: path.into() }
        }
        _ => Source { name: None, path: text.into() },
    })
}

/// Reads the images, writes them where asked, and prints means by run and cell.
pub(crate) fn records(args: &RecordsArgs, console: &Console) -> anyhow::Result<()> {
    let mix: BTreeSet<Mix> = args.mix.iter().filter_map(|name| Mix::named(name)).collect();
    // A .parquet file has no seal.
    let folders = args.runs.iter().map(|run| &run.path).filter(|run| !run.is_file());
    let unverified = Unverified::check(folders, Part::Values, &args.seal, console)?;
    let mut images = ImageRecords::read(&args.runs, &mix)?;
    for name in FACTS.iter().filter(|name| args.by.iter().any(|by| by == *name)) {
        add_prompt_fact(&mut images, &args.runs, name)?;
    }
    let means = match images.means(&args.by) {
        // The facts that a misspelt name may mean are columns too, where the datasets have them.
        Err(ReportError::NoGroups { name, .. }) => {
            for near in nearest(&name, FACTS) {
                // A dataset that is not here has none to offer.
                let _ = add_prompt_fact(&mut images, &args.runs, near);
            }
            images.means(&args.by)?
        }
        means => means?,
    };
    if let Some(path) = &args.out {
        images.write(path)?;
        let (n, n_columns) = (counted(images.n(), "image"), counted(images.columns().len(), "column"));
        console.say(format!("{}: {n}, {n_columns}", path.display()));
    }
    match console.format() {
        Format::Human => unverified.answer(&args.layout.of(&means)),
        Format::Json => unverified.answer_json(&json!({
            "schema": 1,
            "images": images.n(),
            "columns": images.columns(),
            "out": args.out,
        })),
    }
}

/// Adds what the datasets of the runs say of their prompts; a `.parquet` file has its own column. A prompt with several values
/// of a fact is in a group of its own, `animal+person`.
fn add_prompt_fact(images: &mut ImageRecords, runs: &[Source], name: &str) -> anyhow::Result<()> {
    let mut facts: BTreeMap<(String, String), String> = BTreeMap::new();
    for source in runs.iter().filter(|run| !run.path.is_file()) {
        let (own, found) = facts_of(&source.path, &[name])?;
        let run = source.name.clone().unwrap_or(own);
        for (id, groups) in found.into_iter().flat_map(|fact| fact.of_prompt) {
            facts.insert((run.clone(), id), groups.join("+"));
        }
    }
    images.add_prompt_column(name, &|run, id| facts.get(&(run.to_owned(), id.to_owned())).cloned())?;
    Ok(())
}
