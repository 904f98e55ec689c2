//! What a method may know about tokens besides their probability: vectors, and who is near whom.
//!
//! The caller hands these in: a VQ codebook (LANTERN's neighbours, VVS's path similarity) or the input
//! embeddings of the target (GSD's distance filter). Plain rows, no tensors.

use crate::dist::TokenId;

/// One vector for every token of the vocabulary, `[n_vocab, dim]`.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenVectors {
    // Invariant: `dim` is at least 1, the length a multiple of it, every entry finite.
    values: Vec<f32>,
    dim: usize,
}

/// For every token its nearest others, nearest first, itself excluded: `[n_vocab, n_nearest]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbours {
    // Invariant: rows of `n_nearest` ids below `n_vocab`, none repeated, none that of the row.
    ids: Vec<TokenId>,
    n_vocab: usize,
    n_nearest: usize,
}

/// Why rows of numbers are no table over the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct VectorsError(String);

impl TokenVectors {
    /// Rows of `dim` numbers, one row a token.
    ///
    /// # Errors
    /// If rows are not whole, or a number is not finite.
    pub fn new(values: Vec<f32>, dim: usize) -> Result<Self, VectorsError> {
        if dim == 0 || !values.len().is_multiple_of(dim) {
            return Err(VectorsError(format!(
                "{} numbers do not fill rows of {dim}; give n_vocab * dim of them, dim at least 1",
                values.len()
            )));
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return Err(VectorsError(format!(
                "the vector of token {} has an entry that is not finite",
                at / dim
            )));
        }
        Ok(Self { values, dim })
    }

    /// Size of the vocabulary.
    #[must_use]
    pub fn n_vocab(&self) -> usize {
        self.values.len() / self.dim
    }

    /// The vector of one token, `[dim]`.
    ///
    /// # Panics
    /// If `token` is outside the vocabulary.
    #[must_use]
    pub fn of(&self, token: TokenId) -> &[f32] {
        &self.values[token.idx() * self.dim..][..self.dim]
    }

    /// Squared Euclidean distance between two tokens.
    #[must_use]
    pub fn squared_distance(&self, a: TokenId, b: TokenId) -> f64 {
        let difference = |(&a, &b): (&f32, &f32)| (f64::from(a) - f64::from(b)).powi(2);
        self.of(a).iter().zip(self.of(b)).map(difference).sum()
    }
}

impl Neighbours {
    /// Rows of token ids, nearest first.
    ///
    /// # Errors
    /// If rows differ in length, or one lists its own token, a token twice, or one outside the vocabulary.
    pub fn from_rows(rows: &[Vec<TokenId>]) -> Result<Self, VectorsError> {
        let (n_vocab, n_nearest) = (rows.len(), rows.first().map_or(0, Vec::len));
        let mut listed_by = vec![usize::MAX; n_vocab];
        for (token, row) in rows.iter().enumerate() {
            if row.len() != n_nearest {
                return Err(VectorsError(format!(
                    "the neighbours of token {token} are {}, those of token 0 are {n_nearest}; rows have one length",
                    row.len()
                )));
            }
            for &neighbour in row {
                let why = match listed_by.get_mut(neighbour.idx()) {
                    None => "outside the vocabulary",
                    Some(_) if neighbour.idx() == token => "itself",
                    Some(by) if *by == token => "listed twice",
                    Some(by) => {
                        *by = token;
                        continue;
                    }
                };
                return Err(VectorsError(format!(
                    "token {token} lists {} as a neighbour, which is {why}",
                    neighbour.0
                )));
            }
        }
        Ok(Self { ids: rows.concat(), n_vocab, n_nearest })
    }

    /// The `n_nearest` tokens of smallest Euclidean distance to each token, ties to the lowest id; all others
    /// if there are fewer. Time grows with the square of the vocabulary: seconds for 16,384 tokens.
    pub fn of_vectors(vectors: &TokenVectors, n_nearest: usize) -> Self {
        let n_vocab = vectors.n_vocab();
        let n_nearest = n_nearest.min(n_vocab.saturating_sub(1));
        let mut ids = Vec::with_capacity(n_vocab * n_nearest);
        for token in (0..n_vocab as u32).map(TokenId) {
            let others = (0..n_vocab as u32).map(TokenId).filter(|&other| other != token);
            let mut ranked: Vec<(f64, TokenId)> =
                others.map(|other| (vectors.squared_distance(token, other), other)).collect();
            let order =
                |a: &(f64, TokenId), b: &(f64, TokenId)| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1));
            if n_nearest < ranked.len() {
                ranked.select_nth_unstable_by(n_nearest, order);
                ranked.truncate(n_nearest);
            }
            ranked.sort_unstable_by(order);
            ids.extend(ranked.into_iter().map(|(_, other)| other));
        }
        Self { ids, n_vocab, n_nearest }
    }

    /// Size of the vocabulary.
    #[must_use]
    pub fn n_vocab(&self) -> usize {
        self.n_vocab
    }

    /// Neighbours listed per token.
    #[must_use]
    pub fn n_nearest(&self) -> usize {
        self.n_nearest
    }

    /// The nearest `k` others of `token`, nearest first; all that are listed if they are fewer.
    ///
    /// # Panics
    /// If `token` is outside the vocabulary.
    #[must_use]
    pub fn of(&self, token: TokenId, k: usize) -> &[TokenId] {
        assert!(token.idx() < self.n_vocab, "token {} has no row of {}", token.0, self.n_vocab);
        &self.ids[token.idx() * self.n_nearest..][..k.min(self.n_nearest)]
    }
}

