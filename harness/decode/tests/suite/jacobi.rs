//! Jacobi windows: what they start from, what is kept of them, and how many forwards they save where that is
//! known exactly.

use std::rc::Rc;

use specimen_decode::{
    decoder::decode,
    dist::{Dist, TokenId},
    generation::{Generation, Scores},
    rng::Uniforms,
    tree::{NodeId, Proposal, TokenTree},
};

use crate::support::{
    JACOBI, JACOBI_LEFT, N_IMAGES, N_TOKENS, P_MIN, Ticks, distribution_of, drafter, image, method, target,
    z_score,
};

fn vp(window: &str, mode: &str, lambda: f64, distribution: &str, more: &str) -> String {
    let refresh = format!(
        r#"refresh = {{ kind = "vp-reconstruction", mode = "{mode}", lambda = {lambda:?}, law = "{distribution}"{more} }}"#
    );
    window.replace(" }", &format!(", {refresh} }}"))
}

#[test]
fn a_tilted_distribution_that_is_recorded_keeps_the_target_distribution() {
    for (mode, more) in [("step", ""), ("ratio", ""), ("ratio", r#", from = "recorded""#)] {
        let text = vp(JACOBI_LEFT, mode, 20.0, "tilted", more);
        let found = distribution_of(|seed| image(method(&text, drafter()), target(), N_TOKENS, seed).tokens);
        assert!(P_MIN < found.p_value, "{mode}{more}: {found:?}");
    }
}

#[test]
fn an_untilted_record_of_tilted_draws_is_detected() {
    for mode in ["step", "ratio"] {
        let text = vp(JACOBI_LEFT, mode, 20.0, "untilted", "");
        let found = distribution_of(|seed| image(method(&text, drafter()), target(), N_TOKENS, seed).tokens);
        assert!(found.p_value < P_MIN, "{mode}: {found:?}");
    }
}

#[test]
fn a_tilt_of_strength_zero_is_plain_jacobi_decoding() {
    for mode in ["step", "ratio"] {
        for distribution in ["tilted", "untilted"] {
            let text = vp(JACOBI, mode, 0.0, distribution, "");
            for seed in 0..300 {
                let plain = image(method(JACOBI, drafter()), target(), 12, seed);
                assert_eq!(image(method(&text, drafter()), target(), 12, seed).tokens, plain.tokens);
            }
        }
    }
}

/// The distributions of one iteration, by node.
struct Iteration(Vec<[f32; 2]>);

impl Scores for Iteration {
    fn dist(&self, node: NodeId) -> Rc<Dist> {
        Rc::new(Dist::from_weights(self.0[node.0].to_vec()).unwrap())
    }
    fn feature(&self, _: NodeId) -> Rc<[f32]> {
        Rc::from([])
    }
}

/// What the drafts are tested against in three iterations that accept nothing.
#[test]
fn a_tilt_is_by_the_change_of_a_positions_probability_since_the_last_iteration() {
    let text = r#"{ proposer = "jacobi", window = 5, init = "random",
        refresh = { kind = "vp-reconstruction", mode = "ratio", lambda = 1.0, law = "tilted" } }"#;
    let mut drafter = method(&text.replace('\n', " "), drafter()).drafter;
    drafter.begin_image(20, 2, 2);
    let uniforms = Uniforms::new(0);
    // Of the position behind the root of the last draft: 0.5, 0.2 and 0.4 for token 0, one iteration after the other.
    let iterations = [
        Iteration(vec![[0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]),
        Iteration(vec![[0.5, 0.5], [0.5, 0.5], [0.2, 0.8], [0.5, 0.5], [0.5, 0.5]]),
        Iteration(vec![[0.5, 0.5], [0.4, 0.6], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]),
    ];
    let mut tokens = vec![TokenId(0)];
    for (step, scores) in (0..).zip(&iterations) {
        let tree = drafter.draft(&tokens, 19 - tokens.len(), step, &uniforms);
        drafter.observe(&tree, &[], Some(scores), step, &uniforms);
        tokens.push(TokenId(0));
    }
    let tree = drafter.draft(&tokens, 10, 3, &uniforms);
    let Proposal::Sampled { distribution, .. } = &tree[NodeId(1)].proposal else {
        panic!("a Jacobi draft is drawn")
    };
    // P / P' is 2 for token 0 and 0.75 for token 1, which fell: (0.4 * 2, 0.6 * 1) / 1.4.
    assert!((distribution.prob(TokenId(0)) - 0.8 / 1.4).abs() < 1e-6, "{:?}", distribution.probs());
}

/// A target whose distribution depends on the position alone.
struct Independent {
    n_tokens: usize,
    n_committed: usize,
    depths: Vec<usize>,
}

const N_WORDS: usize = 6;

fn distribution_at(position: usize) -> Rc<Dist> {
    let weight = |v: usize| ((v * 7 + position * 5) % 11 + 1) as f32;
    Rc::new(Dist::from_weights((0..N_WORDS).map(weight).collect()).unwrap())
}

struct ByPosition(usize, Vec<usize>, usize);

impl Scores for ByPosition {
    fn dist(&self, node: NodeId) -> Rc<Dist> {
        let position = self.0 + self.1[node.0] + 1;
        assert!(position < self.2, "the distribution beyond the image's end was read");
        distribution_at(position)
    }
    fn feature(&self, _: NodeId) -> Rc<[f32]> {
        Rc::from([])
    }
}

impl Generation for Independent {
    fn n_tokens(&self) -> usize {
        self.n_tokens
    }
    fn n_vocab(&self) -> usize {
        N_WORDS
    }
    fn prefill(&mut self) -> Rc<Dist> {
        distribution_at(0)
    }
    fn score(&mut self, tree: &TokenTree) -> Box<dyn Scores> {
        self.depths = tree.ids().map(|node| tree[node].depth).collect();
        Box::new(ByPosition(self.n_committed, self.depths.clone(), self.n_tokens))
    }
    fn commit(&mut self, path: &[NodeId]) {
        self.n_committed += path.len();
    }
}

/// Mean and variance of the steps until `n_left` tokens are found, `n_scored` guesses of a window of
/// `n_guesses` being drawn from the distributions of the last forward. Those are accepted for certain where positions
/// are independent; a random first guess is, whatever the distribution, with probability 1 / vocabulary.
fn expected_steps(n_left: usize, n_scored: usize, n_guesses: usize) -> (f64, f64) {
    if n_left == 0 {
        return (0.0, 0.0);
    }
    let n = n_guesses.min(n_left);
    let sure = n_scored.min(n);
    let pass = 1.0 / N_WORDS as f64;
    let (mut mean, mut square) = (0.0, 0.0);
    for a in sure..=n {
        let stops = if a < n { 1.0 - pass } else { 1.0 };
        let chance = pass.powi((a - sure) as i32) * stops;
        let scored = (n + 1).min(n_left).saturating_sub(a + 1);
        let (m, v) = expected_steps(n_left.saturating_sub(a + 1), scored, n_guesses);
        mean += chance * (1.0 + m);
        square += chance * (v + (1.0 + m).powi(2));
    }
    (mean, square - mean * mean)
}

#[test]
fn independent_positions_cost_the_forwards_of_the_recursion() {
    let n_tokens = 13;
    for window in [2, 3, 5] {
        let table = format!(r#"{{ proposer = "jacobi", window = {window}, init = "random" }}"#);
        let n_images = N_IMAGES / 3;
        let steps = |seed| {
            let mut generation = Independent { n_tokens, n_committed: 0, depths: Vec::new() };
            let mut method = method(&table, drafter());
            decode(&mut method, &mut generation, &Uniforms::new(seed), &Ticks::new()).steps.len() as f64
        };
        let sum: f64 = (0..n_images).map(steps).sum();
        let (mean, variance) = expected_steps(n_tokens - 1, 0, window - 1);
        let z = z_score(sum, n_images as f64, mean, variance);
        assert!(
            z.abs() < 4.5,
            "window {window}: expected {mean:.4} steps, found {:.4}",
            sum / n_images as f64
        );
        assert!(mean < 0.7 * n_tokens as f64, "a window of {window} saves little: {mean}");
    }
}

/// The windows of one image, each with the tokens known when it was drafted.
fn windows(table: &str, n_tokens: usize, seed: u64) -> Vec<(Vec<TokenId>, Vec<TokenId>)> {
    let uniforms = Uniforms::new(seed);
    let mut drafter = method(table, drafter()).drafter;
    drafter.begin_image(n_tokens, 7, 5);
    let mut tokens: Vec<TokenId> = vec![TokenId(3)];
    let mut seen = Vec::new();
    // A target that is never looked at: each step takes the next of a fixed row of tokens.
    for next in [1, 4, 0, 2, 2, 3, 1, 0, 4] {
        let n_left = n_tokens - tokens.len();
        let tree = drafter.draft(&tokens, n_left, 0, &uniforms);
        seen.push((tokens.clone(), tree.ids().skip(1).map(|node| tree[node].token).collect()));
        drafter.begin_image(n_tokens, 7, 5); // Forgets the window, so that each is filled anew.
        tokens.push(TokenId(next));
        if tokens.len() == n_tokens {
            break;
        }
    }
    seen
}

#[test]
fn first_guesses_repeat_the_token_to_the_left_or_above() {
    for (tokens, window) in windows(r#"{ proposer = "jacobi", window = 4, init = "repeat-left" }"#, 10, 1) {
        assert!(window.iter().all(|guess| guess == tokens.last().unwrap()));
        assert_eq!(window.len(), 3.min(10 - tokens.len()));
    }
    let above = r#"{ proposer = "jacobi", window = 6, init = "repeat-above", width = 3 }"#;
    for (tokens, window) in windows(above, 10, 1) {
        let whole = [&*tokens, &*window].concat();
        for position in tokens.len()..whole.len() {
            let expected = if position < 3 { whole[position - 1] } else { whole[position - 3] };
            assert_eq!(whole[position], expected, "position {position} of {whole:?}");
        }
    }
    let random = r#"{ proposer = "jacobi", window = 9, init = "random" }"#;
    let mut n_of = [0; 5];
    for seed in 0..400 {
        windows(random, 10, seed)[0].1.iter().for_each(|guess| n_of[guess.idx()] += 1);
    }
    assert!(n_of.iter().all(|&n| (540..740).contains(&n)), "3200 guesses over 5 tokens: {n_of:?}");
}

#[test]
fn outside_its_active_range_decoding_is_autoregressive() {
    let table = r#"{ proposer = "jacobi", window = 4, init = "random", active = [3, 8] }"#;
    for seed in 0..100 {
        let decoded = image(method(table, drafter()), target(), 14, seed);
        let mut position = 1;
        for step in &decoded.steps {
            let drafts = if (3..8).contains(&position) { 3.min(14 - position as u32) } else { 0 };
            assert_eq!(step.n_drafted, drafts, "position {position}");
            position += step.n_emitted as usize;
        }
    }
    let whole = JACOBI.replace(" }", ", active = [0, 99] }");
    for seed in 0..50 {
        let expected = image(method(JACOBI, drafter()), target(), 12, seed);
        assert_eq!(image(method(&whole, drafter()), target(), 12, seed), expected);
    }
}

#[test]
fn a_jacobi_window_costs_no_drafter_forward() {
    let decoded = image(method(JACOBI, drafter()), target(), 20, 4);
    assert!(decoded.steps.iter().all(|step| step.n_draft_forwards == 0));
    assert!(decoded.steps.len() < 19, "some guesses are accepted");
}
