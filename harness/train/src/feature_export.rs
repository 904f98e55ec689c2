//! The export of a target's features: its images are drawn, it runs once on each, and what a head would read is written in
//! files that are whole or not there. An export that was cut continues behind its last file and ends with the same bytes.

use std::{collections::BTreeMap, path::Path};

use anyhow::Context;
use specimen_foundation::whole_file::write_whole;
use specimen_models::heads::described_head::DescribedHead;
use specimen_weights::{use_threads, write_safetensors};
use tch::{Device, Tensor};

use crate::{
    head_trainer::HeadTraining,
    lesson::ImageFeatures,
    model_images::{ModelImages, TOKEN_BYTES},
    progress::Progress,
    stored_words::tensor_of,
    target_features::{
        FeatureFile, MADE_FROM, MANIFEST, MadeFrom, Manifest, SCHEMA, TOKENS, file_name, manifest_of,
        open_file, tensor_names,
    },
};

/// Bytes of a file of features, about. A file is in memory twice while it is written.
const OF_A_FILE: u64 = 256 << 20;
/// Images of a file, at most, so that little is lost when an export of small ones is cut.
const MOST_IMAGES: u64 = 128;
/// Bytes of a file beside its numbers: header, and what it was made from.
const BESIDE: u64 = 8 << 10;

/// An export that can begin.
pub struct FeatureExport<'a> {
    training: &'a HeadTraining<'a>,
    described: DescribedHead,
    made_from: MadeFrom,
    folder: &'a Path,
    /// Bytes of each image's features.
    n_bytes: Vec<u64>,
}

/// Prompts that are read between two lines about it; a text encoder takes its time.
const PROMPTS_A_LINE: usize = 1000;

/// What an export has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Images.
    pub n_images: usize,
    /// Files of features.
    pub n_files: usize,
    /// Their bytes.
    pub n_bytes: u64,
}

/// Images of a file where one has `n_bytes`.
pub(crate) fn images_a_file(n_bytes: u64) -> usize {
    (OF_A_FILE / n_bytes.max(1)).clamp(1, MOST_IMAGES) as usize
}

impl HeadTraining<'_> {
    /// What features of this training are made from.
    pub(crate) fn made_from(&self, described: &DescribedHead) -> anyhow::Result<MadeFrom> {
        let Self { spec, model, dataset, .. } = self;
        let prefix = self.prefix(self.prompts[0])?;
        let (n_rows, _, d) = prefix.slots.size3().expect("a prefix has three axes");
        let taps = described.taps();
        // Without its prompt, so that prompts of other lengths do not move images from file to file.
        let of_image = n_rows * model.n_tokens as i64 * d * (1 + taps.len() as i64);
        Ok(MadeFrom {
            model: model.name.to_owned(),
            weights: model.weights.iter().map(|file| file.digest.clone()).collect(),
            dtype: spec.model.dtype.name().to_owned(),
            taps,
            pads: format!("{:?}", described.pad_view),
            sampling: spec.sampling,
            prompts: dataset.clone(),
            samples: spec.dataset.samples,
            seed: self.seed_of_images(),
            n_images: self.prompts_of_images().len(),
            n_tokens: model.n_tokens,
            images_a_file: images_a_file(of_image as u64 * self.n_bytes_of_number()),
        })
    }

    fn n_bytes_of_number(&self) -> u64 {
        self.kind.elt_size_in_bytes() as u64
    }
}

/// Bytes of the features of each image, with its tokens.
fn n_bytes_of_images(training: &HeadTraining<'_>, made_from: &MadeFrom) -> anyhow::Result<Vec<u64>> {
    let mut all = Vec::new();
    let mut progress = Progress::new("prompt", training.prompts.len());
    for (at, prompt) in training.prompts.iter().enumerate() {
        let prefix = training.prefix(prompt)?;
        let (n_rows, _, d) = prefix.slots.size3().expect("a prefix has three axes");
        let n_slots = ImageFeatures::n_slots(&prefix, made_from.n_tokens as i64);
        let n_numbers = (n_rows * n_slots * d) as u64 * (1 + made_from.taps.len() as u64);
        let n_bytes = n_numbers * training.n_bytes_of_number() + made_from.n_tokens as u64 * TOKEN_BYTES;
        all.extend(std::iter::repeat_n(n_bytes, made_from.samples as usize));
        if (at + 1) % PROMPTS_A_LINE == 0 {
            progress.reached(at + 1, PROMPTS_A_LINE)?;
        }
    }
    Ok(all)
}

