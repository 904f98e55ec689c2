//! What is in the file of a trained head, by name and shape, and what the `config.json` beside it says: one list for each
//! family and kind. EAGLE-1 as LANTERN's code (3a56e45) loads it, EAGLE-3 as EAGLE's (cb7e084) does.

use tch::Tensor;

use crate::heads::{eagle1, eagle3, train};

/// A file of a head.
struct Layout {
    model: &'static str,
    is_eagle3: bool,
    /// Name and shape of every tensor, in the order of names.
    tensors: &'static str,
    /// Entries of `config.json`, in the order of names.
    entries: &'static str,
}

const LAYOUTS: [Layout; 8] = [
    Layout {
        model: "llamagen-toy",
        is_eagle3: false,
        tensors: "embed_tokens.weight [64, 32]
            fc.bias [32]
            fc.weight [32, 64]
            layers.0.mlp.down_proj.weight [32, 48]
            layers.0.mlp.gate_proj.weight [48, 32]
            layers.0.mlp.up_proj.weight [48, 32]
            layers.0.post_attention_layernorm.weight [32]
            layers.0.self_attn.k_proj.weight [32, 32]
            layers.0.self_attn.o_proj.weight [32, 32]
            layers.0.self_attn.q_proj.weight [32, 32]
            layers.0.self_attn.v_proj.weight [32, 32]",
        entries: "bias caption_dim hidden_act hidden_size intermediate_size max_position_embeddings model_type \
                  num_attention_heads num_hidden_layers prefix_pads rms_norm_eps vocab_size",
    },
    Layout {
        model: "llamagen-toy",
        is_eagle3: true,
        tensors: "fc.weight [32, 96]
            lm_head.weight [64, 32]
            midlayer.hidden_norm.weight [32]
            midlayer.input_layernorm.weight [32]
            midlayer.mlp.down_proj.weight [32, 48]
            midlayer.mlp.gate_proj.weight [48, 32]
            midlayer.mlp.up_proj.weight [48, 32]
            midlayer.post_attention_layernorm.weight [32]
            midlayer.self_attn.k_proj.weight [32, 64]
            midlayer.self_attn.o_proj.weight [32, 32]
            midlayer.self_attn.q_proj.weight [32, 64]
            midlayer.self_attn.v_proj.weight [32, 64]
            norm.weight [32]",
        entries: "bias caption_dim draft_vocab_size hidden_act hidden_size intermediate_size \
                  max_position_embeddings model_type num_attention_heads num_hidden_layers prefix_pads \
                  rms_norm_eps taps vocab_size",
    },
    Layout {
        model: "janus-toy",
        is_eagle3: false,
        tensors: "fc.bias [32]
            fc.weight [32, 64]
            layers.0.input_layernorm.weight [32]
            layers.0.mlp.down_proj.weight [32, 48]
            layers.0.mlp.gate_proj.weight [48, 32]
            layers.0.mlp.up_proj.weight [48, 32]
            layers.0.post_attention_layernorm.weight [32]
            layers.0.self_attn.k_proj.weight [32, 32]
            layers.0.self_attn.o_proj.weight [32, 32]
            layers.0.self_attn.q_proj.weight [32, 32]
            layers.0.self_attn.v_proj.weight [32, 32]",
        entries: "bias hidden_size intermediate_size model_type num_attention_heads num_hidden_layers \
                  rms_norm_eps vocab_size",
    },
    // Two heads of keys and values for four of queries.
    Layout {
        model: "emu3-toy",
        is_eagle3: false,
        tensors: "fc.bias [32]
            fc.weight [32, 64]
            layers.0.input_layernorm.weight [32]
            layers.0.mlp.down_proj.weight [32, 48]
            layers.0.mlp.gate_proj.weight [48, 32]
            layers.0.mlp.up_proj.weight [48, 32]
            layers.0.post_attention_layernorm.weight [32]
            layers.0.self_attn.k_proj.weight [16, 32]
            layers.0.self_attn.o_proj.weight [32, 32]
            layers.0.self_attn.q_proj.weight [32, 32]
            layers.0.self_attn.v_proj.weight [16, 32]",
        entries: "bias hidden_size intermediate_size model_type num_attention_heads num_hidden_layers \
                  num_key_value_heads rms_norm_eps rope_theta vocab_size",
    },
    Layout {
        model: "emu3-toy",
        is_eagle3: true,
        tensors: "fc.weight [32, 96]
            lm_head.weight [64, 32]
            midlayer.hidden_norm.weight [32]
            midlayer.input_layernorm.weight [32]
            midlayer.mlp.down_proj.weight [32, 48]
            midlayer.mlp.gate_proj.weight [48, 32]
            midlayer.mlp.up_proj.weight [48, 32]
            midlayer.post_attention_layernorm.weight [32]
            midlayer.self_attn.k_proj.weight [16, 64]
            midlayer.self_attn.o_proj.weight [32, 32]
            midlayer.self_attn.q_proj.weight [32, 64]
            midlayer.self_attn.v_proj.weight [16, 64]
            norm.weight [32]",
        entries: "bias draft_vocab_size hidden_size intermediate_size model_type num_attention_heads \
                  num_hidden_layers num_key_value_heads rms_norm_eps rope_theta taps vocab_size",
    },
    // Heads together are wider than the stream.
    Layout {
        model: "liquid-toy",
        is_eagle3: false,
        tensors: "fc.bias [32]
            fc.weight [32, 64]
            layers.0.input_layernorm.weight [32]
            layers.0.mlp.down_proj.weight [32, 48]
            layers.0.mlp.gate_proj.weight [48, 32]
            layers.0.mlp.up_proj.weight [48, 32]
            layers.0.post_attention_layernorm.weight [32]
            layers.0.self_attn.k_proj.weight [48, 32]
            layers.0.self_attn.o_proj.weight [32, 48]
            layers.0.self_attn.q_proj.weight [48, 32]
            layers.0.self_attn.v_proj.weight [48, 32]",
        entries: "bias head_dim hidden_size intermediate_size model_type num_attention_heads num_hidden_layers \
                  rms_norm_eps rope_theta vocab_size",
    },
    Layout {
        model: "lumina-toy",
        is_eagle3: false,
        tensors: "embed_tokens.weight [352, 16]
            fc.bias [16]
            fc.weight [16, 32]
            layers.0.input_layernorm.weight [16]
            layers.0.mlp.down_proj.weight [16, 24]
            layers.0.mlp.gate_proj.weight [24, 16]
            layers.0.mlp.up_proj.weight [24, 16]
            layers.0.post_attention_layernorm.weight [16]
            layers.0.self_attn.k_norm.bias [2, 8]
            layers.0.self_attn.k_norm.weight [2, 8]
            layers.0.self_attn.k_proj.weight [16, 16]
            layers.0.self_attn.o_proj.weight [16, 16]
            layers.0.self_attn.q_norm.bias [2, 8]
            layers.0.self_attn.q_norm.weight [2, 8]
            layers.0.self_attn.q_proj.weight [16, 16]
            layers.0.self_attn.v_proj.weight [16, 16]",
        entries: "bias hidden_size intermediate_size model_type num_attention_heads num_hidden_layers \
                  rms_norm_eps rope_theta swin_norm vocab_size",
    },
    Layout {
        model: "anole-toy",
        is_eagle3: true,
        tensors: "d2t [16]
            fc.weight [16, 48]
            lm_head.weight [16, 16]
            midlayer.hidden_norm.weight [16]
            midlayer.input_layernorm.weight [16]
            midlayer.mlp.down_proj.weight [16, 24]
            midlayer.mlp.gate_proj.weight [24, 16]
            midlayer.mlp.up_proj.weight [24, 16]
            midlayer.post_attention_layernorm.weight [16]
            midlayer.self_attn.k_proj.weight [16, 32]
            midlayer.self_attn.o_proj.weight [16, 16]
            midlayer.self_attn.q_proj.weight [16, 32]
            midlayer.self_attn.v_proj.weight [16, 32]
            norm.weight [16]
            t2d [352]",
        entries: "bias draft_vocab_size hidden_size intermediate_size model_type num_attention_heads \
                  num_hidden_layers rms_norm_eps rope_theta taps vocab_size",
    },
];

#[test]
fn a_trained_head_has_the_tensors_and_the_configuration_of_its_published_layout() {
    let folder = tempfile::tempdir().unwrap();
    for Layout { model, is_eagle3, tensors, entries } in LAYOUTS {
        let text = if is_eagle3 { eagle3(model) } else { eagle1(model) };
        let text = text.replace("n_steps = 80", "n_steps = 1").replace("limit = 40", "limit = 9");
        let folder = folder.path().join(format!("{model}-{is_eagle3}"));
        train(&text, &folder).unwrap();
        let file = Tensor::read_safetensors(folder.join("model.safetensors")).unwrap();
        let mut found: Vec<String> =
            file.iter().map(|(name, tensor)| format!("{name} {:?}", tensor.size())).collect();
        found.sort();
        let expected: Vec<&str> = tensors.lines().map(str::trim).collect();
        assert_eq!(found, expected, "{model}");
        let config = std::fs::read_to_string(folder.join("config.json")).unwrap();
        let config: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&config).unwrap();
        let mut found: Vec<&str> = config.keys().map(String::as_str).collect();
        found.sort_unstable();
        assert_eq!(found, entries.split_whitespace().collect::<Vec<_>>(), "{model}");
    }
}
