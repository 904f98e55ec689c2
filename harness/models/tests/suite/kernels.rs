//! What a step asks of the device: kernels, and copies between host and device. Budgets that hold on any machine; a change
//! that needs more says so here.

use specimen_decode::{
    dist::TokenId,
    drafter::DraftModel,
    generation::Generation,
    tree::{NodeId, Proposal, TokenTree},
};
use specimen_models::{
    heads::model_draft::ModelDraft,
    seam::{
        draft_time::DraftTime,
        transfers::{Crossings, crossings},
    },
};
use specimen_operators::{Kernels, count};

use crate::support::{EVERY_HEAD, EVERY_NETWORK, GUIDED, MAX_TREE, Open, PLAIN, draft_for, tiny, tiny_with};

/// Kernels of a plain step, and of a verification of a tree of 13 nodes whose distributions are all read.
const STEPS: [(&str, [u64; 2]); 11] = [
    ("tiny", [43, 43]),
    ("guided tiny", [47, 47]),
    ("igpt", [40, 40]),
    ("llamagen", [43, 43]),
    ("guided llamagen", [47, 47]),
    ("janus", [45, 45]),
    ("guided janus", [49, 49]),
    ("emu3", [45, 55]),
    ("guided emu3", [49, 62]),
    ("liquid", [43, 43]),
    ("guided liquid", [47, 48]),
];

/// Kernels of one LLaMA layer in f32; 9 would be a layer whose norms, gate and residuals were fused.
const LAYER: u64 = 13;

/// Kernels of taking in a token, and of a level of the tree.
const DRAFTS: [(&str, [u64; 2]); 2] = [("eagle1", [36, 38]), ("eagle3", [51, 52])];

/// One copy each way: ids, positions and mask go up together, all distributions come back together.
const ONE: Crossings = Crossings { n_uploads: 1, n_downloads: 1 };

/// A root and 12 nodes below it on three levels.
fn tree() -> TokenTree {
    let mut tree = TokenTree::new(TokenId(2));
    for parent in [0, 0, 0, 1, 1, 2, 3, 4, 4, 5, 6, 6] {
        tree.push(NodeId(parent), TokenId(3), Proposal::Chosen);
    }
    tree
}

/// What the second step of an image costs: the first makes what is kept.
fn costs(open: Open, tree: &TokenTree) -> (Kernels, Crossings) {
    let mut generation = open();
    generation.prefill();
    let first = TokenTree::new(TokenId(1));
    let scores = generation.score(&first);
    scores.dist(TokenTree::ROOT);
    generation.commit(&[TokenTree::ROOT]);
    let read = || {
        let scores = generation.score(tree);
        tree.ids().for_each(|node| drop(scores.dist(node)));
    };
    let (((), crossings), kernels) = count(|| crossings(read));
    (kernels, crossings)
}

#[test]
fn a_step_stays_within_its_kernels_and_crosses_once_each_way() {
    let mut beyond = Vec::new();
    for ((name, open), (named, budgets)) in EVERY_NETWORK.into_iter().zip(STEPS) {
        assert_eq!(name, named);
        for (tree, budget) in [TokenTree::new(TokenId(2)), tree()].iter().zip(budgets) {
            let (kernels, crossed) = costs(open, tree);
            let n_nodes = tree.len();
            if kernels.n() > budget {
                beyond.push(format!("{name}, {n_nodes} nodes: {} for {budget}: {kernels:?}", kernels.n()));
            }
            assert_eq!(crossed, ONE, "{name}, {n_nodes} nodes");
        }
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}

#[test]
fn a_step_over_buffers_crosses_once_each_way() {
    for (name, open) in EVERY_NETWORK.into_iter().skip(STEPS.len()) {
        for tree in [TokenTree::new(TokenId(2)), tree()] {
            assert_eq!(costs(open, &tree).1, ONE, "{name}, {} nodes", tree.len());
        }
    }
}

#[test]
fn a_layer_more_costs_its_budget() {
    let of = |n_layers: i64| {
        let mut generation = tiny_with(n_layers, PLAIN);
        generation.prefill();
        let (_, kernels) = count(|| generation.score(&TokenTree::new(TokenId(1))));
        kernels.n()
    };
    assert_eq!(of(3) - of(2), LAYER);
}

#[test]
fn features_of_a_tree_cross_together() {
    let mut generation = tiny(GUIDED);
    generation.prefill();
    let tree = tree();
    let scores = generation.score(&tree);
    let ((), crossed) = crossings(|| tree.ids().for_each(|node| drop(scores.feature(node))));
    assert_eq!(crossed, Crossings { n_uploads: 0, n_downloads: 1 });
}

#[test]
fn a_commit_crosses_once_at_most() {
    let mut generation = tiny(GUIDED);
    generation.prefill();
    for (path, n_uploads) in [(vec![NodeId(0), NodeId(1)], 0), (vec![NodeId(0), NodeId(2), NodeId(6)], 1)] {
        generation.score(&tree());
        let ((), crossed) = crossings(|| generation.commit(&path));
        assert_eq!(crossed, Crossings { n_uploads, n_downloads: 0 }, "{path:?}");
    }
}

#[test]
fn a_level_of_a_draft_stays_within_its_kernels_and_crosses_once_each_way() {
    let mut beyond = Vec::new();
    for ((name, head), (named, [of_begin, of_level])) in EVERY_HEAD.into_iter().zip(DRAFTS) {
        assert_eq!(name, named);
        let mut generation = tiny(GUIDED);
        let mut draft = draft_for(head(), &generation);
        generation.prefill();
        let (first, begun) = count(|| crossings(|| draft.begin(&[TokenId(1)])).1);
        let mut tree = TokenTree::new(TokenId(1));
        let level = [2, 3, 5].map(|token| tree.push(TokenTree::ROOT, TokenId(token), Proposal::Chosen));
        let (second, expanded) = count(|| crossings(|| draft.expand(&tree, &level)).1);
        for (kernels, budget) in [(begun, of_begin), (expanded, of_level)] {
            if kernels.n() > budget {
                beyond.push(format!("{name}: {} for {budget}: {kernels:?}", kernels.n()));
            }
        }
        assert_eq!((first, second), (ONE, ONE), "{name}");
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}

#[test]
fn another_model_that_drafts_crosses_once_each_way() {
    for (name, open) in EVERY_NETWORK {
        let generation = open();
        let mut draft = ModelDraft::new(
            generation.backbone().clone(),
            generation.prefix().shallow_clone(),
            *generation.sampling(),
            None,
            generation.n_tokens() + MAX_TREE,
            DraftTime::new(tch::Device::Cpu),
        );
        drop(draft.begin(&[TokenId(1)]));
        let ((), taken) = crossings(|| drop(draft.begin(&[TokenId(1), TokenId(2)])));
        let mut tree = TokenTree::new(TokenId(2));
        let level = [2, 3, 5].map(|token| tree.push(TokenTree::ROOT, TokenId(token), Proposal::Chosen));
        let (_, expanded) = crossings(|| draft.expand(&tree, &level));
        assert_eq!((taken, expanded), (ONE, ONE), "{name}");
    }
}
