//! The heads of the embedded model, in its own layout: they begin with the image. What is trained has the sizes of the
//! embedded ones; what is read has those of the `config.json` beside it.

use std::rc::Rc;

use serde::{Serialize, de::DeserializeOwned};
use specimen_foundation::plain_words::plain_words;

use super::{TargetConfig, TinyBackbone};
use crate::{
    heads::{
        described_head::{BuildHead, DescribeHead, DescribedHead, FrontPairs, HeadKind},
        draft_head::DraftHead,
        eagle::{EagleConfig, EagleHead},
        eagle3::{Eagle3Config, Eagle3Head},
        eagle3_file::{output_starts, tapped},
        head_file::HeadFile,
    },
    llama::padded::PadView,
};

/// Describes heads for the target `backbone`; `eagle1` and `eagle3` are the sizes of the embedded ones.
pub(super) fn describe(
    backbone: Rc<TinyBackbone>,
    eagle1: EagleConfig,
    eagle3: Eagle3Config,
) -> DescribeHead {
    Box::new(move |kind, file| {
        let &TargetConfig { d_model, n_vocab, n_layers, .. } = backbone.config();
        match kind {
            HeadKind::Eagle1 => {
                let of_head = config_in(file)?.unwrap_or_else(|| eagle1.clone());
                let config = json(&of_head);
                let build: BuildHead = Box::new(move |source| {
                    Ok(Box::new(EagleHead::new(source, &of_head, d_model)?) as Box<dyn DraftHead>)
                });
                Ok(described(kind, config, build))
            }
            HeadKind::Eagle3 => {
                let of_head = config_in(file)?.unwrap_or_else(|| eagle3.clone());
                let of_head = tapped(of_head, file, n_layers)?;
                let config = json(&of_head);
                let build: BuildHead = Box::new(move |source| {
                    let head = Eagle3Head::new(source, &of_head, d_model, n_vocab)?;
                    Ok(Box::new(head) as Box<dyn DraftHead>)
                });
                let starts = output_starts(backbone.head(), backbone.norm());
                Ok(DescribedHead { starts, ..described(kind, config, build) })
            }
        }
    })
}

/// What the `config.json` beside `file` says; `None` where the file is to be written, or nothing is beside it.
fn config_in<C: DeserializeOwned>(file: &HeadFile<'_>) -> Result<Option<C>, String> {
    let entries = file.sidecar.entries();
    if !file.is_read() || entries.is_null() {
        return Ok(None);
    }
    let read = serde_json::from_value(entries.clone());
    read.map(Some).map_err(|error| {
        file.of_config(&format!("it says no head of `tiny`: {}", plain_words(&error.to_string())))
    })
}

fn json(config: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(config).expect("a configuration is plain data")
}

fn described(kind: HeadKind, config: serde_json::Value, build: BuildHead) -> DescribedHead {
    DescribedHead {
        kind,
        front: FrontPairs::Nothing,
        pad_view: PadView::Itself,
        repeated: Vec::new(),
        starts: Vec::new(),
        config,
        build,
    }
}