impl<'a> FeatureExport<'a> {
    /// Reads every prompt, so that the size is known. Writes nothing.
    pub fn new(training: &'a HeadTraining<'a>, folder: &'a Path) -> anyhow::Result<Self> {
        use_threads(1);
        let described = training.describe()?;
        let made_from = training.made_from(&described)?;
        if let Some(manifest) = manifest_of(folder)? {
            made_from.check(&folder.join(MANIFEST), &manifest.made_from)?;
        }
        let n_bytes = n_bytes_of_images(training, &made_from)?;
        Ok(Self { training, described, made_from, folder, n_bytes })
    }

    /// What the features are made from.
    pub fn made_from(&self) -> &MadeFrom {
        &self.made_from
    }

    /// Bytes of the whole export, at most.
    pub fn n_bytes(&self) -> u64 {
        self.of_files(|_| true)
    }

    /// Bytes that are not yet written, those of the images it begins with included, at most.
    pub fn n_bytes_left(&self) -> u64 {
        let Self { made_from, .. } = self;
        let features = self.of_files(|path| !path.exists());
        let images = (made_from.n_images * made_from.n_tokens) as u64 * TOKEN_BYTES;
        if features == 0 { 0 } else { features + images }
    }

    /// Bytes of the files that `counts`.
    fn of_files(&self, counts: impl Fn(&Path) -> bool) -> u64 {
        let files = self.n_bytes.chunks(self.made_from.images_a_file).enumerate();
        let files = files.filter(|(at, _)| counts(&self.folder.join(file_name(*at))));
        files.map(|(_, images)| images.iter().sum::<u64>() + BESIDE + 256 * images.len() as u64).sum()
    }

    /// Draws the images and writes what is not there yet, the manifest last.
    pub fn write(&self) -> anyhow::Result<Exported> {
        let Self { training, made_from, folder, .. } = self;
        let listed = manifest_of(folder)?.map_or_else(Vec::new, |manifest| manifest.files);
        let images = training.images(folder)?;
        let n = made_from.n_images;
        let (mut files, mut progress) = (Vec::new(), Progress::new("features of image", n));
        for (at, first) in (0..n).step_by(made_from.images_a_file).enumerate() {
            let (path, end) = (folder.join(file_name(at)), (first + made_from.images_a_file).min(n));
            let is_new = !path.exists();
            if is_new {
                write_safetensors(&path, &self.tensors(&images, first..end)?)
                    .with_context(|| format!("{}: cannot write the features", path.display()))?;
                progress.reached(end, end - first)?;
            }
            // A file that was removed because it was damaged is written again and listed anew.
            let listed = listed.get(at).filter(|_| !is_new);
            let file = open_file(&path, made_from, listed, Device::Cpu)?;
            let n_bytes = std::fs::metadata(&path).with_context(|| path.display().to_string())?.len();
            files.push(FeatureFile { name: file_name(at), n_bytes, blake3: file.digest().to_owned() });
        }
        let exported = Exported {
            n_images: n,
            n_files: files.len(),
            n_bytes: files.iter().map(|file| file.n_bytes).sum(),
        };
        let manifest = Manifest { schema: SCHEMA, made_from: made_from.value(), files };
        let text = serde_json::to_string_pretty(&manifest).context("a manifest is plain data")? + "\n";
        let path = folder.join(MANIFEST);
        write_whole(&path, text.as_bytes()).with_context(|| format!("{}: cannot write", path.display()))?;
        Ok(exported)
    }

    /// What the file of the images `of` has.
    fn tensors(
        &self,
        images: &ModelImages,
        of: std::ops::Range<usize>,
    ) -> anyhow::Result<BTreeMap<String, Tensor>> {
        let Self { training, described, made_from, .. } = self;
        let prompts = training.prompts_of_images();
        let mut tensors = BTreeMap::new();
        let mut tokens = Vec::new();
        for at in of {
            let prefix = training.prefix(prompts[at])?;
            let of_image = images.tokens(at);
            let ImageFeatures { features, read } =
                ImageFeatures::of(&prefix, described, &made_from.taps, &of_image);
            let [name, taps] = tensor_names(at);
            tensors.insert(name, features.to_device(Device::Cpu));
            if !made_from.taps.is_empty() {
                tensors.insert(taps, read.to_device(Device::Cpu));
            }
            tokens.push(of_image);
        }
        tensors.insert(TOKENS.to_owned(), Tensor::stack(&tokens, 0));
        tensors.insert(MADE_FROM.to_owned(), tensor_of(&made_from.value().to_string()));
        Ok(tensors)
    }
}
