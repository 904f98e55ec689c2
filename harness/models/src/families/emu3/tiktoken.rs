//! The text tokenizer in the files of its authors: `emu3.tiktoken`, a byte string in base64 and its rank a line, and
//! `emu3_vision_tokens.txt`, a special token a line. Byte-level BPE of the `tokenizers` crate says the same: whatever two parts
//! together are a word are merged, the lowest rank first.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};
use specimen_foundation::bounded_read::{read_side_file, read_side_text};
use specimen_weights::LoadError;

use crate::{families::text_tokenizer::TextTokenizer, seam::loaded_model::WeightsId};

/// How a text is split before its parts are made of words (the authors' `tokenization_emu3.py`, after Qwen's).
const SPLIT: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// Special tokens behind the words; as many `<|extra_…|>` and the tokens of the second file follow them.
const FIRST: [&str; 3] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
const N_EXTRAS: usize = 205;
/// Words and special tokens of a file, at most, and bytes of one.
const MOST: usize = 1 << 20;
const MOST_BYTES: usize = 1 << 10;

/// Reads both files, the ranks first; the tokenizer and the second file as a part of the model.
pub(super) fn open([ranks, vision]: [&PathBuf; 2]) -> Result<(TextTokenizer, WeightsId), LoadError> {
    let bytes = read_side_file(ranks).map_err(|source| LoadError::Read { path: ranks.clone(), source })?;
    let text = read_side_text(vision).map_err(|source| LoadError::Read { path: vision.clone(), source })?;
    let file = vision.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let digest = blake3::hash(text.as_bytes()).to_hex().to_string();
    let second = WeightsId { role: "text tokenizer 2".to_owned(), file, digest };
    Ok((of_texts(ranks, &bytes, &text)?, second))
}

/// The tokenizer of both files' contents; `path` stands for the first in messages.
pub(super) fn of_texts(path: &Path, ranks: &[u8], vision: &str) -> Result<TextTokenizer, LoadError> {
    let bad = |reason: String| LoadError::Config { path: path.to_owned(), reason };
    let words = words(ranks).map_err(bad)?;
    let vision: Vec<&str> = vision.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if MOST < vision.len() || vision.iter().any(|name| MOST_BYTES < name.len()) {
        return Err(bad(format!(
            "its vision tokens are more than {MOST}, or one is longer than {MOST_BYTES}"
        )));
    }
    let extras = (0..N_EXTRAS).map(|i| format!("<|extra_{i}|>"));
    let special =
        FIRST.map(str::to_owned).into_iter().chain(extras).chain(vision.into_iter().map(str::to_owned));
    let added: Vec<Value> = (words.len()..)
        .zip(special)
        .map(|(id, content)| {
            json!({
                "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": true,
            })
        })
        .collect();
    let (vocab, merges) = vocabulary(&words);
    let tokenizer = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": { "type": "NFC" },
        "pre_tokenizer": { "type": "Sequence", "pretokenizers": [
            { "type": "Split", "pattern": { "Regex": SPLIT }, "behavior": "Isolated", "invert": false },
            { "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false },
        ] },
        "post_processor": null,
        "decoder": { "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false },
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": true,
            "vocab": vocab, "merges": merges,
        },
    });
    let digest = blake3::hash(ranks).to_hex().to_string();
    TextTokenizer::of_bytes(path, tokenizer.to_string().as_bytes())
        .map(|tokenizer| tokenizer.with_digest(digest))
}

/// The byte strings by rank, which is their place: every rank once.
fn words(file: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    for (at, line) in file.split(|&byte| byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let bad = |what: &str| {
            let shown = String::from_utf8_lossy(&line[..line.len().min(60)]);
            Err(format!("line {}: {what}, found `{}`", at + 1, shown.escape_debug()))
        };
        let Some(gap) = line.iter().position(|&byte| byte == b' ') else {
            return bad("expected a word in base64 and its rank");
        };
        let Ok(word) = STANDARD.decode(&line[..gap]) else { return bad("its word is not base64") };
        let rank = std::str::from_utf8(&line[gap + 1..]).ok().and_then(|rank| rank.parse::<usize>().ok());
        if rank != Some(words.len()) {
            return bad(&format!("expected the rank {}", words.len()));
        }
        if word.is_empty() || MOST_BYTES < word.len() || MOST <= words.len() {
            return bad(&format!("expected at most {MOST} words of 1 to {MOST_BYTES} bytes"));
        }
        words.push(word);
    }
    let mut single = [false; 256];
    words.iter().filter(|word| word.len() == 1).for_each(|word| single[usize::from(word[0])] = true);
    match single.iter().position(|&found| !found) {
        Some(byte) => Err(format!("it has no word for the byte {byte}; expected all 256, and words of more")),
        None => Ok(words),
    }
}