/// Cosine of the angle between two vectors, in `[-1, 1]`; 0 if one of them is zero.
///
/// # Panics
/// If their lengths differ.
#[must_use]
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len(), "a cosine compares vectors of one length");
    let dot =
        |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum() };
    let norms = (dot(a, a) * dot(b, b)).sqrt();
    if norms == 0.0 { 0.0 } else { (dot(a, b) / norms).clamp(-1.0, 1.0) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use super::*;

    fn tokens(ids: &[u32]) -> Vec<TokenId> {
        ids.iter().copied().map(TokenId).collect()
    }

    #[test]
    fn neighbours_are_ranked_by_distance_with_ties_to_the_lowest_id() {
        // On a line: 0 at 0, 1 at 3, 2 at 1, 3 at -1.
        let vectors = TokenVectors::new(vec![0.0, 3.0, 1.0, -1.0], 1).unwrap();
        let nearest = Neighbours::of_vectors(&vectors, 2);
        assert_eq!(nearest.of(TokenId(0), 2), tokens(&[2, 3]));
        assert_eq!(nearest.of(TokenId(1), 2), tokens(&[2, 0]));
        assert_eq!(nearest.of(TokenId(2), 1), tokens(&[0]));
        assert_eq!(nearest.of(TokenId(3), 9), tokens(&[0, 2]));
        let all = Neighbours::of_vectors(&vectors, 9);
        assert_eq!((all.n_vocab(), all.n_nearest()), (4, 3));
        assert_eq!(all.of(TokenId(1), 0), []);
    }

    #[test]
    fn rows_given_by_the_caller_are_kept_as_they_are() {
        let rows = [tokens(&[1, 2]), tokens(&[2, 0]), tokens(&[0, 1])];
        let table = Neighbours::from_rows(&rows).unwrap();
        assert_eq!(table.of(TokenId(1), 2), tokens(&[2, 0]));
    }

    #[test]
    fn rows_that_are_no_table_are_refused() {
        let error = |rows: &[&[u32]]| {
            let rows: Vec<Vec<TokenId>> = rows.iter().map(|row| tokens(row)).collect();
            Neighbours::from_rows(&rows).unwrap_err().to_string()
        };
        assert_eq!(error(&[&[1], &[1]]), "token 1 lists 1 as a neighbour, which is itself");
        assert_eq!(error(&[&[1, 1], &[0, 0]]), "token 0 lists 1 as a neighbour, which is listed twice");
        assert_eq!(error(&[&[1], &[2]]), "token 1 lists 2 as a neighbour, which is outside the vocabulary");
        assert_eq!(
            error(&[&[1], &[]]),
            "the neighbours of token 1 are 0, those of token 0 are 1; rows have one length"
        );
    }

    #[test]
    fn vectors_are_whole_finite_rows() {
        let error = |values: &[f32], dim| TokenVectors::new(values.to_vec(), dim).unwrap_err().to_string();
        assert_eq!(
            error(&[1.0; 3], 2),
            "3 numbers do not fill rows of 2; give n_vocab * dim of them, dim at least 1"
        );
        assert_eq!(
            error(&[1.0, 2.0, f32::NAN, 0.0], 2),
            "the vector of token 1 has an entry that is not finite"
        );
    }

    #[test]
    fn cosines_and_distances_have_their_textbook_values() {
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 2.0]), 0.0);
        assert_eq!(cosine(&[3.0, 4.0], &[6.0, 8.0]), 1.0);
        assert_eq!(cosine(&[1.0, 1.0], &[-2.0, -2.0]), -1.0);
        assert_eq!(cosine(&[0.0, 0.0], &[1.0, 0.0]), 0.0);
        let vectors = TokenVectors::new(vec![0.0, 0.0, 3.0, 4.0], 2).unwrap();
        assert_eq!(vectors.squared_distance(TokenId(0), TokenId(1)), 25.0);
    }
}
