//! The EAGLE draft: tree nodes see their own path only, and nothing of an earlier step's tree survives.

use std::rc::Rc;

use specimen_decode::{
    dist::{Dist, TokenId},
    drafter::DraftModel,
    generation::Generation,
    pipeline::Sampling,
    tree::{NodeId, Proposal, TokenTree},
};
use specimen_models::{
    backbone::Backbone, draft_time::DraftTime, eagle_draft::EagleDraft, generation::ModelGeneration,
    laws::laws, llama::causal_mask, target::teacher_forced,
};
use tch::{Kind, Tensor, no_grad};

use crate::support::{
    Choices, F32, GUIDED, MAX_TREE, PLAIN, check_law, eagle_head, path_tokens, random_history, row_values,
    tiny, tiny_backbone,
};

/// A generation that has committed all of `tokens` but the last, in one step, and its fresh drafter.
fn committed(sampling: Sampling, tokens: &[TokenId]) -> (ModelGeneration, EagleDraft) {
    let mut generation = tiny(sampling);
    let draft = EagleDraft::new(eagle_head(), &generation, MAX_TREE, DraftTime::new(tch::Device::Cpu));
    generation.prefill();
    if let Some((_, [first, rest @ ..])) = tokens.split_last() {
        let (tree, path) = chain(*first, rest);
        generation.score(&tree);
        generation.commit(&path);
    }
    (generation, draft)
}

/// `rest` one below the other under `root`, and all nodes top-down.
fn chain(root: TokenId, rest: &[TokenId]) -> (TokenTree, Vec<NodeId>) {
    let mut tree = TokenTree::new(root);
    let mut path = vec![TokenTree::ROOT];
    for &token in rest {
        path.push(tree.push(path[path.len() - 1], token, Proposal::Chosen));
    }
    (tree, path)
}

/// Laws after each node of `tree`, expanded level by level; the root's comes from `begin`.
fn laws_by_level(draft: &mut dyn DraftModel, tokens: &[TokenId], tree: &TokenTree) -> Vec<Rc<Dist>> {
    let mut laws = vec![draft.begin(tokens)];
    laws.resize(tree.len(), laws[0].clone());
    for depth in 1..=tree.depth() {
        // Backwards, so that the order nodes are run in is not the order of the tree.
        let level: Vec<NodeId> = tree.ids().rev().filter(|&id| tree[id].depth == depth).collect();
        for (&node, law) in level.iter().zip(draft.expand(tree, &level)) {
            laws[node.0] = law;
        }
    }
    laws
}

/// The law after `node` of a fresh drafter that is fed the path to it as a chain.
fn law_of_chain(sampling: Sampling, tokens: &[TokenId], tree: &TokenTree, node: NodeId) -> Rc<Dist> {
    let (_generation, mut draft) = committed(sampling, tokens);
    let below = path_tokens(tree, node);
    let (chain, _) = chain(below[0], &below[1..]);
    laws_by_level(&mut draft, tokens, &chain).pop().unwrap()
}

#[test]
fn a_tree_node_has_the_law_of_its_path_as_a_chain() {
    for sampling in [PLAIN, GUIDED] {
        let mut choices = Choices::new(9);
        for n_sampled in [1, 2, 5] {
            let tokens: Vec<TokenId> = (0..n_sampled).map(|_| choices.token(11)).collect();
            let tree = choices.tree(tokens[n_sampled - 1], 12, 4, 11);
            let (_generation, mut draft) = committed(sampling, &tokens);
            let laws = laws_by_level(&mut draft, &tokens, &tree);
            for node in tree.ids() {
                let expected = law_of_chain(sampling, &tokens, &tree, node);
                check_law(&laws[node.0], expected.probs(), F32, &format!("node {node:?} of {n_sampled}"));
            }
        }
    }
}

