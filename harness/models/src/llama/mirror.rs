//! RMSNorm by the layer-norm kernel: a stream kept beside its own negation has mean 0 and the mean square as
//! its variance, so that one fused kernel norms it, where the root-mean-square operation is ten.

use std::cell::RefCell;

use tch::{Device, Tensor};

use crate::llama::{
    fused,
    layer::{in_kind_of, rms_norm},
};

/// A residual stream `x`; where one kernel cannot norm it as it is, with `-x`.
pub struct Mirrored(Stream);

enum Stream {
    /// With its negation.
    Both {
        /// `[b, n, 2, d]`
        both: Tensor,
        /// `[2, 1]`: 1 and -1
        signs: Tensor,
    },
    /// As it is; one kernel adds the branch and norms the sum.
    Plain(RefCell<Sum>),
}

/// A sum that was not needed yet, `[b, n, d]` each.
struct Sum {
    x: Tensor,
    branch: Option<Tensor>,
}

impl Mirrored {
    /// `x`: `[b, n, d]`.
    pub fn new(x: &Tensor) -> Self {
        if x.device() != Device::Cpu {
            return Self::plain(x);
        }
        let signs = Tensor::arange_start_step(1, -2, -2, (x.kind(), x.device())).view([2, 1]);
        Self(Stream::Both { both: x.unsqueeze(2) * &signs, signs })
    }

    /// Without the negation: on a GPU the root-mean-square operation is one kernel.
    pub fn plain(x: &Tensor) -> Self {
        Self(Stream::Plain(RefCell::new(Sum { x: x.shallow_clone(), branch: None })))
    }

    /// `x`, `[b, n, d]`.
    pub fn value(&self) -> Tensor {
        match &self.0 {
            Stream::Both { both, .. } => both.select(2, 0),
            Stream::Plain(sum) => sum.borrow_mut().value(),
        }
    }

    /// As [`rms_norm`] of a stream without its negation; of one with it, [`MirrorNorm`] is.
    pub(crate) fn normed(&self, weight: &Tensor, eps: f64) -> Tensor {
        match &self.0 {
            Stream::Both { both, .. } => rms_norm(&both.select(2, 0), weight, eps),
            Stream::Plain(sum) => sum.borrow_mut().normed(weight, eps),
        }
    }

    /// The stream `x + branch`; `branch`: `[b, n, d]`.
    pub fn plus(&self, branch: &Tensor) -> Self {
        Self(match &self.0 {
            Stream::Both { both, signs } => {
                Stream::Both { both: both.addcmul(&branch.unsqueeze(2), signs), signs: signs.shallow_clone() }
            }
            Stream::Plain(sum) => {
                let (x, branch) = (sum.borrow_mut().value(), Some(branch.shallow_clone()));
                Stream::Plain(RefCell::new(Sum { x, branch }))
            }
        })
    }
}

impl Sum {
    fn value(&mut self) -> Tensor {
        if let Some(branch) = self.branch.take() {
            self.x = &self.x + branch;
        }
        self.x.shallow_clone()
    }

    /// As [`rms_norm`] of the sum.
    fn normed(&mut self, weight: &Tensor, eps: f64) -> Tensor {
        match fused::add_norm(&self.x, self.branch.as_ref(), weight, eps) {
            Some((x, normed)) => {
                *self = Self { x, branch: None };
                normed
            }
            None => rms_norm(&self.value(), weight, eps),
        }
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
    pub fn new(weight: &Tensor, eps: f64) -> Self {
        let weight = weight.detach().repeat([2, 1]);
        Self { bias: weight.zeros_like(), weight, eps }
    }

    /// As [`rms_norm`] of the stream, `[b, n, d]`.
    pub fn forward(&self, x: &Mirrored) -> Tensor {
        let (weight, bias) = (Some(&self.weight), Some(&self.bias));
        match &x.0 {
            Stream::Both { both, .. } => in_kind_of(&self.weight, both, |both| {
                both.layer_norm(self.weight.size(), weight, bias, self.eps, false).select(2, 0)
            }),
            Stream::Plain(sum) => sum.borrow_mut().normed(&self.weight.get(0), self.eps),
        }
    }
}
