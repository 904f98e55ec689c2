//! The heads of a LlamaGen: EAGLE-1 as LANTERN publishes it, the same trained otherwise (CASCADE, arXiv 2605.07230, weighs
//! its loss), and EAGLE-3 in the layout of its authors.
//!
//! A head sees the features of all slots before the image, pads included. In LANTERN's code a pad sees the pads before
//! it, in LlamaGen's itself alone; the features differ in the row without a caption. What a head was trained on is in its
//! `config.json`: `"prefix_pads": "earlier"` (LANTERN, where nothing is said, and what is trained here) or `"itself"`.

use std::rc::Rc;

use serde_json::json;

use super::{Condition, LlamaGenConfig};
use crate::{
    files::{published_names::Mixed, sidecar::Sidecar},
    heads::{
        described_head::{DescribeHead, DescribedHead, FrontPairs, HeadKind, RepeatedTensor},
        draft_head::DraftHead,
        eagle::{EagleConfig, EaglePrefix},
        eagle3_file::{self, Eagle3Target},
        head_file::{HeadFile, config_of},
        lantern_head::LanternHead,
    },
    llama::{image_llama::ImageLlama, padded::PadView},
};

/// Epsilon of a head's norms where its `config.json` says nothing: LANTERN's heads differ from the target there.
const HEAD_EPS: f64 = 1e-6;

/// Positions that the published `config.json` of both heads has.
const MAX_POSITIONS: i64 = 2048;

/// LANTERN's names of LlamaGens of captions, by the tokens of their images.
const INPUT_TYPES: [(i64, &str); 2] = [(256, "t2i"), (1024, "t2i2")];

/// What LANTERN's heads for a LlamaGen of these sizes are like; `norm_eps` is in the `config.json` beside a head.
pub fn drafter_config(config: &LlamaGenConfig, norm_eps: f64) -> EagleConfig {
    EagleConfig {
        bias: true,
        input_norm: false,
        output_norm: false,
        prefix: EaglePrefix::Whole,
        n_heads: config.n_heads,
        n_kv_heads: None,
        d_head: config.d_head(),
        d_ffn: config.d_ffn,
        norm_eps,
    }
}

/// Describes the heads of a target of `config` that is `backbone`.
pub(super) fn describe(config: LlamaGenConfig, backbone: Rc<ImageLlama>) -> DescribeHead {
    Box::new(move |kind, file| {
        let pad_view = pad_view(&file.sidecar)?;
        match kind {
            HeadKind::Eagle1 => Ok(eagle1(config, &backbone, file, pad_view)),
            HeadKind::Eagle3 => eagle3_file::describe(eagle3_target(&config, &backbone, pad_view), file),
        }
    })
}

fn eagle1(
    config: LlamaGenConfig,
    backbone: &ImageLlama,
    file: &HeadFile<'_>,
    pad_view: PadView,
) -> DescribedHead {
    let sizes = (config.d_model, config.n_vocab);
    let norm_eps = file.sidecar.number("rms_norm_eps").unwrap_or(HEAD_EPS);
    let bias = file.sidecar.flag("bias").unwrap_or(true);
    let of_head = EagleConfig { bias, ..drafter_config(&config, norm_eps) };
    let tokens = backbone.token_table().shallow_clone();
    let mut more = entries(&config, pad_view);
    more["bias"] = bias.into();
    DescribedHead {
        kind: HeadKind::Eagle1,
        front: FrontPairs::ZerothToken,
        pad_view,
        repeated: vec![RepeatedTensor {
            name: LanternHead::EMBEDDING.to_owned(),
            stored: tokens.kind(),
            tensor: tokens,
        }],
        starts: Vec::new(),
        config: config_of("llama", config.stack().layer, (config.n_vocab, norm_eps), more),
        build: Box::new(move |source| {
            let head = LanternHead::eagle1(source, &of_head, Mixed::Pairs, sizes)?;
            Ok(Box::new(head) as Box<dyn DraftHead>)
        }),
    }
}

fn eagle3_target(config: &LlamaGenConfig, backbone: &ImageLlama, pad_view: PadView) -> Eagle3Target {
    Eagle3Target {
        layer: config.stack().layer,
        n_layers: config.n_layers,
        n_codes: config.n_vocab,
        vocab_size: config.n_vocab,
        mixed: Mixed::Pairs,
        norm_eps: HEAD_EPS,
        front: FrontPairs::ZerothToken,
        pad_view,
        may_bring_tokens: true,
        rows: None,
        starts: backbone.output_starts(),
        more: entries(config, pad_view),
    }
}

/// What LANTERN's code (3a56e45) and ours read of a head's `config.json` beside the sizes. `input_type` says of how many
/// tokens an image is; without one that it knows, the code has no rotary table.
fn entries(config: &LlamaGenConfig, pad_view: PadView) -> serde_json::Value {
    let mut entries = json!({
        "prefix_pads": as_written(pad_view),
        "hidden_act": "silu",
        "max_position_embeddings": MAX_POSITIONS,
    });
    if let Condition::Caption { d_caption, .. } = config.condition {
        entries["caption_dim"] = d_caption.into();
        let known = INPUT_TYPES.iter().find(|(n_tokens, _)| *n_tokens == config.n_tokens());
        if let Some((_, input_type)) = known {
            entries["input_type"] = (*input_type).into();
        }
    }
    entries
}

fn as_written(pad_view: PadView) -> &'static str {
    match pad_view {
        PadView::EarlierPads => "earlier",
        PadView::Itself => "itself",
    }
}

/// What pads saw when the head was trained, as its `config.json` has it.
fn pad_view(sidecar: &Sidecar) -> Result<PadView, String> {
    let Some(written) = sidecar.text("prefix_pads") else { return Ok(PadView::EarlierPads) };
    let known = [PadView::EarlierPads, PadView::Itself];
    known.into_iter().find(|view| as_written(*view) == written).ok_or_else(|| {
        format!(
            "`prefix_pads` in the config.json beside it is `{}`, expected `earlier` (a pad saw the pads before it, \
             as in LANTERN's code) or `itself` (as in LlamaGen's)",
            written.escape_debug()
        )
    })
}

#[cfg(test)]
mod tests {
    use specimen_catalog::entry;

    use super::*;

    #[test]
    fn the_config_beside_a_head_has_what_the_published_loader_reads() {
        // `data/configs/llamagen_t2i_config.json` and `llamagen_t2i2_config.json` of LANTERN 3a56e45, less what only its training
        // reads.
        let expected = |input_type: &str| {
            json!({
                "hidden_act": "silu",
                "hidden_size": 1280,
                "caption_dim": 2048,
                "intermediate_size": 3584,
                "max_position_embeddings": 2048,
                "model_type": "llama",
                "num_attention_heads": 20,
                "num_hidden_layers": 1,
                "rms_norm_eps": 1e-6,
                "vocab_size": 16384,
                "input_type": input_type,
                "prefix_pads": "earlier",
            })
        };
        for (name, input_type) in [("llamagen-t2i-xl-256", "t2i"), ("llamagen-t2i-xl-512", "t2i2")] {
            let config = LlamaGenConfig::of(entry::entry(name).expect("it is in the catalog"));
            let more = entries(&config, PadView::EarlierPads);
            let found = config_of("llama", config.stack().layer, (config.n_vocab, HEAD_EPS), more);
            assert_eq!(found, expected(input_type), "{name}");
        }
    }
}
