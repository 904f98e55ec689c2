//! The heads of an Emu3, which nobody publishes: EAGLE-1 in the layout of its authors and LANTERN's without an embedding, and
//! EAGLE-3 in that of its authors, whose draft vocabulary is the codes in their order. Input vectors are the target's; logits
//! of EAGLE-1 are too. A head sees the whole prompt but its pads, each word's feature paired with the word behind it.

use std::rc::Rc;

use serde_json::json;
use specimen_weights::{LoadError, ParamSource};

use super::Emu3Config;
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

const FRONT: FrontPairs = FrontPairs::NextSlots { hide_pads: true };

/// What an EAGLE-1 head for an Emu3 of these sizes is like, with the input norm of the LLaMA layer it is made of.
#[must_use]
pub fn drafter_config(config: &Emu3Config, norm_eps: f64) -> EagleConfig {
    EagleConfig {
        bias: true,
        input_norm: true,
        output_norm: false,
        prefix: EaglePrefix::Whole,
        n_heads: config.n_heads,
        n_kv_heads: config.stack().layer.shared_heads(),
        d_head: config.d_head(),
        d_ffn: config.d_ffn,
        norm_eps,
    }
}

/// Describes the heads of a target of `config` that is `backbone`.
pub(super) fn describe(config: Emu3Config, backbone: Rc<ImageLlama>) -> DescribeHead {
    Box::new(move |kind, file| match kind {
        HeadKind::Eagle1 => Ok(eagle1(config, file)),
        HeadKind::Eagle3 => eagle3_file::describe(eagle3_target(&config, &backbone), file),
    })
}

/// Whether it has a bias and an input norm is what its file has.
fn eagle1(config: Emu3Config, file: &HeadFile<'_>) -> DescribedHead {
    let norm_eps = file.sidecar.number("rms_norm_eps").unwrap_or(config.norm_eps);
    let bias = file.has("fc.bias", true);
    let input_norm = file.has("layers.0.input_layernorm.weight", true);
    let of_head = EagleConfig { bias, input_norm, ..drafter_config(&config, norm_eps) };
    let more = json!({ "bias": bias, "rope_theta": config.rope_base });
    DescribedHead {
        kind: HeadKind::Eagle1,
        front: FRONT,
        pad_view: PadView::Itself,
        repeated: Vec::new(),
        starts: Vec::new(),
        config: config_of("llama", config.stack().layer, (config.n_words, norm_eps), more),
        build: Box::new(move |source: &mut dyn ParamSource| -> Result<Box<dyn DraftHead>, LoadError> {
            let mut named =
                PublishedNames::new(source, LayerNames::HuggingFace, Mixed::Halves, of_head.d_head)
                    .with_kv_heads(of_head.n_kv_heads);
            Ok(Box::new(EagleHead::new(&mut named, &of_head, config.d_model)?))
        }),
    }
}

fn eagle3_target(config: &Emu3Config, backbone: &ImageLlama) -> Eagle3Target {
    Eagle3Target {
        layer: config.stack().layer,
        n_layers: config.n_layers,
        n_codes: config.n_codes,
        vocab_size: config.n_words,
        mixed: Mixed::Halves,
        norm_eps: config.norm_eps,
        front: FRONT,
        pad_view: PadView::Itself,
        may_bring_tokens: false,
        rows: None,
        starts: backbone.output_starts(),
        more: json!({ "rope_theta": config.rope_base }),
    }
}
