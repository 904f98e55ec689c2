//! The pre-norm transformer block that CLIP's towers, DINOv2 and BLIP's tower of pictures share; key layouts are data.

use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Kind, Tensor};

/// How queries, keys and values lie in a checkpoint.
#[derive(Clone, Copy)]
pub(crate) enum QkvNames {
    /// One weight and one bias, in this order in the first axis: `[3 * width, width]` and `[3 * width]`.
    Fused { weight: &'static str, bias: &'static str },
    /// Three linear layers.
    Apart([&'static str; 3]),
}

/// Names of a block's parts, below the block's own name.
#[derive(Clone, Copy)]
pub(crate) struct BlockNames {
    pub(crate) norms: [&'static str; 2],
    pub(crate) qkv: QkvNames,
    pub(crate) out: &'static str,
    /// The two layers of the MLP.
    pub(crate) mlp: [&'static str; 2],
    /// Factors on what attention and MLP add, `[width]` each.
    pub(crate) scales: Option<[&'static str; 2]>,
}

/// What lies between the layers of an MLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `x * sigmoid(1.702 x)`: OpenAI's CLIP.
    QuickGelu,
    /// The exact GELU: DINOv2, LAION's CLIP.
    Gelu,
}

/// Shape of a stack of blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StackShape {
    /// Width of a token.
    pub width: i64,
    /// Blocks.
    pub depth: usize,
    /// Heads of the attention; they divide the width.
    pub n_heads: i64,
    /// Width inside the MLP.
    pub mlp: i64,
    /// Between the MLP's layers.
    pub activation: Activation,
    /// What norms add to a variance.
    pub eps: f64,
}

/// A linear layer.
pub(crate) struct Linear {
    /// `[n_out, n_in]`
    weight: Tensor,
    /// `[n_out]`
    bias: Option<Tensor>,
}

/// Norm over the last axis.
pub(crate) struct LayerNorm {
    /// `[n]`
    weight: Tensor,
    /// `[n]`
    bias: Tensor,
    eps: f64,
}

struct Block {
    norms: [LayerNorm; 2],
    qkv: Linear,
    out: Linear,
    mlp: [Linear; 2],
    /// `[width]` each
    scales: Option<[Tensor; 2]>,
}

/// Blocks one after the other.
pub(crate) struct Stack {
    blocks: Vec<Block>,
    n_heads: i64,
    activation: Activation,
}

impl Linear {
    /// Reads `name.weight` and `name.bias`.
    pub(crate) fn new(
        source: &mut dyn ParamSource,
        name: &str,
        [n_in, n_out]: [i64; 2],
        kind: Kind,
    ) -> Result<Self, LoadError> {
        Self::named(source, &format!("{name}.weight"), &format!("{name}.bias"), [n_in, n_out], kind)
    }

    fn named(
        source: &mut dyn ParamSource,
        weight: &str,
        bias: &str,
        [n_in, n_out]: [i64; 2],
        kind: Kind,
    ) -> Result<Self, LoadError> {
        let weight = source.param(weight, &[n_out, n_in], fan_in(n_in))?.to_kind(kind);
        let bias = source.param(bias, &[n_out], Init::Constant(0.0))?.to_kind(kind);
        Ok(Self { weight, bias: Some(bias) })
    }

    /// The layer without bias with this weight, `[n_out, n_in]`.
    pub(crate) fn of(weight: Tensor) -> Self {
        Self { weight, bias: None }
    }

    /// `x`: `[.., n_in]`; returns `[.., n_out]`.
    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        x.linear(&self.weight, self.bias.as_ref())
    }
}

impl LayerNorm {
    /// Reads `name.weight` and `name.bias`.
    pub(crate) fn new(
        source: &mut dyn ParamSource,
        name: &str,
        width: i64,
        eps: f64,
        kind: Kind,
    ) -> Result<Self, LoadError> {
        Ok(Self {
            weight: source.param(&format!("{name}.weight"), &[width], Init::Constant(1.0))?.to_kind(kind),
            bias: source.param(&format!("{name}.bias"), &[width], Init::Constant(0.0))?.to_kind(kind),
            eps,
        })
    }

    /// `x`: `[.., width]`
    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        x.layer_norm(self.weight.size(), Some(&self.weight), Some(&self.bias), self.eps, true)
    }
}

impl Block {
    fn new(
        source: &mut dyn ParamSource,
        prefix: &str,
        names: &BlockNames,
        shape: &StackShape,
        kind: Kind,
    ) -> Result<Self, LoadError> {
        let StackShape { width, mlp, eps, .. } = *shape;
        let at = |name: &str| format!("{prefix}{name}");
        let qkv = match names.qkv {
            QkvNames::Fused { weight, bias } => {
                Linear::named(source, &at(weight), &at(bias), [width, 3 * width], kind)?
            }
            QkvNames::Apart(parts) => {
                let mut weights = Vec::new();
                let mut biases = Vec::new();
                for part in parts {
                    let weight =
                        source.param(&at(&format!("{part}.weight")), &[width, width], fan_in(width))?;
                    weights.push(weight.to_kind(kind));
                    let bias = source.param(&at(&format!("{part}.bias")), &[width], Init::Constant(0.0))?;
                    biases.push(bias.to_kind(kind));
                }
                Linear { weight: Tensor::cat(&weights, 0), bias: Some(Tensor::cat(&biases, 0)) }
            }
        };
        let mut scale = |name: &str| {
            Ok::<Tensor, LoadError>(source.param(&at(name), &[width], Init::Constant(1.0))?.to_kind(kind))
        };
        let scales = match names.scales {
            Some([first, second]) => Some([scale(first)?, scale(second)?]),
            None => None,
        };
        let [first, second] = names.norms;
        Ok(Self {
            norms: [
                LayerNorm::new(source, &at(first), width, eps, kind)?,
                LayerNorm::new(source, &at(second), width, eps, kind)?,
            ],
            qkv,
            out: Linear::new(source, &at(names.out), [width, width], kind)?,
            mlp: [
                Linear::new(source, &at(names.mlp[0]), [width, mlp], kind)?,
                Linear::new(source, &at(names.mlp[1]), [mlp, width], kind)?,
            ],
            scales,
        })
    }

