//! CLIP's tokenizer against OpenAI's and open_clip's: single texts, and whole lists by digest.

use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};
use specimen_extract::clip::{
    clean::{clean, clean_hugging_face},
    tokenizer::{CONTEXT, ClipTokenizer, END, START, TextPrefix, TextRule},
};

use crate::golden;

const VOCABULARY: &str = "tokenizers/bpe_simple_vocab_16e6.txt.gz";

fn ids(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn texts_are_cleaned_as_ftfy_and_html_unescape_do() {
    let cases = golden::json("tok/clean.json");
    for case in cases.as_array().unwrap() {
        let text = case["text"].as_str().unwrap();
        assert_eq!(clean(text), case["cleaned"].as_str().unwrap(), "{text:?}");
    }
}

#[test]
fn sequences_are_those_of_open_clip_under_every_prefix() {
    let test = "sequences_are_those_of_open_clip_under_every_prefix";
    let Some(path) = specimen_testdata::find(test, VOCABULARY) else { return };
    let tokenizer = ClipTokenizer::read(&path).unwrap();
    let golden = golden::json("tok/expected.json");
    let keys = [
        ("ids", TextPrefix::None),
        ("prefixed_jmhessel", TextPrefix::Text),
        ("prefixed_lantern_gigagan", TextPrefix::Ids),
    ];
    for (key, prefix) in keys {
        let expected = golden[key].as_array().unwrap();
        for (prompt, expected) in golden["prompts"].as_array().unwrap().iter().zip(expected) {
            let prompt = prompt.as_str().unwrap();
            // open_clip splits OpenAI's name of a token; what OpenAI makes of it is in `special.json`.
            let is_split = prompt.contains("<|endoftext|>");
            assert_eq!(tokenizer.sequence(prompt, prefix) != ids(expected), is_split, "{key}: {prompt:?}");
        }
    }
}

#[test]
fn texts_have_the_ids_of_the_reference_tokenizer() {
    let test = "texts_have_the_ids_of_the_reference_tokenizer";
    let Some(path) = specimen_testdata::find(test, VOCABULARY) else { return };
    let Some(cases) = specimen_testdata::find(test, "tokenizers/clip_golden.json") else { return };
    let tokenizer = ClipTokenizer::read(&path).unwrap();
    let golden: Value = serde_json::from_slice(&std::fs::read(cases).unwrap()).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 77);
    for case in cases {
        let text = case["text"].as_str().unwrap();
        assert_eq!(tokenizer.encode(text), ids(&case["ids"]), "{text:?}");
    }
}

#[test]
fn names_of_tokens_and_odd_characters_have_the_ids_of_each_tokenizer() {
    let test = "names_of_tokens_and_odd_characters_have_the_ids_of_each_tokenizer";
    let Some(path) = specimen_testdata::find(test, VOCABULARY) else { return };
    let tokenizer = ClipTokenizer::read(&path).unwrap();
    let cases = golden::json("tok/special.json");
    assert_eq!(cases.as_array().unwrap().len(), 24);
    for case in cases.as_array().unwrap() {
        let text = case["text"].as_str().unwrap();
        for (rule, key) in [(TextRule::OpenAi, "openai"), (TextRule::HuggingFace, "hf")] {
            let found = tokenizer.sequence_by(text, TextPrefix::None, rule);
            assert_eq!(found, [&[START][..], &ids(&case[key]), &[END]].concat(), "{key}: {text:?}");
        }
    }
}

