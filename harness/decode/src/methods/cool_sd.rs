//! Cool-SD: a candidate is accepted more often the earlier it is in the draft (arXiv 2601.09212, from a reading note; no code
//! is published).
//!
//! With `P` the target's probability, `Q` the drafter's and `i` the depth of the candidate, 1 for the first, it is accepted
//! with `f_i = min(1, w_i P / Q)`, `w_i = delta exp(-nu i - mu)`. A rejection leaves `norm((P - Q f_i)+)`, which is the
//! lossless residual where `w_i` is 1 or more. Where no `w_i` is above 1 the method samples from the target's distribution: it
//! only accepts less often. The note has `nu = 0.7` and `delta` 1.1 and 2, and no `mu`.

use serde::{Deserialize, Serialize};

use crate::{
    method::{MethodError, Parts, RuleSettings},
    tree::NodeId,
    verify::{AcceptanceRule, Level, Mass, Taken},
};

/// `{ kind = "cool-sd", delta = 2.0 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoolSdConfig {
    /// Weight at depth 0, above 0.
    pub delta: f64,
    /// How fast the weight falls with depth, at least 0.
    #[serde(default = "published_nu")]
    pub nu: f64,
    /// What is taken off the exponent at every depth.
    #[serde(default)]
    pub mu: f64,
}

/// That of the paper.
fn published_nu() -> f64 {
    0.7
}

impl CoolSdConfig {
    /// `w_i`, at most the largest number of `f32`: an infinite one times a probability of 0 is no number.
    fn weight(&self, depth: usize) -> f64 {
        let weight = self.delta * (-self.nu * depth as f64 - self.mu).exp();
        weight.min(f64::from(f32::MAX))
    }
}

impl RuleSettings for CoolSdConfig {
    fn validate(&self, of: &'static str) -> Result<(), MethodError> {
        let within = 0.0 < self.delta && self.delta.is_finite();
        MethodError::check_real(of, "delta", "above 0 and finite", within, self.delta)?;
        let within = 0.0 <= self.nu && self.nu.is_finite();
        MethodError::check_real(of, "nu", "at least 0 and finite", within, self.nu)?;
        MethodError::check_real(of, "mu", "-100 to 100", (-100.0..=100.0).contains(&self.mu), self.mu)
    }

    fn canonical(&self) -> String {
        format!("delta={},nu={},mu={}", self.delta, self.nu, self.mu)
    }

    fn cite() -> &'static [&'static str] {
        &["li2026coolsd"]
    }

    fn example() -> &'static str {
        r#"{ kind = "cool-sd", delta = 6.0 }"#
    }

    fn build(
        &self,
        _: &'static str,
        _: Box<dyn AcceptanceRule>,
        _: &Parts,
    ) -> Result<Box<dyn AcceptanceRule>, MethodError> {
        Ok(Box::new(CoolSd { config: self.clone(), spent: 0.0 }))
    }

    fn is_lossless(&self) -> bool {
        self.weight(1) <= 1.0
    }

    fn replaces_inner(&self) -> bool {
        true
    }
}

/// Weighs the target's mass by the depth of the candidate.
pub struct CoolSd {
    config: CoolSdConfig,
    spent: f64,
}

impl CoolSd {
    fn weight(&self, level: &Level<'_>, candidate: NodeId) -> f32 {
        self.config.weight(level.tree[candidate].depth) as f32
    }
}

impl AcceptanceRule for CoolSd {
    fn begin_step(&mut self) {
        self.spent = 0.0;
    }

    fn mass(&mut self, level: &Level<'_>, candidate: NodeId) -> Mass {
        let token = level.tree[candidate].token;
        let (p, draft) = (level.q.prob(token), level.draft_prob(candidate, token));
        let target = self.weight(level, candidate) * p;
        let chance = |target: f32| f64::from(target / draft).min(1.0);
        if 0.0 < draft {
            self.spent += (chance(target) - chance(p)).max(0.0);
        }
        Mass { target, draft }
    }

    fn taken(&mut self, level: &Level<'_>, candidate: NodeId) -> Taken {
        let weight = self.weight(level, candidate);
        Taken { mass: Some(level.row(candidate, |g, d| d.min(weight * g))), ..Taken::plain() }
    }

    fn tvd_spent(&self) -> f64 {
        self.spent
    }
}
