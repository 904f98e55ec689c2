//! The heads of a Janus-Pro, which nobody publishes: EAGLE-1 in the layout of its authors and LANTERN's without an embedding,
//! and EAGLE-3 in that of its authors. Input vectors are the target's, through its aligner; logits of EAGLE-1 are too,
//! through its painting head, and EAGLE-3 has its own. A head sees the whole prefix, each slot paired with the word behind
//! it; those of the empty prompt are its pads.

use std::rc::Rc;

use serde_json::json;
use specimen_weights::{LoadError, ParamSource};

use super::JanusConfig;
use crate::{
    files::published_names::{LayerNames, Mixed, PublishedNames},
    heads::{
        described_head::{DescribeHead, DescribedHead, FrontPairs, HeadKind},
        draft_head::DraftHead,
        eagle::{EagleConfig, EagleHead, EaglePrefix},
        eagle3_file::{self, Eagle3Target},
        head_file::{HeadFile, config_of},
    },
    llama::{image_llama::ImageLlama, padded::PadView},
};

const FRONT: FrontPairs = FrontPairs::NextSlots { hide_pads: false };

/// What an EAGLE-1 head for a Janus of these sizes is like, with the input norm of the LLaMA layer it is made of.
#[must_use]
pub fn drafter_config(config: &JanusConfig, norm_eps: f64) -> EagleConfig {
    EagleConfig {
        bias: true,
        input_norm: true,
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
pub(super) fn describe(config: JanusConfig, backbone: Rc<ImageLlama>) -> DescribeHead {
    Box::new(move |kind, file| match kind {
        HeadKind::Eagle1 => Ok(eagle1(config, file)),
        HeadKind::Eagle3 => eagle3_file::describe(eagle3_target(&config, &backbone), file),
    })
}

/// Whether it has a bias and an input norm is what its file has.
fn eagle1(config: JanusConfig, file: &HeadFile<'_>) -> DescribedHead {
    let norm_eps = file.sidecar.number("rms_norm_eps").unwrap_or(config.norm_eps);
    let bias = file.has("fc.bias", true);
    let input_norm = file.has("layers.0.input_layernorm.weight", true);
    let of_head = EagleConfig { bias, input_norm, ..drafter_config(&config, norm_eps) };
    DescribedHead {
        kind: HeadKind::Eagle1,
        front: FRONT,
        pad_view: PadView::Itself,
        repeated: Vec::new(),
        starts: Vec::new(),
        config: config_of("llama", config.stack().layer, (config.n_vocab, norm_eps), json!({ "bias": bias })),
        build: Box::new(move |source: &mut dyn ParamSource| -> Result<Box<dyn DraftHead>, LoadError> {
            let mut named =
                PublishedNames::new(source, LayerNames::HuggingFace, Mixed::Halves, config.d_head());
            Ok(Box::new(EagleHead::new(&mut named, &of_head, config.d_model)?))
        }),
    }
}

fn eagle3_target(config: &JanusConfig, backbone: &ImageLlama) -> Eagle3Target {
    Eagle3Target {
        layer: config.stack().layer,
        n_layers: config.n_layers,
        n_codes: config.n_vocab,
        vocab_size: config.n_vocab,
        mixed: Mixed::Halves,
        norm_eps: config.norm_eps,
        front: FRONT,
        pad_view: PadView::Itself,
        may_bring_tokens: false,
        rows: None,
        starts: backbone.output_starts(),
        more: json!({}),
    }
}
