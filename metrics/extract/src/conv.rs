//! Convolutions of feature networks: batch norm folded into weight and bias, memory with the channels of a pixel
//! side by side (`channels_last`), which is what oneDNN convolves fastest.

use specimen_weights::{Init, LoadError, ParamSource, Scoped};
use tch::{Kind, Tensor};

/// What the batch norms of Inception add to a variance.
const BATCH_NORM_EPS: f64 = 1e-3;

/// Shape of a convolution.
#[derive(Clone, Copy)]
pub(crate) struct ConvShape {
    pub(crate) n_in: i64,
    pub(crate) n_out: i64,
    /// Down, across.
    pub(crate) kernel: [i64; 2],
    pub(crate) stride: i64,
    /// Zeros on each side: down, across.
    pub(crate) padding: [i64; 2],
}

/// A convolution with bias, and the ReLU behind it.
pub(crate) struct ConvRelu {
    /// `[n_out, n_in, down, across]`, channels last in memory.
    weight: Tensor,
    /// `[n_out]`
    bias: Tensor,
    stride: i64,
    padding: [i64; 2],
}

impl ConvRelu {
    /// Reads `name.weight` and `name.bias`.
    pub(crate) fn new(
        source: &mut dyn ParamSource,
        name: &str,
        shape: ConvShape,
        kind: Kind,
    ) -> Result<Self, LoadError> {
        let mut source = Scoped::new(source, format!("{name}."));
        let weight = source.param("weight", &shape.weight(), shape.init())?;
        let bias = source.param("bias", &[shape.n_out], Init::Constant(0.0))?;
        Ok(Self::of(&weight, &bias, shape, kind))
    }

    /// Reads `name.conv.weight` and the five vectors of `name.bn`, and folds these into the convolution in f64.
    pub(crate) fn with_batch_norm(
        source: &mut dyn ParamSource,
        name: &str,
        shape: ConvShape,
        kind: Kind,
    ) -> Result<Self, LoadError> {
        let mut source = Scoped::new(source, format!("{name}."));
        let weight = source.param("conv.weight", &shape.weight(), shape.init())?.to_kind(Kind::Double);
        let mut vector = |name: &str, start: f64| {
            let found = source.param(&format!("bn.{name}"), &[shape.n_out], Init::Constant(start))?;
            Ok::<Tensor, LoadError>(found.to_kind(Kind::Double))
        };
        let scale = vector("weight", 1.0)? / (vector("running_var", 1.0)? + BATCH_NORM_EPS).sqrt();
        let bias = vector("bias", 0.0)? - vector("running_mean", 0.0)? * &scale;
        Ok(Self::of(&(weight * scale.view([-1, 1, 1, 1])), &bias, shape, kind))
    }

    fn of(weight: &Tensor, bias: &Tensor, shape: ConvShape, kind: Kind) -> Self {
        Self {
            weight: channels_last(&weight.to_kind(kind)),
            bias: bias.to_kind(kind),
            stride: shape.stride,
            padding: shape.padding,
        }
    }

    /// `x`: `[n, n_in, h, w]`; returns `[n, n_out, h', w']`, nowhere below 0.
    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        self.linear(x).relu_()
    }

    /// As [`ConvRelu::forward`] without the ReLU.
    pub(crate) fn linear(&self, x: &Tensor) -> Tensor {
        x.conv2d(&self.weight, Some(&self.bias), [self.stride; 2], self.padding, [1, 1], 1)
    }
}

impl ConvShape {
    fn weight(self) -> [i64; 4] {
        [self.n_out, self.n_in, self.kernel[0], self.kernel[1]]
    }

    fn init(self) -> Init {
        Init::Uniform((6.0 / (self.n_in * self.kernel[0] * self.kernel[1]) as f64).sqrt())
    }
}

/// The same tensor, `[n, c, h, w]`, with the channels of a pixel side by side in memory.
pub(crate) fn channels_last(x: &Tensor) -> Tensor {
    x.permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2])
}
