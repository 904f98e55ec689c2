//! LANTERN and LANTERN++: a candidate borrows the mass of its nearest tokens in the VQ codebook (Jang et al.,
//! arXiv 2410.03355; Park et al., arXiv 2502.06352; reference code jadohu/LANTERN).
//!
//! Our reading: walking the `k` nearest others of `x` in order of distance, mass `g[y]` of the current
//! residual is added while the sum stays within the bound; LANTERN bounds it by `delta`, LANTERN++ by
//! `(lambda - 1) * g[x]` (the reference packs both into one number and switches at 1). The sum is exactly the
//! total variation moved. What becomes of the lenders when `x` is rejected differs: see [`Residual`].
//! The reference's `k` excludes the token itself, so its `k` is that of a ball around it less one. At
//! temperature 0 the distribution is a point mass: a neighbour that holds it lends only if the bound is 1 or more.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::{
    dist::TokenId,
    method::{MethodError, Needs, Parts, RuleSettings},
    tree::{NodeId, Proposal},
    vectors::Neighbours,
    verify::{AcceptanceRule, Level, Mass, Taken},
};

/// LANTERN: `{ kind = "lantern", k = 1000, delta = 0.1 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanternConfig {
    /// Neighbours a candidate may borrow from, nearest first; all other tokens where there are fewer.
    pub k: usize,
    /// Most mass one candidate borrows, in `[0, 1]`.
    pub delta: f64,
    /// What a rejection takes out of the target's distribution.
    #[serde(default = "Residual::paper")]
    pub residual: Residual,
}

/// LANTERN++: `{ kind = "lantern++", k = 10, lambda = 5.0 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanternPlusPlusConfig {
    /// Neighbours a candidate may borrow from, nearest first; all other tokens where there are fewer.
    pub k: usize,
    /// A candidate's relaxed mass is at most `lambda * g[x]`. At least 1, where nothing is borrowed.
    pub lambda: f64,
    /// What a rejection takes out of the target's distribution.
    #[serde(default = "Residual::paper")]
    pub residual: Residual,
}

/// What a rejection takes out of the target's distribution besides the candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Residual {
    /// The lenders leave with the candidate: our reading of the paper's aggregated distribution, whose text on the
    /// residual we have not seen.
    Paper,
    /// Nothing: the residual of the lossless method. Cool-SD's optimal one, `norm((P - Q f)+)` with `f` the chance of
    /// acceptance, is this one wherever a rule accepts at least as often, as both of these do.
    Vanilla,
    /// As the reference code does it: if anything lent, be it a mass of 0, the `k + 1` nearest are zeroed:
    /// in the target's distribution below a chosen candidate, but in the drafter's below a sampled one, where they so
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
    /// Neighbours that lent to the last candidate, nearest first.
    n_lenders: usize,
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

impl RuleSettings for LanternConfig {
    fn validate(&self, of: &'static str) -> Result<(), MethodError> {
        let within = (0.0..=1.0).contains(&self.delta);
        MethodError::check_real(of, "delta", "0 to 1", within, self.delta)
    }

    fn canonical(&self) -> String {
        let Self { k, delta, residual } = self;
        format!("k={k},delta={delta},residual={}", residual.as_written())
    }

    fn needs(&self) -> Needs {
        Needs { n_nearest: Some(self.residual.n_nearest(self.k)), ..Needs::default() }
    }

    fn cite() -> &'static [&'static str] {
        &["jang2025lantern"]
    }

    fn example() -> &'static str {
        r#"{ kind = "lantern", k = 4, delta = 0.2 }"#
    }

    fn build(
        &self,
        of: &'static str,
        inner: Box<dyn AcceptanceRule>,
        parts: &Parts,
    ) -> Result<Box<dyn AcceptanceRule>, MethodError> {
        let neighbours = parts.neighbours(of, self.residual.n_nearest(self.k))?;
        Ok(Box::new(Lantern::new(inner, neighbours, self.k, Bound::Absolute(self.delta), self.residual)))
    }
}

