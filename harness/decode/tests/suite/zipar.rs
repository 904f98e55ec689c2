//! ZipAR against its definition: when each token is decoded, and what it sees then.

use std::rc::Rc;

use specimen_decode::{
    decoder::decode,
    dist::{Dist, TokenId},
    frontier::{PictureRows, Placed},
    generation::{Generation, Scores},
    pipeline::Sampling,
    rng::{Purpose, Uniforms, slot},
    toy::{MISSING, ToyGeneration, ToyModel},
    trace::Decoded,
    tree::{NodeId, TokenTree},
};

use crate::{
    chi_square::chi_square,
    support::{AR, P_MIN, SAMPLING, Ticks, built, image, method, parsed, target},
};

fn zipar(window: usize) -> String {
    format!("frontier = {{ kind = \"zipar\", window = {window} }}")
}

fn zipar_image(
    model: ToyModel,
    (n_tokens, row): (usize, usize),
    window: usize,
    uniforms: &Uniforms,
) -> Decoded {
    let mut generation = ToyGeneration::new(model.clone(), n_tokens).with_rows(row);
    let decoded = decode(&mut built(&zipar(window), model), &mut generation, uniforms, &Ticks::new());
    assert_eq!(decoded.nfe(), generation.n_forwards());
    assert_eq!(decoded.tokens.len(), n_tokens);
    let emitted: u32 = decoded.steps.iter().map(|step| step.n_emitted).sum();
    assert!(
        decoded.steps.iter().all(|step| (step.n_drafted, step.n_accepted) == (0, 0)),
        "nothing is drafted"
    );
    assert_eq!(emitted as usize, n_tokens - 1, "the first token is of the prefill");
    decoded
}

/// Written from the definition: position by position, with the forward in which each is decoded.
fn by_definition(
    model: &ToyModel,
    (n_tokens, row): (usize, usize),
    window: usize,
    seed: u64,
) -> Vec<TokenId> {
    let window = window.min(row);
    // Row 0 takes the forwards 0 to row - 1, row 1 follows it whole, and each row behind it starts `window` later.
    let forward = |position: usize| match (position / row, position % row) {
        (0, column) => column,
        (r, column) => row + (r - 1) * window + column,
    };
    let uniforms = Uniforms::new(seed);
    let mut tokens = vec![MISSING; n_tokens];
    let mut order: Vec<usize> = (0..n_tokens).collect();
    order.sort_by_key(|&position| forward(position));
    for position in order {
        let now = forward(position);
        let mut context: Vec<TokenId> =
            (0..position).map(|p| if forward(p) < now { tokens[p] } else { MISSING }).collect();
        if position > 0 && context[position - 1] == MISSING {
            let above = position - row - 1;
            // The token above the missing one, or the newest of its row.
            let newest = (above + 1 - row..=above).rev().find(|&p| forward(p) < now).unwrap();
            context[position - 1] = tokens[newest];
        }
        let distribution = model.distribution(&context);
        let u = match position {
            0 => uniforms.uniform(Purpose::Root, 0, 0),
            _ => uniforms.uniform(Purpose::Resample, now as u32 - 1, slot(0, position / row)),
        };
        tokens[position] = distribution.sample(u);
    }
    tokens
}

#[test]
fn every_token_is_decoded_when_and_after_what_the_definition_says() {
    for (n_tokens, row) in [(25, 5), (12, 4), (9, 3), (20, 4), (6, 3), (7, 3)] {
        for window in 1..=row + 1 {
            for seed in 0..20 {
                let decoded = zipar_image(target(), (n_tokens, row), window, &Uniforms::new(seed));
                let expected = by_definition(&target(), (n_tokens, row), window, seed);
                assert_eq!(decoded.tokens, expected, "{n_tokens} tokens in rows of {row}, window {window}");
            }
        }
    }
}

#[test]
fn the_first_row_stands_alone_and_every_later_one_starts_a_window_behind() {
    let forwards = |window| zipar_image(target(), (36, 6), window, &Uniforms::new(1)).nfe();
    assert_eq!([1, 2, 5, 6, 99].map(forwards), [16, 20, 32, 36, 36]);
}

