//! P19: a node of a tree has the distribution of a plain forward on its root path, whatever its neighbours are.

use specimen_decode::{
    generation::Generation,
    tree::{Proposal, TokenTree},
};

use crate::support::{Choices, EVERY_NETWORK, F32, check_distribution, path_tokens};

#[test]
fn a_node_has_the_distribution_of_its_root_path_alone() {
    for (name, open) in EVERY_NETWORK {
        let mut choices = Choices::new(5);
        let n_vocab = open().n_vocab();
        let (first, root) = (choices.token(n_vocab), choices.token(n_vocab));
        let opened = || {
            let mut generation = open();
            generation.prefill();
            generation.score(&TokenTree::new(first));
            generation.commit(&[TokenTree::ROOT]);
            generation
        };
        let tree = choices.tree(root, 12, 5, n_vocab);
        let scores = opened().score(&tree);
        for node in tree.ids() {
            // One token at a time: no mask is involved.
            let mut generation = opened();
            let mut distribution = None;
            for token in path_tokens(&tree, node) {
                distribution = Some(generation.score(&TokenTree::new(token)).dist(TokenTree::ROOT));
                generation.commit(&[TokenTree::ROOT]);
            }
            check_distribution(&scores.dist(node), distribution.unwrap().probs(), F32, name);
        }
    }
}

#[test]
fn siblings_of_one_token_have_one_distribution_and_one_feature() {
    for (name, open) in EVERY_NETWORK {
        let mut generation = open();
        generation.prefill();
        let mut choices = Choices::new(6);
        let mut tree = TokenTree::new(choices.token(5));
        let [a, other, b] = [3, 1, 3]
            .map(|token| tree.push(TokenTree::ROOT, specimen_decode::dist::TokenId(token), Proposal::Chosen));
        let scores = generation.score(&tree);
        check_distribution(&scores.dist(a), scores.dist(b).probs(), F32, name);
        let distance = |x, y| {
            let (x, y) = (scores.feature(x), scores.feature(y));
            x.iter().zip(y.iter()).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max)
        };
        assert!(distance(a, b) < 1e-4, "{name}");
        assert!(distance(a, other) > 1e-2, "{name}");
    }
}
