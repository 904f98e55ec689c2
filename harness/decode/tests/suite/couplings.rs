//! Couplings of a Jacobi window, and the tree at its front: the target's distribution is kept, and mistakes of released code
//! are found. That forwards are saved does not show on the toy, where one token changes all distributions behind it; it does
//! where a distribution depends on the token before alone.

use std::{collections::BTreeMap, rc::Rc};

use specimen_decode::{
    dist::{Dist, TokenId},
    drafter::Drafter,
    generation::Scores,
    rng::Uniforms,
    toy::ToyModel,
    tree::{NodeId, Proposal, TokenTree},
    verify::verify,
};

use crate::{
    chi_square::{ChiSquare, chi_square},
    support::{P_MIN, SAMPLING, greedy, image, method, target},
};

const COUPLED: [&str; 2] = ["maximal", "gumbel"];
/// Effects of a wrong distribution add up over positions: shorter images hide them.
const N_TOKENS: usize = 6;
const N_VOCAB: usize = 4;
const N_IMAGES: u64 = 40_000;

fn window(couple: &str) -> String {
    format!(r#"{{ proposer = "jacobi", window = 6, init = "random", couple = "{couple}" }}"#)
}

fn toy() -> ToyModel {
    ToyModel { seed: 11, n_vocab: N_VOCAB, spread: 0.5, sampling: SAMPLING }
}

fn distribution_of(tokens: impl Fn(u64) -> Vec<TokenId>) -> ChiSquare {
    compared_with(toy(), tokens)
}

fn compared_with(toy: ToyModel, tokens: impl Fn(u64) -> Vec<TokenId>) -> ChiSquare {
    let mut counts = vec![0; N_VOCAB.pow(N_TOKENS as u32)];
    for seed in 0..N_IMAGES {
        counts[tokens(seed).iter().fold(0, |cell, token| cell * N_VOCAB + token.idx())] += 1;
    }
    chi_square(&counts, &toy.joint(N_TOKENS))
}

#[test]
fn every_coupling_keeps_the_distribution_of_six_tokens() {
    for couple in ["independent", "maximal", "gumbel"] {
        let table = window(couple);
        let found = distribution_of(|seed| image(method(&table, toy()), toy(), N_TOKENS, seed).tokens);
        assert!(P_MIN < found.p_value, "{couple}: {found:?}");
    }
}

#[test]
fn a_tree_at_the_front_of_the_window_keeps_the_distribution() {
    for (width, depth, couple) in [(2, 2, "maximal"), (3, 2, "gumbel"), (2, 3, "maximal")] {
        let branch = format!(", branch = {{ width = {width}, depth = {depth} }} }}");
        let table = window(couple).replace("window = 6", "window = 9").replace(" }", &branch);
        let found = distribution_of(|seed| image(method(&table, toy()), toy(), N_TOKENS, seed).tokens);
        assert!(P_MIN < found.p_value, "{width} x {depth}, {couple}: {found:?}");
    }
}

#[test]
fn siblings_as_in_the_released_code_are_found_and_their_table_is_marked_relaxed() {
    let table = |couple: &str, siblings: &str| {
        let branch = format!(", branch = {{ width = 2, depth = 2, siblings = \"{siblings}\" }} }}");
        window(couple).replace(" }", &branch)
    };
    // Distributions that differ more, so that more guesses are rejected.
    let toy = || ToyModel { spread: 1.5, ..toy() };
    let found = |siblings| {
        let tokens = |seed| image(method(&table("maximal", siblings), toy()), toy(), N_TOKENS, seed).tokens;
        compared_with(toy(), tokens)
    };
    let (exact, refcode) = (found("exact"), found("refcode"));
    assert!(P_MIN < exact.p_value, "the control: {exact:?}");
    assert!(refcode.p_value < P_MIN, "the mistake went unnoticed: {refcode:?}");
    let line = |siblings: &str| crate::support::config(&table("maximal", siblings));
    assert!(!line("refcode").is_lossless() && line("exact").is_lossless());
    let lines = ["exact", "refcode"].map(|siblings| line(siblings).canonical());
    assert!(
        lines[0].contains(",branch=2x2)") && lines[1].contains(",branch=2x2,siblings=refcode)"),
        "{lines:?}"
    );
    let text = format!("drafter = {}", table("gumbel", "refcode"));
    let error = toml::from_str::<specimen_decode::method::MethodConfig>(&text).unwrap_err().to_string();
    assert!(error.contains("couple = \"gumbel\" has no key `branch.siblings`"), "{error}");
}

/// Tests siblings as if each had been drawn from the whole distribution, as the released code of SJD-PAC does.
struct SiblingsTestedAsDrawnAlone(Box<dyn Drafter>);

impl Drafter for SiblingsTestedAsDrawnAlone {
    fn begin_image(&mut self, n_tokens: usize, n_vocab: usize, n_codes: usize) {
        self.0.begin_image(n_tokens, n_vocab, n_codes);
    }

    fn draft(&mut self, tokens: &[TokenId], n_left: usize, step: u32, uniforms: &Uniforms) -> TokenTree {
        let right = self.0.draft(tokens, n_left, step, uniforms);
        let mut wrong = TokenTree::new(right[TokenTree::ROOT].token);
        for node in right.ids().skip(1) {
            let (token, parent) = (right[node].token, right[node].parent.unwrap());
            let Proposal::Sampled { distribution, .. } = &right[node].proposal else {
                panic!("guesses are sampled")
            };
            let (distribution, conditional) = (distribution.clone(), distribution.prob(token));
            wrong.push(parent, token, Proposal::Sampled { distribution, conditional });
        }
        wrong
    }

    fn observe(
        &mut self,
        tree: &TokenTree,
        path: &[NodeId],
        scores: Option<&dyn Scores>,
        step: u32,
        uniforms: &Uniforms,
    ) {
        self.0.observe(tree, path, scores, step, uniforms);
    }

    fn n_forwards(&self) -> u32 {
        self.0.n_forwards()
    }
}

#[test]
fn siblings_that_are_tested_under_another_distribution_than_their_own_are_found() {
    let table = window("maximal").replace(" }", ", branch = { width = 3, depth = 2 } }");
    let found = distribution_of(|seed| {
        let mut made = method(&table, toy());
        let empty = method(&table, toy()).drafter;
        let inner = std::mem::replace(&mut made.drafter, empty);
        made.drafter = Box::new(SiblingsTestedAsDrawnAlone(inner));
        image(made, toy(), N_TOKENS, seed).tokens
    });
    assert!(found.p_value < P_MIN, "the mistake went unnoticed: {found:?}");
}

/// Tests a token that stayed against what it was first drawn from, as the released code of SCD does.
struct StaysRecorded {
    inner: Box<dyn Drafter>,
    /// By position: the guess, and what it was first drawn from.
    first: BTreeMap<usize, (TokenId, Rc<Dist>)>,
}

impl Drafter for StaysRecorded {
    fn begin_image(&mut self, n_tokens: usize, n_vocab: usize, n_codes: usize) {
        self.inner.begin_image(n_tokens, n_vocab, n_codes);
        self.first.clear();
    }

    fn draft(&mut self, tokens: &[TokenId], n_left: usize, step: u32, uniforms: &Uniforms) -> TokenTree {
        let right = self.inner.draft(tokens, n_left, step, uniforms);
        let mut wrong = TokenTree::new(right[TokenTree::ROOT].token);
        for node in right.ids().skip(1) {
            let (position, token) = (tokens.len() + node.0, right[node].token);
            let Proposal::Sampled { distribution, .. } = &right[node].proposal else {
                panic!("guesses are sampled")
            };
            let held = self.first.get(&position).filter(|(held, _)| *held == token);
            let recorded = held.map_or(distribution, |(_, first)| first).clone();
            self.first.insert(position, (token, recorded.clone()));
            let conditional = recorded.prob(token);
            wrong.push(
                right[node].parent.unwrap(),
                token,
                Proposal::Sampled { distribution: recorded, conditional },
            );
        }
        wrong
    }

    fn observe(
        &mut self,
        tree: &TokenTree,
        path: &[NodeId],
        scores: Option<&dyn Scores>,
        step: u32,
        uniforms: &Uniforms,
    ) {
        self.inner.observe(tree, path, scores, step, uniforms);
    }

    fn n_forwards(&self) -> u32 {
        self.inner.n_forwards()
    }
}

#[test]
fn a_kept_guess_that_is_tested_against_its_old_distribution_is_found() {
    let table = window("maximal");
    let found = distribution_of(|seed| {
        let mut made = method(&table, toy());
        let empty = method(&table, toy()).drafter;
        let inner = std::mem::replace(&mut made.drafter, empty);
        made.drafter = Box::new(StaysRecorded { inner, first: BTreeMap::new() });
        image(made, toy(), N_TOKENS, seed).tokens
    });
    assert!(found.p_value < P_MIN, "the mistake went unnoticed: {found:?}");
}

/// The same distribution after every node, by the token of the node and its place.
struct AfterToken<'a>(&'a TokenTree);

