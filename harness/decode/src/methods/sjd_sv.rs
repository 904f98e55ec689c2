//! SJD-SV: guesses of a Jacobi window are verified in runs (ICML 2026; facts from a reading note, no code found).
//!
//! With `p_i` the target's probability of guess `i` and `rho_i = p_i / Q_i` as in SJD, the window is cut where `p` falls. Of
//! each run the guesses before the `alpha`-share of its sum, counted from its end, are taken untested. The others are tested
//! together: with one `u` the longest part whose product of `rho` is at least `u` is accepted. The first that is not is drawn
//! from SJD's residual. It accepts more than SJD, and is not lossless. Over GSD or LANTERN `rho` and the residual are those of
//! that rule (GSD-SV, LANTERN-SV); where the window is cut stays with the target's probabilities.
//!
//! Our reading: a run that begins with a token of probability 0 (a first guess outside top-k) is tested whole. Taken untested,
//! such tokens would be the image.
//!
//! The walk here tests one guess after the other. With `A_m = min(1, max over j >= m of rho_1 .. rho_j)` at least `m` guesses of
//! the tested part are accepted with probability `A_m`, so each is accepted with `A_m / A_(m - 1)`: the same distribution.

use serde::{Deserialize, Serialize};

use crate::{
    method::{MethodError, Parts, RuleSettings},
    tree::{NodeId, TokenTree},
    verify::{AcceptanceRule, Level, Mass, Taken},
};

/// `{ kind = "sjd-sv", alpha = 0.8 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SjdSvConfig {
    /// Share of a run's sum of probabilities that is tested, above 0, at most 1.
    pub alpha: f64,
}

impl RuleSettings for SjdSvConfig {
    fn validate(&self, of: &'static str) -> Result<(), MethodError> {
        let within = 0.0 < self.alpha && self.alpha <= 1.0;
        MethodError::check_real(of, "alpha", "above 0, at most 1", within, self.alpha)
    }

    fn canonical(&self) -> String {
        format!("alpha={}", self.alpha)
    }

    fn cite() -> &'static [&'static str] {
        &["sjdsv2026"]
    }

    fn example() -> &'static str {
        r#"{ kind = "sjd-sv", alpha = 0.5 }"#
    }

    fn build(
        &self,
        _: &'static str,
        inner: Box<dyn AcceptanceRule>,
        _: &Parts,
    ) -> Result<Box<dyn AcceptanceRule>, MethodError> {
        Ok(Box::new(SjdSv { alpha: self.alpha, inner, chances: Vec::new(), spent: 0.0 }))
    }

    fn needs_chain(&self) -> bool {
        true
    }

    fn asks_ahead(&self) -> bool {
        true
    }
}

/// Tests the guesses of a chain in runs.
pub struct SjdSv {
    alpha: f64,
    /// Its ratios are those that a run is tested with.
    inner: Box<dyn AcceptanceRule>,
    /// Of this step, by depth, as far as its runs were reached: the chance to accept the guess after those before it.
    chances: Vec<f64>,
    spent: f64,
}

/// How many guesses of a run with the target's probabilities `p` are taken untested.
fn n_untested(p: &[f64], alpha: f64) -> usize {
    let total: f64 = p.iter().sum();
    let is_tested_from = |&i: &usize| alpha * total <= p[i..].iter().sum::<f64>();
    match p[0] > 0.0 {
        true => (0..p.len()).rev().find(is_tested_from).unwrap_or(0),
        false => 0,
    }
}

/// Chances of the tested guesses of a run with the ratios `rho`, one after the other.
fn chances(rho: &[f64]) -> Vec<f64> {
    let product = |product: &mut f64, rho: &f64| {
        *product *= rho;
        Some(*product)
    };
    let mut at_least: Vec<f64> = rho.iter().scan(1.0, product).collect();
    // From the end: the largest product of this length or more.
    for i in (0..at_least.len()).rev() {
        let longer = at_least.get(i + 1).copied().unwrap_or(0.0);
        at_least[i] = at_least[i].max(longer).min(1.0);
    }
    let before = std::iter::once(1.0).chain(at_least.iter().copied());
    at_least.iter().zip(before).map(|(now, before)| if before > 0.0 { now / before } else { 0.0 }).collect()
}

