//! Features of a target that were exported: a head trained with them has the bytes of one trained without, an export that
//! was cut ends with the bytes of one that was not, and features of something else are refused.

use std::path::Path;

use specimen_foundation::failure::{Failure, FailureKind, FailureMessage};
use specimen_train::{
    feature_export::{Exported, FeatureExport},
    target_features::MANIFEST,
};

use crate::heads::{eagle1, eagle3, refusal, train, with_training};

/// `text` with its features in `folder`.
fn with_features(text: &str, folder: &Path) -> String {
    format!("features = {folder:?}\n{text}")
}

fn export(text: &str, folder: &Path) -> anyhow::Result<Exported> {
    with_training(text, |training| FeatureExport::new(training, folder)?.write())
}

/// Bytes that an export by `text` into `folder` announces: all, and those that are left.
fn announced(text: &str, folder: &Path) -> [u64; 2] {
    with_training(text, |training| {
        let export = FeatureExport::new(training, folder)?;
        Ok([export.n_bytes(), export.n_bytes_left()])
    })
    .unwrap()
}

fn short(text: &str) -> String {
    text.replace("n_steps = 80", "n_steps = 6").replace("n_validation = 8", "n_validation = 2")
}

/// The files of `folder` and what is in them, by name.
fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.is_file())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

/// What training leaves that depends on nothing but its specification.
fn check_same_head(text: &str, folder: &Path) {
    let place = |name: &str| folder.join(name);
    train(text, &place("without")).unwrap();
    export(text, &place("features")).unwrap();
    // The features have the tokens too.
    std::fs::remove_dir_all(place("features/images")).unwrap();
    train(&with_features(text, &place("features")), &place("with")).unwrap();
    assert!(!place("with/images").exists());
    for file in ["model.safetensors", "model.state.safetensors", "config.json", "model.results.json"] {
        let read = |of: &str| std::fs::read(place(of).join(file)).unwrap();
        assert!(read("without") == read("with"), "{file} of {text}");
    }
}

#[test]
fn a_head_trained_with_exported_features_has_the_bytes_of_one_trained_without() {
    let folder = tempfile::tempdir().unwrap();
    let noisy = |text: String| text.replace("feature_noise = 0.0", "feature_noise = 0.2");
    for (at, text) in [
        noisy(eagle1("llamagen-toy")),
        eagle3("anole-toy"),
        noisy(eagle1("lumina-toy")),
        eagle1("llamagen-toy").replace("guidance = 3.0", "guidance = 1.0"),
        noisy(eagle3("janus-toy").replace("limit = 40", "limit = 12, samples = 2")),
        eagle1("llamagen-toy").replace("\"f32\"", "\"bf16\""),
    ]
    .iter()
    .enumerate()
    {
        check_same_head(&short(text), &folder.path().join(at.to_string()));
    }
}

#[test]
fn an_export_that_was_cut_ends_with_the_same_bytes_and_its_size_was_known_before() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, cut) = (folder.path().join("whole"), folder.path().join("cut"));
    let text = eagle3("llamagen-toy").replace("limit = 40", "limit = 300");
    let [all, left] = announced(&text, &whole);
    assert!(!whole.exists() && left >= all, "{all} {left}");
    let written = export(&text, &whole).unwrap();
    assert_eq!((written.n_images, written.n_files), (300, 3));
    assert!(
        written.n_bytes <= all && all < written.n_bytes + written.n_bytes / 20 + 60_000,
        "{written:?} {all}"
    );
    assert_eq!(announced(&text, &whole), [all, 0]);
    // Cut behind the first file, behind all files but before the manifest, and while a file was written.
    for there in [
        &["features-00000.safetensors"][..],
        &["features-00000.safetensors", "features-00001.safetensors", "features-00002.safetensors"],
    ] {
        std::fs::create_dir_all(&cut).unwrap();
        for name in there {
            std::fs::copy(whole.join(name), cut.join(name)).unwrap();
        }
        let [_, left] = announced(&text, &cut);
        assert_eq!(left == 0, there.len() == 3);
        // A training does not take what is not whole.
        let (message, kind) = refusal(&with_features(&text, &cut), &folder.path().join("out"));
        assert!(
            message.contains("cut: there are no whole features") && kind == FailureKind::Missing,
            "{message}"
        );
        assert_eq!(export(&text, &cut).unwrap(), written);
        assert!(content(&whole) == content(&cut));
        std::fs::remove_dir_all(&cut).unwrap();
    }
    // What is whole stays as it is.
    assert_eq!(export(&text, &whole).unwrap(), written);
    assert!(!folder.path().join("out").exists());
}

