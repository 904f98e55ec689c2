//! One Image-GPT layer. Its quirk: the attention residual starts from the *normed* value, `h = ln_1(x)`,
//! `x = h + attention(h)`; the published weights were trained that way.

use specimen_weights::{Init, LoadError, ParamSource};
use tch::Tensor;

use super::IgptConfig;
use crate::{
    llama::linear::{held, linear},
    seam::kv::LayerCache,
};

/// Epsilon of every norm.
const NORM_EPS: f64 = 1e-5;

/// A layer norm with weight and bias, `[d]` each.
pub(super) struct LayerNorm {
    weight: Tensor,
    bias: Tensor,
}

impl LayerNorm {
    pub(super) fn new(source: &mut dyn ParamSource, name: &str, d: i64) -> Result<Self, LoadError> {
        Ok(Self {
            weight: source.param(&format!("{name}.weight"), &[d], Init::Constant(1.0))?,
            bias: source.param(&format!("{name}.bias"), &[d], Init::Constant(0.0))?,
        })
    }

    /// `x`: `[.., d]`.
    pub(super) fn forward(&self, x: &Tensor) -> Tensor {
        x.layer_norm(self.weight.size(), Some(&self.weight), Some(&self.bias), NORM_EPS, false)
    }
}

/// An affine map: `weight` `[out, in]`, `bias` `[out]`.
struct Affine {
    weight: Tensor,
    bias: Tensor,
}

impl Affine {
    /// `weight` and `bias` are the whole names: the attention's input map spells them its own way.
    fn new(
        source: &mut dyn ParamSource,
        [weight, bias]: [&str; 2],
        [n_out, n_in]: [i64; 2],
    ) -> Result<Self, LoadError> {
        let std = Init::Normal((n_in as f64).powf(-0.5));
        Ok(Self {
            weight: held(&source.param(weight, &[n_out, n_in], std)?),
            bias: source.param(bias, &[n_out], Init::Constant(0.0))?,
        })
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        linear(x, &self.weight, Some(&self.bias))
    }
}

/// The weights of one layer.
pub(super) struct Block {
    n_heads: i64,
    attention_norm: LayerNorm,
    /// Rows: query, key, value.
    qkv: Affine,
    out: Affine,
    ffn_norm: LayerNorm,
    widen: Affine,
    narrow: Affine,
}

impl Block {
    /// Reads or makes the parameters under the names of the published state dict.
    pub(super) fn new(source: &mut dyn ParamSource, config: &IgptConfig) -> Result<Self, LoadError> {
        let d = config.d_model;
        Ok(Self {
            n_heads: config.n_heads,
            attention_norm: LayerNorm::new(source, "ln_1", d)?,
            qkv: Affine::new(source, ["attn.in_proj_weight", "attn.in_proj_bias"], [3 * d, d])?,
            out: Affine::new(source, ["attn.out_proj.weight", "attn.out_proj.bias"], [d, d])?,
            ffn_norm: LayerNorm::new(source, "ln_2", d)?,
            widen: Affine::new(source, ["mlp.0.weight", "mlp.0.bias"], [4 * d, d])?,
            narrow: Affine::new(source, ["mlp.2.weight", "mlp.2.bias"], [d, 4 * d])?,
        })
    }

    /// `n` nodes behind the cache, which takes them in. `x`: `[b, n, d]`; `mask`: additive
    /// `[n, n_cached + n]`, absent when all is visible. Returns `[b, n, d]`.
    pub(super) fn step(&self, x: &Tensor, cache: &mut LayerCache, mask: Option<&Tensor>) -> Tensor {
        let (b, n, d) = x.size3().expect("hidden states have three axes");
        let normed = self.attention_norm.forward(x);
        let heads = [b, n, 3 * self.n_heads, d / self.n_heads];
        let qkv = self.qkv.forward(&normed).to_kind(cache.kind()).view(heads).transpose(1, 2);
        let (k, v) = cache.append(&qkv.narrow(1, self.n_heads, 2 * self.n_heads));
        let q = qkv.narrow(1, 0, self.n_heads);
        let context = Tensor::scaled_dot_product_attention(&q, &k, &v, mask, 0.0, false, None, false);
        // The residual continues from `normed`, not from `x`.
        let x = normed + self.out.forward(&context.transpose(1, 2).reshape([b, n, d]).to_kind(x.kind()));
        let hidden = self.widen.forward(&self.ffn_norm.forward(&x)).gelu("none");
        x + self.narrow.forward(&hidden)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream whose variance is a tenth of the epsilon: that of the published code is torch's own.
    #[test]
    fn a_quiet_stream_shows_the_epsilon_of_the_norms() {
        let norm =
            LayerNorm { weight: Tensor::from_slice(&[2.0_f32; 2]), bias: Tensor::from_slice(&[3.0_f32; 2]) };
        let normed =
            Vec::<f32>::try_from(norm.forward(&Tensor::from_slice(&[1e-3_f32, -1e-3]))).expect("numbers");
        let expected = 2.0 * 1e-3 / 1.1e-5_f32.sqrt();
        assert!(
            (normed[0] - 3.0 - expected).abs() < 1e-5 && (normed[1] - 3.0 + expected).abs() < 1e-5,
            "{normed:?}"
        );
    }
}
