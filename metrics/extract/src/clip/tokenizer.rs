//! CLIP's byte pairs: text to ids as OpenAI's `clip.tokenize(truncate=True)` and open_clip give them.
//!
//! The vocabulary is OpenAI's `bpe_simple_vocab_16e6.txt.gz`, or the same 48,894 merges as Hugging Face stores them in
//! `merges.txt`. It is not part of this program. The names of the start and end token inside a text are these tokens: for
//! OpenAI where a word could begin, in any case of their letters; for transformers anywhere, in small letters only. (open_clip
//! splits them like any other characters and has names of its own, `<start_of_text>` and `<end_of_text>`.)

use std::{
    collections::BTreeMap,
    io::Read,
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};
use specimen_datasets::text::{
    python::{is_letter, is_number},
    unicode_14::is_newer,
};
use specimen_foundation::bounded_read::read_side_file;

use crate::{
    clip::clean::{clean, clean_hugging_face},
    extractor::ExtractError,
};

/// Id that begins every text.
pub const START: u32 = 49_406;
/// Id that ends every text.
pub const END: u32 = 49_407;
/// Most ids of a text, start and end included.
pub const CONTEXT: usize = 77;
/// What some scores put before every caption.
pub const PREFIX: &str = "A photo depicts ";

/// The published vocabulary.
pub(crate) const VOCABULARY: &str = "bpe_simple_vocab_16e6.txt.gz";

/// Names of tokens that a text may hold.
const SPECIAL: [(&str, u32); 2] = [("<|startoftext|>", START), ("<|endoftext|>", END)];
/// The same of open_clip.
const OPEN_CLIP_SPECIAL: [(&str, u32); 2] = [("<start_of_text>", START), ("<end_of_text>", END)];
/// Merges of the published vocabulary.
const N_MERGES: usize = 48_894;
/// SHA-256 of these merges, one a line, without a newline at the end.
const MERGES_SHA256: &str = "f61f2adf497e6f5357c347aeb4646fabe82f341e946de5bdec5d2858e41bef4a";
/// Ids of bytes; those of bytes at the end of a word follow.
const N_BYTES: u32 = 256;
/// What marks the end of a word in the file.
const WORD_END: &str = "</w>";

/// How [`PREFIX`] comes before a caption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPrefix {
    /// Not at all.
    None,
    /// As text (jmhessel/clipscore).
    Text,
    /// As three ids behind the start token of a text that was cut before (GigaGAN, LlamaGen, LANTERN).
    Ids,
}

/// The tool whose cleaning and cutting of texts is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextRule {
    /// OpenAI: ftfy and HTML entities are mended; a text that is too long ends with the end token.
    OpenAi,
    /// open_clip, and HPSv2 with it: the same with other names of tokens.
    OpenClip,
    /// transformers' tokenizer as torchmetrics uses it: NFC, white space made single, lower case, nothing mended; ids
    /// are cut behind the 77th, so that a text that is too long has no end token. (transformers pools at the greatest
    /// id, which is then the start token: all such texts have one embedding.)
    HuggingFace,
    /// The same with transformers' own cut, `truncation=True`, as PickScore uses it: a text that is too long ends with the
    /// end token.
    HuggingFaceTruncated,
}

impl TextRule {
    fn is_hugging_face(self) -> bool {
        matches!(self, Self::HuggingFace | Self::HuggingFaceTruncated)
    }
}

/// The tokenizer.
#[derive(Debug)]
pub struct ClipTokenizer {
    /// Rank of a merge by what it merges; the merged id is `2 * N_BYTES + rank`.
    ranks: BTreeMap<(u32, u32), u32>,
    /// Id of each byte.
    byte_ids: [u32; N_BYTES as usize],
}

impl ClipTokenizer {
    /// Reads the published vocabulary, gzipped or not.
    pub fn read(path: &Path) -> Result<Self, ExtractError> {
        let refuse = |reason: String| crate::extractor::vocabulary(path, reason);
        let bytes =
            read_side_file(path).map_err(|error| refuse(format!("cannot read the vocabulary: {error}")))?;
        let text = if bytes.starts_with(&[0x1f, 0x8b]) {
            let mut text = String::new();
            // Twice the size of the published file, so that no archive fills the memory.
            let mut limited = GzDecoder::new(bytes.as_slice()).take(1 << 23);
            limited.read_to_string(&mut text).map_err(|error| refuse(format!("damaged: {error}")))?;
            text
        } else {
            String::from_utf8(bytes).map_err(|error| refuse(format!("not UTF-8: {error}")))?
        };
        // The first line names the format; behind the merges the gzipped file has lines that CLIP does not use.
        let merges: Vec<&str> = text.split('\n').skip(1).take(N_MERGES).collect();
        let found =
            Sha256::digest(merges.join("\n")).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        if found != MERGES_SHA256 {
            return Err(refuse(format!(
                "the merges are not CLIP's: expected {N_MERGES} with SHA-256 {MERGES_SHA256}, found {} with {found}; \
                 take bpe_simple_vocab_16e6.txt.gz of openai/CLIP or merges.txt of openai/clip-vit-base-patch32",
                merges.len()
            )));
        }
        Self::from_merges(&merges).map_err(|line| refuse(format!("line {}: not two known parts", line + 2)))
    }

