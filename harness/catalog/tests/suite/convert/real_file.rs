//! The real published file of FID's Inception network, cut off after 818,371 of its bytes: its header is whole, so every
//! name and shape can be read from it, and it must be refused for what it lacks.

use specimen_catalog::convert::{
    Limits,
    pickle::{self, Dialect, Node},
};

use crate::convert::support::{convert, plain};

const FILE: &str = "weights/pt_inception-2015-12-05-6726825d.TRUNCATED.pth";
const KEYS: &str = "weights/fid_inception_statedict_keys.json";

#[test]
fn a_published_file_that_was_cut_off_is_refused_with_the_place() {
    let test = "a_published_file_that_was_cut_off_is_refused_with_the_place";
    let Some(path) = specimen_testdata::find(test, FILE) else { return };
    let error = convert(&path, &plain()).unwrap_err().to_string();
    for part in ["storage 120 of 566", "found the end at byte 818371", "fetch it again"] {
        assert!(error.contains(part), "`{part}` is not in `{error}`");
    }
}

#[test]
fn its_header_names_every_tensor_of_the_network() {
    let test = "its_header_names_every_tensor_of_the_network";
    let (Some(path), Some(keys)) = (specimen_testdata::find(test, FILE), specimen_testdata::find(test, KEYS))
    else {
        return;
    };
    let bytes = std::fs::read(path).unwrap();
    let (mut at, mut n) = (0, 0);
    let dialect = Dialect { has_script: false, inert: &[] };
    let objects = loop {
        let loaded = pickle::load(&bytes[at..], dialect, &Limits::PUBLISHED).unwrap();
        (at, n) = (at + loaded.n_bytes, n + 1);
        if n == 4 {
            break loaded;
        }
    };
    let Node::Dict(items) = objects.heap.get(objects.root) else { panic!("{:?}", objects.root) };
    let mut found: Vec<(String, Vec<u64>)> = items
        .iter()
        .map(|&(name, tensor)| match (objects.heap.get(name), objects.heap.get(tensor)) {
            (Node::Text(name), Node::Tensor(tensor)) => ((*name).to_owned(), tensor.shape.clone()),
            other => panic!("{other:?}"),
        })
        .collect();
    found.sort();
    let keys: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(keys).unwrap()).unwrap();
    let known = |entry: &serde_json::Value| {
        let shape = entry["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
        (entry["key"].as_str().unwrap().to_owned(), shape)
    };
    let mut expected: Vec<(String, Vec<u64>)> = keys.as_array().unwrap().iter().map(known).collect();
    expected.sort();
    assert_eq!(found, expected);
}
