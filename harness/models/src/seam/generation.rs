//! One image under way: prefix, guidance rows, KV cache, tree mask and positions behind the decoder's three
//! verbs. Written once for all networks.

use std::{
    cell::{OnceCell, RefCell},
    rc::Rc,
};

use specimen_decode::{
    dist::{Dist, TokenId},
    frontier::{PictureRows, Placed},
    generation::{Generation, Scores},
    pipeline::Sampling,
    tree::{NodeId, TokenTree},
};
use tch::{Kind, Tensor};

use crate::seam::{
    backbone::{Backbone, Tapped},
    distributions::{DistributionRows, distributions},
    feature_tap::FeatureTap,
    kv::{KvCache, KvShape},
    mask::{Mask, placed_mask, tree_mask},
    static_steps::{LaneStep, Lanes, Outputs, StaticSteps, StepBuffers},
    transfers::{HostRows, upload},
};

/// A generation over any [`Backbone`].
pub struct ModelGeneration {
    backbone: Rc<dyn Backbone>,
    sampling: Sampling,
    /// `[b, n_prefix, d]`
    prefix: Tensor,
    n_tokens: usize,
    /// The structural token at each image position, where one stands; empty if there are none.
    forced: Rc<[Option<TokenId>]>,
    cache: KvCache,
    /// Absent where every step makes its tensors anew.
    steps: Option<Lane>,
    tap: Rc<RefCell<FeatureTap>>,
    /// Tokens accepted without a forward: the next one runs them before its tree.
    queued: Vec<TokenId>,
    /// What the tap is to get of the last scored tree, `[b, n, w]`.
    scored: Option<Tensor>,
    /// Where the rows of the picture lie; a square where nothing was said.
    rows: Option<PictureRows>,
    /// Image positions of the entries behind the prefix, where tokens were placed at positions of their own.
    kept: Vec<usize>,
    /// Image positions that were placed last.
    placed: Vec<usize>,
}

/// The buffers of steps, and the image's lane among those that share them.
pub(crate) struct Lane {
    pub(crate) steps: Rc<RefCell<StaticSteps>>,
    pub(crate) at: usize,
}

/// A tree as the network gets it, behind the tokens that were accepted without a forward.
pub(crate) struct Asked {
    n_queued: i64,
    n_nodes: i64,
    tokens: Vec<i64>,
    positions: Vec<i64>,
    mask: Option<Mask>,
    /// Image position of the root.
    root: usize,
}

impl Asked {
    /// The step in `lane`, behind the first `n_cached` entries of its cache.
    pub(crate) fn step(&self, lane: usize, n_cached: i64) -> LaneStep<'_> {
        let Self { tokens, positions, mask, .. } = self;
        LaneStep { lane, n_cached, tokens, positions, mask: mask.as_ref() }
    }
}

impl ModelGeneration {
    /// Opens an image of `n_tokens` tokens behind `prefix` (`[b, n_prefix, d]`, caption row first; `b` is 2
    /// exactly when guidance is not 1). `max_tree` bounds the nodes of a tree, root included.
    pub fn new(
        backbone: Rc<dyn Backbone>,
        sampling: Sampling,
        prefix: Tensor,
        n_tokens: usize,
        max_tree: usize,
    ) -> Self {
        Self::over(backbone, sampling, prefix, (n_tokens, max_tree), None)
    }

    /// The same; with `buffers`, its steps run over those.
    pub fn over(
        backbone: Rc<dyn Backbone>,
        sampling: Sampling,
        prefix: Tensor,
        (n_tokens, max_tree): (usize, usize),
        buffers: Option<&Rc<StepBuffers>>,
    ) -> Self {
        let kv = Self::kv_shape(&*backbone, &prefix, (n_tokens, max_tree));
        let (kind, device) = (backbone.kind(), prefix.device());
        let (lane, cache) = match buffers {
            None => (None, KvCache::new(kv, kind, device)),
            Some(buffers) => {
                let (steps, mut caches) = buffers.lend(Lanes::ONE, kv, &sampling, kind, device);
                (Some(Lane { steps, at: 0 }), caches.remove(0))
            }
        };
        Self::with_cache(backbone, sampling, prefix, n_tokens, (lane, cache))
    }

