//! What picture decoders are made of: convolutions, group norms, residual blocks and one head of attention between all
//! places, under the names that VQGAN's authors gave them (Esser et al., arXiv 2012.09841).

use specimen_weights::{Init, LoadError, ParamSource};
use tch::Tensor;

/// Groups and epsilon of every norm of a decoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Norms {
    /// Groups; they divide the channels.
    pub(crate) n_groups: i64,
    /// Epsilon.
    pub(crate) eps: f64,
}

impl Norms {
    /// VQGAN's, and those of everything that descends from it.
    pub(crate) const VQGAN: Self = Self { n_groups: 32, eps: 1e-6 };
}

/// A convolution that keeps the sides.
pub(crate) struct Conv {
    /// `[out, in, k, k]`
    weight: Tensor,
    /// `[out]`
    bias: Tensor,
}

impl Conv {
    /// With kernels of `k` by `k`, an odd number.
    pub(crate) fn new(
        source: &mut dyn ParamSource,
        name: &str,
        [n_in, n_out]: [i64; 2],
        k: i64,
    ) -> Result<Self, LoadError> {
        let bound = Init::Uniform(((n_in * k * k) as f64).powf(-0.5));
        Ok(Self {
            weight: source.param(&format!("{name}.weight"), &[n_out, n_in, k, k], bound)?,
            bias: source.param(&format!("{name}.bias"), &[n_out], bound)?,
        })
    }

    /// `[b, in, height, width]` to `[b, out, height, width]`.
    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let padding = self.weight.size()[3] / 2;
        x.conv2d(&self.weight, Some(&self.bias), [1, 1], [padding, padding], [1, 1], 1)
    }

    /// The same behind a doubling of both sides.
    pub(crate) fn widen(&self, x: &Tensor) -> Tensor {
        let (_, _, height, width) = x.size4().expect("feature maps have four axes");
        self.forward(&x.upsample_nearest2d([2 * height, 2 * width], None, None))
    }
}

/// A norm over groups of channels.
pub(crate) struct Norm {
    kind: Norms,
    /// `[channels]`
    weight: Tensor,
    /// `[channels]`
    bias: Tensor,
}

impl Norm {
    pub(crate) fn new(
        source: &mut dyn ParamSource,
        name: &str,
        channels: i64,
        kind: Norms,
    ) -> Result<Self, LoadError> {
        Ok(Self {
            kind,
            weight: source.param(&format!("{name}.weight"), &[channels], Init::Constant(1.0))?,
            bias: source.param(&format!("{name}.bias"), &[channels], Init::Constant(0.0))?,
        })
    }

    /// `[b, channels, height, width]` to the same.
    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        x.group_norm(self.kind.n_groups, Some(&self.weight), Some(&self.bias), self.kind.eps, false)
    }
}

/// Two convolutions beside a skip.
pub(crate) struct Residual {
    norms: [Norm; 2],
    convs: [Conv; 2],
    /// Where the channels change.
    skip: Option<Conv>,
}

impl Residual {
    pub(crate) fn new(
        source: &mut dyn ParamSource,
        name: &str,
        [n_in, n_out]: [i64; 2],
        kind: Norms,
    ) -> Result<Self, LoadError> {
        let norms = [
            Norm::new(source, &format!("{name}.norm1"), n_in, kind)?,
            Norm::new(source, &format!("{name}.norm2"), n_out, kind)?,
        ];
        let convs = [
            Conv::new(source, &format!("{name}.conv1"), [n_in, n_out], 3)?,
            Conv::new(source, &format!("{name}.conv2"), [n_out, n_out], 3)?,
        ];
        let skip = (n_in != n_out).then(|| format!("{name}.nin_shortcut"));
        let skip = skip.map(|name| Conv::new(source, &name, [n_in, n_out], 1)).transpose()?;
        Ok(Self { norms, convs, skip })
    }

    /// `[b, in, height, width]` to `[b, out, height, width]`.
    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let hidden = self.convs[0].forward(&self.norms[0].forward(x).silu());
        let branch = self.convs[1].forward(&self.norms[1].forward(&hidden).silu());
        match &self.skip {
            Some(skip) => skip.forward(x) + branch,
            None => x + branch,
        }
    }
}

/// One head of attention between all places.
pub(crate) struct Attention {
    norm: Norm,
    /// Query, key, value.
    projections: [Conv; 3],
    out: Conv,
}

impl Attention {
    pub(crate) fn new(
        source: &mut dyn ParamSource,
        name: &str,
        channels: i64,
        kind: Norms,
    ) -> Result<Self, LoadError> {
        let norm = Norm::new(source, &format!("{name}.norm"), channels, kind)?;
        let mut conv = |part: &str| Conv::new(source, &format!("{name}.{part}"), [channels; 2], 1);
        Ok(Self { norm, projections: [conv("q")?, conv("k")?, conv("v")?], out: conv("proj_out")? })
    }

    /// `[b, channels, height, width]` to the same.
    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let (b, channels, height, width) = x.size4().expect("feature maps have four axes");
        let normed = self.norm.forward(x);
        let places = |conv: &Conv| conv.forward(&normed).flatten(2, 3).transpose(1, 2).unsqueeze(1);
        let [q, k, v] = self.projections.each_ref().map(places);
        let context =
            Tensor::scaled_dot_product_attention(&q, &k, &v, None::<&Tensor>, 0.0, false, None, false);
        let map = context.squeeze_dim(1).transpose(1, 2).reshape([b, channels, height, width]);
        x + self.out.forward(&map)
    }
}
