//! Drafting one image with a head that continues features: a stable cache of committed (token, feature) pairs,
//! and tree nodes behind it that the next step forgets. A pair stays as it was taken in: where the feature was
//! an old one, as after a skipped verification, the fresh one never replaces it.

use std::{cell::RefCell, rc::Rc};

use specimen_decode::{
    dist::{Dist, TokenId},
    drafter::DraftModel,
    tree::{NodeId, TokenTree},
};
use tch::Tensor;

use crate::{
    heads::draft_head::DraftHead,
    llama::padded::Padding,
    seam::{
        distributions::{DistributionRows, distributions, likeliest},
        draft_time::DraftTime,
        feature_tap::FeatureTap,
        generation::ModelGeneration,
        kv::{KvCache, KvShape},
        mask::{Mask, ancestor_mask, causal_behind},
        transfers::upload,
    },
};

/// One image's drafter state. Pairs of the prefix, where the head has seen it, come before the image's.
pub struct EagleDraft {
    head: Rc<dyn DraftHead>,
    context: Context,
    cache: KvCache,
    tap: Rc<RefCell<FeatureTap>>,
    /// Absent where the head begins with the image.
    front: Option<Front>,
    /// Hides the pads of the front.
    padding: Padding,
    /// Ages of the features for the tokens it takes in next, if they are not the fresh ones.
    reused: Option<Vec<usize>>,
    /// Predicted features of the root and of every expanded node, `[b, m, d]`.
    predicted: Tensor,
    /// Row of `predicted`, and place behind the stable cache, of every expanded node; `None` if not run.
    rows: Vec<Option<i64>>,
    /// Whether tokens that are chosen, not drawn, are found where the distributions are: elsewhere than on the host.
    chooses_on_device: bool,
    time: DraftTime,
}

/// What a head has seen of the prefix.
pub struct Front {
    /// Input vectors of what follows each slot of the prefix but the last, which the slot's feature is paired with,
    /// `[b, n_prefix - 1, d]`.
    pub following: Tensor,
    /// Pads at the front of each row that are hidden from the pairs behind them; empty where none is.
    pub pads: Vec<i64>,
}

/// What a forward of the head predicted.
struct Ran {
    /// Features, `[b, m, d]`.
    predicted: Tensor,
    /// Image positions of the tokens they are the distributions of.
    next: Vec<i64>,
}

/// What of the generation the drafter reads.
struct Context {
    backbone: Rc<dyn crate::seam::backbone::Backbone>,
    sampling: specimen_decode::pipeline::Sampling,
    n_rows: i64,
    n_prefix: i64,
    /// As [`ModelGeneration::forced_tokens`].
    forced: Rc<[Option<TokenId>]>,
    device: tch::Device,
}

impl EagleDraft {
    /// A drafter for `generation` that runs at most `max_run` nodes for one tree: its cache is as large as it gets.
    ///
    /// # Panics
    /// If `generation` has run its prefill: what the head reads is asked for before.
    pub fn new(
        head: Rc<dyn DraftHead>,
        generation: &ModelGeneration,
        max_run: usize,
        time: DraftTime,
    ) -> Self {
        Self::behind(head, generation, max_run, time, None)
    }

    /// The same for a head that has seen the prefix as `front` says.
    ///
    /// # Panics
    /// If `generation` has run its prefill, or `front` has another length than its prefix.
    pub fn behind(
        head: Rc<dyn DraftHead>,
        generation: &ModelGeneration,
        max_run: usize,
        time: DraftTime,
        front: Option<Front>,
    ) -> Self {
        use specimen_decode::generation::Generation;
        let n_front = front.as_ref().map_or(0, |front| front.following.size()[1]);
        if front.is_some() {
            assert_eq!(n_front, generation.n_prefix() - 1, "one vector for each slot but the last");
            generation.tap().borrow_mut().ask_for_prefix();
        }
        let backbone = generation.backbone().clone();
        generation.tap().borrow_mut().ask_for(head.taps());
        let layer = head.layer_shape();
        let capacity = n_front + (generation.n_tokens() + max_run + 2) as i64;
        let shape = KvShape {
            n_layers: 1,
            n_rows: generation.n_rows(),
            n_heads: layer.n_kv_heads,
            d_head: layer.d_head,
            capacity: (capacity + 7) / 8 * 8,
        };
        let device = generation.device();
        let context = Context {
            sampling: *generation.sampling(),
            n_rows: generation.n_rows(),
            n_prefix: generation.n_prefix(),
            forced: generation.forced_tokens().clone(),
            device,
            backbone,
        };
        Self {
            cache: KvCache::new(shape, context.backbone.kind(), device),
            tap: generation.tap(),
            padding: Padding::new(front.as_ref().map_or_else(Vec::new, |front| front.pads.clone())),
            front,
            reused: None,
            predicted: Tensor::new(),
            rows: Vec::new(),
            chooses_on_device: device != tch::Device::Cpu,
            head,
            context,
            time,
        }
    }

