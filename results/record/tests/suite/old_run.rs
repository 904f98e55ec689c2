//! The newest program reads, verifies and merges what earlier ones wrote, and refuses what later ones
//! will write.

use crate::fixture;

use std::fs;
use std::path::Path;

use fixture::old_run::{copied, old_run};
use specimen_record::{
    Document, Done, Environment, Lease, Manifest, MetricFile, PlanFile, Record, RecordError, RunDir,
    StepsRow, Summary, TimingRow, coverage, file_digest, merge, read_document, read_rows, read_timings,
    run_progress, verify_plan, verify_run, verify_shard,
};

#[test]
fn a_run_of_an_earlier_version_verifies() {
    let run = old_run();
    let plan = verify_plan(&run).unwrap();
    assert_eq!(verify_shard(&run, 0).unwrap().n_records, 8);
    let sealed = read_document::<Manifest>(&run.manifest()).unwrap().sealed.unwrap();

    let coverage = coverage(&run, &plan).unwrap();
    assert_eq!((coverage.ok.len(), coverage.failed.len(), coverage.missing.len()), (8, 0, 0));
    let progress = run_progress(&run, &plan).unwrap();
    assert!(progress.cells.iter().all(|cell| (cell.n_ok, cell.n_planned()) == (2, 2)), "{progress:?}");

    let found = verify_run(&run);
    assert!(found.complaints.is_empty() && found.torn.is_empty(), "{:?}", found.complaints);
    assert_eq!((found.n_planned, found.n_records, found.n_images, found.n_finished), (8, 8, 8, 1));
    assert!(found.sealed && !found.has_checksums);
    assert_eq!(found.result_digest, Some(sealed.result_digest));
}

#[test]
fn every_file_of_an_earlier_version_reads() {
    let run = old_run();
    assert_eq!(read_rows::<StepsRow>(&run.merged_steps()).unwrap().rows.len(), 8);
    assert_eq!(read_rows::<StepsRow>(&run.attempt_steps(0, 0)).unwrap().rows.len(), 8);
    assert_eq!(read_timings(&run).unwrap().rows.iter().filter(|timed| !timed.row.warmup).count(), 8);
    assert_eq!(read_document::<Lease>(&run.lease(0)).unwrap().shard, 0);
    assert!(read_document::<Environment>(&run.attempt_env(0, 0)).unwrap().seconds > 0.0);
    // A summary is formed again from the rows.
    let older = read_document::<Summary>(&run.summary()).unwrap_err().to_string();
    assert!(
        older.contains("schema 1, of an earlier version; `specimen score RUN` forms it again"),
        "{older}"
    );
    assert_eq!(run.metric_files().unwrap().len(), 4);
    for path in run.metric_files().unwrap() {
        assert!(read_document::<MetricFile>(&path).unwrap().value.is_some());
    }
}

#[test]
fn a_run_of_an_earlier_version_merges_to_its_sealed_digest() {
    let folder = tempfile::tempdir().unwrap();
    let run = copied(folder.path());
    fs::remove_dir_all(run.merged_dir()).unwrap();
    let merged = merge(&run, &verify_plan(&run).unwrap()).unwrap();
    assert_eq!(merged.result_digest, file_digest(&old_run().merged_records()).unwrap());
    assert_eq!(merged.steps_digest, file_digest(&old_run().merged_steps()).unwrap());
}

/// Raises the schema number in the first line or object of a file; the reader must give it as the reason.
fn check_newer_is_refused<T: Document>(run: &RunDir, path: &Path) {
    let whole = fs::read_to_string(path).unwrap();
    let newer =
        whole.replacen("\"schema\": 1", "\"schema\": 3", 1).replacen("{\"schema\":1", "{\"schema\":3", 1);
    fs::write(path, newer).unwrap();
    let refused = match path.extension().and_then(|extension| extension.to_str()) {
        Some("jsonl") => read_rows::<T>(path).err(),
        _ => read_document::<T>(path).err(),
    };
    let error = refused.unwrap();
    let RecordError::NewerSchema { found: 3, .. } = error else { panic!("{error}") };
    assert!(error.to_string().contains(&format!("{} has schema 3", T::KIND)), "{error}");
    let complaints = verify_run(run).complaints;
    assert!(complaints.iter().any(|c| c.to_string() == error.to_string()), "{error}: {complaints:?}");
    fs::write(path, whole).unwrap();
}

#[test]
fn a_newer_schema_is_refused_in_each_kind_of_file() {
    let folder = tempfile::tempdir().unwrap();
    let run = copied(folder.path());
    check_newer_is_refused::<Manifest>(&run, &run.manifest());
    check_newer_is_refused::<PlanFile>(&run, &run.plan());
    check_newer_is_refused::<Lease>(&run, &run.lease(0));
    check_newer_is_refused::<Done>(&run, &run.done(0));
    check_newer_is_refused::<Record>(&run, &run.attempt_records(0, 0));
    check_newer_is_refused::<StepsRow>(&run, &run.attempt_steps(0, 0));
    check_newer_is_refused::<TimingRow>(&run, &run.attempt_timing(0, 0));
    check_newer_is_refused::<Environment>(&run, &run.attempt_env(0, 0));
    check_newer_is_refused::<Summary>(&run, &run.summary());
    check_newer_is_refused::<MetricFile>(&run, &run.metric_files().unwrap()[0]);
}
