//! The acceptance walk over a scored tree, and the rule that papers relax.
//!
//! Multi-candidate recursive rejection (CASCADE Algorithm 1 extended to trees; EAGLE's `evaluate_posterior`):
//! siblings are tested in drafting order against what their rejected predecessors left of the target's distribution.
//! Differs from the reference code: the test is `r < ratio` (theirs `<=` accepts probability 0 at `r = 0`),
//! and an empty residual falls back to the target's distribution and is counted (theirs becomes uniform).

use std::rc::Rc;

use crate::{
    dist::{Dist, TokenId},
    generation::Scores,
    noise::Noise,
    rng::{Purpose, Uniforms, slot},
    tree::{NodeId, Proposal, TokenTree},
};

/// What a rule grants one candidate: it is accepted with probability `min(1, target / draft)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mass {
    /// Target mass claimed, the lent mass included. Lossless: `g[x]`.
    pub target: f32,
    /// Drafter mass it is compared with. Lossless: `pc` for a sampled candidate, 1 for a chosen one. A
    /// candidate with none is passed over.
    pub draft: f32,
}

/// What the rejection of a candidate takes out of the target's distribution `g`. What is left is the residual,
/// `norm((g - mass)+)` without `lenders`: the next sibling is tested against it, and the correction token is
/// drawn from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taken {
    /// Mass that each token loses, `[n_vocab]`, finite and at least 0; [`Level::row`] makes one. `None`: the
    /// distribution `d` that the candidate was drawn from, which gives the plain residual `norm((g - d)+)`.
    pub mass: Option<Vec<f32>>,
    /// Tokens that lose all they have besides: those that lent to the candidate, where a rule says so.
    pub lenders: Vec<TokenId>,
}

impl Taken {
    /// What a lossless test takes: the distribution that the candidate was drawn from.
    #[must_use]
    pub fn plain() -> Self {
        Self::default()
    }
}

/// The candidates below one accepted node, as a rule sees them.
pub struct Level<'a> {
    /// The whole draft.
    pub tree: &'a TokenTree,
    /// Target distributions and features of every node.
    pub scores: &'a dyn Scores,
    /// The accepted node the candidates would follow.
    pub parent: NodeId,
    /// `g`: the target's distribution here, less what earlier siblings' rejections removed.
    pub q: &'a Dist,
    /// Tokens of the siblings rejected so far.
    pub tried: &'a [TokenId],
}

impl Level<'_> {
    /// `d[token]`: the probability of `token` under the distribution `candidate` was drawn from, which is the
    /// drafter's distribution without the tried siblings, renormalised; a point mass for a chosen candidate.
    #[must_use]
    pub fn draft_prob(&self, candidate: NodeId, token: TokenId) -> f32 {
        let node = &self.tree[candidate];
        match &node.proposal {
            Proposal::Sampled { distribution, conditional } if token == node.token => {
                debug_assert!(0.0 < distribution.prob(token), "a sampled token has positive probability");
                *conditional
            }
            Proposal::Sampled { .. } if self.tried.contains(&token) => 0.0,
            Proposal::Sampled { distribution, conditional } => {
                distribution.prob(token) * rescale(distribution, node.token, *conditional)
            }
            Proposal::Chosen | Proposal::Root => f32::from(u8::from(token == node.token)),
        }
    }

    /// `value(g[v], d[v])` for every token `v`, `[n_vocab]`; `d` is that of [`draft_prob`](Self::draft_prob).
    pub fn row(&self, candidate: NodeId, value: impl Fn(f32, f32) -> f32) -> Vec<f32> {
        let node = &self.tree[candidate];
        let g = self.q.probs();
        let mut row: Vec<f32> = match &node.proposal {
            Proposal::Sampled { distribution, conditional } => {
                let scale = rescale(distribution, node.token, *conditional);
                g.iter().zip(distribution.probs()).map(|(&g, &p)| value(g, scale * p)).collect()
            }
            Proposal::Chosen | Proposal::Root => g.iter().map(|&g| value(g, 0.0)).collect(),
        };
        for &token in self.tried.iter().chain([&node.token]) {
            row[token.idx()] = value(self.q.prob(token), self.draft_prob(candidate, token));
        }
        row
    }
}