impl Scores for AfterToken<'_> {
    fn dist(&self, node: NodeId) -> Rc<Dist> {
        after_token(self.0[node].token)
    }
    fn feature(&self, _: NodeId) -> Rc<[f32]> {
        Rc::from([])
    }
}

/// The distribution after a token: those of two tokens have about half of their mass in common.
fn after_token(token: TokenId) -> Rc<Dist> {
    let weight = |v: usize| if v % 8 == token.idx() % 8 { 9.0 } else { 1.0 };
    Rc::new(Dist::from_weights((0..N_WORDS).map(weight).collect()).unwrap())
}

const N_WORDS: usize = 32;

/// Steps until all `n_tokens` are there, if the target is that of [`after_token`].
fn n_steps(couple: &str, n_tokens: usize, seed: u64) -> usize {
    let table = window(couple).replace("window = 6", "window = 12");
    let mut made = method(&table, toy());
    made.drafter.begin_image(n_tokens, N_WORDS, N_WORDS);
    let uniforms = Uniforms::new(seed);
    let mut tokens = vec![TokenId(0)];
    for step in 0.. {
        let n_left = n_tokens - tokens.len();
        if n_left == 0 {
            return step as usize;
        }
        let tree = made.drafter.draft(&tokens, n_left, step, &uniforms);
        let scores = AfterToken(&tree);
        let verdict = verify(&tree, &scores, &mut *made.rule, &uniforms, step, n_left);
        tokens.extend(verdict.path.iter().map(|&node| tree[node].token).chain(verdict.next));
        made.drafter.observe(&tree, &verdict.path, Some(&scores), step, &uniforms);
    }
    unreachable!("steps do not end")
}

