//! LlamaGen as a target: a caption or the number of a class in, a raster of tokens, a picture out.

use specimen_decode::frontier::PictureRows;
use std::{path::PathBuf, rc::Rc};

use specimen_catalog::{Entry, hub::Places};
use specimen_foundation::folders::cache_folder;
use specimen_weights::LoadError;
use tch::{Device, Kind};

use super::{
    Condition, LlamaGenConfig, LlamaGenNames, LlamaGenNetwork, LlamaGenWeights, heads,
    made::made_tokenizer,
    t5::{CaptionError, CaptionFeatures, FeatureStore, T5Config, T5Encoder, cut_of},
};
use crate::{
    families::text_tokenizer::TextTokenizer,
    files::{placed::Placed, published_files::find_all, several_files::SeveralFiles, sidecar::Sidecar},
    heads::{described_head::no_heads, head_sources::OpenedHeads},
    llama::padded::Padded,
    picture::{
        pixels::{Rounding, painter},
        vq16::{Vq16, Vq16Names, is_of_the_encoder},
    },
    seam::{
        backbone::Backbone,
        loaded_model::{LoadedModel, Prefix, PromptCut, WeightsId},
        model_error::ModelError,
        token_tables::{TokenTables, vectors_of},
    },
};

/// A LlamaGen, read or made.
pub struct LlamaGen {
    /// Its name in specs.
    pub name: &'static str,
    /// The transformer and its slots.
    pub network: LlamaGenNetwork,
    pub(super) vq: Vq16,
    /// Absent where the model takes classes.
    pub(super) captions: Option<CaptionFeatures>,
    pub(super) heads: OpenedHeads,
    pub(super) weights: Vec<WeightsId>,
}

impl LlamaGen {
    /// Reads published weights, found in `places`; the transformer runs in `kind`.
    pub fn open(
        which: &LlamaGenWeights,
        places: &Places,
        kind: Kind,
        device: Device,
    ) -> Result<Self, ModelError> {
        let _guard = tch::no_grad_guard();
        let found = find_all(places, which.name, &which.parts)?;
        let norm_eps = Sidecar::beside(&found[0][0])?.number("rms_norm_eps").unwrap_or(which.config.norm_eps);
        let config = LlamaGenConfig { norm_eps, ..which.config };
        let (network, mut weights) = SeveralFiles::read(&found[0], "target", |files| {
            let names = LlamaGenNames::of_file(|name| files.has(name));
            let network = LlamaGenNetwork::new(&mut Placed::new(files, kind, device), &config, names)?;
            files.ignore(LlamaGenNames::is_computed);
            Ok(network)
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
        let describe = heads::describe(config, network.backbone().clone());
        let heads = OpenedHeads::open(&which.heads, places, &describe, (kind, device))?;
        Ok(Self { name: which.name, network, vq, captions, heads, weights })
    }

    /// The model that the runner takes, its codes decoded on `device`.
    pub fn into_model(self, device: Device) -> Result<LoadedModel, LoadError> {
        let Self { name, network, vq, captions, heads, mut weights } = self;
        weights.extend(heads.weights);
        let config = *network.config();
        let cut = captions.as_ref().map(|captions| captions.cut(config.condition.n_slots()));
        let describe_head = match config.condition {
            Condition::Caption { .. } => heads::describe(config, network.backbone().clone()),
            Condition::Class { .. } => no_heads(name),
        };
        Ok(LoadedModel {
            name,
            describe_head,
            n_tokens: config.n_tokens() as usize,
            rows: PictureRows::square(config.n_tokens() as usize),
            forced: Vec::new(),
            heads: heads.heads,
            tables: TokenTables::of_codebook(
                vectors_of(name, vq.codebook())?,
                vectors_of(name, network.backbone().token_table())?,
            ),
            prompt: Box::new(move |prompt, sampling| {
                prefix(name, &network, captions.as_ref(), prompt, sampling.guidance != 1.0)
            }),
            painter: painter([config.grid; 2], Rounding::Nearest, device, move |ids| vq.decode(ids)),
            weights,
            warnings: heads.warnings,
            steps: None,
            cut,
        })
    }
}

/// What `model` leaves out of long captions, without its network; `None` where it takes none.
pub fn cut(model: &'static Entry, is_made: bool, places: &Places) -> Result<Option<PromptCut>, ModelError> {
    let Condition::Caption { n_slots, .. } = LlamaGenConfig::of(model).condition else { return Ok(None) };
    let tokenizer = if is_made {
        made_tokenizer()?
    } else {
        let found = find_all(places, &model.name, &LlamaGenWeights::of(model).parts[3..])?;
        TextTokenizer::open(&found[0][0])?
    };
    Ok(Some(cut_of(Rc::new(tokenizer), n_slots)))
}

/// The class or the caption in `prompt` before an image of `network`; `guided`: with the row of neither.
fn prefix(
    name: &str,
    network: &LlamaGenNetwork,
    captions: Option<&CaptionFeatures>,
    prompt: &str,
    guided: bool,
) -> Result<Prefix, ModelError> {
    let unusable = |reason| crate::seam::model_error::prompt(name, reason);
    let backbone: Rc<dyn Backbone> = network.backbone().clone();
    match (network.config().condition, captions) {
        (Condition::Class { n_classes }, _) => {
            let class = prompt.trim().parse().ok().filter(|class| (0..n_classes).contains(class));
            let class = class.ok_or_else(|| {
                unusable(format!("it takes the number of a class, 0 to {}, found {prompt:?}", n_classes - 1))
            })?;
            Ok(Prefix { backbone, slots: network.class_prefix(class, guided) })
        }
        (Condition::Caption { n_slots, .. }, Some(captions)) => {
            let features = captions.of(prompt, n_slots).map_err(|error| match error {
                CaptionError::Unusable(reason) => unusable(reason),
                CaptionError::NotKept { folder, source } => {
                    ModelError::NotKept { model: name.into(), folder, source }
                }
            })?;
            let slots = network.caption_prefix(&features, guided);
            let (n_rows, n_pads) = (slots.size()[0], slots.size()[1] - features.size()[0]);
            // The slots of a caption that are left empty are pads in every row.
            let padded = |backbone| Rc::new(Padded::new(backbone, vec![n_pads; n_rows as usize])) as _;
            Ok(Prefix { backbone: if n_pads > 0 { padded(backbone) } else { backbone }, slots })
        }
        (Condition::Caption { .. }, None) => {
            unreachable!("a model of captions is loaded with its text encoder")
        }
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
