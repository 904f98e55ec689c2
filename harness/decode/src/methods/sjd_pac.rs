//! The tree at the front of a Jacobi window: parallel drafting of SJD-PAC (arXiv 2603.18599; facts from the code
//! KangJialiang/SJD-PAC). Its other part, adaptive continuation, is [`Couple::Maximal`].
//!
//! The first `depth - 1` positions of the window are columns of `width` tokens, which all nodes of a level have as children;
//! the first token of each column is the window's guess, and the rest of the window follows those alone. Siblings are drawn
//! without replacement from the distribution that the guess was drawn from, and are tested under it, which keeps the target's
//! distribution. The released code draws them from what the guess before theirs left of it, and tests them as if from all of
//! it, which does not: [`Siblings::Refcode`]. Two other deviations are not offered: a
//! token drawn uniformly after a whole window, and the first guess of a position recorded as drawn from the uniform distribution,
//! of which its siblings are drawn; here it is recorded as chosen and has none. Both readings of the latter are exact.

use serde::{Deserialize, Serialize};

use crate::{
    dist::{Dist, TokenId},
    method::{MethodError, Works},
    methods::scd::Couple,
    rng::{Purpose, Uniforms, slot},
    without_replacement::WithoutReplacement,
};

/// The work that the tree at the front is from.
pub(crate) const WORKS: Works = Works { method: "sjd-pac", cite: &["kang2026sjdpac"] };

/// `{ width = 4, depth = 3 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// `K`: tokens of a column, in `2..=8`.
    pub width: usize,
    /// `D`: levels of the tree, its root included, in `2..=5`.
    pub depth: usize,
    /// What the tokens of a column behind its first are drawn from.
    #[serde(default, skip_serializing_if = "Siblings::are_exact")]
    pub siblings: Siblings,
}

/// What the tokens of a column behind its first are drawn from. All are tested as drawn from `P`, the guess's distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Siblings {
    /// `P`: lossless.
    #[default]
    Exact,
    /// `norm((P - Q)+)`, with `Q` of the guess that was there before, as the released code does: not lossless.
    Refcode,
}

impl Siblings {
    /// Whether they keep the target's distribution.
    #[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde asks for
    pub(crate) fn are_exact(&self) -> bool {
        *self == Self::Exact
    }
}

/// The guess of a place, as far as its siblings need it.
pub(crate) struct Drawn<'a> {
    pub(crate) token: TokenId,
    /// What it is tested against.
    pub(crate) recorded: &'a Dist,
    /// `norm((P - Q)+)`; `None` where nothing is left, nothing was there before, or siblings are exact.
    pub(crate) residual: Option<&'a Dist>,
}

impl Branch {
    /// Refuses what is out of range, a tree of more nodes than the window has, and residuals of what has none.
    pub(crate) fn validate(self, window: usize, couple: Couple) -> Result<(), MethodError> {
        if self.siblings == Siblings::Refcode && couple != Couple::Maximal {
            let of = format!("couple = \"{}\"", couple.name());
            return Err(crate::method::error::misplaced_key(of, "branch.siblings"));
        }
        MethodError::check_range("branch.width", 2..=8, self.width)?;
        MethodError::check_range("branch.depth", 2..=5, self.depth)?;
        MethodError::check_range("window", self.n_nodes()..=1024, window)
    }

    /// Nodes of the tree, its root included.
    pub(crate) fn n_nodes(self) -> usize {
        (self.width.pow(self.depth as u32) - 1) / (self.width - 1)
    }

    /// As part of a line.
    pub(crate) fn canonical(self) -> String {
        let siblings = if self.siblings.are_exact() { "" } else { ",siblings=refcode" };
        format!(",branch={}x{}{siblings}", self.width, self.depth)
    }

    /// Tokens of the column `column`, the guess first, each with the probability that it has in the distribution that it is
    /// tested against, given those before it.
    pub(crate) fn column(
        self,
        guess: &Drawn<'_>,
        column: usize,
        (step, uniforms): (u32, &Uniforms),
    ) -> Vec<(TokenId, f32)> {
        let mut draws = WithoutReplacement::after(guess.residual.unwrap_or(guess.recorded), guess.token);
        let mut recorded = WithoutReplacement::after(guess.recorded, guess.token);
        let mut column_tokens = vec![(guess.token, guess.recorded.prob(guess.token))];
        for rank in 1..self.width {
            let u = uniforms.uniform(Purpose::Draft, step, slot(1 + column, rank));
            let Some((token, conditional)) = draws.draw(u) else { break };
            let tested = if guess.residual.is_some() { recorded.draw_of(token) } else { conditional };
            column_tokens.push((token, tested));
        }
        column_tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_different_tokens_until_none_is_left() {
        let branch = Branch { width: 4, depth: 3, siblings: Siblings::Exact };
        assert_eq!(branch.n_nodes(), 21);
        let uniforms = Uniforms::new(3);
        let guess = |recorded| Drawn { token: TokenId(2), recorded, residual: None };
        let mass = Dist::one_hot(5, TokenId(2));
        assert_eq!(branch.column(&guess(&mass), 0, (0, &uniforms)), [(TokenId(2), 1.0)]);
        let uniform = Dist::uniform(5);
        let mut column = branch.column(&guess(&uniform), 1, (0, &uniforms));
        let left: Vec<f32> = column.iter().map(|&(_, conditional)| conditional).collect();
        for (found, expected) in left.iter().zip([0.2, 0.25, 1.0 / 3.0, 0.5]) {
            assert!((found - expected).abs() < 1e-6, "{left:?}");
        }
        column.sort_by_key(|&(token, _)| token);
        column.dedup_by_key(|&mut (token, _)| token);
        assert_eq!(column.len(), 4);
    }

    #[test]
    fn siblings_of_the_released_code_are_of_the_residual_and_tested_under_the_whole_distribution() {
        let branch = Branch { width: 3, depth: 2, siblings: Siblings::Refcode };
        let uniform = Dist::uniform(5);
        let residual = Dist::one_hot(5, TokenId(4));
        let guess = Drawn { token: TokenId(2), recorded: &uniform, residual: Some(&residual) };
        assert_eq!(branch.column(&guess, 0, (0, &Uniforms::new(3))), [(TokenId(2), 0.2), (TokenId(4), 0.25)]);
        // The second sibling is tested under what the guess and the first one left.
        let guess = Drawn { residual: Some(&uniform), ..guess };
        let left: Vec<f32> =
            branch.column(&guess, 0, (0, &Uniforms::new(3))).iter().map(|&(_, p)| p).collect();
        let expected = [0.2, 0.25, 1.0 / 3.0];
        assert!(left.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6) && left.len() == 3, "{left:?}");
    }

    #[test]
    fn columns_have_draws_of_their_own() {
        let branch = Branch { width: 2, depth: 3, siblings: Siblings::Exact };
        let uniform = Dist::uniform(50);
        let guess = Drawn { token: TokenId(2), recorded: &uniform, residual: None };
        let same = |seed: &u64| {
            let sibling = |column| branch.column(&guess, column, (0, &Uniforms::new(*seed)))[1];
            sibling(0) == sibling(1)
        };
        assert!((0..100).filter(same).count() < 20);
    }
}
