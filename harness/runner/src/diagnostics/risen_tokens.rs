//! Guesses of a Jacobi window whose probability rose since the iteration before: how many of them are accepted, and how
//! many are the image's token in the end. SJD-VP rests on this (arXiv 2603.27115, Figs. 2 and 3).

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use specimen_decode::{
    dist::{Dist, TokenId},
    method::Proposer,
    schedule::{Observer, Verified},
    tree::TokenTree,
    verify::Verdict,
};
use specimen_models::seam::loaded_model::LoadedModel;
use specimen_record::{DiagnosticFile, RisenTokens};

use crate::{
    diagnostics::{ImageObserver, decode_again, histogram::Histogram},
    error::RunError,
    score::CellImages,
};

/// Bins of width 1 around -4 to 4.
type Bins = Histogram<9>;

const RANGE: [f64; 2] = [-4.5, 4.5];

/// Guesses, those accepted, those that are the image's token.
struct Counts {
    guesses: Bins,
    accepted: Bins,
    correct: Bins,
    /// By whether the probability rose.
    totals: [[u64; 3]; 2],
}

/// A guess that was scored in two iterations.
struct Guess {
    position: usize,
    token: TokenId,
    /// The target's probability of it in this iteration, and in the one before.
    probability: [f64; 2],
    is_accepted: bool,
}

struct Windows {
    is_forced: Vec<bool>,
    n_tokens: usize,
    /// The target's distributions of the iteration before, by position.
    before: BTreeMap<usize, Rc<Dist>>,
    /// Guesses of this image.
    guesses: Vec<Guess>,
    counts: Counts,
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
            if let (Some(guess), Some(before)) = (tree.children(node).next(), self.before.get(&position)) {
                let token = tree[guess].token;
                self.guesses.push(Guess {
                    position,
                    token,
                    probability: [distribution.prob(token), before.prob(token)].map(f64::from),
                    is_accepted: verdict.path.contains(&guess),
                });
            }
            now.insert(position, distribution);
        }
        self.before = now;
    }
}

impl ImageObserver for Windows {
    fn begin(&mut self, is_forced: &[bool]) {
        self.is_forced = is_forced.to_vec();
        self.before.clear();
    }

    fn end(&mut self, tokens: &[TokenId]) {
        for guess in std::mem::take(&mut self.guesses) {
            self.counts.push(&guess, tokens[guess.position] == guess.token);
        }
    }
}

impl Counts {
    fn push(&mut self, guess: &Guess, is_correct: bool) {
        let [now, before] = guess.probability;
        let ratio = if now == before { 0.0 } else { (now / before).log2() };
        let totals = &mut self.totals[usize::from(now > before)];
        let counted = [true, guess.is_accepted, is_correct];
        let bins = [&mut self.guesses, &mut self.accepted, &mut self.correct];
        for ((bins, total), counts) in bins.into_iter().zip(totals).zip(counted) {
            if counts {
                bins.push(ratio);
                *total += 1;
            }
        }
    }
}

pub(crate) fn look(
    file: &mut DiagnosticFile,
    images: &CellImages<'_>,
    model: &LoadedModel,
) -> Result<(), RunError> {
    if images.cell.method.drafter.proposer != Proposer::Jacobi {
        file.why = Some("it keeps no window of guesses from iteration to iteration".to_owned());
        return Ok(());
    }
    let bins = || Bins::new(RANGE);
    let counts = Counts { guesses: bins(), accepted: bins(), correct: bins(), totals: [[0; 3]; 2] };
    let seen =
        Windows { is_forced: Vec::new(), n_tokens: 0, before: BTreeMap::new(), guesses: Vec::new(), counts };
    let seen = Rc::new(RefCell::new(seen));
    let n_repeated = decode_again(images, model, &seen)?;
    let seen = seen.borrow();
    let Counts { guesses, accepted, correct, totals: [not_risen, risen] } = &seen.counts;
    file.risen_tokens = Some(RisenTokens {
        log2_ratio: (-4..=4).map(f64::from).collect(),
        guesses: guesses.counts(),
        accepted: accepted.counts(),
        correct: correct.counts(),
        risen: *risen,
        not_risen: *not_risen,
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
        let bins = || Bins::new(RANGE);
        let mut counts = Counts { guesses: bins(), accepted: bins(), correct: bins(), totals: [[0; 3]; 2] };
        let mut push = |probability: [f64; 2], is_accepted: bool, is_correct: bool| {
            counts.push(&Guess { position: 0, token: TokenId(0), probability, is_accepted }, is_correct);
        };
        push([0.4, 0.1], true, true);
        push([0.1, 0.0], false, true);
        push([0.1, 0.4], true, false);
        push([0.0, 0.4], false, false);
        push([0.0, 0.0], false, false);
        assert_eq!(counts.guesses.counts(), [1, 0, 1, 0, 1, 0, 1, 0, 1]);
        assert_eq!(counts.accepted.counts(), [0, 0, 1, 0, 0, 0, 1, 0, 0]);
        assert_eq!(counts.correct.counts(), [0, 0, 0, 0, 0, 0, 1, 0, 1]);
        assert_eq!(counts.totals, [[3, 1, 0], [2, 1, 2]], "fell or stayed, rose");
    }
}