impl RuleSettings for LanternPlusPlusConfig {
    fn validate(&self, of: &'static str) -> Result<(), MethodError> {
        let within = 1.0 <= self.lambda && self.lambda.is_finite();
        MethodError::check_real(of, "lambda", "at least 1 and finite", within, self.lambda)
    }

    fn canonical(&self) -> String {
        let Self { k, lambda, residual } = self;
        format!("k={k},lambda={lambda},residual={}", residual.as_written())
    }

    fn needs(&self) -> Needs {
        Needs { n_nearest: Some(self.residual.n_nearest(self.k)), ..Needs::default() }
    }

    fn cite() -> &'static [&'static str] {
        &["park2025lanternpp"]
    }

    fn example() -> &'static str {
        r#"{ kind = "lantern++", k = 4, lambda = 2.0 }"#
    }

    fn build(
        &self,
        of: &'static str,
        inner: Box<dyn AcceptanceRule>,
        parts: &Parts,
    ) -> Result<Box<dyn AcceptanceRule>, MethodError> {
        let neighbours = parts.neighbours(of, self.residual.n_nearest(self.k))?;
        Ok(Box::new(Lantern::new(inner, neighbours, self.k, Bound::Relative(self.lambda), self.residual)))
    }
}

impl Lantern {
    /// Borrows from the `k` nearest of `neighbours` on top of `inner`.
    #[must_use]
    pub fn new(
        inner: Box<dyn AcceptanceRule>,
        neighbours: Rc<Neighbours>,
        k: usize,
        bound: Bound,
        residual: Residual,
    ) -> Self {
        Self { inner, neighbours, k, bound, residual, n_lenders: 0, spent: 0.0 }
    }

    /// How many of the nearest tokens lend to `token`, and the mass they lend.
    fn lent(&self, level: &Level<'_>, token: TokenId) -> (usize, f64) {
        let g = |token| f64::from(level.q.prob(token));
        let limit = match self.bound {
            Bound::Absolute(delta) => delta,
            Bound::Relative(lambda) => (lambda - 1.0) * g(token),
        };
        let near = self.neighbours.of(token, self.k);
        let mut lent = 0.0;
        for (n_lenders, &neighbour) in near.iter().enumerate() {
            if limit < lent + g(neighbour) {
                return (n_lenders, lent);
            }
            lent += g(neighbour);
        }
        (near.len(), lent)
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
        let (n_lenders, lent) = self.lent(level, level.tree[candidate].token);
        mass.target += lent as f32;
        self.n_lenders = n_lenders;
        self.spent += lent;
        mass
    }

    fn taken(&mut self, level: &Level<'_>, candidate: NodeId) -> Taken {
        let mut taken = self.inner.taken(level, candidate);
        let node = &level.tree[candidate];
        let near = |k| self.neighbours.of(node.token, k);
        match (self.residual, &node.proposal) {
            (Residual::Vanilla, _) => {}
            (Residual::Paper, _) => {
                let lenders = near(self.n_lenders).iter();
                taken.lenders.extend(lenders.filter(|&&lender| 0.0 < level.q.prob(lender)));
            }
            (Residual::Refcode, _) if self.n_lenders == 0 => {}
            (Residual::Refcode, Proposal::Sampled { .. }) => {
                let mass = taken.mass.get_or_insert_with(|| level.row(candidate, |_, d| d));
                near(self.k + 1).iter().for_each(|spared| mass[spared.idx()] = 0.0);
            }
            (Residual::Refcode, Proposal::Chosen | Proposal::Root) => taken.lenders.extend(near(self.k + 1)),
        }
        taken
    }