/// The words as byte-level BPE writes them, and every way to put one together of two others, by its rank.
fn vocabulary(words: &[Vec<u8>]) -> (Map<String, Value>, Vec<[String; 2]>) {
    let ranks: BTreeMap<&[u8], usize> = words.iter().map(Vec::as_slice).zip(0..).collect();
    let mut vocab = Map::new();
    let mut merges = Vec::new();
    for (rank, word) in words.iter().enumerate() {
        vocab.insert(written(word), rank.into());
        let mut ways: Vec<([usize; 2], [String; 2])> = (1..word.len())
            .filter_map(|at| {
                let (left, right) = word.split_at(at);
                Some(([*ranks.get(left)?, *ranks.get(right)?], [written(left), written(right)]))
            })
            .collect();
        ways.sort_unstable();
        merges.extend(ways.into_iter().map(|(_, way)| way));
    }
    (vocab, merges)
}

/// Bytes as characters that can be seen: those of Latin-1 that can be, as they are, all others from U+0100 on (GPT-2).
fn written(word: &[u8]) -> String {
    let is_seen = |byte: &u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let character = |byte: &u8| {
        let n_unseen = (0..*byte).filter(|other| !is_seen(other)).count() as u32;
        let code = if is_seen(byte) { u32::from(*byte) } else { 0x100 + n_unseen };
        char::from_u32(code).expect("these are characters")
    };
    word.iter().map(character).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    /// A file of all bytes and `more`.
    fn file(more: &[&str]) -> String {
        let bytes = (0..=255_u8).map(|byte| vec![byte]);
        let words = bytes.chain(more.iter().map(|word| word.as_bytes().to_vec()));
        words.enumerate().map(|(rank, word)| format!("{} {rank}\n", STANDARD.encode(word))).collect()
    }

    #[test]
    fn parts_that_are_a_word_together_are_merged_by_rank_and_specials_follow_the_words() {
        let text = file(&["bc", "ab", "abc"]);
        let text =
            of_texts("t".as_ref(), text.as_bytes(), "<|image token|>\n\n<|visual token 000000|>\n").unwrap();
        // A whole part that is a word is that word, and `bc` is merged before `ab`.
        assert_eq!(text.encode("abc").unwrap(), [258]);
        assert_eq!(text.encode("abcb").unwrap(), [258, i64::from(b'b')]);
        assert_eq!(text.encode("aab").unwrap(), [i64::from(b'a'), 257]);
        assert_eq!(text.encode("a<|endoftext|>\u{e9}").unwrap(), [97, 259, 0xc3, 0xa9]);
        let ids = ["<|extra_0|>", "<|extra_204|>", "<|image token|>", "<|visual token 000000|>"];
        assert_eq!(ids.map(|name| text.special(name).unwrap()), [262, 466, 467, 468]);
    }

    #[test]
    fn texts_are_composed_and_split_before_they_are_words() {
        // `é` in two characters is the one of NFC; a mark belongs to the letters behind it.
        let text = file(&["(a", "\u{e9}"]);
        let text = of_texts("t".as_ref(), text.as_bytes(), "").unwrap();
        assert_eq!(text.encode("e\u{301}").unwrap(), [257]);
        assert_eq!(text.encode("(a").unwrap(), [256]);
    }

    #[test]
    fn damaged_files_are_named_by_line() {
        let of = |text: &str| {
            of_texts("e.tiktoken".as_ref(), text.as_bytes(), "").map(|_| ()).unwrap_err().to_string()
        };
        let whole = file(&[]);
        for (text, part) in [
            (whole.replacen("AQ== 1", "AQ== 2", 1), "line 2: expected the rank 1"),
            (whole.replacen("AQ== 1", "A 1", 1), "line 2: its word is not base64, found `A 1`"),
            (whole.replacen("AQ== 1", "AQ==", 1), "line 2: expected a word in base64 and its rank"),
            (whole.lines().take(255).map(|line| format!("{line}\n")).collect(), "no word for the byte 255"),
            (String::new(), "no word for the byte 0"),
        ] {
            let message = of(&text);
            assert!(
                message.contains("e.tiktoken") && message.contains(part),
                "`{part}` is not in `{message}`"
            );
        }
    }
}
