//! Grouped speculative decoding: compare clusters of tokens of similar target probability instead of single
//! tokens (So et al., arXiv 2508.07747; reference code junhyukso/GSD). Over Jacobi windows as published, and
//! over draft trees as CASCADE uses it as a baseline, for which no code is public.
//!
//! The paper's `p` is the target; here `q` is. Our reading: of the support of the current residual `g`, sorted
//! by probability, the cluster is a window of `group` ranks around the candidate, `floor(group / 2)` above
//! it, shifted where it would leave the support; tokens further than `delta_p` in probability or `d_thr` in
//! squared embedding distance leave it, the candidate never does. The claim is `g(cluster)` against
//! `d(cluster)`, `d` being the distribution the candidate was drawn from; the residual is the plain one. A candidate
//! outside the support is alone and so rejected. The reference's window is a fixed 14 ranks.
//!
//! The paper counts no total variation. Here a tested candidate costs `d(x) |a' - a|`, `a'` and `a` being its
//! chances under this test and under the plain one: what LANTERN's lent mass is for a chosen candidate, and 0
//! where the cluster is the candidate alone.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::{
    dist::{Dist, TokenId},
    method::{MethodError, Needs, Parts, RuleSettings},
    tree::NodeId,
    vectors::TokenVectors,
    verify::{AcceptanceRule, Level, Mass},
};

/// `{ kind = "gsd", group = 25, delta_p = 0.15, d_thr = 0.5 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GsdConfig {
    /// `G`: ranks of the window, the candidate's included; at least 1, where the rule is lossless.
    pub group: usize,
    /// Tokens whose probability differs by as much or more are left out; absent: none is. 0.15 in the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta_p: Option<f64>,
    /// Tokens at this squared distance of embeddings or more are left out; absent: none is. 0.5 in the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub d_thr: Option<f64>,
    /// `d_thr` applies only where the largest id of the support is at most this one; absent: everywhere. 10000 in the
    /// code, which so filters Lumina's 8,196 image ids always and the 16,384 of LlamaGen and Janus almost never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub d_thr_max_id: Option<u32>,
}

/// Tokens that are compared with the cluster's bounds at a time.
const CHUNK: usize = 64;

/// Tests clusters instead of tokens. Defines the claim itself, so no rule can be inside it.
pub struct Gsd {
    config: GsdConfig,
    /// Present if the configuration has a `d_thr`.
    embeddings: Option<Rc<TokenVectors>>,
    /// In this verification.
    spent: f64,
}

impl RuleSettings for GsdConfig {
    fn validate(&self, of: &'static str) -> Result<(), MethodError> {
        MethodError::check_real(of, "group", "at least 1", 1 <= self.group, self.group as f64)?;
        let delta_p = self.delta_p.unwrap_or(1.0);
        let within = 0.0 < delta_p && delta_p <= 1.0;
        MethodError::check_real(of, "delta_p", "above 0, at most 1", within, delta_p)?;
        let d_thr = self.d_thr.unwrap_or(1.0);
        MethodError::check_real(of, "d_thr", "above 0 and finite", 0.0 < d_thr && d_thr.is_finite(), d_thr)?;
        let max_id = f64::from(self.d_thr_max_id.unwrap_or(0));
        let has_distance = self.d_thr.is_some() || self.d_thr_max_id.is_none();
        MethodError::check_real(of, "d_thr_max_id", "no such key without `d_thr`", has_distance, max_id)
    }

    fn canonical(&self) -> String {
        let delta_p = self.delta_p.map_or(String::new(), |delta_p| format!(",delta_p={delta_p}"));
        let d_thr = self.d_thr.map_or(String::new(), |d_thr| format!(",d_thr={d_thr}"));
        let max_id = self.d_thr_max_id.map_or(String::new(), |max_id| format!(",d_thr_max_id={max_id}"));
        format!("group={}{delta_p}{d_thr}{max_id}", self.group)
    }

    fn replaces_inner(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        Needs { embeddings: self.d_thr.is_some(), ..Needs::default() }
    }