/// The message of an export by `text` into `folder`.
fn export_refusal(text: &str, folder: &Path) -> String {
    let error = export(text, folder).map(|_| ()).unwrap_err();
    assert_eq!(
        error.downcast_ref::<FailureMessage>().unwrap().kind(),
        Some(FailureKind::Missing),
        "{error:#}"
    );
    format!("{error:#}")
}

#[test]
fn features_of_another_model_guidance_prompts_or_layers_are_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let (features, out) = (folder.path().join("features"), folder.path().join("out"));
    let text = short(&eagle3("llamagen-toy"));
    export(&text, &features).unwrap();
    let before = content(&features);
    let taps = "proposer = \"eagle3\", taps = [0, 0, 1] }\nloss";
    for (other, parts) in [
        (text.replace("llamagen-toy", "janus-toy"), ["model \"llamagen-toy\"", "has \"janus-toy\""]),
        (text.replace("guidance = 3.0", "guidance = 4.0"), ["sampling.guidance 3.0", "has 4.0"]),
        (text.replace("temperature = 1.0", "temperature = 0.9"), ["sampling.temperature 1.0", "has 0.9"]),
        (text.replace("limit = 40", "limit = 41"), ["prompts", "the training has"]),
        (text.replace("seed         = 3", "seed         = 4"), ["seed 13", "has 10"]),
        (text.replace("\"f32\"", "\"bf16\""), ["dtype \"f32\"", "has \"bf16\""]),
        (text.replace("proposer = \"eagle3\" }\nloss", taps), ["taps [0,1,1]", "has [0,0,1]"]),
    ] {
        assert_ne!(other, text);
        let (message, kind) = refusal(&with_features(&other, &features), &out);
        assert_eq!(kind, FailureKind::Missing);
        for message in [message, export_refusal(&other, &features)] {
            for part in [MANIFEST, "these features have", "leave `features` out of the specification"]
                .into_iter()
                .chain(parts)
            {
                assert!(message.contains(part), "`{part}` is not in {message}");
            }
        }
    }
    assert!(content(&features) == before && !out.exists());
}

#[test]
fn features_that_are_damaged_are_refused_with_the_file_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let (features, out) = (folder.path().join("features"), folder.path().join("out"));
    let text = short(&eagle1("llamagen-toy"));
    let named = with_features(&text, &features);
    export(&text, &features).unwrap();
    let file = features.join("features-00000.safetensors");
    let manifest = features.join(MANIFEST);
    let [whole, listed] = [&file, &manifest].map(|path| std::fs::read(path).unwrap());
    let check = |part: &str| {
        let error = train(&named, &out).map(|_| ()).unwrap_err();
        let message = format!("{error:#}");
        assert!(message.contains(part) && message.contains("feature"), "`{part}` is not in {message}");
        assert!(!out.exists());
    };
    let mut flipped = whole.clone();
    let last = flipped.len() - 1;
    flipped[last] ^= 1;
    std::fs::write(&file, &flipped).unwrap();
    check("features-00000.safetensors: its digest is");
    let message = export_refusal(&text, &features);
    assert!(message.contains("remove it and run `specimen data features` again"), "{message}");
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    check("not a whole safetensors file");
    std::fs::remove_file(&file).unwrap();
    check("features-00000.safetensors: cannot read the weights");
    // What was removed is written again.
    export(&text, &features).unwrap();
    assert!(std::fs::read(&file).unwrap() == whole && std::fs::read(&manifest).unwrap() == listed);
    let listed = String::from_utf8(listed).unwrap();
    for (changed, part) in [
        (listed.replace("\"schema\": 1", "\"schema\": 2"), "features.json: its schema is 2, expected 1"),
        (listed.replace("features-00000", "features-00001"), "it does not list the 1 files"),
        (listed.replace("\"files\"", "\"fyles\""), "features.json: it is no manifest"),
        ("\u{1}".to_owned(), "features.json: it is no manifest"),
    ] {
        std::fs::write(&manifest, changed).unwrap();
        check(part);
    }
}
