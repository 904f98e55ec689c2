//! Small networks with random weights, generations over them, and the reference they are compared with:
//! distributions from one forward over a whole sequence, without cache history and without tree.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use specimen_catalog::{Choice, Entry, Part};
use specimen_decode::{
    dist::{Dist, TokenId},
    frontier::PictureRows,
    generation::Generation,
    method::MethodConfig,
    pipeline::{FilterOrder, Sampling},
    rng::{Purpose, Uniforms},
    tree::{NodeId, Proposal, TokenTree},
};
use specimen_models::{
    families::{
        emu3::Emu3,
        igpt::{IgptBackbone, IgptConfig},
        janus::Janus,
        liquid::Liquid,
        llamagen::LlamaGen,
        tiny::{TargetConfig, TinyBackbone},
    },
    files::{placed::Placed, random_weights::RandomWeights},
    heads::{
        draft_head::DraftHead,
        eagle::{EagleConfig, EagleHead, EaglePrefix},
        eagle_draft::EagleDraft,
        eagle3::{Eagle3Config, Eagle3Head},
    },
    seam::{
        distributions::distributions, draft_time::DraftTime, generation::ModelGeneration,
        likelihood::teacher_forced, static_steps::StepBuffers,
    },
};
use tch::{Device, Kind, Tensor, no_grad};

pub(crate) const PLAIN: Sampling = Sampling {
    guidance: 1.0,
    temperature: 1.0,
    top_k: 0,
    top_p: 1.0,
    filter_order: FilterOrder::TopKThenTopP,
    coupled: false,
};
pub(crate) const GUIDED: Sampling = Sampling { guidance: 2.5, temperature: 1.3, ..PLAIN };

pub(crate) const MAX_TREE: usize = 16;
const CAPTION: [i64; 3] = [4, 0, 6];
const NULL_CAPTION: [i64; 3] = [1, 1, 1];

fn tiny_config() -> TargetConfig {
    TargetConfig {
        d_model: 16,
        n_layers: 2,
        n_heads: 2,
        d_head: 8,
        d_ffn: 24,
        n_vocab: 11,
        grid: 4,
        caption_len: 3,
        n_words: 7,
        rope_base: 100.0,
        norm_eps: 1e-5,
    }
}

pub(crate) fn tiny_backbone() -> TinyBackbone {
    tiny_backbone_with(Kind::Float, 0)
}

fn tiny_backbone_with(kind: Kind, n_more: i64) -> TinyBackbone {
    no_grad(|| {
        let config = TargetConfig { n_layers: tiny_config().n_layers + n_more, ..tiny_config() };
        let mut random = RandomWeights::new(1);
        let mut backbone =
            TinyBackbone::new(&mut Placed::new(&mut random, kind, Device::Cpu), &config).unwrap();
        backbone.prepare();
        backbone
    })
}

/// `0.5 * sum |a - b|`, in `[0, 1]`.
pub(crate) fn total_variation(a: &Dist, b: &Dist) -> f64 {
    assert_eq!(a.len(), b.len(), "total variation compares distributions over one vocabulary");
    let moved = |(&a, &b): (&f32, &f32)| (f64::from(a) - f64::from(b)).abs();
    0.5 * a.probs().iter().zip(b.probs()).map(moved).sum::<f64>()
}

/// The caption's row and, under guidance, the null caption's.
pub(crate) fn caption_rows(n_rows: i64) -> Tensor {
    Tensor::from_slice(&[CAPTION, NULL_CAPTION].concat()).view([2, 3]).narrow(0, 0, n_rows)
}

/// What opens an image in a kind, of a network with so many layers more than it has elsewhere.
pub(crate) type OpenWith = fn(Kind, i64, Sampling) -> ModelGeneration;

/// An image of the tiny architecture under way; two rows exactly when guidance is not 1.
pub(crate) fn tiny(sampling: Sampling) -> ModelGeneration {
    tiny_with(Kind::Float, 0, sampling)
}