    fn cite() -> &'static [&'static str] {
        &["so2025gsd"]
    }

    fn example() -> &'static str {
        r#"{ kind = "gsd", group = 3 }"#
    }

    fn build(
        &self,
        of: &'static str,
        _: Box<dyn AcceptanceRule>,
        parts: &Parts,
    ) -> Result<Box<dyn AcceptanceRule>, MethodError> {
        let embeddings = self.d_thr.map(|_| parts.embeddings(of)).transpose()?;
        Ok(Box::new(Gsd::new(self.clone(), embeddings)))
    }
}

impl Gsd {
    /// A checked configuration; `embeddings` are needed exactly if it has a `d_thr`.
    #[must_use]
    pub fn new(config: GsdConfig, embeddings: Option<Rc<TokenVectors>>) -> Self {
        Self { config, embeddings, spent: 0.0 }
    }

    /// The tokens `x` is tested together with, itself included, by rising id.
    fn cluster(&self, g: &Dist, x: TokenId) -> Vec<TokenId> {
        if g.prob(x) == 0.0 {
            return vec![x];
        }
        let (probs, p_x) = (g.probs(), g.prob(x));
        let n_support = probs.iter().filter(|&&p| 0.0 < p).count();
        // Equal probabilities rank by id.
        let n_equal_before = probs[..x.idx()].iter().filter(|&&p| p == p_x).count();
        let rank = probs.iter().filter(|&&p| p_x < p).count() + n_equal_before;
        let (mut above, mut below) =
            (Nearest::new(self.config.group - 1), Nearest::new(self.config.group - 1));
        for (chunk, first) in probs.chunks(CHUNK).zip((0_u32..).step_by(CHUNK)) {
            // Few tokens come between the furthest held so far, so few chunks are looked at one by one.
            let (low, high) = (below.worst(), -above.worst());
            let is_between = |p: f32| (low <= p) & (p <= high) & (0.0 < p);
            if !chunk.iter().fold(false, |hit, &p| hit | is_between(p)) {
                continue;
            }
            for (token, &p) in (first..).map(TokenId).zip(chunk) {
                if !is_between(p) || token == x {
                    continue;
                }
                if p_x < p || (p == p_x && token < x) {
                    above.offer(-p, u32::MAX - token.0, token);
                } else {
                    below.offer(p, token.0, token);
                }
            }
        }
        let last_start = n_support.max(self.config.group) - self.config.group;
        let start = rank.saturating_sub(self.config.group / 2).min(last_start);
        let n_above = rank - start;
        let mut window = vec![x];
        window.extend(above.tokens().take(n_above));
        window.extend(below.tokens().take(self.config.group - 1 - n_above));
        let is_filtered = self.config.d_thr_max_id.is_none_or(|max_id| {
            probs.iter().rposition(|&p| 0.0 < p).is_none_or(|largest| largest <= max_id as usize)
        });
        let d_thr = self.config.d_thr.filter(|_| is_filtered);
        window.retain(|&token| token == x || self.is_similar(g, x, token, d_thr));
        window.sort_unstable();
        window
    }

    /// `d_thr`: the largest squared distance, where it applies.
    fn is_similar(&self, g: &Dist, x: TokenId, other: TokenId, d_thr: Option<f64>) -> bool {
        let gap = (f64::from(g.prob(x)) - f64::from(g.prob(other))).abs();
        let is_near = |d_thr| {
            let embeddings = self.embeddings.as_ref().expect("the builder asked for them");
            embeddings.squared_distance(x, other) < d_thr
        };
        self.config.delta_p.is_none_or(|delta_p| gap < delta_p) && d_thr.is_none_or(is_near)
    }
}

/// The tokens of largest key offered, ties to the lowest tie-breaker; one pass, few insertions.
struct Nearest {
    n: usize,
    // Invariant: at most `n` entries, best first.
    kept: Vec<(f32, u32, TokenId)>,
    // Invariant: the last key once `n` are kept, else minus infinity.
    worst: f32,
}

impl Nearest {
    fn new(n: usize) -> Self {
        Self { n, kept: Vec::new(), worst: f32::NEG_INFINITY }
    }

