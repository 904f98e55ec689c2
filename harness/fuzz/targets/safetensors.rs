//! The header of a safetensors file, and an index of several.
#![no_main]

use libfuzzer_sys::fuzz_target;
use specimen_catalog::convert::{Limits, Source};
use specimen_fuzz::with_file;

fuzz_target!(|bytes: &[u8]| {
    for name in ["model.safetensors", "model.safetensors.index.json"] {
        with_file(name, bytes, |path| {
            let Ok(source) = Source::open(path, None, &[], &Limits::PUBLISHED) else { return };
            let sum: u64 = source.tensors().values().map(|view| view.n_bytes()).sum();
            assert!(sum <= source.n_bytes(), "tensors of a safetensors file share no bytes");
        });
    }
});
