//! BLIP's tower of pictures: all tokens behind the last norm.

use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Kind, Tensor};

use crate::{
    imagereward::shape::{GRID, ImageRewardShape, PATCH},
    transformer::{BlockNames, LayerNorm, QkvNames, Stack, fan_in},
};

const PREFIX: &str = "blip.visual_encoder.";
const BLOCK: BlockNames = BlockNames {
    norms: ["norm1", "norm2"],
    qkv: QkvNames::Fused { weight: "attn.qkv.weight", bias: "attn.qkv.bias" },
    out: "attn.proj",
    mlp: ["mlp.fc1", "mlp.fc2"],
    scales: None,
};

/// The tower.
pub(super) struct Vision {
    /// `[width, 3, patch, patch]`
    patch_weight: Tensor,
    /// `[width]`
    patch_bias: Tensor,
    /// `[1, 1, width]`
    class_token: Tensor,
    /// `[1, 1 + grid * grid, width]`
    positions: Tensor,
    stack: Stack,
    norm: LayerNorm,
}

impl Vision {
    pub(super) fn new(
        source: &mut dyn ParamSource,
        shape: &ImageRewardShape,
        kind: Kind,
    ) -> Result<Self, LoadError> {
        let (stack, width) = (&shape.vision, shape.vision.width);
        let mut param = |name: &str, shape: &[i64], init: Init| {
            Ok::<Tensor, LoadError>(source.param(name, shape, init)?.to_kind(kind))
        };
        Ok(Self {
            class_token: param(&format!("{PREFIX}cls_token"), &[1, 1, width], Init::Uniform(0.5))?,
            positions: param(&positions(), &[1, 1 + GRID * GRID, width], Init::Uniform(0.5))?,
            patch_weight: param(&patch(), &[width, 3, PATCH, PATCH], fan_in(3 * PATCH * PATCH))?,
            patch_bias: param(&format!("{PREFIX}patch_embed.proj.bias"), &[width], Init::Constant(0.0))?,
            stack: Stack::new(source, &format!("{PREFIX}blocks."), &BLOCK, stack, kind)?,
            norm: LayerNorm::new(source, &format!("{PREFIX}norm"), width, stack.eps, kind)?,
        })
    }

    /// `x`: `[n, 3, side, side]`; returns `[n, 1 + grid * grid, width]`.
    pub(super) fn tokens(&self, x: &Tensor) -> Tensor {
        let patches = x.conv2d(&self.patch_weight, Some(&self.patch_bias), [PATCH; 2], [0, 0], [1, 1], 1);
        let patches = patches.flatten(2, -1).transpose(1, 2);
        let (n, _, width) = patches.size3().expect("patches have three axes");
        let class_token = self.class_token.expand([n, 1, width], false);
        let tokens = Tensor::cat(&[class_token, patches], 1) + &self.positions;
        self.norm.forward(&self.stack.forward(&tokens, false))
    }
}

/// The name of the patches' weight.
pub(super) fn patch() -> String {
    format!("{PREFIX}patch_embed.proj.weight")
}

/// The name of the positions.
pub(super) fn positions() -> String {
    format!("{PREFIX}pos_embed")
}

/// The name of the first weight of the first MLP.
pub(super) fn mlp() -> String {
    format!("{PREFIX}blocks.0.{}.weight", BLOCK.mlp[0])
}

/// The name of a norm that each block has.
pub(super) fn norm(block: usize) -> String {
    format!("{PREFIX}blocks.{block}.{}.weight", BLOCK.norms[0])
}
