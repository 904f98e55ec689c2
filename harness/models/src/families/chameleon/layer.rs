//! One Chameleon decoder layer: as LLaMA's, with queries and keys normed head by head before they are turned.
//!
//! Rows that a rotary angle mixes are side by side here, as in Meta's files, so that turning is one complex
//! product; files in HF's layout are brought into that order when they are read.

use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Kind, Tensor};

use super::{ChameleonConfig, KeyLayout};
use crate::{
    llama::{
        fused::{self, HeadNorm, Heads},
        layer::{Activation, Rotary, rms_norm},
        linear::{held, linear},
        mirror::Mirrored,
    },
    seam::kv::LayerCache,
};

/// Epsilon of the norms of queries and keys, which no configuration changes.
const QK_NORM_EPS: f64 = 1e-5;

/// The weights of a layer.
pub(super) struct ChameleonLayer {
    n_heads: i64,
    d_head: i64,
    d_ffn: i64,
    eps: f64,
    swin_norm: bool,
    /// `[d]`
    attention_norm: Tensor,
    /// `[3 * n_heads * d_head, d]`: query, key, value rows, the first two in pairs.
    qkv: Tensor,
    /// `[2 * n_heads, d_head]`, queries first, in pairs, f32.
    qk_weight: Tensor,
    /// As `qk_weight`.
    qk_bias: Tensor,
    /// `[d, n_heads * d_head]`
    out: Tensor,
    /// `[d]`
    ffn_norm: Tensor,
    /// `[2 * d_ffn, d]`: gate rows, then up rows.
    gate_up: Tensor,
    /// `[d, d_ffn]`
    down: Tensor,
}

impl ChameleonLayer {
    /// Reads or makes the parameters.
    pub(super) fn new(
        source: &mut dyn ParamSource,
        config: &ChameleonConfig,
        layout: KeyLayout,
    ) -> Result<Self, LoadError> {
        let keys = layout.layer();
        let &ChameleonConfig { d_model, n_heads, d_head, d_ffn, n_layers, norm_eps, swin_norm, .. } = config;
        let d_heads = n_heads * d_head;
        let fan_in = |n: i64| Init::Normal((n as f64).powf(-0.5));
        // Residual branches start small so that the depth does not grow the stream.
        let residual = |n: i64| Init::Normal((n as f64).powf(-0.5) / (2.0 * n_layers as f64).sqrt());
        let pairs = |rows: &Tensor, n_heads: i64| in_pairs(rows, n_heads, layout);
        let query = source.param(keys.query, &[d_heads, d_model], fan_in(d_model))?;
        let key = source.param(keys.key, &[d_heads, d_model], fan_in(d_model))?;
        let value = source.param(keys.value, &[d_heads, d_model], fan_in(d_model))?;
        let qkv = held(&Tensor::cat(&[pairs(&query, n_heads), pairs(&key, n_heads), value], 0));
        let gate = source.param(keys.gate, &[d_ffn, d_model], fan_in(d_model))?;
        let up = source.param(keys.up, &[d_ffn, d_model], fan_in(d_model))?;
        let mut of_heads = |part: &str, init: f64| -> Result<Tensor, LoadError> {
            let mut all = Vec::new();
            for norm in [keys.query_norm, keys.key_norm] {
                let shape = config.qk_norm.shape(d_head);
                let stored = source.param(&format!("{norm}.{part}"), &shape, Init::Constant(init))?;
                let n_rows = config.qk_norm.n_rows();
                let rows = pairs(&stored.view([n_rows * d_head, 1]), n_rows).view([n_rows, d_head]);
                all.push(rows.repeat_interleave_self_int(n_heads / n_rows, 0, n_heads));
            }
            Ok(Tensor::cat(&all, 0).to_kind(Kind::Float))
        };
        let (qk_weight, qk_bias) = (of_heads("weight", 1.0)?, of_heads("bias", 0.0)?);
        Ok(Self {
            n_heads,
            d_head,
            d_ffn,
            eps: norm_eps,
            swin_norm,
            attention_norm: source.param(keys.attention_norm, &[d_model], Init::Constant(1.0))?,
            qkv,
            qk_weight,
            qk_bias,
            out: held(&source.param(keys.out, &[d_model, d_heads], residual(d_heads))?),
            ffn_norm: source.param(keys.ffn_norm, &[d_model], Init::Constant(1.0))?,
            gate_up: held(&Tensor::cat(&[gate, up], 0)),
            down: held(&source.param(keys.down, &[d_model, d_ffn], residual(d_ffn))?),
        })
    }

