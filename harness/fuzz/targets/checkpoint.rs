//! Checkpoints as they lie on disk (PyTorch's archives, and its older files, which are pickles one after another), and the
//! same bytes as the pickle inside an archive that is whole, so that every change reaches the interpreter.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use specimen_catalog::convert::{Cache, Limits, Source};
use specimen_fuzz::{archive, with_file};

fn read(path: &Path) {
    keep(path);
    let Ok(source) = Source::open(path, None, &[], &Limits::PUBLISHED) else { return };
    for view in source.tensors().values().filter(|view| view.n_bytes() <= 1 << 20) {
        let mut n_read = 0;
        let read = source.read(view, &mut |part| {
            n_read += part.len() as u64;
            Ok(())
        });
        assert!(read.is_err() || n_read == view.n_bytes(), "a tensor has the bytes it says");
    }
}

/// The same as a cache of a metric: arrays of NumPy, and features.
fn keep(path: &Path) {
    let Ok(cache) = Cache::open(path, None, &[], &Limits::PUBLISHED) else { return };
    if let Ok(kept) = cache.statistics() {
        assert_eq!(kept.covariance.len(), kept.mean.len() * kept.mean.len(), "the covariance is square");
    }
    if let Ok(kept) = cache.features(None) {
        assert_eq!(kept.bytes.len() as u64, kept.n * kept.d * kept.element.n_bytes(), "rows have what they say");
    }
}

fuzz_target!(|bytes: &[u8]| {
    with_file("checkpoint.pt", bytes, read);
    let archive = archive(&[("seed/data.pkl", bytes), ("seed/data/0", &[7; 64]), ("seed/byteorder", b"little")]);
    with_file("wrapped.pt", &archive, read);
});
