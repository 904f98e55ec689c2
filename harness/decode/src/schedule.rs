//! When to spend a target forward.

use crate::{
    dist::TokenId,
    rng::Uniforms,
    tree::{NodeId, TokenTree},
};

/// What to do with a drafted tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Score it and test its candidates.
    Verify,
    /// Accept these candidates, top-down from depth 1, without the target. At least one; the last becomes
    /// the next root, so it was never sampled from the target.
    Skip(Vec<NodeId>),
}

/// Decides step by step whether the target looks at the draft.
pub trait Scheduler {
    /// `tokens` are all tokens sampled so far, the last one being the root of `tree`. Draws use
    /// [`Purpose::Skip`](crate::rng::Purpose::Skip), addressed by `step`.
    fn decide(&mut self, tree: &TokenTree, tokens: &[TokenId], step: u32, uniforms: &Uniforms) -> Decision;
}

/// Verify every step: all methods but VVS.
pub struct AlwaysVerify;

impl Scheduler for AlwaysVerify {
    fn decide(&mut self, _: &TokenTree, _: &[TokenId], _: u32, _: &Uniforms) -> Decision {
        Decision::Verify
    }
}
