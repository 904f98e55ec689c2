//! SJD-SV: guesses of a Jacobi window are verified in runs (ICML 2026; facts from a reading note, no code found).
//!
//! With `p_i` the target's probability of guess `i` and `rho_i = p_i / Q_i` as in SJD, the window is cut where `p` falls. Of
//! each run the guesses before the `alpha`-share of its sum, counted from its end, are taken untested. The others are tested
//! together: with one `u` the longest part whose product of `rho` is at least `u` is accepted. The first that is not is drawn
//! from SJD's residual. It accepts more than SJD, and is not lossless.
//!
//! Our reading: a run that begins with a token of probability 0 (a first guess outside top-k) is tested whole. Taken untested,
//! such tokens would be the image.
//!
//! The walk here tests one guess after the other. With `A_m = min(1, max over j >= m of rho_1 .. rho_j)` at least `m` guesses of
//! the tested part are accepted with probability `A_m`, so each is accepted with `A_m / A_(m - 1)`: the same distribution.

use serde::{Deserialize, Serialize};

use crate::{
    method::{MethodError, Parts, RuleSettings},
    tree::{NodeId, Proposal, TokenTree},
    verify::{AcceptanceRule, Level, Mass},
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
        _: Box<dyn AcceptanceRule>,
        _: &Parts,
    ) -> Result<Box<dyn AcceptanceRule>, MethodError> {
        Ok(Box::new(SjdSv { alpha: self.alpha, chances: Vec::new(), spent: 0.0 }))
    }

    fn needs_chain(&self) -> bool {
        true
    }

    fn replaces_inner(&self) -> bool {
        true
    }
}

/// Tests the guesses of a chain in runs.
pub struct SjdSv {
    alpha: f64,
    /// Of this step, by depth: the chance to accept the guess after those before it.
    chances: Vec<f64>,
    spent: f64,
}

/// Chances of the guesses with the target's probabilities `p` and ratios `rho`, one after the other.
fn chances(p: &[f64], rho: &[f64], alpha: f64) -> Vec<f64> {
    let mut all = Vec::with_capacity(p.len());
    while all.len() < p.len() {
        let begin = all.len();
        let end = (begin + 1..p.len()).find(|&i| p[i] < p[i - 1]).unwrap_or(p.len());
        let total: f64 = p[begin..end].iter().sum();
        let is_tested_from = |&i: &usize| alpha * total <= p[i..end].iter().sum::<f64>();
        let first_tested = match p[begin] > 0.0 {
            true => (begin..end).rev().find(is_tested_from).unwrap_or(begin),
            false => begin,
        };
        all.resize(first_tested, 1.0);
        let mut products: Vec<f64> = rho[first_tested..end]
            .iter()
            .scan(1.0, |product, rho| {
                *product *= rho;
                Some(*product)
            })
            .collect();
        // From the end: the largest product of this length or more.
        for i in (0..products.len()).rev() {
            let longer = products.get(i + 1).copied().unwrap_or(0.0);
            products[i] = products[i].max(longer).min(1.0);
        }
        let mut before = 1.0;
        for at_least in products {
            all.push(if before > 0.0 { at_least / before } else { 0.0 });
            before = at_least;
        }
    }
    all
}

impl AcceptanceRule for SjdSv {
    fn begin_step(&mut self) {
        self.chances.clear();
        self.spent = 0.0;
    }

    fn mass(&mut self, level: &Level<'_>, candidate: NodeId) -> Mass {
        let (depth, token) = (level.tree[candidate].depth, level.tree[candidate].token);
        let plain = f64::from(level.q.prob(token)) / f64::from(level.draft_prob(candidate, token));
        if level.parent == TokenTree::ROOT && self.chances.is_empty() {
            // A chain has its nodes in order.
            let nodes: Vec<NodeId> = level.tree.ids().skip(1).collect();
            let p: Vec<f64> = nodes
                .iter()
                .map(|&node| {
                    let parent = level.tree[node].parent.unwrap_or(TokenTree::ROOT);
                    f64::from(level.scores.dist(parent).prob(level.tree[node].token))
                })
                .collect();
            let drawn_with = |node: NodeId| match level.tree[node].proposal {
                Proposal::Sampled { conditional, .. } => f64::from(conditional),
                Proposal::Chosen | Proposal::Root => 1.0,
            };
            let rho: Vec<f64> = nodes.iter().zip(&p).map(|(&node, p)| p / drawn_with(node)).collect();
            self.chances = chances(&p, &rho, self.alpha);
        }
        let chance = self.chances[depth - 1];
        self.spent += (chance - plain.min(1.0)).max(0.0);
        Mass { target: chance as f32, draft: 1.0 }
    }

    fn tvd_spent(&self) -> f64 {
        self.spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn one_test_after_the_other_accepts_as_one_test_a_run_does() {
        let p = [0.1, 0.3, 0.3, 0.05, 0.2, 0.6];
        let rho = [0.5, 0.4, 2.5, 0.9, 1.4, 0.6];
        for alpha in [0.3, 0.5, 0.8, 1.0] {
            let found = chances(&p, &rho, alpha);
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
        assert_eq!(chances(&[0.0, 0.0, 0.4], &[0.0, 0.0, 2.0], 0.8), [0.0; 3]);
    }

    #[test]
    fn falling_probabilities_are_tested_one_by_one() {
        assert_eq!(chances(&[0.4, 0.3, 0.2], &[0.5, 2.0, 0.25], 0.8), [0.5, 1.0, 0.25]);
    }
}
