//! The walk of the recursive rejection written a second time, straight from its pseudo-code: dense f64
//! rows, nothing shared with the library but the values. It can be broken on purpose.

use specimen_decode::{
    dist::TokenId,
    generation::Generation,
    rng::{Purpose, Uniforms, slot},
    toy::{ToyGeneration, ToyModel},
    tree::{NodeId, Proposal, TokenTree},
};

use crate::{
    rates::wide,
    support::{ALL, N_TOKENS, drafter, image, method, target},
};

/// A classic mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    None,
    /// The correction token comes from `q`, not from what the rejections left.
    ResidualDropped,
    /// A rejected sibling stays in the law the next one is tested against (and drawn from).
    SiblingKept,
    /// The i-th sibling is tested with `p[x]` instead of its conditional probability.
    UnconditionalRatio,
    /// The bonus token of a full path comes from the law at the root.
    BonusFromTheRoot,
    /// After an acceptance the target's law is read at the first sibling's row.
    WrongRow,
}

/// Decodes with the mistake built in; the draws are addressed as in the library.
pub(crate) fn decode(drafter_table: &str, target: ToyModel, seed: u64, mistake: Mistake) -> Vec<TokenId> {
    let uniforms = Uniforms::new(seed);
    let mut drafter = method(drafter_table, drafter()).drafter;
    let mut generation = ToyGeneration::new(target.clone(), N_TOKENS);
    let mut tokens = vec![pick(&wide(&generation.prefill()), uniforms.uniform(Purpose::Root, 0, 0))];
    for step in 0.. {
        if N_TOKENS <= tokens.len() {
            break;
        }
        let tree = drafter.draft(&tokens, N_TOKENS - tokens.len(), step, &uniforms);
        let laws = |path: &[TokenId]| wide(&target.law(&[&tokens, path].concat()));
        let emitted = walk(&tree, &laws, &uniforms, step, mistake);
        tokens.extend(emitted);
    }
    tokens.truncate(N_TOKENS);
    tokens
}

/// `laws(path)` is the target's law after the tokens of `path` below the root.
fn walk(
    tree: &TokenTree,
    laws: &dyn Fn(&[TokenId]) -> Vec<f64>,
    uniforms: &Uniforms,
    step: u32,
    mistake: Mistake,
) -> Vec<TokenId> {
    let mut path: Vec<TokenId> = Vec::new();
    let mut row: Vec<TokenId> = Vec::new();
    let mut parent = TokenTree::ROOT;
    loop {
        let q = laws(&row);
        let mut g = q.clone();
        let mut tried: Vec<usize> = Vec::new();
        let children: Vec<NodeId> = tree.children(parent).collect();
        let mut accepted = None;
        for (i, &child) in children.iter().enumerate() {
            let x = tree[child].token.idx();
            let r = uniforms.uniform(Purpose::Accept, step, slot(tree[child].depth, i));
            let d = draw_law(&tree[child].proposal, x, q.len(), &tried, mistake);
            let pc = match (&tree[child].proposal, mistake) {
                (Proposal::Sampled { law, .. }, Mistake::UnconditionalRatio) => f64::from(law.probs()[x]),
                _ => d[x],
            };
            if r < (g[x] / pc).min(1.0) {
                accepted = Some(child);
                break;
            }
            if mistake != Mistake::ResidualDropped && !(mistake == Mistake::SiblingKept && d[x] == 1.0) {
                g = norm(g.iter().zip(&d).map(|(g, d)| (g - d).max(0.0)).collect());
            }
            tried.push(x);
        }
        let Some(child) = accepted else {
            let leaf = children.is_empty() && parent != TokenTree::ROOT;
            let law = if leaf && mistake == Mistake::BonusFromTheRoot { laws(&[]) } else { g };
            path.push(pick(&law, uniforms.uniform(Purpose::Resample, step, 0)));
            return path;
        };
        path.push(tree[child].token);
        let read = if mistake == Mistake::WrongRow { children[0] } else { child };
        row = tree.path_to(read).into_iter().map(|node| tree[node].token).collect();
        parent = child;
    }
}

/// The law the child was drawn from.
fn draw_law(proposal: &Proposal, x: usize, n_vocab: usize, tried: &[usize], mistake: Mistake) -> Vec<f64> {
    let mut d = match proposal {
        Proposal::Sampled { law, .. } => wide(law),
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

fn pick(law: &[f64], u: f64) -> TokenId {
    let total: f64 = law.iter().sum();
    let mut cumulative = 0.0;
    let exceeds = |p: &f64| {
        cumulative += p;
        u * total < cumulative
    };
    TokenId(law.iter().position(exceeds).unwrap() as u32)
}

#[test]
fn the_library_decodes_token_by_token_as_the_pseudo_code() {
    for drafter_table in ALL {
        for seed in 0..5_000 {
            let expected = decode(drafter_table, target(), seed, Mistake::None);
            let found = image(method(drafter_table, drafter()), target(), N_TOKENS, seed).tokens;
            assert_eq!(found, expected, "seed {seed}, {drafter_table}");
        }
    }
}
