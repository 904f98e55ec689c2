//! What a file of CLIP weights says about its network: whose key layout it has, and the shapes of both towers.
//!
//! Widths and depths are those of the tensors. What tensors do not say (heads, activation) is read from the
//! configuration that is published beside the weights, `config.json` of Hugging Face or `open_clip_config.json`;
//! without one it is the rule of the network's family, and the identity of the network says that it was assumed, unless the
//! weights name a release of OpenAI as their source or have the one published shape of their family.

use std::path::Path;

use serde_json::Value;
use specimen_foundation::bounded_read::read_side_text;
use specimen_weights::{Checkpoint, LoadError};
use tch::Tensor;

use crate::transformer::{Activation, BlockNames, QkvNames, StackShape};
use crate::{
    network::NetworkName,
    weights_lookup::{SOURCE_KEY, published_digests},
};

/// What norms add to a variance.
const EPS: f64 = 1e-5;

/// What heads and activation follow from where no configuration says them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClipFamily {
    /// OpenAI's releases: heads of 64, QuickGELU.
    OpenAi,
    /// ViT-H/14 as LAION trained it with open_clip, and what was tuned from it (PickScore, HPSv2): heads of 80 for pictures
    /// and of 64 for texts, the exact GELU.
    LaionH14,
}

/// The towers of a published network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClipShapes {
    /// Of pictures.
    pub vision: VisionShape,
    /// Of texts.
    pub text: TextShape,
    /// Whose rule holds for other widths than these.
    pub family: ClipFamily,
}

impl ClipShapes {
    /// ViT-B/32 of OpenAI.
    pub const B32: Self = Self::open_ai(VisionShape::B32, TextShape::B);
    /// ViT-B/16 of OpenAI.
    pub const B16: Self = Self::open_ai(VisionShape::B16, TextShape::B);
    /// ViT-L/14 of OpenAI.
    pub const L14: Self = Self::open_ai(VisionShape::L14, TextShape::L);
    /// ViT-L/14 of OpenAI at 336 pixels.
    pub const L14_AT_336: Self = Self::open_ai(VisionShape::L14_AT_336, TextShape::L);
    /// ViT-H/14 of LAION.
    pub const H14: Self = Self { vision: VisionShape::H14, text: TextShape::H, family: ClipFamily::LaionH14 };

    const fn open_ai(vision: VisionShape, text: TextShape) -> Self {
        Self { vision, text, family: ClipFamily::OpenAi }
    }

    /// The same with towers of one block of one head, for files with made weights.
    pub fn narrow(self) -> Self {
        let narrow = |stack: StackShape| {
            let width = stack.width / stack.n_heads;
            StackShape { width, depth: 1, n_heads: 1, mlp: 4 * width, ..stack }
        };
        Self {
            vision: VisionShape { stack: narrow(self.vision.stack), ..self.vision },
            text: TextShape { stack: narrow(self.text.stack), ..self.text },
            ..self
        }
    }
}

impl ClipFamily {
    /// Width of a head in a tower.
    fn head(self, tower: &str) -> i64 {
        if self == Self::LaionH14 && tower == VISION { 80 } else { 64 }
    }

    fn activation(self) -> Activation {
        match self {
            Self::OpenAi => Activation::QuickGelu,
            Self::LaionH14 => Activation::Gelu,
        }
    }
}

/// The towers in configurations.
const VISION: &str = "vision";
const TEXT: &str = "text";

/// The publisher whose names the tensors have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClipLayout {
    /// OpenAI's release and open_clip: `visual.transformer.resblocks.0.attn.in_proj_weight`.
    OpenAi,
    /// Hugging Face: `vision_model.encoder.layers.0.self_attn.q_proj.weight`.
    HuggingFace,
}

/// Shape of the tower of pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VisionShape {
    /// Width, depth and heads of its blocks.
    pub stack: StackShape,
    /// Pixels along an edge of a patch.
    pub patch: i64,
    /// Patches along an edge of a picture.
    pub grid: i64,
    /// Width of the joint space.
    pub n_joint: i64,
}

/// Shape of the tower of texts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextShape {
    /// Width, depth and heads of its blocks.
    pub stack: StackShape,
    /// Most tokens of a text, start and end included.
    pub context: i64,
    /// Tokens of the vocabulary.
    pub n_vocab: i64,
    /// Width of the joint space.
    pub n_joint: i64,
}

