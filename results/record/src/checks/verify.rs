//! Checks the files on disk against the digests that were noted: the plan against the manifest,
//! a shard against its marker.

use std::path::PathBuf;

use crate::{Digest, Done, Manifest, PlanFile, RecordError, RunDir, canonical_json, read_document};

/// Reads the plan of a run and checks that it is the one its manifest was written for.
pub fn verify_plan(run: &RunDir) -> Result<PlanFile, RecordError> {
    let manifest: Manifest = read_document(&run.manifest())?;
    let plan: PlanFile = read_document(&run.plan())?;
    let spec_digest = Digest::of(canonical_json(&manifest.spec).as_bytes());
    check(run.manifest(), "the spec", &manifest.spec_digest, spec_digest)?;
    check(run.plan(), "the plan", &plan.digest, PlanFile::digest_of(&plan.items, &manifest.spec))?;
    check(run.plan(), "the plan of this manifest", &manifest.plan_digest, plan.digest.clone())?;
    Ok(plan)
}

/// Checks a finished shard against its marker.
pub fn verify_shard(run: &RunDir, k: u32) -> Result<Done, RecordError> {
    let marker: Done = read_document(&run.done(k))?;
    let found = Done::of_shard(run, k)?;
    if marker.n_records != found.n_records {
        let (expected, found) = (marker.n_records, found.n_records);
        return Err(crate::error::wrong_count(run.done(k), "records", expected, found));
    }
    check(run.shard(k), "the records", &marker.records_digest, found.records_digest)?;
    check(run.shard(k), "the images", &marker.images_digest, found.images_digest)?;
    Ok(marker)
}

fn check(path: PathBuf, what: &'static str, expected: &Digest, found: Digest) -> Result<(), RecordError> {
    match *expected == found {
        true => Ok(()),
        false => Err(RecordError::DigestMismatch { path, what, expected: expected.clone(), found }),
    }
}