    /// The same, with chosen tokens found on the device even if that is the host's processor.
    pub fn choosing_on_device(self) -> Self {
        Self { chooses_on_device: true, ..self }
    }

    /// Pairs in front of the image's.
    fn n_front(&self) -> i64 {
        self.front.as_ref().map_or(0, |front| front.following.size()[1])
    }

    /// Runs pairs at the image positions `positions` (0-based; negative in the prefix) behind `from` cached entries.
    /// `tokens` are the last of them; those before are of the prefix. `features`: `[b, n, d]`, admitted or predicted; where
    /// `parents` has places, those of them.
    fn run(
        &mut self,
        tokens: &[i64],
        positions: &[i64],
        (features, parents): (&Tensor, &[i64]),
        from: i64,
        mask: Option<&Mask>,
    ) -> Tensor {
        let Context { backbone, n_rows, n_prefix, device, .. } = &self.context;
        let last = backbone.shape().n_positions - 1;
        let n_before = positions.len() - tokens.len();
        let positions: Vec<i64> = positions.iter().map(|p| (n_prefix + p).min(last)).collect();
        let ([tokens, positions, parents], mask) =
            upload([tokens, &positions, parents], mask, self.cache.kind(), *device);
        let of_tokens = positions.narrow(0, n_before as i64, tokens.size()[0]);
        let features = match parents.numel() {
            0 => features.shallow_clone(),
            _ => features.index_select(1, &parents),
        };
        let embeddings = self.head.embed(&**backbone, &tokens, &of_tokens);
        let mut embeddings = embeddings.unsqueeze(0).expand([*n_rows, -1, -1], false);
        if n_before > 0 {
            let front = self.front.as_ref().expect("pairs before the image are of a prefix");
            embeddings = Tensor::cat(&[&front.following, &embeddings], 1);
        }
        let mask =
            self.padding.hide(mask.as_ref(), embeddings.size()[1], from, self.cache.kind(), &embeddings);
        let turns = backbone.turns().expect("an EAGLE head shares its target's rotary positions");
        let turns = turns.at(&positions, self.head.layer_shape().turned_and_still());
        let layer = &mut self.cache.layers_from(from)[0];
        self.head.step(&embeddings, &features, &turns, layer, mask.as_ref())
    }

    /// Distributions of the tokens that a forward predicted, on the device.
    fn distributions_of(&self, ran: &Ran) -> Tensor {
        let Context { backbone, sampling, .. } = &self.context;
        distributions(&self.head.logits(&**backbone, &ran.predicted), &sampling.of_drafts())
    }

    /// The token that stands at the image position `position`, which is drafted as surely as it stands.
    fn forced(&self, position: i64) -> Option<TokenId> {
        self.context.forced.get(position as usize).copied().flatten()
    }

    /// The distributions on the host.
    fn all_of(&self, ran: &Ran) -> Vec<Rc<Dist>> {
        let rows = DistributionRows::new(self.distributions_of(ran));
        for (row, &position) in ran.next.iter().enumerate() {
            if let Some(token) = self.forced(position) {
                rows.put(row, Dist::one_hot(self.context.backbone.shape().n_vocab as usize, token));
            }
        }
        rows.all()
    }

    /// Their `k` most probable tokens.
    fn likeliest_of(&self, ran: &Ran, k: usize) -> Vec<Vec<(TokenId, f32)>> {
        if !self.chooses_on_device {
            return self.all_of(ran).iter().map(|distribution| distribution.likeliest(k)).collect();
        }
        let mut rows = likeliest(&self.distributions_of(ran), k);
        for (row, &position) in rows.iter_mut().zip(&ran.next) {
            if let Some(token) = self.forced(position) {
                *row = vec![(token, 1.0)];
            }
        }
        rows
    }

