//! Whether the files of a finished run are those that it was sealed with, by their digests. The seal is in
//! the manifest, the list in `checksums.json`, and each names the other.

use crate::{Checksums, Manifest, Part, RecordError, RunDir, Seal, read_document};

/// What of `part` is not as it was sealed; nothing where all is. That a run is not sealed is a
/// complaint. A run that an earlier version sealed without a list gives nothing: [`has_list`] says so.
pub fn seal_complaints(run: &RunDir, part: Part) -> Vec<RecordError> {
    let manifest: Manifest = match read_document(&run.manifest()) {
        Ok(manifest) => manifest,
        Err(error) => return vec![error],
    };
    match &manifest.sealed {
        Some(seal) => complaints(run, seal, part),
        None => vec![crate::error::not_sealed(run.manifest())],
    }
}

/// Whether a run that is sealed in this way has a list of checksums, or should have one.
pub fn has_list(run: &RunDir, seal: &Seal) -> bool {
    seal.files_digest.is_some() || run.checksums().exists()
}

/// What of `part` is not as it was sealed.
pub(crate) fn complaints(run: &RunDir, seal: &Seal, part: Part) -> Vec<RecordError> {
    if !has_list(run, seal) {
        return Vec::new();
    }
    let path = run.checksums();
    if !path.exists() {
        return vec![RecordError::Seal {
            path,
            what: "the list of checksums is missing, and the manifest says that the run was sealed with it",
        }];
    }
    let list: Checksums = match read_document(&path) {
        Ok(list) => list,
        Err(error) => return vec![error],
    };
    let found = list.digest();
    match &seal.files_digest {
        Some(expected) if *expected != found => {
            let (what, expected) = ("the list of files that manifest.json was sealed with", expected.clone());
            vec![RecordError::DigestMismatch { path, what, expected, found }]
        }
        sealed => list.complaints(run, part, sealed.is_some()),
    }
}
