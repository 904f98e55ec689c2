//! Janus-Pro as a target: a caption in, 576 tokens, a picture of 384 by 384 pixels out.

use specimen_decode::frontier::PictureRows;
use std::{path::PathBuf, rc::Rc};

use specimen_hub::Places;
use specimen_weights::{LoadError, Scoped};
use tch::{Device, Kind};

use super::{JanusConfig, JanusNames, JanusNetwork, JanusWeights, training};
use crate::{
    families::text_tokenizer::TextTokenizer,
    files::{
        placed::Placed,
        published_files::{AbsentHead, find_all},
        several_files::SeveralFiles,
        sidecar::Sidecar,
    },
    heads::{
        draft_head::DraftHead,
        drafters::{DrafterKind, Heads, StartDraft},
        eagle::{EagleConfig, EagleHead, EaglePrefix},
        eagle_draft::EagleDraft,
    },
    picture::{
        pixels::{Rounding, painter},
        vq16::Vq16,
    },
    seam::{
        loaded_model::{LoadedModel, Prefix, WeightsId},
        model_error::ModelError,
        token_tables::{TokenTables, vectors_of},
    },
};

/// The first word of every prompt.
const BEGINNING: &str = "<｜begin▁of▁sentence｜>";
/// The last one: an image follows.
const IMAGE: &str = "<begin_of_image>";

/// A Janus-Pro, read or made.
pub struct Janus {
    /// Its prompt format, with the transformer.
    pub prompt: JanusPrompt,
    pub(super) vq: Vq16,
    /// The head that drafts for it, or where it was looked for.
    pub(super) head: Result<EagleHead, AbsentHead>,
    pub(super) weights: Vec<WeightsId>,
}

impl Janus {
    /// Reads published weights, found in `places`; the transformer runs in `kind`.
    ///
    /// # Errors
    /// Absent or damaged weights.
    pub fn open(
        which: &JanusWeights,
        places: &Places,
        kind: Kind,
        device: Device,
    ) -> Result<Self, ModelError> {
        let _guard = tch::no_grad_guard();
        let found = find_all(places, which.name, &which.parts)?;
        let text = TextTokenizer::open(&found[1][0])?;
        let ((network, vq), mut weights) = SeveralFiles::read(&found[0], "target", |files| {
            let names = JanusNames::of_file(|name| files.has(name));
            let network = JanusNetwork::new(&mut Placed::new(files, kind, device), &which.config, names)?;
            let mut placed = Placed::new(files, Kind::Float, device);
            let mut scoped = Scoped::new(&mut placed, names.tokenizer());
            let vq = Vq16::new(&mut scoped, &which.vq, names.vq16())?;
            files.ignore(|name| names.is_not_for_painting(name));
            Ok((network, vq))
        })?;
        weights.push(text.id("text tokenizer"));
        let head = match places.part(which.head) {
            None => Err(AbsentHead { entry: which.head_entry, part: which.head, places: places.clone() }),
            Some(paths) => {
                let (head, ids) = open_head(&paths, &which.config, kind, device)?;
                weights.extend(ids);
                Ok(head)
            }
        };
        Ok(Self { prompt: JanusPrompt::new(which.name, network, text)?, vq, head, weights })
    }

    /// The model that the runner takes, its codes decoded on `device`.
    ///
    /// # Errors
    /// A codebook or an embedding with an entry that is not finite.
    pub fn into_model(self, device: Device) -> Result<LoadedModel, LoadError> {
        let Self { prompt, vq, head, weights } = self;
        let (name, config) = (prompt.name, *prompt.network.config());
        let mut heads = Heads::default();
        heads.add(DrafterKind::Eagle1(None), head.map(start_draft));
        Ok(LoadedModel {
            name,
            trainable: training::describe(name, config),
            n_tokens: config.n_tokens() as usize,
            rows: PictureRows::square(config.n_tokens() as usize),
            forced: Vec::new(),
            heads,
            tables: TokenTables::of_codebook(
                vectors_of(name, vq.codebook())?,
                vectors_of(name, prompt.network.backbone().token_table())?,
            ),
            prompt: Box::new(move |caption, sampling| {
                let slots = prompt.network.prefix(&prompt.words(caption)?, sampling.guidance != 1.0);
                Ok(Prefix { backbone: prompt.network.backbone().clone(), slots })
            }),
            painter: painter([config.grid; 2], Rounding::Cut, device, move |ids| vq.decode(ids)),
            weights,
            warnings: Vec::new(),
            steps: None,
        })
    }
}

