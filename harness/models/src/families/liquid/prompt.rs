//! From a caption to words before an image, as the authors' `inference_t2i.py` has it.
//!
//! There the shorter of both sequences is padded on the left and its positions are counted behind the pads; here both share
//! positions, which is the same: rotary attention depends on distances alone.

use specimen_weights::LoadError;

use super::LiquidConfig;
use crate::{
    families::{text_tokenizer::TextTokenizer, word_prompt::WordPrompt},
    llama::padded::PromptRows,
    seam::model_error::ModelError,
};

/// What stands behind every caption.
const REQUEST: &str = " Generate an image based on this description.";
/// What stands in the place of caption and request in the other guidance row.
const UNCONDITIONAL: &str = "<unconditional>";
/// The first code of the image follows.
const IMAGE: &str = "<boi>";
/// Begins every sequence of a Gemma.
const BEGIN: &str = "<bos>";
/// Fills what nobody sees.
const PADDING: &str = "<pad>";

/// The word of every code: the codes stand behind all words of the tokenizer, in their order.
pub(super) fn words_of_codes(text: &TextTokenizer, config: &LiquidConfig) -> Result<Vec<i64>, LoadError> {
    let first = text.n_words();
    let &LiquidConfig { n_words, n_vocab, .. } = config;
    if first + n_vocab == n_words {
        return Ok((first..n_words).collect());
    }
    Err(text.unfit(format!(
        "it has {first} words, and behind them {n_vocab} codes do not make the model's {n_words}; is it the right model's?"
    )))
}

/// The prompt format of a Liquid.
pub struct LiquidPrompt(WordPrompt);

impl LiquidPrompt {
    /// The format of the model `name`.
    pub(super) fn new(
        name: &'static str,
        config: &LiquidConfig,
        text: TextTokenizer,
    ) -> Result<Self, LoadError> {
        text.special(UNCONDITIONAL)?;
        Ok(Self(WordPrompt::new(name, text, [BEGIN, IMAGE, PADDING], config.limits())?))
    }

    /// The words before an image of `caption` and, where `guided`, those without it.
    pub fn rows(&self, caption: &str, guided: bool) -> Result<PromptRows, ModelError> {
        let mut texts = vec![format!("{caption}{REQUEST}{IMAGE}")];
        if guided {
            texts.push(format!("{UNCONDITIONAL}{IMAGE}"));
        }
        self.0.rows(&texts)
    }
}
