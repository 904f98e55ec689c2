//! The walk of the recursive rejection written a second time, straight from its pseudo-code: dense f64
//! rows, nothing shared with the library but the values. It can be broken on purpose.

use specimen_decode::{
    dist::TokenId,
    generation::{Generation, Scores},
    rng::{Purpose, Uniforms, slot},
    toy::{ToyGeneration, ToyModel},
    tree::{NodeId, Proposal, TokenTree},
};

use crate::{
    rates::wide,
    support::{ALL, N_TOKENS, N_VOCAB, drafter, image, method, target},
};

/// A classic mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    None,
    /// The correction token comes from `q`, not from what the rejections left.
    ResidualDropped,
    /// A rejected sibling stays in the distribution the next one is tested against (and drawn from).
    SiblingKept,
    /// The i-th sibling is tested with `p[x]` instead of its conditional probability.
    UnconditionalRatio,
    /// The bonus token of a full path comes from the distribution at the root.
    BonusFromTheRoot,
    /// After an acceptance the target's distribution is read at the first sibling's row.
    WrongRow,
}

/// A walk may also grant more than the lossless test does: the rules of `second_rules`.
pub(crate) trait Rules {
    /// Called before each image.
    fn begin_image(&mut self) {}

    /// Called before each walk.
    fn begin(&mut self) {}

    /// What a candidate may claim.
    fn claim(&mut self, asked: &Asked<'_>) -> Claim;

    /// What became of the last claim, tested with the draw `r`.
    fn tested(&mut self, r: f64, accepted: bool) {
        let _ = (r, accepted);
    }
}

/// A candidate `x` at `child`, tested against `g`, drawn from `d`.
pub(crate) struct Asked<'a> {
    pub(crate) g: &'a [f64],
    pub(crate) d: &'a [f64],
    pub(crate) x: usize,
    pub(crate) is_chosen: bool,
    pub(crate) tree: &'a TokenTree,
    pub(crate) child: NodeId,
    pub(crate) parent: NodeId,
    pub(crate) scores: &'a dyn Scores,
}

/// Accepted with probability `target / draft`; `gone` leave the target's distribution on rejection, `spared` keep
/// theirs.
pub(crate) struct Claim {
    pub(crate) target: f64,
    pub(crate) draft: f64,
    pub(crate) gone: Vec<usize>,
    pub(crate) spared: Vec<usize>,
}

/// The lossless test.
pub(crate) struct Plain;

impl Rules for Plain {
    fn claim(&mut self, asked: &Asked<'_>) -> Claim {
        Claim { target: asked.g[asked.x], draft: asked.d[asked.x], gone: Vec::new(), spared: Vec::new() }
    }
}

/// Decodes with the mistake built in; the draws are addressed as in the library.
pub(crate) fn decode(drafter_table: &str, target: ToyModel, seed: u64, mistake: Mistake) -> Vec<TokenId> {
    decode_with(drafter_table, target, seed, mistake, &mut Plain)
}

/// Decodes under other rules.
pub(crate) fn decode_with(
    drafter_table: &str,
    target: ToyModel,
    seed: u64,
    mistake: Mistake,
    rules: &mut dyn Rules,
) -> Vec<TokenId> {
    rules.begin_image();
    let uniforms = Uniforms::new(seed);
    let mut drafter = method(drafter_table, drafter()).drafter;
    drafter.begin_image(N_TOKENS, N_VOCAB, N_VOCAB);
    let mut generation = ToyGeneration::new(target.clone(), N_TOKENS);
    let mut tokens = vec![pick(&wide(&generation.prefill()), uniforms.uniform(Purpose::Root, 0, 0))];
    for step in 0.. {
        if N_TOKENS <= tokens.len() {
            break;
        }
        let n_left = N_TOKENS - tokens.len();
        let tree = drafter.draft(&tokens, n_left, step, &uniforms);
        let mut at_root = ToyGeneration::new(target.clone(), N_TOKENS);
        at_root.queue(&tokens[..tokens.len() - 1]);
        let scores = at_root.score(&tree);
        let distributions = |path: &[TokenId]| wide(&target.distribution(&[&tokens, path].concat()));
        let walk = Walk {
            tree: &tree,
            distributions: &distributions,
            scores: &*scores,
            uniforms: &uniforms,
            step,
            mistake,
        };
        let (path, next) = walk.run(rules, n_left);
        tokens.extend(path.iter().map(|&node| tree[node].token).chain(next));
        drafter.observe(&tree, &path, Some(&*scores), step, &uniforms);
    }
    tokens
}

