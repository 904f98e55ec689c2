//! Tokens at positions of their own: what each sees does not depend on the forwards in which the others were run.

use std::rc::Rc;

use specimen_decode::{
    clock::MonotonicClock,
    decoder::decode,
    dist::{Dist, TokenId},
    frontier::{PictureRows, Placed},
    generation::Generation,
    method::MethodConfig,
    rng::Uniforms,
    tree::{NodeId, TokenTree},
};

use crate::support::{EVERY_NETWORK, GUIDED, MAX_TREE, method, total_variation};

/// Forwards in other order add up in another order.
const SAME: f64 = 1e-5;

fn placed(position: usize) -> Placed {
    Placed { position, token: TokenId((position % 3) as u32), draft_of: None }
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

#[test]
fn a_draft_is_seen_in_its_own_row_only() {
    let draft = |position, row| Placed { draft_of: Some(row), ..placed(position) };
    for (name, open) in EVERY_NETWORK {
        let begin = || {
            let mut generation = open();
            generation.prefill();
            run(&mut generation, &[0, 1].map(placed), &[0, 1]);
            generation
        };
        let tokens = [placed(2), draft(3, 0), draft(4, 0), placed(6), draft(7, 1), draft(8, 1)];
        let together = run(&mut begin(), &tokens, &[0, 1, 3]);
        let upper = run(&mut begin(), &tokens[..3], &[]);
        let lower = run(&mut begin(), &[tokens[0], tokens[3], tokens[4], tokens[5]], &[]);
        for (at, (found, expected)) in together.iter().zip(upper.iter().chain(&lower[1..])).enumerate() {
            let differs = total_variation(found, expected);
            assert!(differs < SAME, "{name}, token {at}: {differs}");
        }
        // Kept, a draft is seen by all.
        let mut kept = begin();
        run(&mut kept, &tokens, &[0, 1, 3]);
        let found = run(&mut kept, &[placed(9)], &[]);
        let mut by_and_by = begin();
        run(&mut by_and_by, &[placed(2), placed(6)], &[0, 1]);
        run(&mut by_and_by, &[placed(3)], &[0]);
        let expected = run(&mut by_and_by, &[placed(9)], &[]);
        assert!(total_variation(&found[0], &expected[0]) < SAME, "{name}");
        let without = run(&mut begin(), &[placed(2), placed(6), placed(9)], &[]);
        assert!(SAME < total_variation(&found[0], &without[2]), "{name}: the kept draft has no effect");
    }
}

/// The tokens of an image, and its forwards.
fn decoded(generation: &mut dyn Generation, cell: &MethodConfig, uniforms: &Uniforms) -> (Vec<TokenId>, u32) {
    let image = decode(&mut cell.build(None).unwrap(), generation, uniforms, &MonotonicClock::new());
    (image.tokens.clone(), image.nfe())
}

fn pjd(window: usize, c: usize) -> MethodConfig {
    let frontier = format!(r#"{{ "kind": "pjd", "window": {window}, "c": {c} }}"#);
    serde_json::from_str(&format!(r#"{{ "frontier": {frontier} }}"#)).unwrap()
}

#[test]
fn windows_in_one_row_are_sjd_and_rows_in_turn_the_image_of_plain_decoding() {
    let sjd = method(r#"{ "proposer": "jacobi", "window": 5, "init": "random" }"#);
    let plain = method(r#"{ "proposer": "none" }"#);
    let whole = MAX_TREE * MAX_TREE;
    for (name, open) in EVERY_NETWORK {
        let uniforms = Uniforms::new(1);
        let one_row = PictureRows { n_before: 0, len: open().n_tokens(), n: 1 };
        let found = decoded(&mut open().with_rows(one_row), &pjd(5, whole), &uniforms);
        assert_eq!(found, decoded(&mut open(), &sjd, &uniforms), "{name}");
        let coupled = uniforms.coupled(true);
        let (in_turn, _) = decoded(&mut open(), &pjd(5, whole), &coupled);
        assert_eq!(in_turn, decoded(&mut open(), &plain, &coupled).0, "{name}");
    }
}

#[test]
fn rows_side_by_side_need_fewer_forwards_with_and_without_static_buffers() {
    let pairs = [
        ("tiny", "static tiny"),
        ("guided tiny", "static guided tiny"),
        ("igpt", "static igpt"),
        ("guided llamagen", "static guided llamagen"),
        ("guided janus", "static guided janus"),
        ("guided liquid", "static guided liquid"),
    ];
    let opened = |name: &str| EVERY_NETWORK.into_iter().find(|(known, _)| *known == name).unwrap().1;
    for (plain, buffered) in pairs {
        let images = |name: &str, c: usize| {
            let image = |seed| decoded(&mut opened(name)(), &pjd(3, c), &Uniforms::new(seed));
            (0..2).map(image).collect::<Vec<_>>()
        };
        assert_eq!(images(plain, 2), images(buffered, 2), "{plain}");
        let forwards = |c: usize| images(plain, c).iter().map(|(_, nfe)| nfe).sum::<u32>();
        assert!(forwards(2) < forwards(99), "{plain}");
    }
}

#[test]
fn structural_tokens_stand_in_their_places_and_rows_in_turn_are_plain_decoding() {
    for name in ["anole-toy", "lumina-toy", "emu3-toy"] {
        let model = crate::toys::toy(name);
        let open = || model.open("a red bus", &GUIDED, MAX_TREE).unwrap();
        let forced = open().forced_tokens().to_vec();
        // Plain, rows in turn, rows side by side.
        let mut n_forwards = [0; 3];
        for seed in 0..8 {
            let coupled = Uniforms::new(seed).coupled(true);
            let expected = decoded(&mut open(), &method(r#"{ "proposer": "none" }"#), &coupled);
            let in_turn = decoded(&mut open(), &pjd(5, 99), &coupled);
            assert_eq!(in_turn.0, expected.0, "{name}, seed {seed}");
            let side_by_side = decoded(&mut open(), &pjd(3, 1), &coupled);
            let mut stand = forced.iter().zip(&side_by_side.0);
            assert!(stand.all(|(forced, token)| forced.is_none_or(|forced| forced == *token)), "{name}");
            for (n, more) in n_forwards.iter_mut().zip([expected.1, in_turn.1, side_by_side.1]) {
                *n += more;
            }
        }
        let [plain, in_turn, side_by_side] = n_forwards;
        assert!(side_by_side < in_turn && in_turn < plain, "{name}: {n_forwards:?}");
    }
}
