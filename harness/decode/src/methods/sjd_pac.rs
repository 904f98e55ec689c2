//! The tree at the front of a Jacobi window: parallel drafting of SJD-PAC (arXiv 2603.18599; facts from the code
//! KangJialiang/SJD-PAC). Its other part, adaptive continuation, is [`Couple::Maximal`](super::scd::Couple::Maximal).
//!
//! The first `depth - 1` positions of the window are columns of `width` tokens, which all nodes of a level have as children;
//! the first token of each column is the window's guess, and the rest of the window follows those alone. Siblings are drawn
//! without replacement from the distribution that the guess was drawn from, and are tested under it, which keeps the target's
//! distribution. The released code draws them from the residual of a rejected slot and tests them as drawn from the
//! distribution itself, which does not; it is not offered.

use serde::{Deserialize, Serialize};

use crate::{
    dist::{Dist, TokenId},
    method::MethodError,
    rng::{Purpose, Uniforms, slot},
    without_replacement::WithoutReplacement,
};

/// `{ width = 4, depth = 3 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// `K`: tokens of a column, in `2..=8`.
    pub width: usize,
    /// `D`: levels of the tree, its root included, in `2..=5`.
    pub depth: usize,
}

impl Branch {
    /// Refuses what is out of range, and a tree of more nodes than the window has.
    pub(crate) fn validate(self, window: usize) -> Result<(), MethodError> {
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
        format!(",branch={}x{}", self.width, self.depth)
    }

    /// Tokens of the column `column`, the guess first, each with its probability given those before it. `drawn_from`: what
    /// the guess was drawn from.
    pub(crate) fn column(
        self,
        guess: TokenId,
        drawn_from: &Dist,
        column: usize,
        (step, uniforms): (u32, &Uniforms),
    ) -> Vec<(TokenId, f32)> {
        let mut draws = WithoutReplacement::after(drawn_from, guess);
        let sibling = |rank| draws.draw(uniforms.uniform(Purpose::Draft, step, slot(1 + column, rank)));
        let siblings = (1..self.width).map_while(sibling);
        [(guess, drawn_from.prob(guess))].into_iter().chain(siblings).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_different_tokens_until_none_is_left() {
        let branch = Branch { width: 4, depth: 3 };
        assert_eq!(branch.n_nodes(), 21);
        let uniforms = Uniforms::new(3);
        let mass = Dist::one_hot(5, TokenId(2));
        assert_eq!(branch.column(TokenId(2), &mass, 0, (0, &uniforms)), [(TokenId(2), 1.0)]);
        let uniform = Dist::uniform(5);
        let mut column = branch.column(TokenId(2), &uniform, 1, (0, &uniforms));
        let left: Vec<f32> = column.iter().map(|&(_, conditional)| conditional).collect();
        for (found, expected) in left.iter().zip([0.2, 0.25, 1.0 / 3.0, 0.5]) {
            assert!((found - expected).abs() < 1e-6, "{left:?}");
        }
        column.sort_by_key(|&(token, _)| token);
        column.dedup_by_key(|&mut (token, _)| token);
        assert_eq!(column.len(), 4);
    }
}
