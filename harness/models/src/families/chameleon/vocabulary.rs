//! The words of a Chameleon tokenizer that mean something to this program, found by their names: the codes of the
//! VQ codebook, and the words that structure a prompt and an image.
//!
//! A code's word is `IMGIMG`, its index in the codebook with the digits `0..=9` written `A..=J`, and `Z`. That their
//! ids follow each other in the order of the codebook is true of the published tokenizer and nowhere relied upon.

use std::path::{Path, PathBuf};

use specimen_foundation::bounded_read::read_side_file;
use specimen_weights::LoadError;
use tokenizers::Tokenizer;

/// A tokenizer with its words looked up.
pub struct Vocabulary {
    tokenizer: Tokenizer,
    path: PathBuf,
    /// Word of every code, by its place in the codebook.
    codes: Vec<i64>,
    /// Every word's name and id, by name.
    names: std::collections::BTreeMap<String, i64>,
}

/// Words with a role, by their names in the published tokenizer.
pub mod names {
    /// Begins every sequence; id 0.
    pub const BEGIN: &str = "<s>";
    /// Fills what nobody sees; id 1.
    pub const PADDING: &str = "<pad>";
    /// Ends an image; id 8196.
    pub const IMAGE_END: &str = "<eoss>";
    /// Begins an image; id 8197.
    pub const IMAGE_BEGIN: &str = "<racm3:break>";
    /// Ends a prompt; id 8710.
    pub const TURN_END: &str = "<reserved08706>";
    /// Ends a row of an image of Lumina-mGPT; id 8803.
    pub const ROW_END: &str = "<reserved08799>";

    /// Says that an edge of an image of Lumina-mGPT is `32 * n` pixels long; id `8804 + n`.
    pub fn size(n: usize) -> String {
        format!("<reserved{:05}>", 8800 + n)
    }
}

impl Vocabulary {
    /// Reads a `tokenizer.json` (or Meta's `text_tokenizer.json`, which has the same form) with words for `n_codes`
    /// codes.
    pub fn read(path: &Path, n_codes: usize) -> Result<Self, LoadError> {
        let text =
            read_side_file(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
        Self::parse(path, &text, n_codes)
    }

    /// [`Vocabulary::read`] of a file's content; `path` stands for the file in messages.
    pub fn parse(path: &Path, text: &[u8], n_codes: usize) -> Result<Self, LoadError> {
        let bad = |reason: String| LoadError::Config { path: path.to_owned(), reason };
        let tokenizer = Tokenizer::from_bytes(text).map_err(|e| bad(format!("not a tokenizer: {e}")))?;
        let names: std::collections::BTreeMap<String, i64> =
            tokenizer.get_vocab(true).into_iter().map(|(name, id)| (name, i64::from(id))).collect();
        let codes = code_words(&names, n_codes).map_err(bad)?;
        Ok(Self { tokenizer, path: path.to_owned(), codes, names })
    }

    /// Word of every code, by its place in the codebook.
    pub fn codes(&self) -> &[i64] {
        &self.codes
    }

    /// The word called `name`.
    pub fn word(&self, name: &str) -> Result<i64, LoadError> {
        self.names.get(name).copied().ok_or_else(|| LoadError::Config {
            path: self.path.clone(),
            reason: format!("it has no word `{name}`; is it the tokenizer of a Chameleon?"),
        })
    }

    /// Checks that every word is below `n_words`, the rows of the embedding.
    pub fn check_below(&self, n_words: i64) -> Result<(), LoadError> {
        let Some((name, id)) = self.names.iter().find(|(_, id)| n_words <= **id) else { return Ok(()) };
        let reason = format!("its word `{name}` has the id {id}, the model's config has {n_words} words");
        Err(LoadError::Config { path: self.path.clone(), reason })
    }

    /// The words of `text`, without any that begin or end a sequence. Names of words that structure a sequence are
    /// read as those words, as in the published code.
    pub fn encode(&self, text: &str) -> Result<Vec<i64>, String> {
        let encoding = self.tokenizer.encode_fast(text, false).map_err(|e| e.to_string())?;
        Ok(encoding.get_ids().iter().map(|&id| i64::from(id)).collect())
    }
}

/// The name of a code's word.
pub fn code_name(code: usize) -> String {
    let letters: String = code.to_string().bytes().map(|digit| char::from(digit - b'0' + b'A')).collect();
    format!("IMGIMG{letters}Z")
}

/// The code that `name` is the word of; `None` if it is none's.
fn code_of(name: &str) -> Option<usize> {
    let letters = name.strip_prefix("IMGIMG")?.strip_suffix('Z')?;
    let digits: String =
        letters.bytes().map(|letter| char::from(letter.wrapping_sub(b'A').wrapping_add(b'0'))).collect();
    digits.parse().ok().filter(|&code| code_name(code) == name)
}

/// Words of the codes `0..n_codes`.
fn code_words(names: &std::collections::BTreeMap<String, i64>, n_codes: usize) -> Result<Vec<i64>, String> {
    let mut words = vec![None; n_codes];
    for (name, &id) in names.iter().filter(|(name, _)| name.starts_with("IMGIMG")) {
        let place = code_of(name).and_then(|code| words.get_mut(code));
        let Some(place) = place else {
            return Err(format!("its word `{name}` is no code of a codebook of {n_codes}"));
        };
        *place = Some(id);
    }
    let missing = || words.iter().position(Option::is_none);
    if let Some(code) = missing() {
        return Err(format!(
            "code {code} of {n_codes} has no word; expected one named `{}`",
            code_name(code)
        ));
    }
    Ok(words.into_iter().flatten().collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn names(of: &[(&str, i64)]) -> std::collections::BTreeMap<String, i64> {
        of.iter().map(|&(name, id)| (name.to_owned(), id)).collect()
    }

    #[test]
    fn names_of_codes_are_their_digits() {
        assert_eq!([0, 9, 10, 8191].map(code_name), ["IMGIMGAZ", "IMGIMGJZ", "IMGIMGBAZ", "IMGIMGIBJBZ"]);
        for code in 0..8192 {
            assert_eq!(code_of(&code_name(code)), Some(code));
        }
        for misspelt in ["IMGIMGZ", "IMGIMGABZ", "IMGIMGKZ", "IMGIMGaZ", "IMGIMGB", "IMGB"] {
            assert_eq!(code_of(misspelt), None, "{misspelt}");
        }
    }

    #[test]
    fn codes_are_found_by_name_whatever_their_ids() {
        let found = code_words(&names(&[("IMGIMGBZ", 4), ("<s>", 0), ("IMGIMGAZ", 9), ("IMGIMGCZ", 5)]), 3);
        assert_eq!(found.unwrap(), [9, 4, 5]);
    }

    #[test]
    fn a_codebook_that_the_words_do_not_fill_is_refused() {
        let of = |words: &[(&str, i64)]| code_words(&names(words), 2).unwrap_err();
        assert!(of(&[("IMGIMGAZ", 4)]).contains("code 1 of 2 has no word; expected one named `IMGIMGBZ`"));
        assert!(of(&[("IMGIMGAZ", 4), ("IMGIMGBZ", 5), ("IMGIMGCZ", 6)]).contains("`IMGIMGCZ`"));
        assert!(of(&[("IMGIMGAZ", 4), ("IMGIMGABZ", 5)]).contains("`IMGIMGABZ`"));
    }

    #[test]
    fn size_words_count_in_steps_of_32_pixels() {
        assert_eq!(names::size(768 / 32), "<reserved08824>", "id 8828 = 8804 + 24");
    }
}
