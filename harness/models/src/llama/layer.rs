//! One LLaMA decoder layer: RMSNorm, rotary attention, a gated feed-forward part. The tiny target and every EAGLE-1 head are
//! made of it, and with another gate and norms in f32 it is Gemma's.
//!
//! Two ways through the same weights: [`Layer::whole`] runs whole sequences and keeps the graph for training;
//! [`Layer::step`] appends a few nodes to a [`KvCache`](crate::seam::kv::KvCache) with as few kernels as possible.

use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Kind, Tensor};

use crate::{
    llama::{
        fused::{self, Heads},
        linear::{held, linear},
        mirror::{MirrorNorm, Mirrored},
    },
    seam::kv::LayerCache,
};

/// What the gate of a feed-forward part goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// SiLU, as in LLaMA.
    Silu,
    /// GELU by its formula with a hyperbolic tangent, as in Gemma.
    GeluTanh,
}

impl Activation {
    fn of(self, x: &Tensor) -> Tensor {
        match self {
            Self::Silu => x.silu(),
            Self::GeluTanh => x.gelu("tanh"),
        }
    }
}

/// Sizes of a layer, and its gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerShape {
    /// Width of the residual stream.
    pub d_model: i64,
    /// Attention heads.
    pub n_heads: i64,
    /// Heads of keys and values; they divide the attention heads, of which each run of as many reads one of them.
    pub n_kv_heads: i64,
    /// Width of a head; even.
    pub d_head: i64,
    /// Hidden width of the feed-forward part.
    pub d_ffn: i64,
    /// Of its gate.
    pub activation: Activation,
}

impl LayerShape {
    /// Heads that are turned, queries and keys, and those that are not, values.
    pub fn turned_and_still(self) -> [i64; 2] {
        [self.n_heads + self.n_kv_heads, self.n_kv_heads]
    }

    /// Heads of keys and values where they are fewer than the attention heads.
    pub fn shared_heads(self) -> Option<i64> {
        (self.n_kv_heads != self.n_heads).then_some(self.n_kv_heads)
    }

    /// The mask that [`Layer::step`] takes: that of the nodes, `[n, n_cached + n]` or `[b, 1, n, ..]`, with its rows once for
    /// each head of those that share keys; as it is where no heads do, or where one row is that of all.
    pub fn mask_of_heads(self, mask: Option<&Tensor>) -> Option<Tensor> {
        let n_sharing = self.n_heads / self.n_kv_heads;
        mask.map(|mask| {
            let mut size = mask.size();
            let rows = size.len() - 2;
            if n_sharing == 1 || size[rows] == 1 {
                return mask.shallow_clone();
            }
            size.insert(rows, n_sharing);
            let repeated = mask.unsqueeze(-3).expand(&size, false);
            size.remove(rows);
            size[rows] *= n_sharing;
            repeated.reshape(size)
        })
    }
}

/// Cosines and sines of rotary positions, `[n, d_head]` each, in rotate-half layout.
pub struct Rotary {
    /// `[n, d_head]`
    pub cos: Tensor,
    /// `[n, d_head]`
    pub sin: Tensor,
}

impl Rotary {
    /// Rows `from..from + n`.
    pub fn narrow(&self, from: i64, n: i64) -> Self {
        Self { cos: self.cos.narrow(0, from, n), sin: self.sin.narrow(0, from, n) }
    }

    /// The same table in another kind.
    pub fn to_kind(&self, kind: Kind) -> Self {
        Self { cos: self.cos.to_kind(kind), sin: self.sin.to_kind(kind) }
    }

    /// The same table on another device.
    pub fn to_device(&self, device: tch::Device) -> Self {
        Self { cos: self.cos.to_device(device), sin: self.sin.to_device(device) }
    }
}

/// Rotary positions as unit complex numbers, for [`Layer::step`].
pub struct Turns(Tensor);

impl Turns {
    /// `[n_positions, d_head / 2]`, complex; entry `j` of a row is `exp(i angle_j)`.
    pub fn new(rotary: &Rotary) -> Self {
        let half = rotary.cos.size()[1] / 2;
        let first = |table: &Tensor| table.narrow(1, 0, half).to_kind(Kind::Float);
        Self(Tensor::complex(&first(&rotary.cos), &first(&rotary.sin)))
    }

