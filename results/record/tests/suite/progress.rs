//! The progress of a run counts what coverage lists, from the heads of the rows alone.

use crate::fixture;

use std::fs;

use specimen_record::{
    CellProgress, Done, PlanFile, Record, RecordError, RunDir, coverage, run_progress, sweep_unfinished,
    write_document,
};

fn all_records() -> Vec<Record> {
    fixture::plan().items.iter().map(fixture::record).collect()
}

fn run_with(records: &[Record]) -> (tempfile::TempDir, RunDir) {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::new_run(folder.path());
    fixture::attempt(&run, 0, 0, records);
    (folder, run)
}

#[test]
fn a_tally_counts_what_coverage_lists() {
    let plan = fixture::plan();
    let failed = |at: usize| Record::failed(&plan.items[at], "x");
    let records = all_records();
    let (_folder, run) = run_with(&[failed(0), failed(1), records[3].clone()]);
    fixture::attempt(&run, 0, 1, &[records[0].clone(), failed(3)]);
    fixture::attempt(&run, 7, 0, &[records[4].clone()]);
    fs::create_dir_all(run.attempt(9, 0)).unwrap(); // A worker that died at once.
    let path = run.attempt_records(7, 0);
    let mut torn = fs::read(&path).unwrap();
    torn.extend_from_slice(b"{\"schema\":1,");
    fs::write(&path, torn).unwrap();

    let found = run_progress(&run, &plan).unwrap();
    let cell =
        |cell: &str, n_ok, n_failed, n_missing| CellProgress { cell: cell.into(), n_ok, n_failed, n_missing };
    assert_eq!(found.cells, [cell(fixture::CELLS[0], 1, 1, 1), cell(fixture::CELLS[1], 2, 0, 1)]);
    assert_eq!(found.cells[0].n_planned(), 3);
    assert_eq!((found.shards, found.finished), (vec![0, 7, 9], vec![]));
    let listed = coverage(&run, &plan).unwrap();
    assert_eq!((listed.ok.len(), listed.failed.len(), listed.missing.len()), (3, 1, 2));
    assert_eq!(found.torn, listed.torn);
    assert_eq!((found.torn.len(), found.torn[0].n_bytes), (1, 12));
}

#[test]
fn a_block_is_whole_where_one_attempt_made_all_of_it() {
    let plan = fixture::plan();
    let records = all_records();
    let (_folder, run) = run_with(&[records[0].clone(), records[1].clone()]);
    fixture::attempt(&run, 0, 1, &[Record::failed(&plan.items[0], "x"), records[2].clone()]);
    fixture::attempt(&run, 1, 1, &[records[1].clone(), records[2].clone()]);
    let listed = coverage(&run, &plan).unwrap();
    let whole = |items: &[usize]| listed.in_one_attempt(items.iter().map(|&at| &plan.items[at].key));
    assert!(whole(&[0, 1]) && whole(&[1, 2]) && whole(&[2]) && whole(&[]));
    // All three have an image, from no single attempt.
    assert!(!whole(&[0, 1, 2]) && !whole(&[0, 2]) && !whole(&[3]));
}

#[test]
fn blocks_with_some_of_their_images_are_begun() {
    let plan = fixture::plan();
    let records = all_records();
    let keys = &plan.blocks[0].items;
    let first = records.iter().find(|record| record.key == keys[0]).unwrap();
    let (_folder, run) = run_with(std::slice::from_ref(first));
    assert_eq!(run_progress(&run, &plan).unwrap().begun, [plan.blocks[0].index]);
    fixture::attempt(&run, 0, 1, &records);
    assert_eq!(run_progress(&run, &plan).unwrap().begun, [0_u32; 0]);
}

#[test]
fn what_a_killed_process_left_half_written_is_swept_and_nothing_else() {
    let (folder, run) = run_with(&all_records()[..1]);
    let half = run.images_dir(0).join(".unfinished-x1");
    fs::create_dir_all(run.images_dir(0)).unwrap();
    fs::write(&half, "half").unwrap();
    fs::write(run.images_dir(0).join("whole.png"), "whole").unwrap();
    let before = fs::read(run.attempt_records(0, 0)).unwrap();
    assert_eq!(sweep_unfinished(folder.path()).unwrap(), 1);
    assert!(!half.exists() && run.images_dir(0).join("whole.png").exists());
    assert_eq!(fs::read(run.attempt_records(0, 0)).unwrap(), before);
    assert_eq!(sweep_unfinished(&folder.path().join("absent")).unwrap(), 0);
}

