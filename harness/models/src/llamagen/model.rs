//! LlamaGen as a target: a caption or the number of a class in, a raster of tokens, a picture out.

use std::{
    path::{Path, PathBuf},
    rc::Rc,
};

use specimen_decode::{dist::TokenId, drafter::DraftModel, pipeline::Sampling};
use specimen_foundation::folders::cache_folder;
use specimen_weights::LoadError;
use tch::{Device, Kind, Tensor};

use super::{
    Condition, LlamaGenConfig, LlamaGenNames, LlamaGenNetwork, LlamaGenWeights,
    heads::Heads,
    t5::{CaptionError, CaptionFeatures, FeatureStore, T5Config, T5Encoder},
};
use crate::{
    backbone::Backbone,
    draft_time::DraftTime,
    eagle_draft::EagleDraft,
    generation::ModelGeneration,
    padded::Padded,
    pixels::{Rounding, picture},
    placed::Placed,
    published_files::{find_all, places},
    several_files::SeveralFiles,
    sidecar::Sidecar,
    target::{DrafterKind, ModelError, Picture, TargetModel, WeightsId},
    text_tokenizer::TextTokenizer,
    token_tables::{TokenTables, vectors_of},
    vq16::{Vq16, Vq16Names, is_of_the_encoder},
};

/// The networks of one model.
pub(super) struct Networks {
    pub(super) target: LlamaGenNetwork,
    pub(super) vq: Vq16,
    /// Absent where the model takes classes.
    pub(super) captions: Option<CaptionFeatures>,
    pub(super) heads: Heads,
}

/// A loaded LlamaGen.
pub struct LlamaGenModel {
    name: &'static str,
    networks: Networks,
    tables: TokenTables,
    weights: Vec<WeightsId>,
    device: Device,
}

impl LlamaGenModel {
    /// Loads published weights, found below `data_root` or in the cache of the hub; the transformer runs in `kind`.
    ///
    /// # Errors
    /// Absent or damaged weights.
    pub fn open(
        which: &LlamaGenWeights,
        data_root: Option<&Path>,
        kind: Kind,
        device: Device,
    ) -> Result<Self, ModelError> {
        let places = places(data_root);
        let found = find_all(&places, which.name, &which.parts)?;
        let norm_eps = Sidecar::beside(&found[0][0])?.number("rms_norm_eps").unwrap_or(which.config.norm_eps);
        let config = LlamaGenConfig { norm_eps, ..which.config };
        let (target, mut weights) = SeveralFiles::read(&found[0], "target", |files| {
            let names = LlamaGenNames::of_file(|name| files.has(name));
            let target = LlamaGenNetwork::new(&mut Placed::new(files, kind, device), &config, names)?;
            files.ignore(LlamaGenNames::is_computed);
            Ok(target)
        })?;
        let (vq, ids) = SeveralFiles::read(&found[1], "tokenizer", |files| {
            let mut placed = Placed::new(files, Kind::Float, device);
            let vq = Vq16::new(&mut placed, &which.vq, Vq16Names::Original)?;
            files.ignore(is_of_the_encoder);
            Ok(vq)
        })?;
        weights.extend(ids);
        let captions = match config.condition {
            Condition::Class { .. } => None,
            Condition::Caption { .. } => {
                let (captions, ids) = open_captions(&which.text, [&found[2], &found[3]], device)?;
                weights.extend(ids);
                Some(captions)
            }
        };
        let (heads, ids) = Heads::open(&which.heads, &places, &config, target.backbone(), (kind, device))?;
        weights.extend(ids);
        let networks = Networks { target, vq, captions, heads };
        Ok(Self { weights, ..Self::of_networks(which.name, networks, device)? })
    }

    pub(super) fn of_networks(
        name: &'static str,
        networks: Networks,
        device: Device,
    ) -> Result<Self, LoadError> {
        let tables = TokenTables::of_codebook(
            vectors_of(name, networks.vq.codebook())?,
            vectors_of(name, networks.target.backbone().token_table())?,
        );
        Ok(Self { name, networks, tables, weights: Vec::new(), device })
    }

    /// The transformer and its slots.
    #[must_use]
    pub fn network(&self) -> &LlamaGenNetwork {
        &self.networks.target
    }

    /// An image under way behind features of a caption, `[n, d_caption]`.
    #[must_use]
    pub fn open_features(&self, features: &Tensor, sampling: &Sampling, max_tree: usize) -> ModelGeneration {
        let _guard = tch::no_grad_guard();
        let prefix = self.networks.target.caption_prefix(features, sampling.guidance != 1.0);
        let n_pads = prefix.size()[1] - features.size()[0];
        self.open_prefix(prefix, n_pads, sampling, max_tree)
    }

