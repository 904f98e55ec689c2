//! CLIP's tower of pictures: the class token behind the last norm, projected into the joint space. Vectors are not
//! scaled to length 1; the statistics do that.
//!
//! Takes `[n, 3, side, side]` in CLIP's mean and deviation.

use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Kind, Tensor};

use crate::{
    clip::shape::{ClipLayout, VisionShape},
    network::Layer,
    open::Network,
    transformer::{LayerNorm, Linear, Stack, fan_in},
};

/// The tower of pictures.
pub struct ClipVision {
    /// `[width, 3, patch, patch]`
    patch_weight: Tensor,
    patch: i64,
    /// `[1, 1, width]`
    class_token: Tensor,
    /// `[1, 1 + grid * grid, width]`
    positions: Tensor,
    /// Before and behind the blocks.
    norms: [LayerNorm; 2],
    stack: Stack,
    joint: Linear,
}

impl ClipVision {
    /// Reads the parameters of this tower.
    pub fn new(
        source: &mut dyn ParamSource,
        layout: ClipLayout,
        shape: &VisionShape,
        kind: Kind,
    ) -> Result<Self, LoadError> {
        let &VisionShape { stack, patch, grid, n_joint } = shape;
        let (width, names) = (stack.width, layout.names());
        let mut param = |name: &str, shape: &[i64], init: Init| {
            Ok::<Tensor, LoadError>(source.param(name, shape, init)?.to_kind(kind))
        };
        let joint = param(names.vision_joint, &layout.joint_shape(width, n_joint), fan_in(width))?;
        Ok(Self {
            patch_weight: param(names.patch, &[width, 3, patch, patch], fan_in(3 * patch * patch))?,
            patch,
            class_token: param(names.class_token, &[width], Init::Uniform(0.5))?.view([1, 1, width]),
            positions: param(names.vision_positions, &[1 + grid * grid, width], Init::Uniform(0.5))?
                .unsqueeze(0),
            norms: [
                LayerNorm::new(source, names.vision_norms[0], width, stack.eps, kind)?,
                LayerNorm::new(source, names.vision_norms[1], width, stack.eps, kind)?,
            ],
            stack: Stack::new(source, names.vision_blocks, &names.block, &stack, kind)?,
            joint: Linear::of(layout.upright(joint)),
        })
    }

    /// `x`: `[n, 3, side, side]`; returns `[n, n_joint]` in f32.
    pub fn embed(&self, x: &Tensor) -> Tensor {
        let patches =
            x.conv2d(&self.patch_weight, None::<&Tensor>, [self.patch; 2], [0, 0], [1, 1], 1).flatten(2, -1);
        let (n, width, _) = patches.size3().expect("patches have three axes");
        let class_token = self.class_token.expand([n, 1, width], false);
        let tokens = Tensor::cat(&[class_token, patches.transpose(1, 2)], 1) + &self.positions;
        let tokens = self.stack.forward(&self.norms[0].forward(&tokens), false);
        self.joint.forward(&self.norms[1].forward(&tokens.select(1, 0))).to_kind(Kind::Float)
    }
}

impl Network for ClipVision {
    fn run(&self, x: &Tensor, layers: &[Layer]) -> Vec<Tensor> {
        let embedding = self.embed(x);
        layers.iter().map(|_| embedding.shallow_clone()).collect()
    }
}
