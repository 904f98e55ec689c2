//! Prompts as words, between a word that begins them and one behind which the image stands.

use specimen_weights::LoadError;

use super::text_tokenizer::TextTokenizer;
use crate::{llama::padded::PromptRows, seam::model_error::ModelError};

/// What a model can take.
#[derive(Clone, Copy, Debug)]
pub struct PromptLimits {
    /// Words of its prompts.
    pub n_words: i64,
    /// Positions of prompt and image.
    pub n_positions: i64,
    /// Tokens of an image.
    pub n_tokens: i64,
}

/// The tokenizer of a model, and what its prompts have in common.
pub struct WordPrompt {
    name: &'static str,
    text: TextTokenizer,
    limits: PromptLimits,
    begin: i64,
    image: (&'static str, i64),
    padding: i64,
}

impl WordPrompt {
    /// Prompts of the model `name` that begin with the word `begin` and end in `image`; `padding` fills the shorter row.
    pub fn new(
        name: &'static str,
        text: TextTokenizer,
        [begin, image, padding]: [&'static str; 3],
        limits: PromptLimits,
    ) -> Result<Self, LoadError> {
        let (begin, padding) = (text.special(begin)?, text.special(padding)?);
        Ok(Self { name, begin, image: (image, text.special(image)?), padding, text, limits })
    }

    /// The words of `text`, which ends in that of an image.
    pub fn words(&self, text: &str) -> Result<Vec<i64>, ModelError> {
        let mut words = self.text.encode(text).map_err(|reason| self.unusable(reason))?;
        // Whether a file of a tokenizer adds the beginning itself differs between repositories of one model.
        match words.iter().position(|&word| word == self.begin) {
            Some(0) => {}
            None => words.insert(0, self.begin),
            Some(at) => {
                return Err(self.unusable(format!("{at} words are before the one that begins it: {words:?}")));
            }
        }
        let PromptLimits { n_words, n_positions, n_tokens } = self.limits;
        if let Some(foreign) = words.iter().find(|&&word| n_words <= word) {
            return Err(self.unusable(format!("its word id {foreign} is not among the model's {n_words}")));
        }
        let (name, image) = self.image;
        if words.last() != Some(&image) {
            return Err(self.unusable(format!("its words do not end in `{name}`: {words:?}")));
        }
        let n = words.len();
        if n_positions < n as i64 + n_tokens {
            return Err(self.unusable(format!(
                "it is {n} words long, and with {n_tokens} image tokens only {n_positions} fit in all"
            )));
        }
        Ok(words)
    }

    /// The words of `texts`, the caption's first, as rows of one length.
    pub fn rows(&self, texts: &[String]) -> Result<PromptRows, ModelError> {
        let rows = texts.iter().map(|text| self.words(text)).collect::<Result<_, _>>()?;
        Ok(PromptRows::padded(rows, self.padding))
    }

    fn unusable(&self, reason: String) -> ModelError {
        crate::seam::model_error::prompt(self.name, reason)
    }
}
