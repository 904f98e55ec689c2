//! Images of a target's own, of any model, on which a head is trained: drawn by plain decoding for the prompts of a dataset,
//! in files of some each, so that little is lost when the drawing is cut.

use std::{collections::BTreeMap, path::Path};

use anyhow::Context;
use specimen_decode::{
    clock::MonotonicClock, decoder::decode, method::MethodConfig, pipeline::Sampling, rng::Uniforms,
};
use specimen_models::seam::loaded_model::LoadedModel;
use specimen_weights::{Checkpoint, write_safetensors};
use tch::{Device, Kind, Tensor};

use crate::{
    corpus::StepDraws,
    progress::Progress,
    stored_words::{check_words, tensor_of},
};

/// Images of a file.
const OF_A_FILE: usize = 128;

/// Bytes of a token of an image on disk.
pub(crate) const TOKEN_BYTES: u64 = 8;

/// Name of the tensor that says in UTF-8 what the images were drawn from.
const ORIGIN: &str = "drawn_from";

/// What images are drawn from.
pub struct DrawnBy<'a> {
    /// The target.
    pub model: &'a LoadedModel,
    /// How tokens are drawn.
    pub sampling: Sampling,
    /// One prompt an image.
    pub prompts: &'a [&'a str],
    /// Seed of all images.
    pub seed: u64,
    /// What decides the tokens beside the place of an image, in words.
    pub origin: String,
}

/// Tokens of images, one row each.
pub struct ModelImages(Vec<Tensor>);

impl ModelImages {
    /// Tokens of the image `at`, `[n_tokens]`, i64.
    ///
    /// # Panics
    /// If there is none.
    pub fn tokens(&self, at: usize) -> Tensor {
        self.0[at / OF_A_FILE].get((at % OF_A_FILE) as i64).to_kind(Kind::Int64)
    }
}

impl DrawnBy<'_> {
    /// The images: read from `folder` as far as they are there, drawn and added where not.
    pub fn images(&self, folder: &Path) -> anyhow::Result<ModelImages> {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("{}: cannot make the folder", folder.display()))?;
        let n = self.prompts.len();
        let (mut files, mut progress) = (Vec::new(), Progress::new("image", n));
        for first in (0..n).step_by(OF_A_FILE) {
            let path = folder.join(format!("images-{:05}.safetensors", first / OF_A_FILE));
            let end = (first + OF_A_FILE).min(n);
            if path.exists() {
                files.push(self.read(&path, end - first)?);
                continue;
            }
            let rows = (first..end).map(|at| self.draw(at)).collect::<anyhow::Result<Vec<_>>>()?;
            let tokens = Tensor::stack(&rows, 0);
            let of_file = BTreeMap::from([
                ("tokens".to_owned(), tokens.shallow_clone()),
                (ORIGIN.to_owned(), tensor_of(&self.origin)),
            ]);
            write_safetensors(&path, &of_file)
                .with_context(|| format!("{}: cannot write the images", path.display()))?;
            files.push(tokens.to_kind(Kind::Int));
            progress.reached(end, end - first)?;
        }
        Ok(ModelImages(files))
    }

    fn draw(&self, at: usize) -> anyhow::Result<Tensor> {
        let mut generation = self.model.open(self.prompts[at], &self.sampling, 1)?;
        let mut plain = MethodConfig::ar().build(None).expect("plain decoding needs nothing");
        let uniforms = Uniforms::new(self.seed_of(at));
        let decoded = decode(&mut plain, &mut generation, &uniforms, &MonotonicClock::new());
        Ok(Tensor::from_slice(&decoded.tokens.iter().map(|token| i64::from(token.0)).collect::<Vec<_>>()))
    }

    /// Seed of the image `at`.
    pub fn seed_of(&self, at: usize) -> u64 {
        StepDraws::new(self.seed, at as u64).bits()
    }

    fn read(&self, path: &Path, n: usize) -> anyhow::Result<Tensor> {
        let mut file = Checkpoint::open(path, None, Device::Cpu)?;
        check_words(&mut file, ORIGIN, &self.origin)?;
        let tokens = file.take("tokens", &[n as i64, self.model.n_tokens as i64])?;
        file.finish()?;
        Ok(tokens.to_kind(Kind::Int))
    }
}
