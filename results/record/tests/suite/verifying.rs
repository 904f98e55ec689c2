//! A check of a run finds every change of a finished file, and goes on after the first.

use crate::fixture;

use std::fs;

use fixture::old_run::{copied, files_below};
use specimen_record::{
    Checksums, Digest, LAST_NUMBER, Manifest, Part, RunDir, read_document, seal_complaints, verify_run,
    write_atomic, write_document,
};

/// Bits that are flipped in each file, at places spread over it.
const N_FLIPS: usize = 12;

/// The old run, sealed as runs are today.
fn finished(folder: &std::path::Path) -> RunDir {
    let run = copied(folder);
    let list = Checksums::of_run(&run).unwrap();
    let mut manifest: Manifest = read_document(&run.manifest()).unwrap();
    manifest.sealed.as_mut().unwrap().files_digest = Some(list.digest());
    write_document(&run.manifest(), &manifest).unwrap();
    write_document(&run.checksums(), &list.with_manifest(&run).unwrap()).unwrap();
    run
}

fn complaints(run: &RunDir) -> Vec<String> {
    verify_run(run).complaints.iter().map(ToString::to_string).collect()
}

#[test]
fn a_flipped_bit_anywhere_in_a_finished_run_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let run = finished(folder.path());
    assert_eq!(complaints(&run), [""; 0]);
    let files = files_below(run.root());
    let files = files.iter().filter(|file| **file != run.lease(0));
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
    assert_eq!(n_files, 23);
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
        "merged/steps.jsonl: the file is gone",
        "machine.jsonl: the checksums do not list it",
        "summary.json:1:",
    ] {
        assert!(found.iter().any(|complaint| complaint.contains(expected)), "{expected}: {found:#?}");
    }
    // What is wrong with these files has been said more precisely.
    assert!(!found.iter().any(|complaint| complaint.contains("the digest is")), "{found:#?}");
}

#[test]
fn one_damage_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let run = finished(folder.path());
    let merged = fs::read_to_string(run.merged_records()).unwrap();
    fs::write(run.merged_records(), merged.replacen("\"nfe\":", "\"nfe\": ", 1)).unwrap();
    let found = complaints(&run);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("records.jsonl: the merged records: the digest is"), "{found:#?}");
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
        specimen_record::file_digest(&run.merged_records()).unwrap();
    write_document(&run.manifest(), &manifest).unwrap();
    let found = complaints(&run);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].contains("manifest.json: 8 records, 7 were written down"), "{found:#?}");
    assert!(found[1].contains("compared with those of the shards"), "{found:#?}");
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
    let found = verify_run(&run);
    assert!(found.complaints.is_empty(), "{:?}", found.complaints);
    assert_eq!((found.n_planned, found.n_records, found.n_images, found.torn.len()), (8, 7, 7, 1));
    assert!(!found.sealed && found.n_finished == 0);
}

#[test]
fn a_sealed_run_without_its_list_or_with_another_one_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let run = finished(folder.path());
    let whole = fs::read(run.checksums()).unwrap();
    fs::remove_file(run.checksums()).unwrap();
    let missing = "checksums.json: the list of checksums is missing, and the manifest says";
    let found = complaints(&run);
    assert!(found.len() == 1 && found[0].contains(missing), "{found:#?}");
    fs::create_dir(run.checksums()).unwrap();
    let found = complaints(&run);
    assert!(found.len() == 1 && found[0].contains("checksums.json: cannot read"), "{found:#?}");
    fs::remove_dir(run.checksums()).unwrap();
    // A list that is right for files that were changed.
    let record = fs::read_to_string(run.merged_steps()).unwrap();
    fs::write(run.merged_steps(), format!("{record}\n")).unwrap();
    write_document(&run.checksums(), &Checksums::of_run(&run).unwrap()).unwrap();
    let found = complaints(&run);
    let other = "checksums.json: the list of files that manifest.json was sealed with";
    assert!(found.iter().any(|complaint| complaint.contains(other)), "{found:#?}");
    fs::write(run.merged_steps(), record).unwrap();
    fs::write(run.checksums(), whole).unwrap();
    assert_eq!(complaints(&run), [""; 0]);
}