/// When a candidate is accepted, and what is left if it is not: the identity is lossless, each paper relaxes it.
/// Rules nest: an outer rule asks its inner one first and adds to the [`Mass`] and the [`Taken`] it returns.
pub trait AcceptanceRule {
    /// Called once per image, before its first verification.
    fn begin_image(&mut self) {}

    /// Called once per verification, before the first level.
    fn begin_step(&mut self) {}

    /// The claim of one candidate. Called once per tested candidate, in order of testing.
    fn mass(&mut self, level: &Level<'_>, candidate: NodeId) -> Mass;

    /// What the rejection of the last claim's candidate takes out of `level.q`; the plain residual where a rule
    /// does not say otherwise. Called after [`settle`](Self::settle), only if the candidate was rejected.
    fn taken(&mut self, level: &Level<'_>, candidate: NodeId) -> Taken {
        let _ = (level, candidate);
        Taken::plain()
    }

    /// Learns the result of the last claim: `r` is the draw it was tested with. Not called for a candidate
    /// that was passed over.
    fn settle(&mut self, r: f64, accepted: bool) {
        let _ = (r, accepted);
    }

    /// Total-variation mass moved since [`begin_step`](Self::begin_step), inner rules included.
    fn tvd_spent(&self) -> f64 {
        0.0
    }
}

/// Outcome of one verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Accepted candidates, top-down.
    pub path: Vec<NodeId>,
    /// The correction token after a rejection, or the bonus token after a full path. `None` if the path
    /// fills the image, so that a next token would be beyond its end.
    pub next: Option<TokenId>,
    /// Depths at which candidates were tested: `path.len()`, plus 1 if the walk ended in a rejection.
    pub n_levels_tested: usize,
    /// Times a residual summed to zero and the target's distribution stood in for it.
    pub n_residual_fallbacks: u32,
    /// Accepted candidates the target gives probability 0.
    pub out_of_support: u32,
}

/// Walks `tree` from the root, accepting at most `n_left` candidates (tokens the image misses after the root).
///
/// Reads only the distributions of accepted nodes and the root, plus what the rule asks for.
///
/// With coupled seeds the target's token is drawn first, by the image's noise. A candidate that equals it is accepted: this
/// takes the place of the plain test, which accepts with probability `a = min(1, g[x] / d[x])`. Any other candidate is accepted
/// with probability `(b - a) / (1 - a)`, where `b` is the rule's probability: the share of plain rejections that the rule turns
/// into acceptances. Where none is accepted the target's token follows. So a lossless rule gives the image of plain decoding,
/// and the first token that differs from it is one that the rule granted.
pub fn verify(
    tree: &TokenTree,
    scores: &dyn Scores,
    rule: &mut dyn AcceptanceRule,
    uniforms: &Uniforms,
    step: u32,
    n_left: usize,
) -> Verdict {
    rule.begin_step();
    let mut walk = Walk { tree, scores, rule, uniforms, step, n_levels_tested: 0, n_residual_fallbacks: 0 };
    let mut path = Vec::new();
    let mut out_of_support = 0;
    let mut parent = TokenTree::ROOT;
    let next = loop {
        if path.len() == n_left {
            break None;
        }
        let q = scores.dist(parent);
        let coupled =
            uniforms.is_coupled().then(|| Noise::default().first(&q, uniforms, n_left - path.len()));
        match walk.test_children(parent, &q, coupled) {
            Tested::Accepted(child) => {
                out_of_support += u32::from(q.prob(tree[child].token) == 0.0);
                path.push(child);
                parent = child;
            }
            Tested::NoneLeft(residual) => {
                let drawn = || {
                    let u = uniforms.uniform(Purpose::Resample, step, 0);
                    residual.as_ref().unwrap_or(&q).sample(u)
                };
                break Some(coupled.unwrap_or_else(drawn));
            }
        }
    };
    let Walk { n_levels_tested, n_residual_fallbacks, .. } = walk;
    Verdict { path, next, n_levels_tested, n_residual_fallbacks, out_of_support }
}

