//! What a method is put together from besides its configuration: networks and tables the caller loads.

use std::rc::Rc;

use super::MethodError;
use crate::{
    drafter::DraftModel,
    vectors::{Neighbours, TokenVectors},
};

/// Networks and tables. Which of them a method needs is what [`Needs`] says.
#[derive(Default)]
pub struct Parts {
    /// The network of the drafter.
    pub draft_model: Option<Box<dyn DraftModel>>,
    /// Nearest tokens in the VQ codebook (LANTERN).
    pub neighbours: Option<Rc<Neighbours>>,
    /// Vectors of the VQ codebook (VVS's path similarity).
    pub codebook: Option<Rc<TokenVectors>>,
    /// Input embeddings of the target's tokens (GSD's distance filter).
    pub embeddings: Option<Rc<TokenVectors>>,
}

/// What [`MethodConfig::build_with`](super::MethodConfig::build_with) will ask its parts for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// A draft model.
    pub draft_model: bool,
    /// A table of at least so many neighbours per token (or all, if the vocabulary is smaller).
    pub n_nearest: Option<usize>,
    /// The VQ codebook.
    pub codebook: bool,
    /// The target's input embeddings.
    pub embeddings: bool,
}

impl Needs {
    /// What both need together.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            draft_model: self.draft_model || other.draft_model,
            n_nearest: self.n_nearest.max(other.n_nearest),
            codebook: self.codebook || other.codebook,
            embeddings: self.embeddings || other.embeddings,
        }
    }
}

impl Parts {
    /// The VQ codebook.
    pub(crate) fn codebook(&self, of: &'static str) -> Result<Rc<TokenVectors>, MethodError> {
        self.codebook
            .clone()
            .ok_or_else(|| crate::method::error::missing_part(of, "the vectors of its codebook"))
    }

    /// The target's input embeddings.
    pub(crate) fn embeddings(&self, of: &'static str) -> Result<Rc<TokenVectors>, MethodError> {
        self.embeddings
            .clone()
            .ok_or_else(|| crate::method::error::missing_part(of, "embeddings of the tokens"))
    }

    /// The table of neighbours, which must list `n_nearest` per token, or all others.
    pub(crate) fn neighbours(
        &self,
        of: &'static str,
        n_nearest: usize,
    ) -> Result<Rc<Neighbours>, MethodError> {
        let table = self
            .neighbours
            .clone()
            .ok_or_else(|| crate::method::error::missing_part(of, "a table of neighbours"))?;
        let needed = n_nearest.min(table.n_vocab().saturating_sub(1));
        if table.n_nearest() < needed {
            return Err(MethodError(format!(
                "{of} needs {needed} neighbours per token, the table lists {}",
                table.n_nearest()
            )));
        }
        Ok(table)
    }
}
