//! Heads of a model that can be trained: how one is built from parameters under the names of its file, what stands before
//! the image, and what the file says beside the parameters. A family describes its heads here; the trainer knows none.

use specimen_weights::{LoadError, ParamSource};
use tch::{Kind, Tensor};

use crate::{
    heads::{draft_head::Head, drafters::StartDraft},
    llama::padded::PadView,
    seam::backbone::Backbone,
};

/// How a head is built, as `proposer` names it in specs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadKind {
    /// One layer behind the last feature.
    Eagle1,
    /// One layer behind three inner layers, with an output head of its own.
    Eagle3,
}

impl HeadKind {
    /// As specs write it.
    #[must_use]
    pub fn as_written(self) -> &'static str {
        match self {
            Self::Eagle1 => "eagle1",
            Self::Eagle3 => "eagle3",
        }
    }
}

/// What stands before the image's pairs of token and feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontPairs {
    /// Nothing: the head begins with the image.
    Nothing,
    /// Every slot of the prefix but the last, paired with the input vector behind it.
    NextSlots {
        /// Whether the pads of a row are hidden from the head.
        hide_pads: bool,
    },
    /// Every slot of the prefix but the last, pads included, paired with image token 0 (LANTERN for LlamaGen).
    ZerothToken,
}

/// Builds a head from parameters under the names of its file, keeping their graph.
pub type BuildHead = Box<dyn Fn(&mut dyn ParamSource) -> Result<Box<dyn Head>, LoadError>>;

/// Starts drafts by a head of such parameters.
pub type StartHead = Box<dyn Fn(&mut dyn ParamSource) -> Result<StartDraft, LoadError>>;

/// A head of a model, open to training.
pub struct TrainableHead {
    /// How it is built.
    pub kind: HeadKind,
    /// What it sees before the image.
    pub front: FrontPairs,
    /// What pads of the prefix see while features are made for it.
    pub pad_view: PadView,
    /// Tensors that its file repeats from the target and that are not trained, by name.
    pub repeated: Vec<(String, Tensor)>,
    /// Values that some of its parameters start with in place of random ones, by name.
    pub starts: Vec<(String, Tensor)>,
    /// The `config.json` beside its file.
    pub config: serde_json::Value,
    /// Makes it with the graph.
    pub build: BuildHead,
    /// Makes it for decoding.
    pub start: StartHead,
}

/// Describes the head of a kind. The taps are those of an EAGLE-3 head; absent: the published ones. An error says in words
/// why there is no such head, and what there is.
pub type DescribeHead = Box<dyn Fn(HeadKind, Option<[usize; 3]>) -> Result<TrainableHead, String>>;

/// What a family without heads says.
#[must_use]
pub fn no_heads(model: &'static str) -> DescribeHead {
    Box::new(move |_, _| {
        Err(format!(
            "model `{model}` has no head that can be trained; LlamaGen of captions, Janus-Pro, Lumina-mGPT, Anole and tiny have"
        ))
    })
}

/// What a family says of a head that it does not have; `known`: what it has.
pub(crate) fn unknown(model: &str, kind: HeadKind, known: &str) -> String {
    format!("model `{model}` has no `{}` head that can be trained; it has: {known}", kind.as_written())
}

impl FrontPairs {
    /// Input vectors that the slots before the image are paired with, `[b, n_prefix - 1, d]`. `slots`: those of the prefix,
    /// `[b, n_prefix, d]`; `None` for a head that begins with the image.
    pub fn embeddings(self, head: &dyn Head, target: &dyn Backbone, slots: &Tensor) -> Option<Tensor> {
        let (b, n_prefix, _) = slots.size3().expect("a prefix has three axes");
        match self {
            Self::Nothing => None,
            _ if n_prefix < 2 => None,
            Self::NextSlots { .. } => Some(slots.narrow(1, 1, n_prefix - 1)),
            Self::ZerothToken => {
                let first = Tensor::zeros([1], (Kind::Int64, slots.device()));
                let zeroth = head.embed(target, &first, &first);
                Some(zeroth.unsqueeze(0).expand([b, n_prefix - 1, -1], false))
            }
        }
    }

    /// Pads that the head does not see at the front of each row; empty where it sees all.
    #[must_use]
    pub fn hidden_pads(self, target: &dyn Backbone) -> Vec<i64> {
        match self {
            Self::NextSlots { hide_pads: true } => target.pads().to_vec(),
            _ => Vec::new(),
        }
    }
}
