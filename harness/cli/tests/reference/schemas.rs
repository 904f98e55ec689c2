//! Every committed file that has a schema names it and is valid under it, and the schemas refuse what readers refuse.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use specimen_experiments::schema::spec_schema;
use specimen_measure::{pair_protocol::PairProtocol, protocol::Protocol};
use specimen_train::head_spec::HeadSpec;

/// Schemas of files that people write: where each is committed, from the root of the checkout, and its value.
pub(crate) fn schemas() -> [(&'static str, Value); 4] {
    [
        ("experiments/specs/spec.schema.json", spec_schema()),
        ("experiments/specs/train/training.schema.json", HeadSpec::schema()),
        ("metrics/protocols/protocol.schema.json", Protocol::schema()),
        ("metrics/protocols/pairs/pair-protocol.schema.json", PairProtocol::schema()),
    ]
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The TOML files below a folder.
fn toml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { toml_files(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect()
}

/// The schema that the first line of a file names.
fn named_schema(file: &Path, text: &str) -> (PathBuf, Value) {
    let named = text.lines().next().unwrap().strip_prefix("#:schema ");
    let named = named.unwrap_or_else(|| panic!("{}: no `#:schema` line", file.display()));
    let found = file.parent().unwrap().join(named).canonicalize().unwrap();
    let known = schemas().into_iter().find(|(path, _)| root().join(path) == found);
    let (_, schema) = known.unwrap_or_else(|| panic!("{}: {named} is no schema of ours", file.display()));
    (found, schema)
}

/// The complaints of a validator about a text in TOML.
fn complaints(schema: &Value, text: &str) -> Vec<String> {
    let validator = jsonschema::draft202012::new(schema).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let document: Value = serde_json::to_value(table).unwrap();
    validator.iter_errors(&document).map(|error| error.to_string()).collect()
}

#[test]
fn every_committed_file_names_its_schema_and_is_valid_under_it() {
    let mut counts = [0; 4];
    for folder in ["experiments/specs", "metrics/protocols"] {
        for file in toml_files(&root().join(folder)) {
            let text = fs::read_to_string(&file).unwrap();
            let (path, schema) = named_schema(&file, &text);
            let which = schemas().iter().position(|(known, _)| root().join(known) == path).unwrap();
            counts[which] += 1;
            // The folder of a schema of its own holds nothing else.
            if which != 0 {
                assert_eq!(path.parent(), file.parent(), "{}", file.display());
            }
            assert_eq!(complaints(&schema, &text), [""; 0], "{}", file.display());
        }
    }
    let at_least = [50, 3, 17, 2];
    assert!(counts.iter().zip(at_least).all(|(n, least)| *n >= least), "{counts:?}");
}

#[test]
fn misspelt_keys_unknown_names_and_wrong_kinds_are_refused() {
    let refuses = |file: &str, changes: &[(&str, &str)]| {
        let good = fs::read_to_string(root().join(file)).unwrap();
        let (_, schema) = named_schema(&root().join(file), &good);
        for (from, to) in changes {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good, "`{from}` is not in {file}");
            assert_ne!(complaints(&schema, &bad), [""; 0], "{file}: {to}");
        }
    };
    refuses(
        "experiments/specs/quickstart.toml",
        &[
            ("seed ", "sead "),
            ("warmup ", "warm_up "),
            ("\"tiny\"", "\"tyni\""),
            ("\"bf16\"", "\"bf61\""),
            ("top_k ", "topk "),
            ("temperature = 1.0", "temperature = \"1.0\""),
            ("kind = \"gsd\"", "kind = \"gds\""),
            ("proposer = \"eagle1\"", "proposr = \"eagle1\""),
            ("[[metric]]", "[[metrics]]"),
        ],
    );
    refuses(
        "experiments/specs/train/llamagen_toy_eagle3.toml",
        &[
            ("n_validation", "n_valid"),
            ("\"llamagen-toy\"", "\"llamagen-toi\""),
            ("top_k ", "topk "),
            ("proposer = \"eagle3\"\n", "proposer = \"eagle4\"\n"),
            ("depth_decay ", "decay "),
            ("{ value = 0.5 }", "{ vlaue = 0.5 }"),
            ("[trial]", "[trail]"),
        ],
    );
    refuses(
        "metrics/protocols/lantern.toml",
        &[
            ("schema = 1", "schema = 2"),
            ("about ", "abuot "),
            ("known-pixels", "known_pixels"),
            ("step = \"clip\"", "step = \"clop\""),
            ("engine = \"pil-u8\"", "engine = \"pil-u9\""),
            ("filter = \"lanczos\"", "filtre = \"lanczos\""),
            ("square = 299", "square = \"299\""),
            ("dtype = \"f32\"", "dtype = \"f33\""),
            ("[fid]", "[fidd]"),
        ],
    );
    refuses(
        "metrics/protocols/pairs/skimage.toml",
        &[
            ("[psnr]", "[pixels]"),
            ("uniform = 7", "uniform = \"7\""),
            ("channels = \"rgb\"", "channels = \"rbg\""),
        ],
    );
}