    /// The rows `positions` (`[n]`, i64) as a table in `kind`, for [`Layer::whole`].
    pub fn rotary(&self, positions: &Tensor, kind: Kind) -> Rotary {
        let rows = self.0.index_select(0, positions);
        let table = |part: Tensor| part.repeat([1, 2]).to_kind(kind);
        Rotary { cos: table(rows.real()), sin: table(rows.imag()) }
    }

    /// The rows `positions` (`[n]` or `[b, n]`, i64) for heads that are turned and, behind them, heads that are not.
    /// Returns `[n, n_turned + n_still, d_head / 2]`, or `[b, n, ..]`.
    pub fn at(&self, positions: &Tensor, [n_turned, n_still]: [i64; 2]) -> Tensor {
        let half = self.0.size()[1];
        let of_heads = |n_heads: i64| [positions.size(), vec![n_heads, half]].concat();
        let rows = self.0.index_select(0, &positions.view([-1])).view(of_heads(1).as_slice());
        let turned = rows.expand(of_heads(n_turned), false);
        Tensor::cat(
            &[turned, self.0.new_ones(of_heads(n_still).as_slice(), (self.0.kind(), self.0.device()))],
            -2,
        )
    }
}

/// Rotary table of a raster image behind `n_prefix` unrotated slots (LLaMA-style 2-D RoPE).
///
/// The first half of the frequencies turns with the row, the second with the column; frequency `j` of
/// `d_head / 4` is `base^(-j / (d_head / 4))`. Prefix rows are the identity (cosine 1, sine 0).
/// Returns `[n_prefix + side * side, d_head]` in f32.
pub fn rotary_2d(n_prefix: i64, side: i64, d_head: i64, base: f64) -> Rotary {
    let quarter = d_head / 4;
    let mut cos = Vec::new();
    let mut sin = Vec::new();
    for slot in 0..n_prefix + side * side {
        let cell = slot - n_prefix;
        let (row, column) = if cell < 0 { (0, 0) } else { (cell / side, cell % side) };
        let angles: Vec<f64> = [row, column]
            .into_iter()
            .flat_map(|at| (0..quarter).map(move |j| at as f64 * base.powf(-(j as f64) / quarter as f64)))
            .collect();
        // Rotate-half: both halves of the head carry the same angles.
        for angle in angles.iter().chain(&angles) {
            cos.push(angle.cos() as f32);
            sin.push(angle.sin() as f32);
        }
    }
    let shape = [n_prefix + side * side, d_head];
    Rotary { cos: Tensor::from_slice(&cos).view(shape), sin: Tensor::from_slice(&sin).view(shape) }
}

/// `x * rsqrt(mean(x^2) + eps) * weight`, computed in f32 inside the kernel. `x`: `[.., d]`. Behind a weight in f32 the result
/// is rounded to the kind of `x`, once.
pub fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64) -> Tensor {
    in_kind_of(weight, x, |x| x.rms_norm(weight.size(), Some(weight), eps))
}

/// What `norm` makes of `x` in the kind of its weight, in the kind of `x`.
pub(crate) fn in_kind_of(weight: &Tensor, x: &Tensor, norm: impl FnOnce(&Tensor) -> Tensor) -> Tensor {
    match x.kind() == weight.kind() {
        true => norm(x),
        false => norm(&x.to_kind(weight.kind())).to_kind(x.kind()),
    }
}

/// The weights of one layer.
pub struct Layer {
    shape: LayerShape,
    eps: f64,
    /// `[d]`; absent in the LlamaGen EAGLE-1 head.
    attention_norm: Option<Tensor>,
    /// `[(n_heads + 2 * n_kv_heads) * d_head, d_input]`: query, key, value rows. Once prepared, the two rows that a rotary angle mixes are
    /// side by side, query and key heads alike: their products are unchanged, and turning is one complex product.
    qkv: Tensor,
    /// `[d, n_heads * d_head]`
    out: Tensor,
    /// `[d]`
    ffn_norm: Tensor,
    /// `[2 * d_ffn, d]`: gate rows, then up rows.
    gate_up: Tensor,
    /// `[d, d_ffn]`
    down: Tensor,
    /// Built once for decoding.
    decoding: Option<Decoding>,
}

