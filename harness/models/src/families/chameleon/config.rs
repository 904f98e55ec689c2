//! Sizes of a Chameleon transformer, of its published configurations, and of its `config.json`.

use std::path::Path;

use serde::Deserialize;
use specimen_foundation::{bounded_read::read_side_text, plain_words::plain_words};
use specimen_weights::LoadError;

/// Sizes and options of the transformer, as `config.json` has them.
#[derive(Clone, Debug, PartialEq)]
pub struct ChameleonConfig {
    /// Words of the vocabulary, image tokens among them.
    pub n_words: i64,
    /// Width of the residual stream.
    pub d_model: i64,
    /// Layers.
    pub n_layers: i64,
    /// Attention heads (keys and values have as many).
    pub n_heads: i64,
    /// Width of a head.
    pub d_head: i64,
    /// Hidden width of the feed-forward part.
    pub d_ffn: i64,
    /// Base of the rotary frequencies.
    pub rope_base: f64,
    /// Epsilon of the RMS norms.
    pub norm_eps: f64,
    /// Whether the norms stand behind attention and feed-forward part instead of before them (34B only).
    pub swin_norm: bool,
    /// Positions the network was made for.
    pub n_positions: i64,
    /// How the checkpoint stores the norms of queries and keys.
    pub qk_norm: QkNormShape,
}

/// Shape of the weights and biases of the norms of queries and keys, which differs between publications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QkNormShape {
    /// `[d_head]`, for all heads alike (Meta's files).
    Vector,
    /// `[rows, d_head]`: one row for each run of `n_heads / rows` heads (1: Lumina-mGPT; `n_heads`: current HF).
    Rows(i64),
}

impl QkNormShape {
    /// What a tensor of shape `found` is; `None` if it is neither.
    pub fn of(found: &[i64]) -> Option<Self> {
        match found {
            [_] => Some(Self::Vector),
            &[rows, _] => Some(Self::Rows(rows)),
            _ => None,
        }
    }

    /// The shape for heads of width `d_head`.
    pub fn shape(self, d_head: i64) -> Vec<i64> {
        match self {
            Self::Vector => vec![d_head],
            Self::Rows(rows) => vec![rows, d_head],
        }
    }

    /// Rows that differ.
    pub(super) fn n_rows(self) -> i64 {
        match self {
            Self::Vector => 1,
            Self::Rows(rows) => rows,
        }
    }
}

impl ChameleonConfig {
    /// Chameleon-7B as Anole has it; the shape of the norms is what the file has.
    pub const CHAMELEON_7B: Self = Self {
        n_words: 65_536,
        d_model: 4096,
        n_layers: 32,
        n_heads: 32,
        d_head: 128,
        d_ffn: 11_008,
        rope_base: 10_000.0,
        norm_eps: 1e-5,
        swin_norm: false,
        n_positions: 4096,
        qk_norm: QkNormShape::Rows(32),
    };

