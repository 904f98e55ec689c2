//! Repairs against those of ftfy, which `golden/make_ftfy.py` computed.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

use std::path::Path;

use serde_json::Value;
use specimen_text::ftfy::{fix_text, repairs_encoding};
use specimen_text::mojibake::{fix_encoding, is_bad};

fn golden() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/ftfy.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn texts_are_repaired_as_ftfy_repairs_them() {
    let golden = golden();
    let cases = golden["cases"].as_array().unwrap();
    let (mut n_bad, mut n_repaired) = (0, 0);
    for case in cases {
        let text = case["text"].as_str().unwrap();
        assert_eq!(is_bad(text), case["bad"], "{text:?}");
        assert_eq!(fix_encoding(text), case["encoding"].as_str().unwrap(), "{text:?}");
        assert_eq!(fix_text(text), case["fixed"].as_str().unwrap(), "{text:?}");
        assert_eq!(repairs_encoding(text), case["repaired"], "{text:?}");
        n_bad += usize::from(is_bad(text));
        n_repaired += usize::from(repairs_encoding(text));
    }
    assert_eq!(
        [n_bad, n_repaired],
        [golden["n_bad"].as_u64(), golden["n_repaired"].as_u64()].map(|n| n.unwrap() as usize)
    );
    assert!(1000 < cases.len() && 500 < n_repaired && n_repaired + 200 < cases.len());
}

#[test]
fn every_pair_of_characters_of_mojibake_is_judged_as_ftfy_judges_it() {
    // One hexadecimal digit for four pairs: the characters of `alphabet` in turn behind each of them.
    let golden = golden();
    let alphabet: Vec<char> = golden["alphabet"].as_str().unwrap().chars().collect();
    let rows = golden["pairs"].as_array().unwrap();
    assert_eq!(rows.len(), alphabet.len());
    for (first, row) in alphabet.iter().zip(rows) {
        let row = row.as_str().unwrap();
        for (idx, second) in alphabet.iter().enumerate() {
            let digit = row.as_bytes()[idx / 4] as char;
            let is_expected = digit.to_digit(16).unwrap() >> (3 - idx % 4) & 1 == 1;
            // Behind a letter, so that rules for the beginning of a text are not asked.
            let text = format!("q{first}{second}");
            assert_eq!(is_bad(&text), is_expected, "{text:?}");
        }
    }
}
