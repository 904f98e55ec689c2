//! RMSNorm by the layer-norm kernel: a stream kept beside its own negation has mean 0 and the mean square as
//! its variance, so that one fused kernel norms it, where the root-mean-square operation is ten.

use tch::Tensor;

use crate::llama::layer::in_kind_of;

/// A residual stream `x` and `-x`.
pub struct Mirrored {
    /// `[b, n, 2, d]`
    both: Tensor,
    /// `[2, 1]`: 1 and -1
    signs: Tensor,
}

impl Mirrored {
    /// `x`: `[b, n, d]`.
    #[must_use]
    pub fn new(x: &Tensor) -> Self {
        // Made on the device: an upload would make the host wait.
        let signs = Tensor::arange_start_step(1, -2, -2, (x.kind(), x.device())).view([2, 1]);
        Self { both: x.unsqueeze(2) * &signs, signs }
    }

    /// `x`, `[b, n, d]`.
    pub fn value(&self) -> Tensor {
        self.both.select(2, 0)
    }

    /// The stream `x + branch`; `branch`: `[b, n, d]`.
    #[must_use]
    pub fn plus(&self, branch: &Tensor) -> Self {
        Self { both: self.both.addcmul(&branch.unsqueeze(2), &self.signs), signs: self.signs.shallow_clone() }
    }
}

/// The weight of an RMSNorm over a [`Mirrored`] stream.
pub struct MirrorNorm {
    /// `[2, d]`: the weight, twice.
    weight: Tensor,
    /// `[2, d]`: zeros; the kernel that takes a bias is the fast one.
    bias: Tensor,
    eps: f64,
}

impl MirrorNorm {
    /// `weight`: `[d]`.
    #[must_use]
    pub fn new(weight: &Tensor, eps: f64) -> Self {
        let weight = weight.detach().repeat([2, 1]);
        Self { bias: weight.zeros_like(), weight, eps }
    }

    /// As [`rms_norm`](crate::llama::layer::rms_norm) of the stream, `[b, n, d]`.
    pub fn forward(&self, x: &Mirrored) -> Tensor {
        let (weight, bias) = (Some(&self.weight), Some(&self.bias));
        in_kind_of(&self.weight, &x.both, |both| {
            both.layer_norm(self.weight.size(), weight, bias, self.eps, false).select(2, 0)
        })
    }
}
