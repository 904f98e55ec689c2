//! Weights load strictly or say what is wrong: which file, which tensor, what was expected and found.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use specimen_weights::{Checkpoint, Init, LoadError, ParamSource, Scoped, write_safetensors};
use tch::{Device, Kind, Tensor};

const ANY: Init = Init::Constant(0.0);

/// Two tensors in a file of a folder that lives as long as the value.
struct Written {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn write(tensors: &[(&str, Tensor)]) -> Written {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let tensors: BTreeMap<String, Tensor> =
        tensors.iter().map(|(name, tensor)| ((*name).into(), tensor.shallow_clone())).collect();
    write_safetensors(&path, &tensors).unwrap();
    Written { _folder: folder, path }
}

fn two_tensors() -> Written {
    write(&[
        ("head.weight", Tensor::from_slice(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]).view([2, 3])),
        ("norm", Tensor::from_slice(&[0.5_f32, 0.25])),
    ])
}

fn open(path: &Path) -> Result<Checkpoint, LoadError> {
    Checkpoint::open(path, None, Device::Cpu)
}

#[track_caller]
fn check_message(error: &LoadError, parts: &[&str]) {
    let message = error.to_string();
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in `{message}`");
    }
}

#[test]
fn what_was_written_is_read_back() {
    let tensors = [
        ("f32", Tensor::from_slice(&[1.5_f32, -2.0]).view([1, 2])),
        ("bf16", Tensor::from_slice(&[1.5_f32, -2.0]).to_kind(Kind::BFloat16)),
        ("f16", Tensor::from_slice(&[1.5_f32, -2.0]).to_kind(Kind::Half)),
        ("i64", Tensor::from_slice(&[i64::MIN, i64::MAX])),
        ("u8", Tensor::from_slice(&[0_u8, 255, 7])),
        ("without axes", Tensor::from(-3_i64)),
        ("strided", Tensor::from_slice(&[1.0_f32, 2.0, 3.0, 4.0]).view([2, 2]).transpose(0, 1)),
    ];
    let file = write(&tensors);
    let mut checkpoint = open(&file.path).unwrap();
    for (name, tensor) in &tensors {
        assert_eq!(checkpoint.shape(name), Some(tensor.size().as_slice()));
        let read = checkpoint.take(name, &tensor.size()).unwrap();
        assert_eq!((read.kind(), &read), (tensor.kind(), tensor), "{name}");
    }
    assert_eq!(checkpoint.shape("other"), None);
    checkpoint.finish().unwrap();
}

#[test]
fn floats_are_cast_when_a_kind_is_given_and_integers_never() {
    let file = write(&[("w", Tensor::from_slice(&[1.5_f32])), ("ids", Tensor::from_slice(&[3_i64]))]);
    let mut checkpoint = Checkpoint::open(&file.path, Some(Kind::BFloat16), Device::Cpu).unwrap();
    assert_eq!(checkpoint.param("w", &[1], ANY).unwrap().kind(), Kind::BFloat16);
    assert_eq!(checkpoint.take("ids", &[1]).unwrap().kind(), Kind::Int64);
}

#[test]
fn whole_numbers_are_no_parameters() {
    let file = write(&[("head.weight", Tensor::from_slice(&[3_i64]))]);
    let error = open(&file.path).unwrap().param("head.weight", &[1], ANY).unwrap_err();
    check_message(&error, &["model.safetensors", "`head.weight`", "Int64", "expected f32, f16 or bf16"]);
}

#[test]
fn the_digest_is_that_of_the_whole_file() {
    let file = two_tensors();
    let bytes = std::fs::read(&file.path).unwrap();
    let checkpoint = open(&file.path).unwrap();
    assert_eq!(checkpoint.digest(), blake3::hash(&bytes).to_hex().as_str());
    let embedded = Checkpoint::embedded("model", bytes.leak(), None, Device::Cpu).unwrap();
    assert_eq!(embedded.digest(), checkpoint.digest());
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let file = two_tensors();
    let whole = std::fs::read(&file.path).unwrap();
    let cuts = [0, 1, 7, 8, 9, whole.len() / 2, whole.len() - 1];
    for cut in cuts {
        std::fs::write(&file.path, &whole[..cut]).unwrap();
        let error = open(&file.path).err().unwrap();
        assert!(matches!(error, LoadError::Malformed { .. }), "{error}");
        check_message(
            &error,
            &["model.safetensors", &format!("({cut} bytes)"), "truncated", "fetch it again"],
        );
    }
    // Nor is it a pickle, whose first bytes the length of a header may have.
    std::fs::write(&file.path, b"\x80\x02\0\0\0\0\0\0{\"x\":").unwrap();
    assert!(matches!(open(&file.path).err().unwrap(), LoadError::Malformed { .. }));
    std::fs::write(&file.path, [whole.as_slice(), b"x"].concat()).unwrap();
    assert!(matches!(open(&file.path).err().unwrap(), LoadError::Malformed { .. }), "a byte too many");
}

