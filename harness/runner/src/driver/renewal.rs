//! The manifest of a run that is continued.

use specimen_foundation::failure;
use specimen_record::{
    DatasetDigest, Digest, Git, Manifest, PlanFile, RunDir, WeightsDigest, canonical_json, read_document,
};

use crate::{
    driver::{events::DriverEvent, repair::repair},
    error::RunError,
    images::external_processes::renew_files,
    machine,
    process::{disk_wait::DiskWait, remove_if_there},
};

/// The plan that a run is enlarged to.
pub(super) struct Larger<'a> {
    pub(super) file: &'a PlanFile,
    pub(super) datasets: Vec<DatasetDigest>,
    pub(super) argv: &'a [String],
}

/// What the manifest is to say now.
pub(super) struct Renewal<'a> {
    /// The resolved spec.
    pub(super) spec: serde_json::Value,
    pub(super) weights: &'a [WeightsDigest],
    pub(super) larger: Option<Larger<'a>>,
    /// The sources of the program, where it continues the run.
    pub(super) git: Option<&'a Git>,
}

/// Whether a worker has begun an attempt, and noted its program and machine.
fn is_begun(run: &RunDir) -> Result<bool, RunError> {
    for shard in run.shards()? {
        if run.attempts(shard)?.into_iter().any(|attempt| run.attempt_env(shard, attempt).exists()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Refuses other weights than the run began with, and files that are not as they were sealed; takes over what
/// a spec may change without changing the plan, metrics, expectations and texts, and the larger plan where
/// there is one. The run is then unsealed until it is summarised again.
pub(super) fn renew_manifest(
    run: &RunDir,
    renewal: Renewal<'_>,
    disk: DiskWait<'_>,
    report: &dyn Fn(DriverEvent),
) -> Result<(), RunError> {
    let Renewal { spec, weights, larger, git } = renewal;
    let mut manifest: Manifest = read_document(&run.manifest())?;
    let untouched = if is_begun(run)? { None } else { git };
    if let Some(git) = untouched {
        // Nothing is made yet, so this program and machine make all.
        let of_spec = serde_json::from_value(spec.clone()).map_err(|e| failure!(Spec: "{e}"))?;
        (manifest.hardware, manifest.software) = (machine::hardware(&of_spec), machine::software());
        manifest.git = git.clone();
    }
    let is_renewed = renew_files(run, &mut manifest.weights, weights)?;
    let before = |now: &WeightsDigest| manifest.weights.iter().find(|entry| entry.name == now.name);
    // More cells may need more networks, never another one of the same name.
    let is_other = |now: &&WeightsDigest| match before(now) {
        None => larger.is_none(),
        Some(_) => !manifest.weights.contains(now),
    };
    if let Some(now) = weights.iter().find(is_other) {
        return Err(crate::error::other_weights(
            run.manifest(),
            &now.name,
            before(now).map_or_else(|| "none".to_owned(), |entry| entry.blake3.to_string()),
            &now.blake3,
        ));
    }
    repair(run, &manifest, report)?;
    // Whatever is added now, the checksums do not hold until the run is sealed again.
    remove_if_there(&run.checksums(), "remove")?;
    let is_larger = larger.is_some();
    if let Some(Larger { file, datasets, argv }) = larger {
        // Before the manifest: a driver that is killed between the two finds the plan that it asks for.
        disk.put(&run.plan(), file)?;
        manifest.plan_digest = file.digest.clone();
        (manifest.datasets, manifest.argv) = (datasets, argv.to_vec());
        manifest.name.clone_from(&file.name);
        for entry in weights {
            if !manifest.weights.contains(entry) {
                manifest.weights.push(entry.clone());
            }
        }
    }
    let is_sealed = manifest.sealed.take().is_some();
    if untouched.is_some() || manifest.spec != spec || is_sealed || is_larger || is_renewed {
        manifest.spec_digest = Digest::of(canonical_json(&spec).as_bytes());
        manifest.spec = spec;
        disk.put(&run.manifest(), &manifest)?;
    }
    Ok(())
}