/// Names of one layout.
pub(crate) struct ClipNames {
    pub(crate) vision_blocks: &'static str,
    pub(crate) text_blocks: &'static str,
    pub(crate) block: BlockNames,
    pub(crate) class_token: &'static str,
    pub(crate) vision_positions: &'static str,
    pub(crate) patch: &'static str,
    /// Before and behind the blocks.
    pub(crate) vision_norms: [&'static str; 2],
    pub(crate) vision_joint: &'static str,
    pub(crate) words: &'static str,
    pub(crate) text_positions: &'static str,
    pub(crate) text_norm: &'static str,
    pub(crate) text_joint: &'static str,
    /// Beginnings of the names of each tower; the temperature belongs to that of texts.
    vision: &'static [&'static str],
    text: &'static [&'static str],
    /// Names that are no parameters: buffers and numbers that a release stores beside them.
    buffers: &'static [&'static str],
}

const OPEN_AI: ClipNames = ClipNames {
    vision_blocks: "visual.transformer.resblocks.",
    text_blocks: "transformer.resblocks.",
    block: BlockNames {
        norms: ["ln_1", "ln_2"],
        qkv: QkvNames::Fused { weight: "attn.in_proj_weight", bias: "attn.in_proj_bias" },
        out: "attn.out_proj",
        mlp: ["mlp.c_fc", "mlp.c_proj"],
        scales: None,
    },
    class_token: "visual.class_embedding",
    vision_positions: "visual.positional_embedding",
    patch: "visual.conv1.weight",
    vision_norms: ["visual.ln_pre", "visual.ln_post"],
    vision_joint: "visual.proj",
    words: "token_embedding.weight",
    text_positions: "positional_embedding",
    text_norm: "ln_final",
    text_joint: "text_projection",
    vision: &["visual."],
    text: &[
        "transformer.",
        "token_embedding.",
        "positional_embedding",
        "ln_final.",
        "text_projection",
        "logit_scale",
    ],
    buffers: &["attn_mask", "input_resolution", "context_length", "vocab_size"],
};
const HUGGING_FACE: ClipNames = ClipNames {
    vision_blocks: "vision_model.encoder.layers.",
    text_blocks: "text_model.encoder.layers.",
    block: BlockNames {
        norms: ["layer_norm1", "layer_norm2"],
        qkv: QkvNames::Apart(["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"]),
        out: "self_attn.out_proj",
        mlp: ["mlp.fc1", "mlp.fc2"],
        scales: None,
    },
    class_token: "vision_model.embeddings.class_embedding",
    vision_positions: "vision_model.embeddings.position_embedding.weight",
    patch: "vision_model.embeddings.patch_embedding.weight",
    vision_norms: ["vision_model.pre_layrnorm", "vision_model.post_layernorm"],
    vision_joint: "visual_projection.weight",
    words: "text_model.embeddings.token_embedding.weight",
    text_positions: "text_model.embeddings.position_embedding.weight",
    text_norm: "text_model.final_layer_norm",
    text_joint: "text_projection.weight",
    vision: &["vision_model.", "visual_projection."],
    text: &["text_model.", "text_projection.", "logit_scale"],
    buffers: &["text_model.embeddings.position_ids", "vision_model.embeddings.position_ids"],
};

impl ClipLayout {
    /// The layout of `checkpoint`, by the name of its patches.
    pub fn of(checkpoint: &Checkpoint) -> Result<Self, LoadError> {
        let found = [Self::OpenAi, Self::HuggingFace].into_iter();
        let found = found.into_iter().find(|layout| checkpoint.shape(layout.names().patch).is_some());
        found.ok_or_else(|| LoadError::Config {
            path: checkpoint.path().to_owned(),
            reason: format!(
                "neither `{}` (OpenAI, open_clip) nor `{}` (Hugging Face) is in it; these are no CLIP weights",
                OPEN_AI.patch, HUGGING_FACE.patch
            ),
        })
    }

    pub(crate) fn names(self) -> &'static ClipNames {
        match self {
            Self::OpenAi => &OPEN_AI,
            Self::HuggingFace => &HUGGING_FACE,
        }
    }

    /// Whether the tower of pictures does without the tensor `name`, which is one of CLIP's.
    pub(crate) fn is_beside_vision(self, name: &str) -> bool {
        let names = self.names();
        names.buffers.contains(&name) || names.text.iter().any(|prefix| name.starts_with(prefix))
    }

    /// Whether the tower of texts does without the tensor `name`, which is one of CLIP's.
    pub(crate) fn is_beside_text(self, name: &str) -> bool {
        let names = self.names();
        names.buffers.contains(&name) || names.vision.iter().any(|prefix| name.starts_with(prefix))
    }

    /// Axes of a projection into the joint space as stored: OpenAI's is transposed.
    pub(crate) fn joint_shape(self, width: i64, n_joint: i64) -> [i64; 2] {
        match self {
            Self::OpenAi => [width, n_joint],
            Self::HuggingFace => [n_joint, width],
        }
    }

    /// A projection as stored to `[n_joint, width]`.
    pub(crate) fn upright(self, joint: Tensor) -> Tensor {
        match self {
            Self::OpenAi => joint.transpose(0, 1).contiguous(),
            Self::HuggingFace => joint,
        }
    }

    fn n_joint(self, shape: &[i64]) -> Option<i64> {
        let [first, second] = *shape else { return None };
        Some(if self == Self::OpenAi { second } else { first })
    }
}

