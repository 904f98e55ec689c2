//! The draft of every head: tree nodes see their own path only, nothing of an earlier step's tree survives, and
//! each token keeps the feature it was taken in with.

use std::rc::Rc;

use specimen_decode::{
    dist::{Dist, TokenId},
    drafter::DraftModel,
    generation::Generation,
    pipeline::Sampling,
    tree::{NodeId, Proposal, TokenTree},
};
use specimen_models::{
    heads::{draft_head::DraftHead, eagle_draft::EagleDraft},
    llama::layer::{causal_mask, whole_attention},
    seam::{distributions::distributions, draft_time::DraftTime, generation::ModelGeneration},
};
use tch::{Kind, Tensor, no_grad};

use crate::support::{
    Choices, EVERY_HEAD, F32, GUIDED, Head, MAX_TREE, PLAIN, TakenIn, caption_rows, check_distribution,
    draft_for, eagle_head, path_tokens, random_history, row_values, skipping_history, tiny, tiny_backbone,
    total_variation,
};

/// Every head, without and with guidance.
fn every_draft() -> impl Iterator<Item = (String, Head, Sampling)> {
    let samplings = [("", PLAIN), (", guided", GUIDED)];
    EVERY_HEAD.into_iter().flat_map(move |(name, head)| {
        samplings.into_iter().map(move |(note, sampling)| (format!("{name}{note}"), head, sampling))
    })
}

/// A generation that has committed all of `tokens` but the last, in one step, and its fresh drafter.
fn committed(head: Head, sampling: Sampling, tokens: &[TokenId]) -> (ModelGeneration, EagleDraft) {
    let mut generation = tiny(sampling);
    let draft = draft_for(head(), &generation);
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

/// Distributions after each node of `tree`, expanded level by level; the root's comes from `begin`.
fn distributions_by_level(draft: &mut dyn DraftModel, tokens: &[TokenId], tree: &TokenTree) -> Vec<Rc<Dist>> {
    let mut distributions = vec![draft.begin(tokens)];
    distributions.resize(tree.len(), distributions[0].clone());
    for depth in 1..=tree.depth() {
        // Backwards, so that the order nodes are run in is not the order of the tree.
        let level: Vec<NodeId> = tree.ids().rev().filter(|&id| tree[id].depth == depth).collect();
        for (&node, distribution) in level.iter().zip(draft.expand(tree, &level)) {
            distributions[node.0] = distribution;
        }
    }
    distributions
}

/// The distribution after `node` of a fresh drafter that is fed the path to it as a chain.
fn distribution_of_chain(
    head: Head,
    sampling: Sampling,
    tokens: &[TokenId],
    tree: &TokenTree,
    node: NodeId,
) -> Rc<Dist> {
    let (_generation, mut draft) = committed(head, sampling, tokens);
    let below = path_tokens(tree, node);
    let (chain, _) = chain(below[0], &below[1..]);
    distributions_by_level(&mut draft, tokens, &chain).pop().unwrap()
}

#[test]
fn a_tree_node_has_the_distribution_of_its_path_as_a_chain() {
    for (name, head, sampling) in every_draft() {
        let mut choices = Choices::new(9);
        for n_sampled in [1, 2, 5] {
            let tokens: Vec<TokenId> = (0..n_sampled).map(|_| choices.token(11)).collect();
            let tree = choices.tree(tokens[n_sampled - 1], 12, 4, 11);
            let (_generation, mut draft) = committed(head, sampling, &tokens);
            let distributions = distributions_by_level(&mut draft, &tokens, &tree);
            for node in tree.ids() {
                let expected = distribution_of_chain(head, sampling, &tokens, &tree, node);
                let what = format!("{name}: node {node:?} of {n_sampled}");
                check_distribution(&distributions[node.0], expected.probs(), F32, &what);
            }
        }
    }
}

/// The distribution after the last of `below` (root first), from the head run over whole sequences as in training:
/// slot `j` pairs token `j` with the target's feature `paired[j]`, up to the root, and with predicted ones below.
fn distribution_by_whole_sequences(
    head: &dyn DraftHead,
    sampling: Sampling,
    tokens: &[TokenId],
    paired: &[usize],
    below: &[TokenId],
) -> Vec<f32> {
    let (backbone, n_rows) = (tiny_backbone(), tiny(sampling).n_rows());
    no_grad(|| {
        let mut fed: Vec<i64> = tokens.iter().map(|token| i64::from(token.0)).collect();
        let ids = |fed: &[i64]| Tensor::from_slice(fed).unsqueeze(0).expand([n_rows, -1], false);
        let tapped = backbone.features_tapped(&caption_rows(n_rows), &ids(&fed), head.taps());
        let read = if tapped.inner.is_empty() { tapped.features } else { Tensor::cat(&tapped.inner, -1) };
        let paired: Vec<i64> = paired.iter().map(|&feature| feature as i64).collect();
        let mut features = head.admit(&read.index_select(1, &Tensor::from_slice(&paired)));
        let mut remaining = below[1..].iter();
        loop {
            let n = fed.len() as i64;
            let rotary = backbone.image_rotary(0, n);
            let opened = head.open(&backbone.embed_batch(&ids(&fed)), &features, &rotary);
            let (q, k, v) = &opened.projected;
            let context = whole_attention(q, k, v, &causal_mask(n, Kind::Float));
            let last = head.close(&opened.x, &context).narrow(1, n - 1, 1);
            match remaining.next() {
                None => return row_values(&distributions(&head.logits(&backbone, &last), &sampling).get(0)),
                Some(token) => fed.push(i64::from(token.0)),
            }
            features = Tensor::cat(&[&features, &last], 1);
        }
    })
}

/// Compares what `draft` says of every node of `tree` with the head run over whole sequences.
fn check_against_whole_sequences(
    (name, head, sampling): (&str, Head, Sampling),
    draft: &mut EagleDraft,
    (tokens, paired): (&[TokenId], &[usize]),
    tree: &TokenTree,
) {
    let found = distributions_by_level(draft, tokens, tree);
    // A node in the image's last position has no distribution.
    for node in tree.ids().filter(|&node| tokens.len() + tree[node].depth < 16) {
        let expected =
            distribution_by_whole_sequences(&*head(), sampling, tokens, paired, &path_tokens(tree, node));
        let what = format!("{name}: node {node:?} after {}", tokens.len());
        check_distribution(&found[node.0], &expected, F32, &what);
    }
}

#[test]
fn draft_distributions_are_those_of_the_head_run_over_whole_sequences() {
    for (name, head, sampling) in every_draft() {
        let mut generation = tiny(sampling);
        let mut draft = draft_for(head(), &generation);
        random_history(&mut generation, 8, |tokens, tree, _| {
            let paired: Vec<usize> = (0..tokens.len()).collect();
            check_against_whole_sequences((&name, head, sampling), &mut draft, (tokens, &paired), tree);
        });
    }
}

#[test]
fn after_skips_a_head_goes_on_from_the_features_it_was_told_to_and_keeps_them() {
    for (name, head, sampling) in every_draft() {
        let mut n_skips = 0;
        for seed in 0..2 {
            let mut generation = tiny(sampling);
            let mut draft = draft_for(head(), &generation);
            let taken_in = |TakenIn { tokens, paired, ages }: TakenIn<'_>, tree: &TokenTree| {
                if let Some(ages) = ages {
                    draft.reuse_features(ages);
                }
                check_against_whole_sequences((&name, head, sampling), &mut draft, (tokens, paired), tree);
            };
            n_skips += skipping_history(&mut generation, seed, taken_in, |_, _, _| {});
        }
        assert!(n_skips > 3, "{name}: {n_skips} skips show nothing");
    }
}

