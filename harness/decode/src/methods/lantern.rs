//! LANTERN and LANTERN++: a candidate borrows the mass of its nearest tokens in the VQ codebook (Jang et al.,
//! arXiv 2410.03355; Park et al., arXiv 2502.06352; reference code jadohu/LANTERN).
//!
//! Our reading: walking the `k` nearest others of `x` in order of distance, mass `g[y]` of the current
//! residual is added while the sum stays within the bound; LANTERN bounds it by `delta`, LANTERN++ by
//! `(lambda - 1) * g[x]` (the reference packs both into one number and switches at 1). The sum is exactly the
//! total variation moved. What becomes of the lenders when `x` is rejected differs: see [`Residual`].
//! The reference's `k` excludes the token itself, so its `k` is that of a ball around it less one. At
//! temperature 0 the law is a point mass: a neighbour that holds it lends only if the bound is 1 or more.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::{
    dist::TokenId,
    method::MethodError,
    tree::{NodeId, Proposal},
    vectors::Neighbours,
    verify::{AcceptanceRule, Level, Mass},
};

/// LANTERN: `{ kind = "lantern", k = 1000, delta = 0.1 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanternConfig {
    /// Neighbours a candidate may borrow from, nearest first.
    pub k: usize,
    /// Most mass one candidate borrows, in `[0, 1]`.
    pub delta: f64,
    /// What a rejection takes out of the target's law.
    #[serde(default = "Residual::paper")]
    pub residual: Residual,
}

/// LANTERN++: `{ kind = "lantern++", k = 10, lambda = 5.0 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanternPlusPlusConfig {
    /// Neighbours a candidate may borrow from, nearest first.
    pub k: usize,
    /// A candidate's relaxed mass is at most `lambda * g[x]`. At least 1, where nothing is borrowed.
    pub lambda: f64,
    /// What a rejection takes out of the target's law.
    #[serde(default = "Residual::paper")]
    pub residual: Residual,
}

/// What a rejection takes out of the target's law besides the candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Residual {
    /// The lenders leave with the candidate: our reading of the paper's aggregated law, whose text on the
    /// residual we have not seen.
    Paper,
    /// Nothing: the residual of the lossless method, which is optimal for any relaxation that accepts at
    /// least as often (Cool-SD).
    Vanilla,
    /// As the reference code does it: if anything lent, be it a mass of 0, the `k + 1` nearest are zeroed:
    /// in the target's law below a chosen candidate, but in the drafter's below a sampled one, where they so
    /// survive. To compare with numbers of that code only; with `delta = 0` it is not lossless.
    Refcode,
}

/// Upper bound on the mass one candidate may borrow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// `sum g[y] <= delta` (LANTERN).
    Absolute(f64),
    /// `sum g[y] <= (lambda - 1) * g[x]` (LANTERN++).
    Relative(f64),
}

/// Adds the mass of near tokens to what an inner rule grants.
pub struct Lantern {
    inner: Box<dyn AcceptanceRule>,
    neighbours: Rc<Neighbours>,
    k: usize,
    bound: Bound,
    residual: Residual,
    spent: f64,
}

impl Residual {
    fn paper() -> Self {
        Self::Paper
    }

    fn as_written(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Vanilla => "vanilla",
            Self::Refcode => "refcode",
        }
    }

    /// Neighbours per token the table must list.
    fn n_nearest(self, k: usize) -> usize {
        k + usize::from(self == Self::Refcode)
    }
}

impl LanternConfig {
    pub(crate) fn validate(&self) -> Result<(), MethodError> {
        let within = (0.0..=1.0).contains(&self.delta);
        MethodError::check_real("accept rule lantern", "delta", "0 to 1", within, self.delta)
    }

    pub(crate) fn canonical(&self) -> String {
        let Self { k, delta, residual } = self;
        format!("lantern(k={k},delta={delta},residual={})", residual.as_written())
    }

    /// Neighbours per token the table must list.
    pub(crate) fn n_nearest(&self) -> usize {
        self.residual.n_nearest(self.k)
    }

    pub(crate) fn build(&self, inner: Box<dyn AcceptanceRule>, neighbours: Rc<Neighbours>) -> Lantern {
        Lantern::new(inner, neighbours, self.k, Bound::Absolute(self.delta), self.residual)
    }
}

impl LanternPlusPlusConfig {
    pub(crate) fn validate(&self) -> Result<(), MethodError> {
        let within = 1.0 <= self.lambda && self.lambda.is_finite();
        MethodError::check_real(
            "accept rule lantern++",
            "lambda",
            "at least 1 and finite",
            within,
            self.lambda,
        )
    }

    pub(crate) fn canonical(&self) -> String {
        let Self { k, lambda, residual } = self;
        format!("lantern++(k={k},lambda={lambda},residual={})", residual.as_written())
    }

    /// Neighbours per token the table must list.
    pub(crate) fn n_nearest(&self) -> usize {
        self.residual.n_nearest(self.k)
    }

    pub(crate) fn build(&self, inner: Box<dyn AcceptanceRule>, neighbours: Rc<Neighbours>) -> Lantern {
        Lantern::new(inner, neighbours, self.k, Bound::Relative(self.lambda), self.residual)
    }
}

impl Lantern {
    /// Borrows from the `k` nearest of `neighbours` on top of `inner`.
    pub fn new(
        inner: Box<dyn AcceptanceRule>,
        neighbours: Rc<Neighbours>,
        k: usize,
        bound: Bound,
        residual: Residual,
    ) -> Self {
        Self { inner, neighbours, k, bound, residual, spent: 0.0 }
    }

    /// The tokens that lend to `token`, and the mass they lend.
    fn lenders(&self, level: &Level<'_>, token: TokenId) -> (&[TokenId], f64) {
        let g = |token| f64::from(level.q.prob(token));
        let limit = match self.bound {
            Bound::Absolute(delta) => delta,
            Bound::Relative(lambda) => (lambda - 1.0) * g(token),
        };
        let near = self.neighbours.of(token, self.k);
        let mut lent = 0.0;
        for (n_lenders, &neighbour) in near.iter().enumerate() {
            if limit < lent + g(neighbour) {
                return (&near[..n_lenders], lent);
            }
            lent += g(neighbour);
        }
        (near, lent)
    }
}

impl AcceptanceRule for Lantern {
    fn begin_image(&mut self) {
        self.inner.begin_image();
    }

    fn begin_step(&mut self) {
        self.spent = 0.0;
        self.inner.begin_step();
    }

    fn mass(&mut self, level: &Level<'_>, candidate: NodeId) -> Mass {
        let mut mass = self.inner.mass(level, candidate);
        let node = &level.tree[candidate];
        let (lenders, lent) = self.lenders(level, node.token);
        mass.target += lent as f32;
        match (self.residual, &node.proposal) {
            (Residual::Vanilla, _) => {}
            (Residual::Paper, _) => {
                mass.lenders.extend(lenders.iter().filter(|&&lender| 0.0 < level.q.prob(lender)));
            }
            (Residual::Refcode, _) if lenders.is_empty() => {}
            (Residual::Refcode, Proposal::Sampled { .. }) => {
                mass.spared.extend(self.neighbours.of(node.token, self.k + 1));
            }
            (Residual::Refcode, Proposal::Chosen | Proposal::Root) => {
                mass.lenders.extend(self.neighbours.of(node.token, self.k + 1));
            }
        }
        self.spent += lent;
        mass
    }

    fn settle(&mut self, r: f64, accepted: bool) {
        self.inner.settle(r, accepted);
    }

    fn tvd_spent(&self) -> f64 {
        self.inner.tvd_spent() + self.spent
    }
}
