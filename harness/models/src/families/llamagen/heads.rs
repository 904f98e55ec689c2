//! The heads of a LlamaGen: EAGLE-1 as LANTERN publishes it, the same trained otherwise (CASCADE, arXiv 2605.07230, weighs
//! its loss), and EAGLE-3 in the layout of its authors.
//!
//! A head sees the features of all slots before the image, pads included. In LANTERN's code a pad sees the pads before
//! it, in LlamaGen's itself alone; the features differ in the row without a caption. What a head was trained on is in its
//! `config.json`: `"prefix_pads": "earlier"` (LANTERN, where nothing is said, and what is trained here) or `"itself"`.

use std::rc::Rc;

use serde_json::json;

use super::LlamaGenConfig;
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

/// What LANTERN's heads for a LlamaGen of these sizes are like; `norm_eps` is in the `config.json` beside a head.
#[must_use]
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
    let more = json!({ "bias": bias, "prefix_pads": as_written(pad_view) });
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
        more: json!({ "prefix_pads": as_written(pad_view) }),
    }
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