    /// A tokenizer with these merges, most frequent first, as `t h</w>`.
    pub fn from_merges(merges: &[&str]) -> Result<Self, usize> {
        let mut byte_ids = [0; N_BYTES as usize];
        let mut ids = BTreeMap::new();
        for (id, (byte, letter)) in letters().enumerate() {
            byte_ids[usize::from(byte)] = id as u32;
            ids.insert(letter.to_string(), id as u32);
            ids.insert(format!("{letter}{WORD_END}"), id as u32 + N_BYTES);
        }
        let mut ranks = BTreeMap::new();
        for (rank, merge) in merges.iter().enumerate() {
            let parts = merge.split_once(' ').and_then(|(a, b)| Some((a, b, *ids.get(a)?, *ids.get(b)?)));
            let (first, second, first_id, second_id) = parts.ok_or(rank)?;
            ranks.insert((first_id, second_id), rank as u32);
            ids.insert(format!("{first}{second}"), 2 * N_BYTES + rank as u32);
        }
        Ok(Self { ranks, byte_ids })
    }

    /// Ids of a whole text, without start and end.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        self.encode_by(text, TextRule::OpenAi)
    }

    fn encode_by(&self, text: &str, rule: TextRule) -> Vec<u32> {
        let mut ids = Vec::new();
        match rule {
            TextRule::OpenAi | TextRule::OpenClip => self.push_words(&clean(text), rule, &mut ids),
            TextRule::HuggingFace | TextRule::HuggingFaceTruncated => {
                let mut rest = text;
                while let Some((at, name, id)) = first_special(rest) {
                    self.push_words(&clean_hugging_face(&rest[..at]), rule, &mut ids);
                    ids.push(id);
                    rest = &rest[at + name.len()..];
                }
                self.push_words(&clean_hugging_face(rest), rule, &mut ids);
            }
        }
        ids
    }

    /// The ids of a text that was cleaned, behind `ids`.
    fn push_words(&self, text: &str, rule: TextRule, ids: &mut Vec<u32>) {
        let names = match rule {
            TextRule::OpenAi => &SPECIAL[..],
            TextRule::OpenClip => &OPEN_CLIP_SPECIAL[..],
            // Found before a text is lowered.
            TextRule::HuggingFace | TextRule::HuggingFaceTruncated => &[],
        };
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let special = names.iter().find(|(name, _)| rest.starts_with(name));
            let len = match (special, kind(c, rule)) {
                (Some((name, id)), _) => {
                    ids.push(*id);
                    name.len()
                }
                (None, CharKind::Space) => c.len_utf8(),
                (None, _) => {
                    let len = word_len(rest, rule);
                    self.push_word(&rest[..len], ids);
                    len
                }
            };
            rest = &rest[len..];
        }
    }

    /// Whether `text` holds the name of a token, as `rule` reads it.
    pub fn has_special(&self, text: &str, rule: TextRule) -> bool {
        self.encode_by(text, rule).iter().any(|&id| START <= id)
    }

    /// Ids of a text from the start token to the end token, at most [`CONTEXT`]; of a longer text the end token is
    /// the last one.
    pub fn sequence(&self, text: &str, prefix: TextPrefix) -> Vec<u32> {
        self.sequence_by(text, prefix, TextRule::OpenAi)
    }

    /// As [`ClipTokenizer::sequence`], cleaned and cut by `rule`.
    pub fn sequence_by(&self, text: &str, prefix: TextPrefix, rule: TextRule) -> Vec<u32> {
        let text = if prefix == TextPrefix::Text { format!("{PREFIX}{text}") } else { text.to_owned() };
        let mut ids = vec![START];
        ids.extend(self.encode_by(&text, rule));
        ids.push(END);
        cut(&mut ids, rule);
        if prefix == TextPrefix::Ids {
            ids.splice(1..1, self.encode(PREFIX));
            cut(&mut ids, rule);
        }
        ids
    }

    /// Whether [`ClipTokenizer::sequence_by`] leaves something of the text out.
    pub fn is_cut(&self, text: &str, prefix: TextPrefix, rule: TextRule) -> bool {
        let n_prefix = if prefix == TextPrefix::None { 0 } else { self.encode(PREFIX).len() };
        2 + n_prefix + self.encode_by(text, rule).len() > CONTEXT
    }

    /// How many of `texts` there are of each kind that a reader of a score should know of, by the kind's name: cut to the
    /// context; with the name of a token inside; with characters that Unicode 14 does not know, which the tools handle by
    /// the version of their Unicode, and this program by 16.
    pub fn counts(&self, texts: &[String], prefix: TextPrefix, rule: TextRule) -> [(&'static str, usize); 3] {
        let n = |is_so: &dyn Fn(&str) -> bool| texts.iter().filter(|text| is_so(text)).count();
        [
            ("captions_cut", n(&|text| self.is_cut(text, prefix, rule))),
            ("captions_with_special_tokens", n(&|text| self.has_special(text, rule))),
            ("captions_newer_than_unicode_14", n(&|text| text.chars().any(is_newer))),
        ]
    }

    /// Merges the bytes of a word, the pair of lowest rank first, wherever it stands.
    fn push_word(&self, word: &str, ids: &mut Vec<u32>) {
        let mut parts: Vec<u32> = word.bytes().map(|byte| self.byte_ids[usize::from(byte)]).collect();
        if let Some(last) = parts.last_mut() {
            *last += N_BYTES;
        }
        loop {
            let rank = parts.windows(2).filter_map(|pair| self.ranks.get(&(pair[0], pair[1]))).min();
            let Some(&rank) = rank else { break };
            let mut merged = Vec::with_capacity(parts.len());
            let mut idx = 0;
            while idx < parts.len() {
                let pair = parts.get(idx + 1).map(|&second| (parts[idx], second));
                if pair.is_some_and(|pair| self.ranks.get(&pair) == Some(&rank)) {
                    merged.push(2 * N_BYTES + rank);
                    idx += 2;
                } else {
                    merged.push(parts[idx]);
                    idx += 1;
                }
            }
            parts = merged;
        }
        ids.extend(parts);
    }
}