    /// Queries and keys after their norms and before they are turned, `[b, n, 2 * n_heads, d_head]` in pairs,
    /// f32, and values, `[b, n, n_heads, d_head]`. `x`: `[b, n, d]`.
    fn normed_heads(&self, x: &Tensor) -> (Tensor, Tensor) {
        let (b, n, _) = x.size3().expect("hidden states have three axes");
        let input =
            if self.swin_norm { x.shallow_clone() } else { rms_norm(x, &self.attention_norm, self.eps) };
        let qkv = linear(&input, &self.qkv, None).view([b, n, 3 * self.n_heads, self.d_head]);
        self.normed_of(&qkv)
    }

    /// The same of all heads as they are projected, `[b, n, 3 * n_heads, d_head]`.
    fn normed_of(&self, qkv: &Tensor) -> (Tensor, Tensor) {
        let qk = qkv.narrow(2, 0, 2 * self.n_heads).to_kind(Kind::Float);
        let plain = qk.layer_norm([self.d_head], None::<&Tensor>, None::<&Tensor>, QK_NORM_EPS, false);
        let qk = self.qk_bias.addcmul(&plain, &self.qk_weight);
        (qk, qkv.narrow(2, 2 * self.n_heads, self.n_heads))
    }

    /// Queries (`[b, n_heads, n, d_head]`), and keys and values (`[b, 2 * n_heads, n, d_head]`, keys first), all in `kind`.
    /// `qkv`: as for [`Self::normed_of`]; `turns` as from [`turns_at`].
    fn heads(&self, qkv: &Tensor, turns: &Tensor, kind: Kind) -> (Tensor, Tensor) {
        let (qk, v) = self.normed_of(qkv);
        let size = qk.size();
        let complex = qk.view([size[0], size[1], size[2], self.d_head / 2, 2]).view_as_complex();
        let qk = (complex * turns).view_as_real().view(size.as_slice()).to_kind(kind);
        let kv = Tensor::cat(&[qk.narrow(2, self.n_heads, self.n_heads), v.to_kind(kind)], 2);
        (qk.narrow(2, 0, self.n_heads).transpose(1, 2), kv.transpose(1, 2))
    }

    /// `n` slots behind the cache, which takes them in. `x`: `[b, n, d]`; `turns` as from [`turns_at`]; `mask`:
    /// additive, `[n, n_cached + n]` or `[b, 1, n, n_cached + n]`, in the kind of the cache; absent when all is
    /// visible.
    pub(super) fn step(
        &self,
        x: &Mirrored,
        turns: &Tensor,
        cache: &mut LayerCache,
        mask: Option<&Tensor>,
    ) -> Mirrored {
        let &Self { n_heads, d_head, eps, .. } = self;
        let input = if self.swin_norm { x.value() } else { x.normed(&self.attention_norm, eps) };
        let (b, n, _) = input.size3().expect("hidden states have three axes");
        let qkv = linear(&input, &self.qkv, None).view([b, n, 3 * n_heads, d_head]);
        let norm = HeadNorm { weight: &self.qk_weight, bias: &self.qk_bias, eps: QK_NORM_EPS };
        let heads = Heads { n_queries: n_heads, n_keys: n_heads, d_head };
        let (q, (k, v)) = match fused::turned(&qkv, turns, Some(norm), heads, cache) {
            Some(q) => (q, cache.with_next(n)),
            None => {
                let (q, kv) = self.heads(&qkv, turns, cache.kind());
                (q, cache.append(&kv))
            }
        };
        self.finished(x, &attend(&q, &k, &v, mask).to_kind(input.kind()))
    }