    fn settle(&mut self, r: f64, accepted: bool) {
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
    use crate::{
        dist::Dist,
        generation::Scores,
        methods::{cascade::Cascade, sd::Lossless},
        tree::TokenTree,
    };

    /// Every node has the same features, which CASCADE inside sees as interchangeable.
    struct Alike;

    impl Scores for Alike {
        fn dist(&self, _: NodeId) -> Rc<Dist> {
            unreachable!("the level's distribution is given")
        }
        fn feature(&self, _: NodeId) -> Rc<[f32]> {
            Rc::new([1.0, 0.0])
        }
    }

    /// Each of four tokens lists the others by rising id.
    fn neighbours() -> Rc<Neighbours> {
        let others = |of: u32| (0..4).filter(|&token| token != of).map(TokenId).collect::<Vec<_>>();
        Rc::new(Neighbours::from_rows(&(0..4).map(others).collect::<Vec<_>>()).unwrap())
    }

    fn lantern(inner: Box<dyn AcceptanceRule>, delta: f64, residual: Residual) -> Lantern {
        Lantern::new(inner, neighbours(), 2, Bound::Absolute(delta), residual)
    }

    /// What the first of two siblings, token 1, may claim of a distribution with a quarter on each token, and what its
    /// rejection would take.
    fn claim(rule: &mut Lantern, proposal: Proposal) -> (Mass, Taken) {
        let mut tree = TokenTree::new(TokenId(0));
        let first = tree.push(TokenTree::ROOT, TokenId(1), proposal);
        tree.push(TokenTree::ROOT, TokenId(2), Proposal::Chosen);
        let q = Dist::uniform(4);
        let level = Level { tree: &tree, scores: &Alike, parent: TokenTree::ROOT, q: &q, tried: &[] };
        rule.begin_step();
        (rule.mass(&level, first), rule.taken(&level, first))
    }

    #[test]
    fn neighbours_lend_up_to_the_bound_itself() {
        let target = |delta| {
            claim(&mut lantern(Box::new(Lossless), delta, Residual::Paper), Proposal::Chosen).0.target
        };
        assert_eq!([0.2, 0.25, 0.49, 0.5, 1.0].map(target), [0.25, 0.5, 0.5, 0.75, 0.75]);
    }

    #[test]
    fn the_residual_of_the_reference_code_takes_one_token_more_than_lends() {
        let sampled = || Proposal::Sampled { distribution: Rc::new(Dist::uniform(4)), conditional: 0.25 };
        let claim =
            |delta, proposal| claim(&mut lantern(Box::new(Lossless), delta, Residual::Refcode), proposal).1;
        let three = [0, 2, 3].map(TokenId).to_vec();
        assert_eq!(claim(0.25, Proposal::Chosen), Taken { mass: None, lenders: three });
        let alone = Some(vec![0.0, 0.25, 0.0, 0.0]);
        assert_eq!(claim(0.25, sampled()), Taken { mass: alone, lenders: Vec::new() });
        for proposal in [Proposal::Chosen, sampled()] {
            assert_eq!(claim(0.0, proposal), Taken::plain(), "nothing was lent");
        }
    }

    #[test]
    fn the_rule_inside_learns_what_became_of_its_claim() {
        let config = "tau_pos = 1.0\ntvd_budget = 0.25\nthreshold = \">=\"\nbudget_scope = \"image\"\ncharge = \"if_used\"";
        let cascade = Cascade::new(Box::new(Lossless), toml::from_str(config).unwrap());
        let mut rule = lantern(Box::new(cascade), 0.0, Residual::Paper);
        rule.begin_image();
        assert_eq!(claim(&mut rule, Proposal::Chosen).0.target, 0.5);
        rule.settle(0.1, true); // Its own quarter was enough: nothing is charged.
        assert_eq!(claim(&mut rule, Proposal::Chosen).0.target, 0.5);
        rule.settle(0.4, true); // Accepted for the mass that CASCADE added.
        assert_eq!(claim(&mut rule, Proposal::Chosen).0.target, 0.25);
    }

    #[test]
    fn the_rule_inside_is_told_of_a_new_image() {
        let config = "tau_pos = 1.0\ntvd_budget = 0.25\nthreshold = \">=\"\nbudget_scope = \"image\"";
        let cascade = Cascade::new(Box::new(Lossless), toml::from_str(config).unwrap());
        let mut rule = lantern(Box::new(cascade), 0.0, Residual::Paper);
        rule.begin_image();
        assert_eq!([0; 2].map(|_| claim(&mut rule, Proposal::Chosen).0.target), [0.5, 0.25]);
        rule.begin_image();
        assert_eq!(claim(&mut rule, Proposal::Chosen).0.target, 0.5);
    }
}
