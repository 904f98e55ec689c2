//! Files that PyTorch wrote, in every format: the same names, elements, shapes and bytes come out.

use crate::convert::{
    archive::Archive,
    pickle_writer::Pickle,
    support::{convert, expected, fixture, plain},
};

#[track_caller]
fn check(file: &str, format: &str, key: &str) {
    let (report, found) = convert(&fixture(file), &plain()).unwrap();
    assert_eq!(found, expected(file), "{file}");
    assert_eq!((report.format, report.key.as_str(), report.n_tensors), (format, key, found.len()), "{file}");
}

const ZIP: &str = "a zip archive of torch.save";
const LEGACY: &str = "a file of torch.save before 1.6";
const SCRIPT: &str = "a TorchScript archive";

#[test]
fn flat_dictionaries_of_every_element_keep_every_byte() {
    check("flat.pt", ZIP, "");
    check("flat_protocol4.pt", ZIP, "");
    check("flat_legacy.pth", LEGACY, "");
    check("new_dtypes.pt", ZIP, "");
}

#[test]
fn views_of_shared_storages_become_the_values_that_they_show() {
    check("views.pt", ZIP, "");
    check("views_legacy.pt", LEGACY, "");
}

#[test]
fn state_dicts_are_found_below_the_keys_that_trainers_use() {
    check("state_dict.bin", ZIP, "");
    check("parameters.pt", ZIP, "");
    check("wrapped_model.pt", ZIP, "model");
    check("wrapped_module_legacy.pt", LEGACY, "module.state_dict");
    check("lightning.ckpt", ZIP, "state_dict");
}

#[test]
fn modules_of_torchscript_have_the_names_of_their_state_dict() {
    check("script.pt", SCRIPT, "");
    check("traced.pt", SCRIPT, "");
}

#[test]
fn numbers_and_places_in_lists_are_names_and_what_has_none_is_listed() {
    check("odd_places.pt", ZIP, "");
    let (report, _) = convert(&fixture("odd_places.pt"), &plain()).unwrap();
    assert_eq!(report.dropped, ["(a tuple of 2).x", "(a truth value)", "array"]);
    // One tensor at two places of one name.
    let twice = Pickle::dict().tensor(("ByteStorage", "0", 1), 0, &[1], &[1]).op(b'u');
    let twice = twice.text("0").tensor(("ByteStorage", "0", 1), 0, &[1], &[1]).op(b's');
    let twice = twice.int(0).tensor(("ByteStorage", "0", 1), 0, &[1], &[1]).op(b's');
    let folder = tempfile::tempdir().unwrap();
    let error = convert(&Archive::torch(twice.end(), &[0]).write(folder.path()), &plain()).unwrap_err();
    assert!(error.to_string().contains("two tensors named `0`"), "{error}");
    let lost = Pickle::new().op(b'}').op(0x88).tensor(("ByteStorage", "0", 1), 0, &[1], &[1]).op(b's');
    let error = convert(&Archive::torch(lost.end(), &[0]).write(folder.path()), &plain()).unwrap_err();
    assert!(error.to_string().contains("whose tensors have no name (`(a truth value)` for one)"), "{error}");
}

#[test]
fn archives_that_were_saved_without_checksums_are_read_and_called_so() {
    check("no_checksums.pt", "a zip archive of torch.save without checksums", "");
    let folder = tempfile::tempdir().unwrap();
    let pickle = Pickle::dict().tensor(("ByteStorage", "0", 2), 0, &[2], &[1]).end_dict();
    let mut archive = Archive::torch(pickle, &[3, 4]);
    archive.lacks_checksums = true;
    assert_eq!(convert(&archive.write(folder.path()), &plain()).unwrap().1["x"].2, [3, 4]);
}

#[test]
fn shards_come_together_and_each_is_digested() {
    check("pytorch_model.bin.index.json", "shards with an index", "");
    let (report, _) = convert(&fixture("pytorch_model.bin.index.json"), &plain()).unwrap();
    let names: Vec<&str> = report.sources.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"]);
    assert!(report.sources.iter().all(|(_, sha256)| sha256.len() == 64));
}

#[test]
fn archives_with_64_bit_sizes_are_read_as_large_files_need_them() {
    let folder = tempfile::tempdir().unwrap();
    let pickle = Pickle::dict().tensor(("ByteStorage", "0", 5), 1, &[2, 2], &[2, 1]).end_dict();
    let mut archive = Archive::torch(pickle, &[0, 1, 2, 3, 4]);
    archive.is_wide = true;
    let (_, found) = convert(&archive.write(folder.path()), &plain()).unwrap();
    assert_eq!(found["x"], ("U8".to_owned(), vec![2, 2], vec![1, 2, 3, 4]));
    archive.size_in_directory = Some(1 << 30);
    let error = convert(&archive.write(folder.path()), &plain()).unwrap_err().to_string();
    assert!(error.contains("1073741824 bytes of"), "{error}");
}

#[test]
fn a_key_leads_to_other_tensors_than_the_usual_ones() {
    let mut options = plain();
    options.key = Some("callbacks");
    let error = convert(&fixture("lightning.ckpt"), &options).unwrap_err().to_string();
    assert!(error.contains("lightning.ckpt: expected tensors by name") && error.contains("--key"), "{error}");
    options.key = Some("stat_dict");
    let error = convert(&fixture("lightning.ckpt"), &options).unwrap_err().to_string();
    assert!(error.contains("no `stat_dict` in a dictionary of 7 with the keys `epoch`"), "{error}");
    options.key = Some("state_dict");
    let (_, found) = convert(&fixture("lightning.ckpt"), &options).unwrap();
    assert_eq!(found, expected("lightning.ckpt"));
}

#[test]
fn a_class_that_is_not_known_is_refused_by_name_unless_it_is_vouched_for() {
    let file = fixture("own_class.ckpt");
    let error = convert(&file, &plain()).unwrap_err().to_string();
    for part in ["own_class.ckpt: byte ", "opcode GLOBAL", "`training.callbacks.Logger`", "--inert"] {
        assert!(error.contains(part), "`{part}` is not in {error}");
    }
    let inert = ["training.callbacks.Logger".to_owned()];
    let mut options = plain();
    options.inert = &inert;
    assert_eq!(convert(&file, &options).unwrap().1, expected("own_class.ckpt"));
}

#[test]
fn safetensors_are_told_by_their_brace_whatever_bytes_the_length_of_the_header_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    // Every low byte, under second bytes that make a pickle's protocols and the first letters of an archive of it.
    let lengths = [0x02, 0x03, 0x04, 0x05, 0x4b]
        .into_iter()
        .flat_map(|high: u64| (0..=255_u64).map(move |low| high << 8 | low));
    for length in lengths {
        let header = r#"{"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}"#;
        let header = format!("{header:width$}", width = length as usize);
        let bytes = [&length.to_le_bytes()[..], header.as_bytes(), &[3, 4]].concat();
        std::fs::write(&path, bytes).unwrap();
        let (report, found) = convert(&path, &plain()).unwrap_or_else(|error| panic!("{length:#x}: {error}"));
        assert_eq!((report.format, found["x"].2.as_slice()), ("safetensors", &[3, 4][..]), "{length:#x}");
    }
    // Cut off it is a damaged file of this kind, and still no pickle.
    std::fs::write(&path, b"\x80\x02\0\0\0\0\0\0{\"x\":").unwrap();
    let error = convert(&path, &plain()).unwrap_err().to_string();
    assert!(error.contains("a whole safetensors file"), "{error}");
}