/// What [`Layer::step`] reads in place of some weights.
struct Decoding {
    attention_norm: Option<MirrorNorm>,
    ffn_norm: MirrorNorm,
}

impl Layer {
    /// Reads or makes the parameters.
    pub fn new(
        source: &mut dyn ParamSource,
        shape: LayerShape,
        input_norm: bool,
        n_layers: i64,
        eps: f64,
    ) -> Result<Self, LoadError> {
        let norm = if input_norm {
            Some(source.param("attention_norm.weight", &[shape.d_model], Init::Constant(1.0))?)
        } else {
            None
        };
        Self::behind(source, norm, shape, shape.d_model, n_layers, eps)
    }

    /// A layer whose attention reads a vector of width `d_input` that the caller makes beside the residual
    /// stream, for [`Layer::project_from`] and [`Layer::step_from`].
    pub fn with_input(
        source: &mut dyn ParamSource,
        shape: LayerShape,
        d_input: i64,
        n_layers: i64,
        eps: f64,
    ) -> Result<Self, LoadError> {
        Self::behind(source, None, shape, d_input, n_layers, eps)
    }

    fn behind(
        source: &mut dyn ParamSource,
        attention_norm: Option<Tensor>,
        shape: LayerShape,
        d_input: i64,
        n_layers: i64,
        eps: f64,
    ) -> Result<Self, LoadError> {
        let LayerShape { d_model, n_heads, n_kv_heads, d_head, d_ffn, .. } = shape;
        assert_eq!(n_heads % n_kv_heads, 0, "heads of keys and values divide the attention heads");
        let n_rows = (n_heads + 2 * n_kv_heads) * d_head;
        let fan_in = |n: i64| Init::Normal((n as f64).powf(-0.5));
        // Residual branches start small so that the depth does not grow the stream.
        let residual =
            |fan_in: i64| Init::Normal((fan_in as f64).powf(-0.5) / (2.0 * n_layers as f64).sqrt());
        Ok(Self {
            shape,
            eps,
            attention_norm,
            qkv: source.param("attention.qkv.weight", &[n_rows, d_input], fan_in(d_input))?,
            out: source.param(
                "attention.out.weight",
                &[d_model, n_heads * d_head],
                residual(n_heads * d_head),
            )?,
            ffn_norm: source.param("ffn_norm.weight", &[d_model], Init::Constant(1.0))?,
            gate_up: source.param("ffn.gate_up.weight", &[2 * d_ffn, d_model], fan_in(d_model))?,
            down: source.param("ffn.down.weight", &[d_model, d_ffn], residual(d_ffn))?,
            decoding: None,
        })
    }

    /// Builds what [`Layer::step`] needs; the parameters are no longer those of the source, so nothing can train them.
    pub fn prepare(&mut self) {
        let _guard = tch::no_grad_guard();
        if self.decoding.is_some() {
            return;
        }
        self.qkv = held(&self.reordered([2, self.shape.d_head / 2]));
        for weight in [&mut self.out, &mut self.gate_up, &mut self.down] {
            *weight = held(weight);
        }
        let norm = |weight: &Tensor| MirrorNorm::new(weight, self.eps);
        self.decoding = Some(Decoding {
            attention_norm: self.attention_norm.as_ref().map(norm),
            ffn_norm: norm(&self.ffn_norm),
        });
    }

    /// `qkv` with the rows of each query and key head, which are `order[0]` groups of `order[1]`, as `order[1]` groups of
    /// `order[0]`.
    fn reordered(&self, [n_groups, n_in_group]: [i64; 2]) -> Tensor {
        let d_head = self.shape.d_head;
        let ([n_heads, n_still], d_input) = (self.shape.turned_and_still(), self.qkv.size()[1]);
        let n_turned = n_heads * d_head;
        let groups = self.qkv.narrow(0, 0, n_turned).view([n_heads, n_groups, n_in_group, d_input]);
        let turned = groups.transpose(1, 2).reshape([n_turned, d_input]);
        Tensor::cat(&[turned, self.qkv.narrow(0, n_turned, n_still * d_head)], 0)
    }

