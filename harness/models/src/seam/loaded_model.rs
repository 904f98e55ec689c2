//! A model as the runner has it, whatever its family: it opens an image for a prompt, drafts for it, and turns tokens
//! into a picture. A family makes one of these from its networks.

use std::rc::Rc;

use specimen_decode::{dist::TokenId, drafter::DraftModel, frontier::PictureRows, pipeline::Sampling};
use tch::Tensor;

use crate::{
    heads::{
        described_head::DescribeHead,
        drafters::{DrafterKind, Heads},
    },
    seam::{
        backbone::Backbone,
        batch::{BatchSize, open_together},
        draft_time::DraftTime,
        generation::ModelGeneration,
        model_error::ModelError,
        static_steps::StepBuffers,
        token_tables::TokenTables,
    },
};

/// One weights file of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightsId {
    /// What it is: `target`, `tokenizer`, `drafter`.
    pub role: String,
    /// File name, without its folder.
    pub file: String,
    /// blake3 of the file, hex.
    pub digest: String,
}

/// A decoded picture, 8 bits a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// `[height, width, 3]`, RGB.
    pub rgb: Vec<u8>,
}

/// What a prompt becomes: everything before the first token of its image.
pub struct Prefix {
    /// The network as this image sees it, with the pads of its rows hidden.
    pub backbone: Rc<dyn Backbone>,
    /// Input vectors of the slots before the image, `[b, n_prefix, d]`, the row with the prompt first; `b` is 1
    /// exactly when guidance is 1.
    pub slots: Tensor,
}

/// Makes the prefix of a prompt under settings of sampling; refuses what the model cannot take.
pub type PromptFormat = Box<dyn Fn(&str, &Sampling) -> Result<Prefix, ModelError>>;

/// Makes the picture of a whole image's tokens.
pub type Painter = Box<dyn Fn(&[TokenId]) -> Picture>;

/// How many tokens of a prompt a model leaves out, because it reads only the first of a long one.
pub type PromptCut = Box<dyn Fn(&str) -> u64>;

/// A target model, loaded once by a worker.
pub struct LoadedModel {
    /// Its name in specs.
    pub name: &'static str,
    /// Tokens of an image.
    pub n_tokens: usize,
    /// Where the rows of its picture lie among them.
    pub rows: PictureRows,
    /// The structural token of each position that has one; empty for a model without structural tokens.
    pub forced: Vec<Option<TokenId>>,
    /// From a prompt to what is before the image; holds the network.
    pub prompt: PromptFormat,
    /// From tokens to the picture; holds the picture decoder.
    pub painter: Painter,
    /// What can draft for it.
    pub heads: Heads,
    /// What its heads are like, for those that are trained and those that a user names.
    pub describe_head: DescribeHead,
    /// What it knows of its tokens besides their probability.
    pub tables: TokenTables,
    /// The files it was loaded from; none where its weights are made from a seed.
    pub weights: Vec<WeightsId>,
    /// What a user should know of these files, a sentence each; mostly nothing.
    pub warnings: Vec<String>,
    /// Buffers of its steps, where they stay where they are.
    pub steps: Option<Rc<StepBuffers>>,
    /// What it leaves out of long prompts; absent where it reads all of a prompt, or refuses it.
    pub cut: Option<PromptCut>,
}

impl LoadedModel {
    /// Opens an image for `prompt`. `max_tree`: nodes of the largest draft tree, root included.
    pub fn open(
        &self,
        prompt: &str,
        sampling: &Sampling,
        max_tree: usize,
    ) -> Result<ModelGeneration, ModelError> {
        self.open_over(prompt, sampling, max_tree, self.steps.as_ref())
    }

    /// The same, with steps that make their tensors anew even where [`LoadedModel::steps`] has buffers for them.
    pub fn open_eager(
        &self,
        prompt: &str,
        sampling: &Sampling,
        max_tree: usize,
    ) -> Result<ModelGeneration, ModelError> {
        self.open_over(prompt, sampling, max_tree, None)
    }

    /// Opens an image for each of `prompts`, whose trees are then scored together
    /// ([`score_together`](crate::seam::batch::score_together)). The place of a prompt is its lane; an absent one stays empty.
    pub fn open_together(
        &self,
        prompts: &[Option<&str>],
        sampling: &Sampling,
        size: BatchSize,
    ) -> Vec<Option<Result<ModelGeneration, ModelError>>> {
        let _guard = tch::no_grad_guard();
        let (mut accepted, mut refused) = (Vec::new(), Vec::new());
        for prompt in prompts {
            let (prefix, error) = match prompt.map(|prompt| (self.prompt)(prompt, sampling)).transpose() {
                Ok(prefix) => (prefix, None),
                Err(error) => (None, Some(error)),
            };
            accepted.push(prefix);
            refused.push(error);
        }
        let buffers = self.steps.clone().unwrap_or_else(|| Rc::new(StepBuffers::eager()));
        let opened = open_together(accepted, *sampling, self.n_tokens, size, &buffers);
        let whole = |(image, error): (Option<ModelGeneration>, Option<ModelError>)| match error {
            Some(error) => Some(Err(error)),
            None => image.map(|image| Ok(self.as_picture(image))),
        };
        opened.into_iter().zip(refused).map(whole).collect()
    }

    fn open_over(
        &self,
        prompt: &str,
        sampling: &Sampling,
        max_tree: usize,
        buffers: Option<&Rc<StepBuffers>>,
    ) -> Result<ModelGeneration, ModelError> {
        let _guard = tch::no_grad_guard();
        let Prefix { backbone, slots } = (self.prompt)(prompt, sampling)?;
        let sizes = (self.n_tokens, max_tree);
        Ok(self.as_picture(ModelGeneration::over(backbone, *sampling, slots, sizes, buffers)))
    }

    /// The image with its rows and its structural tokens.
    fn as_picture(&self, image: ModelGeneration) -> ModelGeneration {
        let image = image.with_rows(self.rows);
        if self.forced.is_empty() { image } else { image.with_forced(self.forced.clone()) }
    }

    /// Tokens of `prompt` that it leaves out.
    pub fn n_cut(&self, prompt: &str) -> u64 {
        self.cut.as_ref().map_or(0, |cut| cut(prompt))
    }

    /// A drafter for `generation` that runs at most `max_run` nodes for one tree (`MethodConfig::max_run_nodes`), with
    /// the clock of its own forwards.
    pub fn drafter(
        &self,
        kind: &DrafterKind,
        generation: &ModelGeneration,
        max_run: usize,
    ) -> Result<(Box<dyn DraftModel>, DraftTime), ModelError> {
        let start = self.heads.get(self.name, kind)?;
        let _guard = tch::no_grad_guard();
        let time = DraftTime::new(generation.device());
        Ok((start(generation, max_run, time.clone()), time))
    }

    /// A sentence with the reason, once, where a step could not be captured as a CUDA graph.
    pub fn take_refusal(&self) -> Option<String> {
        let why = self.steps.as_ref()?.take_refusal()?;
        Some(format!("steps of `{}` run without a CUDA graph and take longer: {why}", self.name))
    }

    /// The picture of `tokens`.
    pub fn picture(&self, tokens: &[TokenId]) -> Picture {
        let _guard = tch::no_grad_guard();
        (self.painter)(tokens)
    }
}
