//! The end of a run: merge, scores, summary, seal.

use std::time::SystemTime;

use specimen_record::{
    Checksums, Done, Manifest, Merged, Record, RecordError, RunDir, Seal, Status, Summary, Timestamp, merge,
    read_document, read_rows, restore_images,
    summary::{
        hardware::RunHardware,
        summarise::{Inputs, summarise},
    },
};

use crate::{
    diagnostics::diagnose,
    driver::{events::DriverEvent, executor::Context},
    error::RunError,
    images::load::Models,
    score::{Uncomputed, check_images, score},
};

/// What a run ended with.
pub struct Outcome {
    /// The summary that was written.
    pub summary: Summary,
    /// Items that gave no image.
    pub n_failed: u64,
    /// Items in all.
    pub n_items: u64,
    /// The first failure's key and message.
    pub first_failure: Option<(String, String)>,
}

impl Outcome {
    /// The outcome as an error when items failed.
    pub fn check(&self) -> Result<(), RunError> {
        match &self.first_failure {
            None => Ok(()),
            Some((first, why)) => Err(crate::error::failed(self.n_failed, self.n_items, first, why)),
        }
    }
}

/// Merges the attempts, scores the images by all metrics but those of `uncomputed`, writes the summary and seals the manifest.
pub(crate) fn finish(
    context: &Context<'_>,
    models: &mut Models,
    uncomputed: &[Uncomputed],
) -> Result<Outcome, RunError> {
    let (merged, records) = merged(context)?;
    check_images(context.run, &records)?;
    score(context, &records, models, uncomputed)?;
    diagnose(context, &records, models)?;
    conclude(context, &merged, &records)
}

/// The merged records of all attempts, with every shard marked as finished.
pub(super) fn merged(context: &Context<'_>) -> Result<(Merged, Vec<Record>), RunError> {
    let &Context { run, file, disk, report, .. } = context;
    let merged: Merged = disk.write(|| merge(run, file).map_err(|error| damaged(run, error)))?;
    for torn in &merged.torn {
        report(DriverEvent::Torn { what: torn.to_string() });
    }
    if let Some(first) = merged.without_steps.first() {
        let (path, n) = (run.merged_steps(), merged.without_steps.len());
        let complaint =
            format!("{}: {n} image(s) have no trace of their steps, the first is {first}", path.display());
        let mend = "remove the folder of its shard and continue with --resume, which makes it again";
        return Err(RunError::damaged(run, complaint, mend));
    }
    // Shards of an earlier, finer cut were never ended by a worker; they are whole now.
    for shard in run.shards()? {
        if !run.done(shard).exists() {
            disk.write(|| Ok(restore_images(run, shard)?))?;
            let done = Done::of_shard(run, shard)?;
            disk.put(&run.done(shard), &done)?;
        }
    }
    let records = read_rows::<Record>(&run.merged_records())?.rows;
    Ok((merged, records))
}

/// The error with its remedy, where rows of a shard were changed.
fn damaged(run: &RunDir, error: RecordError) -> RunError {
    let path = match &error {
        RecordError::Contradicted { path, .. }
        | RecordError::Inconsistent { path, .. }
        | RecordError::Syntax { path, .. } => path.strip_prefix(run.shards_dir()),
        _ => return error.into(),
    };
    let Some(shard) = path.ok().and_then(|path| path.iter().next()) else { return error.into() };
    let folder = run.shards_dir().join(shard);
    let mend =
        format!("remove the folder {} and continue with --resume, which makes it again", folder.display());
    RunError::damaged(run, error, &mend)
}

/// Writes the summary of a run that is merged and scored, and seals the manifest.
pub(super) fn conclude(
    context: &Context<'_>,
    merged: &Merged,
    records: &[Record],
) -> Result<Outcome, RunError> {
    let &Context { run, plan, disk, report, .. } = context;
    let mut manifest: Manifest = read_document(&run.manifest())?;
    let hardware = RunHardware::of(run, &manifest.hardware)?;
    if let Some(what) = hardware.several_models() {
        report(DriverEvent::SeveralDevices { what });
    }
    let summary = summarise(&Inputs {
        run,
        plan,
        records,
        manifest: &manifest,
        hardware: &hardware,
        result_digest: &merged.result_digest,
    })?;
    disk.put(&run.summary(), &summary)?;
    let checksums = Checksums::of_run(run)?;
    manifest.sealed = Some(Seal {
        finished: Timestamp::from(SystemTime::now()),
        n_records: merged.n_records,
        result_digest: merged.result_digest.clone(),
        files_digest: Some(checksums.digest()),
    });
    disk.put(&run.manifest(), &manifest)?;
    disk.put(&run.checksums(), &checksums.with_manifest(run)?)?;
    let failed = records.iter().find(|record| record.status == Status::Err);
    let first_failure = failed.map(|r| (r.key.to_string(), r.err.clone().unwrap_or_default()));
    Ok(Outcome { summary, n_failed: merged.n_failed, n_items: merged.n_records, first_failure })
}