    /// Queries, keys and values of whole sequences, `[b, n, n_heads, d_head]` each, with the graph. `x`: `[b, n, d]`;
    /// `rotary`: the table in halves, which heads are brought back to.
    pub(super) fn project(&self, x: &Tensor, rotary: &Rotary) -> (Tensor, Tensor, Tensor) {
        let (qk, v) = self.normed_heads(x);
        let size = qk.size();
        let half = self.d_head / 2;
        let qk = qk.view([size[0], size[1], size[2], half, 2]).transpose(3, 4).reshape(size.as_slice());
        let turned = Tensor::cat(&[-qk.narrow(3, half, half), qk.narrow(3, 0, half)], 3);
        let qk = (&qk * rotary.cos.unsqueeze(1) + turned * rotary.sin.unsqueeze(1)).to_kind(x.kind());
        (qk.narrow(2, 0, self.n_heads), qk.narrow(2, self.n_heads, self.n_heads), v)
    }

    /// The residual stream after attention read `context` (`[b, n, heads * d_head]`), and after the
    /// feed-forward part. `x`: `[b, n, d]`.
    pub(super) fn finish(&self, x: &Tensor, context: &Tensor) -> Tensor {
        self.finished(&Mirrored::plain(x), &context.to_kind(x.kind())).value()
    }

    /// `context` in the kind of the stream.
    fn finished(&self, x: &Mirrored, context: &Tensor) -> Mirrored {
        let attended = fused::linear(context, &self.out);
        if self.swin_norm {
            let x = x.plus(&rms_norm(&attended, &self.attention_norm, self.eps));
            let hidden = self.feed_forward(&x.value());
            return x.plus(&rms_norm(&hidden, &self.ffn_norm, self.eps));
        }
        let x = x.plus(&attended);
        x.plus(&self.feed_forward(&x.normed(&self.ffn_norm, self.eps)))
    }

    fn feed_forward(&self, x: &Tensor) -> Tensor {
        let hidden = linear(x, &self.gate_up, None);
        if let Some(gated) = fused::gated(&hidden, Activation::Silu) {
            return fused::linear(&gated, &self.down);
        }
        let gated = hidden.narrow(-1, 0, self.d_ffn).silu() * hidden.narrow(-1, self.d_ffn, self.d_ffn);
        linear(&gated, &self.down, None)
    }
}

/// What queries read of keys and values (`[b, n_heads, .., d_head]` each): `[b, n, n_heads * d_head]`.
fn attend(q: &Tensor, k: &Tensor, v: &Tensor, mask: Option<&Tensor>) -> Tensor {
    let (b, n_heads, n, d_head) = q.size4().expect("queries have four axes");
    let context = fused::attention(q, k, v, mask)
        .unwrap_or_else(|| Tensor::scaled_dot_product_attention(q, k, v, mask, 0.0, false, None, false));
    context.transpose(1, 2).reshape([b, n, n_heads * d_head])
}

/// The rotary table of `n_positions` positions, in halves: angle `j` of `d_head / 2` grows by
/// `base^(-2 j / d_head)` a position. f32 from f64 angles.
pub(super) fn rotary_1d(n_positions: i64, d_head: i64, base: f64) -> Rotary {
    let half = d_head / 2;
    let exponents = Tensor::arange(half, (Kind::Double, tch::Device::Cpu)) * (-2.0 / d_head as f64);
    let speeds = (exponents * base.ln()).exp();
    let at = Tensor::arange(n_positions, (Kind::Double, tch::Device::Cpu));
    let angles = at.outer(&speeds).repeat([1, 2]);
    Rotary { cos: angles.cos().to_kind(Kind::Float), sin: angles.sin().to_kind(Kind::Float) }
}

/// Rows of a projection in pairs: `[n_heads * d_head, d]`, the two rows that an angle mixes side by side.
fn in_pairs(rows: &Tensor, n_heads: i64, layout: KeyLayout) -> Tensor {
    match layout {
        KeyLayout::Meta => rows.shallow_clone(),
        KeyLayout::Hf => {
            let (n_rows, d) = rows.size2().expect("a projection has two axes");
            let halves = rows.view([n_heads, 2, n_rows / n_heads / 2, d]);
            halves.transpose(1, 2).reshape([n_rows, d])
        }
    }
}
