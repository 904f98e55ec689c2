//! Grey levels of the tokens: k-means centroids of the training images' pixels in `[0, 1]`, in no order.

use specimen_decode::dist::TokenId;
use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Kind, Tensor};

/// Intensity of each token.
#[derive(Clone, Debug, PartialEq)]
pub struct Palette {
    /// `[n_vocab]`; entry `t` is the intensity of token `t`, black 0 to white 1.
    centroids: Vec<f32>,
}

impl Palette {
    /// A palette of these intensities.
    pub fn new(centroids: Vec<f32>) -> Self {
        Self { centroids }
    }

    /// Reads the tensor `centroids`, `[n_vocab, 1]`.
    pub fn load(source: &mut dyn ParamSource, n_vocab: i64) -> Result<Self, LoadError> {
        let stored = source.param("centroids", &[n_vocab, 1], Init::Uniform(1.0))?;
        Ok(Self::new(to_vec(&stored)))
    }

    /// Intensity of each token, `[n_vocab]`, in `[0, 1]`.
    pub fn centroids(&self) -> &[f32] {
        &self.centroids
    }

    /// The grey byte of each token.
    ///
    /// # Panics
    /// If a token is outside the vocabulary.
    pub fn grey(&self, tokens: &[TokenId]) -> Vec<u8> {
        let byte = |token: &TokenId| (self.centroids[token.idx()] * 255.0).round().clamp(0.0, 255.0) as u8;
        tokens.iter().map(byte).collect()
    }
}

fn to_vec(x: &Tensor) -> Vec<f32> {
    let mut values = vec![0.0; x.numel()];
    let n = values.len();
    x.to_kind(Kind::Float).copy_data(&mut values, n);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_shown_at_its_intensity() {
        let palette = Palette::new(vec![1.0, 0.0, 0.2, -0.1]);
        assert_eq!(palette.grey(&[0, 1, 2, 3].map(TokenId)), [255, 0, 51, 0]);
    }
}
