//! Heads as a family describes them: how one is built from parameters under the names of its file, what stands before the
//! image, and what the file says beside the parameters. Training, reading a file and making weights all go by it.

use std::rc::Rc;

use specimen_weights::{LoadError, ParamSource};
use tch::{Kind, Tensor};

use crate::{
    heads::{
        draft_head::{DraftHead, Head},
        drafters::{DrafterKind, StartDraft},
        eagle_draft::{EagleDraft, Front},
        head_file::HeadFile,
    },
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
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Eagle1, Self::Eagle3];

    /// As specs write it.
    pub fn as_written(self) -> &'static str {
        match self {
            Self::Eagle1 => "eagle1",
            Self::Eagle3 => "eagle3",
        }
    }

    /// What specs write as `proposer`.
    pub fn of(proposer: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_written() == proposer)
    }

    /// What drafts by the head of this kind that is called `weights`; `None`: the standard one.
    pub fn drafter(self, weights: Option<String>) -> DrafterKind {
        match self {
            Self::Eagle1 => DrafterKind::Eagle1(weights),
            Self::Eagle3 => DrafterKind::Eagle3(weights),
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

/// Builds a head from parameters under the names of its file, keeping their graph; it is not prepared to decode.
pub type BuildHead = Box<dyn Fn(&mut dyn ParamSource) -> Result<Box<dyn DraftHead>, LoadError>>;

/// A tensor of the target that the file of a head repeats and that is not trained.
pub struct RepeatedTensor {
    /// Its name in the file.
    pub name: String,
    /// The target's.
    pub tensor: Tensor,
    /// Kind in which the target's file stores it.
    pub stored: Kind,
}

/// A head of a model.
pub struct DescribedHead {
    /// How it is built.
    pub kind: HeadKind,
    /// What it sees before the image.
    pub front: FrontPairs,
    /// What pads of the prefix see while features are made for it.
    pub pad_view: PadView,
    /// Tensors that its file repeats. One that the head does not read itself has to be the target's.
    pub repeated: Vec<RepeatedTensor>,
    /// Values that some of its parameters start a training with in place of random ones, by name.
    pub starts: Vec<(String, Tensor)>,
    /// The `config.json` beside its file.
    pub config: serde_json::Value,
    /// Makes it.
    pub build: BuildHead,
}

/// Why a model has no such head.
#[derive(Debug, thiserror::Error)]
pub enum NoHead {
    /// In words, with what there is.
    #[error("{0}")]
    Unfit(String),
    /// A file that is not that of such a head.
    #[error(transparent)]
    File(#[from] LoadError),
}

impl From<String> for NoHead {
    fn from(reason: String) -> Self {
        Self::Unfit(reason)
    }
}

/// Describes the head of a kind that a file has, or that is to be written.
pub type DescribeHead = Box<dyn Fn(HeadKind, &mut HeadFile<'_>) -> Result<DescribedHead, NoHead>>;

/// What a family without heads says.
pub fn no_heads(model: &'static str) -> DescribeHead {
    Box::new(move |_, _| {
        Err(NoHead::Unfit(format!(
            "model `{model}` has no head that can be trained; LlamaGen of captions, Janus-Pro, Lumina-mGPT, Anole, Emu3, Liquid and tiny have"
        )))
    })
}

impl DescribedHead {
    /// The target's layers whose inputs it reads, 0-based and ascending, as its configuration has them; none for a head that
    /// reads the feature after the final norm.
    pub fn taps(&self) -> Vec<usize> {
        let named = self.config.get("taps").and_then(serde_json::Value::as_array);
        named.into_iter().flatten().filter_map(|tap| usize::try_from(tap.as_u64()?).ok()).collect()
    }

    /// The head with weights of `source`, in the order in which it asks for them.
    pub fn made(&self, source: &mut dyn ParamSource) -> Result<StartDraft, LoadError> {
        Ok(self.start((self.build)(source)?))
    }

    /// What starts drafts by `head`, which it prepares.
    pub fn start(&self, mut head: Box<dyn DraftHead>) -> StartDraft {
        tch::no_grad(|| head.prepare());
        let (head, front, pad_view): (Rc<dyn DraftHead>, _, _) = (head.into(), self.front, self.pad_view);
        Box::new(move |generation, max_run, time| {
            let backbone = generation.backbone();
            backbone.set_pad_view(pad_view);
            let pairs = front.embeddings(&*head, &**backbone, generation.prefix());
            let pairs = pairs.map(|following| Front { following, pads: front.hidden_pads(&**backbone) });
            Box::new(EagleDraft::behind(head.clone(), generation, max_run, time, pairs))
        })
    }
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
    pub fn hidden_pads(self, target: &dyn Backbone) -> Vec<i64> {
        match self {
            Self::NextSlots { hide_pads: true } => target.pads().to_vec(),
            _ => Vec::new(),
        }
    }
}