    fn offer(&mut self, key: f32, tie: u32, token: TokenId) {
        let is_better = |held: &(f32, u32, TokenId)| held.0 < key || (held.0 == key && tie < held.1);
        if self.kept.len() == self.n {
            if !self.kept.last().is_some_and(is_better) {
                return;
            }
            self.kept.pop();
        }
        let rank = self.kept.partition_point(|held| !is_better(held));
        self.kept.insert(rank, (key, tie, token));
        if self.kept.len() == self.n {
            self.worst = self.kept[self.n - 1].0;
        }
    }

    /// The key below which nothing is kept any more.
    fn worst(&self) -> f32 {
        if self.n == 0 { f32::INFINITY } else { self.worst }
    }

    fn tokens(&self) -> impl Iterator<Item = TokenId> {
        self.kept.iter().map(|&(_, _, token)| token)
    }
}

impl AcceptanceRule for Gsd {
    fn begin_step(&mut self) {
        self.spent = 0.0;
    }

    fn mass(&mut self, level: &Level<'_>, candidate: NodeId) -> Mass {
        let x = level.tree[candidate].token;
        let cluster = self.cluster(level.q, x);
        let (g, d) = (|token| level.q.prob(token), |token| level.draft_prob(candidate, token));
        let total = |of: &dyn Fn(TokenId) -> f32| -> f32 {
            cluster.iter().map(|&token| f64::from(of(token))).sum::<f64>() as f32
        };
        let mass = Mass { target: total(&g), draft: total(&d) };
        let own = f64::from(d(x));
        if 0.0 < own {
            let chance = |target: f32, draft: f64| (f64::from(target) / draft).min(1.0);
            self.spent += own * (chance(mass.target, f64::from(mass.draft)) - chance(g(x), own)).abs();
        }
        mass
    }

