//! What the runner sees of a model: open an image under way for a prompt, draft for it, turn tokens into
//! pixels, and judge tokens by the model's own law.

use std::{path::PathBuf, rc::Rc};

use specimen_decode::{dist::Dist, dist::TokenId, drafter::DraftModel, pipeline::Sampling};
use specimen_foundation::failure::{Failure, FailureKind};
use specimen_weights::LoadError;
use tch::{Kind, Tensor};

use crate::{
    backbone::Backbone,
    draft_time::DraftTime,
    generation::ModelGeneration,
    kv::KvCache,
    kv::KvShape,
    laws::{LawRows, guided_logits, laws},
    llama::causal_mask,
    token_tables::TokenTables,
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

/// A prompt or a request that a model cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Weights that cannot be loaded.
    #[error(transparent)]
    Weights(#[from] LoadError),
    /// A prompt the model does not take.
    #[error("model `{model}` cannot take the prompt: {reason}")]
    Prompt {
        /// The model.
        model: String,
        /// Why, and what it would take.
        reason: String,
    },
    /// Features of a prompt that cannot be written to the folder in which they are kept.
    #[error(
        "model `{model}`: features of the prompt cannot be kept in {folder}: {source}; make room there, or name another \
         folder by SPECIMEN_CACHE"
    )]
    NotKept {
        /// The model.
        model: String,
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A drafter this model has no weights for.
    #[error("model `{model}` has no drafter `{drafter}`; it has: {known}")]
    Drafter {
        /// The model.
        model: String,
        /// What was asked for.
        drafter: String,
        /// What there is.
        known: String,
    },
    /// A name that is not in the catalog.
    #[error("there is no model `{found}`; did you mean `{nearest}`? Known models: {known}")]
    Unknown {
        /// What was asked for.
        found: String,
        /// The known name nearest to it.
        nearest: &'static str,
        /// All names.
        known: String,
    },
    /// Published files that are neither below a folder of this program nor in the cache of the hub.
    #[error(
        "model `{model}` needs files that are not there: {parts}; looked in {looked}; `specimen data fetch {model}` fetches what is published, and says how to come by the rest"
    )]
    Unfetched {
        /// The model.
        model: String,
        /// Each part that is lacking, with the repositories of the hub and the files there that would do.
        parts: String,
        /// The folders that were looked in.
        looked: String,
    },
    /// Sampling settings the model cannot follow.
    #[error("model `{model}`: {reason}")]
    Sampling {
        /// The model.
        model: String,
        /// What is wrong and what is possible.
        reason: String,
    },
}

impl Failure for ModelError {
    fn kind(&self) -> Option<FailureKind> {
        Some(match self {
            Self::Weights(_) | Self::Unfetched { .. } => FailureKind::Missing,
            Self::Prompt { .. } | Self::Unknown { .. } => FailureKind::Usage,
            Self::Drafter { .. } | Self::Sampling { .. } => FailureKind::Spec,
            Self::NotKept { .. } => FailureKind::Environment,
        })
    }
}

/// Which network proposes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DrafterKind {
    /// The model's EAGLE-1 head of this name; `None`: its standard one.
    Eagle1(Option<String>),
    /// The model's EAGLE-3 head of this name; `None`: its standard one.
    Eagle3(Option<String>),
    /// Another whole model, by name.
    Model(String),
}

impl DrafterKind {
    /// As messages name it.
    pub(crate) fn as_written(&self) -> String {
        let head = |proposer: &str, weights: &Option<String>| match weights {
            None => proposer.to_owned(),
            Some(weights) => format!("{proposer} with weights {weights}"),
        };
        match self {
            Self::Eagle1(weights) => head("eagle1", weights),
            Self::Eagle3(weights) => head("eagle3", weights),
            Self::Model(name) => name.clone(),
        }
    }
}

/// A target model, loaded once by a worker.
pub trait TargetModel {
    /// Its name in specs.
    fn name(&self) -> &str;

    /// The files it was loaded from.
    fn weights(&self) -> Vec<WeightsId>;

    /// What whoever runs it should know of the files it was loaded from, a sentence each; mostly nothing.
    fn warnings(&self) -> &[String] {
        &[]
    }

    /// Image tokens of a picture.
    fn n_tokens(&self) -> usize;