/// The law after the last of `below` (root first), from the head run over whole sequences as in training:
/// slot `j` pairs token `j` with the feature that predicted it, the target's own up to the root, predicted
/// ones below.
fn law_by_whole_sequences(sampling: Sampling, tokens: &[TokenId], below: &[TokenId]) -> Vec<f32> {
    let (backbone, head, generation) = (tiny_backbone(), eagle_head(), tiny(sampling));
    no_grad(|| {
        let mut fed: Vec<i64> = tokens.iter().map(|token| i64::from(token.0)).collect();
        let mut features = teacher_forced(&generation, tokens);
        let mut remaining = below[1..].iter();
        loop {
            let n = fed.len() as i64;
            let ids = Tensor::from_slice(&fed).unsqueeze(0).expand([generation.n_rows(), -1], false);
            let x = head.join(&backbone.embed_batch(&ids), &features);
            let mask = causal_mask(n, Kind::Float);
            let predicted = head.finish(&head.layer.whole(&x, &backbone.image_rotary(0, n), &mask));
            let last = predicted.narrow(1, n - 1, 1);
            match remaining.next() {
                None => return row_values(&laws(&backbone.logits(&last), &sampling).get(0)),
                Some(token) => fed.push(i64::from(token.0)),
            }
            features = Tensor::cat(&[&features, &last], 1);
        }
    })
}

#[test]
fn draft_laws_are_those_of_the_head_run_over_whole_sequences() {
    for sampling in [PLAIN, GUIDED] {
        let mut generation = tiny(sampling);
        let mut draft =
            EagleDraft::new(eagle_head(), &generation, MAX_TREE, DraftTime::new(tch::Device::Cpu));
        random_history(&mut generation, 8, |tokens, tree, _| {
            let found = laws_by_level(&mut draft, tokens, tree);
            // A node in the image's last position has no law.
            for node in tree.ids().filter(|&node| tokens.len() + tree[node].depth < 16) {
                let expected = law_by_whole_sequences(sampling, tokens, &path_tokens(tree, node));
                check_law(&found[node.0], &expected, F32, &format!("node {node:?} after {}", tokens.len()));
            }
        });
    }
}

#[test]
fn trees_of_earlier_steps_leave_no_trace() {
    for sampling in [PLAIN, GUIDED] {
        let mut generation = tiny(sampling);
        let mut draft =
            EagleDraft::new(eagle_head(), &generation, MAX_TREE, DraftTime::new(tch::Device::Cpu));
        let mut n_steps = 0;
        random_history(&mut generation, 7, |tokens, tree, _| {
            let (_generation, mut fresh) = committed(sampling, tokens);
            let found = laws_by_level(&mut draft, tokens, tree);
            let expected = laws_by_level(&mut fresh, tokens, tree);
            for (found, expected) in found.iter().zip(&expected) {
                check_law(found, expected.probs(), F32, &format!("step {n_steps}"));
            }
            n_steps += 1;
        });
        assert!(n_steps > 3, "a history of {n_steps} steps shows nothing");
    }
}

#[test]
fn the_law_depends_on_the_whole_path() {
    let tokens = [TokenId(2)];
    let (_generation, mut draft) = committed(PLAIN, &tokens);
    let mut tree = TokenTree::new(tokens[0]);
    let parents = [1, 5].map(|token| tree.push(TokenTree::ROOT, TokenId(token), Proposal::Chosen));
    let children = parents.map(|parent| tree.push(parent, TokenId(3), Proposal::Chosen));
    let laws = laws_by_level(&mut draft, &tokens, &tree);
    let [a, b] = children.map(|node| laws[node.0].clone());
    assert!(a.total_variation(&b) > 1e-3, "the same token under other parents has another law");
}

#[test]
fn the_drafters_forwards_are_timed() {
    let generation = tiny(PLAIN);
    let time = DraftTime::new(tch::Device::Cpu);
    let mut draft = EagleDraft::new(eagle_head(), &generation, MAX_TREE, time.clone());
    let mut generation = generation;
    generation.prefill();
    assert_eq!(time.ns(), 0);
    let tree = Choices::new(2).tree(TokenId(0), 4, 2, 11);
    draft.begin(&[TokenId(0)]);
    let after_begin = time.ns();
    assert!(after_begin > 0);
    let first_level: Vec<NodeId> = tree.children(TokenTree::ROOT).collect();
    draft.expand(&tree, &first_level);
    assert!(time.ns() > after_begin);
}
