//! The head that can be trained for a Janus-Pro: EAGLE-1 without an embedding, whose input vectors and logits are the
//! target's. It sees the whole prefix, each slot paired with the word behind it.

use serde_json::json;

use super::{JanusConfig, drafter_config, model::start_draft};
use crate::{
    files::published_names::{LayerNames, Mixed, PublishedNames},
    heads::{
        draft_head::Head,
        drafters::StartDraft,
        eagle::{EagleConfig, EagleHead},
        trainable::{DescribeHead, FrontPairs, HeadKind, TrainableHead, unknown},
    },
    llama::padded::PadView,
};
use specimen_weights::{LoadError, ParamSource};

/// Describes the heads for the target `name` of `config`.
pub(super) fn describe(name: &'static str, config: JanusConfig) -> DescribeHead {
    Box::new(move |kind, _| match kind {
        HeadKind::Eagle1 => Ok(eagle1(config)),
        HeadKind::Eagle3 => Err(unknown(name, kind, "eagle1")),
    })
}

fn eagle1(config: JanusConfig) -> TrainableHead {
    let of_head = drafter_config(&config, config.norm_eps);
    let for_drafts = of_head.clone();
    TrainableHead {
        kind: HeadKind::Eagle1,
        front: FrontPairs::NextSlots { hide_pads: false },
        pad_view: PadView::Itself,
        repeated: Vec::new(),
        starts: Vec::new(),
        config: json!({
            "model_type": "llama",
            "hidden_size": config.d_model,
            "intermediate_size": config.d_ffn,
            "num_attention_heads": config.n_heads,
            "num_hidden_layers": 1,
            "vocab_size": config.n_vocab,
            "rms_norm_eps": config.norm_eps,
            "bias": true,
        }),
        build: Box::new(move |source| Ok(Box::new(read(source, &of_head, &config)?) as Box<dyn Head>)),
        start: Box::new(move |source| -> Result<StartDraft, _> {
            let mut head = read(source, &for_drafts, &config)?;
            head.layer.prepare();
            Ok(start_draft(head))
        }),
    }
}

/// A head under its published names, `fc` and `layers.0.`, with the graph.
pub(super) fn read(
    source: &mut dyn ParamSource,
    of_head: &EagleConfig,
    config: &JanusConfig,
) -> Result<EagleHead, LoadError> {
    let mut named = PublishedNames::new(source, LayerNames::HuggingFace, Mixed::Halves, config.d_head());
    EagleHead::new(&mut named, of_head, config.d_model)
}
