//! The tokenizer of bert-base-uncased: WordPiece over a vocabulary of one token a line, and the two tokens that BLIP adds behind
//! it. The vocabulary is not part of this program.

use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest, Sha256};
use specimen_foundation::bounded_read::read_side_text;
use tokenizers::Tokenizer;

use crate::extractor::ExtractError;

/// Tokens that every vocabulary of BERT has, by their names: filler, unknown word, first, last, hidden word.
const SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
/// A word of more characters is unknown.
const MOST_CHARACTERS: usize = 100;

/// The tokenizer.
pub struct WordPieces {
    path: PathBuf,
    /// First 12 digits of the file's SHA-256.
    digest: String,
    n_words: usize,
    pad: i64,
    inner: Tokenizer,
}

impl WordPieces {
    /// What BLIP adds behind the vocabulary, whose last rows the weights have for them.
    pub const ADDED: [&'static str; 2] = ["[DEC]", "[ENC]"];

    /// Reads the vocabulary at `path`, `vocab.txt` of bert-base-uncased.
    pub fn read(path: &Path) -> Result<Self, ExtractError> {
        let wrong = |reason: String| crate::extractor::vocabulary(path, reason);
        let text = read_side_text(path).map_err(|error| wrong(format!("cannot read it: {error}")))?;
        let mut ids = serde_json::Map::new();
        for (id, token) in text.lines().enumerate() {
            if let Some(before) = ids.insert(token.to_owned(), json!(id)) {
                let reason = format!("line {}: the token `{token}` is that of id {before} already", id + 1);
                return Err(wrong(reason));
            }
        }
        let id_of = |name: &str| {
            ids.get(name).and_then(serde_json::Value::as_i64).ok_or_else(|| {
                wrong(format!("no line `{name}`; expected vocab.txt of bert-base-uncased, one token a line"))
            })
        };
        let special = SPECIAL.iter().map(|name| Ok((*name, id_of(name)?)));
        let special = special.collect::<Result<Vec<_>, ExtractError>>()?;
        let [(_, pad), _, (_, first), (_, last), _] = special[..] else {
            unreachable!("there are five");
        };
        let n_read = ids.len();
        let added = Self::ADDED.into_iter().zip(n_read as i64..);
        let token = |(content, id): (&str, i64)| {
            json!({ "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": true })
        };
        let tokens: Vec<_> = special.iter().copied().chain(added).map(token).collect();
        let tokenizer = json!({
            "version": "1.0",
            "added_tokens": tokens,
            "normalizer": { "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                "strip_accents": null, "lowercase": true },
            "pre_tokenizer": { "type": "BertPreTokenizer" },
            "post_processor": { "type": "BertProcessing", "cls": ["[CLS]", first], "sep": ["[SEP]", last] },
            "model": { "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": MOST_CHARACTERS, "vocab": ids },
        });
        let inner = Tokenizer::from_bytes(tokenizer.to_string())
            .map_err(|error| wrong(format!("not a vocabulary of WordPiece: {error}")))?;
        let digest = Sha256::digest(&text).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let n_words = n_read + Self::ADDED.len();
        Ok(Self { path: path.to_owned(), digest, n_words, pad, inner })
    }

    /// A vocabulary of single letters, digits and marks, one token a line: for networks with made weights.
    pub fn of_characters() -> String {
        let characters = || ('!'..='~').filter(|character| !character.is_ascii_uppercase());
        let inside =
            characters().filter(char::is_ascii_alphanumeric).map(|character| format!("##{character}"));
        let tokens =
            SPECIAL.iter().map(ToString::to_string).chain(characters().map(String::from)).chain(inside);
        tokens.map(|token| token + "\n").collect()
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// First 12 digits of the file's SHA-256.
    pub(super) fn digest(&self) -> &str {
        &self.digest
    }

    /// Tokens, those that are added included.
    pub fn n_words(&self) -> usize {
        self.n_words
    }

    /// What prompts are filled up with.
    pub(super) fn pad(&self) -> i64 {
        self.pad
    }

    /// Ids of the whole of `text`, the first and the last token included.
    pub fn n_ids(&self, text: &str) -> usize {
        self.whole(text).len()
    }

    /// The ids of `text` from the first token to the last one, at most `n_most`, at least 2: what is too long is cut before the
    /// last.
    pub fn ids(&self, text: &str, n_most: usize) -> Vec<i64> {
        let mut ids = self.whole(text);
        if let Some(&last) = ids.last().filter(|_| ids.len() > n_most) {
            ids.truncate(n_most - 1);
            ids.push(last);
        }
        ids
    }

    fn whole(&self, text: &str) -> Vec<i64> {
        let encoding = self.inner.encode(text, true).expect("every text has words, and every word an id");
        encoding.get_ids().iter().map(|&id| i64::from(id)).collect()
    }
}
