//! The file that is written: casts, notes, recipes, alignment, and what happens where it cannot be written.

use std::{collections::BTreeMap, os::unix::fs::PermissionsExt, path::Path};

use safetensors::SafeTensors;
use sha2::{Digest, Sha256};
use specimen_catalog::convert::{
    Element, Recipe,
    conversion::SOURCE_KEY,
    recipe::{Names, Rule},
};

use crate::convert::support::{convert, expected, fixture, plain, tensors};

const FLOATS: [(Element, &str); 4] = [
    (Element::F16, "float16"),
    (Element::Bf16, "bfloat16"),
    (Element::F32, "float32"),
    (Element::F64, "float64"),
];

#[test]
fn casts_are_those_of_pytorch() {
    for (element, name) in FLOATS {
        let options = specimen_catalog::convert::Options { dtype: Some(element), ..plain() };
        for file in ["cast.pt", "cast64.pt"] {
            let found = convert(&fixture(file), &options).unwrap().1;
            assert_eq!(found, expected(&format!("{file} as {name}")), "{file} as {name}");
        }
        let found = convert(&fixture("flat.pt"), &options).unwrap().1;
        for from in ["float16", "bfloat16"] {
            assert_eq!(found[from], expected(&format!("flat.pt {from} as {name}"))["x"], "{from} as {name}");
        }
        assert_eq!(found["int32"], expected("flat.pt")["int32"]);
    }
    let options = specimen_catalog::convert::Options { dtype: Some(Element::I32), ..plain() };
    let error = convert(&fixture("flat.pt"), &options).unwrap_err().to_string();
    assert!(error.contains("expected a cast to F16, BF16, F32 or F64, found I32"), "{error}");
}

#[test]
fn safetensors_can_be_cast_and_renamed_too() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("a.safetensors"), folder.path().join("b.safetensors"));
    specimen_catalog::convert::convert(&fixture("flat.pt"), &first, &plain(), &mut |_| {}).unwrap();
    let report = specimen_catalog::convert::convert(&first, &second, &plain(), &mut |_| {}).unwrap();
    assert_eq!((report.format, tensors(&second)), ("safetensors", expected("flat.pt")));
}

#[test]
fn a_file_says_what_it_was_made_from_and_reports_its_own_digest() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("new/folder/out.safetensors");
    let mut reported = Vec::new();
    let report = specimen_catalog::convert::convert(&fixture("views.pt"), &to, &plain(), &mut |progress| {
        reported.push(*progress)
    })
    .unwrap();
    let bytes = std::fs::read(&to).unwrap();
    let sha256: String = Sha256::digest(std::fs::read(fixture("views.pt")).unwrap())
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let notes: BTreeMap<String, String> = header.metadata().clone().unwrap().into_iter().collect();
    assert_eq!(notes[SOURCE_KEY], sha256);
    assert_eq!(report.sources, [("views.pt".to_owned(), sha256)]);
    assert_eq!(
        (report.n_bytes, &report.blake3),
        (bytes.len() as u64, &blake3::hash(&bytes).to_hex().to_string())
    );
    let last = reported.last().unwrap();
    assert_eq!(last.n_done, last.n_total);
    assert_eq!(std::fs::metadata(&to).unwrap().permissions().mode() & 0o600, 0o600);
    assert_eq!(std::fs::read_dir(to.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn every_tensor_is_aligned_to_its_elements() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("out.safetensors");
    specimen_catalog::convert::convert(&fixture("flat.pt"), &to, &plain(), &mut |_| {}).unwrap();
    let bytes = std::fs::read(&to).unwrap();
    let (n_header, header) = SafeTensors::read_metadata(&bytes).unwrap();
    for (name, info) in header.tensors() {
        let width = info.dtype.bitsize() / 8;
        assert_eq!((8 + n_header + info.data_offsets.0) % width, 0, "{name}");
    }
}

#[test]
fn the_same_file_is_converted_to_the_same_bytes() {
    let [first, second] = [0, 1].map(|_| convert(&fixture("wrapped_model.pt"), &plain()).unwrap().0.blake3);
    assert_eq!(first, second);
}

#[test]
fn a_recipe_renames_cuts_and_leaves_out() {
    let rule =
        |from: &str, to: Names| Rule { from: from.to_owned(), to, unpair_heads: None, optional: false };
    let recipe = Recipe {
        name: "test".to_owned(),
        drop: vec!["norm.num_batches_tracked".to_owned(), "scale".to_owned()],
        keep: vec!["model.*".to_owned(), "conv.*".to_owned()],
        rename: vec![
            rule("norm.weight", Names::Parts(vec!["first".to_owned(), "second".to_owned()])),
            rule("norm.*", Names::One("stats.*".to_owned())),
        ],
    };
    let options = specimen_catalog::convert::Options { recipe: Some(&recipe), ..plain() };
    let (report, found) = convert(&fixture("state_dict.bin"), &options).unwrap();
    let whole = expected("state_dict.bin");
    assert_eq!(report.dropped, ["norm.num_batches_tracked", "scale"]);
    assert_eq!([&found["first"].2[..], &found["second"].2[..]].concat(), whole["norm.weight"].2);
    assert_eq!(found["stats.running_var"], whole["norm.running_var"]);
    assert_eq!(found["model.bias"], whole["model.bias"]);
    assert_eq!(found.len(), whole.len() - 1);
}

#[test]
fn a_place_that_cannot_be_written_is_named_and_an_old_file_survives_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "old").unwrap();
    let to = file.join("out.safetensors");
    let error =
        specimen_catalog::convert::convert(&fixture("flat.pt"), &to, &plain(), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("out.safetensors: cannot write it"), "{error}");
    specimen_catalog::convert::convert(Path::new("nowhere.pt"), &file, &plain(), &mut |_| {}).unwrap_err();
    specimen_catalog::convert::convert(&fixture("make.py"), &file, &plain(), &mut |_| {}).unwrap_err();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
}

#[test]
fn what_a_killed_conversion_left_is_removed_by_the_next_one_into_the_folder_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in [".convert-killed.partial", ".convert-running.partial", "convert-mine.partial"] {
        std::fs::write(path(name), "half of it").unwrap();
    }
    // Whoever still writes holds the lock.
    let running = std::fs::File::open(path(".convert-running.partial")).unwrap();
    running.lock().unwrap();
    let to = path("out.safetensors");
    let convert =
        || specimen_catalog::convert::convert(&fixture("flat.pt"), &to, &plain(), &mut |_| {}).unwrap();
    assert_eq!(convert().removed, [path(".convert-killed.partial")]);
    drop(running);
    assert_eq!(convert().removed, [path(".convert-running.partial")]);
    assert!(convert().removed.is_empty());
    let mut left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["convert-mine.partial", "out.safetensors"]);
}
