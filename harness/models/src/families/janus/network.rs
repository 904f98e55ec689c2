//! Janus-Pro's language model with its way in and out of image tokens, under the names of either published layout.
//! The way from pictures to words is not read.

use std::rc::Rc;

use specimen_weights::{Init, LoadError, ParamSource, Scoped};
use tch::Tensor;

use super::JanusConfig;
use crate::{
    files::{
        inventory::{Expected, inventory, with_layers},
        published_names::{LayerNames, Mixed, PublishedNames},
    },
    llama::{
        image_llama::{ImageLlama, OutputHead, Stack},
        rotary::rotary_1d,
    },
    picture::vq16::{Vq16Names, is_of_the_encoder},
};

/// How a file names the tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JanusNames {
    /// The authors' files, converted: `language_model.model.`, `gen_embed`, `gen_vision_model.`.
    Original,
    /// `transformers`: `model.language_model.`, `model.generation_embeddings`, `model.vqmodel.`.
    HuggingFace,
}

impl JanusNames {
    /// The layout of a file, by the name of its text table.
    pub fn of_file(has: impl Fn(&str) -> bool) -> Self {
        let table = format!("{}embed_tokens.weight", Self::HuggingFace.language_model());
        if has(&table) { Self::HuggingFace } else { Self::Original }
    }

    /// Whether a published file has the tensor `name` for another purpose than painting.
    pub fn is_not_for_painting(self, name: &str) -> bool {
        let others: &[&str] = match self {
            Self::Original => &["vision_model.", "aligner.", "language_model.lm_head."],
            Self::HuggingFace => &["model.vision_model.", "model.aligner.", "lm_head."],
        };
        others.iter().any(|part| name.starts_with(part))
            || name.strip_prefix(self.tokenizer()).is_some_and(is_of_the_encoder)
    }

    /// Before the names of the picture tokenizer.
    pub fn tokenizer(self) -> &'static str {
        match self {
            Self::Original => "gen_vision_model.",
            Self::HuggingFace => "model.vqmodel.",
        }
    }

    /// The names of the picture tokenizer behind that.
    pub fn vq16(self) -> Vq16Names {
        match self {
            Self::Original => Vq16Names::Original,
            Self::HuggingFace => Vq16Names::HuggingFace,
        }
    }

    fn language_model(self) -> &'static str {
        match self {
            Self::Original => "language_model.model.",
            Self::HuggingFace => "model.language_model.",
        }
    }

    fn image_table(self) -> &'static str {
        match self {
            Self::Original => "gen_embed.weight",
            Self::HuggingFace => "model.generation_embeddings.weight",
        }
    }

    /// Both layers of the way in.
    fn aligner(self) -> [&'static str; 2] {
        match self {
            Self::Original => ["gen_aligner.layers.0", "gen_aligner.layers.2"],
            Self::HuggingFace => ["model.generation_aligner.fc1", "model.generation_aligner.hidden_layers.0"],
        }
    }

    /// Both layers of the way out.
    fn head(self) -> [&'static str; 2] {
        match self {
            Self::Original => ["gen_head.output_mlp_projector", "gen_head.vision_head"],
            Self::HuggingFace => ["model.generation_head.proj_out", "model.generation_head.vision_head"],
        }
    }
}

/// The parameters as they are read.
struct Parameters {
    /// `[n_words, d]`
    words: Tensor,
    stack: Stack,
    /// `[n_vocab, d_code]`
    codes: Tensor,
    aligner: [Tensor; 4],
    head: [Tensor; 4],
}

impl Parameters {
    fn new(source: &mut dyn ParamSource, config: &JanusConfig, names: JanusNames) -> Result<Self, LoadError> {
        let (d, unit) = (config.d_model, Init::Normal(0.02));
        let mut language_model = Scoped::new(source, names.language_model());
        let words = language_model.param("embed_tokens.weight", &[config.n_words, d], unit)?;
        let mut layers =
            PublishedNames::new(&mut language_model, LayerNames::HuggingFace, Mixed::Halves, config.d_head());
        let stack = Stack::new(&mut layers, config.stack())?;
        let codes = source.param(names.image_table(), &[config.n_vocab, config.d_code], unit)?;
        let mut two_layers = |names: [&str; 2], n_in: i64, n_out: i64| {
            let mut layer = |name: &str, n_in: i64, n_out: i64| {
                let weight = source.param(&format!("{name}.weight"), &[n_out, n_in], unit)?;
                let bias = source.param(&format!("{name}.bias"), &[n_out], Init::Constant(0.0))?;
                Ok::<_, LoadError>([weight, bias])
            };
            let [a, b] = layer(names[0], n_in, d)?;
            let [c, e] = layer(names[1], d, n_out)?;
            Ok::<_, LoadError>([a, b, c, e])
        };
        let aligner = two_layers(names.aligner(), config.d_code, d)?;
        let head = two_layers(names.head(), d, config.n_vocab)?;
        Ok(Self { words, stack, codes, aligner, head })
    }
}

/// The network, ready to decode.
pub struct JanusNetwork {
    config: JanusConfig,
    backbone: Rc<ImageLlama>,
    /// Input vectors of the words, `[n_words, d]`.
    words: Tensor,
}

impl JanusNetwork {
    /// Reads or makes the parameters.
    pub fn new(
        source: &mut dyn ParamSource,
        config: &JanusConfig,
        names: JanusNames,
    ) -> Result<Self, LoadError> {
        let _guard = tch::no_grad_guard();
        let Parameters { words, stack, codes, aligner, head } = Parameters::new(source, config, names)?;
        // The aligner sees one token at a time, so that its output is a table.
        let [enter, enter_bias, leave, leave_bias] = &aligner;
        let tokens = codes.linear(enter, Some(enter_bias)).gelu("none").linear(leave, Some(leave_bias));
        let rotary = rotary_1d(config.n_positions, config.d_head(), config.rope_base);
        let backbone = Rc::new(ImageLlama::new(stack, tokens, OutputHead::Mlp(head), &rotary));
        Ok(Self { config: *config, backbone, words })
    }

    /// The tensors that a file of this layout must hold, without those of the picture tokenizer.
    pub fn expected(config: &JanusConfig, names: JanusNames) -> Result<Vec<Expected>, LoadError> {
        let one = JanusConfig { n_layers: 1, ..*config };
        let listed = inventory(|source| Parameters::new(source, &one, names).map(|_| ()))?;
        Ok(with_layers(listed, &format!("{}layers.", names.language_model()), config.n_layers))
    }

    /// The sizes it was built with.
    pub fn config(&self) -> &JanusConfig {
        &self.config
    }

    /// The transformer that makes the features.
    pub fn backbone(&self) -> &Rc<ImageLlama> {
        &self.backbone
    }

    /// The slots of a prompt and, where `guided`, of an empty one of the same length, whose words but the first and
    /// the last are pads that everybody sees: `[1 or 2, n, d]`.
    ///
    /// # Panics
    /// If there are fewer than two words: a beginning and the mark of an image.
    pub fn prefix(&self, words: &[i64], guided: bool) -> Tensor {
        assert!(2 <= words.len(), "a prompt has a beginning and the mark of an image");
        let (last, n) = (words.len() - 1, words.len() as i64);
        let mut rows = words.to_vec();
        if guided {
            let pads = std::iter::repeat_n(self.config.pad, last - 1);
            rows.extend(std::iter::once(words[0]).chain(pads).chain(std::iter::once(words[last])));
        }
        let ids = Tensor::from_slice(&rows).to_device(self.words.device());
        self.words.index_select(0, &ids).view([-1, n, self.config.d_model])
    }
}