#[test]
fn a_run_without_a_shard_misses_everything() {
    let folder = tempfile::tempdir().unwrap();
    let found = run_progress(&fixture::new_run(folder.path()), &fixture::plan()).unwrap();
    assert!(found.cells.iter().all(|cell| (cell.n_ok, cell.n_failed, cell.n_missing) == (0, 0, 3)));
    assert!(found.shards.is_empty() && found.torn.is_empty());
}

#[test]
fn a_shard_is_finished_when_its_marker_is_there() {
    let (_folder, run) = run_with(&[]);
    fixture::attempt(&run, 2, 0, &[]);
    let marker = Done::of_shard(&run, 2).unwrap();
    write_document(&run.done(2), &marker).unwrap();
    let found = run_progress(&run, &fixture::plan()).unwrap();
    assert_eq!((found.shards, found.finished), (vec![0, 2], vec![2]));
}

#[test]
fn a_head_that_is_not_one_is_refused_with_its_place() {
    let plan = fixture::plan();
    let (_folder, run) = run_with(&all_records()[..2]);
    let path = run.attempt_records(0, 0);
    let whole = fs::read_to_string(&path).unwrap();
    for (from, to, reason) in [
        ("\"schema\":1", "\"schema\":2", "records.jsonl:1: record has schema 2"),
        ("\"schema\":1", "\"schema\":0", "schema 0 was never written"),
        ("\"status\":\"ok\"", "\"status\":\"fine\"", "there is no `fine`"),
        ("\"key\":\"ar/", "\"key\":\"ar//", "not an item key"),
        ("\"key\"", "\"kex\"", "unknown key `kex`; did you mean `key`?"),
        ("{", "[", "not a valid record"),
    ] {
        fs::write(&path, whole.replacen(from, to, 1)).unwrap();
        let message = run_progress(&run, &plan).unwrap_err().to_string();
        assert!(message.contains("records.jsonl:1:") && message.contains(reason), "{message}");
    }
    fs::write(&path, whole).unwrap();
    let fewer = PlanFile::new("fewer", Vec::new(), Vec::new(), &fixture::spec()).unwrap();
    assert!(matches!(run_progress(&run, &fewer), Err(RecordError::NotInPlan { line: 1, .. })));
}

#[test]
fn fields_may_stand_in_any_order() {
    let plan = fixture::plan();
    let (_folder, run) = run_with(&all_records()[..1]);
    let row = serde_json::to_value(&all_records()[0]).unwrap();
    let reversed: serde_json::Map<_, _> = row.as_object().unwrap().clone().into_iter().rev().collect();
    fs::write(run.attempt_records(0, 0), serde_json::to_string(&reversed).unwrap() + "\n").unwrap();
    assert_eq!(run_progress(&run, &plan).unwrap().cells[0].n_ok, 1);
}

#[test]
fn an_image_that_is_gone_is_to_be_made_again_wherever_its_record_is() {
    let plan = fixture::plan();
    let records = all_records();
    let (_folder, run) = run_with(&records[..3]);
    fixture::attempt(&run, 1, 0, &records[3..]);
    let image = run.image(0, records[1].image.as_ref().unwrap()).unwrap();
    let bytes = fs::read(&image).unwrap();
    fs::remove_file(&image).unwrap();
    let found = run_progress(&run, &plan).unwrap();
    assert_eq!((found.cells[0].n_ok, found.cells[0].n_missing, found.lost), (2, 1, vec![image.clone()]));
    let listed = coverage(&run, &plan).unwrap();
    assert_eq!((listed.ok.len(), listed.lost), (5, vec![plan.items[1].key.clone()]));

    // Made again by a worker of another shard.
    fixture::attempt(&run, 1, 1, &records[1..2]);
    assert_eq!(run_progress(&run, &plan).unwrap().lost, [""; 0].map(std::path::PathBuf::from));
    assert_eq!(coverage(&run, &plan).unwrap().ok.len(), 6);
    assert!(Done::of_shard(&run, 0).is_err());
    assert_eq!(specimen_record::restore_images(&run, 0).unwrap(), 1);
    assert_eq!(fs::read(&image).unwrap(), bytes);
    assert_eq!(specimen_record::restore_images(&run, 0).unwrap(), 0);
    Done::of_shard(&run, 0).unwrap();
}