    /// Of the cache of one image behind `prefix`.
    pub(crate) fn kv_shape(
        backbone: &dyn Backbone,
        prefix: &Tensor,
        (n_tokens, max_tree): (usize, usize),
    ) -> KvShape {
        let shape = backbone.shape();
        let (n_rows, n_prefix, _) = prefix.size3().expect("a prefix has three axes");
        let capacity = n_prefix + (n_tokens + max_tree) as i64 + 2;
        KvShape {
            n_layers: shape.n_layers,
            n_rows,
            n_heads: shape.n_heads,
            d_head: shape.d_head,
            capacity: (capacity + 7) / 8 * 8,
        }
    }

    /// An image over `cache`, which is that of its lane where it has one.
    pub(crate) fn with_cache(
        backbone: Rc<dyn Backbone>,
        sampling: Sampling,
        prefix: Tensor,
        n_tokens: usize,
        (steps, cache): (Option<Lane>, KvCache),
    ) -> Self {
        Self {
            backbone,
            sampling,
            prefix,
            n_tokens,
            forced: Rc::default(),
            cache,
            steps,
            tap: Rc::default(),
            queued: Vec::new(),
            scored: None,
            rows: None,
            kept: Vec::new(),
            placed: Vec::new(),
        }
    }

    /// The same image with rows of its picture where `rows` says.
    pub fn with_rows(mut self, rows: PictureRows) -> Self {
        self.rows = Some(rows);
        self
    }

    /// The same image with the structural token of each position that `forced` names one for.
    ///
    /// # Panics
    /// If `forced` has not one entry a position.
    pub fn with_forced(mut self, forced: Vec<Option<TokenId>>) -> Self {
        assert_eq!(forced.len(), self.n_tokens, "one entry a position says what is forced");
        self.forced = forced.into();
        self
    }

    /// The structural token at each image position, where one stands; empty if there are none.
    pub fn forced_tokens(&self) -> &Rc<[Option<TokenId>]> {
        &self.forced
    }

    /// The features that a draft head continues from.
    pub fn tap(&self) -> Rc<RefCell<FeatureTap>> {
        self.tap.clone()
    }

    /// The network that is run for each step.
    pub fn backbone(&self) -> &Rc<dyn Backbone> {
        &self.backbone
    }

    /// How logits become distributions.
    pub fn sampling(&self) -> &Sampling {
        &self.sampling
    }

    /// Guidance rows: 2 under guidance, else 1.
    pub fn n_rows(&self) -> i64 {
        self.prefix.size()[0]
    }

    /// Input vectors before the image, `[b, n_prefix, d]`.
    pub fn prefix(&self) -> &Tensor {
        &self.prefix
    }

    /// Entries of its cache that are valid.
    pub(crate) fn n_cached(&self) -> i64 {
        self.cache.len()
    }

    /// Where the tensors lie.
    pub fn device(&self) -> tch::Device {
        self.prefix.device()
    }

    /// Slots before the image.
    pub fn n_prefix(&self) -> i64 {
        self.prefix.size()[1]
    }

    /// Runs slots behind the cache. `x`: `[b, n, d]`. Returns the features `[b, n, d]`, and what the tap is to get
    /// of them, `[b, n, w]`.
    fn run(&mut self, x: &Tensor, positions: &Tensor, mask: Option<&Tensor>) -> (Tensor, Tensor) {
        let tap = self.tap.borrow();
        let Tapped { features, inner } =
            self.backbone.forward_tapped(x, positions, &mut self.cache, mask, tap.layers());
        let tapped = if inner.is_empty() { features.shallow_clone() } else { Tensor::cat(&inner, -1) };
        (features, tapped)
    }