    /// `qkv` in the order of the source.
    fn qkv_in_halves(&self) -> Tensor {
        match self.decoding {
            Some(_) => self.reordered([self.shape.d_head / 2, 2]),
            None => self.qkv.shallow_clone(),
        }
    }

    /// Query, key and value projections of the normed input, as many of each: keys and values that heads share are repeated.
    /// `x`: `[b, n, d]`; each `[b, n, n_heads, d_head]`. Once prepared, every call brings the rows back into the order of the
    /// source.
    pub fn project(&self, x: &Tensor, rotary: &Rotary) -> (Tensor, Tensor, Tensor) {
        self.project_from(&self.normed_input(x), rotary)
    }

    /// The same of what attention reads as it is. `normed`: `[b, n, d_input]`.
    pub fn project_from(&self, normed: &Tensor, rotary: &Rotary) -> (Tensor, Tensor, Tensor) {
        let LayerShape { n_heads, n_kv_heads, d_head, .. } = self.shape;
        let (b, n, _) = normed.size3().expect("hidden states have three axes");
        let [n_turned, n_still] = self.shape.turned_and_still();
        let qkv = linear(normed, &self.qkv_in_halves(), None).view([b, n, n_turned + n_still, d_head]);
        let qk = qkv.narrow(2, 0, n_turned);
        let half = d_head / 2;
        let turned = Tensor::cat(&[-qk.narrow(3, half, half), qk.narrow(3, 0, half)], 3);
        let qk = &qk * rotary.cos.unsqueeze(1) + turned * rotary.sin.unsqueeze(1);
        let (k, v) = (qk.narrow(2, n_heads, n_kv_heads), qkv.narrow(2, n_turned, n_kv_heads));
        let n_sharing = n_heads / n_kv_heads;
        if n_sharing == 1 {
            return (qk.narrow(2, 0, n_heads), k, v);
        }
        let [k, v] = [k, v].map(|heads| heads.repeat_interleave_self_int(n_sharing, 2, n_heads));
        (qk.narrow(2, 0, n_heads), k, v)
    }

    /// The residual stream after attention read `context` (`[b, n, heads * d_head]`), and after the
    /// feed-forward part. `x`: `[b, n, d]`.
    pub fn finish(&self, x: &Tensor, context: &Tensor) -> Tensor {
        let x = x + linear(context, &self.out, None);
        let normed = rms_norm(&x, &self.ffn_norm, self.eps);
        x + self.feed_forward(&normed)
    }

    fn feed_forward(&self, normed: &Tensor) -> Tensor {
        let hidden = linear(normed, &self.gate_up, None);
        if let Some(gated) = fused::gated(&hidden, self.shape.activation) {
            return fused::linear(&gated, &self.down);
        }
        let d_ffn = self.shape.d_ffn;
        let gate = self.shape.activation.of(&hidden.narrow(-1, 0, d_ffn));
        let gated = gate * hidden.narrow(-1, d_ffn, d_ffn);
        linear(&gated, &self.down, None)
    }

    /// Whole sequences with an additive mask `[n, n]`, keeping the graph. `x`: `[b, n, d]`.
    pub fn whole(&self, x: &Tensor, rotary: &Rotary, mask: &Tensor) -> Tensor {
        let (q, k, v) = self.project(x, rotary);
        self.finish(x, &whole_attention(&q, &k, &v, mask))
    }

    /// `n` nodes behind the cache, which takes them in. `x`: `[b, n, d]`; `turns` as from [`Turns::at`] for
    /// [`LayerShape::turned_and_still`]; `mask`: additive `[n, n_cached + n]` in the kind of the cache, in which attention
    /// runs, as from [`LayerShape::mask_of_heads`]; absent when all is visible.
    pub fn step(
        &self,
        x: &Mirrored,
        turns: &Tensor,
        cache: &mut LayerCache,
        mask: Option<&Tensor>,
    ) -> Mirrored {
        let normed = match &self.decoding().attention_norm {
            Some(norm) => norm.forward(x),
            None => x.value(),
        };
        self.step_from(&normed, x, turns, cache, mask)
    }

