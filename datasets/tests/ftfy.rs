//! Repairs against those of ftfy, which `golden/make_ftfy.py` computed.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

use std::path::Path;

use serde_json::Value;
use specimen_datasets::text::ftfy::{fix_text, is_wrongly_decoded};

#[test]
fn texts_are_repaired_as_ftfy_repairs_them_without_encodings() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/ftfy.json");
    let golden: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    for case in cases {
        let text = case["text"].as_str().unwrap();
        assert_eq!(fix_text(text), case["fixed"].as_str().unwrap(), "{text:?}");
    }
    assert_eq!(cases.len(), 300);
}

#[test]
fn utf_8_that_was_read_as_windows_1252_or_latin_1_is_recognised_and_accents_are_not() {
    for text in ["donâ€™t", "cafÃ©", "20 Â°C", "\u{e2}\u{80}\u{99}", "ðŸ˜€", "a Ã©"] {
        assert!(is_wrongly_decoded(text), "{text:?}");
    }
    for text in
        ["don’t", "café — naïve, “résumé”…", "à la carte", "Ångström", "«é»", "20 °C", "猫", "Ã", "\u{fffd}"]
    {
        assert!(!is_wrongly_decoded(text), "{text:?}");
    }
}
