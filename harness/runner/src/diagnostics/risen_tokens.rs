//! Guesses of a Jacobi window by the change of their probability: how many of those that rose are accepted, and how many
//! are the image's token in the end. SJD-VP rests on this (arXiv 2603.27115, Figs. 2 and 3).
//!
//! Acceptance itself compares the probability of a guess now with that of the iteration before, from which it was drawn.
//! So the rise that is compared with acceptance is the one before it: of two iterations that the test does not see. The
//! rise that is compared with the image's token is of guesses behind the first rejection, which no test has looked at;
//! they are drawn anew before they are tested, and correct if the image has their token there all the same.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use specimen_decode::{
    dist::{Dist, TokenId},
    method::Proposer,
    schedule::{Observer, Verified},
    tree::TokenTree,
    verify::Verdict,
};
use specimen_models::seam::loaded_model::LoadedModel;
use specimen_record::{DiagnosticFile, GuessTally, RisenTokens};

use crate::{
    diagnostics::{ImageObserver, decode_again, histogram::Histogram},
    error::RunError,
    score::CellImages,
};

/// Bins of width 1 around -4 to 4.
type Bins = Histogram<9>;

const RANGE: [f64; 2] = [-4.5, 4.5];

/// Guesses and hits among them.
struct Counts {
    guesses: Bins,
    hits: Bins,
    /// Guesses and hits, by whether the probability rose.
    totals: [[u64; 2]; 2],
}

/// A guess behind the first rejection.
struct Waiting {
    position: usize,
    token: TokenId,
    /// The target's probability of it in this iteration, and in the one before.
    probability: [f64; 2],
}

struct Windows {
    is_forced: Vec<bool>,
    n_tokens: usize,
    /// The target's distributions of the last iteration and of the one before, by position.
    before: [BTreeMap<usize, Rc<Dist>>; 2],
    /// Guesses of this image.
    waiting: Vec<Waiting>,
    accepted: Counts,
    correct: Counts,
}

impl Observer for Windows {
    fn drafted(&mut self, _: &TokenTree, tokens: &[TokenId]) {
        self.n_tokens = tokens.len();
    }

    fn verified(&mut self, verified: &Verified<'_>, verdict: &Verdict) {
        let tree = verified.tree;
        let mut now = BTreeMap::new();
        for node in tree.ids() {
            // The position of the token after it.
            let position = self.n_tokens + tree[node].depth;
            if self.is_forced.get(position) != Some(&false) {
                continue;
            }
            let distribution = verified.scores.dist(node);
            let [last, earlier] = [0, 1].map(|age| self.before[age].get(&position));
            if let (Some(guess), Some(last)) = (tree.children(node).next(), last) {
                let token = tree[guess].token;
                let [current, last, earlier] = [Some(&distribution), Some(last), earlier]
                    .map(|of| of.map(|of| f64::from(of.prob(token))));
                let is_tested = tree[guess].depth <= verdict.n_levels_tested;
                match (is_tested, current, last, earlier) {
                    (true, _, Some(last), Some(earlier)) => {
                        self.accepted.push([last, earlier], verdict.path.contains(&guess));
                    }
                    (false, Some(current), Some(last), _) => {
                        self.waiting.push(Waiting { position, token, probability: [current, last] });
                    }
                    _ => {}
                }
            }
            now.insert(position, distribution);
        }
        let [last, _] = std::mem::take(&mut self.before);
        self.before = [now, last];
    }
}

impl ImageObserver for Windows {
    fn begin(&mut self, is_forced: &[bool]) {
        self.is_forced = is_forced.to_vec();
        self.before = Default::default();
    }

    fn end(&mut self, tokens: &[TokenId]) {
        for guess in std::mem::take(&mut self.waiting) {
            self.correct.push(guess.probability, tokens[guess.position] == guess.token);
        }
    }
}

impl Counts {
    fn new() -> Self {
        Self { guesses: Bins::new(RANGE), hits: Bins::new(RANGE), totals: [[0; 2]; 2] }
    }

    /// Counts a guess whose probability is `now` after `before`.
    fn push(&mut self, [now, before]: [f64; 2], is_hit: bool) {
        let ratio = if now == before { 0.0 } else { (now / before).log2() };
        let total = &mut self.totals[usize::from(now > before)];
        self.guesses.push(ratio);
        total[0] += 1;
        if is_hit {
            self.hits.push(ratio);
            total[1] += 1;
        }
    }

    fn tally(&self) -> GuessTally {
        let [not_risen, risen] = self.totals;
        GuessTally { guesses: self.guesses.counts(), hits: self.hits.counts(), risen, not_risen }
    }
}

pub(crate) fn look(
    file: &mut DiagnosticFile,
    images: &CellImages<'_>,
    model: &LoadedModel,
) -> Result<(), RunError> {
    let drafter = &images.cell.method.drafter;
    if drafter.proposer != Proposer::Jacobi
        || drafter.jacobi.as_ref().is_some_and(|window| window.branch.is_some())
    {
        file.why = Some("it keeps no chain of guesses from iteration to iteration".to_owned());
        return Ok(());
    }
    let seen = Rc::new(RefCell::new(Windows {
        is_forced: Vec::new(),
        n_tokens: 0,
        before: Default::default(),
        waiting: Vec::new(),
        accepted: Counts::new(),
        correct: Counts::new(),
    }));
    let n_repeated = decode_again(images, model, &seen)?;
    let seen = seen.borrow();
    file.risen_tokens = Some(RisenTokens {
        log2_ratio: (-4..=4).map(f64::from).collect(),
        accepted: seen.accepted.tally(),
        correct: seen.correct.tally(),
        n_images: images.records.len() as u64,
        n_repeated,
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_is_counted_by_the_change_of_its_probability() {
        let mut counts = Counts::new();
        counts.push([0.4, 0.1], true);
        counts.push([0.1, 0.0], true);
        counts.push([0.1, 0.4], true);
        counts.push([0.0, 0.4], false);
        counts.push([0.0, 0.0], false);
        let found = counts.tally();
        assert_eq!(found.guesses, [1, 0, 1, 0, 1, 0, 1, 0, 1]);
        assert_eq!(found.hits, [0, 0, 1, 0, 0, 0, 1, 0, 1]);
        assert_eq!((found.risen, found.not_risen), ([2, 2], [3, 1]), "what fell or stayed did not rise");
    }
}
