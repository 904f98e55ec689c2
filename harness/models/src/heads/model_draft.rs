//! Drafting one image with another whole model (Leviathan et al., arXiv 2211.17192; Chen et al., arXiv
//! 2302.01318): its own prefix and KV cache, the target's probability pipeline. The stable part of the cache
//! holds what was sampled; tree nodes come after it until the next step forgets them.

use std::rc::Rc;

use specimen_decode::{
    dist::{Dist, TokenId},
    drafter::DraftModel,
    pipeline::Sampling,
    tree::{NodeId, TokenTree},
};
use tch::{Device, Tensor};

use crate::seam::{
    backbone::Backbone,
    distributions::{DistributionRows, distributions},
    draft_time::DraftTime,
    kv::{KvCache, KvShape},
    mask::{Mask, ancestor_mask, causal_behind},
    transfers::upload,
};

/// A bijection between the vocabularies of a target and of its drafter.
pub struct VocabularyMap {
    /// `[n_vocab]`; entry `t` is the drafter's token for the target's token `t`.
    drafter_ids: Vec<i64>,
    /// The same on the device.
    index: Tensor,
}

impl VocabularyMap {
    /// Pairs the tokens of equal rank in `target` and `drafter`, one value a token (a brightness); ties rank
    /// by id.
    ///
    /// # Panics
    /// If the vocabularies differ in size.
    pub fn by_rank(target: &[f32], drafter: &[f32], device: Device) -> Self {
        assert_eq!(target.len(), drafter.len(), "a bijection needs vocabularies of one size");
        let ranked = |values: &[f32]| {
            let mut ids: Vec<usize> = (0..values.len()).collect();
            ids.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
            ids
        };
        let mut drafter_ids = vec![0; target.len()];
        for (target_id, drafter_id) in ranked(target).into_iter().zip(ranked(drafter)) {
            drafter_ids[target_id] = drafter_id as i64;
        }
        let index = Tensor::from_slice(&drafter_ids).to_device(device);
        Self { drafter_ids, index }
    }

    /// The drafter's token for the target's `token`.
    ///
    /// # Panics
    /// If `token` is outside the vocabulary.
    pub fn drafter_id(&self, token: TokenId) -> TokenId {
        TokenId(self.drafter_ids[token.idx()] as u32)
    }

    /// Logits in the target's order from logits in the drafter's, `[.., n_vocab]`.
    fn to_target(&self, logits: &Tensor) -> Tensor {
        logits.index_select(-1, &self.index)
    }
}

/// One image's drafter state.
pub struct ModelDraft {
    backbone: Rc<dyn Backbone>,
    sampling: Sampling,
    vocabulary: Option<Rc<VocabularyMap>>,
    /// `[b, n_prefix, d]`
    prefix: Tensor,
    // Invariant: behind `stable` entries the cache holds the nodes run since the last `begin`.
    cache: KvCache,
    /// Tokens in the stable part, in the target's vocabulary.
    taken: Vec<TokenId>,
    /// Cache entry of each node of the tree under way, `None` if it was not run.
    places: Vec<Option<i64>>,
    time: DraftTime,
}

impl ModelDraft {
    /// A drafter over `backbone` behind `prefix` (`[b, n_prefix, d]`, caption row first; `b` is 2 exactly when
    /// the guidance of `sampling` is not 1). Without `vocabulary` both models share one. `capacity`: tokens
    /// of the image and nodes that it runs for one tree; its cache is as large as it gets.
    pub fn new(
        backbone: Rc<dyn Backbone>,
        prefix: Tensor,
        sampling: Sampling,
        vocabulary: Option<Rc<VocabularyMap>>,
        capacity: usize,
        time: DraftTime,
    ) -> Self {
        let shape = backbone.shape();
        let (n_rows, n_prefix, _) = prefix.size3().expect("a prefix has three axes");
        let kv = KvShape {
            n_layers: shape.n_layers,
            n_rows,
            n_heads: shape.n_heads,
            d_head: shape.d_head,
            capacity: n_prefix + capacity as i64,
        };
        let cache = KvCache::new(kv, backbone.kind(), prefix.device());
        let (taken, places) = (Vec::new(), Vec::new());
        Self { backbone, sampling, vocabulary, prefix, cache, taken, places, time }
    }

    fn n_prefix(&self) -> i64 {
        self.prefix.size()[1]
    }

    /// The drafter's ids of `tokens`.
    fn ids(&self, tokens: impl Iterator<Item = TokenId>) -> Vec<i64> {
        let id = |token| self.vocabulary.as_ref().map_or(token, |map| map.drafter_id(token));
        tokens.map(|token| i64::from(id(token).0)).collect()
    }

    /// Input vectors of `ids` at `positions` (prefix included), `[b, n, d]`.
    fn embed(&self, ids: &Tensor, positions: &Tensor) -> Tensor {
        self.backbone.embed(ids, positions).unsqueeze(0).expand([self.prefix.size()[0], -1, -1], false)
    }

