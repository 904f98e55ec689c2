//! What happened at each step, in the units every metric downstream is computed from.

use crate::dist::TokenId;

/// One iteration of the decode loop. The prefill is not a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepTrace {
    /// Candidates in the tree, root excluded.
    pub n_drafted: u32,
    /// Candidates accepted; all of the path when verification was skipped.
    pub n_accepted: u32,
    /// Tokens this step gives: accepted candidates plus the correction or bonus token (none when skipped); of rows side by
    /// side, what all of them get.
    /// Overshoot is kept: a last step that fills the image counts its bonus token although it is not drawn,
    /// so the mean over verified steps of one sequence is exactly `alpha + 1`.
    pub n_emitted: u32,
    /// Target forwards: 1 if verified, 0 if skipped.
    pub n_target_forwards: u32,
    /// Drafter forwards.
    pub n_draft_forwards: u32,
    /// Time of drafting.
    pub draft_ns: u64,
    /// Time of the scheduler's decision.
    pub schedule_ns: u64,
    /// Time of the target forward.
    pub target_ns: u64,
    /// Time of the acceptance walk, rows fetched on the way included.
    pub verify_ns: u64,
    /// Time of the KV update and of the drafter's bookkeeping.
    pub update_ns: u64,
}

/// One decoded image and how it came about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// Exactly `n_tokens` of the generation.
    pub tokens: Vec<TokenId>,
    /// The steps of the decode loop, in the order in which they were made.
    pub steps: Vec<StepTrace>,
    /// Time of the prefill and of drawing the first token.
    pub prefill_ns: u64,
    /// Entry `d`: verified steps whose walk reached depth `d + 1` and found candidates there. Positions
    /// with a forced token are left out.
    pub tested_by_depth: Vec<u32>,
    /// Entry `d`: how many of those accepted a candidate. Same length as `tested_by_depth`.
    pub accepted_by_depth: Vec<u32>,
    /// Times a residual was empty by rounding and the target's own distribution stood in for it.
    pub n_residual_fallbacks: u32,
    /// Verified tokens that had target probability 0 when committed: 0 for a lossless method. A token
    /// accepted past the end of the image cannot occur.
    pub out_of_support: u32,
    /// Positions of the image that hold a forced token.
    pub forced: u32,
    /// Total-variation mass the rule moved, summed over verifications.
    pub tvd_spent: f64,
    /// From before the prefill to after the last step.
    pub total_ns: u64,
}

impl Decoded {
    /// Adds a walk that tested the first `n_tested` depths and accepted at `n_accepted` of them.
    pub(crate) fn count_depths(&mut self, n_tested: usize, n_accepted: usize) {
        let counts = [(&mut self.tested_by_depth, n_tested), (&mut self.accepted_by_depth, n_accepted)];
        for (count, n) in counts {
            count.resize(count.len().max(n_tested), 0);
            count[..n].iter_mut().for_each(|n| *n += 1);
        }
    }

    /// Target forwards, the prefill included.
    #[must_use]
    pub fn nfe(&self) -> u32 {
        1 + self.steps.iter().map(|step| step.n_target_forwards).sum::<u32>()
    }
}