/// What identities say about a stack: width, depth, heads and activation, as `768x12,h12,quick-gelu`, and `,assumed`
/// where heads and activation are the rule of the family, because nothing beside the weights says them.
pub(crate) fn words(stack: &StackShape, is_configured: bool) -> String {
    let StackShape { width, depth, n_heads, activation, .. } = stack;
    let activation = match activation {
        Activation::QuickGelu => "quick-gelu",
        Activation::Gelu => "gelu",
    };
    let assumed = if is_configured { "" } else { ",assumed" };
    format!("{width}x{depth},h{n_heads},{activation}{assumed}")
}

/// Whether heads and activation of a stack are known: from the configuration beside the weights, because they were made of
/// OpenAI's release, whose SHA-256 they name, or because the stack is `published`, the one of the ViT-H/14 that scores of
/// preference were tuned from.
pub(crate) fn is_configured(
    checkpoint: &Checkpoint,
    layout: ClipLayout,
    family: ClipFamily,
    (stack, published): (&StackShape, &StackShape),
) -> bool {
    if family == ClipFamily::LaionH14 && stack == published {
        return true;
    }
    let source = checkpoint.note(SOURCE_KEY);
    let mut releases = NetworkName::CLIP.into_iter().flat_map(|network| published_digests(network.entry()));
    let is_release = source.is_some_and(|source| releases.any(|release| release == source));
    is_release || checkpoint.path().with_file_name(config_name(layout)).is_file()
}

/// What the configuration beside the weights says about one tower.
#[derive(Clone, Copy, Default)]
struct Configured {
    n_heads: Option<i64>,
    activation: Option<Activation>,
}

impl VisionShape {
    /// ViT-B/32.
    pub const B32: Self = Self::published([768, 12, 12], 32, 7, 512);
    /// ViT-B/16.
    pub const B16: Self = Self::published([768, 12, 12], 16, 14, 512);
    /// ViT-L/14.
    pub const L14: Self = Self::published([1024, 24, 16], 14, 16, 768);
    /// ViT-L/14 at 336 pixels.
    pub const L14_AT_336: Self = Self::published([1024, 24, 16], 14, 24, 768);
    /// ViT-H/14 of LAION.
    pub const H14: Self = Self {
        stack: StackShape::of_clip(1280, 32, 16, Activation::Gelu),
        patch: 14,
        grid: 16,
        n_joint: 1024,
    };

    const fn published([width, depth, n_heads]: [i64; 3], patch: i64, grid: i64, n_joint: i64) -> Self {
        let stack = StackShape::of_clip(width, depth as usize, n_heads, Activation::QuickGelu);
        Self { stack, patch, grid, n_joint }
    }

    /// The shape of the tower of pictures in `checkpoint`.
    pub fn of(checkpoint: &Checkpoint, layout: ClipLayout, family: ClipFamily) -> Result<Self, LoadError> {
        let names = layout.names();
        let [width, _, patch, _] = *shape_of::<4>(checkpoint, names.patch)?;
        let [n_positions, _] = *shape_of::<2>(checkpoint, names.vision_positions)?;
        let grid = ((n_positions - 1).max(0) as f64).sqrt().round() as i64;
        let stack = stack(checkpoint, layout, family, names.vision_blocks, (width, VISION))?;
        let joint = layout.n_joint(shape_of::<2>(checkpoint, names.vision_joint)?);
        Ok(Self { stack, patch, grid, n_joint: joint.expect("a projection has two axes") })
    }

    /// Pixels along an edge of a picture.
    pub fn side(&self) -> i64 {
        self.patch * self.grid
    }
}

impl TextShape {
    /// That of ViT-B/32 and ViT-B/16.
    pub const B: Self = Self::published([512, 12, 8], 512);
    /// That of ViT-L/14, of either size.
    pub const L: Self = Self::published([768, 12, 12], 768);
    /// That of ViT-H/14.
    pub const H: Self = Self {
        stack: StackShape::of_clip(1024, 24, 16, Activation::Gelu),
        context: 77,
        n_vocab: 49_408,
        n_joint: 1024,
    };

    const fn published([width, depth, n_heads]: [i64; 3], n_joint: i64) -> Self {
        let stack = StackShape::of_clip(width, depth as usize, n_heads, Activation::QuickGelu);
        Self { stack, context: 77, n_vocab: 49_408, n_joint }
    }