/// What became of the children of one node.
enum Tested {
    Accepted(NodeId),
    /// All were rejected, leaving this residual; `None` if nothing was subtracted from the target's distribution.
    NoneLeft(Option<Dist>),
}

struct Walk<'a> {
    tree: &'a TokenTree,
    scores: &'a dyn Scores,
    rule: &'a mut dyn AcceptanceRule,
    uniforms: &'a Uniforms,
    step: u32,
    n_levels_tested: usize,
    n_residual_fallbacks: u32,
}

impl Walk<'_> {
    /// `coupled`: the target's own token here, where seeds are coupled.
    fn test_children(&mut self, parent: NodeId, q: &Rc<Dist>, coupled: Option<TokenId>) -> Tested {
        let mut residual: Option<Dist> = None;
        let mut tried: Vec<TokenId> = Vec::new();
        for (sibling, child) in self.tree.children(parent).enumerate() {
            self.n_levels_tested += usize::from(sibling == 0);
            let token = self.tree[child].token;
            if tried.contains(&token) {
                continue; // A repeated sibling was already tested.
            }
            let g = residual.as_ref().unwrap_or(q);
            let level = Level { tree: self.tree, scores: self.scores, parent, q: g, tried: &tried };
            let mass = self.rule.mass(&level, child);
            let equals = coupled == Some(token);
            if mass.draft <= 0.0 && !equals {
                continue;
            }
            let depth = self.tree[child].depth;
            let u = self.uniforms.uniform(Purpose::Accept, self.step, slot(depth, sibling));
            let (r, accepted) = match coupled {
                None => (u, u * f64::from(mass.draft) < f64::from(mass.target)),
                Some(_) => {
                    let plain = chance(level.q.prob(token), level.draft_prob(child, token));
                    // Where a uniform `r` would lie, given whether it is below `plain`.
                    let r = if equals { u * plain } else { plain + u * (1.0 - plain) };
                    (r, equals || r < chance(mass.target, mass.draft))
                }
            };
            self.rule.settle(r, accepted);
            if accepted {
                return Tested::Accepted(child);
            }
            let taken = self.rule.taken(&level, child);
            let mut left = residual.take().unwrap_or_else(|| Dist::clone(q));
            if reject(&mut left, &self.tree[child].proposal, token, &tried, &taken) {
                residual = Some(left);
            } else {
                // With coupled seeds no token is drawn from what is left.
                self.n_residual_fallbacks += u32::from(coupled.is_none());
            }
            tried.push(token);
        }
        Tested::NoneLeft(residual)
    }
}

/// `min(1, target / draft)`; 0 where the draft has no mass.
fn chance(target: f32, draft: f32) -> f64 {
    if draft <= 0.0 { 0.0 } else { (f64::from(target) / f64::from(draft)).min(1.0) }
}

/// Takes out of `g` what the rejection of a candidate takes; false if nothing is left of it.
fn reject(g: &mut Dist, proposal: &Proposal, token: TokenId, tried: &[TokenId], taken: &Taken) -> bool {
    match (&taken.mass, proposal) {
        (Some(mass), _) => g.subtract(mass, 1.0, &[]) && g.remove(&taken.lenders),
        (None, Proposal::Sampled { distribution, conditional }) => {
            g.subtract(distribution.probs(), rescale(distribution, token, *conditional), tried)
                && g.remove(&taken.lenders)
        }
        (None, Proposal::Chosen | Proposal::Root) => g.remove(&[&[token], &*taken.lenders].concat()),
    }
}

