//! `specimen clip-score`: how well pictures show their captions, on every published scale.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use specimen_measure::{
    captions::{Captions, Choice},
    clip_score::{clip_score as score, clip_score_of_rows},
    per_image::{TableFormat, write_per_image},
    whole_file::check_place,
};

use crate::{
    cmd::{metric_args::MetricArgs, overwrite::check_absent},
    exit::CliError,
    talk::Talk,
};

/// What to score.
#[derive(Debug, Args)]
#[command(mut_arg("ci", |ci| ci.help("Compute an interval of 95 %: a BCa bootstrap over the pictures")))]
pub struct ClipScoreArgs {
    /// A folder, .zip, list (.txt) or .npy of pictures; or embeddings (.npy), then CAPTIONS are embeddings too
    pub images: PathBuf,
    /// Captions with ids: COCO .json, .json by id, .jsonl, .csv or .tsv, also .gz; or embeddings (.npy), row by row
    pub captions: PathBuf,
    /// A built-in protocol or the path of a .toml file
    #[arg(long, value_name = "NAME|FILE", default_value = "clipscore")]
    pub protocol: String,
    /// Which caption counts where a picture has several; without it that is an error
    #[arg(long, value_enum)]
    pub caption: Option<CaptionChoice>,
    /// Write id, file, cosine and caption of every picture to this .csv or .parquet file
    #[arg(long, value_name = "FILE")]
    pub per_image: Option<PathBuf>,
    /// Replace the file of `--per-image` if it is there
    #[arg(long, requires = "per_image")]
    pub force: bool,
    #[command(flatten)]
    pub shared: MetricArgs,
}

/// A caption of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CaptionChoice {
    /// The first in the file.
    First,
    /// The longest (LANTERN).
    Longest,
    /// As SJD's evaluation takes it, with its bug.
    Sjd,
}

/// Scores and prints it.
pub(crate) fn clip_score(args: &ClipScoreArgs, talk: &Talk) -> anyhow::Result<()> {
    let choice = match args.caption {
        None => Choice::Only,
        Some(CaptionChoice::First) => Choice::First,
        Some(CaptionChoice::Longest) => Choice::Longest,
        Some(CaptionChoice::Sjd) => Choice::Sjd,
    };
    let are_embeddings = args.captions.extension().is_some_and(|extension| extension == "npy");
    if are_embeddings && (args.caption.is_some() || args.per_image.is_some()) {
        let option = if args.caption.is_some() { "--caption" } else { "--per-image" };
        let path = args.captions.display();
        let why =
            format!("{path} holds embeddings without ids and captions, so `{option}` has no meaning there");
        return Err(CliError::Usage(why).into());
    }
    if let Some(path) = &args.per_image {
        TableFormat::of(path)?;
        check_absent(path, args.force)?;
        check_place(path)?;
    }
    args.shared.run("clip-score", &args.protocol, talk, |meter| {
        if are_embeddings {
            return Ok(clip_score_of_rows(meter, &args.images, &args.captions)?.into());
        }
        let captions = Captions::read(&args.captions, choice)?;
        let (measured, pictures) = score(meter, &args.images, &captions)?;
        if let Some(path) = &args.per_image {
            write_per_image(path, &pictures)?;
        }
        Ok(measured.into())
    })
}