    /// The shape of the tower of texts in `checkpoint`.
    pub fn of(checkpoint: &Checkpoint, layout: ClipLayout, family: ClipFamily) -> Result<Self, LoadError> {
        let names = layout.names();
        let [n_vocab, width] = *shape_of::<2>(checkpoint, names.words)?;
        let [context, _] = *shape_of::<2>(checkpoint, names.text_positions)?;
        let stack = stack(checkpoint, layout, family, names.text_blocks, (width, TEXT))?;
        let joint = layout.n_joint(shape_of::<2>(checkpoint, names.text_joint)?);
        Ok(Self { stack, context, n_vocab, n_joint: joint.expect("a projection has two axes") })
    }
}

impl StackShape {
    /// A published stack of CLIP: an MLP of four times the width.
    const fn of_clip(width: i64, depth: usize, n_heads: i64, activation: Activation) -> Self {
        Self { width, depth, n_heads, mlp: 4 * width, activation, eps: EPS }
    }
}

fn shape_of<'a, const N: usize>(checkpoint: &'a Checkpoint, name: &str) -> Result<&'a [i64; N], LoadError> {
    let found = checkpoint.shape(name).and_then(|shape| shape.try_into().ok());
    found.ok_or_else(|| LoadError::Config {
        path: checkpoint.path().to_owned(),
        reason: format!("no tensor `{name}` with {N} axes; these are not the weights of a whole CLIP"),
    })
}

fn stack(
    checkpoint: &Checkpoint,
    layout: ClipLayout,
    family: ClipFamily,
    prefix: &str,
    (width, tower): (i64, &str),
) -> Result<StackShape, LoadError> {
    let block = &layout.names().block;
    let norm = |idx: usize| format!("{prefix}{idx}.{}.weight", block.norms[0]);
    let depth = (0..).take_while(|&idx| checkpoint.shape(&norm(idx)).is_some()).count();
    let [mlp, _] = *shape_of::<2>(checkpoint, &format!("{prefix}0.{}.weight", block.mlp[0]))?;
    let Configured { n_heads, activation } = configured(checkpoint.path(), layout, tower, width)?;
    let head = family.head(tower);
    let n_heads = n_heads.unwrap_or(width / head);
    if n_heads <= 0 || width % n_heads != 0 {
        return Err(LoadError::Config {
            path: checkpoint.path().to_owned(),
            reason: format!(
                "{n_heads} heads of {head} do not make the {tower} width of {width}; put the {} of these weights \
                 beside them",
                config_name(layout)
            ),
        });
    }
    let activation = activation.unwrap_or(family.activation());
    Ok(StackShape { width, depth, n_heads, mlp, activation, eps: EPS })
}

fn config_name(layout: ClipLayout) -> &'static str {
    match layout {
        ClipLayout::OpenAi => "open_clip_config.json",
        ClipLayout::HuggingFace => "config.json",
    }
}

/// Reads the configuration beside `weights`; nothing is configured where there is none.
fn configured(weights: &Path, layout: ClipLayout, tower: &str, width: i64) -> Result<Configured, LoadError> {
    let path = weights.with_file_name(config_name(layout));
    let bad = |reason: String| LoadError::Config { path: path.clone(), reason };
    let text = match read_side_text(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Configured::default()),
        Err(source) => return Err(LoadError::Read { path: path.clone(), source }),
    };
    let json: Value = serde_json::from_str(&text).map_err(|error| bad(format!("no JSON: {error}")))?;
    let (config, width_key, heads_key) = match layout {
        ClipLayout::OpenAi => (&json["model_cfg"][format!("{tower}_cfg")], "width", "heads"),
        ClipLayout::HuggingFace => (&json[format!("{tower}_config")], "hidden_size", "num_attention_heads"),
    };
    if let Some(found) = config[width_key].as_i64().filter(|found| *found != width) {
        return Err(bad(format!("its {tower} width is {found}, that of the weights beside it {width}")));
    }
    let head_width = config["head_width"].as_i64().filter(|width| *width > 0);
    let n_heads = config[heads_key].as_i64().or(head_width.map(|head| width / head));
    let activation = match layout {
        ClipLayout::OpenAi if json["model_cfg"]["quick_gelu"] == Value::Bool(true) => Activation::QuickGelu,
        ClipLayout::OpenAi => Activation::Gelu,
        ClipLayout::HuggingFace => match config["hidden_act"].as_str() {
            None | Some("quick_gelu") => Activation::QuickGelu,
            Some("gelu") => Activation::Gelu,
            Some(other) => {
                return Err(bad(format!("hidden_act `{other}` is neither `quick_gelu` nor `gelu`")));
            }
        },
    };
    Ok(Configured { n_heads, activation: Some(activation) })
}
