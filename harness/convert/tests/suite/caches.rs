//! Statistics and features as torch-fidelity caches them, read to the bit, and arrays of NumPy that mean harm.

use std::path::{Path, PathBuf};

use specimen_convert::{Cache, ConvertError, Element, Limits};

use crate::{
    archive::Archive,
    pickle_writer::Pickle,
    support::{convert, fixture, plain},
};

fn cached(name: &str) -> PathBuf {
    fixture("fidelity").join(name)
}

fn open(path: &Path, key: Option<&str>) -> Result<Cache, ConvertError> {
    Cache::open(path, key, &[], &Limits::PUBLISHED)
}

/// Bytes of the array `name` of the file `file`, as NumPy has them, with shape and type.
fn expected(file: &str, name: &str) -> (String, Vec<u64>, Vec<u8>) {
    let text = std::fs::read_to_string(cached("expected.json")).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let array = &all["files"][file][name];
    let hex = array["bytes"].as_str().unwrap();
    let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
    let shape = array["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap());
    (array["dtype"].as_str().unwrap().to_owned(), shape.collect(), bytes.collect())
}

/// Doubles of NumPy's bytes.
fn doubles((dtype, _, bytes): &(String, Vec<u64>, Vec<u8>)) -> Vec<f64> {
    match dtype.as_str() {
        "<f4" => bytes.chunks(4).map(|b| f64::from(f32::from_le_bytes(b.try_into().unwrap()))).collect(),
        "<f8" => bytes.chunks(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect(),
        other => panic!("{other}"),
    }
}

#[test]
fn statistics_are_numpys_to_the_bit() {
    for (file, of) in [
        ("a-small-stat-fid-six.pt", "a-small-stat-fid-six.pt"),
        ("b-small-stat-fid-six.pt", "b-small-stat-fid-six.pt"),
        ("protocol4.pt", "a-small-stat-fid-six.pt"),
    ] {
        let found = open(&cached(file), None).unwrap().statistics().unwrap();
        let [mean, covariance] = ["mu", "sigma"].map(|name| expected(of, name));
        assert_eq!((mean.0.as_str(), covariance.0.as_str()), ("<f4", "<f8"));
        let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&found.mean), bits(&doubles(&mean)), "{file}");
        assert_eq!(bits(&found.covariance), bits(&doubles(&covariance)), "{file}");
    }
}

#[test]
fn columns_first_are_turned_into_rows() {
    let found = open(&cached("columns-first.pt"), None).unwrap().statistics().unwrap();
    let rows: Vec<f64> = (0..36).map(f64::from).collect();
    assert_eq!(found.covariance, rows);
}

#[test]
fn features_are_the_tools_alone_and_by_layer() {
    for (layer, d) in [("means", 3), ("six", 6)] {
        let file = format!("a-small-features-{layer}.pt");
        let alone = open(&cached(&file), None).unwrap().features(None).unwrap();
        let (dtype, shape, bytes) = expected(&file, "");
        assert_eq!((dtype.as_str(), alone.element, alone.name.as_str()), ("<f4", Element::F32, ""));
        assert_eq!((vec![alone.n, alone.d], &alone.bytes), (shape, &bytes));
        let one = open(&cached("a-layers.pt"), Some(layer)).unwrap().features(None).unwrap();
        assert_eq!((one.name.as_str(), one.n, one.d, &one.bytes), (layer, 12, d, &bytes));
        let wide = open(&cached(&file), None).unwrap().features(Some(Element::F64)).unwrap();
        assert_eq!((wide.element, wide.bytes.len()), (Element::F64, 2 * bytes.len()));
    }
}

#[test]
fn what_is_in_a_file_is_named_where_it_is_not_what_was_asked_for() {
    let reported = |file: &str, key: Option<&str>| {
        let opened = open(&cached(file), key).unwrap();
        let [statistics, features] = [opened.statistics().map(|_| ()), opened.features(None).map(|_| ())]
            .map(|r| r.unwrap_err().to_string());
        (statistics, features)
    };
    let (statistics, features) = reported("a-layers.pt", None);
    for part in ["a-layers.pt: expected one layer", "`means` [12, 3], `six` [12, 6]", "--key"] {
        assert!(features.contains(part), "{features}");
    }
    assert!(
        statistics.contains("statistics (`mu` and `sigma`)") && statistics.contains("`six`"),
        "{statistics}"
    );
    let (_, features) = reported("a-layers.pt", Some("pool"));
    assert!(features.contains("nothing named `pool`, but `means` [12, 3]"), "{features}");
    let features = open(&cached("a-small-stat-fid-six.pt"), None).unwrap().features(None).unwrap_err();
    assert!(features.to_string().contains("OUT.npz"), "{features}");
    let statistics = open(&cached("a-small-features-six.pt"), None).unwrap().statistics().unwrap_err();
    assert!(statistics.to_string().contains("one array [12, 6]; these are features"), "{statistics}");
    assert!(statistics.to_string().contains("OUT.npy"), "{statistics}");
}

#[test]
fn weights_they_are_not_and_the_error_says_where_to() {
    let error = convert(&cached("a-small-stat-fid-six.pt"), &plain()).unwrap_err().to_string();
    assert!(error.contains("`mu`, `sigma`") && error.contains("OUT.npz"), "{error}");
    let error = convert(&cached("a-small-features-six.pt"), &plain()).unwrap_err().to_string();
    assert!(error.contains("one tensor without a name") && error.contains("OUT.npy"), "{error}");
    // Beside tensors they are left out, as ever.
    let arrays = array(Pickle::dict(), "O", "|", &[3], b"abc").text("w").tensor(
        ("FloatStorage", "0", 4),
        0,
        &[4],
        &[1],
    );
    let folder = tempfile::tempdir().unwrap();
    let file = Archive::torch(arrays.end_dict(), &[0; 16]).write(folder.path());
    assert_eq!(convert(&file, &plain()).unwrap().1.into_keys().collect::<Vec<_>>(), ["w"]);
}

