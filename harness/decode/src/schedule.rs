//! When to spend a target forward.

use std::{cell::RefCell, rc::Rc};

use crate::{
    dist::TokenId,
    generation::Scores,
    rng::Uniforms,
    tree::{NodeId, TokenTree},
    verify::Verdict,
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
    /// Called once per image, before its first draft.
    fn begin_image(&mut self) {}

    /// `tokens` are all tokens sampled so far, the last one being the root of `tree`. Draws use
    /// [`Purpose::Skip`](crate::rng::Purpose::Skip), addressed by `step`.
    fn decide(&mut self, tree: &TokenTree, tokens: &[TokenId], step: u32, uniforms: &Uniforms) -> Decision;

    /// May replace the outcome of a verification, for experiments that do. The path must be one of the tree,
    /// and the next token absent exactly if the path fills the image.
    fn revise(&mut self, verified: &Verified<'_>, verdict: Verdict) -> Verdict {
        let _ = verified;
        verdict
    }
}

/// A verification that has just been made.
#[derive(Clone, Copy)]
pub struct Verified<'a> {
    /// The draft tree that was verified.
    pub tree: &'a TokenTree,
    /// What the target said.
    pub scores: &'a dyn Scores,
    /// Index of the decode loop's iteration.
    pub step: u32,
    /// Tokens the image misses after the root.
    pub n_left: usize,
    /// The draws of the image; the verification used no more than one at `Resample`.
    pub uniforms: &'a Uniforms,
}

/// Verify every step: all methods but VVS.
pub struct AlwaysVerify;

impl Scheduler for AlwaysVerify {
    fn decide(&mut self, _: &TokenTree, _: &[TokenId], _: u32, _: &Uniforms) -> Decision {
        Decision::Verify
    }
}

/// Sees every step of an image and has no say in it.
pub trait Observer {
    /// A draft, before the scheduler decides. `tokens` are all tokens sampled so far, the last one being the root of
    /// `tree`.
    fn drafted(&mut self, tree: &TokenTree, tokens: &[TokenId]) {
        let _ = (tree, tokens);
    }

    /// The outcome of a verification, after the scheduler revised it.
    fn verified(&mut self, verified: &Verified<'_>, verdict: &Verdict) {
        let _ = (verified, verdict);
    }
}

/// A scheduler that shows every step to an observer, and decides as the one inside does.
pub struct Watched {
    inside: Box<dyn Scheduler>,
    observer: Rc<RefCell<dyn Observer>>,
}

impl Watched {
    /// Shows the steps of `inside` to `observer`.
    #[must_use]
    pub fn new(inside: Box<dyn Scheduler>, observer: Rc<RefCell<dyn Observer>>) -> Self {
        Self { inside, observer }
    }
}

impl Scheduler for Watched {
    fn begin_image(&mut self) {
        self.inside.begin_image();
    }

    fn decide(&mut self, tree: &TokenTree, tokens: &[TokenId], step: u32, uniforms: &Uniforms) -> Decision {
        self.observer.borrow_mut().drafted(tree, tokens);
        self.inside.decide(tree, tokens, step, uniforms)
    }

    fn revise(&mut self, verified: &Verified<'_>, verdict: Verdict) -> Verdict {
        let verdict = self.inside.revise(verified, verdict);
        self.observer.borrow_mut().verified(verified, &verdict);
        verdict
    }
}
