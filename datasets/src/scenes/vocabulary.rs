//! The closed vocabulary of captions: 39 words (the comma is one), plus padding and the null caption.

use specimen_foundation::names::edit_distance;

use super::CAPTION_LEN;

/// Fills the slots before a caption.
pub const PAD_ID: u16 = 0;
/// Fills all slots of the null caption, which stands for "no condition" in classifier-free guidance.
pub const NULL_ID: u16 = 1;
/// Id of the first entry of [`WORDS`].
const FIRST_WORD_ID: u16 = 2;

/// The words; the id of `WORDS[i]` is `i + 2`.
pub const WORDS: [&str; 39] = [
    "a", "an", "and", ",", "small", "large", "red", "orange", "yellow", "green", "cyan", "blue", "purple",
    "pink", "circle", "square", "triangle", "star", "left", "right", "of", "above", "below", "on", "by",
    "under", "at", "grass", "sand", "water", "snow", "gravel", "brick", "wall", "sky", "sunset", "night",
    "cloudy", "day",
];

/// A word outside the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    /// The word, lower-case.
    pub word: String,
    /// The vocabulary word with the fewest single-letter edits to it, the first of equals; absent when even
    /// that would change more than a third of the letters.
    pub nearest: Option<&'static str>,
}

/// Why a caption cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaptionError {
    /// There is no word in it.
    #[error("the caption is empty; use words of the vocabulary: {}", WORDS.join(" "))]
    Empty,
    /// Some words are outside the vocabulary.
    #[error("{}; the vocabulary is: {}", describe(unknown), WORDS.join(" "))]
    UnknownWords {
        /// The words in caption order, each once.
        unknown: Vec<UnknownWord>,
    },
    /// It does not fit into the caption slots.
    #[error("the caption has {n_words} words (a comma is one), at most {limit} fit")]
    TooManyWords {
        /// Words found.
        n_words: usize,
        /// Slots there are.
        limit: usize,
    },
    /// Its words are known, but it does not follow the grammar, so its attributes cannot be read.
    #[error("{expected} expected at word {} but found {found}; a caption reads like \
        \"a small red circle left of a large blue star on grass at night\"", position + 1)]
    Grammar {
        /// Words before the place in question.
        position: usize,
        /// What the grammar allows there.
        expected: &'static str,
        /// The word there in quotes, or "the end".
        found: String,
    },
}

/// The mapping between captions and ids.
#[derive(Clone, Copy, Debug)]
pub struct Vocabulary;

impl Vocabulary {
    /// Number of ids, padding and null included: the rows of an embedding table.
    pub const fn n_words() -> usize {
        WORDS.len() + FIRST_WORD_ID as usize
    }

    /// The ids of a caption, left-padded with [`PAD_ID`].
    ///
    /// Any order of known words will do, in any case, with or without spaces around commas.
    pub fn encode(caption: &str) -> Result<[u16; CAPTION_LEN], CaptionError> {
        let words = known_words(caption)?;
        let Some(n_pads) = CAPTION_LEN.checked_sub(words.len()) else {
            return Err(CaptionError::TooManyWords { n_words: words.len(), limit: CAPTION_LEN });
        };
        let mut ids = [PAD_ID; CAPTION_LEN];
        for (slot, word) in ids[n_pads..].iter_mut().zip(words) {
            *slot = id_of(word).expect("known_words returns vocabulary words only");
        }
        Ok(ids)
    }

    /// The words of `ids` joined by spaces; padding and null ids leave no trace.
    ///
    /// Panics for an id of [`Vocabulary::n_words`] or more: no caption encodes to it.
    pub fn decode(ids: &[u16]) -> String {
        let word = |&id: &u16| -> &str {
            let place = usize::from(id - FIRST_WORD_ID);
            assert!(place < WORDS.len(), "caption id {id} is not below {}", Self::n_words());
            WORDS[place]
        };
        ids.iter().filter(|&&id| id >= FIRST_WORD_ID).map(word).collect::<Vec<_>>().join(" ")
    }
}

/// The caption's words, commas as words of their own; fails if there is none or an unknown one.
pub(super) fn known_words(caption: &str) -> Result<Vec<&'static str>, CaptionError> {
    let spaced = caption.to_lowercase().replace(',', " , ");
    let mut known = Vec::new();
    let mut unknown: Vec<UnknownWord> = Vec::new();
    for word in spaced.split_whitespace() {
        match WORDS.iter().find(|entry| **entry == word) {
            Some(entry) => known.push(*entry),
            None if unknown.iter().any(|seen| seen.word == word) => {}
            None => unknown.push(UnknownWord { word: word.to_owned(), nearest: nearest(word) }),
        }
    }
    match (known.is_empty(), unknown.is_empty()) {
        (_, false) => Err(CaptionError::UnknownWords { unknown }),
        (true, true) => Err(CaptionError::Empty),
        (false, true) => Ok(known),
    }
}

fn id_of(word: &str) -> Option<u16> {
    WORDS.iter().position(|entry| *entry == word).map(|place| place as u16 + FIRST_WORD_ID)
}

fn nearest(word: &str) -> Option<&'static str> {
    let entry = WORDS.into_iter().min_by_key(|entry| edit_distance(word, entry))?;
    let n_letters = word.chars().count().max(entry.len());
    (edit_distance(word, entry) <= n_letters.div_ceil(3)).then_some(entry)
}

fn describe(unknown: &[UnknownWord]) -> String {
    let item = |item: &UnknownWord| match item.nearest {
        Some(nearest) => format!("`{}` (nearest: `{nearest}`)", item.word),
        None => format!("`{}`", item.word),
    };
    let items: Vec<String> = unknown.iter().map(item).collect();
    let noun = if items.len() == 1 { "unknown word" } else { "unknown words" };
    format!("{noun} {}", items.join(", "))
}
