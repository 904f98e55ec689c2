//! LlamaGen's transformer and what fills the slots before its image, under the names of either published layout.

use std::rc::Rc;

use specimen_weights::{Init, LoadError, ParamSource, Scoped};
use tch::{Kind, Tensor};

use super::{Condition, LlamaGenConfig};
use crate::{
    files::{
        inventory::{Expected, inventory, with_layers},
        published_names::{LayerNames, Mixed, PublishedNames},
    },
    llama::{
        image_llama::{ImageLlama, OutputHead, Stack},
        rotary::rotary_behind_zeros,
    },
};

/// How a file names the tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LlamaGenNames {
    /// LlamaGen's own files, converted: `tok_embeddings`, `layers.<i>.attention.wqkv`, `output`.
    Original,
    /// LANTERN's conversion for `transformers`: `model.embed_tokens`, `model.layers.<i>.self_attn.q_proj`, `lm_head`.
    HuggingFace,
}

impl LlamaGenNames {
    /// The layout of a file, by the name of its token table.
    pub fn of_file(has: impl Fn(&str) -> bool) -> Self {
        if has("model.embed_tokens.weight") { Self::HuggingFace } else { Self::Original }
    }

    /// Whether a published file has the tensor `name` beside its parameters: tables that are computed.
    pub fn is_computed(name: &str) -> bool {
        name.rsplit('.').next() == Some("freqs_cis")
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::Original => "",
            Self::HuggingFace => "model.",
        }
    }

    fn layers(self) -> LayerNames {
        match self {
            Self::Original => LayerNames::LlamaGen,
            Self::HuggingFace => LayerNames::HuggingFace,
        }
    }

    fn tokens(self) -> &'static str {
        match self {
            Self::Original => "tok_embeddings.weight",
            Self::HuggingFace => "model.embed_tokens.weight",
        }
    }

    fn head(self) -> &'static str {
        match self {
            Self::Original => "output.weight",
            Self::HuggingFace => "lm_head.weight",
        }
    }
}

/// What fills the slots before the image.
enum Slots {
    /// `[n_classes + 1, d]`; the last row stands for no class.
    Classes(Tensor),
    Caption {
        /// `[d, d_caption]`
        enter: Tensor,
        /// `[d, d]`
        leave: Tensor,
        /// Features that stand for no caption, `[n_slots, d_caption]`.
        nothing: Tensor,
    },
}

impl Slots {
    fn new(source: &mut dyn ParamSource, config: &LlamaGenConfig) -> Result<Self, LoadError> {
        let (d, unit) = (config.d_model, Init::Normal(0.02));
        Ok(match config.condition {
            Condition::Class { n_classes } => {
                Self::Classes(source.param("embedding_table.weight", &[n_classes + 1, d], unit)?)
            }
            Condition::Caption { n_slots, d_caption } => Self::Caption {
                enter: source.param("cap_proj.fc1.weight", &[d, d_caption], unit)?,
                leave: source.param("cap_proj.fc2.weight", &[d, d], unit)?,
                nothing: source.param("uncond_embedding", &[n_slots, d_caption], unit)?,
            },
        })
    }
}

/// The network, ready to decode.
pub struct LlamaGenNetwork {
    config: LlamaGenConfig,
    backbone: Rc<ImageLlama>,
    slots: Slots,
}

impl LlamaGenNetwork {
    /// Reads or makes the parameters.
    pub fn new(
        source: &mut dyn ParamSource,
        config: &LlamaGenConfig,
        names: LlamaGenNames,
    ) -> Result<Self, LoadError> {
        let _guard = tch::no_grad_guard();
        let unit = Init::Normal(0.02);
        let tokens = source.param(names.tokens(), &[config.n_vocab, config.d_model], unit)?;
        let slots =
            Slots::new(&mut Scoped::new(source, format!("{}cls_embedding.", names.prefix())), config)?;
        let mut scoped = Scoped::new(source, names.prefix());
        let mut layers = PublishedNames::new(&mut scoped, names.layers(), Mixed::Pairs, config.d_head());
        let stack = Stack::new(&mut layers, config.stack())?;
        let head = source.param(names.head(), &[config.n_vocab, config.d_model], unit)?;
        let rotary =
            rotary_behind_zeros(config.condition.n_slots(), config.grid, config.d_head(), config.rope_base);
        let backbone = Rc::new(ImageLlama::new(stack, tokens, OutputHead::Linear(head), &rotary));
        Ok(Self { config: *config, backbone, slots })
    }

    /// The tensors that a file of this layout must hold.
    pub fn expected(config: &LlamaGenConfig, names: LlamaGenNames) -> Result<Vec<Expected>, LoadError> {
        let one = LlamaGenConfig { n_layers: 1, ..*config };
        let listed = inventory(|source| Self::new(source, &one, names))?;
        Ok(with_layers(listed, &format!("{}layers.", names.prefix()), config.n_layers))
    }

    /// The sizes it was built with.
    pub fn config(&self) -> &LlamaGenConfig {
        &self.config
    }

    /// The transformer that makes the features.
    pub fn backbone(&self) -> &Rc<ImageLlama> {
        &self.backbone
    }

    /// The slot of a class and, where `guided`, of none: `[1 or 2, 1, d]`.
    ///
    /// # Panics
    /// If the network takes captions, or has no such class.
    pub fn class_prefix(&self, class: i64, guided: bool) -> Tensor {
        let Slots::Classes(table) = &self.slots else { panic!("a network of captions has no classes") };
        let nothing = table.size()[0] - 1;
        assert!((0..nothing).contains(&class), "class {class} of {nothing}");
        let ids = if guided { vec![class, nothing] } else { vec![class] };
        table.index_select(0, &Tensor::from_slice(&ids).to_device(table.device())).unsqueeze(1)
    }

    /// The slots of a caption and, where `guided`, of none: `[1 or 2, n_slots, d]`. `features`: `[n, d_caption]`
    /// with `n` at most the number of slots; they fill the last ones, and zeros, which stay zeros, those before.
    ///
    /// # Panics
    /// If the network takes classes, or the features are too many.
    pub fn caption_prefix(&self, features: &Tensor, guided: bool) -> Tensor {
        let Slots::Caption { enter, leave, nothing } = &self.slots else {
            panic!("a network of classes has no captions")
        };
        let (n_slots, d_caption) = nothing.size2().expect("a table of features has two axes");
        let n_pads = n_slots - features.size()[0];
        assert!(0 <= n_pads, "{} features for {n_slots} slots", features.size()[0]);
        let features = features.to_device(nothing.device()).to_kind(nothing.kind());
        let pads = features.new_zeros([n_pads, d_caption], (features.kind(), features.device()));
        let caption = Tensor::cat(&[pads, features], 0);
        let rows = if guided { vec![&caption, nothing] } else { vec![&caption] };
        let hidden = Tensor::stack(&rows, 0).linear(enter, None::<&Tensor>).gelu("tanh");
        hidden.linear(leave, None::<&Tensor>)
    }

    /// Element kind of the weights.
    pub fn kind(&self) -> Kind {
        self.backbone.token_table().kind()
    }
}
