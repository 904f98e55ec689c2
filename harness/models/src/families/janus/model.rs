//! Janus-Pro as a target: a caption in, 576 tokens, a picture of 384 by 384 pixels out.

use specimen_catalog::hub::Places;
use specimen_decode::frontier::PictureRows;
use specimen_weights::{LoadError, Scoped};
use tch::{Device, Kind};

use super::{JanusConfig, JanusNames, JanusNetwork};
use crate::{
    families::{published::Published, text_tokenizer::TextTokenizer, word_prompt::WordPrompt},
    files::{placed::Placed, published_files::find_all, several_files::SeveralFiles},
    heads::head_sources::OpenedHeads,
    picture::{
        pixels::{Rounding, painter},
        vq16::{Vq16, Vq16Config},
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

/// A published Janus-Pro: the model and its text tokenizer, in this order. Nobody publishes a head; those that it names are in
/// folders of the model's below the data folder.
pub type JanusWeights = Published<JanusConfig, Vq16Config>;

/// A Janus-Pro, read or made.
pub struct Janus {
    /// Its prompt format, with the transformer.
    pub prompt: JanusPrompt,
    pub(super) vq: Vq16,
    pub(super) heads: OpenedHeads,
    pub(super) weights: Vec<WeightsId>,
}

impl Janus {
    /// Reads published weights, found in `places`; the transformer runs in `kind`.
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
        let describe = which.config.headed().describe(network.backbone().clone());
        let heads = OpenedHeads::open(&which.heads, places, &describe, (kind, device))?;
        Ok(Self { prompt: JanusPrompt::new(which.name, network, text)?, vq, heads, weights })
    }

    /// The model that the runner takes, its codes decoded on `device`.
    pub fn into_model(self, device: Device) -> Result<LoadedModel, LoadError> {
        let Self { prompt, vq, heads, mut weights } = self;
        weights.extend(heads.weights);
        let (name, config) = (prompt.name, *prompt.network.config());
        Ok(LoadedModel {
            name,
            describe_head: config.headed().describe(prompt.network.backbone().clone()),
            n_tokens: config.n_tokens() as usize,
            rows: PictureRows::square(config.n_tokens() as usize),
            forced: Vec::new(),
            heads: heads.heads,
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
            warnings: heads.warnings,
            steps: None,
            cut: None,
        })
    }
}

/// From a caption to the words of a Janus-Pro, with the network that embeds them.
pub struct JanusPrompt {
    name: &'static str,
    network: JanusNetwork,
    inner: WordPrompt,
}

impl JanusPrompt {
    /// The format of the model `name`.
    pub(super) fn new(
        name: &'static str,
        network: JanusNetwork,
        text: TextTokenizer,
    ) -> Result<Self, LoadError> {
        // Both rows are of one length: nothing is filled.
        let inner = WordPrompt::new(name, text, [BEGINNING, IMAGE, BEGINNING], network.config().limits())?;
        Ok(Self { name, network, inner })
    }

    /// Word ids of the prompt for a caption, as the authors' demonstration of painting has it: a question by the
    /// user, no system prompt, and the beginning of an image for an answer.
    pub fn words(&self, caption: &str) -> Result<Vec<i64>, ModelError> {
        self.inner.words(&format!("<|User|>: {caption}\n\n<|Assistant|>:{IMAGE}"))
    }
}