    fn forward(&self, x: &Tensor, n_heads: i64, activation: Activation, is_causal: bool) -> Tensor {
        let scaled = |x: Tensor, part: usize| match &self.scales {
            Some(scales) => x * &scales[part],
            None => x,
        };
        let attended = self.out.forward(&self.attention(&self.norms[0].forward(x), n_heads, is_causal));
        let x = x + scaled(attended, 0);
        let wide = self.mlp[0].forward(&self.norms[1].forward(&x));
        let wide = match activation {
            Activation::QuickGelu => &wide * (&wide * 1.702).sigmoid(),
            Activation::Gelu => wide.gelu("none"),
        };
        let added = scaled(self.mlp[1].forward(&wide), 1);
        x + added
    }

    /// `x`: `[n, n_tokens, width]`; returns the same shape, before the outgoing layer.
    fn attention(&self, x: &Tensor, n_heads: i64, is_causal: bool) -> Tensor {
        let (n, n_tokens, width) = x.size3().expect("tokens have three axes");
        let qkv = self.qkv.forward(x).view([n, n_tokens, 3, n_heads, width / n_heads]);
        let part = |idx: i64| qkv.select(2, idx).transpose(1, 2);
        attend([&part(0), &part(1), &part(2)], None, is_causal)
    }
}

impl Stack {
    /// Reads the blocks `prefix0.` to `prefix{depth - 1}.`.
    pub(crate) fn new(
        source: &mut dyn ParamSource,
        prefix: &str,
        names: &BlockNames,
        shape: &StackShape,
        kind: Kind,
    ) -> Result<Self, LoadError> {
        let block = |idx: usize| Block::new(source, &format!("{prefix}{idx}."), names, shape, kind);
        let blocks = (0..shape.depth).map(block).collect::<Result<_, _>>()?;
        Ok(Self { blocks, n_heads: shape.n_heads, activation: shape.activation })
    }

    /// `x`: `[n, n_tokens, width]`; when `is_causal`, a token sees itself and those before it.
    pub(crate) fn forward(&self, x: &Tensor, is_causal: bool) -> Tensor {
        let run = |x: Tensor, block: &Block| block.forward(&x, self.n_heads, self.activation, is_causal);
        self.blocks.iter().fold(x.shallow_clone(), run)
    }
}

/// Attention of queries, `[n, n_heads, n_to, d]`, to keys and values, `[n, n_heads, n_from, d]` each; `seen` is true where a
/// query may look and has axes that expand to `[n, n_heads, n_to, n_from]`. Returns `[n, n_to, n_heads * d]`.
pub(crate) fn attend([query, key, value]: [&Tensor; 3], seen: Option<&Tensor>, is_causal: bool) -> Tensor {
    let (n, n_heads, n_to, d) = query.size4().expect("queries have four axes");
    Tensor::scaled_dot_product_attention(query, key, value, seen, 0.0, is_causal, None, false)
        .transpose(1, 2)
        .reshape([n, n_to, n_heads * d])
}

/// Values that keep the scale of what `n_in` of them are summed with.
pub(crate) fn fan_in(n_in: i64) -> Init {
    Init::Uniform((3.0 / n_in as f64).sqrt())
}
