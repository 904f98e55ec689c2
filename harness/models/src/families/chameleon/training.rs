//! The head that can be trained for a Chameleon: EAGLE-1 in LANTERN's layout, which repeats the target's embedding. It sees
//! the whole prompt but its pads, each word's feature paired with the word behind it.

use std::rc::Rc;

use serde_json::json;

use super::{ChameleonConfig, ChameleonHead, ChameleonNetwork, model::start_draft};
use crate::{
    heads::{
        draft_head::Head,
        drafters::StartDraft,
        trainable::{DescribeHead, FrontPairs, HeadKind, TrainableHead, unknown},
    },
    llama::padded::PadView,
};

/// Describes the heads for the target `name` that is `network`.
pub(super) fn describe(name: &'static str, network: Rc<ChameleonNetwork>) -> DescribeHead {
    Box::new(move |kind, _| match kind {
        HeadKind::Eagle1 => Ok(eagle1(&network)),
        HeadKind::Eagle3 => Err(unknown(name, kind, "eagle1")),
    })
}

fn eagle1(network: &ChameleonNetwork) -> TrainableHead {
    let config: ChameleonConfig = network.config().clone();
    let for_drafts = config.clone();
    TrainableHead {
        kind: HeadKind::Eagle1,
        front: FrontPairs::NextSlots { hide_pads: true },
        pad_view: PadView::Itself,
        repeated: vec![(ChameleonHead::embedding_name().to_owned(), network.word_table().shallow_clone())],
        starts: Vec::new(),
        config: json!({
            "model_type": "chameleon",
            "hidden_size": config.d_model,
            "intermediate_size": config.d_ffn,
            "num_attention_heads": config.n_heads,
            "num_hidden_layers": 1,
            "vocab_size": config.n_words,
            "rms_norm_eps": config.norm_eps,
            "rope_theta": config.rope_base,
            "swin_norm": config.swin_norm,
            "bias": true,
        }),
        build: Box::new(move |source| {
            Ok(Box::new(ChameleonHead::new(source, &config, true)?) as Box<dyn Head>)
        }),
        start: Box::new(move |source| -> Result<StartDraft, _> {
            Ok(start_draft(ChameleonHead::new(source, &for_drafts, true)?))
        }),
    }
}