/// `1 / (1 - sum of earlier siblings)`, as recorded in the conditional probability of the drawn token.
fn rescale(distribution: &Dist, token: TokenId, conditional: f32) -> f32 {
    conditional / distribution.prob(token)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use super::*;
    use crate::methods::sd::Lossless;

    /// One row for every node.
    struct Everywhere(Rc<Dist>);

    impl Scores for Everywhere {
        fn dist(&self, _: NodeId) -> Rc<Dist> {
            Rc::clone(&self.0)
        }

        fn feature(&self, _: NodeId) -> Rc<[f32]> {
            Rc::from([])
        }
    }

    /// Grants nothing; notes the distribution each candidate is tested against.
    #[derive(Default)]
    struct RejectAll {
        seen: Vec<Vec<f32>>,
        lenders: Vec<TokenId>,
        /// `w` of a rejection that takes `min(d, w g)`; plain without.
        weight: Option<f32>,
    }

    impl AcceptanceRule for RejectAll {
        fn mass(&mut self, level: &Level<'_>, _: NodeId) -> Mass {
            self.seen.push(level.q.probs().to_vec());
            Mass { target: 0.0, draft: 1.0 }
        }

        fn taken(&mut self, level: &Level<'_>, candidate: NodeId) -> Taken {
            let mass = self.weight.map(|w| level.row(candidate, |g, d| d.min(w * g)));
            Taken { mass, lenders: self.lenders.clone() }
        }
    }

    fn distribution(weights: &[f32]) -> Rc<Dist> {
        Rc::new(Dist::from_weights(weights.to_vec()).unwrap())
    }

    fn level(proposals: &[(u32, Proposal)]) -> TokenTree {
        let mut tree = TokenTree::new(TokenId(0));
        for (token, proposal) in proposals {
            tree.push(TokenTree::ROOT, TokenId(*token), proposal.clone());
        }
        tree
    }

    fn sampled(distribution: &Rc<Dist>, conditional: f32) -> Proposal {
        Proposal::Sampled { distribution: Rc::clone(distribution), conditional }
    }

    #[track_caller]
    fn check_close(found: &[f32], expected: &[f32]) {
        let close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(close && found.len() == expected.len(), "expected {expected:?}, found {found:?}");
    }

    fn walk(tree: &TokenTree, q: &Rc<Dist>, rule: &mut dyn AcceptanceRule) -> Verdict {
        verify(tree, &Everywhere(Rc::clone(q)), rule, &Uniforms::new(1), 0, 9)
    }

    #[test]
    fn a_rejected_sample_takes_the_distribution_it_was_drawn_from_out_of_the_target() {
        let (q, p) = (distribution(&[0.4, 0.3, 0.2, 0.1]), distribution(&[0.1, 0.5, 0.1, 0.3]));
        let tree = level(&[(0, sampled(&p, 0.1)), (3, sampled(&p, 0.3 / 0.9)), (2, sampled(&p, 0.1 / 0.6))]);
        let mut rule = RejectAll::default();
        walk(&tree, &q, &mut rule);
        check_close(&rule.seen[0], &[0.4, 0.3, 0.2, 0.1]);
        // [0.3, 0, 0.1, 0] / 0.4 after the first. The second was drawn from d = [0, 0.5, 0.1, 0.3] / 0.9,
        // so what the first left at its own token stays: [0.75, 0, 0.25 - 0.1 / 0.9, 0] / (8 / 9).
        check_close(&rule.seen[1], &[0.75, 0.0, 0.25, 0.0]);
        check_close(&rule.seen[2], &[0.84375, 0.0, 0.15625, 0.0]);
    }

    #[test]
    fn a_rejected_choice_and_its_lenders_leave_the_target() {
        let q = distribution(&[0.4, 0.3, 0.2, 0.1]);
        let tree = level(&[(1, Proposal::Chosen), (0, Proposal::Chosen)]);
        let mut rule = RejectAll { lenders: vec![TokenId(3)], ..RejectAll::default() };
        let verdict = walk(&tree, &q, &mut rule);
        check_close(&rule.seen[1], &[0.4 / 0.6, 0.0, 0.2 / 0.6, 0.0]);
        assert_eq!(verdict.next, Some(TokenId(2)));
        assert_eq!((verdict.n_levels_tested, verdict.n_residual_fallbacks), (1, 0));
    }

    #[test]
    fn a_rule_says_which_part_of_the_drafters_distribution_a_rejection_takes() {
        let (q, p) = (distribution(&[0.4, 0.3, 0.2, 0.1]), distribution(&[0.1, 0.5, 0.1, 0.3]));
        let tree = level(&[(1, sampled(&p, 0.5)), (3, sampled(&p, 0.3 / 0.5)), (2, sampled(&p, 0.1 / 0.2))]);
        let mut rule = RejectAll { weight: Some(0.5), ..RejectAll::default() };
        walk(&tree, &q, &mut rule);
        // min(d, g / 2) = [0.1, 0.15, 0.1, 0.05] leaves [0.3, 0.15, 0.1, 0.05] / 0.6.
        check_close(&rule.seen[1], &[0.5, 0.25, 1.0 / 6.0, 1.0 / 12.0]);
        // d = [0.1, 0, 0.1, 0.3] / 0.5: min(d, g / 2) = [0.2, 0, 1/12, 1/24] of it; what was tried keeps its mass.
        let left = [0.3, 0.25, 1.0 / 12.0, 1.0 / 24.0];
        check_close(&rule.seen[2], &left.map(|g| g / 0.675));
    }

    #[test]
    fn a_rejected_choice_loses_the_part_that_the_rule_says() {
        let q = distribution(&[0.4, 0.3, 0.2, 0.1]);
        let tree = level(&[(1, Proposal::Chosen), (0, Proposal::Chosen)]);
        let mut rule = RejectAll { weight: Some(0.5), lenders: vec![TokenId(3)], ..RejectAll::default() };
        walk(&tree, &q, &mut rule);
        // Half of 0.3 is left, and the lender is gone: [0.4, 0.15, 0.2, 0] / 0.75.
        check_close(&rule.seen[1], &[0.4 / 0.75, 0.2, 0.2 / 0.75, 0.0]);
    }

    #[test]
    fn an_empty_residual_falls_back_to_the_target_distribution_and_is_counted() {
        let q = distribution(&[0.0, 0.0, 1.0, 0.0]);
        let verdict = walk(&level(&[(2, sampled(&q, 1.0))]), &q, &mut RejectAll::default());
        assert_eq!((verdict.next, verdict.n_residual_fallbacks), (Some(TokenId(2)), 1));
    }

    /// Grants the same to every candidate.
    struct Grants(Mass);

    impl AcceptanceRule for Grants {
        fn mass(&mut self, _: &Level<'_>, _: NodeId) -> Mass {
            self.0
        }
    }

    #[test]
    fn with_coupled_seeds_a_rule_adds_what_it_grants_above_the_plain_test() {
        const N: u64 = 40_000;
        let q = distribution(&[0.4, 0.3, 0.2, 0.1]);
        let tree = level(&[(1, Proposal::Chosen)]);
        // The plain chance is 0.3. A rule that grants less takes nothing away: the token is the target's own.
        for (granted, expected) in [(0.0, 0.3), (0.1, 0.3), (0.3, 0.3), (0.5, 0.5), (2.0, 1.0)] {
            let mut n_accepted = 0;
            for seed in 0..N {
                let uniforms = Uniforms::new(seed).coupled(true);
                let own = Noise::default().first(&q, &uniforms, 9);
                let mut rule = Grants(Mass { target: granted, draft: 1.0 });
                let verdict = verify(&tree, &Everywhere(Rc::clone(&q)), &mut rule, &uniforms, 0, 9);
                if verdict.path.is_empty() {
                    assert_eq!(verdict.next, Some(own));
                }
                n_accepted += u64::from(!verdict.path.is_empty());
            }
            let share = n_accepted as f64 / N as f64;
            // 4.5 standard errors of at most 0.0025.
            assert!((share - expected).abs() < 0.0113, "granted {granted}: accepted {share}");
        }
    }

    #[test]
    fn a_repeated_sibling_is_tested_once() {
        let q = distribution(&[0.5, 0.5]);
        let mut rule = RejectAll::default();
        walk(&level(&[(1, Proposal::Chosen), (1, Proposal::Chosen)]), &q, &mut rule);
        assert_eq!(rule.seen.len(), 1);
    }

    #[test]
    fn a_path_that_fills_the_image_ends_without_a_next_token() {
        let q = distribution(&[0.0, 1.0]);
        let tree = level(&[(1, Proposal::Chosen)]);
        let walk =
            |n_left| verify(&tree, &Everywhere(Rc::clone(&q)), &mut Lossless, &Uniforms::new(1), 0, n_left);
        assert_eq!((walk(1).path.len(), walk(1).next), (1, None));
        assert_eq!((walk(2).path.len(), walk(2).next), (1, Some(TokenId(1))));
    }
}