    /// Reads a `config.json`. Absent entries have the values of transformers' `ChameleonConfig`, which are those
    /// of [`ChameleonConfig::CHAMELEON_7B`]; for Lumina-mGPT `max_position_embeddings` says how far it was trained.
    pub fn read(path: &Path) -> Result<Self, LoadError> {
        let text =
            read_side_text(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
        Self::parse(path, &text)
    }

    /// [`ChameleonConfig::read`] of text; `path` stands for the file in messages.
    pub fn parse(path: &Path, text: &str) -> Result<Self, LoadError> {
        let bad = |reason: String| LoadError::Config { path: path.to_owned(), reason };
        let file: ConfigFile = serde_json::from_str(text)
            .map_err(|e| bad(format!("not the config of a Chameleon: {}", plain_words(&e.to_string()))))?;
        let unsupported = |what: &str| bad(format!("{what}, which is not built here"));
        if file.model_type != "chameleon" {
            let found = file.model_type;
            return Err(bad(format!("`model_type` is `{found}`, expected `chameleon`")));
        }
        if file.num_key_value_heads.is_some_and(|n| n != file.num_attention_heads) {
            return Err(unsupported("keys and values have fewer heads than queries"));
        }
        if file.attention_bias || file.mlp_bias || file.tie_word_embeddings {
            return Err(unsupported("linear layers have biases, or embedding and head are one"));
        }
        if file.hidden_act != "silu" {
            return Err(unsupported(&format!("the activation is `{}`", file.hidden_act)));
        }
        if file.rope_scaling.is_some_and(|scaling| !scaling.is_null()) {
            return Err(unsupported("`rope_scaling` is set"));
        }
        let (d_model, n_heads) = (file.hidden_size, file.num_attention_heads);
        if n_heads < 1 || d_model < 1 || d_model % n_heads != 0 || (d_model / n_heads) % 2 != 0 {
            return Err(bad(format!("{n_heads} heads of even width do not fill a stream of {d_model}")));
        }
        Ok(Self {
            n_words: file.vocab_size,
            d_model,
            n_layers: file.num_hidden_layers,
            n_heads,
            d_head: d_model / n_heads,
            d_ffn: file.intermediate_size,
            rope_base: file.rope_parameters.map_or(file.rope_theta, |rope| rope.rope_theta),
            norm_eps: file.rms_norm_eps,
            swin_norm: file.swin_norm,
            n_positions: file.max_position_embeddings,
            qk_norm: QkNormShape::Rows(file.model_parallel_size),
        })
    }
}

/// The entries of a `config.json` that matter; the rest is about training or about reading images.
#[derive(Deserialize)]
#[serde(default)]
struct ConfigFile {
    model_type: String,
    vocab_size: i64,
    hidden_size: i64,
    intermediate_size: i64,
    num_hidden_layers: i64,
    num_attention_heads: i64,
    num_key_value_heads: Option<i64>,
    hidden_act: String,
    rms_norm_eps: f64,
    rope_theta: f64,
    rope_parameters: Option<RopeParameters>,
    rope_scaling: Option<serde_json::Value>,
    attention_bias: bool,
    mlp_bias: bool,
    tie_word_embeddings: bool,
    swin_norm: bool,
    model_parallel_size: i64,
    max_position_embeddings: i64,
}

/// Where transformers 5 keeps the base of the frequencies.
#[derive(Deserialize)]
struct RopeParameters {
    rope_theta: f64,
}

impl Default for ConfigFile {
    /// As transformers' `ChameleonConfig`.
    fn default() -> Self {
        let full = ChameleonConfig::CHAMELEON_7B;
        Self {
            model_type: String::new(),
            vocab_size: full.n_words,
            hidden_size: full.d_model,
            intermediate_size: full.d_ffn,
            num_hidden_layers: full.n_layers,
            num_attention_heads: full.n_heads,
            num_key_value_heads: None,
            hidden_act: "silu".into(),
            rms_norm_eps: full.norm_eps,
            rope_theta: full.rope_base,
            rope_parameters: None,
            rope_scaling: None,
            attention_bias: false,
            mlp_bias: false,
            tie_word_embeddings: false,
            swin_norm: full.swin_norm,
            model_parallel_size: 1,
            max_position_embeddings: full.n_positions,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ChameleonConfig, String> {
        ChameleonConfig::parse(Path::new("config.json"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn what_a_config_leaves_out_is_chameleon_7b() {
        let expected = ChameleonConfig { qk_norm: QkNormShape::Rows(1), ..ChameleonConfig::CHAMELEON_7B };
        assert_eq!(parse(r#"{ "model_type": "chameleon" }"#).unwrap(), expected);
    }

    #[test]
    fn every_entry_is_read() {
        let found = parse(
            r#"{
                "model_type": "chameleon", "vocab_size": 50, "hidden_size": 30, "intermediate_size": 46,
                "num_hidden_layers": 6, "num_attention_heads": 3, "rms_norm_eps": 0.02, "rope_theta": 400.0,
                "swin_norm": true, "model_parallel_size": 3, "max_position_embeddings": 160
            }"#,
        );
        let expected = ChameleonConfig {
            n_words: 50,
            d_model: 30,
            n_layers: 6,
            n_heads: 3,
            d_head: 10,
            d_ffn: 46,
            rope_base: 400.0,
            norm_eps: 0.02,
            swin_norm: true,
            n_positions: 160,
            qk_norm: QkNormShape::Rows(3),
        };
        assert_eq!(found.unwrap(), expected);
    }

    #[test]
    fn the_rotary_base_is_found_in_both_places() {
        let base =
            |entry: &str| parse(&format!(r#"{{ "model_type": "chameleon", {entry} }}"#)).unwrap().rope_base;
        assert_eq!(base(r#""rope_theta": 500.0"#), 500.0);
        assert_eq!(base(r#""rope_parameters": { "rope_theta": 600.0, "rope_type": "default" }"#), 600.0);
    }

    #[test]
    fn networks_that_are_not_built_here_are_refused() {
        let cases = [
            (r#""num_key_value_heads": 8"#, "fewer heads"),
            (r#""attention_bias": true"#, "biases"),
            (r#""hidden_act": "gelu""#, "`gelu`"),
            (r#""rope_scaling": { "factor": 2.0 }"#, "rope_scaling"),
            (r#""hidden_size": 100"#, "32 heads"),
        ];
        for (entry, part) in cases {
            let error = parse(&format!(r#"{{ "model_type": "chameleon", {entry} }}"#)).unwrap_err();
            assert!(error.contains("config.json") && error.contains(part), "{error}");
        }
        assert!(parse(r#"{ "model_type": "llama" }"#).unwrap_err().contains("`llama`"));
    }
}