    fn upload<const N: usize>(
        &self,
        lists: [&[i64]; N],
        mask: Option<&Mask>,
    ) -> ([Tensor; N], Option<Tensor>) {
        upload(lists, mask, self.cache.kind(), self.prefix.device())
    }

    /// Runs slots behind the cache, which keeps them. `x`: `[b, n, d]`; returns features `[b, n, d]`.
    fn run(&mut self, x: &Tensor, positions: &Tensor, mask: Option<Tensor>) -> Tensor {
        let n = x.size()[1];
        let features = self.backbone.forward(x, positions, &mut self.cache, mask.as_ref());
        self.cache.keep(&(0..n).collect::<Vec<_>>());
        features
    }

    /// Distributions over the target's vocabulary, in row order. `features`: `[b, n, d]`.
    fn distributions_of(&self, features: &Tensor) -> Vec<Rc<Dist>> {
        let logits = self.backbone.logits(features);
        // Mapped before the pipeline, so that ties fall as they do for the target.
        let logits =
            self.vocabulary.as_ref().map_or_else(|| logits.shallow_clone(), |map| map.to_target(&logits));
        DistributionRows::new(distributions(&logits, &self.sampling.of_drafts())).all()
    }

    fn take_in(&mut self, tokens: &[TokenId]) -> Rc<Dist> {
        let n_shared = self.taken.iter().zip(tokens).take_while(|(a, b)| a == b).count();
        // The root is run in any case: its features give the distribution that is asked for.
        let n_kept = n_shared.min(tokens.len() - 1);
        let is_first = self.cache.is_empty();
        let from = if is_first { 0 } else { self.n_prefix() + n_kept as i64 };
        self.cache.truncate(from);
        let end = self.n_prefix() + tokens.len() as i64;
        let positions: Vec<i64> = (from..end).collect();
        let ids = self.ids(tokens[n_kept..].iter().copied());
        let mask = causal_behind(from, end - from);
        let ([ids, positions], mask) = self.upload([&ids, &positions], mask.as_ref());
        let n_new = (tokens.len() - n_kept) as i64;
        let image = positions.narrow(0, end - from - n_new, n_new);
        let mut x = self.embed(&ids, &image);
        if is_first {
            x = Tensor::cat(&[&self.prefix, &x], 1);
        }
        let features = self.run(&x, &positions, mask);
        self.taken.truncate(n_kept);
        self.taken.extend_from_slice(&tokens[n_kept..]);
        self.places.clear();
        self.distributions_of(&features.narrow(1, end - from - 1, 1)).remove(0)
    }

    fn expand_nodes(&mut self, tree: &TokenTree, nodes: &[NodeId]) -> Vec<Rc<Dist>> {
        let stable = self.n_prefix() + self.taken.len() as i64;
        let (len, n) = (self.cache.len(), nodes.len() as i64);
        self.places.resize(tree.len(), None);
        for (place, &node) in (len..).zip(nodes) {
            let parent = tree[node].parent.expect("the root is expanded by begin");
            let is_run = parent == TokenTree::ROOT || self.places[parent.0].is_some();
            assert!(is_run, "parents are expanded first");
            self.places[node.0] = Some(place);
        }
        // The root is the last stable entry and has no place of its own, which ends the walk upwards.
        let mask = ancestor_mask(tree, nodes, stable, len + n, |node| self.places[node.0]);
        let last = self.backbone.shape().n_positions - 1;
        let positions: Vec<i64> =
            nodes.iter().map(|&node| (stable - 1 + tree[node].depth as i64).min(last)).collect();
        let ids = self.ids(nodes.iter().map(|&node| tree[node].token));
        let ([ids, positions], mask) = self.upload([&ids, &positions], Some(&mask));
        let x = self.embed(&ids, &positions);
        let features = self.run(&x, &positions, mask);
        self.distributions_of(&features)
    }
}

impl DraftModel for ModelDraft {
    fn begin(&mut self, tokens: &[TokenId]) -> Rc<Dist> {
        let _guard = tch::no_grad_guard();
        let time = self.time.clone();
        time.measure(|| self.take_in(tokens))
    }

    fn expand(&mut self, tree: &TokenTree, nodes: &[NodeId]) -> Vec<Rc<Dist>> {
        let _guard = tch::no_grad_guard();
        let time = self.time.clone();
        time.measure(|| self.expand_nodes(tree, nodes))
    }

    fn is_greedy(&self) -> bool {
        self.sampling.is_greedy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_equal_rank_are_paired() {
        let map = VocabularyMap::by_rank(&[0.9, 0.1, 0.5], &[0.2, 0.8, 0.0], Device::Cpu);
        assert_eq!([0, 1, 2].map(|t| map.drafter_id(TokenId(t)).0), [1, 2, 0]);
        let mapped = map.to_target(&Tensor::from_slice(&[20.0_f32, 80.0, 0.0]).unsqueeze(0));
        assert_eq!(mapped, Tensor::from_slice(&[80.0_f32, 0.0, 20.0]).unsqueeze(0));
    }
}