pub(crate) fn tiny_with(kind: Kind, n_more: i64, sampling: Sampling) -> ModelGeneration {
    let n_rows = if sampling.guidance == 1.0 { 1 } else { 2 };
    let backbone = tiny_backbone_with(kind, n_more);
    let prefix = no_grad(|| backbone.embed_caption(&caption_rows(n_rows)));
    let n_tokens = tiny_config().n_tokens() as usize;
    ModelGeneration::new(Rc::new(backbone), sampling, prefix, n_tokens, MAX_TREE)
}

pub(crate) const SMALL_IGPT: IgptConfig =
    IgptConfig { d_model: 12, n_layers: 3, n_heads: 2, n_vocab: 7, side: 5 };

pub(crate) fn igpt_backbone(seed: u64) -> IgptBackbone {
    IgptBackbone::new(&mut RandomWeights::new(seed), &SMALL_IGPT).unwrap()
}

/// An image of a small Image-GPT under way.
pub(crate) fn igpt(sampling: Sampling) -> ModelGeneration {
    igpt_with(Kind::Float, 0, sampling)
}

pub(crate) fn igpt_with(kind: Kind, n_more: i64, sampling: Sampling) -> ModelGeneration {
    let config = IgptConfig { n_layers: SMALL_IGPT.n_layers + n_more, ..SMALL_IGPT };
    let mut random = RandomWeights::new(2);
    let backbone = IgptBackbone::new(&mut Placed::new(&mut random, kind, Device::Cpu), &config).unwrap();
    let prefix = backbone.prefix();
    ModelGeneration::new(Rc::new(backbone), sampling, prefix, config.n_tokens() as usize, MAX_TREE)
}

/// A way to open the same image again, so that the copy has no history.
pub(crate) type Open = fn() -> ModelGeneration;

/// The toy `name` of the catalog with `n_more` layers more.
fn toy_entry(name: &str, n_more: i64) -> &'static Entry {
    let path = format!("{}/../catalog/models/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let mut toy: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
    let n_layers = &mut toy["target"]["sizes"]["n_layers"];
    *n_layers = (n_layers.as_integer().unwrap() + n_more).into();
    Box::leak(Box::new(toy.try_into().unwrap()))
}

/// An image of LlamaGen at toy width under way; its caption leaves slots empty.
pub(crate) fn llamagen(sampling: Sampling) -> ModelGeneration {
    llamagen_with(Kind::Float, 0, sampling)
}

pub(crate) fn llamagen_with(kind: Kind, n_more: i64, sampling: Sampling) -> ModelGeneration {
    let toy = LlamaGen::made(toy_entry("llamagen-toy", n_more), None, kind, Device::Cpu).unwrap();
    toy.into_model(Device::Cpu).unwrap().open("a red circle", &sampling, MAX_TREE).unwrap()
}

/// An image of Janus at toy width under way.
pub(crate) fn janus(sampling: Sampling) -> ModelGeneration {
    janus_with(Kind::Float, 0, sampling)
}

pub(crate) fn janus_with(kind: Kind, n_more: i64, sampling: Sampling) -> ModelGeneration {
    let toy = Janus::made(toy_entry("janus-toy", n_more), None, kind, Device::Cpu).unwrap();
    toy.into_model(Device::Cpu).unwrap().open("a red bus", &sampling, MAX_TREE).unwrap()
}

/// An image of Emu3 at toy width under way, structural tokens drawn like any other; its caption is shorter than the negative
/// prompt, and heads share keys.
pub(crate) fn emu3(sampling: Sampling) -> ModelGeneration {
    emu3_with(Kind::Float, 0, sampling)
}

pub(crate) fn emu3_with(kind: Kind, n_more: i64, sampling: Sampling) -> ModelGeneration {
    let toy = Emu3::made(toy_entry("emu3-toy", n_more), None, kind, Device::Cpu).unwrap();
    let model = toy.into_model(Device::Cpu).unwrap();
    let opened = model.open("a red bus", &sampling, MAX_TREE).unwrap();
    let (backbone, prefix) = (opened.backbone().clone(), opened.prefix().shallow_clone());
    // Without its structural tokens it has no rows of a picture.
    let one_row = PictureRows { n_before: 0, len: model.n_tokens, n: 1 };
    ModelGeneration::new(backbone, sampling, prefix, model.n_tokens, MAX_TREE).with_rows(one_row)
}

