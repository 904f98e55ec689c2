//! VGG16 by the tensor names of torchvision (`vgg16-397923af.pth`): 13 convolutions and the linear layers behind
//! them. The feature is the output of the second linear layer before its ReLU (`classifier[:4]`), as
//! youngjung/improved-precision-and-recall-metric-pytorch takes it, whose numbers LANTERN and VVS print.
//!
//! Takes `[n, 3, 224, 224]` in ImageNet's mean and deviation.

use specimen_weights::{LoadError, ParamSource};
use tch::{Kind, Tensor};

use crate::{
    conv::{ConvRelu, ConvShape},
    network::Layer,
    open::Network,
    transformer::Linear,
};

/// Index of a convolution in torchvision's `features`, and its width; each list ends in a maximum pooling.
pub(crate) const STAGES: [&[(usize, i64)]; 5] = [
    &[(0, 64), (2, 64)],
    &[(5, 128), (7, 128)],
    &[(10, 256), (12, 256), (14, 256)],
    &[(17, 512), (19, 512), (21, 512)],
    &[(24, 512), (26, 512), (28, 512)],
];
/// Pixels along an edge behind the last pooling.
const GRID: i64 = 7;
/// Width of the linear layers.
const N_WIDE: i64 = 4096;

/// The network up to its second linear layer.
pub struct Vgg16 {
    stages: Vec<Vec<ConvRelu>>,
    linear: [Linear; 2],
}

impl Vgg16 {
    /// Reads the parameters; the layer of the classes (`classifier.6`) is not asked for.
    pub fn new(source: &mut dyn ParamSource, kind: Kind) -> Result<Self, LoadError> {
        let stages = stages(source, kind)?;
        let n_in = STAGES[STAGES.len() - 1][0].1;
        let linear = [
            Linear::new(source, "classifier.0", [n_in * GRID * GRID, N_WIDE], kind)?,
            Linear::new(source, "classifier.3", [N_WIDE, N_WIDE], kind)?,
        ];
        Ok(Self { stages, linear })
    }
}

/// Reads the convolutions, those of each stage together.
pub(crate) fn stages(source: &mut dyn ParamSource, kind: Kind) -> Result<Vec<Vec<ConvRelu>>, LoadError> {
    let mut n_in = 3;
    let mut stages = Vec::new();
    for stage in STAGES {
        let mut convs = Vec::new();
        for &(idx, n_out) in stage {
            let shape = ConvShape { n_in, n_out, kernel: [3, 3], stride: 1, padding: [1, 1] };
            convs.push(ConvRelu::new(source, &format!("features.{idx}"), shape, kind)?);
            n_in = n_out;
        }
        stages.push(convs);
    }
    Ok(stages)
}

impl Network for Vgg16 {
    fn run(&self, x: &Tensor, layers: &[Layer]) -> Vec<Tensor> {
        let x = self.stages.iter().fold(x.shallow_clone(), |x, stage| {
            stage.iter().fold(x, |x, conv| conv.forward(&x)).max_pool2d_default(2)
        });
        // 224 pixels leave 7x7, where torchvision's adaptive pooling changes nothing.
        let [first, second] = &self.linear;
        let feature = second.forward(&first.forward(&x.flatten(1, -1)).relu_()).to_kind(Kind::Float);
        layers.iter().map(|_| feature.shallow_clone()).collect()
    }
}