    /// Opens an image under way. `max_tree`: nodes of the largest draft tree, root included.
    ///
    /// # Errors
    /// A prompt or settings the model cannot take.
    fn open(&self, prompt: &str, sampling: &Sampling, max_tree: usize)
    -> Result<ModelGeneration, ModelError>;

    /// A drafter for `generation` that runs at most `max_run` nodes for one tree (`MethodConfig::max_run_nodes`), with
    /// the clock of its own forwards.
    ///
    /// # Errors
    /// A drafter there are no weights for.
    fn drafter(
        &self,
        kind: &DrafterKind,
        generation: &ModelGeneration,
        max_run: usize,
    ) -> Result<(Box<dyn DraftModel>, DraftTime), ModelError>;

    /// What it knows of its tokens besides their probability.
    fn tables(&self) -> &TokenTables;

    /// The picture of `tokens`.
    fn picture(&self, tokens: &[TokenId]) -> Picture;
}

/// Mean negative log2-probability of `tokens` under the target's own guided, tempered law before top-k and
/// top-p, in bits a token, from one teacher-forced pass. Forced positions are left out.
///
/// `generation` must be fresh: its prefix is used, its cache is not.
///
/// # Panics
/// If every position is forced.
#[must_use]
pub fn nll_bits(generation: &ModelGeneration, tokens: &[TokenId]) -> f64 {
    use specimen_decode::generation::Generation;
    let _guard = tch::no_grad_guard();
    let features = teacher_forced(generation, tokens);
    let logits = guided_logits(&generation.backbone().logits(&features), generation.sampling());
    let ids: Vec<i64> = tokens.iter().map(|token| i64::from(token.0)).collect();
    let ids = Tensor::from_slice(&ids).to_device(generation.device()).unsqueeze(1);
    let nats = -logits.to_kind(Kind::Double).log_softmax(-1, None::<Kind>).gather(1, &ids, false);
    let free: Vec<f64> = (0..tokens.len())
        .filter(|&position| generation.forced(position).is_none())
        .map(|position| nats.double_value(&[position as i64, 0]))
        .collect();
    assert!(!free.is_empty(), "an image has tokens that are not forced");
    free.iter().sum::<f64>() / free.len() as f64 / std::f64::consts::LN_2
}

/// The law that each of `tokens` is drawn from, given those before it, from one teacher-forced pass. A forced
/// position has its point mass. The tokens may be the beginning of an image.
///
/// `generation` must be fresh: its prefix is used, its cache is not.
#[must_use]
pub fn conditional_laws(generation: &ModelGeneration, tokens: &[TokenId]) -> Vec<Rc<Dist>> {
    use specimen_decode::generation::Generation;
    let _guard = tch::no_grad_guard();
    let features = teacher_forced(generation, tokens);
    let rows = LawRows::new(laws(&generation.backbone().logits(&features), generation.sampling()));
    let law = |(position, row)| match generation.forced(position) {
        Some(token) => Rc::new(Dist::one_hot(generation.n_vocab(), token)),
        None => row,
    };
    rows.all().into_iter().enumerate().map(law).collect()
}

/// Features that predict each of `tokens`, `[b, n_tokens, d]`, from one forward without earlier cache.
pub fn teacher_forced(generation: &ModelGeneration, tokens: &[TokenId]) -> Tensor {
    let backbone: &Rc<dyn Backbone> = generation.backbone();
    let shape = backbone.shape();
    let (n_prefix, device) = (generation.n_prefix(), generation.device());
    let n = tokens.len() as i64;
    let fed: Vec<i64> = tokens[..tokens.len() - 1].iter().map(|token| i64::from(token.0)).collect();
    let positions = Tensor::arange(n_prefix + n - 1, (Kind::Int64, device));
    let image = positions.narrow(0, n_prefix, n - 1);
    let x = backbone.embed(&Tensor::from_slice(&fed).to_device(device), &image).unsqueeze(0);
    let x = Tensor::cat(&[generation.prefix(), &x.expand([generation.n_rows(), -1, -1], false)], 1);
    let kv = KvShape {
        n_layers: shape.n_layers,
        n_rows: generation.n_rows(),
        n_heads: shape.n_heads,
        d_head: shape.d_head,
        capacity: n_prefix + n,
    };
    let mut cache = KvCache::new(kv, backbone.kind(), device);
    let mask = causal_mask(n_prefix + n - 1, cache.kind()).to_device(device);
    backbone.forward(&x, &positions, &mut cache, Some(&mask)).narrow(1, n_prefix - 1, n)
}
