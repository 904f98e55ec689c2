//! The heads of a network whose layers are LLaMA's and for which nobody publishes one (Janus-Pro, Emu3, Liquid): EAGLE-1 in the
//! layout of its authors and LANTERN's without an embedding, and EAGLE-3 in that of its authors, whose draft vocabulary is the
//! codes in their order. Input vectors are the target's; logits of EAGLE-1 are too, and EAGLE-3 has an output head of its own.
//! A head sees the whole prompt, each word's feature paired with the word behind it.

use std::rc::Rc;

use serde_json::Value;
use specimen_weights::{LoadError, ParamSource};

use crate::{
    files::published_names::{LayerNames, Mixed, PublishedNames},
    heads::{
        described_head::{DescribeHead, DescribedHead, FrontPairs, HeadKind},
        draft_head::DraftHead,
        eagle::{EagleConfig, EagleHead, EaglePrefix},
        eagle3_file::{self, Eagle3Target},
        head_file::{HeadFile, config_of},
    },
    llama::{
        image_llama::{ImageLlama, StackShape},
        padded::PadView,
    },
};

/// A target, as far as its heads have to know it.
#[derive(Clone, Debug)]
pub struct Headed {
    /// Sizes of its layers, which those of the heads have too.
    pub stack: StackShape,
    /// Codes of its pictures.
    pub n_codes: i64,
    /// Rows of the embedding that it has for words and pictures.
    pub vocab_size: i64,
    /// Whether a head does not see the pads of a row.
    pub hide_pads: bool,
    /// Further entries of a head's `config.json`.
    pub more: Value,
}

impl Headed {
    /// What an EAGLE-1 head is like, with the input norm of the LLaMA layer that it is made of.
    pub fn eagle1(&self, norm_eps: f64) -> EagleConfig {
        let layer = self.stack.layer;
        EagleConfig {
            bias: true,
            input_norm: true,
            output_norm: false,
            prefix: EaglePrefix::Whole,
            n_heads: layer.n_heads,
            n_kv_heads: layer.shared_heads(),
            d_head: layer.d_head,
            d_ffn: layer.d_ffn,
            norm_eps,
        }
    }

    fn front(&self) -> FrontPairs {
        FrontPairs::NextSlots { hide_pads: self.hide_pads }
    }

    /// Describes the heads of the target, which is `backbone`.
    pub(crate) fn describe(self, backbone: Rc<ImageLlama>) -> DescribeHead {
        Box::new(move |kind, file| match kind {
            HeadKind::Eagle1 => Ok(self.described_eagle1(file)),
            HeadKind::Eagle3 => eagle3_file::describe(self.eagle3_target(&backbone), file),
        })
    }

    /// Whether it has a bias and an input norm is what its file has.
    fn described_eagle1(&self, file: &HeadFile<'_>) -> DescribedHead {
        let layer = self.stack.layer;
        let norm_eps = file.sidecar.number("rms_norm_eps").unwrap_or(self.stack.norm_eps);
        let bias = file.has("fc.bias", true);
        let input_norm = file.has("layers.0.input_layernorm.weight", true);
        let of_head = EagleConfig { bias, input_norm, ..self.eagle1(norm_eps) };
        let mut more = self.more.clone();
        more["bias"] = bias.into();
        DescribedHead {
            kind: HeadKind::Eagle1,
            front: self.front(),
            pad_view: PadView::Itself,
            repeated: Vec::new(),
            starts: Vec::new(),
            config: config_of("llama", layer, (self.vocab_size, norm_eps), more),
            build: Box::new(move |source: &mut dyn ParamSource| -> Result<Box<dyn DraftHead>, LoadError> {
                let mut named =
                    PublishedNames::new(source, LayerNames::HuggingFace, Mixed::Halves, of_head.d_head)
                        .with_kv_heads(of_head.n_kv_heads);
                Ok(Box::new(EagleHead::new(&mut named, &of_head, layer.d_model)?))
            }),
        }
    }

    fn eagle3_target(&self, backbone: &ImageLlama) -> Eagle3Target {
        let StackShape { layer, n_layers, norm_eps } = self.stack;
        Eagle3Target {
            layer,
            n_layers,
            n_codes: self.n_codes,
            vocab_size: self.vocab_size,
            mixed: Mixed::Halves,
            norm_eps,
            front: self.front(),
            pad_view: PadView::Itself,
            may_bring_tokens: false,
            rows: None,
            starts: backbone.output_starts(),
            more: self.more.clone(),
        }
    }
}