/// An image of Liquid at toy width under way; the row without its caption is padded.
pub(crate) fn liquid(sampling: Sampling) -> ModelGeneration {
    liquid_with(Kind::Float, 0, sampling)
}

pub(crate) fn liquid_with(kind: Kind, n_more: i64, sampling: Sampling) -> ModelGeneration {
    let toy = Liquid::made(toy_entry("liquid-toy", n_more), None, kind, Device::Cpu).unwrap();
    toy.into_model(Device::Cpu).unwrap().open("a red bus", &sampling, MAX_TREE).unwrap()
}

thread_local! {
    /// Buffers by network: images use them one after the other.
    static BUFFERS: RefCell<BTreeMap<&'static str, Rc<StepBuffers>>> = RefCell::default();
}

/// The same image with steps over buffers that stay where they are.
pub(crate) fn over_buffers(network: &'static str, open: Open) -> ModelGeneration {
    let buffers = BUFFERS.with_borrow_mut(|all| all.entry(network).or_default().clone());
    moved_over(&open(), &buffers)
}

/// What `plain` opens, with steps over `buffers`.
fn moved_over(plain: &ModelGeneration, buffers: &Rc<StepBuffers>) -> ModelGeneration {
    let (backbone, prefix) = (plain.backbone().clone(), plain.prefix().shallow_clone());
    let sizes = (plain.n_tokens(), MAX_TREE);
    let image = ModelGeneration::over(backbone, *plain.sampling(), prefix, sizes, Some(buffers));
    let image = image.with_rows(plain.rows());
    let forced = plain.forced_tokens();
    if forced.is_empty() { image } else { image.with_forced(forced.to_vec()) }
}