    /// Runs `tokens` at `positions` behind the cache.
    fn step(&mut self, [tokens, positions]: [&[i64]; 2], mask: Option<&Mask>) -> Outputs {
        if let Some(Lane { steps, at }) = &self.steps {
            let tap = self.tap.borrow();
            let asked = LaneStep { lane: *at, n_cached: self.cache.len(), tokens, positions, mask };
            return steps.borrow_mut().run(&*self.backbone, &[asked], tap.layers()).remove(0);
        }
        let ([tokens, positions], mask) =
            upload([tokens, positions], mask, self.cache.kind(), self.prefix.device());
        let x = self.backbone.embed(&tokens, &positions).unsqueeze(0).expand([self.n_rows(), -1, -1], false);
        let (features, tapped) = self.run(&x, &positions, mask.as_ref());
        let distributions = DistributionRows::new(self.after(&features));
        Outputs { features, tapped, distributions }
    }

    /// Distributions of the tokens that follow `features` (`[b, n, d]`), `[n, n_vocab]`.
    fn after(&self, features: &Tensor) -> Tensor {
        distributions(&self.backbone.logits(features), &self.sampling)
    }

    /// `rows` with those of structural tokens certain: each is of the token at one of the image positions `next`.
    fn with_certain(&self, rows: DistributionRows, next: impl Iterator<Item = usize>) -> DistributionRows {
        for (row, position) in next.enumerate() {
            if let Some(token) = self.forced(position) {
                rows.put(row, Dist::one_hot(self.n_vocab(), token));
            }
        }
        rows
    }

    /// Its lane among the images whose steps run together.
    pub(crate) fn lane(&self) -> Option<&Lane> {
        self.steps.as_ref()
    }

    /// What the network is to run for `tree`.
    pub(crate) fn ask(&mut self, tree: &TokenTree) -> Asked {
        let last = self.backbone.shape().n_positions - 1;
        let queued = std::mem::take(&mut self.queued);
        let n_queued = queued.len() as i64;
        let all = queued.into_iter().chain(tree.ids().map(|id| tree[id].token));
        let tokens: Vec<i64> = all.map(|token| i64::from(token.0)).collect();
        let first = self.cache.next_position();
        let root = first + n_queued;
        let below = tree.ids().map(|id| root + tree[id].depth as i64);
        let positions: Vec<i64> = (first..root).chain(below).map(|at| at.min(last)).collect();
        let mask = tree_mask(tree, self.cache.len(), n_queued);
        let root = (root - self.n_prefix()) as usize;
        Asked { n_queued, n_nodes: tree.len() as i64, tokens, positions, mask, root }
    }

    /// What the network said of `tree`.
    pub(crate) fn take(&mut self, tree: &TokenTree, asked: &Asked, outputs: Outputs) -> Box<dyn Scores> {
        let &Asked { n_queued, n_nodes, root, .. } = asked;
        let Outputs { mut features, mut tapped, mut distributions } = outputs;
        if n_queued > 0 {
            // The missing keys and values are written; the tree comes after them.
            self.cache.keep(&(0..n_queued).collect::<Vec<_>>());
            self.tap.borrow_mut().give(tapped.narrow(1, 0, n_queued));
            let of_tree = |x: &Tensor| x.narrow(1, n_queued, n_nodes);
            (features, tapped) = (of_tree(&features), of_tree(&tapped));
            distributions = distributions.part(n_queued as usize, n_nodes as usize);
        }
        self.scored = Some(tapped);
        let next = tree.ids().map(|id| root + tree[id].depth + 1);
        let distributions = self.with_certain(distributions, next);
        Box::new(ModelScores { distributions, features, on_host: OnceCell::new() })
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
        let mask =
            (n > 1).then(|| crate::llama::layer::causal_mask(n, self.cache.kind()).to_device(options.1));
        let positions = Tensor::arange(n, options);
        let (features, tapped) = self.run(&self.prefix.shallow_clone(), &positions, mask.as_ref());
        let pads = self.backbone.pads();
        // Where all rows have as many, nothing of them stays.
        let n_left_out = pads.first().copied().filter(|n| pads.iter().all(|other| other == n)).unwrap_or(0);
        self.cache.begin(n_left_out, n);
        if let Some(Lane { steps, at }) = &self.steps {
            steps.borrow_mut().hide_pads(*at, if n_left_out > 0 { &[] } else { pads });
        }
        self.tap.borrow_mut().give_prefix(&tapped);
        let first = DistributionRows::new(self.after(&features.narrow(1, n - 1, 1)));
        self.with_certain(first, std::iter::once(0)).row(0)
    }