#[test]
fn a_file_of_pytorch_is_told_how_it_is_converted() {
    let folder = tempfile::tempdir().unwrap();
    for beginning in [b"PK\x03\x04and so on".as_slice(), b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."] {
        let path = folder.path().join("recipe.pth");
        std::fs::write(&path, beginning).unwrap();
        let error = open(&path).err().unwrap();
        assert!(matches!(error, LoadError::Pickle { .. }), "{error}");
        check_message(
            &error,
            &["recipe.pth: a file of PyTorch", "specimen convert '", "recipe.safetensors'"],
        );
    }
}

#[test]
fn an_absent_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = open(&folder.path().join("absent.safetensors")).err().unwrap();
    check_message(&error, &["absent.safetensors", "cannot read the weights"]);
}

#[test]
fn a_missing_tensor_is_named() {
    let file = two_tensors();
    let error = open(&file.path).unwrap().param("head.bias", &[2], ANY).unwrap_err();
    assert!(matches!(error, LoadError::MissingTensor { .. }));
    check_message(&error, &["model.safetensors", "`head.bias` is missing", "has 2 tensors"]);
}

#[test]
fn a_tensor_of_another_shape_is_named_with_both_shapes() {
    let file = two_tensors();
    for wrong in [&[3, 2][..], &[6], &[2, 3, 1], &[]] {
        let error = open(&file.path).unwrap().param("head.weight", wrong, ANY).unwrap_err();
        assert!(matches!(error, LoadError::WrongShape { .. }));
        check_message(&error, &["`head.weight`", "[2, 3]", &format!("{wrong:?}")]);
    }
}

#[test]
fn tensors_nobody_asked_for_are_an_error_unless_ignored() {
    let file = two_tensors();
    let error = open(&file.path).unwrap().finish().unwrap_err();
    check_message(&error, &["2 tensors are not part of the model", "`head.weight`"]);
    let mut checkpoint = open(&file.path).unwrap();
    let _ = checkpoint.param("head.weight", &[2, 3], ANY).unwrap();
    check_message(&checkpoint.finish().unwrap_err(), &["1 tensors", "`norm`"]);
    let mut checkpoint = open(&file.path).unwrap();
    let _ = checkpoint.param("norm", &[2], ANY).unwrap();
    checkpoint.ignore(|name| name.starts_with("head."));
    checkpoint.finish().unwrap();
}

#[test]
fn a_nan_or_an_infinity_is_named() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for kind in [Kind::Float, Kind::BFloat16, Kind::Half] {
            let file = write(&[("w", Tensor::from_slice(&[1.0, bad]).to_kind(kind))]);
            let error = open(&file.path).unwrap().param("w", &[2], ANY).unwrap_err();
            assert!(matches!(error, LoadError::NotFinite { .. }));
            check_message(&error, &["`w`", "NaN or an infinity"]);
        }
    }
}

#[test]
fn an_element_type_that_is_not_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let bytes = 1.0_f64.to_le_bytes();
    let view = safetensors::tensor::TensorView::new(safetensors::Dtype::F64, vec![1], &bytes).unwrap();
    std::fs::write(&path, safetensors::serialize([("w", view)], None).unwrap()).unwrap();
    let error = open(&path).unwrap().param("w", &[1], ANY).unwrap_err();
    check_message(&error, &["`w`", "F64", "expected f32, f16 or bf16"]);
}

#[test]
fn a_kind_that_is_not_stored_is_refused_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let tensors = BTreeMap::from([("w".to_owned(), Tensor::from_slice(&[1.0_f64]))]);
    let message = write_safetensors(&path, &tensors).unwrap_err().to_string();
    assert!(message.contains("`w`") && message.contains("Double"), "{message}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_scoped_source_prepends_its_prefix() {
    let file = two_tensors();
    let mut checkpoint = open(&file.path).unwrap();
    let mut scoped = Scoped::new(&mut checkpoint, "head.");
    assert_eq!(scoped.param("weight", &[2, 3], ANY).unwrap().size(), [2, 3]);
    check_message(&scoped.param("bias", &[2], ANY).unwrap_err(), &["`head.bias` is missing"]);
}

#[test]
fn what_the_header_says_beside_the_tensors_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("noted.safetensors");
    let header = r#"{"__metadata__":{"source_sha256":"6726825d"},"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.push(7);
    std::fs::write(&path, bytes).unwrap();
    let checkpoint = open(&path).unwrap();
    assert_eq!(checkpoint.note("source_sha256").as_deref(), Some("6726825d"));
    assert_eq!(checkpoint.note("other"), None);
    assert_eq!(open(&two_tensors().path).unwrap().note("source_sha256"), None);
}
