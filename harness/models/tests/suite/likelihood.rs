//! Teacher forcing: likelihoods are sums over step distributions, and the decoding path computes what training did.

use specimen_decode::{dist::TokenId, generation::Generation, pipeline::Sampling, tree::TokenTree};
use specimen_models::seam::likelihood::{image_tokens, nll_bits, teacher_forced};
use tch::{Tensor, no_grad};

use crate::{
    support::{Choices, EVERY_NETWORK, GUIDED, PLAIN, caption_rows, igpt, tiny, tiny_backbone},
    toys::{CHAMELEONS, TOYS, toy},
};

fn image(generation: &dyn Generation, seed: u64) -> Vec<TokenId> {
    let mut choices = Choices::new(seed);
    // Emu3's structural tokens, four kinds behind 64 codes, are never drawn.
    let n_drawn = if generation.n_vocab() == 68 { 64 } else { generation.n_vocab() };
    (0..generation.n_tokens()).map(|_| choices.token(n_drawn)).collect()
}

#[test]
fn nll_is_the_mean_of_minus_log2_of_the_step_distributions() {
    for (name, open) in EVERY_NETWORK {
        let mut generation = open();
        let tokens = image(&generation, 21);
        let found = nll_bits(&open(), &tokens);
        let mut bits = -f64::from(generation.prefill().prob(tokens[0])).log2();
        for pair in tokens.windows(2) {
            let distribution = generation.score(&TokenTree::new(pair[0])).dist(TokenTree::ROOT);
            bits -= f64::from(distribution.prob(pair[1])).log2();
            generation.commit(&[TokenTree::ROOT]);
        }
        let expected = bits / tokens.len() as f64;
        assert!((found - expected).abs() < 1e-4 * expected, "{name}: expected {expected}, found {found}");
    }
}

#[test]
fn nll_is_taken_before_the_filters() {
    let filtered = |sampling| Sampling { top_k: 2, top_p: 0.5, ..sampling };
    let tokens = image(&igpt(PLAIN), 22);
    assert_eq!(nll_bits(&igpt(filtered(PLAIN)), &tokens), nll_bits(&igpt(PLAIN), &tokens));
    let tokens = image(&tiny(GUIDED), 23);
    assert_eq!(nll_bits(&tiny(filtered(GUIDED)), &tokens), nll_bits(&tiny(GUIDED), &tokens));
}

#[test]
fn the_decoding_path_gives_the_features_that_training_sees() {
    let generation = tiny(GUIDED);
    let tokens = image(&generation, 24);
    let found = no_grad(|| teacher_forced(&generation, &tokens));
    let ids: Vec<i64> = tokens.iter().map(|token| i64::from(token.0)).collect();
    let ids = Tensor::from_slice(&ids).unsqueeze(0).expand([2, -1], false);
    let expected = no_grad(|| tiny_backbone().features(&caption_rows(2), &ids));
    assert_eq!(found.size(), expected.size());
    let distance = (found - expected).abs().max().double_value(&[]);
    assert!(distance < 1e-4, "features differ by {distance}");
}

#[test]
fn tokens_from_outside_are_an_image_only_where_each_stands_as_the_model_has_it() {
    for (name, prompt) in TOYS.into_iter().chain(CHAMELEONS) {
        let generation = toy(name).open(prompt, &GUIDED, 1).unwrap();
        let (n_tokens, n_codes) = (generation.n_tokens(), generation.n_codes() as u32);
        let sound: Vec<u32> = (0..n_tokens)
            .map(|at| generation.forced(at).map_or(at as u32 % n_codes, |token| token.0))
            .collect();
        let expected: Vec<TokenId> = sound.iter().map(|&token| TokenId(token)).collect();
        assert_eq!(image_tokens(&generation, &sound), Ok(expected), "{name}");
        for at in 0..n_tokens {
            // A code where a structural token belongs, a structural token of another kind, and one where a code belongs.
            let wrong = match generation.forced(at) {
                Some(forced) => vec![0, n_codes + (forced.0 - n_codes + 1) % 2],
                None => vec![n_codes, generation.n_vocab() as u32, u32::MAX],
            };
            for wrong in wrong.into_iter().filter(|token| *token != sound[at]) {
                let mut tokens = sound.clone();
                tokens[at] = wrong;
                let why = image_tokens(&generation, &tokens).unwrap_err();
                let expected = match generation.forced(at) {
                    Some(forced) => format!("the structural token {}", forced.0),
                    None => format!("a code below {n_codes}"),
                };
                assert_eq!(
                    why,
                    format!("position {at}, from 0: expected {expected}, found {wrong}"),
                    "{name}"
                );
            }
        }
        let short = image_tokens(&generation, &sound[1..]).unwrap_err();
        assert_eq!(short, format!("expected {n_tokens} tokens, found {}", n_tokens - 1), "{name}");
    }
}