#[test]
fn a_window_of_a_whole_row_is_plain_decoding_and_a_shorter_one_is_not() {
    let coupled = ToyModel { sampling: Sampling { coupled: true, ..SAMPLING }, ..target() };
    for seed in 0..50 {
        let uniforms = Uniforms::new(seed).coupled(true);
        let mut plain = ToyGeneration::new(coupled.clone(), 12);
        let expected = decode(&mut method(AR, coupled.clone()), &mut plain, &uniforms, &Ticks::new());
        assert_eq!(zipar_image(coupled.clone(), (12, 4), 4, &uniforms).tokens, expected.tokens);
    }
    // Six tokens of four kinds in rows of two: with a window of 1 the third row does not wait for the second.
    let toy = ToyModel { n_vocab: 4, ..target() };
    let joint = toy.joint(6);
    let found = |window| {
        let mut counts = vec![0; joint.len()];
        for seed in 0..40_000 {
            let tokens = zipar_image(toy.clone(), (6, 2), window, &Uniforms::new(seed)).tokens;
            counts[tokens.iter().fold(0, |cell, token| cell * 4 + token.idx())] += 1;
        }
        chi_square(&counts, &joint)
    };
    let (whole, short) = (found(2), found(1));
    assert!(P_MIN < whole.p_value, "{whole:?}");
    assert!(short.p_value < P_MIN, "{short:?}");
    assert_eq!(image(built(&zipar(9), toy.clone()), toy, 6, 3).tokens.len(), 6, "an image of one row");
}

/// Rows of four codes and a row end.
struct WithRowEnds;

const ROW_END: TokenId = TokenId(3);

/// The positions of the tokens that were run.
struct At(Vec<usize>);

impl Scores for At {
    fn dist(&self, node: NodeId) -> Rc<Dist> {
        match WithRowEnds.forced(self.0[node.0] + 1) {
            Some(token) => Rc::new(Dist::one_hot(4, token)),
            None => WithRowEnds.prefill(),
        }
    }
    fn feature(&self, _: NodeId) -> Rc<[f32]> {
        Rc::from([])
    }
}

impl Generation for WithRowEnds {
    fn n_tokens(&self) -> usize {
        20
    }
    fn n_vocab(&self) -> usize {
        4
    }
    fn prefill(&mut self) -> Rc<Dist> {
        Rc::new(Dist::from_weights(vec![1.0, 1.0, 1.0, 0.0]).unwrap())
    }
    fn score(&mut self, _: &TokenTree) -> Box<dyn Scores> {
        unreachable!("rows are under way")
    }
    fn commit(&mut self, _: &[NodeId]) {
        unreachable!("rows are under way")
    }
    fn rows(&self) -> PictureRows {
        PictureRows { n_before: 0, len: 5, n: 4 }
    }
    fn score_placed(&mut self, tokens: &[Placed]) -> Box<dyn Scores> {
        for Placed { position, token, .. } in tokens {
            assert_eq!(position % 5 == 4, *token == ROW_END, "position {position}");
        }
        Box::new(At(tokens.iter().map(|placed| placed.position).collect()))
    }
    fn keep_placed(&mut self, _: &[NodeId]) {}
    fn forced(&self, position: usize) -> Option<TokenId> {
        (position % 5 == 4).then_some(ROW_END)
    }
}

#[test]
fn a_row_end_that_is_not_decoded_yet_is_known() {
    for seed in 0..50 {
        let mut made = built(&zipar(1), target());
        let decoded = decode(&mut made, &mut WithRowEnds, &Uniforms::new(seed), &Ticks::new());
        assert_eq!((decoded.tokens.len(), decoded.forced), (20, 4));
    }
}

#[test]
fn a_frontier_stands_in_place_of_drafts_and_is_relaxed() {
    let config = parsed(&zipar(3));
    assert!(!config.is_lossless());
    assert_eq!(config.canonical(), "frontier=zipar(window=3)");
    let again: specimen_decode::method::MethodConfig =
        serde_json::from_str(&serde_json::to_string(&config).unwrap()).unwrap();
    assert_eq!(again, config);
    let refused = |text: &str| {
        let config = toml::from_str::<specimen_decode::method::MethodConfig>(text);
        config
            .map_err(|error| error.to_string())
            .and_then(|c| c.validate().map_err(|error| error.to_string()))
    };
    let beside = |key: &str| refused(&format!("{key}\n{}", zipar(3))).unwrap_err();
    for key in [
        r#"drafter = { proposer = "jacobi", window = 4, init = "random" }"#,
        r#"accept = [{ kind = "gsd", group = 2, delta_p = 0.1 }]"#,
    ] {
        assert!(beside(key).contains("remove `drafter`, `accept` and `schedule`"), "{}", beside(key));
    }
    assert!(refused(&zipar(0)).unwrap_err().contains("`window` is 0, expected 1..=1024"));
}