/// An array of NumPy as protocol 2 has it.
fn array(pickle: Pickle, name: &str, order: &str, shape: &[u64], data: &[u8]) -> Pickle {
    let data: String = data.iter().map(|&byte| char::from(byte)).collect();
    let encoded = |pickle: Pickle, text: &str| {
        pickle.global("_codecs", "encode").text(text).text("latin1").op(0x86).op(b'R')
    };
    let empty = pickle.global("numpy.core.multiarray", "_reconstruct").global("numpy", "ndarray").ints(&[0]);
    let empty = encoded(empty, "b").op(0x87).op(b'R');
    let state = empty.op(b'(').int(1).ints(shape).global("numpy", "dtype").text(name).op(0x89).op(0x88);
    let dtype = state.op(0x87).op(b'R').op(b'(').int(3).text(order).raw(b"NNN").int(0).int(0).int(0).op(b't');
    encoded(dtype.op(b'b').op(0x89), &data).op(b't').op(b'b')
}

/// What is said about an archive of this pickle.
#[track_caller]
fn refused(pickle: Pickle, parts: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let file = Archive::torch(pickle.end_dict(), &[0; 16]).write(folder.path());
    let found = open(&file, None).and_then(|cache| cache.features(None));
    let error = found.unwrap_err().to_string();
    for part in parts {
        assert!(error.contains(part), "`{part}` is not in `{error}`");
    }
}

#[test]
fn arrays_are_held_against_their_bytes() {
    let one =
        |name: &str, order: &str, shape: &[u64], data: &[u8]| array(Pickle::dict(), name, order, shape, data);
    let folder = tempfile::tempdir().unwrap();
    let good = Archive::torch(one("f4", "<", &[2, 1], &[0, 0, 128, 63, 0, 0, 0, 191]).end_dict(), &[]);
    let features = open(&good.write(folder.path()), None).unwrap().features(None).unwrap();
    assert_eq!((features.n, features.d, features.bytes), (2, 1, vec![0, 0, 128, 63, 0, 0, 0, 191]));

    let huge = 1 << 62;
    refused(one("f4", "<", &[2, 2], &[0; 8]), &["shape [2, 2] and 4 bytes", "found 8 bytes"]);
    refused(one("f4", "<", &[1, 1], &[0; 8]), &["found 8 bytes"]);
    refused(one("f8", "<", &[huge, huge], &[0; 8]), &["tensor `x`", "found 8 bytes"]);
    refused(one("f8", "<", &[huge, huge, 0], &[]), &["found 0 bytes"]);
    refused(one("f4", "<", &[1; 65], &[0; 4]), &["at most 64 axes"]);
    for name in ["O", "O8", "V8", "S8", "U2", "c8", "c16", "M8", "f16", "b1", "p"] {
        refused(one(name, "|", &[1], &[0; 8]), &["plain little-endian numbers", name]);
    }
    refused(one("f4", ">", &[1, 1], &[0; 4]), &["byte order the text `>`"]);
    refused(one("f4", "|", &[1, 1], &[0; 4]), &["byte order the text `|`"]);
    refused(one("f4", "<", &[4], &[0; 16]), &["rows of features", "[4]"]);
    refused(one("u1", "|", &[2, 2], &[0; 4]), &["rows of features", "U8 of shape [2, 2]"]);
}

#[test]
fn text_that_is_no_bytes_and_states_that_are_none_are_refused() {
    let shaped = |data: &str| {
        let dtype = Pickle::dict().global("numpy.core.multiarray", "_reconstruct").global("numpy", "ndarray");
        let state = dtype.op(0x85).op(b'R').op(b'(').int(1).ints(&[1, 1]).global("numpy", "dtype").text("f4");
        let state = state.op(0x85).op(b'R').op(b'(').int(3).text("<").raw(b"NNN").op(b't').op(b'b').op(0x89);
        let data = state.global("_codecs", "encode").text(data).text("latin1").op(0x86).op(b'R');
        data.op(b't').op(b'b')
    };
    refused(shaped("ab\u{e9}\u{2603}"), &["characters up to U+00FF"]);
    let bare = || {
        let bare = Pickle::dict().global("numpy.core.multiarray", "_reconstruct").global("numpy", "ndarray");
        bare.op(0x85).op(b'R')
    };
    refused(bare(), &["an array of NumPy with its state"]);
    refused(bare().op(b')').op(b'b'), &["found 0 items"]);
    refused(bare().ints(&[2, 1, 1, 1, 1]).op(b'b'), &["an array of version 1"]);
    // Objects and what makes them are no globals that are known.
    let other = Pickle::dict().global("numpy.core.numeric", "_frombuffer").op(b')').op(b'R');
    refused(other, &["the global `numpy.core.numeric._frombuffer`"]);
}

#[test]
fn one_array_under_many_names_takes_no_more_than_the_limits_allow() {
    let first = array(Pickle::dict(), "u1", "|", &[1 << 16], &[7; 1 << 16]).raw(b"q\x63");
    let many = (0..64).fold(first, |pickle, k| pickle.text(&format!("n{k}")).raw(b"h\x63"));
    refused(many, &["at most 8 times the bytes of the file", "do not trust"]);
}
