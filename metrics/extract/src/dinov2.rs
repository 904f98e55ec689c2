//! DINOv2 (Oquab et al., arXiv 2304.07193) without registers, in the key layouts of the release and of Hugging Face.
//! The feature is the class token after the last norm, as dgm-eval takes it for FD-DINOv2.
//!
//! Positions are learned on a grid of 37x37 and resampled for 224 pixels as the release does it: bicubic, with 0.1
//! added to the new side before the scale is formed. transformers leaves the 0.1 out, which moves features of the
//! same weights (by up to 0.07 at values up to 3, on weights by recipe); numbers in papers come from the release.

use specimen_weights::{Checkpoint, Init, LoadError, ParamSource};
use tch::{Kind, Tensor};

use crate::{
    network::Layer,
    open::Network,
    transformer::{Activation, BlockNames, LayerNorm, QkvNames, Stack, StackShape, fan_in},
};

/// What the release adds to a side of the new grid before it forms the scale.
const OFFSET: f64 = 0.1;

/// The publisher whose names the tensors have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DinoLayout {
    /// `blocks.0.attn.qkv.weight`
    Release,
    /// `encoder.layer.0.attention.attention.query.weight`
    HuggingFace,
}

/// Shape of the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DinoShape {
    /// Width, depth and heads of its blocks.
    pub stack: StackShape,
    /// Pixels along an edge of a patch.
    pub patch: i64,
    /// Patches along an edge for which positions were learned.
    pub grid: i64,
}

/// The network.
pub struct Dinov2 {
    /// `[width, 3, patch, patch]`
    patch_weight: Tensor,
    /// `[width]`
    patch_bias: Tensor,
    patch: i64,
    /// `[1, 1, width]`, its position added
    class_token: Tensor,
    /// `[1, width, grid, grid]` in f32
    positions: Tensor,
    stack: Stack,
    norm: LayerNorm,
}

struct Names {
    class_token: &'static str,
    positions: &'static str,
    patch: &'static str,
    blocks: &'static str,
    block: BlockNames,
    norm: &'static str,
}

const RELEASE: Names = Names {
    class_token: "cls_token",
    positions: "pos_embed",
    patch: "patch_embed.proj",
    blocks: "blocks.",
    block: BlockNames {
        norms: ["norm1", "norm2"],
        qkv: QkvNames::Fused { weight: "attn.qkv.weight", bias: "attn.qkv.bias" },
        out: "attn.proj",
        mlp: ["mlp.fc1", "mlp.fc2"],
        scales: Some(["ls1.gamma", "ls2.gamma"]),
    },
    norm: "norm",
};
const HUGGING_FACE: Names = Names {
    class_token: "embeddings.cls_token",
    positions: "embeddings.position_embeddings",
    patch: "embeddings.patch_embeddings.projection",
    blocks: "encoder.layer.",
    block: BlockNames {
        norms: ["norm1", "norm2"],
        qkv: QkvNames::Apart([
            "attention.attention.query",
            "attention.attention.key",
            "attention.attention.value",
        ]),
        out: "attention.output.dense",
        mlp: ["mlp.fc1", "mlp.fc2"],
        scales: Some(["layer_scale1.lambda1", "layer_scale2.lambda1"]),
    },
    norm: "layernorm",
};

impl DinoLayout {
    /// The layout of `checkpoint`, by the name of its class token.
    pub fn of(checkpoint: &Checkpoint) -> Result<Self, LoadError> {
        let mut layouts = [Self::Release, Self::HuggingFace].into_iter();
        let found = layouts.find(|layout| checkpoint.shape(layout.names().class_token).is_some());
        found.ok_or_else(|| LoadError::Config {
            path: checkpoint.path().to_owned(),
            reason: format!(
                "neither `{}` (release) nor `{}` (Hugging Face) is in it; these are no DINOv2 weights",
                RELEASE.class_token, HUGGING_FACE.class_token
            ),
        })
    }

    /// The token that stands for hidden patches in training; not part of the feature.
    pub(crate) fn mask_token(self) -> &'static str {
        match self {
            Self::Release => "mask_token",
            Self::HuggingFace => "embeddings.mask_token",
        }
    }

    fn names(self) -> &'static Names {
        match self {
            Self::Release => &RELEASE,
            Self::HuggingFace => &HUGGING_FACE,
        }
    }
}

impl DinoShape {
    /// ViT-B/14.
    pub const B14: Self = Self::published(768, 12, 12);
    /// ViT-L/14.
    pub const L14: Self = Self::published(1024, 24, 16);

    const fn published(width: i64, depth: usize, n_heads: i64) -> Self {
        let activation = Activation::Gelu;
        Self {
            stack: StackShape { width, depth, n_heads, mlp: 4 * width, activation, eps: 1e-6 },
            patch: 14,
            grid: 37,
        }
    }
}

impl Dinov2 {
    /// Reads the parameters; the mask token is not asked for.
    pub fn new(
        source: &mut dyn ParamSource,
        layout: DinoLayout,
        shape: &DinoShape,
        kind: Kind,
    ) -> Result<Self, LoadError> {
        let &DinoShape { stack, patch, grid } = shape;
        let (width, names) = (stack.width, layout.names());
        let class_token = source.param(names.class_token, &[1, 1, width], Init::Uniform(0.5))?;
        let positions = source.param(names.positions, &[1, 1 + grid * grid, width], Init::Uniform(0.5))?;
        let weight = format!("{}.weight", names.patch);
        let patch_weight = source.param(&weight, &[width, 3, patch, patch], fan_in(3 * patch * patch))?;
        let patch_bias = source.param(&format!("{}.bias", names.patch), &[width], Init::Constant(0.0))?;
        let learned = positions.narrow(1, 1, grid * grid).view([1, grid, grid, width]).permute([0, 3, 1, 2]);
        Ok(Self {
            patch_weight: patch_weight.to_kind(kind),
            patch_bias: patch_bias.to_kind(kind),
            patch,
            class_token: class_token + positions.narrow(1, 0, 1),
            positions: learned.to_kind(Kind::Float),
            stack: Stack::new(source, names.blocks, &names.block, &stack, kind)?,
            norm: LayerNorm::new(source, names.norm, width, stack.eps, kind)?,
        })
    }

    /// Positions of a grid, `[1, down * across, width]`.
    fn positions(&self, down: i64, across: i64) -> Tensor {
        let (_, width, grid, _) = self.positions.size4().expect("positions lie on a grid");
        if (down, across) == (grid, grid) {
            return self.positions.flatten(2, -1).transpose(1, 2);
        }
        let scale = |side: i64| Some((side as f64 + OFFSET) / grid as f64);
        self.positions
            .upsample_bicubic2d([down, across], false, scale(down), scale(across))
            .view([1, width, down * across])
            .transpose(1, 2)
    }
}

impl Network for Dinov2 {
    fn run(&self, x: &Tensor, layers: &[Layer]) -> Vec<Tensor> {
        let stride = [self.patch; 2];
        let patches = x.conv2d(&self.patch_weight, Some(&self.patch_bias), stride, [0, 0], [1, 1], 1);
        let (n, width, down, across) = patches.size4().expect("patches lie on a grid");
        let patches = patches.flatten(2, -1).transpose(1, 2) + self.positions(down, across).to_kind(x.kind());
        let class_token = self.class_token.to_kind(x.kind()).expand([n, 1, width], false);
        let tokens = self.stack.forward(&Tensor::cat(&[class_token, patches], 1), false);
        let feature = self.norm.forward(&tokens.select(1, 0)).to_kind(Kind::Float);
        layers.iter().map(|_| feature.shallow_clone()).collect()
    }
}
