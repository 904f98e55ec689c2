//! Names of the tensors of a Chameleon transformer in the two layouts in which it is published, and the full list
//! of them with their shapes.
//!
//! Meta's files keep the two rows that a rotary angle mixes side by side; files in HF's layout keep them half a
//! head apart, in the projections of queries and keys and in their norms alike.

use super::ChameleonConfig;

/// How a checkpoint names and orders its tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyLayout {
    /// Of transformers: Lumina-mGPT, leloy/Anole.
    Hf,
    /// Of Meta's `consolidated.pth`: Chameleon, GAIR/Anole.
    Meta,
}

/// The tensors of a layer, without its prefix, but for the norms of queries and keys in two parts each.
pub(super) struct LayerKeys {
    pub(super) attention_norm: &'static str,
    pub(super) query: &'static str,
    pub(super) key: &'static str,
    pub(super) value: &'static str,
    pub(super) out: &'static str,
    pub(super) query_norm: &'static str,
    pub(super) key_norm: &'static str,
    pub(super) ffn_norm: &'static str,
    pub(super) gate: &'static str,
    pub(super) up: &'static str,
    pub(super) down: &'static str,
}

const HF: LayerKeys = LayerKeys {
    attention_norm: "input_layernorm.weight",
    query: "self_attn.q_proj.weight",
    key: "self_attn.k_proj.weight",
    value: "self_attn.v_proj.weight",
    out: "self_attn.o_proj.weight",
    query_norm: "self_attn.q_norm",
    key_norm: "self_attn.k_norm",
    ffn_norm: "post_attention_layernorm.weight",
    gate: "mlp.gate_proj.weight",
    up: "mlp.up_proj.weight",
    down: "mlp.down_proj.weight",
};

const META: LayerKeys = LayerKeys {
    attention_norm: "attention_norm.weight",
    query: "attention.wq.weight",
    key: "attention.wk.weight",
    value: "attention.wv.weight",
    out: "attention.wo.weight",
    query_norm: "attention.q_normalization",
    key_norm: "attention.k_normalization",
    ffn_norm: "ffn_norm.weight",
    gate: "feed_forward.w1.weight",
    up: "feed_forward.w3.weight",
    down: "feed_forward.w2.weight",
};

impl KeyLayout {
    /// Input embedding, `[n_words, d]`.
    pub fn embedding(self) -> &'static str {
        match self {
            Self::Hf => "model.embed_tokens.weight",
            Self::Meta => "tok_embeddings.weight",
        }
    }

    /// Final norm, `[d]`.
    pub fn norm(self) -> &'static str {
        match self {
            Self::Hf => "model.norm.weight",
            Self::Meta => "norm.weight",
        }
    }

    /// Output head, `[n_words, d]`.
    pub fn head(self) -> &'static str {
        match self {
            Self::Hf => "lm_head.weight",
            Self::Meta => "output.weight",
        }
    }

    /// What the names of layer `i` begin with.
    pub fn layer_prefix(self, i: i64) -> String {
        match self {
            Self::Hf => format!("model.layers.{i}."),
            Self::Meta => format!("layers.{i}."),
        }
    }

    /// The tensor whose shape tells how the norms of queries and keys are stored.
    pub fn first_query_norm(self) -> String {
        format!("{}{}.weight", self.layer_prefix(0), self.layer().query_norm)
    }

    /// Whether a tensor of a published file is no part of the transformer: the tower that reads images, and tables
    /// that follow from the configuration.
    pub fn is_beside(self, name: &str) -> bool {
        match self {
            Self::Hf => name.starts_with("model.vqmodel.") || name.ends_with("rotary_emb.inv_freq"),
            Self::Meta => name == "rope.freqs",
        }
    }

    pub(super) fn layer(self) -> &'static LayerKeys {
        match self {
            Self::Hf => &HF,
            Self::Meta => &META,
        }
    }
}

/// The tensors of a layer with their shapes.
pub(super) fn layer_inventory(config: &ChameleonConfig, layout: KeyLayout) -> Vec<(String, Vec<i64>)> {
    let keys = layout.layer();
    let &ChameleonConfig { d_model, n_heads, d_head, d_ffn, .. } = config;
    let d_heads = n_heads * d_head;
    let mut all: Vec<(String, Vec<i64>)> = vec![
        (keys.attention_norm.into(), vec![d_model]),
        (keys.query.into(), vec![d_heads, d_model]),
        (keys.key.into(), vec![d_heads, d_model]),
        (keys.value.into(), vec![d_heads, d_model]),
        (keys.out.into(), vec![d_model, d_heads]),
        (keys.ffn_norm.into(), vec![d_model]),
        (keys.gate.into(), vec![d_ffn, d_model]),
        (keys.up.into(), vec![d_ffn, d_model]),
        (keys.down.into(), vec![d_model, d_ffn]),
    ];
    for norm in [keys.query_norm, keys.key_norm] {
        for part in ["weight", "bias"] {
            all.push((format!("{norm}.{part}"), config.qk_norm.shape(d_head)));
        }
    }
    all
}

/// Every tensor of a checkpoint with its shape: what loading asks for, and nothing else.
pub fn inventory(config: &ChameleonConfig, layout: KeyLayout) -> Vec<(String, Vec<i64>)> {
    let &ChameleonConfig { n_words, d_model, n_layers, .. } = config;
    let mut all = vec![
        (layout.embedding().to_owned(), vec![n_words, d_model]),
        (layout.norm().to_owned(), vec![d_model]),
        (layout.head().to_owned(), vec![n_words, d_model]),
    ];
    for i in 0..n_layers {
        let prefix = layout.layer_prefix(i);
        all.extend(
            layer_inventory(config, layout)
                .into_iter()
                .map(|(name, shape)| (format!("{prefix}{name}"), shape)),
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parameters of an inventory.
    fn n_params(config: &ChameleonConfig, layout: KeyLayout) -> i64 {
        inventory(config, layout).iter().map(|(_, shape)| shape.iter().product::<i64>()).sum()
    }

    #[test]
    fn chameleon_7b_has_its_published_number_of_parameters() {
        assert_eq!(n_params(&ChameleonConfig::CHAMELEON_7B, KeyLayout::Hf), 7_013_666_816);
        assert_eq!(n_params(&ChameleonConfig::CHAMELEON_7B, KeyLayout::Meta), 7_013_666_816);
    }
}