    fn tvd_spent(&self) -> f64 {
        self.spent
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use super::*;
    use crate::{
        generation::Scores,
        tree::{Proposal, TokenTree},
    };

    /// Ranks of these tokens: 3, 0, 5, 1, 2 (4 has none).
    const DISTRIBUTION: [f32; 6] = [0.25, 0.15, 0.05, 0.35, 0.0, 0.2];

    #[track_caller]
    fn check(config: GsdConfig, x: u32, expected: &[u32]) {
        let g = Dist::from_weights(DISTRIBUTION.to_vec()).unwrap();
        let line = TokenVectors::new(vec![0.0, 1.0, 2.0, 3.0, 4.0, 0.5], 1).unwrap();
        let cluster = Gsd::new(config, Some(Rc::new(line))).cluster(&g, TokenId(x));
        assert_eq!(cluster, expected.iter().copied().map(TokenId).collect::<Vec<_>>());
    }

    #[test]
    fn a_cluster_is_a_window_of_ranks_shifted_into_the_support() {
        let of = |group| GsdConfig { group, delta_p: None, d_thr: None, d_thr_max_id: None };
        check(of(1), 5, &[5]);
        check(of(2), 5, &[0, 5]);
        check(of(3), 5, &[0, 1, 5]);
        check(of(3), 3, &[0, 3, 5]);
        check(of(3), 2, &[1, 2, 5]);
        check(of(4), 1, &[0, 1, 2, 5]);
        check(of(99), 2, &[0, 1, 2, 3, 5]);
        check(of(3), 4, &[4]);
    }

    #[test]
    fn equal_probabilities_rank_by_id() {
        let g = Dist::uniform(5);
        let config = GsdConfig { group: 3, delta_p: None, d_thr: None, d_thr_max_id: None };
        let gsd = Gsd::new(config, None);
        for (x, expected) in [(0, [0, 1, 2]), (1, [0, 1, 2]), (2, [1, 2, 3]), (4, [2, 3, 4])] {
            assert_eq!(gsd.cluster(&g, TokenId(x)), expected.map(TokenId));
        }
    }

    #[test]
    fn tokens_too_different_leave_the_cluster() {
        check(GsdConfig { group: 5, delta_p: Some(0.08), d_thr: None, d_thr_max_id: None }, 5, &[0, 1, 5]);
        check(GsdConfig { group: 5, delta_p: None, d_thr: Some(0.26), d_thr_max_id: None }, 5, &[0, 1, 5]);
        check(GsdConfig { group: 5, delta_p: None, d_thr: Some(0.25), d_thr_max_id: None }, 5, &[5]);
        check(GsdConfig { group: 5, delta_p: Some(0.01), d_thr: Some(1.0), d_thr_max_id: None }, 3, &[3]);
    }

    /// The rule of GSD's code: a support that reaches beyond the id is not filtered by distance.
    #[test]
    fn distance_counts_only_where_the_support_ends_at_the_greatest_id() {
        let near =
            |max_id| GsdConfig { group: 5, delta_p: None, d_thr: Some(0.25), d_thr_max_id: Some(max_id) };
        check(near(5), 5, &[5]);
        check(near(4), 5, &[0, 1, 2, 3, 5]);
    }

    #[test]
    fn a_gap_of_exactly_delta_p_is_too_wide() {
        let g = Dist::from_weights(vec![0.5, 0.25, 0.25]).unwrap();
        let of = |delta_p| {
            Gsd::new(GsdConfig { group: 3, delta_p: Some(delta_p), d_thr: None, d_thr_max_id: None }, None)
                .cluster(&g, TokenId(0))
                .len()
        };
        assert_eq!((of(0.25), of(0.26)), (1, 3));
    }

    #[test]
    fn a_cluster_larger_than_the_support_is_the_support() {
        let mut weights = vec![0.0; 3 * CHUNK];
        for token in [0, CHUNK, 2 * CHUNK + 1] {
            weights[token] = 1.0;
        }
        let gsd = Gsd::new(GsdConfig { group: 9, delta_p: None, d_thr: None, d_thr_max_id: None }, None);
        let cluster = gsd.cluster(&Dist::from_weights(weights).unwrap(), TokenId(CHUNK as u32));
        assert_eq!(cluster, [0, CHUNK, 2 * CHUNK + 1].map(|token| TokenId(token as u32)));
    }

    #[test]
    fn a_candidate_costs_what_the_cluster_adds_to_its_chance() {
        struct Nothing;
        impl Scores for Nothing {
            fn dist(&self, _: NodeId) -> Rc<Dist> {
                unreachable!("the rule reads the level's distribution")
            }
            fn feature(&self, _: NodeId) -> Rc<[f32]> {
                unreachable!("the rule reads no features")
            }
        }
        let (q, uniform) = (Dist::from_weights(DISTRIBUTION.to_vec()).unwrap(), Rc::new(Dist::uniform(6)));
        let sampled = || Proposal::Sampled { distribution: Rc::clone(&uniform), conditional: 1.0 / 6.0 };
        let mut tree = TokenTree::new(TokenId(0));
        let mut cost = |x: u32, proposal: Proposal| {
            let candidate = tree.push(TokenTree::ROOT, TokenId(x), proposal);
            let level = Level { tree: &tree, scores: &Nothing, parent: TokenTree::ROOT, q: &q, tried: &[] };
            let mut gsd =
                Gsd::new(GsdConfig { group: 3, delta_p: None, d_thr: None, d_thr_max_id: None }, None);
            gsd.mass(&level, candidate);
            let spent = gsd.tvd_spent();
            gsd.begin_step();
            assert_eq!(gsd.tvd_spent(), 0.0);
            spent
        };
        // Clusters {0, 1, 5} and {1, 2, 5}: 0.6 against 0.2, then 0.4 / 0.5 against 0.05 * 6 at a sixth.
        assert!((cost(5, Proposal::Chosen) - 0.4).abs() < 1e-6);
        assert!((cost(2, sampled()) - 0.5 / 6.0).abs() < 1e-6);
        assert!(cost(5, sampled()).abs() < 1e-6, "both tests are sure to pass");
        assert!((cost(4, Proposal::Chosen)).abs() < 1e-6, "outside the support nothing is granted");
    }
}
