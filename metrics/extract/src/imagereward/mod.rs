//! ImageReward (Xu et al., arXiv 2304.05977; the package `image-reward` 1.5): how much people would prefer a picture for its
//! prompt. BLIP's tower of pictures (ViT-L/16 at 224 pixels), BERT-base whose layers look at the picture too, and a head of
//! five linear layers on the first token. The score is scaled to mean 0 and deviation 1 over the images of its authors.
//!
//! All tensors are in one file, under the names of the package. It holds more than the score takes: what the package leaves
//! out when it opens the file is `[convert] drop` of the catalog's entry, and anything else is an error.
//!
//! Takes `[n, 3, 224, 224]` in CLIP's mean and deviation. Prompts are filled up to their full number of tokens, as in the
//! package, so that a score does not depend on the prompts beside it.

mod encoder;
mod shape;
mod vision;
mod wordpiece;

use std::{collections::BTreeMap, path::Path};

use specimen_catalog::{Entry, entry};
use specimen_pixels::network::{Batch, NetworkFault, PromptedNetwork};
use specimen_weights::{Checkpoint, LoadError, ParamSource, write_safetensors};
use tch::{Device, Kind, Tensor};

pub use shape::{ImageRewardShape, N_SIDE};
pub use wordpiece::WordPieces;

use crate::{
    aesthetic::{LINEAR, linear_layers},
    conv::channels_last,
    extractor::ExtractError,
    imagereward::{encoder::Encoder, vision::Vision},
    network::Dtype,
    open::{kind_of, to_tensor, to_vec, words_of},
    recipe_weights::RecipeWeights,
    transformer::Linear,
};

/// Its name in protocols, identities and the catalog.
pub const NAME: &str = "imagereward";
/// The one layer that it has, as protocols write it.
pub const LAYER: &str = "reward";
/// The file of the catalog's entry by which it cuts prompts into tokens.
pub const VOCABULARY: &str = "vocab.txt";
/// Mean and deviation that its authors found over their images.
const MEAN: f64 = 0.167_173_628_300_524_26;
const DEVIATION: f64 = 1.033_339_496_605_407_2;

/// What the catalog has of it.
///
/// # Panics
/// Without an entry of its name, which a test excludes.
pub fn catalog_entry() -> &'static Entry {
    entry(NAME).expect("it is tested to be in the catalog")
}

/// The network.
struct Net {
    vision: Vision,
    encoder: Encoder,
    /// In f32.
    head: Vec<Linear>,
}

impl Net {
    fn new(source: &mut dyn ParamSource, shape: &ImageRewardShape, kind: Kind) -> Result<Self, LoadError> {
        Ok(Self {
            vision: Vision::new(source, shape, kind)?,
            encoder: Encoder::new(source, shape, kind)?,
            head: linear_layers(source, "mlp.layers.", LINEAR, shape.text.width)?,
        })
    }

    /// `x`: `[n, 3, side, side]`, `ids`: `[n, n_tokens]`, `is_text`: the same, false where a prompt is filled up. Returns
    /// `[n]` in f32.
    fn scores(&self, x: &Tensor, ids: &Tensor, is_text: &Tensor) -> Tensor {
        let image = self.vision.tokens(x);
        let first = self.encoder.first_token(ids, is_text, &image).to_kind(Kind::Float);
        let reward = self.head.iter().fold(first, |x, layer| layer.forward(&x)).squeeze_dim(1);
        (reward - MEAN) / DEVIATION
    }
}

/// ImageReward with its weights and its tokenizer.
pub struct ImageReward {
    /// As in identities.
    name: String,
    net: Net,
    words: WordPieces,
    /// Tokens of a prompt, the first and the last included.
    n_tokens: usize,
    dtype: Dtype,
    device: Device,
    /// First 12 digits of the weights' digest.
    digest: String,
}