    /// As [`Layer::step`], with attention reading `normed` (`[b, n, d_input]`) beside the residual stream `x`.
    pub fn step_from(
        &self,
        normed: &Tensor,
        x: &Mirrored,
        turns: &Tensor,
        cache: &mut LayerCache,
        mask: Option<&Tensor>,
    ) -> Mirrored {
        let LayerShape { n_heads, n_kv_heads, d_head, .. } = self.shape;
        let decoding = self.decoding();
        let (b, n, _) = normed.size3().expect("hidden states have three axes");
        let n_all = n_heads + 2 * n_kv_heads;
        let qkv = linear(normed, &self.qkv, None).view([b, n, n_all, d_head]);
        let heads = Heads { n_queries: n_heads, n_keys: n_kv_heads, d_head };
        let (q, (k, v)) = match fused::turned(&qkv, turns, None, heads, cache) {
            Some(q) => (q, cache.with_next(n)),
            None => {
                let qkv =
                    qkv.to_kind(Kind::Float).view([b, n, n_all, d_head / 2, 2]).view_as_complex() * turns;
                let qkv =
                    qkv.view_as_real().view([b, n, n_all, d_head]).to_kind(cache.kind()).transpose(1, 2);
                let kv = cache.append(&qkv.narrow(1, n_heads, 2 * n_kv_heads));
                (qkv.narrow(1, 0, n_heads), kv)
            }
        };
        // Heads that share keys are rows of one head, so that keys and values are read once and never repeated.
        let q = if n_heads == n_kv_heads { q } else { q.reshape([b, n_kv_heads, -1, d_head]) };
        let context = fused::attention(&q, &k, &v, mask).unwrap_or_else(|| {
            Tensor::scaled_dot_product_attention(&q, &k, &v, mask, 0.0, false, None, false)
        });
        let context = if n_heads == n_kv_heads { context } else { context.reshape([b, n_heads, n, d_head]) };
        let context = context.transpose(1, 2).reshape([b, n, n_heads * d_head]).to_kind(normed.kind());
        let x = x.plus(&fused::linear(&context, &self.out));
        x.plus(&self.feed_forward(&decoding.ffn_norm.forward(&x)))
    }

    fn decoding(&self) -> &Decoding {
        self.decoding.as_ref().expect("prepare() ran before decoding")
    }

    fn normed_input(&self, x: &Tensor) -> Tensor {
        match &self.attention_norm {
            Some(weight) => rms_norm(x, weight, self.eps),
            None => x.shallow_clone(),
        }
    }
}

/// Softmax attention written out, which trains faster on a CPU than the fused kernel's backward.
///
/// `q`, `k`, `v`: `[b, n, heads, d_head]`; `mask`: additive `[n, n]`. Returns `[b, n, heads * d_head]`.
pub fn whole_attention(q: &Tensor, k: &Tensor, v: &Tensor, mask: &Tensor) -> Tensor {
    let (b, n, n_heads, d_head) = q.size4().expect("queries have four axes");
    let flat = |x: &Tensor| x.transpose(1, 2).reshape([b * n_heads, n, d_head]);
    let (q, k, v) = (flat(q) * (d_head as f64).powf(-0.5), flat(k), flat(v));
    let weights = (q.bmm(&k.transpose(1, 2)) + mask).softmax(-1, None::<Kind>);
    weights.bmm(&v).view([b, n_heads, n, d_head]).transpose(1, 2).reshape([b, n, n_heads * d_head])
}

/// Additive causal mask `[n, n]`: 0 where a row may look, minus infinity elsewhere.
pub fn causal_mask(n: i64, kind: Kind) -> Tensor {
    Tensor::full([n, n], f64::NEG_INFINITY, (Kind::Float, tch::Device::Cpu)).triu(1).to_kind(kind)
}
