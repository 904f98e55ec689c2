//! Emu3's transformer under the names of either published layout, cut to what painting needs: words go in, and of the output
//! head the rows of picture codes are left. All other tokens are masked wherever one is drawn, so that is exact; it is a
//! twelfth of a step's weights.

use std::rc::Rc;

use specimen_weights::{Init, LoadError, ParamSource, Scoped};
use tch::Tensor;

use super::Emu3Config;
use crate::{
    files::{
        inventory::{Expected, inventory, with_layers},
        published_names::{LayerNames, Mixed, PublishedNames},
    },
    llama::{
        image_llama::{ImageLlama, OutputHead, Stack},
        rotary::rotary_1d,
    },
};

/// How a file names the tensors of the transformer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emu3Names {
    /// The authors' `Emu3-Gen`: `model.`, `lm_head`.
    Original,
    /// `Emu3-Gen-hf`, as `transformers` wrote it in 2025-01: `text_model.model.`, `text_model.lm_head`.
    HuggingFace,
    /// As `transformers` writes it since 4.52: `model.text_model.`, `lm_head`.
    Newer,
}

impl Emu3Names {
    /// The layout of a file, by the name of its table of words.
    #[must_use]
    pub fn of_file(has: impl Fn(&str) -> bool) -> Self {
        let known = [Self::HuggingFace, Self::Newer];
        known.into_iter().find(|names| has(&names.words())).unwrap_or(Self::Original)
    }

    /// Whether a file that holds more than the transformer has the tensor `name` for it.
    #[must_use]
    pub fn is_of_it(name: &str) -> bool {
        ["text_model.", "model.text_model.", "lm_head."].iter().any(|part| name.starts_with(part))
    }

    fn language_model(self) -> &'static str {
        match self {
            Self::Original => "model.",
            Self::HuggingFace => "text_model.model.",
            Self::Newer => "model.text_model.",
        }
    }

    /// Name of the table of words, `[n_words, d]`.
    #[must_use]
    pub fn words(self) -> String {
        format!("{}embed_tokens.weight", self.language_model())
    }

    /// Name of the output head, `[n_words, d]`.
    #[must_use]
    pub fn head(self) -> &'static str {
        match self {
            Self::Original | Self::Newer => "lm_head.weight",
            Self::HuggingFace => "text_model.lm_head.weight",
        }
    }
}

/// The parameters as they are read.
struct Parameters {
    /// `[n_words, d]`
    words: Tensor,
    stack: Stack,
    /// `[n_words, d]`
    head: Tensor,
}

impl Parameters {
    fn new(source: &mut dyn ParamSource, config: &Emu3Config, names: Emu3Names) -> Result<Self, LoadError> {
        let (table, unit) = ([config.n_words, config.d_model], Init::Normal(0.02));
        let words = source.param(&names.words(), &table, unit)?;
        let mut scoped = Scoped::new(source, names.language_model());
        let shape = config.stack();
        let mut layers =
            PublishedNames::new(&mut scoped, LayerNames::HuggingFace, Mixed::Halves, config.d_head())
                .with_kv_heads(shape.layer.shared_heads());
        let stack = Stack::new(&mut layers, shape)?;
        let head = source.param(names.head(), &table, unit)?;
        Ok(Self { words, stack, head })
    }
}

/// The network, ready to decode.
pub struct Emu3Network {
    config: Emu3Config,
    backbone: Rc<ImageLlama>,
    /// Input vectors of the words, `[n_words, d]`.
    words: Tensor,
}

impl Emu3Network {
    /// Reads or makes the parameters. `tokens`: the word of every token of an image, codes first.
    ///
    /// # Errors
    /// As the source.
    ///
    /// # Panics
    /// If there are fewer tokens than codes, or one is no word.
    pub fn new(
        source: &mut dyn ParamSource,
        config: &Emu3Config,
        names: Emu3Names,
        tokens: &[i64],
    ) -> Result<Self, LoadError> {
        let _guard = tch::no_grad_guard();
        assert!(tokens.iter().all(|word| (0..config.n_words).contains(word)), "tokens are words");
        let Parameters { words, stack, head } = Parameters::new(source, config, names)?;
        let tokens = Tensor::from_slice(tokens).to_device(words.device());
        let head = head.index_select(0, &tokens.narrow(0, 0, config.n_codes));
        let rotary = rotary_1d(config.n_positions, config.d_head(), config.rope_base);
        let table = words.index_select(0, &tokens);
        let backbone = Rc::new(ImageLlama::new(stack, table, OutputHead::Linear(head), &rotary));
        Ok(Self { config: *config, backbone, words })
    }

    /// The tensors that a file of this layout must hold, without those of the picture decoder.
    ///
    /// # Errors
    /// None in practice: nothing is read.
    pub fn expected(config: &Emu3Config, names: Emu3Names) -> Result<Vec<Expected>, LoadError> {
        let one = Emu3Config { n_layers: 1, ..*config };
        let listed = inventory(|source| Parameters::new(source, &one, names).map(|_| ()))?;
        Ok(with_layers(listed, &format!("{}layers.", names.language_model()), config.n_layers))
    }

    /// The sizes it was built with.
    #[must_use]
    pub fn config(&self) -> &Emu3Config {
        &self.config
    }

    /// The transformer that makes the features.
    #[must_use]
    pub fn backbone(&self) -> &Rc<ImageLlama> {
        &self.backbone
    }

    /// Input vectors of `rows` of words of one length, `[b, n, d]`.
    ///
    /// # Panics
    /// If the rows differ in length.
    pub fn embed_words(&self, rows: &[Vec<i64>]) -> Tensor {
        let ids = Tensor::from_slice(&rows.concat()).to_device(self.words.device());
        self.words.index_select(0, &ids).view([rows.len() as i64, -1, self.config.d_model])
    }
}