struct Walk<'a> {
    tree: &'a TokenTree,
    /// The target's distribution after the tokens of a path below the root.
    distributions: &'a dyn Fn(&[TokenId]) -> Vec<f64>,
    scores: &'a dyn Scores,
    uniforms: &'a Uniforms,
    step: u32,
    mistake: Mistake,
}

impl Walk<'_> {
    /// The accepted path, and the token after it unless the path fills the image.
    fn run(&self, rules: &mut dyn Rules, n_left: usize) -> (Vec<NodeId>, Option<TokenId>) {
        let &Walk { tree, distributions, scores, uniforms, step, mistake } = self;
        rules.begin();
        let mut path: Vec<NodeId> = Vec::new();
        let mut row: Vec<TokenId> = Vec::new();
        let mut parent = TokenTree::ROOT;
        while path.len() < n_left {
            let q = distributions(&row);
            let mut g = q.clone();
            let mut tried: Vec<usize> = Vec::new();
            let children: Vec<NodeId> = tree.children(parent).collect();
            let mut accepted = None;
            for (i, &child) in children.iter().enumerate() {
                let x = tree[child].token.idx();
                let r = uniforms.uniform(Purpose::Accept, step, slot(tree[child].depth, i));
                let mut d = draw_distribution(&tree[child].proposal, x, q.len(), &tried, mistake);
                let is_chosen = matches!(tree[child].proposal, Proposal::Chosen);
                let asked = Asked { g: &g, d: &d, x, is_chosen, tree, child, parent, scores };
                let mut claim = rules.claim(&asked);
                if let (Proposal::Sampled { distribution, .. }, Mistake::UnconditionalRatio) =
                    (&tree[child].proposal, mistake)
                {
                    claim.draft = f64::from(distribution.probs()[x]);
                }
                let is_accepted = r < (claim.target / claim.draft).min(1.0);
                rules.tested(r, is_accepted);
                if is_accepted {
                    accepted = Some(child);
                    break;
                }
                if mistake != Mistake::ResidualDropped && !(mistake == Mistake::SiblingKept && d[x] == 1.0) {
                    claim.spared.iter().for_each(|&v| d[v] = 0.0);
                    g = g.iter().zip(&d).map(|(g, d)| (g - d).max(0.0)).collect();
                    claim.gone.iter().for_each(|&v| g[v] = 0.0);
                    g = if 1e-7 < g.iter().sum() { norm(g) } else { q.clone() };
                }
                tried.push(x);
            }
            let Some(child) = accepted else {
                let leaf = children.is_empty() && parent != TokenTree::ROOT;
                let distribution =
                    if leaf && mistake == Mistake::BonusFromTheRoot { distributions(&[]) } else { g };
                return (path, Some(pick(&distribution, uniforms.uniform(Purpose::Resample, step, 0))));
            };
            path.push(child);
            let read = if mistake == Mistake::WrongRow { children[0] } else { child };
            row = tree.path_to(read).into_iter().map(|node| tree[node].token).collect();
            parent = child;
        }
        (path, None)
    }
}

/// The distribution the child was drawn from.
fn draw_distribution(
    proposal: &Proposal,
    x: usize,
    n_vocab: usize,
    tried: &[usize],
    mistake: Mistake,
) -> Vec<f64> {
    let mut d = match proposal {
        Proposal::Sampled { distribution, .. } => wide(distribution),
        _ => (0..n_vocab).map(|v| f64::from(u8::from(v == x))).collect(),
    };
    if mistake != Mistake::SiblingKept {
        tried.iter().for_each(|&t| d[t] = 0.0);
    }
    norm(d)
}

fn norm(row: Vec<f64>) -> Vec<f64> {
    let total: f64 = row.iter().sum();
    row.into_iter().map(|x| x / total).collect()
}

fn pick(distribution: &[f64], u: f64) -> TokenId {
    let total: f64 = distribution.iter().sum();
    let mut cumulative = 0.0;
    let exceeds = |p: &f64| {
        cumulative += p;
        u * total < cumulative
    };
    TokenId(distribution.iter().position(exceeds).unwrap() as u32)
}

#[test]
fn the_library_decodes_token_by_token_as_the_pseudo_code() {
    for drafter_table in ALL {
        for seed in 0..3_000 {
            let expected = decode(drafter_table, target(), seed, Mistake::None);
            let found = image(method(drafter_table, drafter()), target(), N_TOKENS, seed).tokens;
            assert_eq!(found, expected, "seed {seed}, {drafter_table}");
        }
    }
}
