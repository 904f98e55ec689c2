//! Any strided view that lies in its storage is read as the definition says; any damage to a file is an error or the
//! same tensors, never a panic and never other shapes in silence.

use crate::convert::{
    archive::Archive,
    pickle_writer::Pickle,
    support::{convert, fixture, plain},
};

/// A splitmix64 sequence: the same cases in every run.
struct Cases(u64);

impl Cases {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

const KINDS: [(&str, usize); 4] =
    [("ByteStorage", 1), ("HalfStorage", 2), ("FloatStorage", 4), ("DoubleStorage", 8)];

/// The bytes of a view by the definition of strides: index by index.
fn by_definition(
    storage: &[u8],
    width: usize,
    offset: u64,
    shape: &[u64],
    strides: &[u64],
) -> Option<Vec<u8>> {
    let n: u64 = shape.iter().product();
    let mut bytes = Vec::new();
    for flat in 0..n {
        let (mut left, mut at) = (flat, offset);
        for (size, stride) in shape.iter().zip(strides).rev() {
            at += left % size * stride;
            left /= size;
        }
        bytes.extend_from_slice(storage.get(at as usize * width..(at as usize + 1) * width)?);
    }
    Some(bytes)
}

#[test]
fn views_are_read_as_the_definition_says_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (mut cases, mut n_read, mut n_refused) = (Cases(1), 0, 0);
    for case in 0..300 {
        let (kind, width) = KINDS[cases.below(4) as usize];
        let n_elements = 1 + cases.below(40);
        let storage: Vec<u8> = (0..n_elements as usize * width).map(|_| cases.below(256) as u8).collect();
        let rank = cases.below(5) as usize;
        let shape: Vec<u64> = (0..rank).map(|_| cases.below(20).min(4)).collect();
        let strides: Vec<u64> = (0..rank).map(|_| cases.below(6)).collect();
        let offset = cases.below(4);
        let pickle = Pickle::dict().tensor((kind, "0", n_elements), offset, &shape, &strides).end_dict();
        let path = Archive::torch(pickle, &storage).write(folder.path());
        let what = format!("case {case}: {kind} {n_elements}, {offset}, {shape:?}, {strides:?}");
        let mut options = plain();
        options.limits.expansion = 1 << 20;
        match (by_definition(&storage, width, offset, &shape, &strides), convert(&path, &options)) {
            (Some(expected), Ok((_, found))) => {
                assert_eq!(found["x"].2, expected, "{what}");
                assert_eq!(found["x"].1, shape.iter().map(|&n| n as usize).collect::<Vec<_>>(), "{what}");
                n_read += 1;
            }
            (None, Err(error)) => {
                assert!(error.to_string().contains("elements within a storage"), "{what}: {error}");
                n_refused += 1;
            }
            (expected, found) => panic!("{what}: {expected:?} {found:?}"),
        }
    }
    assert!(n_read > 80 && n_refused > 30, "{n_read} {n_refused}");
}

#[test]
fn a_file_that_ends_anywhere_earlier_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["views.pt", "views_legacy.pt", "script.pt"] {
        let whole = std::fs::read(fixture(name)).unwrap();
        // Every place in the last bytes, where directories and storages end, and some in all others.
        let places = (0..whole.len()).filter(|at| whole.len() - at < 60 || at % 97 == 0);
        for at in places {
            let path = folder.path().join("cut.pt");
            std::fs::write(&path, &whole[..at]).unwrap();
            let error = convert(&path, &plain()).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("cut.pt: "), "{name} cut at {at}: {error}");
        }
    }
}

#[test]
fn a_byte_that_is_changed_panics_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut cases = Cases(2);
    let mut n_refused = 0;
    for name in
        ["views.pt", "views_legacy.pt", "script.pt", "wrapped_model.pt", "pytorch_model.bin.index.json"]
    {
        let whole = std::fs::read(fixture(name)).unwrap();
        for _ in 0..120 {
            let mut changed = whole.clone();
            let at = cases.below(whole.len() as u64) as usize;
            changed[at] = cases.below(256) as u8;
            let path = folder.path().join(name);
            std::fs::write(&path, &changed).unwrap();
            n_refused += u32::from(convert(&path, &plain()).is_err());
        }
    }
    assert!(n_refused > 50, "{n_refused}");
}
