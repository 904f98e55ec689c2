//! What the catalog answers when a model cannot be opened.

use std::path::PathBuf;

use specimen_models::{
    catalog::{Made, OpenModel, open},
    seam::model_error::ModelError,
};
use tch::{Device, Kind};

fn options(data_root: Option<PathBuf>) -> OpenModel {
    OpenModel {
        kind: Kind::Float,
        device: Device::Cpu,
        data_root,
        weights: None,
        heads: Vec::new(),
        made: Made::Not,
        encode_caption: |_| Ok(Vec::new()),
        three_way_guidance: false,
        graphs: None,
    }
}

fn refusal(name: &str, data_root: Option<PathBuf>) -> ModelError {
    open(name, &options(data_root)).map(|_| ()).unwrap_err()
}

#[track_caller]
fn check_message(error: &ModelError, parts: &[&str]) {
    let message = error.to_string();
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in `{message}`");
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest_and_all_known_ones() {
    let error = refusal("igpt-mnits", None);
    let known: Vec<&str> = specimen_catalog::entry::targets().map(|(model, _)| &*model.name).collect();
    check_message(&error, &["`igpt-mnits`", "did you mean `igpt-mnist`?", &known.join(", ")]);
}

#[test]
fn absent_weights_are_named_with_what_to_fetch() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["igpt-mnist", "igpt-fmnist"] {
        let command = format!("\n    specimen data fetch {name}");
        let error = refusal(name, Some(folder.path().to_owned()));
        let looked = folder.path().join("weights");
        check_message(&error, &["no weights in", name, &command, looked.to_str().unwrap()]);
    }
}

#[test]
fn damaged_weights_are_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weights/igpt/mnist_gen.safetensors");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, [0; 7]).unwrap();
    let error = refusal("igpt-mnist", Some(folder.path().to_owned()));
    check_message(&error, &[path.to_str().unwrap(), "7 bytes", "truncated"]);
}

#[test]
fn weights_that_a_user_names_must_be_there_and_be_of_a_model_that_has_files() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |name: &str, file: &str| {
        let options = OpenModel { weights: Some(folder.path().join(file)), ..options(None) };
        open(name, &options).map(|_| ()).unwrap_err()
    };
    check_message(
        &refusal("igpt-mnist", "none"),
        &["igpt-mnist", "none has no weights", "mnist_gen.safetensors"],
    );
    check_message(
        &refusal("igpt-mnist", ""),
        &["has no weights; expected a file of tensors, or a folder with"],
    );
    check_message(&refusal("tiny", "none"), &["model `tiny` takes no `weights`", "leave the key out"]);
}

/// LlamaGen-B is the smallest published model that can be made.
#[test]
fn made_weights_have_the_published_sizes_and_need_no_files() {
    use specimen_decode::generation::Generation;
    let made = OpenModel { kind: Kind::BFloat16, made: Made::Published, ..options(None) };
    let model = open("llamagen-c2i-b-256", &made).unwrap();
    let mut generation = model.open("3", &crate::support::GUIDED, 1).unwrap();
    assert_eq!((model.n_tokens, generation.prefill().len()), (256, 16_384));
    let error = open("igpt-mnist", &made).map(|_| ()).unwrap_err();
    check_message(&error, &["`igpt-mnist`", "cannot have made weights", "specimen data fetch igpt-mnist"]);
}

/// Every published target has a narrow network, of the same vocabulary of images and heads.
#[test]
fn a_narrow_network_has_the_tokens_and_heads_of_the_published_one() {
    use specimen_decode::generation::Generation;
    let narrow = OpenModel { kind: Kind::Float, made: Made::Narrow { side: 4 }, ..options(None) };
    let cases = [
        ("llamagen-t2i-xl-512", "a dog", 16, 16_384, 3),
        ("llamagen-c2i-b-384", "3", 16, 16_384, 2),
        ("janus-pro-7b", "a dog", 16, 16_384, 2),
        ("anole-7b", "a dog", 16, 8192, 2),
        // Four rows with their ends, and three tokens that close the image; the four kinds of them follow the codes.
        ("emu3-gen-8b", "a dog", 4 * 5 + 3, 32_768 + 4, 2),
        ("liquid-7b", "a dog", 16, 8192, 2),
        // Begin, height, width, four rows with their ends, image end; the four kinds of them follow the codes.
        ("lumina-mgpt-7b-768", "a dog", 3 + 4 * 5 + 1, 8192 + 4, 2),
    ];
    for (name, prompt, n_tokens, n_vocab, n_heads) in cases {
        let model = open(name, &narrow).unwrap();
        let mut generation = model.open(prompt, &crate::support::GUIDED, 1).unwrap();
        let found = (model.n_tokens, generation.prefill().len(), model.heads.here().count());
        assert_eq!(found, (n_tokens, n_vocab, n_heads), "{name}");
        let tokens = vec![specimen_decode::dist::TokenId(0); n_tokens];
        assert_eq!(model.picture(&tokens).width, 8, "{name}");
    }
    let igpt = open("igpt-mnist", &narrow).unwrap();
    assert_eq!((igpt.n_tokens, igpt.heads.here().count()), (784, 2));
    assert!(igpt.weights.is_empty());
}

#[test]
fn zipar_has_space_for_all_rows_of_the_picture_of_every_model() {
    let zipar = r#"{ "frontier": { "kind": "zipar", "window": 1 } }"#;
    let zipar: specimen_decode::method::MethodConfig = serde_json::from_str(zipar).unwrap();
    // Pictures are square, and structural tokens are fewer than another row.
    let n_rows = specimen_catalog::entry::targets().map(|(_, target)| target.n_tokens.isqrt()).max();
    assert_eq!(n_rows, Some(90), "Emu3 has the most rows");
    assert!(n_rows.unwrap() < zipar.max_tree_nodes());
}
