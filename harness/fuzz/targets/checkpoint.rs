//! Checkpoints as they lie on disk (PyTorch's archives, and its older files, which are pickles one after another), and the
//! same bytes as the pickle inside an archive that is whole, so that every change reaches the interpreter.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use specimen_convert::{Limits, Source};
use specimen_fuzz::{archive, with_file};

fn read(path: &Path) {
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

fuzz_target!(|bytes: &[u8]| {
    with_file("checkpoint.pt", bytes, read);
    let archive = archive(&[("seed/data.pkl", bytes), ("seed/data/0", &[7; 64]), ("seed/byteorder", b"little")]);
    with_file("wrapped.pt", &archive, read);
});