/// An image whose steps make their tensors anew, and the same as a CUDA graph would run it.
pub(crate) fn both_ways(plain: ModelGeneration) -> [(&'static str, ModelGeneration); 2] {
    let buffered = moved_over(&plain, &Rc::default());
    [("eager", plain), ("over buffers", buffered)]
}

/// Every architecture, with and without guidance, and as a CUDA graph would run it.
pub(crate) const EVERY_NETWORK: [(&str, Open); 18] = [
    ("tiny", || tiny(PLAIN)),
    ("guided tiny", || tiny(GUIDED)),
    ("igpt", || igpt(PLAIN)),
    ("llamagen", || llamagen(PLAIN)),
    ("guided llamagen", || llamagen(GUIDED)),
    ("janus", || janus(PLAIN)),
    ("guided janus", || janus(GUIDED)),
    ("emu3", || emu3(PLAIN)),
    ("guided emu3", || emu3(GUIDED)),
    ("liquid", || liquid(PLAIN)),
    ("guided liquid", || liquid(GUIDED)),
    ("static tiny", || over_buffers("tiny", || tiny(PLAIN))),
    ("static guided tiny", || over_buffers("tiny", || tiny(GUIDED))),
    ("static igpt", || over_buffers("igpt", || igpt(PLAIN))),
    ("static guided llamagen", || over_buffers("llamagen", || llamagen(GUIDED))),
    ("static guided janus", || over_buffers("janus", || janus(GUIDED))),
    ("static guided emu3", || over_buffers("emu3", || emu3(GUIDED))),
    ("static guided liquid", || over_buffers("liquid", || liquid(GUIDED))),
];

pub(crate) fn eagle_head() -> Rc<EagleHead> {
    let config = EagleConfig {
        bias: true,
        input_norm: true,
        output_norm: true,
        prefix: EaglePrefix::ImageOnly,
        n_heads: 2,
        n_kv_heads: None,
        d_head: 8,
        d_ffn: 24,
        norm_eps: 1e-5,
    };
    no_grad(|| {
        let mut head = EagleHead::new(&mut RandomWeights::new(3), &config, tiny_config().d_model).unwrap();
        head.layer.prepare();
        Rc::new(head)
    })
}

pub(crate) fn eagle3_head() -> Rc<Eagle3Head> {
    let config = Eagle3Config {
        taps: [0, 1, 1],
        prefix: EaglePrefix::ImageOnly,
        n_heads: 2,
        n_kv_heads: None,
        d_head: 8,
        d_ffn: 24,
        norm_eps: 1e-5,
    };
    let TargetConfig { d_model, n_vocab, .. } = tiny_config();
    no_grad(|| {
        let mut head = Eagle3Head::new(&mut RandomWeights::new(4), &config, d_model, n_vocab).unwrap();
        head.prepare();
        Rc::new(head)
    })
}

/// A way to get a head.
pub(crate) type Head = fn() -> Rc<dyn DraftHead>;

/// Every kind of head over the tiny architecture, by its name as a proposer.
pub(crate) const EVERY_HEAD: [(&str, Head); 2] = [("eagle1", || eagle_head()), ("eagle3", || eagle3_head())];

/// A drafter for an image whose prefill has not run.
pub(crate) fn draft_for(head: Rc<dyn DraftHead>, generation: &ModelGeneration) -> EagleDraft {
    EagleDraft::new(head, generation, MAX_TREE, DraftTime::new(tch::Device::Cpu))
}

/// A method from its `drafter` table, written as JSON.
pub(crate) fn method(drafter: &str) -> MethodConfig {
    serde_json::from_str(&format!(r#"{{ "drafter": {drafter} }}"#)).unwrap()
}

/// The distribution of the token after `tokens`, from a single forward over them.
pub(crate) fn fresh_distribution(generation: &ModelGeneration, tokens: &[TokenId]) -> Vec<f32> {
    no_grad(|| {
        // A last token is never fed: it only says how many distributions are wanted.
        let padded = [tokens, &[TokenId(0)]].concat();
        let features = teacher_forced(generation, &padded);
        let logits = generation.backbone().logits(&features);
        row_values(&distributions(&logits, generation.sampling()).get(tokens.len() as i64))
    })
}

pub(crate) fn row_values(row: &Tensor) -> Vec<f32> {
    Vec::try_from(row.to_kind(tch::Kind::Float).contiguous()).unwrap()
}

#[track_caller]
pub(crate) fn check_distribution(found: &Dist, expected: &[f32], tolerance: f32, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let distance = found.probs().iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(distance < tolerance, "{what}: distributions differ by {distance}");
}

/// Largest entry-wise distance allowed between two f32 ways to one distribution.
pub(crate) const F32: f32 = 1e-4;

/// Pseudo-random choices of a test.
pub(crate) struct Choices {
    uniforms: Uniforms,
    n_made: u32,
}

impl Choices {
    pub(crate) fn new(seed: u64) -> Self {
        Self { uniforms: Uniforms::new(seed), n_made: 0 }
    }

    /// One of `0..n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.n_made += 1;
        (self.uniforms.uniform(Purpose::Draft, 0, self.n_made) * n as f64) as usize
    }

    pub(crate) fn token(&mut self, n_vocab: usize) -> TokenId {
        TokenId(self.below(n_vocab) as u32)
    }

    /// A tree below `root` of up to `n_drafts` candidates, none deeper than `max_depth`.
    pub(crate) fn tree(
        &mut self,
        root: TokenId,
        n_drafts: usize,
        max_depth: usize,
        n_vocab: usize,
    ) -> TokenTree {
        let mut tree = TokenTree::new(root);
        for _ in 0..n_drafts {
            let parent = NodeId(self.below(tree.len()));
            if tree[parent].depth < max_depth {
                let token = self.token(n_vocab);
                tree.push(parent, token, Proposal::Chosen);
            }
        }
        tree
    }
}

/// Tokens of `tree` from the root down to `node`.
pub(crate) fn path_tokens(tree: &TokenTree, node: NodeId) -> Vec<TokenId> {
    let below = tree.path_to(node).into_iter().map(|id| tree[id].token);
    std::iter::once(tree[TokenTree::ROOT].token).chain(below).collect()
}

/// Tokens that a head takes in next, and where their features come from.
pub(crate) struct TakenIn<'a> {
    /// All tokens sampled so far.
    pub(crate) tokens: &'a [TokenId],
    /// Index, for each token, of the feature it is paired with: feature `i` predicts token `i`.
    pub(crate) paired: &'a [usize],
    /// Ages of the features of the new ones, if they are not fresh.
    pub(crate) ages: Option<&'a [usize]>,
}

/// Decodes `generation` to its end through random trees and random paths; after a verification the next path
/// may be taken without a forward, its tokens paired with features as old as they come. `draft` sees what a head
/// takes in before each step, and the step's tree; `check` the tokens before the root and the distributions after
/// scoring.
pub(crate) fn skipping_history(
    generation: &mut ModelGeneration,
    seed: u64,
    mut draft: impl FnMut(TakenIn<'_>, &TokenTree),
    mut check: impl FnMut(&[TokenId], &TokenTree, &[Rc<Dist>]),
) -> usize {
    let (n_tokens, n_vocab) = (generation.n_tokens(), generation.n_vocab());
    let mut choices = Choices::new(seed);
    generation.prefill();
    let mut tokens = vec![choices.token(n_vocab)];
    let (mut n_run, mut paired, mut ages, mut n_skips) = (0, vec![0], None::<Vec<usize>>, 0);
    while tokens.len() < n_tokens {
        let n_left = n_tokens - tokens.len();
        let tree = choices.tree(tokens[tokens.len() - 1], 9, n_left.min(4), n_vocab);
        draft(TakenIn { tokens: &tokens, paired: &paired, ages: ages.as_deref() }, &tree);
        let taken = NodeId(choices.below(tree.len()));
        let path = tree.path_to(taken);
        let may_skip = ages.is_none() && !path.is_empty();
        let new = path.iter().map(|&id| tree[id].token);
        if may_skip && choices.below(2) == 0 {
            let unscored = [&tokens[tokens.len() - 1..], &new.clone().collect::<Vec<_>>()].concat();
            generation.queue(&unscored[..path.len()]);
            let drawn: Vec<usize> = path.iter().map(|_| choices.below(n_run + 1)).collect();
            paired.extend(drawn.iter().map(|age| n_run - age));
            tokens.extend(new);
            ages = Some(drawn);
            n_skips += 1;
        } else {
            let scores = generation.score(&tree);
            let dists: Vec<Rc<Dist>> = tree.ids().map(|id| scores.dist(id)).collect();
            check(&tokens, &tree, &dists);
            generation.commit(&[&[TokenTree::ROOT], &*path].concat());
            paired.extend(tokens.len()..=tokens.len() + path.len());
            tokens.extend(new);
            n_run = tokens.len();
            tokens.push(choices.token(n_vocab));
            ages = None;
        }
    }
    n_skips
}

/// Decodes `generation` to its end through random trees and random accepted paths. Before each step `check`
/// sees the tokens so far and the tree; after scoring, the distributions of all nodes.
pub(crate) fn random_history(
    generation: &mut ModelGeneration,
    seed: u64,
    mut check: impl FnMut(&[TokenId], &TokenTree, &[Rc<Dist>]),
) {
    let (n_tokens, n_vocab) = (generation.n_tokens(), generation.n_vocab());
    let mut choices = Choices::new(seed);
    generation.prefill();
    let mut tokens = vec![choices.token(n_vocab)];
    while tokens.len() < n_tokens {
        let n_left = n_tokens - tokens.len();
        let tree = choices.tree(tokens[tokens.len() - 1], 9, n_left.min(4), n_vocab);
        let scores = generation.score(&tree);
        let dists: Vec<Rc<Dist>> = tree.ids().map(|id| scores.dist(id)).collect();
        check(&tokens, &tree, &dists);
        let accepted = NodeId(choices.below(tree.len()));
        let path = [vec![TokenTree::ROOT], tree.path_to(accepted)].concat();
        generation.commit(&path);
        tokens.extend(path[1..].iter().map(|&id| tree[id].token));
        tokens.push(choices.token(n_vocab));
    }
}

/// A part of a made-up model: `files` in the repository `repo`.
pub(crate) fn part_of(repo: &str, role: &str, files: &[&str]) -> &'static Part {
    let files = files.iter().map(|file| (*file).to_owned()).collect();
    let choices = vec![Choice { repo: repo.to_owned(), files, revision: None }];
    Box::leak(Box::new(Part { role: role.to_owned(), choices, fetched: Vec::new() }))
}