fn cut(ids: &mut Vec<u32>, rule: TextRule) {
    if ids.len() > CONTEXT {
        ids.truncate(CONTEXT);
        if rule != TextRule::HuggingFace {
            ids[CONTEXT - 1] = END;
        }
    }
}

/// Every byte with the letter that stands for it in the file: printable ones for themselves, first and in order, the
/// others for letters from U+0100 on.
fn letters() -> impl Iterator<Item = (u8, char)> {
    let is_printable = |byte: &u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let printable = (0..=u8::MAX).filter(is_printable).map(|byte| (byte, char::from(byte)));
    let others = (0..=u8::MAX).filter(move |byte| !is_printable(byte));
    let letter = |idx: u32| char::from_u32(0x100 + idx).expect("these are letters of Latin Extended-A");
    printable.chain(others.zip(0..).map(move |(byte, idx)| (byte, letter(idx))))
}

/// Place, name and id of the first name of a token in `text`.
fn first_special(text: &str) -> Option<(usize, &'static str, u32)> {
    SPECIAL.iter().filter_map(|&(name, id)| Some((text.find(name)?, name, id))).min()
}

/// Bytes of the word that `text`, which is not empty and begins with no white space, begins with: an English ending,
/// letters, one digit, or anything else up to the next of these.
fn word_len(text: &str, rule: TextRule) -> usize {
    const ENDINGS: [&str; 7] = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d"];
    /// What OpenAI's pattern, which is blind for case, takes for an `s`.
    const LONG_S: &str = "'ſ";
    let long_s = (!rule.is_hugging_face()).then_some(LONG_S);
    if let Some(ending) = ENDINGS.into_iter().chain(long_s).find(|ending| text.starts_with(ending)) {
        return ending.len();
    }
    let run = |of: CharKind| {
        let letters = text.chars().take_while(|&c| kind(c, rule) == of);
        letters.map(char::len_utf8).sum::<usize>()
    };
    let first = text.chars().next().expect("a word has a character");
    match kind(first, rule) {
        CharKind::Number => first.len_utf8(),
        kind => run(kind),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharKind {
    Letter,
    Number,
    /// White space, and what no token is made of.
    Space,
    Other,
}

fn kind(c: char, rule: TextRule) -> CharKind {
    match c {
        // The one character that OpenAI's pattern passes over: blind for case it is a letter (iota), and otherwise it is none.
        '\u{345}' if !rule.is_hugging_face() => CharKind::Space,
        _ if is_letter(c) => CharKind::Letter,
        _ if is_number(c) => CharKind::Number,
        _ if c.is_whitespace() => CharKind::Space,
        _ => CharKind::Other,
    }
}

/// Where a vocabulary is below a folder of data or weights, in the order tried.
pub(crate) fn vocabulary_files(folder: &Path) -> [PathBuf; 3] {
    [&format!("tokenizers/{VOCABULARY}"), VOCABULARY, "merges.txt"].map(|file| folder.join(file))
}