#[test]
#[should_panic(expected = "2 tokens need features, and 0 are fresh")]
fn a_head_that_is_not_told_of_a_skip_is_found_out() {
    let tokens: Vec<TokenId> = [3, 1, 4].map(TokenId).to_vec();
    let (mut generation, mut draft) = committed(|| eagle_head(), PLAIN, &tokens);
    draft.begin(&tokens);
    generation.queue(&tokens[2..]);
    draft.begin(&[tokens, [5, 6].map(TokenId).to_vec()].concat());
}

#[test]
fn trees_of_earlier_steps_leave_no_trace() {
    for (name, head, sampling) in every_draft() {
        let mut generation = tiny(sampling);
        let mut draft = draft_for(head(), &generation);
        let mut n_steps = 0;
        random_history(&mut generation, 7, |tokens, tree, _| {
            let (_generation, mut fresh) = committed(head, sampling, tokens);
            let found = distributions_by_level(&mut draft, tokens, tree);
            let expected = distributions_by_level(&mut fresh, tokens, tree);
            for (found, expected) in found.iter().zip(&expected) {
                check_distribution(found, expected.probs(), F32, &format!("{name}: step {n_steps}"));
            }
            n_steps += 1;
        });
        assert!(n_steps > 3, "a history of {n_steps} steps shows nothing");
    }
}

#[test]
fn chosen_tokens_are_the_same_wherever_they_are_found() {
    for (name, head, sampling) in every_draft() {
        let tokens = [TokenId(2), TokenId(0), TokenId(4)];
        let found = |on_device: bool| {
            let (_generation, draft) = committed(head, sampling, &tokens);
            let mut draft = if on_device { draft.choosing_on_device() } else { draft };
            let first = draft.begin_choosing(&tokens, 4);
            let mut tree = TokenTree::new(tokens[2]);
            let level: Vec<NodeId> =
                first.iter().map(|&(token, _)| tree.push(TokenTree::ROOT, token, Proposal::Chosen)).collect();
            (first, draft.expand_choosing(&tree, &level, 99))
        };
        let (on_host, on_device) = (found(false), found(true));
        assert_eq!(on_host, on_device, "{name}");
        assert_eq!((on_host.0.len(), on_host.1.len(), on_host.1[0].len()), (4, 4, 11), "{name}");
    }
}

#[test]
fn the_distribution_depends_on_the_whole_path() {
    let tokens = [TokenId(2)];
    let (_generation, mut draft) = committed(|| eagle_head(), PLAIN, &tokens);
    let mut tree = TokenTree::new(tokens[0]);
    let parents = [1, 5].map(|token| tree.push(TokenTree::ROOT, TokenId(token), Proposal::Chosen));
    let children = parents.map(|parent| tree.push(parent, TokenId(3), Proposal::Chosen));
    let distributions = distributions_by_level(&mut draft, &tokens, &tree);
    let [a, b] = children.map(|node| distributions[node.0].clone());
    assert!(total_variation(&a, &b) > 1e-3, "the same token under other parents has another distribution");
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