    /// `prefix`: `[b, n_slots, d]`, of which the first `n_pads` slots are pads in every row.
    fn open_prefix(
        &self,
        prefix: Tensor,
        n_pads: i64,
        sampling: &Sampling,
        max_tree: usize,
    ) -> ModelGeneration {
        let mut backbone: Rc<dyn Backbone> = self.networks.target.backbone().clone();
        if n_pads > 0 {
            let n_rows = prefix.size()[0];
            backbone = Rc::new(Padded::new(backbone, vec![n_pads; n_rows as usize]));
        }
        ModelGeneration::new(backbone, *sampling, prefix, self.n_tokens(), max_tree)
    }

    fn unusable(&self, reason: String) -> ModelError {
        ModelError::Prompt { model: self.name.into(), reason }
    }
}

/// The text encoder with its tokenizer, and what it was loaded from. On a CPU it runs in f32, else in bf16.
fn open_captions(
    config: &T5Config,
    [encoder, tokenizer]: [&[PathBuf]; 2],
    device: Device,
) -> Result<(CaptionFeatures, Vec<WeightsId>), LoadError> {
    let kind = if device == Device::Cpu { Kind::Float } else { Kind::BFloat16 };
    let (network, mut ids) = SeveralFiles::read(encoder, "text encoder", |files| {
        let network = T5Encoder::new(&mut Placed::new(files, kind, device), config)?;
        files.ignore(T5Encoder::is_not_of_the_encoder);
        Ok(network)
    })?;
    let text = TextTokenizer::open(&tokenizer[0])?;
    ids.push(text.id("text tokenizer"));
    let digests: Vec<String> = ids.iter().map(|id| id.digest.clone()).collect();
    let store = cache_folder().map(|cache| FeatureStore::new(&cache, &digests, config, kind));
    Ok((CaptionFeatures::new(text, network, store), ids))
}

impl TargetModel for LlamaGenModel {
    fn name(&self) -> &str {
        self.name
    }

    fn weights(&self) -> Vec<WeightsId> {
        self.weights.clone()
    }

    fn n_tokens(&self) -> usize {
        self.networks.target.config().n_tokens() as usize
    }

    fn open(
        &self,
        prompt: &str,
        sampling: &Sampling,
        max_tree: usize,
    ) -> Result<ModelGeneration, ModelError> {
        let _guard = tch::no_grad_guard();
        match (self.networks.target.config().condition, &self.networks.captions) {
            (Condition::Class { n_classes }, _) => {
                let class = prompt.trim().parse().ok().filter(|class| (0..n_classes).contains(class));
                let class = class.ok_or_else(|| {
                    let reason =
                        format!("it takes the number of a class, 0 to {}, found {prompt:?}", n_classes - 1);
                    self.unusable(reason)
                })?;
                let prefix = self.networks.target.class_prefix(class, sampling.guidance != 1.0);
                Ok(self.open_prefix(prefix, 0, sampling, max_tree))
            }
            (Condition::Caption { n_slots, .. }, Some(captions)) => {
                let features = captions.of(prompt, n_slots).map_err(|error| match error {
                    CaptionError::Unusable(reason) => self.unusable(reason),
                    CaptionError::NotKept { folder, source } => {
                        ModelError::NotKept { model: self.name.into(), folder, source }
                    }
                })?;
                Ok(self.open_features(&features, sampling, max_tree))
            }
            (Condition::Caption { .. }, None) => {
                unreachable!("a model of captions is loaded with its text encoder")
            }
        }
    }

    fn drafter(
        &self,
        kind: &DrafterKind,
        generation: &ModelGeneration,
        max_run: usize,
    ) -> Result<(Box<dyn DraftModel>, DraftTime), ModelError> {
        let head = self.networks.heads.get(self.name, kind)?;
        let _guard = tch::no_grad_guard();
        generation.backbone().set_pad_view(head.pad_view());
        let time = DraftTime::new(generation.device());
        // LANTERN feeds its heads token 0 in every slot of the prefix.
        let d_model = self.networks.target.config().d_model;
        let zeroth = head.token_table().get(0).view([1, 1, d_model]);
        let following = zeroth.expand([generation.n_rows(), generation.n_prefix() - 1, d_model], false);
        let draft = EagleDraft::with_prefix(head, generation, max_run, time.clone(), following);
        Ok((Box::new(draft), time))
    }

    fn tables(&self) -> &TokenTables {
        &self.tables
    }

    fn picture(&self, tokens: &[TokenId]) -> Picture {
        let _guard = tch::no_grad_guard();
        let ids: Vec<i64> = tokens.iter().map(|token| i64::from(token.0)).collect();
        let grid = self.networks.target.config().grid;
        let ids = Tensor::from_slice(&ids).view([1, grid, grid]).to_device(self.device);
        picture(&self.networks.vq.decode(&ids).get(0), Rounding::Nearest)
    }
}