    fn take_in(&mut self, tokens: &[TokenId]) -> Ran {
        let stable = self.cache.len();
        let n_before = self.n_front();
        let n = n_before + tokens.len() as i64 - stable;
        let features = match self.reused.take() {
            None => self.tap.borrow_mut().fresh(n as usize),
            Some(mut ages) => {
                if stable == 0 {
                    // The prefix is paired with its own features, the oldest there are.
                    let oldest = self.tap.borrow().n_given() - 1;
                    ages.splice(0..0, (0..n_before as usize).map(|slot| oldest - slot));
                }
                assert_eq!(ages.len() as i64, n, "every token that is taken in is paired with one feature");
                self.tap.borrow_mut().aged(&ages)
            }
        };
        let features = self.head.admit(&features);
        let n_held = (stable - n_before).max(0) as usize;
        let new: Vec<i64> = tokens[n_held..].iter().map(|t| i64::from(t.0)).collect();
        let positions: Vec<i64> = (stable..stable + n).map(|slot| slot - n_before).collect();
        let mask = causal_behind(stable, n);
        let out = self.run(&new, &positions, (&features, &[]), stable, mask.as_ref());
        self.cache.keep(&(0..n).collect::<Vec<_>>());
        self.predicted = out.narrow(1, n - 1, 1);
        self.rows = vec![Some(0)];
        Ran { predicted: self.predicted.shallow_clone(), next: vec![stable + n - n_before] }
    }

    fn expand_nodes(&mut self, tree: &TokenTree, nodes: &[NodeId]) -> Ran {
        self.rows.resize(tree.len(), None);
        let stable = self.cache.len();
        let n = nodes.len() as i64;
        let n_run = self.predicted.size()[1];
        let row_of = |rows: &[Option<i64>], node: NodeId| rows[node.0].expect("parents are expanded first");
        let parents: Vec<i64> = nodes
            .iter()
            .map(|&node| row_of(&self.rows, tree[node].parent.expect("the root is expanded by begin")))
            .collect();
        for (i, node) in nodes.iter().enumerate() {
            self.rows[node.0] = Some(n_run + i as i64);
        }
        // Places behind the stable cache: the root's pair is the last stable one, node rows follow in order.
        let place = |node| Some(stable + row_of(&self.rows, node) - 1);
        let mask = ancestor_mask(tree, nodes, stable, stable + n_run - 1 + n, place);
        let root = stable - 1 - self.n_front();
        let tokens: Vec<i64> = nodes.iter().map(|&node| i64::from(tree[node].token.0)).collect();
        let positions: Vec<i64> = nodes.iter().map(|&node| root + tree[node].depth as i64).collect();
        let known = self.predicted.shallow_clone();
        let out = self.run(&tokens, &positions, (&known, &parents), stable + n_run - 1, Some(&mask));
        self.predicted = Tensor::cat(&[&self.predicted, &out], 1);
        Ran { predicted: out, next: positions.iter().map(|position| position + 1).collect() }
    }

    /// What `work` gives, in time that counts as the drafter's.
    fn measured<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let _guard = tch::no_grad_guard();
        let time = self.time.clone();
        time.measure(|| work(self))
    }
}

impl DraftModel for EagleDraft {
    fn begin(&mut self, tokens: &[TokenId]) -> Rc<Dist> {
        self.measured(|draft| {
            let ran = draft.take_in(tokens);
            draft.all_of(&ran).remove(0)
        })
    }

    fn expand(&mut self, tree: &TokenTree, nodes: &[NodeId]) -> Vec<Rc<Dist>> {
        self.measured(|draft| {
            let ran = draft.expand_nodes(tree, nodes);
            draft.all_of(&ran)
        })
    }

    fn begin_choosing(&mut self, tokens: &[TokenId], k: usize) -> Vec<(TokenId, f32)> {
        self.measured(|draft| {
            let ran = draft.take_in(tokens);
            draft.likeliest_of(&ran, k).remove(0)
        })
    }

    fn expand_choosing(&mut self, tree: &TokenTree, nodes: &[NodeId], k: usize) -> Vec<Vec<(TokenId, f32)>> {
        self.measured(|draft| {
            let ran = draft.expand_nodes(tree, nodes);
            draft.likeliest_of(&ran, k)
        })
    }

    fn reuse_features(&mut self, ages: &[usize]) {
        self.reused = Some(ages.to_vec());
    }

    fn is_greedy(&self) -> bool {
        self.context.sampling.is_greedy()
    }
}
