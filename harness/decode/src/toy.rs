//! A target without weights: hashed logits over a few tokens, with an exactly known joint distribution.
//!
//! A row of logits is a hash of (seed, guidance stream, all tokens before), so the distribution depends on the whole
//! history and a verifier that looks at the wrong node is found out. It runs through the real
//! [`pipeline`](crate::pipeline). The draft model is the same family under another seed: it overlaps with
//! the target only in part. Both panic when the protocol of [`Generation`] or [`DraftModel`] is broken.

use std::{collections::BTreeMap, rc::Rc};

use crate::{
    dist::{Dist, TokenId},
    drafter::DraftModel,
    frontier::{PictureRows, Placed},
    generation::{Generation, Scores},
    pipeline::{Sampling, distribution},
    tree::{NodeId, TokenTree},
};

/// A language of hashed logits.
#[derive(Clone, Debug)]
pub struct ToyModel {
    /// Picks the hash.
    pub seed: u64,
    /// Tokens are `0..n_vocab`.
    pub n_vocab: usize,
    /// Logits are uniform in `[-spread, spread)`.
    pub spread: f32,
    /// How logits become distributions.
    pub sampling: Sampling,
}

impl ToyModel {
    /// The exact distribution of the token after `context`.
    #[must_use]
    pub fn distribution(&self, context: &[TokenId]) -> Dist {
        distribution(&self.logits(0, context), Some(&self.logits(1, context)), &self.sampling)
    }

    /// The exact probability of every image of `n_tokens` tokens, `[n_vocab ^ n_tokens]`; the first token
    /// is the most significant digit of the index.
    #[must_use]
    pub fn joint(&self, n_tokens: usize) -> Vec<f64> {
        let mut contexts: Vec<(Vec<TokenId>, f64)> = vec![(Vec::new(), 1.0)];
        for _ in 0..n_tokens {
            contexts = contexts.iter().flat_map(|(context, mass)| self.extended(context, *mass)).collect();
        }
        contexts.into_iter().map(|(_, mass)| mass).collect()
    }

    fn extended(&self, context: &[TokenId], mass: f64) -> Vec<(Vec<TokenId>, f64)> {
        // A context of probability zero has a distribution as well; its extensions just weigh nothing.
        let next = self.distribution(context);
        let tokens = (0..self.n_vocab as u32).map(TokenId);
        tokens.map(|t| ([context, &[t]].concat(), mass * f64::from(next.prob(t)))).collect()
    }

    fn logits(&self, stream: u64, context: &[TokenId]) -> Vec<f32> {
        let history =
            hash_all(self.seed, std::iter::once(stream).chain(context.iter().map(|t| u64::from(t.0) + 2)));
        (0..self.n_vocab as u64).map(|v| self.spread * (2.0 * unit(mix(history ^ mix(v))) - 1.0)).collect()
    }
}

/// One toy image under way.
pub struct ToyGeneration {
    model: ToyModel,
    n_tokens: usize,
    /// Tokens whose keys and values a real model would hold.
    committed: Vec<TokenId>,
    /// Tokens taken without a forward, whose keys and values the next one writes.
    queued: Vec<TokenId>,
    scored: Option<Rc<TokenTree>>,
    rows: PictureRows,
    /// What was placed and kept, by position.
    kept: BTreeMap<usize, TokenId>,
    /// What was placed last.
    placed: Vec<Placed>,
    n_forwards: u32,
}

/// Stands for a token that is not decoded yet.
pub const MISSING: TokenId = TokenId(u32::MAX);

impl ToyGeneration {
    /// An image of `n_tokens` tokens, before its prefill.
    #[must_use]
    pub fn new(model: ToyModel, n_tokens: usize) -> Self {
        Self {
            model,
            n_tokens,
            committed: Vec::new(),
            queued: Vec::new(),
            scored: None,
            rows: PictureRows { n_before: 0, len: n_tokens, n: 1 },
            kept: BTreeMap::new(),
            placed: Vec::new(),
            n_forwards: 0,
        }
    }

    /// The same image with rows of `len` tokens, the last one shorter if it must be.
    #[must_use]
    pub fn with_rows(self, len: usize) -> Self {
        let rows = PictureRows { n_before: 0, len, n: self.n_tokens.div_ceil(len) };
        Self { rows, ..self }
    }

    /// Forwards so far, the prefill included.
    #[must_use]
    pub fn n_forwards(&self) -> u32 {
        self.n_forwards
    }
}

impl Generation for ToyGeneration {
    fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    fn n_vocab(&self) -> usize {
        self.model.n_vocab
    }

    fn prefill(&mut self) -> Rc<Dist> {
        assert_eq!(self.n_forwards, 0, "an image has one prefill");
        self.n_forwards += 1;
        Rc::new(self.model.distribution(&[]))
    }

    fn score(&mut self, tree: &TokenTree) -> Box<dyn Scores> {
        self.n_forwards += 1;
        self.committed.append(&mut self.queued);
        let tree = Rc::new(tree.clone());
        self.scored = Some(Rc::clone(&tree));
        let committed = self.committed.clone();
        Box::new(ToyScores { model: self.model.clone(), n_tokens: self.n_tokens, committed, tree })
    }

    fn commit(&mut self, path: &[NodeId]) {
        let tree = self.scored.take().expect("only a scored tree can be committed, and once");
        assert_eq!(path.first(), Some(&TokenTree::ROOT), "the root is committed first");
        for pair in path.windows(2) {
            assert_eq!(tree[pair[1]].parent, Some(pair[0]), "a commit is a path of the tree");
        }
        self.committed.extend(path.iter().map(|&node| tree[node].token));
    }

