//! How sure the target is of its tokens, and how often it accepts what the drafter is so sure of.

use std::{cell::RefCell, rc::Rc};

use specimen_decode::{
    dist::TokenId,
    schedule::{Observer, Verified},
    tree::{Proposal, TokenTree},
    verify::Verdict,
};
use specimen_models::seam::loaded_model::LoadedModel;
use specimen_record::{Confidence, DiagnosticFile};

use crate::{
    diagnostics::{ImageObserver, decode_again, histogram::Histogram},
    error::RunError,
    score::CellImages,
};

/// Bins of a probability.
type Bins = Histogram<10>;

struct Seen {
    is_forced: Vec<bool>,
    /// Tokens sampled before the verification.
    n_tokens: usize,
    target: Bins,
    target_sum: f64,
    tested: Bins,
    accepted: Bins,
}

impl Observer for Seen {
    fn drafted(&mut self, _: &TokenTree, tokens: &[TokenId]) {
        self.n_tokens = tokens.len();
    }

    fn verified(&mut self, verified: &Verified<'_>, verdict: &Verdict) {
        let tree = verified.tree;
        let nodes = std::iter::once(TokenTree::ROOT).chain(verdict.path.iter().copied());
        for (level, node) in nodes.enumerate() {
            // A node of the last position has no token after it.
            if self.is_forced.get(self.n_tokens + level) != Some(&false) {
                continue;
            }
            let distribution = verified.scores.dist(node);
            let most = f64::from(distribution.prob(distribution.argmax()));
            self.target.push(most);
            self.target_sum += most;
            let first = tree.children(node).next().filter(|_| level < verdict.n_levels_tested);
            if let Some(first) = first
                && let Proposal::Sampled { distribution, .. } = &tree[first].proposal
            {
                let sure = f64::from(distribution.prob(tree[first].token));
                self.tested.push(sure);
                if verdict.path.get(level) == Some(&first) {
                    self.accepted.push(sure);
                }
            }
        }
    }
}

impl ImageObserver for Seen {
    fn begin(&mut self, is_forced: &[bool]) {
        self.is_forced = is_forced.to_vec();
    }
}

pub(crate) fn look(
    file: &mut DiagnosticFile,
    images: &CellImages<'_>,
    model: &LoadedModel,
) -> Result<(), RunError> {
    let bins = || Bins::new([0.0, 1.0]);
    let seen = Rc::new(RefCell::new(Seen {
        is_forced: Vec::new(),
        n_tokens: 0,
        target: bins(),
        target_sum: 0.0,
        tested: bins(),
        accepted: bins(),
    }));
    let n_repeated = decode_again(images, model, &seen)?;
    let seen = seen.borrow();
    if seen.target.n() == 0 {
        file.why = Some("the target sampled no free token after the first".to_owned());
        return Ok(());
    }
    let of_candidates = |bins: &Bins| if seen.tested.n() > 0 { bins.counts() } else { Vec::new() };
    file.confidence = Some(Confidence {
        target: seen.target.counts(),
        target_mean: seen.target_sum / seen.target.n() as f64,
        tested: of_candidates(&seen.tested),
        accepted: of_candidates(&seen.accepted),
        n_images: images.records.len() as u64,
        n_repeated,
    });
    Ok(())
}