/// Starts `head`, which has seen the prefix: every slot is paired with the word behind it; those of the empty prompt
/// are its pads.
pub(super) fn start_draft(head: EagleHead) -> StartDraft {
    let head: Rc<dyn DraftHead> = Rc::new(head);
    Box::new(move |generation, max_run, time| {
        let following = generation.prefix().narrow(1, 1, generation.n_prefix() - 1);
        Box::new(EagleDraft::with_prefix(head.clone(), generation, max_run, time, following))
    })
}

/// From a caption to the words of a Janus-Pro, with the network that embeds them.
pub struct JanusPrompt {
    name: &'static str,
    network: JanusNetwork,
    text: TextTokenizer,
    /// Ids of [`BEGINNING`] and [`IMAGE`].
    marks: [i64; 2],
}

impl JanusPrompt {
    /// The format of the model `name`.
    ///
    /// # Errors
    /// A tokenizer without the words that every prompt has.
    pub(super) fn new(
        name: &'static str,
        network: JanusNetwork,
        text: TextTokenizer,
    ) -> Result<Self, LoadError> {
        let marks = [text.special(BEGINNING)?, text.special(IMAGE)?];
        Ok(Self { name, network, text, marks })
    }

    /// Word ids of the prompt for a caption, as the authors' demonstration of painting has it: a question by the
    /// user, no system prompt, and the beginning of an image for an answer.
    ///
    /// # Errors
    /// A caption that the tokenizer cannot split, or one that is too long.
    pub fn words(&self, caption: &str) -> Result<Vec<i64>, ModelError> {
        let unusable = |reason| ModelError::Prompt { model: self.name.into(), reason };
        let text = format!("<|User|>: {caption}\n\n<|Assistant|>:{IMAGE}");
        let mut words = self.text.encode(&text).map_err(unusable)?;
        let [beginning, image] = self.marks;
        // Whether a tokenizer file adds the beginning itself differs between the two repositories.
        if words.first() != Some(&beginning) {
            words.insert(0, beginning);
        }
        let config = self.network.config();
        if let Some(foreign) = words.iter().find(|&&word| config.n_words <= word) {
            return Err(unusable(format!(
                "its word id {foreign} is not among the model's {}",
                config.n_words
            )));
        }
        if words.last() != Some(&image) {
            return Err(unusable(format!("its words do not end in `{IMAGE}`: {words:?}")));
        }
        let n_places = config.n_positions - config.n_tokens();
        if n_places < words.len() as i64 {
            let n = words.len();
            return Err(unusable(format!(
                "it has {n} words, and there are {n_places} places before the image"
            )));
        }
        Ok(words)
    }
}

/// What an EAGLE-1 head for a Janus of these sizes is like, with the input norm of the LLaMA layer it is made of.
/// Input vectors and logits are the target's, through its aligner and its painting head.
#[must_use]
pub fn drafter_config(config: &JanusConfig, norm_eps: f64) -> EagleConfig {
    EagleConfig {
        bias: true,
        input_norm: true,
        output_norm: false,
        prefix: EaglePrefix::Whole,
        n_heads: config.n_heads,
        d_head: config.d_head(),
        d_ffn: config.d_ffn,
        norm_eps,
    }
}

/// The head in `paths`, in the layout of EAGLE's authors and LANTERN's without an embedding: `fc` and `layers.0.`
/// under the names of `transformers`. Whether it has a bias and an input norm is what its file has.
fn open_head(
    paths: &[PathBuf],
    config: &JanusConfig,
    kind: Kind,
    device: Device,
) -> Result<(EagleHead, Vec<WeightsId>), LoadError> {
    let eps = Sidecar::beside(&paths[0])?.number("rms_norm_eps").unwrap_or(config.norm_eps);
    SeveralFiles::read(paths, "drafter", |files| {
        let (bias, input_norm) = (files.has("fc.bias"), files.has("layers.0.input_layernorm.weight"));
        let config_of_head = EagleConfig { bias, input_norm, ..drafter_config(config, eps) };
        let mut placed = Placed::new(files, kind, device);
        let mut head = training::read(&mut placed, &config_of_head, config)?;
        head.layer.prepare();
        Ok(head)
    })
}
