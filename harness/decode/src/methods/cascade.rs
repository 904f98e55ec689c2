//! CASCADE: a candidate borrows the mass of tree nodes whose target features agree with its own (Yildirim et
//! al., arXiv 2605.07230, equations 1-3 and Algorithm 2). Training-free, over any inner rule.
//!
//! Our reading: `F(x)` is the target's last hidden state at the node itself, conditional row (Algorithm 2's
//! index, read literally, is the parent's, where all cosines are 1). `I(x)` are the siblings with
//! `cos > tau_pos` (interchangeable), `C(x)` the children with `cos > tau_seq` (converged), both sets of tree
//! nodes, not of rows of the candidate matrix. Each lends all of its mass or none, `I` first, while the total
//! variation spent stays within the budget. Points the text leaves open are options, whose defaults follow
//! Algorithm 2. Without one of the two thresholds the rule is the ablation without that set.

mod options;

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use self::options::is_default;
pub use self::options::{
    BudgetScope, CascadeResidual, Charge, ConvergenceMass, ConvergencePairs, Dedupe, Threshold,
};
use crate::{
    dist::TokenId,
    method::{MethodError, Parts, RuleSettings},
    tree::NodeId,
    vectors::cosine,
    verify::{AcceptanceRule, Level, Mass, Taken},
};

/// `{ kind = "cascade", tau_pos = 0.85, tau_seq = 0.5, tvd_budget = 0.5 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CascadeConfig {
    /// Cosine above which siblings are interchangeable, in `[-1, 2]` (above 1 none passes); absent: no sibling is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tau_pos: Option<f64>,
    /// Cosine above which a child has converged to its parent, in `[-1, 2]` (above 1 none passes); absent: none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tau_seq: Option<f64>,
    /// `eps`: total variation that may be moved per scope, in `[0, 1]`; 0.5 in the paper.
    pub tvd_budget: f64,
    /// Which distribution a converged child is looked up in.
    #[serde(default, skip_serializing_if = "is_default")]
    pub convergence_mass: ConvergenceMass,
    /// Which nodes can have converged to a candidate.
    #[serde(default, skip_serializing_if = "is_default")]
    pub convergence_pairs: ConvergencePairs,
    /// Whether a token may lend twice.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dedupe: Dedupe,
    /// How long a budget lasts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub budget_scope: BudgetScope,
    /// Whether mass that changed nothing is charged.
    #[serde(default, skip_serializing_if = "is_default")]
    pub charge: Charge,
    /// What a rejection takes out of the target's distribution.
    #[serde(default, skip_serializing_if = "is_default")]
    pub residual: CascadeResidual,
    /// Whether a cosine equal to a threshold passes it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub threshold: Threshold,
}

/// Lends the mass of agreeing nodes on top of what an inner rule grants.
pub struct Cascade {
    inner: Box<dyn AcceptanceRule>,
    config: CascadeConfig,
    /// Total variation charged in the current verification.
    spent: f64,
    /// The same in the current scope.
    spent_in_scope: f64,
    /// The level the last claim was made at.
    level: Option<NodeId>,
    /// Tokens that leave if the last claim's candidate is rejected.
    lenders: Vec<TokenId>,
    /// What the last claim will be charged if it was needed.
    open: Option<OpenClaim>,
    /// Features of the tree under verification that were read already.
    features: Vec<Option<Rc<[f32]>>>,
}

/// A claim whose outcome decides whether it is charged.
struct OpenClaim {
    moved: f64,
    /// The candidate passes without the moved mass if the draw times `draft` is below it.
    target_without: f64,
    draft: f64,
}

impl RuleSettings for CascadeConfig {
    fn counts_accepted(&self) -> bool {
        true
    }

    fn validate(&self, of: &'static str) -> Result<(), MethodError> {
        if self.tau_pos.is_none() && self.tau_seq.is_none() {
            return Err(MethodError(
                "accept rule cascade has neither `tau_pos` nor `tau_seq`; give at least one".to_owned(),
            ));
        }
        for (key, tau) in [("tau_pos", self.tau_pos), ("tau_seq", self.tau_seq)] {
            let tau = tau.unwrap_or(1.0);
            let within = (-1.0..=2.0).contains(&tau);
            MethodError::check_real(of, key, "a cosine from -1, or up to 2, which none passes", within, tau)?;
        }
        let within = (0.0..=1.0).contains(&self.tvd_budget);
        MethodError::check_real(of, "tvd_budget", "0 to 1", within, self.tvd_budget)
    }

