//! The trunks of LPIPS, cut behind the layers whose features are compared: AlexNet, VGG16 and SqueezeNet 1.1 by the tensor
//! names of torchvision (`alexnet-owt-7be5be79.pth`, `vgg16-397923af.pth`, `squeezenet1_1-b8a52dc0.pth`), without the layers
//! of the classes.

use specimen_weights::{LoadError, ParamSource};
use tch::{Kind, Tensor};

use crate::{
    conv::{ConvRelu, ConvShape},
    vgg,
};

/// A network in slices, the output of each of which is a layer that is compared.
pub(super) struct Trunk {
    pub(super) slices: Vec<Slice>,
    /// Channels of each slice's output.
    pub(super) widths: Vec<i64>,
    /// What it computes in.
    pub(super) kind: Kind,
}

/// Steps one after the other.
pub(super) struct Slice(Vec<Step>);

enum Step {
    Conv(ConvRelu),
    /// The maximum of squares of `side` pixels, every second; `ceil`: also of those that reach beyond the edge.
    Pool {
        side: i64,
        ceil: bool,
    },
    /// A narrow 1x1 convolution, and beside each other a 1x1 and a 3x3 one of it.
    Fire {
        squeeze: ConvRelu,
        expand: [ConvRelu; 2],
    },
}

impl Slice {
    /// `x`: `[n, n_in, h, w]`; returns `[n, width, h', w']`.
    pub(super) fn forward(&self, x: &Tensor) -> Tensor {
        self.0.iter().fold(x.shallow_clone(), |x, step| step.forward(&x))
    }
}

impl Step {
    fn forward(&self, x: &Tensor) -> Tensor {
        match self {
            Self::Conv(conv) => conv.forward(x),
            &Self::Pool { side, ceil } => x.max_pool2d([side; 2], [2, 2], [0, 0], [1, 1], ceil),
            Self::Fire { squeeze, expand } => {
                let squeezed = squeeze.forward(x);
                Tensor::cat(&expand.each_ref().map(|conv| conv.forward(&squeezed)), 1)
            }
        }
    }
}

/// Square convolutions: index in torchvision's `features`, channels out, side, stride, zeros on each side.
type ConvRow = (usize, i64, i64, i64, i64);

/// Fire modules: index in torchvision's `features`, narrow channels, and channels of either half behind them.
type FireRow = (usize, i64, i64);

/// AlexNet of torchvision (Krizhevsky 2014, one tower).
pub(super) fn alexnet(source: &mut dyn ParamSource, kind: Kind) -> Result<Trunk, LoadError> {
    const CONVS: [ConvRow; 5] =
        [(0, 64, 11, 4, 2), (3, 192, 5, 1, 2), (6, 384, 3, 1, 1), (8, 256, 3, 1, 1), (10, 256, 3, 1, 1)];
    let mut n_in = 3;
    let mut slices = Vec::new();
    for (idx, n_out, side, stride, padding) in CONVS {
        let shape = ConvShape { n_in, n_out, kernel: [side; 2], stride, padding: [padding; 2] };
        let conv = Step::Conv(ConvRelu::new(source, &format!("features.{idx}"), shape, kind)?);
        let pool = matches!(idx, 3 | 6).then_some(Step::Pool { side: 3, ceil: false });
        slices.push(Slice(pool.into_iter().chain([conv]).collect()));
        n_in = n_out;
    }
    Ok(Trunk { slices, widths: CONVS.map(|(_, n_out, ..)| n_out).to_vec(), kind })
}

/// The convolutions of VGG16; a slice ends before the pooling behind a stage.
pub(super) fn vgg16(source: &mut dyn ParamSource, kind: Kind) -> Result<Trunk, LoadError> {
    let slice = |(idx, stage): (usize, Vec<ConvRelu>)| {
        let pool = (idx > 0).then_some(Step::Pool { side: 2, ceil: false });
        Slice(pool.into_iter().chain(stage.into_iter().map(Step::Conv)).collect())
    };
    let slices = vgg::stages(source, kind)?.into_iter().enumerate().map(slice).collect();
    let widths = vgg::STAGES.iter().map(|stage| stage[stage.len() - 1].1).collect();
    Ok(Trunk { slices, widths, kind })
}

/// SqueezeNet 1.1 (Iandola et al., arXiv 1602.07360). Its poolings also take the squares that reach beyond the edge.
pub(super) fn squeezenet(source: &mut dyn ParamSource, kind: Kind) -> Result<Trunk, LoadError> {
    /// Of each slice behind the first: whether it begins with a pooling, and its fire modules.
    const FIRES: [(bool, &[FireRow]); 6] = [
        (true, &[(3, 16, 64), (4, 16, 64)]),
        (true, &[(6, 32, 128), (7, 32, 128)]),
        (true, &[(9, 48, 192)]),
        (false, &[(10, 48, 192)]),
        (false, &[(11, 64, 256)]),
        (false, &[(12, 64, 256)]),
    ];
    let first = ConvShape { n_in: 3, n_out: 64, kernel: [3; 2], stride: 2, padding: [0; 2] };
    let mut slices = vec![Slice(vec![Step::Conv(ConvRelu::new(source, "features.0", first, kind)?)])];
    let mut widths = vec![first.n_out];
    let mut n_in = first.n_out;
    for (has_pool, fires) in FIRES {
        let mut steps: Vec<Step> =
            has_pool.then_some(Step::Pool { side: 3, ceil: true }).into_iter().collect();
        for &(idx, narrow, half) in fires {
            steps.push(fire(source, &format!("features.{idx}"), [n_in, narrow, half], kind)?);
            n_in = 2 * half;
        }
        slices.push(Slice(steps));
        widths.push(n_in);
    }
    Ok(Trunk { slices, widths, kind })
}

fn fire(
    source: &mut dyn ParamSource,
    name: &str,
    [n_in, narrow, half]: [i64; 3],
    kind: Kind,
) -> Result<Step, LoadError> {
    let mut conv = |part: &str, n_in: i64, n_out: i64, side: i64| {
        let shape = ConvShape { n_in, n_out, kernel: [side; 2], stride: 1, padding: [side / 2; 2] };
        ConvRelu::new(source, &format!("{name}.{part}"), shape, kind)
    };
    let squeeze = conv("squeeze", n_in, narrow, 1)?;
    let expand = [conv("expand1x1", narrow, half, 1)?, conv("expand3x3", narrow, half, 3)?];
    Ok(Step::Fire { squeeze, expand })
}
