//! One image under way: prefix, guidance rows, KV cache, tree mask and positions behind the decoder's three
//! verbs. Written once for all networks.

use std::{cell::RefCell, rc::Rc};

use specimen_decode::{
    dist::Dist,
    generation::{Generation, Scores},
    pipeline::Sampling,
    tree::{NodeId, TokenTree},
};
use tch::{Kind, Tensor};

use crate::{
    backbone::Backbone,
    kv::{KvCache, KvShape},
    laws::{LawRows, laws},
    mask::tree_mask,
};

/// Features of committed slots that a draft head has not read yet, on the device, both guidance rows.
#[derive(Default)]
pub struct FeatureTap {
    /// Each `[b, n, d]`, oldest first. The first is the last prefix slot.
    fresh: Vec<Tensor>,
}

impl FeatureTap {
    /// Takes what has gathered since the last call, `[b, n, d]`.
    ///
    /// # Panics
    /// If nothing was committed since: the decoder drafts once per commit.
    pub fn take(&mut self) -> Tensor {
        assert!(!self.fresh.is_empty(), "features are taken after a commit");
        let fresh = std::mem::take(&mut self.fresh);
        if fresh.len() == 1 {
            fresh.into_iter().next().expect("one is there")
        } else {
            Tensor::cat(&fresh, 1)
        }
    }
}

/// A generation over any [`Backbone`].
pub struct ModelGeneration {
    backbone: Rc<dyn Backbone>,
    sampling: Sampling,
    /// `[b, n_prefix, d]`
    prefix: Tensor,
    n_tokens: usize,
    cache: KvCache,
    tap: Rc<RefCell<FeatureTap>>,
    /// Features of the last scored tree, `[b, n, d]`.
    scored: Option<Tensor>,
}

impl ModelGeneration {
    /// Opens an image of `n_tokens` tokens behind `prefix` (`[b, n_prefix, d]`, caption row first; `b` is 2
    /// exactly when guidance is not 1). `max_tree` bounds the nodes of a tree, root included.
    #[must_use]
    pub fn new(
        backbone: Rc<dyn Backbone>,
        sampling: Sampling,
        prefix: Tensor,
        n_tokens: usize,
        max_tree: usize,
    ) -> Self {
        let shape = backbone.shape();
        let (n_rows, n_prefix, _) = prefix.size3().expect("a prefix has three axes");
        let capacity = n_prefix + n_tokens as i64 + max_tree as i64 + 2;
        let kv = KvShape {
            n_layers: shape.n_layers,
            n_rows,
            n_heads: shape.n_heads,
            d_head: shape.d_head,
            capacity: (capacity + 7) / 8 * 8,
        };
        let cache = KvCache::new(kv, backbone.kind(), prefix.device());
        Self { backbone, sampling, prefix, n_tokens, cache, tap: Rc::default(), scored: None }
    }

    /// The features that a draft head continues from.
    #[must_use]
    pub fn tap(&self) -> Rc<RefCell<FeatureTap>> {
        self.tap.clone()
    }

    /// The network.
    #[must_use]
    pub fn backbone(&self) -> &Rc<dyn Backbone> {
        &self.backbone
    }

    /// How logits become laws.
    #[must_use]
    pub fn sampling(&self) -> &Sampling {
        &self.sampling
    }

    /// Guidance rows: 2 under guidance, else 1.
    #[must_use]
    pub fn n_rows(&self) -> i64 {
        self.prefix.size()[0]
    }

    /// Input vectors before the image, `[b, n_prefix, d]`.
    pub fn prefix(&self) -> &Tensor {
        &self.prefix
    }

    /// Where the tensors lie.
    #[must_use]
    pub fn device(&self) -> tch::Device {
        self.prefix.device()
    }

    /// Slots before the image.
    #[must_use]
    pub fn n_prefix(&self) -> i64 {
        self.prefix.size()[1]
    }

    fn laws_of(&self, features: &Tensor) -> LawRows {
        LawRows::new(laws(&self.backbone.logits(features), &self.sampling))
    }
}

impl Generation for ModelGeneration {
    fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    fn n_vocab(&self) -> usize {
        self.backbone.shape().n_vocab as usize
    }

    fn prefill(&mut self) -> Rc<Dist> {
        let _guard = tch::no_grad_guard();
        let n = self.n_prefix();
        let options = (Kind::Int64, self.prefix.device());
        let mask = (n > 1).then(|| crate::llama::causal_mask(n, self.cache.kind()).to_device(options.1));
        let positions = Tensor::arange(n, options);
        let features = self.backbone.forward(&self.prefix, &positions, &mut self.cache, mask.as_ref());
        self.cache.keep(&(0..n).collect::<Vec<_>>());
        let last = features.narrow(1, n - 1, 1);
        self.tap.borrow_mut().fresh.push(last.shallow_clone());
        self.laws_of(&last).row(0)
    }

    fn score(&mut self, tree: &TokenTree) -> Box<dyn Scores> {
        let _guard = tch::no_grad_guard();
        let device = self.prefix.device();
        let last = self.backbone.shape().n_positions - 1;
        let tokens: Vec<i64> = tree.ids().map(|id| i64::from(tree[id].token.0)).collect();
        let positions: Vec<i64> =
            tree.ids().map(|id| (self.cache.len() + tree[id].depth as i64).min(last)).collect();
        let (tokens, positions) =
            (Tensor::from_slice(&tokens).to_device(device), Tensor::from_slice(&positions).to_device(device));
        let x = self.backbone.embed(&tokens, &positions).unsqueeze(0).expand([self.n_rows(), -1, -1], false);
        let mask = tree_mask(tree, self.cache.len()).map(|m| m.to_kind(self.cache.kind()).to_device(device));
        let features = self.backbone.forward(&x, &positions, &mut self.cache, mask.as_ref());
        let laws = self.laws_of(&features);
        self.scored = Some(features.shallow_clone());
        Box::new(ModelScores { laws, features })
    }

    fn commit(&mut self, path: &[NodeId]) {
        let _guard = tch::no_grad_guard();
        let features = self.scored.take().expect("a tree was scored before it is committed");
        let offsets: Vec<i64> = path.iter().map(|node| node.0 as i64).collect();
        self.cache.keep(&offsets);
        let kept = if offsets.len() as i64 == features.size()[1] {
            features
        } else {
            features.index_select(1, &Tensor::from_slice(&offsets).to_device(self.prefix.device()))
        };
        self.tap.borrow_mut().fresh.push(kept);
    }
}

struct ModelScores {
    laws: LawRows,
    /// `[b, n, d]`
    features: Tensor,
}

impl Scores for ModelScores {
    fn dist(&self, node: NodeId) -> Rc<Dist> {
        self.laws.row(node.0)
    }

    fn feature(&self, node: NodeId) -> Rc<[f32]> {
        let row = self.features.get(0).get(node.0 as i64).to_kind(Kind::Float);
        let mut values = vec![0.0_f32; row.numel()];
        let n = values.len();
        row.copy_data(&mut values, n);
        values.into()
    }
}