    /// Options are in it only where they differ from Algorithm 2.
    fn canonical(&self) -> String {
        let mut words = Vec::new();
        words.extend(self.tau_pos.map(|tau| format!("tau_pos={tau}")));
        words.extend(self.tau_seq.map(|tau| format!("tau_seq={tau}")));
        words.push(format!("tvd_budget={}", self.tvd_budget));
        words.extend(options::words(self).map(str::to_owned));
        words.join(",")
    }

    fn cite() -> &'static [&'static str] {
        &["yildirim2026cascade"]
    }

    fn example() -> &'static str {
        r#"{ kind = "cascade", tau_pos = 0.3, tau_seq = 0.3, tvd_budget = 0.5 }"#
    }

    fn build(
        &self,
        _: &'static str,
        inner: Box<dyn AcceptanceRule>,
        _: &Parts,
    ) -> Result<Box<dyn AcceptanceRule>, MethodError> {
        Ok(Box::new(Cascade::new(inner, self.clone())))
    }
}

impl Cascade {
    /// A checked configuration over an inner rule.
    #[must_use]
    pub fn new(inner: Box<dyn AcceptanceRule>, config: CascadeConfig) -> Self {
        Self {
            inner,
            config,
            spent: 0.0,
            spent_in_scope: 0.0,
            level: None,
            lenders: Vec::new(),
            open: None,
            features: Vec::new(),
        }
    }

    fn feature(&mut self, level: &Level<'_>, node: NodeId) -> Rc<[f32]> {
        if self.features.len() <= node.0 {
            self.features.resize(level.tree.len(), None);
        }
        self.features[node.0].get_or_insert_with(|| level.scores.feature(node)).clone()
    }

    /// Those of `others` whose features agree with the candidate's.
    fn agreeing(
        &mut self,
        level: &Level<'_>,
        candidate: NodeId,
        others: Vec<NodeId>,
        tau: Option<f64>,
    ) -> Vec<NodeId> {
        let Some(tau) = tau else { return Vec::new() };
        let mut agreeing = Vec::new();
        for other in others {
            let features = (self.feature(level, candidate), self.feature(level, other));
            if self.config.threshold.passes(tau, cosine(&features.0, &features.1)) {
                agreeing.push(other);
            }
        }
        agreeing
    }

    /// `I(x)` with the mass each node lends.
    fn interchangeable(&mut self, level: &Level<'_>, candidate: NodeId) -> Vec<(TokenId, f64)> {
        let siblings = level.tree.children(level.parent).filter(|&other| other != candidate).collect();
        let agreeing = self.agreeing(level, candidate, siblings, self.config.tau_pos);
        let lend = |node| {
            let token = level.tree[node].token;
            (token, f64::from(level.q.prob(token)))
        };
        agreeing.into_iter().map(lend).collect()
    }

    /// `C(x)` with the mass each node lends.
    fn converged(&mut self, level: &Level<'_>, candidate: NodeId) -> Vec<(TokenId, f64)> {
        let depth = level.tree[candidate].depth + 1;
        let deeper = match self.config.convergence_pairs {
            ConvergencePairs::Children => level.tree.children(candidate).collect(),
            ConvergencePairs::AllNextLevel => {
                level.tree.ids().filter(|&node| level.tree[node].depth == depth).collect()
            }
        };
        let agreeing = self.agreeing(level, candidate, deeper, self.config.tau_seq);
        if agreeing.is_empty() {
            return Vec::new(); // The distribution after a candidate is fetched only where it is needed.
        }
        let after = match self.config.convergence_mass {
            ConvergenceMass::SameLevel => None,
            ConvergenceMass::NextLevel => Some(level.scores.dist(candidate)),
        };
        let lend = |node| {
            let token = level.tree[node].token;
            (token, f64::from(after.as_deref().unwrap_or(level.q).prob(token)))
        };
        agreeing.into_iter().map(lend).collect()
    }
}

impl AcceptanceRule for Cascade {
    fn begin_image(&mut self) {
        self.spent_in_scope = 0.0;
        self.inner.begin_image();
    }

    fn begin_step(&mut self) {
        self.spent = 0.0;
        self.level = None;
        self.open = None;
        self.features.clear();
        if self.config.budget_scope != BudgetScope::Image {
            self.spent_in_scope = 0.0;
        }
        self.inner.begin_step();
    }