impl SjdSv {
    /// The chances of the run that begins with `first`.
    fn reach(&mut self, level: &Level<'_>, first: NodeId) {
        let &Level { tree, scores, .. } = level;
        let parent = |node: NodeId| tree[node].parent.unwrap_or(TokenTree::ROOT);
        let p = |&node: &NodeId| f64::from(scores.dist(parent(node)).prob(tree[node].token));
        // A chain has its nodes in order. The run ends where `p` falls.
        let mut run = vec![(first, p(&first))];
        for node in tree.ids().skip(first.0 + 1) {
            let next = p(&node);
            if next < run[run.len() - 1].1 {
                break;
            }
            run.push((node, next));
        }
        let (nodes, p): (Vec<NodeId>, Vec<f64>) = run.into_iter().unzip();
        let n_untested = n_untested(&p, self.alpha);
        self.chances.resize(self.chances.len() + n_untested, 1.0);
        let rho: Vec<f64> = nodes[n_untested..]
            .iter()
            .map(|&node| {
                let q = scores.dist(parent(node));
                let mass =
                    self.inner.mass(&Level { tree, scores, parent: parent(node), q: &q, tried: &[] }, node);
                f64::from(mass.target) / f64::from(mass.draft)
            })
            .collect();
        self.chances.extend(chances(&rho));
    }
}

impl AcceptanceRule for SjdSv {
    fn begin_image(&mut self) {
        self.inner.begin_image();
    }

    fn begin_step(&mut self) {
        self.inner.begin_step();
        self.chances.clear();
        self.spent = 0.0;
    }

    fn mass(&mut self, level: &Level<'_>, candidate: NodeId) -> Mass {
        let (depth, token) = (level.tree[candidate].depth, level.tree[candidate].token);
        if self.chances.len() < depth {
            self.reach(level, candidate);
        }
        let chance = self.chances[depth - 1];
        let plain = f64::from(level.q.prob(token)) / f64::from(level.draft_prob(candidate, token));
        self.spent += (chance - plain.min(1.0)).max(0.0);
        Mass { target: chance as f32, draft: 1.0 }
    }

    fn taken(&mut self, level: &Level<'_>, candidate: NodeId) -> Taken {
        // Its last answer was about the end of the run.
        self.inner.mass(level, candidate);
        self.inner.taken(level, candidate)
    }

