//! What picture decoders are made of: convolutions, group norms, residual blocks and one head of attention between all
//! places, under the names that VQGAN's authors gave them (Esser et al., arXiv 2012.09841).

use specimen_weights::{Init, LoadError, ParamSource};
use tch::Tensor;

/// Groups and epsilon of every norm of a decoder, and what scales and shifts what they norm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Norms {
    /// Groups; they divide the channels.
    pub(crate) n_groups: i64,
    /// Epsilon.
    pub(crate) eps: f64,
    /// Width of the codes of the picture, by which each norm scales and shifts place by place (MoVQ, Zheng et al., arXiv
    /// 2209.09002); absent: as VQGAN's.
    pub(crate) d_code: Option<i64>,
}

impl Norms {
    /// VQGAN's, and those of everything that descends from it.
    pub(crate) const VQGAN: Self = Self { n_groups: 32, eps: 1e-6, d_code: None };
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

    /// What a convolution over frames, with kernels of three frames that look back, does to the first frame: those before it
    /// are zeros, so that the last slice of each kernel is left.
    pub(crate) fn of_first_frame(
        source: &mut dyn ParamSource,
        name: &str,
        [n_in, n_out]: [i64; 2],
        k: i64,
    ) -> Result<Self, LoadError> {
        let bound = Init::Uniform(((3 * n_in * k * k) as f64).powf(-0.5));
        let weight = source.param(&format!("{name}.weight"), &[n_out, n_in, 3, k, k], bound)?;
        let weight = weight.select(2, 2).contiguous();
        Ok(Self { weight, bias: source.param(&format!("{name}.bias"), &[n_out], bound)? })
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
    /// From codes to what a place is scaled and shifted by.
    by_codes: Option<[Conv; 2]>,
}

impl Norm {
    pub(crate) fn new(
        source: &mut dyn ParamSource,
        name: &str,
        channels: i64,
        kind: Norms,
    ) -> Result<Self, LoadError> {
        let inner = if kind.d_code.is_some() { format!("{name}.norm_layer") } else { name.to_owned() };
        let weight = source.param(&format!("{inner}.weight"), &[channels], Init::Constant(1.0))?;
        let bias = source.param(&format!("{inner}.bias"), &[channels], Init::Constant(0.0))?;
        let mut by_codes = |d_code| {
            let scale = Conv::new(source, &format!("{name}.conv_y"), [d_code, channels], 1)?;
            let shift = Conv::new(source, &format!("{name}.conv_b"), [d_code, channels], 1)?;
            Ok::<_, LoadError>([scale, shift])
        };
        let by_codes = kind.d_code.map(&mut by_codes).transpose()?;
        Ok(Self { kind, weight, bias, by_codes })
    }

    /// `[b, channels, height, width]` to the same.
    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        self.forward_by(x, None)
    }

    /// The same, scaled and shifted by `codes`, `[b, d_code, rows, columns]`, each of which stands for a square of places.
    pub(crate) fn forward_by(&self, x: &Tensor, codes: Option<&Tensor>) -> Tensor {
        let normed =
            x.group_norm(self.kind.n_groups, Some(&self.weight), Some(&self.bias), self.kind.eps, false);
        let Some([scale, shift]) = &self.by_codes else { return normed };
        let codes = codes.expect("norms that codes scale are given the codes");
        // A convolution of one place and the spreading over a square change places without a difference.
        let (_, _, height, width) = x.size4().expect("feature maps have four axes");
        let spread = |conv: &Conv| conv.forward(codes).upsample_nearest2d([height, width], None, None);
        normed * spread(scale) + spread(shift)
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
        self.forward_by(x, None)
    }

    /// The same with norms as [`Norm::forward_by`].
    pub(crate) fn forward_by(&self, x: &Tensor, codes: Option<&Tensor>) -> Tensor {
        let hidden = self.convs[0].forward(&self.norms[0].forward_by(x, codes).silu());
        let branch = self.convs[1].forward(&self.norms[1].forward_by(&hidden, codes).silu());
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
        self.forward_by(x, None)
    }

    /// The same with its norm as [`Norm::forward_by`].
    pub(crate) fn forward_by(&self, x: &Tensor, codes: Option<&Tensor>) -> Tensor {
        let (b, channels, height, width) = x.size4().expect("feature maps have four axes");
        let normed = self.norm.forward_by(x, codes);
        let places = |conv: &Conv| conv.forward(&normed).flatten(2, 3).transpose(1, 2).unsqueeze(1);
        let [q, k, v] = self.projections.each_ref().map(places);
        let context =
            Tensor::scaled_dot_product_attention(&q, &k, &v, None::<&Tensor>, 0.0, false, None, false);
        let map = context.squeeze_dim(1).transpose(1, 2).reshape([b, channels, height, width]);
        x + self.out.forward(&map)
    }
}
