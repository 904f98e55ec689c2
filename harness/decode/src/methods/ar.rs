//! Autoregressive decoding: the reference every other method is measured against.
//!
//! The draft is the root alone, so each step is one target forward that gives one token: N forwards for N
//! tokens, the prefill included (van den Oord et al. 2016 onwards; the "AR" row of every table).

use crate::{dist::TokenId, drafter::Drafter, method::Works, rng::Uniforms, tree::TokenTree};

/// The work that autoregressive decoding is from.
pub(crate) const WORKS: Works = Works { method: "plain decoding", cite: &["vandenoord2016"] };

/// The drafter of autoregressive decoding: its tree is the root alone.
pub struct NoDraft;

impl Drafter for NoDraft {
    fn draft(&mut self, tokens: &[TokenId], _: usize, _: u32, _: &Uniforms) -> TokenTree {
        TokenTree::new(*tokens.last().expect("the first token is sampled from the prefill"))
    }

    fn n_forwards(&self) -> u32 {
        0
    }
}
