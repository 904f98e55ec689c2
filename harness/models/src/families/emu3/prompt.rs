//! From a caption to words before an image, as the authors' `image_generation.py` has it.
//!
//! The sequence without the caption is a fixed negative prompt of its own length. It begins at position 0 in the authors' code;
//! here both rows end together and share positions, which is the same: rotary attention depends on distances alone.

use specimen_weights::LoadError;

use super::Emu3Config;
use crate::{
    families::{text_tokenizer::TextTokenizer, word_prompt::WordPrompt},
    llama::padded::PromptRows,
    seam::model_error::ModelError,
};

/// What stands behind every caption.
const POSITIVE: &str = " masterpiece, film grained, best quality.";
/// What stands in the place of the caption in the other guidance row.
const NEGATIVE: &str = "lowres, bad anatomy, bad hands, text, error, missing fingers, extra digit, fewer \
    digits, cropped, worst quality, low quality, normal quality, jpeg artifacts, signature, watermark, username, blurry.";

/// Begins every sequence; id 151849.
const BEGIN: &str = "<|extra_203|>";
/// Begins an image, before its size; id 151852.
const IMAGE_BEGIN: &str = "<|image start|>";
/// The first token of the image follows; id 151851.
const IMAGE: &str = "<|image token|>";
/// Fills what nobody sees; id 151643.
const PADDING: &str = "<|endoftext|>";
/// The ends of a row, of a frame, of an image and of a sequence, in the order of structural tokens; ids 151846, 151847, 151853
/// and 151850.
const STRUCTURAL: [&str; 4] = ["<|extra_200|>", "<|extra_201|>", "<|image end|>", "<|extra_204|>"];

/// The name of a code's word; that of code 0 is id 151854.
pub(super) fn code_name(code: i64) -> String {
    format!("<|visual token {code:06}|>")
}

/// The word of every token of an image, codes first, which a published tokenizer has one after the other; nothing here
/// relies on that.
pub(super) fn words_of_tokens(text: &TextTokenizer, config: &Emu3Config) -> Result<Vec<i64>, LoadError> {
    let codes = (0..config.n_codes).map(|code| text.special(&code_name(code)));
    let all: Vec<i64> = codes.chain(STRUCTURAL.map(|name| text.special(name))).collect::<Result<_, _>>()?;
    match all.iter().find(|&&word| config.n_words <= word) {
        None => Ok(all),
        Some(foreign) => Err(text.unfit(format!(
            "a token of its images is the word {foreign}, and the model has {} words",
            config.n_words
        ))),
    }
}

/// The prompt format of an Emu3.
pub struct Emu3Prompt {
    /// Rows and columns of an image.
    size: [i64; 2],
    inner: WordPrompt,
}

impl Emu3Prompt {
    /// The format of the model `name`.
    pub(super) fn new(
        name: &'static str,
        config: Emu3Config,
        text: TextTokenizer,
    ) -> Result<Self, LoadError> {
        text.special(IMAGE_BEGIN)?;
        let inner = WordPrompt::new(name, text, [BEGIN, IMAGE, PADDING], config.limits())?;
        Ok(Self { size: [config.rows, config.columns], inner })
    }

    /// The words before an image of `caption` and, where `guided`, those of the negative prompt.
    pub fn rows(&self, caption: &str, guided: bool) -> Result<PromptRows, ModelError> {
        let [rows, columns] = self.size;
        let framed = |text: &str| format!("{BEGIN}{text}{IMAGE_BEGIN}{rows}*{columns}{IMAGE}");
        let mut texts = vec![framed(&format!("{caption}{POSITIVE}"))];
        if guided {
            texts.push(framed(NEGATIVE));
        }
        self.inner.rows(&texts)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use specimen_catalog::entry;

    use super::*;
    use crate::families::emu3::made::toy_tokenizer;

    /// The published ids less that of the first special word, behind which the toy's follow in the same order.
    #[test]
    fn a_row_a_frame_an_image_and_a_sequence_end_in_their_own_words() {
        let config = Emu3Config::of(entry("emu3-toy").unwrap());
        let text = toy_tokenizer(config.n_codes).unwrap();
        let words = words_of_tokens(&text, &config).unwrap();
        let of_published = |id: i64| text.special(PADDING).unwrap() + id - 151_643;
        let (codes, ends) = words.split_at(usize::try_from(config.n_codes).unwrap());
        assert_eq!(ends, [151_846, 151_847, 151_853, 151_850].map(of_published));
        let expected: Vec<i64> = (151_854..).map(of_published).take(codes.len()).collect();
        assert_eq!(codes, expected);
    }
}