/// SHA-256 of the ids of `texts`: ids apart by blanks, texts by newlines, no start and end.
fn digest_of<'a>(tokenizer: &ClipTokenizer, texts: impl Iterator<Item = &'a str>) -> String {
    let line = |text: &str| tokenizer.encode(text).iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = texts.map(line).collect();
    Sha256::digest(lines.join("\n")).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn all_parti_prompts_have_the_reference_ids() {
    let test = "all_parti_prompts_have_the_reference_ids";
    let Some(path) = specimen_testdata::find(test, VOCABULARY) else { return };
    let Some(prompts) = specimen_testdata::find(test, "parti/PartiPrompts.tsv") else { return };
    let text = std::fs::read_to_string(prompts).unwrap();
    let prompts: Vec<&str> = text.lines().skip(1).map(|line| line.split('\t').next().unwrap()).collect();
    let tokenizer = ClipTokenizer::read(&path).unwrap();
    // open_clip 3.3 on the prompts as they are.
    let digest = digest_of(&tokenizer, prompts.iter().copied());
    assert_eq!(digest, "28285100b8393c5354a9c2ceb49ff1a3f5fe11cc58b4acea84797218107c4469");
    // A CSV reader that takes quotes for its own drops those of the one prompt that begins with one.
    let unquoted: Vec<String> = prompts
        .iter()
        .map(|prompt| if prompt.starts_with('"') { prompt.replace('"', "") } else { (*prompt).to_owned() })
        .collect();
    let digest = digest_of(&tokenizer, unquoted.iter().map(String::as_str));
    assert_eq!(digest, "7604c7245ee878939c49fc96735a4d760ff2a32bb3ecc937ec29ff2e4c5e9dc1");
}

#[test]
fn the_longest_captions_of_coco_have_the_reference_ids() {
    let test = "the_longest_captions_of_coco_have_the_reference_ids";
    let Some(path) = specimen_testdata::find(test, VOCABULARY) else { return };
    let Some(captions) = specimen_testdata::find(test, "coco/captions_val2017_longest1.json") else { return };
    let captions: Value = serde_json::from_slice(&std::fs::read(captions).unwrap()).unwrap();
    let captions = captions["annotations"].as_array().unwrap();
    assert_eq!(captions.len(), 5000);
    let captions = captions.iter().map(|caption| caption["caption"].as_str().unwrap());
    let digest = digest_of(&ClipTokenizer::read(&path).unwrap(), captions);
    assert_eq!(digest, "285933b4e19d943c08c14311a59c116e0546efb0ee7a039a55a065e46de3fac6");
}

/// A tokenizer that knows `th`, `the` and `e` at the end of a word.
fn small() -> ClipTokenizer {
    ClipTokenizer::from_merges(&["t h", "th e</w>", "e e</w>"]).unwrap()
}

#[test]
fn the_lowest_rank_is_merged_first_and_words_end_where_their_kind_does() {
    let small = small();
    let byte = |letter: u8| u32::from(letter - b'!');
    let ends = |letter: u8| byte(letter) + 256;
    assert_eq!(small.encode("The"), [513]);
    assert_eq!(small.encode("thee"), [512, 514]);
    assert_eq!(
        small.encode("12'd!?e"),
        [ends(b'1'), ends(b'2'), byte(b'\''), ends(b'd'), byte(b'!'), ends(b'?'), ends(b'e')]
    );
    // U+00E9 in UTF-8; both bytes stand for themselves in the list of letters.
    assert_eq!(small.encode("é"), [byte(b'~') + 1 + (0xc3 - 0xae) + 12, 256 + byte(b'~') + 1 + 8]);
    assert_eq!(small.encode(" \n"), Vec::<u32>::new());
}

#[test]
fn a_long_text_is_cut_and_keeps_its_end() {
    let text = "the ".repeat(90);
    for prefix in [TextPrefix::None, TextPrefix::Text, TextPrefix::Ids] {
        let ids = small().sequence(&text, prefix);
        assert_eq!((ids.len(), ids[0], ids[CONTEXT - 1]), (CONTEXT, START, END), "{prefix:?}");
        // The longest text that fits, and one word more.
        let n_prefix = small().sequence("", prefix).len() - 2;
        for rule in [TextRule::OpenAi, TextRule::HuggingFace] {
            let is_cut = |n: usize| small().is_cut(&"the ".repeat(n), prefix, rule);
            assert_eq!([is_cut(75 - n_prefix), is_cut(76 - n_prefix)], [false, true], "{prefix:?} {rule:?}");
        }
    }
}

#[test]
fn transformers_mends_nothing_and_cuts_the_end_away() {
    // ftfy makes quotes straight and OpenAI takes entities for characters; transformers leaves both.
    assert_eq!(clean("A \u{201c}Cat\u{201d} &amp;\u{a0} dog"), "a \"cat\" & dog");
    assert_eq!(
        clean_hugging_face("A \u{201c}Cat\u{201d} &amp;\u{a0} dog"),
        "a \u{201c}cat\u{201d} &amp; dog"
    );
    // Composed, and lower case character by character: no final sigma.
    assert_eq!(clean_hugging_face("E\u{301} \u{39f}\u{3a3}"), "\u{e9} \u{3bf}\u{3c3}");
    let long = "the ".repeat(90);
    let ids = small().sequence_by(&long, TextPrefix::None, TextRule::HuggingFace);
    assert_eq!((ids.len(), ids[0], ids[CONTEXT - 1]), (CONTEXT, START, 513));
    let short = small().sequence_by("The", TextPrefix::None, TextRule::HuggingFace);
    assert_eq!(short, [START, 513, END]);
}

#[test]
fn names_of_tokens_inside_a_text_are_tokens_where_the_rule_says_so() {
    let small = small();
    let of = |text: &str, rule| small.sequence_by(text, TextPrefix::None, rule);
    let [open_ai, hugging_face] = [TextRule::OpenAi, TextRule::HuggingFace];
    for rule in [open_ai, hugging_face] {
        assert_eq!(of("The <|endoftext|><|startoftext|>the", rule), [START, 513, END, START, 513, END]);
        assert!(small.has_special("a <|endoftext|>", rule) && !small.has_special("<|endoftext |>", rule));
    }
    // In capitals for OpenAI only, and inside a run of signs for transformers only.
    let is_special = |text: &str| [open_ai, hugging_face].map(|rule| small.has_special(text, rule));
    assert_eq!(is_special("<|EndOfText|>"), [true, false]);
    assert_eq!(is_special("!<|endoftext|>"), [false, true]);
    // OpenAI's pattern passes over one mark, for transformers it is a sign like others.
    assert_eq!(of("the\u{345}the", open_ai), [START, 513, 513, END]);
    assert_eq!(of("the\u{345}the", hugging_face).len(), 6);
}

#[test]
fn texts_that_a_reader_should_know_of_are_counted_by_their_kind() {
    let texts = ["the", "a <|endoftext|>", "&lt;|endoftext|&gt;", "\u{a7cb}", "\u{1fae8}"];
    let texts: Vec<String> = texts.into_iter().map(str::to_owned).chain(["the ".repeat(90)]).collect();
    let counts = |rule| small().counts(&texts, TextPrefix::None, rule).map(|(kind, n)| format!("{kind} {n}"));
    let [cut, newer] = ["captions_cut 1", "captions_newer_than_unicode_14 1"];
    assert_eq!(counts(TextRule::OpenAi), [cut, "captions_with_special_tokens 2", newer]);
    assert_eq!(counts(TextRule::HuggingFace), [cut, "captions_with_special_tokens 1", newer]);
}

fn refused(file: &Path) -> String {
    ClipTokenizer::read(file).unwrap_err().to_string()
}

#[test]
fn another_vocabulary_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("merges.txt");
    assert!(refused(&file).contains("cannot read the vocabulary"));
    std::fs::write(&file, "#version: 0.2\nt h\nth e</w>\n").unwrap();
    assert!(refused(&file).contains("the merges are not CLIP's: expected 48894 with SHA-256 f61f2adf"));
    std::fs::write(&file, [0x1f, 0x8b, 8, 0]).unwrap();
    assert!(refused(&file).contains("damaged"));
    std::fs::write(&file, [0xff, 0xff]).unwrap();
    assert!(refused(&file).contains("not UTF-8"));
    assert_eq!(ClipTokenizer::from_merges(&["t h", "x"]).unwrap_err(), 1);
    assert_eq!(ClipTokenizer::from_merges(&["t h", "th", "a b"]).unwrap_err(), 1);
    assert_eq!(ClipTokenizer::from_merges(&["tx h"]).unwrap_err(), 0);
}
