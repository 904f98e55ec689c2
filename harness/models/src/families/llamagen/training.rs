//! The heads that can be trained for a LlamaGen: EAGLE-1 in LANTERN's layout, EAGLE-3 in that of its authors. Both see the
//! whole prefix, pads included, where pads see the pads before them, as in LANTERN's code.

use std::rc::Rc;

use serde_json::json;

use super::{
    LlamaGenConfig, drafter_config, eagle3_config,
    heads::{HEAD_EPS, start_draft},
};
use crate::{
    files::published_names::Mixed,
    heads::{
        draft_head::Head,
        drafters::StartDraft,
        eagle3::Eagle3Config,
        lantern_head::LanternHead,
        trainable::{DescribeHead, FrontPairs, HeadKind, TrainableHead},
    },
    llama::{image_llama::ImageLlama, padded::PadView},
};

/// Describes the heads for a target of `config` that is `backbone`.
pub(super) fn describe(config: LlamaGenConfig, backbone: Rc<ImageLlama>) -> DescribeHead {
    Box::new(move |kind, taps| match kind {
        HeadKind::Eagle1 => Ok(eagle1(config, &backbone)),
        HeadKind::Eagle3 => {
            let published = eagle3_config(&config, HEAD_EPS);
            let taps = taps.unwrap_or(published.taps);
            let of_head = published.tapping(taps);
            of_head.check_taps(config.n_layers)?;
            Ok(eagle3(config, of_head, &backbone))
        }
    })
}

/// What `transformers` and LANTERN's code read of a head beside its tensors, and which pads its prefix had.
fn described(config: &LlamaGenConfig, more: serde_json::Value) -> serde_json::Value {
    let mut all = json!({
        "model_type": "llama",
        "hidden_size": config.d_model,
        "intermediate_size": config.d_ffn,
        "num_attention_heads": config.n_heads,
        "num_hidden_layers": 1,
        "vocab_size": config.n_vocab,
        "rms_norm_eps": HEAD_EPS,
        "bias": true,
        "prefix_pads": "earlier",
    });
    let (all_of_it, more) = (all.as_object_mut(), more);
    if let (Some(all), serde_json::Value::Object(more)) = (all_of_it, more) {
        all.extend(more);
    }
    all
}

fn eagle1(config: LlamaGenConfig, backbone: &Rc<ImageLlama>) -> TrainableHead {
    let (d_model, n_vocab) = (config.d_model, config.n_vocab);
    let of_head = drafter_config(&config, HEAD_EPS);
    let for_drafts = of_head.clone();
    TrainableHead {
        kind: HeadKind::Eagle1,
        front: FrontPairs::ZerothToken,
        pad_view: PadView::EarlierPads,
        repeated: vec![(LanternHead::EMBEDDING.to_owned(), backbone.token_table().shallow_clone())],
        starts: Vec::new(),
        config: described(&config, json!({})),
        build: Box::new(move |source| {
            let head = LanternHead::with_graph(source, &of_head, Mixed::Pairs, d_model, n_vocab)?;
            Ok(Box::new(head) as Box<dyn Head>)
        }),
        start: Box::new(move |source| -> Result<StartDraft, _> {
            Ok(start_draft(LanternHead::new(source, &for_drafts, Mixed::Pairs, d_model, n_vocab)?))
        }),
    }
}

fn eagle3(config: LlamaGenConfig, of_head: Eagle3Config, backbone: &Rc<ImageLlama>) -> TrainableHead {
    let sizes = (config.d_model, config.n_vocab);
    let (for_drafts, target, tokens) = (of_head.clone(), backbone.clone(), backbone.token_table());
    let tokens = tokens.shallow_clone();
    TrainableHead {
        kind: HeadKind::Eagle3,
        front: FrontPairs::ZerothToken,
        pad_view: PadView::EarlierPads,
        repeated: Vec::new(),
        starts: backbone.output_starts(),
        config: described(
            &config,
            json!({ "bias": false, "draft_vocab_size": config.n_vocab, "taps": of_head.taps }),
        ),
        build: Box::new(move |source| {
            let head = LanternHead::eagle3_with_graph(source, &of_head, Mixed::Pairs, sizes, &tokens)?;
            Ok(Box::new(head) as Box<dyn Head>)
        }),
        start: Box::new(move |source| -> Result<StartDraft, _> {
            let tokens = Some(target.token_table());
            Ok(start_draft(LanternHead::eagle3(source, &for_drafts, Mixed::Pairs, sizes, tokens)?))
        }),
    }
}
