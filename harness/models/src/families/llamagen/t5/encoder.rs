//! The encoder of T5 with gated GELU: norms without bias, attention without scaling, and one table of relative
//! distances that all layers share. One caption at a time, without pads: a word never sees one.

use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Kind, Tensor};

use super::T5Config;
use crate::{
    files::inventory::{Expected, inventory},
    llama::layer::rms_norm,
};

struct Block {
    /// `[d]`
    attention_norm: Tensor,
    /// Query, key, value, `[n_heads * d_head, d]` each.
    projections: [Tensor; 3],
    /// `[d, n_heads * d_head]`
    out: Tensor,
    /// `[d]`
    ffn_norm: Tensor,
    /// `[d_ffn, d]`
    gate: Tensor,
    /// `[d_ffn, d]`
    up: Tensor,
    /// `[d, d_ffn]`
    down: Tensor,
}

impl Block {
    fn new(source: &mut dyn ParamSource, at: i64, config: &T5Config) -> Result<Self, LoadError> {
        let &T5Config { d_model: d, d_ffn, n_heads, d_head, .. } = config;
        let inner = n_heads * d_head;
        let mut layer = |layer: usize, name: &str, shape: &[i64], init| {
            source.param(&format!("encoder.block.{at}.layer.{layer}.{name}.weight"), shape, init)
        };
        let (norm, unit) = (Init::Constant(1.0), Init::Normal((d as f64).powf(-0.5)));
        Ok(Self {
            attention_norm: layer(0, "layer_norm", &[d], norm)?,
            projections: [
                layer(0, "SelfAttention.q", &[inner, d], unit)?,
                layer(0, "SelfAttention.k", &[inner, d], unit)?,
                layer(0, "SelfAttention.v", &[inner, d], unit)?,
            ],
            out: layer(0, "SelfAttention.o", &[d, inner], unit)?,
            ffn_norm: layer(1, "layer_norm", &[d], norm)?,
            gate: layer(1, "DenseReluDense.wi_0", &[d_ffn, d], unit)?,
            up: layer(1, "DenseReluDense.wi_1", &[d_ffn, d], unit)?,
            down: layer(1, "DenseReluDense.wo", &[d, d_ffn], unit)?,
        })
    }

    /// `x`: `[n, d]`; `bias`: `[n_heads, n, n]`.
    fn forward(&self, x: &Tensor, bias: &Tensor, config: &T5Config) -> Tensor {
        let n = x.size()[0];
        let normed = rms_norm(x, &self.attention_norm, config.norm_eps);
        let heads = |weight: &Tensor| {
            normed.linear(weight, None::<&Tensor>).view([n, config.n_heads, config.d_head]).transpose(0, 1)
        };
        let [q, k, v] = self.projections.each_ref().map(heads);
        let scores = q.matmul(&k.transpose(1, 2)) + bias;
        // Summed in f32, whatever the weights are in.
        let weights = scores.softmax(-1, Kind::Float).to_kind(v.kind());
        let context = weights.matmul(&v).transpose(0, 1).reshape([n, config.n_heads * config.d_head]);
        let x = x + context.linear(&self.out, None::<&Tensor>);
        let normed = rms_norm(&x, &self.ffn_norm, config.norm_eps);
        let gate = normed.linear(&self.gate, None::<&Tensor>).gelu("tanh");
        let hidden = gate * normed.linear(&self.up, None::<&Tensor>);
        x + hidden.linear(&self.down, None::<&Tensor>)
    }
}

/// The weights of an encoder.
pub struct T5Encoder {
    config: T5Config,
    /// `[n_words, d]`
    words: Tensor,
    /// `[n_buckets, n_heads]`
    distances: Tensor,
    blocks: Vec<Block>,
    /// `[d]`
    norm: Tensor,
}

impl T5Encoder {
    /// Reads or makes the parameters.
    pub fn new(source: &mut dyn ParamSource, config: &T5Config) -> Result<Self, LoadError> {
        let _guard = tch::no_grad_guard();
        let words = source.param("shared.weight", &[config.n_words, config.d_model], Init::Normal(1.0))?;
        let distances = source.param(
            "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
            &[config.n_buckets, config.n_heads],
            Init::Normal(0.5),
        )?;
        let blocks =
            (0..config.n_layers).map(|at| Block::new(source, at, config)).collect::<Result<_, _>>()?;
        let norm = source.param("encoder.final_layer_norm.weight", &[config.d_model], Init::Constant(1.0))?;
        Ok(Self { config: *config, words, distances, blocks, norm })
    }

    /// The tensors that a file must hold.
    pub fn expected(config: &T5Config) -> Result<Vec<Expected>, LoadError> {
        inventory(|source| Self::new(source, config).map(|_| ()))
    }

    /// Whether a published file has the tensor `name` for another purpose: the decoder, or the words once more.
    pub fn is_not_of_the_encoder(name: &str) -> bool {
        name.starts_with("decoder.") || ["lm_head.weight", "encoder.embed_tokens.weight"].contains(&name)
    }

    /// The sizes it was built with.
    pub fn config(&self) -> &T5Config {
        &self.config
    }

    /// Features of a caption. `words`: ids, at least one; returns `[n, d]`.
    pub fn encode(&self, words: &[i64]) -> Tensor {
        let _guard = tch::no_grad_guard();
        let device = self.words.device();
        let n = words.len() as i64;
        let mut x = self.words.index_select(0, &Tensor::from_slice(words).to_device(device));
        let buckets = Tensor::from_slice(&self.buckets(n)).to_device(device);
        let bias = self.distances.index_select(0, &buckets).view([n, n, -1]).permute([2, 0, 1]);
        for block in &self.blocks {
            x = block.forward(&x, &bias, &self.config);
        }
        rms_norm(&x, &self.norm, self.config.norm_eps)
    }

    /// Row by row, the bucket of each pair of places.
    fn buckets(&self, n: i64) -> Vec<i64> {
        let T5Config { n_buckets, max_distance, .. } = self.config;
        (0..n).flat_map(|from| (0..n).map(move |to| bucket(to - from, n_buckets, max_distance))).collect()
    }
}

/// The bucket of a distance, positive to the right: half of the buckets for each direction, of which half are exact
/// and the others grow by a constant factor.
pub fn bucket(distance: i64, n_buckets: i64, max_distance: i64) -> i64 {
    let n_each = n_buckets / 2;
    let n_exact = n_each / 2;
    let side = if 0 < distance { n_each } else { 0 };
    let length = distance.abs();
    if length < n_exact {
        return side + length;
    }
    // In f32, as the published code has it: a rounding could move a length into the next bucket.
    let grown = (length as f32 / n_exact as f32).ln() / (max_distance as f32 / n_exact as f32).ln();
    let at = n_exact + (grown * (n_each - n_exact) as f32) as i64;
    side + at.min(n_each - 1)
}