    fn tvd_spent(&self) -> f64 {
        self.spent
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use std::{cell::Cell, rc::Rc};

    use super::*;
    use crate::{
        dist::{Dist, TokenId},
        generation::Scores,
        tree::Proposal,
    };

    /// Guesses accepted with `u` drawn for each run, as the note has it.
    fn n_accepted(p: &[f64], rho: &[f64], alpha: f64, mut u: impl FnMut() -> f64) -> usize {
        let mut begin = 0;
        while begin < p.len() {
            let mut end = begin + 1;
            while end < p.len() && p[end - 1] <= p[end] {
                end += 1;
            }
            let sum = |from: usize| p[from..end].iter().sum::<f64>();
            let mut first = begin;
            for i in begin..end {
                if p[begin] > 0.0 && alpha * sum(begin) <= sum(i) {
                    first = i;
                }
            }
            let u = u();
            let mut last = end;
            while first < last && rho[first..last].iter().product::<f64>().min(1.0) < u {
                last -= 1;
            }
            if last < end {
                return last;
            }
            begin = end;
        }
        p.len()
    }

    /// Chances of all runs of a window.
    fn of_window(p: &[f64], rho: &[f64], alpha: f64) -> Vec<f64> {
        let mut all = Vec::new();
        while all.len() < p.len() {
            let begin = all.len();
            let end = (begin + 1..p.len()).find(|&i| p[i] < p[i - 1]).unwrap_or(p.len());
            let first_tested = begin + n_untested(&p[begin..end], alpha);
            all.resize(first_tested, 1.0);
            all.extend(chances(&rho[first_tested..end]));
        }
        all
    }

    #[test]
    fn one_test_after_the_other_accepts_as_one_test_a_run_does() {
        let p = [0.1, 0.3, 0.3, 0.05, 0.2, 0.6];
        let rho = [0.5, 0.4, 2.5, 0.9, 1.4, 0.6];
        for alpha in [0.3, 0.5, 0.8, 1.0] {
            let found = of_window(&p, &rho, alpha);
            // Two runs: their two draws on a grid.
            const N: usize = 400;
            let mut at_least = [0_u32; 7];
            for cell in 0..N * N {
                let mut draws = [cell / N, cell % N].into_iter().map(|at| (at as f64 + 0.5) / N as f64);
                let n = n_accepted(&p, &rho, alpha, || draws.next().unwrap_or(0.5));
                at_least[..=n].iter_mut().for_each(|count| *count += 1);
            }
            let mut product = 1.0;
            for (depth, chance) in found.iter().enumerate() {
                product *= chance;
                let expected = f64::from(at_least[depth + 1]) / (N * N) as f64;
                assert!(
                    (product - expected).abs() < 2.0 / N as f64,
                    "{alpha}, {depth}: {product}, {expected}"
                );
            }
        }
    }

    #[test]
    fn a_run_that_begins_with_an_impossible_guess_is_tested_whole() {
        assert_eq!(of_window(&[0.0, 0.0, 0.4], &[0.0, 0.0, 2.0], 0.8), [0.0; 3]);
    }

    #[test]
    fn falling_probabilities_are_tested_one_by_one() {
        assert_eq!(of_window(&[0.4, 0.3, 0.2], &[0.5, 2.0, 0.25], 0.8), [0.5, 1.0, 0.25]);
    }

    /// Rows by node.
    struct Rows(Vec<Rc<Dist>>);

    impl Scores for Rows {
        fn dist(&self, node: NodeId) -> Rc<Dist> {
            Rc::clone(&self.0[node.0])
        }

        fn feature(&self, _: NodeId) -> Rc<[f32]> {
            Rc::from([])
        }
    }

    /// Grants a multiple of the plain ratio that depends on the depth, and notes whom it was asked about last.
    struct Doubled(Rc<Cell<usize>>);

    impl AcceptanceRule for Doubled {
        fn mass(&mut self, level: &Level<'_>, candidate: NodeId) -> Mass {
            let node = &level.tree[candidate];
            self.0.set(node.depth);
            let factor = 0.5 * node.depth as f32 + 1.0;
            Mass { target: factor * level.q.prob(node.token), draft: level.draft_prob(candidate, node.token) }
        }
    }

    #[test]
    fn ratios_are_those_of_the_inner_rule_and_cuts_those_of_the_target() {
        let dist = |weights: [f32; 3]| Rc::new(Dist::from_weights(weights.to_vec()).unwrap());
        // The target's probabilities of the guesses 0, 1, 2, 0: rising twice, then falling.
        let rows =
            [[0.1, 0.4, 0.5], [0.3, 0.2, 0.5], [0.2, 0.4, 0.4], [0.05, 0.45, 0.5], [0.2, 0.4, 0.4]].map(dist);
        let drafted = [0.5, 0.8, 0.9, 0.4];
        let mut tree = TokenTree::new(TokenId(0));
        let mut parent = TokenTree::ROOT;
        for (token, &q) in [0, 1, 2, 0].into_iter().zip(&drafted) {
            let rest = (1.0 - q) / 2.0;
            let distribution = dist([0, 1, 2].map(|v| if v == token { q } else { rest }));
            parent = tree.push(parent, TokenId(token), Proposal::Sampled { distribution, conditional: q });
        }
        let scores = Rows(rows.to_vec());
        let asked = Rc::new(Cell::new(0));
        let mut rule =
            SjdSv { alpha: 0.8, inner: Box::new(Doubled(asked.clone())), chances: Vec::new(), spent: 0.0 };
        let p = [0.1, 0.2, 0.4, 0.05];
        let rho: Vec<f64> =
            (0..4).map(|at| (0.5 * at as f64 + 1.5) * p[at] / f64::from(drafted[at])).collect();
        rule.begin_step();
        let expected = of_window(&p, &rho, 0.8);
        assert!(expected[1] < expected[0], "guesses of one run have chances of their own: {expected:?}");
        let mut spent = 0.0;
        for (at, expected) in expected.into_iter().enumerate() {
            let q = scores.dist(NodeId(at));
            let level = Level { tree: &tree, scores: &scores, parent: NodeId(at), q: &q, tried: &[] };
            let Mass { target, draft } = rule.mass(&level, NodeId(at + 1));
            assert!(
                (f64::from(target) - expected).abs() < 1e-6 && draft == 1.0,
                "{at}: {target}, {expected}"
            );
            rule.taken(&level, NodeId(at + 1));
            assert_eq!(asked.get(), at + 1, "a residual is that of the rejected guess");
            spent += (expected - (p[at] / f64::from(drafted[at])).min(1.0)).max(0.0);
        }
        assert!(0.5 < spent && (rule.tvd_spent() - spent).abs() < 1e-6, "{} of {spent}", rule.tvd_spent());
        rule.begin_step();
        assert_eq!(rule.tvd_spent(), 0.0);
    }
}