    fn score(&mut self, tree: &TokenTree) -> Box<dyn Scores> {
        let _guard = tch::no_grad_guard();
        let asked = self.ask(tree);
        let outputs = self.step([&asked.tokens, &asked.positions], asked.mask.as_ref());
        self.take(tree, &asked, outputs)
    }

    fn commit(&mut self, path: &[NodeId]) {
        let _guard = tch::no_grad_guard();
        let tapped = self.scored.take().expect("a tree was scored before it is committed");
        let offsets: Vec<i64> = path.iter().map(|node| node.0 as i64).collect();
        let kept = match self.cache.keep(&offsets) {
            Some(offsets) => tapped.index_select(1, &offsets),
            None => tapped.narrow(1, 0, offsets.len() as i64),
        };
        self.tap.borrow_mut().give(kept);
    }

    fn queue(&mut self, tokens: &[TokenId]) {
        self.queued.extend_from_slice(tokens);
    }

    fn rows(&self) -> PictureRows {
        self.rows.unwrap_or_else(|| PictureRows::square(self.n_tokens))
    }

    fn score_placed(&mut self, tokens: &[Placed]) -> Box<dyn Scores> {
        let _guard = tch::no_grad_guard();
        let last = self.backbone.shape().n_positions - 1;
        self.placed = tokens.iter().map(|placed| placed.position).collect();
        let ids: Vec<i64> = tokens.iter().map(|placed| i64::from(placed.token.0)).collect();
        let first = self.n_prefix();
        let positions: Vec<i64> = self.placed.iter().map(|&at| (first + at as i64).min(last)).collect();
        let mask = placed_mask(self.cache.len() - self.kept.len() as i64, &self.kept, tokens);
        let Outputs { features, distributions, .. } = self.step([&ids, &positions], Some(&mask));
        let distributions = self.with_certain(distributions, self.placed.iter().map(|at| at + 1));
        Box::new(ModelScores { distributions, features, on_host: OnceCell::new() })
    }

    fn keep_placed(&mut self, kept: &[NodeId]) {
        let _guard = tch::no_grad_guard();
        self.cache.keep(&kept.iter().map(|node| node.0 as i64).collect::<Vec<_>>());
        self.kept.extend(kept.iter().map(|node| self.placed[node.0]));
    }

    fn n_codes(&self) -> usize {
        // Structural tokens have the ids behind those of the codes, and each stands somewhere.
        self.forced.iter().flatten().map(|token| token.idx()).min().unwrap_or(self.n_vocab())
    }

    fn forced(&self, position: usize) -> Option<TokenId> {
        self.forced.get(position).copied().flatten()
    }
}

struct ModelScores {
    distributions: DistributionRows,
    /// `[b, n, d]`
    features: Tensor,
    /// Those of the row with the caption, `[n, d]`; they cross together when the first is read.
    on_host: OnceCell<HostRows>,
}

impl Scores for ModelScores {
    fn dist(&self, node: NodeId) -> Rc<Dist> {
        self.distributions.row(node.0)
    }

    fn feature(&self, node: NodeId) -> Rc<[f32]> {
        let rows = self.on_host.get_or_init(|| HostRows::of(&self.features.get(0).to_kind(Kind::Float)));
        rows.row(node.0).into()
    }
}