#[test]
fn a_reader_is_told_of_what_it_reads_and_of_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let run = finished(folder.path());
    let of = |part| seal_complaints(&run, part).iter().map(ToString::to_string).collect::<Vec<_>>();
    let parts = [Part::Summary, Part::Values, Part::All];
    let n_found = || parts.map(|part| of(part).len());
    assert_eq!(n_found(), [0; 3]);
    let metric = run.metric_files().unwrap()[0].clone();
    for (path, expected) in [
        (run.summary(), [1, 1, 1]),
        (run.manifest(), [1, 1, 1]),
        (run.merged_records(), [0, 1, 1]),
        (metric, [0, 1, 1]),
        (run.attempt_timing(0, 0), [0, 1, 1]),
        (run.done(0), [0, 0, 1]),
        (run.plan(), [0, 0, 1]),
    ] {
        let whole = fs::read(&path).unwrap();
        fs::write(&path, [&whole[..], b"\n"].concat()).unwrap();
        assert_eq!(n_found(), expected, "{}: {:#?}", path.display(), of(Part::All));
        fs::remove_file(&path).unwrap();
        assert_eq!(n_found(), expected, "{} is gone", path.display());
        fs::write(&path, whole).unwrap();
    }
    // Of the same plan, but of another run.
    let mut manifest: Manifest = read_document(&run.manifest()).unwrap();
    manifest.sealed.as_mut().unwrap().files_digest = Some(Digest::of(b"another run"));
    write_document(&run.manifest(), &manifest).unwrap();
    assert!(of(Part::Summary)[0].contains("checksums.json: the list of files"), "{:#?}", of(Part::Summary));
    manifest.sealed = None;
    write_document(&run.manifest(), &manifest).unwrap();
    assert!(
        of(Part::Summary)[0].contains("manifest.json: the run is not sealed"),
        "{:#?}",
        of(Part::Summary)
    );
}

#[test]
fn a_folder_with_a_number_that_no_run_gives_is_refused_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let run = finished(folder.path());
    for (made, number) in [
        (run.shards_dir().join("4294967295"), "4294967295"),
        (run.shards_dir().join("99999999999999999999"), "99999999999999999999"),
        (run.shard(0).join("attempts/4294967295"), "4294967295"),
    ] {
        fs::create_dir(&made).unwrap();
        let found = complaints(&run);
        let expected =
            format!("{number}: no shard and no attempt has a number above {LAST_NUMBER}; remove the folder");
        assert!(found[0].contains(&expected), "{found:#?}");
        fs::remove_dir(&made).unwrap();
    }
    // Names that are no numbers of a shard are nobody's business.
    for name in ["01", "x", "-1"] {
        fs::create_dir(run.shards_dir().join(name)).unwrap();
    }
    assert_eq!(complaints(&run), [""; 0]);
}

#[test]
fn a_file_among_the_images_that_no_record_names_is_a_complaint() {
    let folder = tempfile::tempdir().unwrap();
    let run = finished(folder.path());
    let image = fs::read_dir(run.images_dir(0)).unwrap().next().unwrap().unwrap().path();
    for name in ["stray.png", "notes.txt"] {
        let stray = run.images_dir(0).join(name);
        fs::copy(&image, &stray).unwrap();
        let found = complaints(&run);
        let expected = format!("{}: no record names this file", stray.display());
        assert!(found.len() == 1 && found[0].starts_with(&expected), "{found:#?}");
        fs::remove_file(stray).unwrap();
    }
    assert_eq!(complaints(&run), [""; 0]);
}

#[test]
fn files_that_a_dead_process_left_under_way_are_listed_and_those_of_a_living_one_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let run = finished(folder.path());
    let (dead, alive) = (run.images_dir(0).join(".unfinished-a"), run.report().join(".unfinished-b"));
    fs::write(&dead, "half").unwrap();
    fs::create_dir(run.report()).unwrap();
    fs::write(&alive, "half").unwrap();
    let writer = fs::File::open(&alive).unwrap();
    writer.lock().unwrap();
    let found = verify_run(&run);
    assert!(found.complaints.is_empty(), "{:?}", found.complaints);
    assert_eq!(found.unfinished, std::slice::from_ref(&dead));
    assert_eq!(specimen_record::sweep_unfinished(run.root()).unwrap(), 1);
    assert!(!dead.exists() && alive.exists());
    drop(writer);
    write_atomic(&run.report().join("x"), b"whole").unwrap();
    assert_eq!(specimen_record::sweep_unfinished(run.root()).unwrap(), 1);
    assert!(!alive.exists() && run.report().join("x").exists());
}
