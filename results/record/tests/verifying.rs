//! A check of a run finds every change of a finished file, and goes on after the first.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

mod fixture;

use std::fs;

use fixture::old_run::{copied, files_below, pixels};
use specimen_record::{Checksums, Manifest, RunDir, read_document, verify_run, write_document};

/// Bits that are flipped in each file, at places spread over it.
const N_FLIPS: usize = 12;

/// The old run with the checksums that runs have today.
fn finished(folder: &std::path::Path) -> RunDir {
    let run = copied(folder);
    write_document(&run.checksums(), &Checksums::of_run(&run).unwrap()).unwrap();
    run
}

fn complaints(run: &RunDir) -> Vec<String> {
    verify_run(run, &pixels).complaints.iter().map(ToString::to_string).collect()
}

#[test]
fn a_flipped_bit_anywhere_in_a_finished_run_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let run = finished(folder.path());
    assert_eq!(complaints(&run), [""; 0]);
    let made_again = [run.summary(), run.lease(0)];
    let files = files_below(run.root());
    let files = files.iter().filter(|f| !made_again.contains(f) && !f.starts_with(run.metrics_dir()));
    let mut n_files = 0;
    for path in files {
        n_files += 1;
        let whole = fs::read(path).unwrap();
        for flip in 0..N_FLIPS {
            // The first and the last byte, and those between in even steps.
            let at = flip * (whole.len() - 1) / (N_FLIPS - 1);
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (flip % 8);
            fs::write(path, bytes).unwrap();
            let found = complaints(&run);
            assert!(!found.is_empty(), "{}: bit {} of byte {at}", path.display(), flip % 8);
        }
        fs::write(path, whole).unwrap();
    }
    assert_eq!(n_files, 18);
    assert_eq!(complaints(&run), [""; 0]);
}

#[test]
fn all_complaints_are_told_and_not_the_first_alone() {
    let folder = tempfile::tempdir().unwrap();
    let run = finished(folder.path());
    let first = fs::read_to_string(run.attempt_records(0, 0)).unwrap();
    fs::write(run.attempt_records(0, 0), first.replacen("\"nfe\"", "\"nfx\"", 2)).unwrap();
    let image = run.image(0, "ar+1+0.png").unwrap();
    fs::copy(run.image(0, "ar+0+0.png").unwrap(), &image).unwrap();
    fs::remove_file(run.image(0, "sd-chain3+1+0.png").unwrap()).unwrap();
    fs::remove_file(run.merged_steps()).unwrap();
    fs::write(run.attempt_machine(0, 0), "").unwrap();
    fs::write(run.summary(), "{}").unwrap();
    let found = complaints(&run);
    for expected in [
        "records.jsonl:1:",
        "records.jsonl:2:",
        "ar+1+0.png: the pixels of ar/1/0 have digest",
        "sd-chain3+1+0.png: cannot read the pixels",
        "2 of 8 items have no record",
        "records.jsonl: the file: the digest is",
        "merged/steps.jsonl: the file is gone",
        "machine.jsonl: the checksums do not list it",
        "summary.json:1:",
    ] {
        assert!(found.iter().any(|complaint| complaint.contains(expected)), "{expected}: {found:#?}");
    }
}

#[test]
fn records_that_were_merged_from_others_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let run = copied(folder.path());
    let whole = fs::read_to_string(run.merged_records()).unwrap();
    let fewer: String = whole.lines().skip(1).map(|line| format!("{line}\n")).collect();
    fs::write(run.merged_records(), fewer).unwrap();
    let mut manifest: Manifest = read_document(&run.manifest()).unwrap();
    manifest.sealed.as_mut().unwrap().n_records = 7;
    manifest.sealed.as_mut().unwrap().result_digest =
        specimen_record::Digest::of_file(&run.merged_records()).unwrap();
    write_document(&run.manifest(), &manifest).unwrap();
    let found = complaints(&run);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].contains("manifest.json: 8 records, 7 were written down"), "{found:#?}");
    assert!(found[1].contains("beside those of the shards"), "{found:#?}");
}

#[test]
fn a_run_under_way_is_checked_as_far_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let run = finished(folder.path());
    let mut manifest: Manifest = read_document(&run.manifest()).unwrap();
    manifest.sealed = None;
    write_document(&run.manifest(), &manifest).unwrap();
    fs::remove_dir_all(run.merged_dir()).unwrap();
    fs::remove_file(run.done(0)).unwrap();
    let whole = fs::read(run.attempt_records(0, 0)).unwrap();
    fs::write(run.attempt_records(0, 0), &whole[..whole.len() - 100]).unwrap();
    let found = verify_run(&run, &pixels);
    assert!(found.complaints.is_empty(), "{:?}", found.complaints);
    assert_eq!((found.n_planned, found.n_records, found.n_images, found.torn.len()), (8, 7, 7, 1));
    assert!(!found.sealed && found.n_finished == 0);
}
