//! Janus-Pro as a target: a caption in, 576 tokens, a picture of 384 by 384 pixels out.

use std::{
    path::{Path, PathBuf},
    rc::Rc,
};

use specimen_decode::{dist::TokenId, drafter::DraftModel, pipeline::Sampling};
use specimen_weights::{LoadError, Scoped};
use tch::{Device, Kind, Tensor};

use super::{JanusConfig, JanusNames, JanusNetwork, JanusWeights};
use crate::{
    draft_head::DraftHead,
    draft_time::DraftTime,
    eagle::{EagleConfig, EagleHead, EaglePrefix},
    eagle_draft::EagleDraft,
    generation::ModelGeneration,
    pixels::{Rounding, picture},
    placed::Placed,
    published_files::{AbsentHead, find_all, places},
    published_names::{LayerNames, Mixed, PublishedNames},
    several_files::SeveralFiles,
    sidecar::Sidecar,
    target::{DrafterKind, ModelError, Picture, TargetModel, WeightsId},
    text_tokenizer::TextTokenizer,
    token_tables::{TokenTables, vectors_of},
    vq16::Vq16,
};

/// The first word of every prompt.
const BEGINNING: &str = "<｜begin▁of▁sentence｜>";
/// The last one: an image follows.
const IMAGE: &str = "<begin_of_image>";

/// The networks of one model.
pub(super) struct Networks {
    pub(super) target: JanusNetwork,
    pub(super) vq: Vq16,
    pub(super) text: TextTokenizer,
    /// The head that drafts for it, or where it was looked for.
    pub(super) drafter: Result<Rc<EagleHead>, AbsentHead>,
}

/// A loaded Janus-Pro.
pub struct JanusModel {
    name: &'static str,
    networks: Networks,
    /// Ids of [`BEGINNING`] and [`IMAGE`].
    marks: [i64; 2],
    tables: TokenTables,
    weights: Vec<WeightsId>,
    device: Device,
}

impl JanusModel {
    /// Loads published weights, found below `data_root` or in the cache of the hub; the transformer runs in `kind`.
    ///
    /// # Errors
    /// Absent or damaged weights.
    pub fn open(
        which: &JanusWeights,
        data_root: Option<&Path>,
        kind: Kind,
        device: Device,
    ) -> Result<Self, ModelError> {
        let places = places(data_root);
        let found = find_all(&places, which.name, &which.parts)?;
        let text = TextTokenizer::open(&found[1][0])?;
        let ((target, vq), mut weights) = SeveralFiles::read(&found[0], "target", |files| {
            let names = JanusNames::of_file(|name| files.has(name));
            let target = JanusNetwork::new(&mut Placed::new(files, kind, device), &which.config, names)?;
            let mut placed = Placed::new(files, Kind::Float, device);
            let mut scoped = Scoped::new(&mut placed, names.tokenizer());
            let vq = Vq16::new(&mut scoped, &which.vq, names.vq16())?;
            files.ignore(|name| names.is_not_for_painting(name));
            Ok((target, vq))
        })?;
        weights.push(text.id("text tokenizer"));
        let drafter = match places.part(which.head) {
            None => Err(AbsentHead { entry: which.head_entry, part: which.head, places }),
            Some(paths) => {
                let (head, ids) = open_head(&paths, &which.config, kind, device)?;
                weights.extend(ids);
                Ok(Rc::new(head))
            }
        };
        let networks = Networks { target, vq, text, drafter };
        Ok(Self { weights, ..Self::of_networks(which.name, networks, device)? })
    }

    pub(super) fn of_networks(
        name: &'static str,
        networks: Networks,
        device: Device,
    ) -> Result<Self, LoadError> {
        let marks = [networks.text.special(BEGINNING)?, networks.text.special(IMAGE)?];
        let tables = TokenTables::of_codebook(
            vectors_of(name, networks.vq.codebook())?,
            vectors_of(name, networks.target.backbone().token_table())?,
        );
        Ok(Self { name, networks, marks, tables, weights: Vec::new(), device })
    }

    /// The transformer with its words.
    #[must_use]
    pub fn network(&self) -> &JanusNetwork {
        &self.networks.target
    }

    /// Word ids of the prompt for a caption, as the authors' demonstration of painting has it: a question by the
    /// user, no system prompt, and the beginning of an image for an answer.
    ///
    /// # Errors
    /// A caption that the tokenizer cannot split.
    pub fn words(&self, caption: &str) -> Result<Vec<i64>, ModelError> {
        let unusable = |reason| ModelError::Prompt { model: self.name.into(), reason };
        let text = format!("<|User|>: {caption}\n\n<|Assistant|>:{IMAGE}");
        let mut words = self.networks.text.encode(&text).map_err(unusable)?;
        let [beginning, image] = self.marks;
        // Whether a tokenizer file adds the beginning itself differs between the two repositories.
        if words.first() != Some(&beginning) {
            words.insert(0, beginning);
        }
        let n_words = self.networks.target.config().n_words;
        if let Some(foreign) = words.iter().find(|&&word| n_words <= word) {
            return Err(unusable(format!("its word id {foreign} is not among the model's {n_words}")));
        }
        if words.last() != Some(&image) {
            return Err(unusable(format!("its words do not end in `{IMAGE}`: {words:?}")));
        }
        let n_places = self.networks.target.config().n_positions - self.n_tokens() as i64;
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

/// The head in `paths`, in the layout of EAGLE's authors and LANTERN's without an embedding: `fc` and `layers.0.` under
/// the names of `transformers`. Whether it has a bias and an input norm is what its file has.
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
        let (names, d_head) = (LayerNames::HuggingFace, config.d_head());
        let mut named = PublishedNames::new(&mut placed, names, Mixed::Halves, d_head);
        let mut head = EagleHead::new(&mut named, &config_of_head, config.d_model)?;
        head.layer.prepare();
        Ok(head)
    })
}

impl TargetModel for JanusModel {
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
        let words = self.words(prompt)?;
        let prefix = self.networks.target.prefix(&words, sampling.guidance != 1.0);
        let backbone = self.networks.target.backbone().clone();
        Ok(ModelGeneration::new(backbone, *sampling, prefix, self.n_tokens(), max_tree))
    }

    fn drafter(
        &self,
        kind: &DrafterKind,
        generation: &ModelGeneration,
        max_run: usize,
    ) -> Result<(Box<dyn DraftModel>, DraftTime), ModelError> {
        let head: Rc<dyn DraftHead> = match (kind, &self.networks.drafter) {
            (DrafterKind::Eagle1(None), Ok(head)) => head.clone(),
            (DrafterKind::Eagle1(None), Err(absent)) => return Err(absent.refusal()),
            _ => {
                return Err(ModelError::Drafter {
                    model: self.name.into(),
                    drafter: kind.as_written(),
                    known: "eagle1".into(),
                });
            }
        };
        let _guard = tch::no_grad_guard();
        let time = DraftTime::new(generation.device());
        // Every slot is paired with the word behind it; those of the empty prompt are its pads.
        let following = generation.prefix().narrow(1, 1, generation.n_prefix() - 1);
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
        picture(&self.networks.vq.decode(&ids).get(0), Rounding::Cut)
    }
}