    fn queue(&mut self, tokens: &[TokenId]) {
        self.queued.extend_from_slice(tokens);
    }

    fn rows(&self) -> PictureRows {
        self.rows
    }

    fn score_placed(&mut self, tokens: &[Placed]) -> Box<dyn Scores> {
        self.n_forwards += 1;
        self.placed = tokens.to_vec();
        let contexts = tokens.iter().enumerate().map(|(node, placed)| {
            let mut context = self.kept.clone();
            let seen = tokens[..=node].iter().filter(|other| other.is_seen_by(placed));
            context.extend(seen.map(|other| (other.position, other.token)));
            (0..=placed.position).map(|at| context.get(&at).copied().unwrap_or(MISSING)).collect()
        });
        Box::new(ToyPlacedScores { model: self.model.clone(), contexts: contexts.collect() })
    }

    fn keep_placed(&mut self, kept: &[NodeId]) {
        for &NodeId(at) in kept {
            let Placed { position, token, .. } = self.placed[at];
            assert_eq!(self.kept.insert(position, token), None, "a position is kept once");
        }
        self.placed.clear();
    }
}

struct ToyPlacedScores {
    model: ToyModel,
    /// What each token sees, itself last; [`MISSING`] where nothing is decoded.
    contexts: Vec<Vec<TokenId>>,
}

impl Scores for ToyPlacedScores {
    fn dist(&self, node: NodeId) -> Rc<Dist> {
        Rc::new(self.model.distribution(&self.contexts[node.0]))
    }

    fn feature(&self, node: NodeId) -> Rc<[f32]> {
        self.model.logits(0, &self.contexts[node.0]).into()
    }
}

struct ToyScores {
    model: ToyModel,
    n_tokens: usize,
    /// Tokens before the root.
    committed: Vec<TokenId>,
    tree: Rc<TokenTree>,
}

impl Scores for ToyScores {
    fn dist(&self, node: NodeId) -> Rc<Dist> {
        let context = context_of(&self.committed, &self.tree, node);
        assert!(context.len() < self.n_tokens, "the distribution beyond the image's end was read");
        Rc::new(self.model.distribution(&context))
    }

    fn feature(&self, node: NodeId) -> Rc<[f32]> {
        self.model.logits(0, &context_of(&self.committed, &self.tree, node)).into()
    }
}

/// A toy model as the network of a drafter. Reused features change its distributions from then on, as they stay in the
/// cache of a real one.
pub struct ToyDraftModel {
    model: ToyModel,
    /// Ages of the features for the tokens it takes in next, if they are not the fresh ones.
    ages: Option<Vec<usize>>,
    is_greedy: bool,
    tokens: Vec<TokenId>,
    is_expanded: Vec<bool>,
}

impl ToyDraftModel {
    /// A draft model that has seen no token yet.
    #[must_use]
    pub fn new(model: ToyModel) -> Self {
        let is_greedy = model.sampling.is_greedy();
        let model = ToyModel { sampling: model.sampling.of_drafts(), ..model };
        Self { model, ages: None, is_greedy, tokens: Vec::new(), is_expanded: Vec::new() }
    }
}

impl DraftModel for ToyDraftModel {
    fn begin(&mut self, tokens: &[TokenId]) -> Rc<Dist> {
        assert!(tokens.starts_with(&self.tokens), "sampled tokens are never taken back");
        if let Some(ages) = self.ages.take() {
            let n_new = tokens.len() - self.tokens.len();
            assert_eq!(ages.len(), n_new, "every token that is taken in is paired with one feature");
            self.model.seed = hash_all(self.model.seed, ages.iter().map(|&age| age as u64));
        }
        self.tokens = tokens.to_vec();
        self.is_expanded = vec![true];
        Rc::new(self.model.distribution(tokens))
    }

    fn expand(&mut self, tree: &TokenTree, nodes: &[NodeId]) -> Vec<Rc<Dist>> {
        self.is_expanded.resize(tree.len(), false);
        for &node in nodes {
            let parent = tree[node].parent.expect("the root is expanded by begin");
            assert!(self.is_expanded[parent.0], "a node is expanded after its parent");
            assert!(!std::mem::replace(&mut self.is_expanded[node.0], true), "a node is expanded once");
        }
        let (_, before_root) = self.tokens.split_last().expect("begin comes before expand");
        nodes
            .iter()
            .map(|&node| Rc::new(self.model.distribution(&context_of(before_root, tree, node))))
            .collect()
    }

    fn reuse_features(&mut self, ages: &[usize]) {
        self.ages = Some(ages.to_vec());
    }

    fn is_greedy(&self) -> bool {
        self.is_greedy
    }
}

/// Tokens before the root, the root, and the path to `node`.
fn context_of(before_root: &[TokenId], tree: &TokenTree, node: NodeId) -> Vec<TokenId> {
    let root = std::iter::once(tree[TokenTree::ROOT].token);
    let path = tree.path_to(node).into_iter().map(|id| tree[id].token);
    before_root.iter().copied().chain(root).chain(path).collect()
}

fn hash_all(seed: u64, values: impl Iterator<Item = u64>) -> u64 {
    values.fold(mix(seed), |state, value| mix(state ^ mix(value)))
}

/// The finaliser of SplitMix64 (Steele et al., OOPSLA 2014), with its increment.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The top 24 bits as a number in `[0, 1)`.
fn unit(hash: u64) -> f32 {
    (hash >> 40) as f32 / (1_u32 << 24) as f32
}