impl ImageReward {
    /// Opens the safetensors file `weights` with the vocabulary `words`, to compute in `dtype` on `device`; prompts are cut
    /// to `n_tokens`.
    pub fn open_on(
        device: Device,
        dtype: Dtype,
        weights: &Path,
        words: WordPieces,
        n_tokens: usize,
    ) -> Result<Self, ExtractError> {
        let _guard = tch::no_grad_guard();
        let mut checkpoint = Checkpoint::open(weights, Some(Kind::Float), device)?;
        let digest = checkpoint.digest()[..12].to_owned();
        let shape = ImageRewardShape::of(&checkpoint)?;
        shape.check(&words, n_tokens)?;
        let recipe = catalog_entry().convert.as_ref();
        checkpoint.ignore(|name| recipe.is_some_and(|recipe| recipe.drops(name)));
        let net = Net::new(&mut checkpoint, &shape, kind_of(dtype))?;
        checkpoint.finish()?;
        Ok(Self { name: shape.words(), net, words, n_tokens, dtype, device, digest })
    }

    /// A network of `shape` with weights made from the names of its tensors: known scores for a machine without published
    /// weights.
    pub fn open_recipe(
        shape: &ImageRewardShape,
        words: WordPieces,
        n_tokens: usize,
    ) -> Result<Self, ExtractError> {
        let _guard = tch::no_grad_guard();
        shape.check(&words, n_tokens)?;
        let net = Net::new(&mut RecipeWeights::new(), shape, Kind::Float)?;
        let (dtype, device, digest) = (Dtype::F32, Device::Cpu, "recipe".to_owned());
        Ok(Self { name: shape.words(), net, words, n_tokens, dtype, device, digest })
    }
}

impl PromptedNetwork for ImageReward {
    fn identity(&self) -> String {
        let Self { name, dtype, device, digest, words, .. } = self;
        let on = words_of(*device);
        format!("{name}-{LAYER}-{}{on}@{digest} + wordpiece@{}", dtype.name(), words.digest())
    }

    fn counts(&self, prompts: &[String]) -> Vec<(&'static str, usize)> {
        let is_cut = |prompt: &&String| self.words.n_ids(prompt) > self.n_tokens;
        vec![("captions_cut", prompts.iter().filter(is_cut).count())]
    }

    fn scores(&self, batch: &Batch, prompts: &[&str]) -> Result<Vec<f32>, NetworkFault> {
        let _guard = tch::no_grad_guard();
        if prompts.len() != batch.n {
            return Err(Box::new(crate::extractor::batch(
                &self.name,
                "a prompt for each picture",
                format!("{} for {}", prompts.len(), batch.n),
            )));
        }
        let x = to_tensor(batch, &self.name, N_SIDE, self.device)?.to_kind(kind_of(self.dtype));
        let (mut ids, mut is_text) = (Vec::new(), Vec::new());
        for prompt in prompts {
            let own = self.words.ids(prompt, self.n_tokens);
            let n_free = self.n_tokens - own.len();
            is_text.extend((0..self.n_tokens).map(|at| at < own.len()));
            ids.extend(own.into_iter().chain(std::iter::repeat_n(self.words.pad(), n_free)));
        }
        let shape = [batch.n as i64, self.n_tokens as i64];
        let ids = Tensor::from_slice(&ids).view(shape).to_device(self.device);
        let is_text = Tensor::from_slice(&is_text).view(shape).to_device(self.device);
        Ok(to_vec(&self.net.scores(&channels_last(&x), &ids, &is_text)))
    }
}

/// Asks `source` for every tensor of a network of `shape`.
pub fn ask(source: &mut dyn ParamSource, shape: &ImageRewardShape) -> Result<(), LoadError> {
    Net::new(source, shape, Kind::Float).map(|_| ())
}

/// Writes a narrow network with weights by recipe to `path`, and its vocabulary beside it.
pub fn write_narrow(path: &Path) -> std::io::Result<()> {
    let words = WordPieces::of_characters();
    let n_words = words.lines().count() + WordPieces::ADDED.len();
    std::fs::write(path.with_file_name(VOCABULARY), &words)?;
    write_safetensors(
        path,
        &recipe_tensors(&ImageRewardShape::new([64, 1, 128], [64, 1, 128], n_words as i64, 35)),
    )
}

/// The weights of [`ImageReward::open_recipe`] by name.
pub fn recipe_tensors(shape: &ImageRewardShape) -> BTreeMap<String, Tensor> {
    let _guard = tch::no_grad_guard();
    let mut recipe = RecipeWeights::keeping();
    ask(&mut recipe, shape).expect("a recipe has every tensor that is asked for");
    recipe.into_made()
}
