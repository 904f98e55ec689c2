//! AdamW (Loshchilov & Hutter 2019) over one flat vector of parameters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

/// Moments of the gradient, each `[n_params]` in f32.
pub struct Adam {
    /// Running mean of the gradient.
    pub mean: Tensor,
    /// Running mean of its square.
    pub square: Tensor,
    /// `[n_params]`: 1 where weight decay applies.
    decayed: Tensor,
}

const BETAS: (f64, f64) = (0.9, 0.95);
const EPS: f64 = 1e-8;

impl Adam {
    /// Zero moments; `decayed` is 1 for parameters that weight decay shrinks.
    pub fn new(decayed: Tensor) -> Self {
        Self { mean: decayed.zeros_like(), square: decayed.zeros_like(), decayed }
    }

    /// One update of `params` (`[n_params]`) with the 0-based `step`'s gradient.
    pub fn step(&mut self, params: &mut Tensor, grad: &Tensor, step: u64, rate: f64, weight_decay: f64) {
        let t = (step + 1) as f64;
        let _ = self.mean.lerp_(grad, 1.0 - BETAS.0);
        let _ = self.square.lerp_(&(grad * grad), 1.0 - BETAS.1);
        let scale = rate / (1.0 - BETAS.0.powf(t));
        let denominator = (&self.square / (1.0 - BETAS.1.powf(t))).sqrt_() + EPS;
        if weight_decay > 0.0 {
            *params *= &self.decayed * (-rate * weight_decay) + 1.0;
        }
        *params -= (&self.mean / denominator) * scale;
    }
}

/// What keeps a gradient from being too large.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Clip {
    /// The gradient is scaled so that its length is at most this.
    Norm(f64),
    /// Every entry is at most this far from 0, as in EAGLE's training.
    Value(f64),
}

impl Clip {
    /// A length of at most 1.
    pub fn unit() -> Self {
        Self::Norm(1.0)
    }

    /// The clipped gradient, and the length that `grad` had.
    pub fn clipped(self, grad: Tensor) -> (Tensor, f64) {
        let norm = (&grad * &grad).sum(Kind::Double).sqrt().double_value(&[]);
        match self {
            Self::Norm(limit) => {
                let scale = if norm > limit { limit / norm } else { 1.0 };
                (grad * scale, norm)
            }
            Self::Value(limit) => (grad.clamp(-limit, limit), norm),
        }
    }
}
