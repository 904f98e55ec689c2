//! The heads that can be trained for the embedded model, in its own layout: they begin with the image.

use serde::Serialize;
use std::rc::Rc;

use super::{TargetConfig, TinyBackbone};
use crate::{
    heads::{
        draft_head::{DraftHead, Head},
        drafters::StartDraft,
        eagle::{EagleConfig, EagleHead},
        eagle_draft::EagleDraft,
        eagle3::{Eagle3Config, Eagle3Head},
        trainable::{BuildHead, DescribeHead, FrontPairs, HeadKind, StartHead, TrainableHead},
    },
    llama::padded::PadView,
};

/// Describes heads of the embedded ones' sizes for the target `backbone`.
pub(super) fn describe(
    backbone: Rc<TinyBackbone>,
    eagle1: EagleConfig,
    eagle3: Eagle3Config,
) -> DescribeHead {
    let config = backbone.config().clone();
    Box::new(move |kind, taps| match kind {
        HeadKind::Eagle1 => Ok(trainable_eagle1(&config, &eagle1)),
        HeadKind::Eagle3 => {
            let of_head = eagle3.clone().tapping(taps.unwrap_or(eagle3.taps));
            of_head.check_taps(config.n_layers)?;
            let starts = vec![
                ("lm_head.weight".to_owned(), backbone.head().shallow_clone()),
                ("norm.weight".to_owned(), backbone.norm().shallow_clone()),
            ];
            Ok(TrainableHead { starts, ..trainable_eagle3(&config, &of_head) })
        }
    })
}

fn trainable_eagle1(config: &TargetConfig, of_head: &EagleConfig) -> TrainableHead {
    let (d_model, with_graph, for_drafts) = (config.d_model, of_head.clone(), of_head.clone());
    let build: BuildHead =
        Box::new(move |source| Ok(Box::new(EagleHead::new(source, &with_graph, d_model)?) as Box<dyn Head>));
    let start: StartHead = Box::new(move |source| {
        let mut head = EagleHead::new(source, &for_drafts, d_model)?;
        head.layer.prepare();
        Ok(start_draft(Rc::new(head)))
    });
    trainable(HeadKind::Eagle1, of_head, (build, start))
}

fn trainable_eagle3(config: &TargetConfig, of_head: &Eagle3Config) -> TrainableHead {
    let (d_model, n_vocab) = (config.d_model, config.n_vocab);
    let (with_graph, for_drafts) = (of_head.clone(), of_head.clone());
    let build: BuildHead = Box::new(move |source| {
        Ok(Box::new(Eagle3Head::new(source, &with_graph, d_model, n_vocab)?) as Box<dyn Head>)
    });
    let start: StartHead = Box::new(move |source| {
        let mut head = Eagle3Head::new(source, &for_drafts, d_model, n_vocab)?;
        head.prepare();
        Ok(start_draft(Rc::new(head)))
    });
    trainable(HeadKind::Eagle3, of_head, (build, start))
}

fn trainable(
    kind: HeadKind,
    config: &impl Serialize,
    (build, start): (BuildHead, StartHead),
) -> TrainableHead {
    TrainableHead {
        kind,
        front: FrontPairs::Nothing,
        pad_view: PadView::Itself,
        repeated: Vec::new(),
        starts: Vec::new(),
        config: serde_json::to_value(config).expect("a configuration is plain data"),
        build,
        start,
    }
}

fn start_draft(head: Rc<dyn DraftHead>) -> StartDraft {
    Box::new(move |generation, max_run, time| {
        Box::new(EagleDraft::new(head.clone(), generation, max_run, time))
    })
}
