//! A LLaMA layer under the names of published files: [`Layer`](crate::llama::layer::Layer) asks for fused weights
//! under its own names, and gets them put together from what the file holds.

use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Kind, Tensor};

/// How a file names the weights of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerNames {
    /// As `transformers`: `self_attn.{q,k,v,o}_proj`, `mlp.{gate,up,down}_proj`, `input_layernorm`,
    /// `post_attention_layernorm`.
    HuggingFace,
    /// As LlamaGen: `attention.{wqkv,wo}`, `feed_forward.{w1,w2,w3}`, `attention_norm`, `ffn_norm`.
    LlamaGen,
}

/// Which entries of a head a rotary angle mixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mixed {
    /// `j` and `j + d_head / 2`.
    Halves,
    /// `2 j` and `2 j + 1`.
    Pairs,
}

/// A source that answers to a layer's own names, under any prefix, and passes all other names on.
pub struct PublishedNames<'a> {
    source: &'a mut dyn ParamSource,
    names: LayerNames,
    mixed: Mixed,
    d_head: i64,
    /// Absent: as many as attention heads.
    n_kv_heads: Option<i64>,
    norms_are_offsets: bool,
}

impl<'a> PublishedNames<'a> {
    /// Reads from `source`, whose heads are `d_head` wide.
    pub fn new(source: &'a mut dyn ParamSource, names: LayerNames, mixed: Mixed, d_head: i64) -> Self {
        Self { source, names, mixed, d_head, n_kv_heads: None, norms_are_offsets: false }
    }

    /// The same with so many heads of keys and values; absent: as many as attention heads.
    pub fn with_kv_heads(self, n: Option<i64>) -> Self {
        Self { n_kv_heads: n, ..self }
    }

    /// The same where `are`: the file says by how much the weight of a norm differs from 1, as Gemma's do. The weight is in
    /// f32: a smaller kind would lose the digits of a small difference.
    pub fn with_offset_norms(self, are: bool) -> Self {
        Self { norms_are_offsets: are, ..self }
    }

    /// Query, key and value rows, `[(n_heads + 2 * n_kv_heads) * d_head, d_input]`, in the order that [`Mixed::Halves`] turns.
    fn qkv(&mut self, layer: &str, shape: &[i64], init: Init) -> Result<Tensor, LoadError> {
        let n_still = self.n_kv_heads.map_or(shape[0] / 3, |n| n * self.d_head);
        let n_turned = shape[0] - n_still;
        let rows = match self.names {
            LayerNames::LlamaGen => {
                self.source.param(&format!("{layer}attention.wqkv.weight"), shape, init)?
            }
            LayerNames::HuggingFace => {
                let mut part = |name: &str, n_rows: i64| {
                    let name = format!("{layer}self_attn.{name}_proj.weight");
                    self.source.param(&name, &[n_rows, shape[1]], init)
                };
                let n_queries = n_turned - n_still;
                Tensor::cat(&[part("q", n_queries)?, part("k", n_still)?, part("v", n_still)?], 0)
            }
        };
        if self.mixed == Mixed::Halves {
            return Ok(rows);
        }
        let pairs = rows.narrow(0, 0, n_turned).view([-1, self.d_head / 2, 2, shape[1]]);
        let halves = pairs.transpose(1, 2).reshape([n_turned, shape[1]]);
        Ok(Tensor::cat(&[halves, rows.narrow(0, n_turned, n_still)], 0))
    }

    /// Gate rows, then up rows, `[2 * d_ffn, d]`.
    fn gate_up(&mut self, layer: &str, shape: &[i64], init: Init) -> Result<Tensor, LoadError> {
        let names = match self.names {
            LayerNames::HuggingFace => ["mlp.gate_proj", "mlp.up_proj"],
            LayerNames::LlamaGen => ["feed_forward.w1", "feed_forward.w3"],
        };
        let half = [shape[0] / 2, shape[1]];
        let mut part = |name| self.source.param(&format!("{layer}{name}.weight"), &half, init);
        Ok(Tensor::cat(&[part(names[0])?, part(names[1])?], 0))
    }
}

/// Names that stand for one tensor of the file: a layer's own, `transformers`', LlamaGen's.
const SINGLE: [(&str, &str, &str); 4] = [
    ("attention_norm.weight", "input_layernorm.weight", "attention_norm.weight"),
    ("attention.out.weight", "self_attn.o_proj.weight", "attention.wo.weight"),
    ("ffn_norm.weight", "post_attention_layernorm.weight", "ffn_norm.weight"),
    ("ffn.down.weight", "mlp.down_proj.weight", "feed_forward.w2.weight"),
];

impl ParamSource for PublishedNames<'_> {
    fn param(&mut self, name: &str, shape: &[i64], init: Init) -> Result<Tensor, LoadError> {
        if let Some(layer) = name.strip_suffix("attention.qkv.weight") {
            return self.qkv(layer, shape, init);
        }
        if let Some(layer) = name.strip_suffix("ffn.gate_up.weight") {
            return self.gate_up(layer, shape, init);
        }
        let published = SINGLE.into_iter().find_map(|(own, hugging_face, llamagen)| {
            let published = match self.names {
                LayerNames::HuggingFace => hugging_face,
                LayerNames::LlamaGen => llamagen,
            };
            Some(format!("{}{published}", name.strip_suffix(own)?))
        });
        let published = published.as_deref().unwrap_or(name);
        if self.norms_are_offsets && name.ends_with("norm.weight") {
            let offset = self.source.param(published, shape, Init::Constant(0.0))?;
            return Ok(offset.to_kind(Kind::Float) + 1.0);
        }
        self.source.param(published, shape, init)
    }
}
