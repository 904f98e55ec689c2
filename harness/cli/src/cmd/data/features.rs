//! `specimen data features`: what a target gives on images of its own, written once for the trainings of its heads.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde::Serialize;
use specimen_experiments::estimate::human_bytes;
use specimen_foundation::fail;
use specimen_record::{free_bytes, sweep_unfinished};
use specimen_runner::images::out_of_memory::within_memory;
use specimen_train::{
    feature_export::{Exported, FeatureExport},
    head_spec::HeadSpec,
    head_trainer::HeadTraining,
    target_features::MANIFEST,
};

use crate::{
    cmd::head_training::Opened,
    console::{Console, answer, answer_json},
    free_space,
    shared_args::Format,
};

/// Which features.
#[derive(Debug, Args)]
pub struct FeaturesArgs {
    /// The training specification whose head reads them, a TOML file, such as those of experiments/specs/train
    pub spec: PathBuf,
    /// Folder for the features, and for the images that they begin with [default: `features` of the specification, or else
    /// results/runs/features-<name>]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct FeaturesAnswer {
    schema: u32,
    folder: PathBuf,
    n_images: usize,
    n_files: usize,
    n_bytes: u64,
}

/// Writes the features, or the rest of them.
pub(super) fn features(args: &FeaturesArgs, console: &Console) -> anyhow::Result<()> {
    let spec = HeadSpec::read(&args.spec)?;
    let named = args.out.clone().or_else(|| spec.rest.features.clone());
    let folder = named.unwrap_or_else(|| PathBuf::from(format!("results/runs/features-{}", spec.rest.name)));
    let opened = Opened::of(&spec, console)?;
    let training = opened.training(&spec)?;
    let exported = within_memory(&spec.model, None, || Ok(export(&training, &folder, console)))??;
    let Exported { n_images, n_files, n_bytes } = exported;
    match console.format() {
        Format::Json => answer_json(&FeaturesAnswer { schema: 1, folder, n_images, n_files, n_bytes }),
        Format::Human => answer(&format!(
            "features  {}\n          {n_images} images in {n_files} files, {}\n          a training reads them with the line: features = {:?}\n",
            folder.join(MANIFEST).display(),
            human_bytes(n_bytes),
            folder.display().to_string()
        )),
    }
}

fn export(training: &HeadTraining<'_>, folder: &Path, console: &Console) -> anyhow::Result<Exported> {
    let export = FeatureExport::new(training, folder)?;
    let (all, left) = (export.n_bytes(), export.n_bytes_left());
    console.say(format!(
        "features of {} images of {}: at most {}, {} left to write",
        export.made_from().n_images,
        export.made_from().model,
        human_bytes(all),
        human_bytes(left)
    ));
    if let Some(why) = free_space::refusal(left, free_bytes(folder), folder) {
        fail!(Environment: "{why}");
    }
    std::fs::create_dir_all(folder)
        .with_context(|| format!("{}: cannot make the folder", folder.display()))?;
    sweep_unfinished(folder)?;
    export.write()
}
