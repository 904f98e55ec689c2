//! Liquid as a target: a caption in, picture codes, a picture out.

use specimen_catalog::hub::Places;
use specimen_weights::LoadError;
use tch::{Device, Kind};

use super::{LiquidConfig, LiquidPrompt, prompt::words_of_codes};
use crate::{
    families::{
        chameleon::{Vqgan, VqganConfig},
        published::Published,
        text_tokenizer::TextTokenizer,
        word_model::WordModel,
    },
    files::{
        placed::Placed,
        published_files::{find_all, of_tensors},
        several_files::SeveralFiles,
    },
    heads::head_sources::OpenedHeads,
    llama::word_llama::WordLlama,
    seam::{
        loaded_model::{LoadedModel, WeightsId},
        model_error::ModelError,
    },
};

/// A published Liquid: the transformer, the text tokenizer and the picture decoder, in this order. Nobody publishes a head.
pub type LiquidWeights = Published<LiquidConfig, VqganConfig>;

/// A Liquid, read or made.
pub struct Liquid {
    /// Its name in specs.
    pub name: &'static str,
    /// Its sizes.
    pub config: LiquidConfig,
    /// The transformer.
    pub network: WordLlama,
    /// Its prompt format.
    pub prompt: LiquidPrompt,
    pub(super) vqgan: Vqgan,
    pub(super) heads: OpenedHeads,
    pub(super) weights: Vec<WeightsId>,
}

impl Liquid {
    /// Reads published weights, found in `places`; the transformer runs in `kind`.
    pub fn open(
        which: &LiquidWeights,
        places: &Places,
        kind: Kind,
        device: Device,
    ) -> Result<Self, ModelError> {
        let _guard = tch::no_grad_guard();
        let [target, words, pictures]: [Vec<_>; 3] = find_all(places, which.name, &which.parts)?
            .try_into()
            .expect("a model of the family has three parts");
        let config = which.config;
        let text = TextTokenizer::open(&words[0])?;
        let codes = words_of_codes(&text, &config)?;
        let (network, mut weights) = SeveralFiles::read(&of_tensors(target), "target", |files| {
            WordLlama::new(&mut Placed::new(files, kind, device), &config.shape(), &codes)
        })?;
        let (vqgan, ids) = SeveralFiles::read(&pictures, "picture decoder", |files| {
            let vqgan = Vqgan::new(&mut Placed::new(files, Kind::Float, device), &which.vq)?;
            files.ignore(Vqgan::is_beside);
            Ok(vqgan)
        })?;
        weights.extend(ids);
        weights.push(text.id("text tokenizer"));
        let describe = config.headed().describe(network.backbone().clone());
        let heads = OpenedHeads::open(&which.heads, places, &describe, (kind, device))?;
        let prompt = LiquidPrompt::new(which.name, &config, text)?;
        Ok(Self { name: which.name, config, network, prompt, vqgan, heads, weights })
    }

    /// The model that the runner takes, its codes decoded on `device`.
    pub fn into_model(self, device: Device) -> Result<LoadedModel, LoadError> {
        let Self { name, config, network, prompt, vqgan, heads, weights } = self;
        let model = WordModel {
            name,
            network,
            form: config.form(),
            headed: config.headed(),
            prompt: Box::new(move |caption, guided| prompt.rows(caption, guided)),
            codebook: vqgan.codebook().shallow_clone(),
            decode: Box::new(move |codes| vqgan.decode(codes)),
            heads,
            weights,
            warnings: Vec::new(),
        };
        model.into_model(device)
    }
}
