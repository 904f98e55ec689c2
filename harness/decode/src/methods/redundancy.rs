//! The redundancy experiment of VVS (supplement, Table 4): keep how many candidates were accepted, but take
//! the tokens of the drafter's first path instead, at every `m`-th verification.
//!
//! The reference keeps the token after the originally accepted path, whose context is then another one; that
//! is reproduced unless `resample` is set. `m = 1, 2, 3, 4` are its redundancies 100, 50, 33 and 25 %.

use serde::{Deserialize, Serialize};

use crate::{
    dist::TokenId,
    method::{MethodError, Works},
    methods::vvs::rows,
    rng::{Purpose, Uniforms},
    schedule::{Decision, Scheduler, Verified},
    tree::{NodeId, TokenTree},
    verify::Verdict,
};

/// The work that the redundancy experiment is from.
pub(crate) const WORKS: Works = Works { method: "redundancy", cite: &["dong2026vvs"] };

/// `{ kind = "redundancy", every = 2 }`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedundancyConfig {
    /// `m`: steps from one replacement to the next, at least 1.
    pub every: u32,
    /// Whether the next token is drawn anew after the path that was taken.
    #[serde(default)]
    pub resample: bool,
}

/// Replaces accepted paths.
pub struct Redundancy(pub RedundancyConfig);

impl RedundancyConfig {
    pub(crate) fn validate(&self) -> Result<(), MethodError> {
        let every = f64::from(self.every);
        MethodError::check_real("schedule redundancy", "every", "at least 1", 1 <= self.every, every)
    }

    pub(crate) fn canonical(&self) -> String {
        format!("redundancy(every={},resample={})", self.every, self.resample)
    }
}

impl Scheduler for Redundancy {
    fn decide(&mut self, _: &TokenTree, _: &[TokenId], _: u32, _: &Uniforms) -> Decision {
        Decision::Verify
    }

    fn revise(&mut self, verified: &Verified<'_>, verdict: Verdict) -> Verdict {
        let Verified { tree, scores, step, n_left, uniforms } = *verified;
        if step % self.0.every != 1 % self.0.every || verdict.path.is_empty() {
            return verdict;
        }
        let mut path = rows(tree).swap_remove(0);
        path.truncate(verdict.path.len());
        if path == verdict.path {
            return verdict;
        }
        let parents = std::iter::once(&TokenTree::ROOT).chain(&path);
        let is_outside =
            |&(&parent, &node): &(&NodeId, &NodeId)| scores.dist(parent).prob(tree[node].token) == 0.0;
        let out_of_support = parents.zip(&path).filter(is_outside).count() as u32;
        let end = path[path.len() - 1];
        let next = match verdict.next {
            _ if path.len() == n_left => None,
            Some(next) if !self.0.resample => Some(next),
            _ => Some(scores.dist(end).sample(uniforms.uniform(Purpose::Resample, step, 0))),
        };
        Verdict { path, next, out_of_support, ..verdict }
    }
}