    fn mass(&mut self, level: &Level<'_>, candidate: NodeId) -> Mass {
        if self.config.budget_scope == BudgetScope::Level && self.level != Some(level.parent) {
            self.spent_in_scope = 0.0;
        }
        self.level = Some(level.parent);
        let mut mass = self.inner.mass(level, candidate);
        self.lenders.clear();
        let mut counted = vec![level.tree[candidate].token];
        let mut moved = 0.0;
        for set in [self.interchangeable(level, candidate), self.converged(level, candidate)] {
            let is_strict = self.config.dedupe == Dedupe::Strict;
            let mut lenders: Vec<(TokenId, f64)> = Vec::new();
            for (token, g) in set {
                let is_counted = counted.contains(&token) || lenders.iter().any(|&(other, _)| other == token);
                if !(is_strict && is_counted) {
                    lenders.push((token, g));
                }
            }
            let lent: f64 = lenders.iter().map(|&(_, g)| g).sum();
            // All or nothing.
            if self.spent_in_scope + moved + lent <= self.config.tvd_budget {
                moved += lent;
                counted.extend(lenders.iter().map(|&(token, _)| token));
                if self.config.residual == CascadeResidual::ZeroUsed {
                    self.lenders.extend(lenders.iter().filter(|&&(_, g)| 0.0 < g).map(|&(token, _)| token));
                }
            }
        }
        let target_without = f64::from(mass.target);
        mass.target += moved as f32;
        match self.config.charge {
            Charge::Always => {
                self.spent += moved;
                self.spent_in_scope += moved;
            }
            Charge::IfUsed => {
                self.open = Some(OpenClaim { moved, target_without, draft: f64::from(mass.draft) });
            }
        }
        mass
    }

    fn taken(&mut self, level: &Level<'_>, candidate: NodeId) -> Taken {
        let mut taken = self.inner.taken(level, candidate);
        taken.lenders.extend(&self.lenders);
        taken
    }

    fn settle(&mut self, r: f64, accepted: bool) {
        if let Some(OpenClaim { moved, target_without, draft }) = self.open.take()
            && accepted
            && target_without <= r * draft
        {
            self.spent += moved;
            self.spent_in_scope += moved;
        }
        self.inner.settle(r, accepted);
    }

    fn tvd_spent(&self) -> f64 {
        self.inner.tvd_spent() + self.spent
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use super::*;
    use crate::{dist::Dist, generation::Scores, methods::sd::Lossless, tree::Proposal, tree::TokenTree};

    /// Every node has the same features.
    struct Alike;

    impl Scores for Alike {
        fn dist(&self, _: NodeId) -> Rc<Dist> {
            unreachable!("the level's distribution is given")
        }
        fn feature(&self, _: NodeId) -> Rc<[f32]> {
            Rc::new([1.0, 0.0])
        }
    }

    fn rule(options: &str) -> Cascade {
        let config = toml::from_str(&format!("tau_pos = 1.0\ntvd_budget = 0.5\n{options}")).unwrap();
        Cascade::new(Box::new(Lossless), config)
    }

    /// What the first of two siblings may claim; each has a quarter of the target's distribution.
    fn claim(rule: &mut Cascade) -> f32 {
        let mut tree = TokenTree::new(TokenId(0));
        let first = tree.push(TokenTree::ROOT, TokenId(1), Proposal::Chosen);
        tree.push(TokenTree::ROOT, TokenId(2), Proposal::Chosen);
        let q = Dist::uniform(4);
        let level = Level { tree: &tree, scores: &Alike, parent: TokenTree::ROOT, q: &q, tried: &[] };
        rule.begin_step();
        rule.mass(&level, first).target
    }

    #[test]
    fn a_cosine_equal_to_a_threshold_passes_only_where_that_was_asked_for() {
        assert_eq!(claim(&mut rule("")), 0.25);
        assert_eq!(claim(&mut rule("threshold = \">=\"")), 0.5);
    }

    #[test]
    fn a_budget_for_an_image_lasts_over_its_steps_and_is_new_with_the_next() {
        let mut rule = rule("threshold = \">=\"\nbudget_scope = \"image\"");
        rule.begin_image();
        assert_eq!([claim(&mut rule), claim(&mut rule), claim(&mut rule)], [0.5, 0.5, 0.25]);
        rule.begin_image();
        assert_eq!(claim(&mut rule), 0.5);
    }
}
