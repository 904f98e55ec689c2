//! The memory of a training of a head on its device, before anything runs.

use serde::Serialize;
use specimen_models::catalog::Sizes;

/// Bytes of the largest parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TrainingMemory {
    /// Of the target with all that it needs, its keys and values among them.
    pub target: u64,
    /// Of the head, its f32 master copy, moments and gradients.
    pub head: u64,
    /// Of the graph of one depth on one image, and the distributions that it is compared with.
    pub graph: u64,
    /// Of what is kept of an image's depths between them, with its gradient.
    pub kept: u64,
}

/// What decides it.
#[derive(Clone, Copy, Debug)]
pub struct OfTraining {
    /// Bytes of the target with all that it needs.
    pub target: u64,
    /// Parameters of the head.
    pub n_parameters: u64,
    /// Bytes of a number of target and head.
    pub n_bytes: u64,
    /// Rows of an image: two under guidance.
    pub n_rows: u64,
    /// Tokens of an image.
    pub n_tokens: u64,
    /// Positions of an image behind its prompt.
    pub n_positions: u64,
    /// Depths that are unrolled.
    pub depth: u64,
}

/// Bytes of f32.
const WIDE: u64 = 4;
/// Copies of the head in f32: master, two moments, and the gradients with what an update makes of them.
const COPIES: u64 = 7;
/// Rows over the vocabulary in f32 that are alive together: the target's distribution and its guided one, logits, guided logits,
/// their logarithms, and the product that is summed.
const VOCABULARIES: u64 = 6;
/// Attention scores that are alive together: the product, scaled, beside those of the chain, as weights, and a gradient.
const SCORES: u64 = 5;

impl TrainingMemory {
    /// Of a training with a head of the target's sizes.
    pub fn of(sizes: &Sizes, training: &OfTraining) -> Self {
        let &OfTraining { target, n_parameters, n_bytes, n_rows, n_tokens, n_positions, depth } = training;
        let Sizes { n_heads, d_keys, d_model, d_ffn, n_codes, .. } = *sizes;
        let slots = n_rows * n_tokens;
        let scores = SCORES * slots * n_heads * n_positions * n_bytes;
        // The layer: what enters it, its parts of attention, and three tensors of the feed-forward part.
        let layer = slots * (10 * d_model + 3 * d_ffn) * n_bytes;
        Self {
            target,
            head: n_parameters * (COPIES * WIDE + 2 * n_bytes),
            graph: VOCABULARIES * slots * n_codes * WIDE + scores + layer,
            // Predictions, keys and values of each depth but the last, and their gradients.
            kept: (depth - 1) * 2 * slots * (d_model + 2 * d_keys) * n_bytes,
        }
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.target + self.head + self.graph + self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_keys_keep_less_between_drafts() {
        let sizes =
            |d_keys| Sizes { n_layers: 32, n_heads: 32, d_keys, d_model: 4096, d_ffn: 14336, n_codes: 32768 };
        let training = OfTraining {
            target: 0,
            n_parameters: 1,
            n_bytes: 2,
            n_rows: 2,
            n_tokens: 100,
            n_positions: 120,
            depth: 3,
        };
        let kept = |d_keys| TrainingMemory::of(&sizes(d_keys), &training).kept;
        // Two drafts, each a value and a gradient of two bytes, over 200 places.
        assert_eq!(kept(4096), 2 * 2 * 2 * 200 * 3 * 4096);
        assert_eq!(kept(1024), 2 * 2 * 2 * 200 * (4096 + 2 * 1024));
    }
}