/// A token that stays leaves the distribution behind it as it was, and that token is accepted then.
#[test]
fn couplings_save_forwards() {
    let steps = |couple: &str| (0..100).map(|seed| n_steps(couple, 64, seed)).sum::<usize>() as f64;
    let independent = steps("independent");
    let [maximal, gumbel] = COUPLED.map(|couple| steps(couple) / independent);
    assert!(maximal < 0.8 && gumbel < 0.85, "of {independent} steps: {maximal}, {gumbel}");
}

/// A rejection early in the window moves every guess one place forward.
#[test]
fn a_guess_stays_where_its_distribution_does() {
    let row = |position: usize| {
        let weight = |v: usize| ((v * 7 + position * 5) % 11 + 1) as f32;
        Rc::new(Dist::from_weights((0..N_WORDS).map(weight).collect()).unwrap())
    };
    struct ByPosition(Vec<Rc<Dist>>);
    impl Scores for ByPosition {
        fn dist(&self, node: NodeId) -> Rc<Dist> {
            self.0[node.0].clone()
        }
        fn feature(&self, _: NodeId) -> Rc<[f32]> {
            Rc::from([])
        }
    }
    for couple in COUPLED {
        let mut drafter = method(&window(couple), toy()).drafter;
        drafter.begin_image(40, N_WORDS, N_WORDS);
        let uniforms = Uniforms::new(5);
        let mut tokens = vec![TokenId(0)];
        let mut before: Vec<TokenId> = Vec::new();
        for step in 0..20 {
            let tree = drafter.draft(&tokens, 40 - tokens.len(), step, &uniforms);
            let guesses: Vec<TokenId> = tree.ids().skip(1).map(|node| tree[node].token).collect();
            // The first step's guesses were drawn from nothing, the last one of a window is new.
            if 1 < step {
                assert_eq!(guesses[..4], before[1..], "{couple}, step {step}");
            }
            before = guesses;
            let scores = ByPosition((0..6).map(|node| row(tokens.len() + node)).collect());
            drafter.observe(&tree, &[], Some(&scores), step, &uniforms);
            tokens.push(TokenId(0));
        }
    }
}

/// Behind the tree at the front the window is a chain, and its nodes are as many as the window has.
#[test]
fn behind_the_tree_only_the_guesses_go_on() {
    for (width, depth) in [(2_usize, 2), (3, 2), (2, 3), (4, 3)] {
        let branch = format!(", branch = {{ width = {width}, depth = {depth} }} }}");
        let table = window("maximal").replace("window = 6", "window = 40").replace(" }", &branch);
        let mut drafter = method(&table, toy()).drafter;
        drafter.begin_image(99, N_WORDS, N_WORDS);
        let uniforms = Uniforms::new(1);
        let first = drafter.draft(&[TokenId(0)], 98, 0, &uniforms);
        drafter.observe(&first, &[], Some(&AfterToken(&first)), 0, &uniforms);
        let tree = drafter.draft(&[TokenId(0); 2], 97, 1, &uniforms);
        assert_eq!(tree.len(), 40, "{width} x {depth}");
        let of_depth = |at: usize| tree.ids().filter(|&node| tree[node].depth == at).count();
        let deepest = tree.ids().map(|node| tree[node].depth).max().unwrap();
        for at in 1..=deepest {
            let expected = if at < depth { width.pow(at as u32) } else { 1 };
            assert_eq!(of_depth(at), expected, "{width} x {depth}, depth {at}");
        }
    }
}

#[test]
fn greedy_decoding_is_the_same_under_every_coupling() {
    for seed in 0..50 {
        let tokens = |couple: &str| {
            image(method(&window(couple), greedy(target())), greedy(target()), 12, seed).tokens
        };
        for couple in COUPLED {
            assert_eq!(tokens(couple), tokens("independent"), "{couple}");
        }
    }
}

#[test]
fn a_coupling_is_part_of_the_line_and_of_a_window_only() {
    let line = |table: &str| crate::support::config(table).canonical();
    assert!(line(&window("gumbel")).contains("init=random,couple=gumbel"), "{}", line(&window("gumbel")));
    assert_eq!(line(&window("independent")), line(r#"{ proposer = "jacobi", window = 6, init = "random" }"#));
    let misplaced = r#"drafter = { proposer = "eagle1", shape = "chain", depth = 2, couple = "maximal" }"#;
    let error = toml::from_str::<specimen_decode::method::MethodConfig>(misplaced).unwrap_err();
    assert!(error.to_string().contains("couple"), "{error}");
}
