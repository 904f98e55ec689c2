//! Tokens at positions of their own: what each sees does not depend on the forwards in which the others were run.

use std::rc::Rc;

use specimen_decode::{
    dist::{Dist, TokenId},
    frontier::Placed,
    generation::Generation,
    tree::{NodeId, TokenTree},
};

use crate::support::{EVERY_NETWORK, total_variation};

/// Forwards in other order add up in another order.
const SAME: f64 = 1e-5;

fn placed(position: usize) -> Placed {
    Placed { position, token: TokenId((position % 3) as u32) }
}

/// Runs tokens at `positions` and keeps those that `keep` names by their place.
fn run(generation: &mut dyn Generation, tokens: &[Placed], keep: &[usize]) -> Vec<Rc<Dist>> {
    let scores = generation.score_placed(tokens);
    let rows = (0..tokens.len()).map(|node| scores.dist(NodeId(node))).collect();
    generation.keep_placed(&keep.iter().map(|&at| NodeId(at)).collect::<Vec<_>>());
    rows
}

#[test]
fn in_order_they_are_scored_as_trees_are() {
    for (name, open) in EVERY_NETWORK {
        let (mut by_place, mut by_tree) = (open(), open());
        by_place.prefill();
        by_tree.prefill();
        for position in 0..6 {
            let token = placed(position);
            let found = run(&mut by_place, &[token], &[0]).remove(0);
            let expected = by_tree.score(&TokenTree::new(token.token)).dist(TokenTree::ROOT);
            by_tree.commit(&[TokenTree::ROOT]);
            assert!(total_variation(&found, &expected) < SAME, "{name}, position {position}");
        }
    }
}

#[test]
fn a_token_sees_what_stands_before_it_and_nothing_that_was_not_kept() {
    for (name, open) in EVERY_NETWORK {
        let mut at_once = open();
        at_once.prefill();
        let expected = run(&mut at_once, &[0, 1, 2, 3, 5, 6].map(placed), &[]);
        let mut by_and_by = open();
        by_and_by.prefill();
        let first = run(&mut by_and_by, &[0, 1].map(placed), &[0, 1]);
        // The one at 4 stands in for one that never comes.
        let second = run(&mut by_and_by, &[2, 4].map(placed), &[0]);
        let third = run(&mut by_and_by, &[3, 5].map(placed), &[0, 1]);
        let fourth = run(&mut by_and_by, &[placed(6)], &[0]);
        let found = [&first[0], &first[1], &second[0], &third[0], &third[1], &fourth[0]];
        for (at, (found, expected)) in found.into_iter().zip(&expected).enumerate() {
            let differs = total_variation(found, expected);
            assert!(differs < SAME, "{name}, token {at}: {differs}");
        }
    }
}
