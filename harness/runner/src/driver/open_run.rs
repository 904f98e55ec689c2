//! The folder of a run: made, or reopened to be continued.

use std::time::{Duration, SystemTime};

use serde_json::Value;
use specimen_datasets::{PromptSet, SourceFile};
use specimen_experiments::plan::Plan;
use specimen_foundation::failure;
use specimen_record::{
    DatasetDigest, Digest, FileDigest, Manifest, PlanFile, RecordError, RunDir, SCHEMA, Timestamp,
    WeightsDigest, canonical_json, read_document,
};

use crate::{
    driver::{
        Options,
        events::DriverEvent,
        renewal::{Larger, Renewal, renew_manifest},
    },
    error::RunError,
    machine,
    plan::{
        larger_plan::{check_no_arrays, obstacle},
        stored_plan::word_of,
    },
    process::{disk_wait::DiskWait, lock::Lock, stop_request::StopRequest},
};

/// `status` holds the lock for an instant to see whether a driver has it.
pub(super) const LOCK_PATIENCE: Duration = Duration::from_millis(300);

/// A run whose folder is about to be made or reopened.
pub(super) struct Opening<'a> {
    pub(super) plan: &'a Plan,
    pub(super) file: &'a PlanFile,
    pub(super) options: &'a Options<'a>,
    pub(super) disk: DiskWait<'a>,
    pub(super) report: &'a dyn Fn(DriverEvent),
}

impl Opening<'_> {
    /// Makes or reopens the run's folder and takes its lock.
    pub(super) fn open(
        &self,
        prompts: &PromptSet,
        (weights, notes): (Vec<WeightsDigest>, Vec<String>),
    ) -> Result<(RunDir, Lock), RunError> {
        let spec = serde_json::to_value(&self.plan.spec).map_err(|e| failure!(Spec: "{e}"))?;
        let datasets = vec![dataset_of(prompts)?];
        match self.options.out.join("manifest.json").exists() {
            true => self.reopen(spec, datasets, &weights),
            false => self.create(spec, datasets, (weights, notes)),
        }
    }

    fn reopen(
        &self,
        spec: Value,
        datasets: Vec<DatasetDigest>,
        weights: &[WeightsDigest],
    ) -> Result<(RunDir, Lock), RunError> {
        let Self { file, options, disk, report, .. } = *self;
        let run = RunDir::open(options.out)?;
        let lock = self.lock(&run)?;
        let begun: Manifest = read_document(&run.manifest())?;
        let found = plan_there(&run, &begun, file, report)?;
        let is_larger = begun.plan_digest != file.digest;
        if is_larger {
            self.check_larger(&begun, &spec, found.as_ref())?;
        }
        if !options.resume {
            return Err(crate::error::exists(options.out));
        }
        if is_larger {
            check_no_arrays(&run)?;
        }
        let larger = is_larger.then_some(Larger { file, datasets, argv: &options.argv });
        if larger.is_none() && found.is_none() {
            disk.put(&run.plan(), file)?;
        }
        renew_manifest(&run, Renewal { spec, weights, larger, git: Some(&options.git) }, disk, report)?;
        Ok((run, lock))
    }

    /// Refuses a plan that does more than enlarge the run that is there; `found` is the plan that is stored.
    fn check_larger(&self, begun: &Manifest, spec: &Value, found: Option<&PlanFile>) -> Result<(), RunError> {
        // A driver that was killed while it enlarged the run has written the plan before the manifest.
        let old = found.filter(|found| found.digest == begun.plan_digest);
        let differences = match (old, found) {
            (Some(old), _) => obstacle(&begun.spec, spec, old, self.file),
            (None, Some(_)) => None,
            (None, None) => {
                Some("it has no plan.json of its own; resume it as it was begun first".to_owned())
            }
        };
        match differences {
            None => Ok(()),
            Some(differences) => Err(crate::error::other_plan(
                self.options.out,
                &self.file.digest,
                &begun.plan_digest,
                differences,
            )),
        }
    }

    fn create(
        &self,
        spec: Value,
        datasets: Vec<DatasetDigest>,
        (weights, weights_notes): (Vec<WeightsDigest>, Vec<String>),
    ) -> Result<(RunDir, Lock), RunError> {
        let Self { plan, file, options, disk, .. } = *self;
        let run = disk.write(|| Ok(RunDir::create(options.out)?))?;
        let lock = self.lock(&run)?;
        let no_cells = || failure!(Spec: "the spec has no cells");
        let first = plan.spec.cells.first().ok_or_else(no_cells)?;
        let manifest = Manifest {
            schema: SCHEMA,
            name: plan.spec.name.clone(),
            argv: options.argv.clone(),
            spec_digest: Digest::of(canonical_json(&spec).as_bytes()),
            spec,
            plan_digest: file.digest.clone(),
            git: options.git.clone(),
            weights,
            weights_notes,
            datasets,
            hardware: machine::hardware(&plan.spec),
            software: machine::software(),
            dtype: word_of(&first.model.dtype)?,
            device: first.model.device.clone(),
            threads: 1,
            environment: machine::environment(),
            started: Timestamp::from(SystemTime::now()),
            sealed: None,
        };
        disk.put(&run.manifest(), &manifest)?;
        disk.put(&run.plan(), file)?;
        Ok((run, lock))
    }

    /// The lock of the run, whose file names the process that holds it.
    fn lock(&self, run: &RunDir) -> Result<Lock, RunError> {
        self.disk.write(|| Lock::wait(&run.lock(), LOCK_PATIENCE, &StopRequest::never()))
    }
}

/// The plan that is there, once it is known that its items are unchanged; `None` where there is none, or one
/// that belongs neither to the manifest nor to what is asked for, and which is replaced.
fn plan_there(
    run: &RunDir,
    begun: &Manifest,
    file: &PlanFile,
    report: &dyn Fn(DriverEvent),
) -> Result<Option<PlanFile>, RunError> {
    if !run.plan().exists() {
        return Ok(None);
    }
    let found: PlanFile = read_document(&run.plan())?;
    if found.digest == file.digest && found.items == file.items {
        return Ok(Some(found));
    }
    if found.digest != begun.plan_digest && found.digest != file.digest {
        let what = format!("{}: the plan is of another run", run.plan().display());
        report(DriverEvent::Damage { what: format!("{what}; it is made again") });
        return Ok(None);
    }
    let now = PlanFile::digest_of(&found.items, &begun.spec);
    if now == found.digest {
        return Ok(Some(found));
    }
    let (path, what, expected) = (run.plan(), "the plan", found.digest);
    let complaint = RecordError::DigestMismatch { path, what, expected, found: now };
    Err(RunError::damaged(
        run,
        complaint,
        "remove the file and continue with --resume, which writes it again",
    ))
}

/// What the manifest says of the prompts.
pub(crate) fn dataset_of(prompts: &PromptSet) -> Result<DatasetDigest, RunError> {
    let provenance = prompts.provenance();
    Ok(DatasetDigest {
        name: provenance.name.clone(),
        digest: provenance.digest.to_string().parse().map_err(|why| failure!(Spec: "{why}"))?,
        n: prompts.n_prompts() as u64,
        caption: provenance.caption.as_ref().map(word_of).transpose()?,
        files: provenance.sources.iter().map(source_digest).collect::<Result<_, _>>()?,
    })
}

fn source_digest(file: &SourceFile) -> Result<FileDigest, RunError> {
    let blake3 = file.blake3.to_string().parse().map_err(|why| failure!(Spec: "{why}"))?;
    Ok(FileDigest { file: file.name.clone(), blake3 })
}
