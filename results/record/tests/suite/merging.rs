//! A merge gives the same bytes however the work was cut, and refuses what does not fit the plan.

use crate::fixture;

use std::fs;

use specimen_record::{
    Appender, Digest, Done, Durability, Item, ItemKey, Phases, PlanFile, Record, RecordError, RunDir, SCHEMA,
    Seed, Status, StepsRow, TimingRow, coverage, file_digest, merge, read_rows, verify_run, verify_shard,
    write_document,
};

/// Merges a run whose attempts are `(shard, attempt, records)`.
fn merged(attempts: &[(u32, u32, Vec<Record>)]) -> (tempfile::TempDir, RunDir) {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::new_run(folder.path());
    for (shard, number, records) in attempts {
        fixture::attempt(&run, *shard, *number, records);
    }
    (folder, run)
}

fn all_records() -> Vec<Record> {
    fixture::plan().items.iter().map(fixture::record).collect()
}

#[test]
fn the_result_digest_does_not_depend_on_shards_attempts_or_order() {
    let plan = fixture::plan();
    let records = all_records();
    let failed = Record::failed(&plan.items[2], "out of memory");
    let reversed: Vec<Record> = records.iter().rev().cloned().collect();
    let ways = [
        vec![(0, 0, records.clone())],
        vec![(0, 0, reversed)],
        vec![(0, 0, records[4..].to_vec()), (3, 1, records[..2].to_vec()), (11, 0, records[2..4].to_vec())],
        vec![(0, 0, vec![failed.clone()]), (0, 1, records.clone())],
        vec![(0, 0, records.clone()), (0, 1, vec![failed])],
        vec![(0, 0, records.clone()), (1, 0, records[1..3].to_vec())],
    ];
    let mut digests = Vec::new();
    for way in &ways {
        let (_folder, run) = merged(way);
        let merged = merge(&run, &plan).unwrap();
        assert_eq!((merged.n_records, merged.n_failed), (6, 0));
        assert!(merged.without_steps.is_empty() && merged.torn.is_empty());
        assert_eq!(merged.result_digest, file_digest(&run.merged_records()).unwrap());
        assert_eq!(merged.steps_digest, file_digest(&run.merged_steps()).unwrap());
        assert_eq!(read_rows::<Record>(&run.merged_records()).unwrap().rows, records);
        let keys: Vec<ItemKey> =
            read_rows::<StepsRow>(&run.merged_steps()).unwrap().rows.into_iter().map(|r| r.key).collect();
        assert_eq!(keys, plan.items.iter().map(|i| i.key.clone()).collect::<Vec<_>>());
        digests.push((merged.result_digest, merged.steps_digest));
    }
    digests.dedup();
    assert_eq!(digests.len(), 1);
}

#[test]
fn an_item_that_only_failed_is_a_row_with_its_last_reason() {
    let plan = fixture::plan();
    let mut records = all_records();
    records[1] = Record::failed(&plan.items[1], "first reason");
    let again = Record::failed(&plan.items[1], "second reason");
    let (_folder, run) = merged(&[(0, 0, records), (0, 1, vec![again])]);
    assert_eq!(merge(&run, &plan).unwrap().n_failed, 1);
    let rows = read_rows::<Record>(&run.merged_records()).unwrap().rows;
    assert_eq!((rows[1].status, rows[1].err.as_deref()), (Status::Err, Some("second reason")));
    assert_eq!(read_rows::<StepsRow>(&run.merged_steps()).unwrap().rows.len(), 5);
}

#[test]
fn two_different_successes_of_one_item_are_refused_with_both_places() {
    let mut other = all_records()[3].clone();
    other.tokens[0] += 1;
    other.tokens_digest = Digest::of_tokens(&other.tokens);
    let (_folder, run) = merged(&[(0, 0, all_records()), (2, 5, vec![other])]);
    let error = merge(&run, &fixture::plan()).unwrap_err();
    let message = error.to_string();
    let RecordError::Conflict { field, first_line, second_line, second, .. } = error else {
        panic!("{message}")
    };
    assert_eq!((field.as_str(), first_line, second_line), ("tokens", 4, 1));
    assert_eq!(second, run.attempt_records(2, 5));
    assert!(message.contains("not deterministic"), "{message}");
    assert!(!run.merged_records().exists());
    let complaints: Vec<String> = verify_run(&run).complaints.iter().map(ToString::to_string).collect();
    assert!(complaints.contains(&message), "a check says the same: {complaints:?}");
}

#[test]
fn missing_items_are_counted_and_nothing_is_written() {
    let (_folder, run) = merged(&[(0, 0, all_records()[..4].to_vec())]);
    let error = merge(&run, &fixture::plan()).unwrap_err();
    assert!(
        error.to_string().starts_with("2 of 6 items have no record (first: sd%2Fchain%203/%/0)"),
        "{error}"
    );
    assert!(!run.merged_dir().exists());
}

#[test]
fn coverage_tells_done_failed_and_missing_apart() {
    let plan = fixture::plan();
    let keys: Vec<ItemKey> = plan.items.iter().map(|i| i.key.clone()).collect();
    let mut records = all_records()[..4].to_vec();
    records[0] = Record::failed(&plan.items[0], "x");
    let (_folder, run) = merged(&[(0, 0, records)]);
    let path = run.attempt_records(0, 0);
    let mut torn = fs::read(&path).unwrap();
    torn.extend_from_slice(b"{\"schema\":1,");
    fs::write(&path, torn).unwrap();
    let found = coverage(&run, &plan).unwrap();
    assert_eq!(
        (found.failed, found.ok, found.missing),
        (keys[..1].to_vec(), keys[1..4].to_vec(), keys[4..].to_vec())
    );
    assert_eq!((found.torn.len(), found.torn[0].line, found.torn[0].n_bytes), (1, 5, 12));
}

#[test]
fn a_record_of_another_plan_is_refused() {
    let plan = fixture::plan();
    let mut items = plan.items.clone();
    items[0].seed = Seed(1);
    let (_folder, run) = merged(&[(0, 0, vec![fixture::record(&items[0])])]);
    let error = coverage(&run, &plan).unwrap_err();
    assert!(
        error.to_string().contains(&format!(
            "ran with seed {}, the plan says {}",
            Seed(1),
            Seed(0xfeed_0000)
        )),
        "{error}"
    );

    let fewer = PlanFile::new("fewer", Vec::new(), Vec::new(), &fixture::spec()).unwrap();
    let (_folder, run) = merged(&[(0, 0, all_records())]);
    let error = merge(&run, &fewer).unwrap_err();
    assert!(matches!(error, RecordError::NotInPlan { .. }), "{error}");
}

#[test]
fn an_image_without_a_trace_is_reported() {
    let plan = fixture::plan();
    let (_folder, run) = merged(&[(0, 0, all_records())]);
    fs::remove_file(run.attempt_steps(0, 0)).unwrap();
    let merged = merge(&run, &plan).unwrap();
    assert_eq!(merged.without_steps.len(), 6);
    assert_eq!(fs::read(run.merged_steps()).unwrap(), b"");
}

#[test]
fn an_empty_plan_merges_to_empty_files() {
    let empty = PlanFile::new("empty", Vec::new(), Vec::new(), &fixture::spec()).unwrap();
    let (_folder, run) = merged(&[]);
    let merged = merge(&run, &empty).unwrap();
    assert_eq!((merged.n_records, merged.result_digest), (0, Digest::of(b"")));
}

#[test]
fn a_finished_shard_is_checked_against_its_marker() {
    let (_folder, run) = merged(&[(4, 0, all_records())]);
    for record in all_records() {
        let path = run.image(4, record.image.as_deref().unwrap()).unwrap();
        specimen_record::write_atomic(&path, record.key.as_str().as_bytes()).unwrap();
    }
    let done = Done::of_shard(&run, 4).unwrap();
    write_document(&run.done(4), &done).unwrap();
    assert_eq!((verify_shard(&run, 4).unwrap(), done.n_records), (done.clone(), 6));

    let image = run.image(4, all_records()[0].image.as_deref().unwrap()).unwrap();
    fs::write(&image, "other pixels").unwrap();
    assert!(verify_shard(&run, 4).unwrap_err().to_string().contains("the images: the digest is"));
    fs::remove_file(&image).unwrap();
    assert!(verify_shard(&run, 4).unwrap_err().to_string().contains("cannot open"));
}

#[test]
fn the_plan_digest_follows_the_items_and_the_spec_and_nothing_else() {
    let plan = fixture::plan();
    let shuffled =
        serde_json::json!({"seed": 42, "sampling": {"top_k": 0, "temperature": 1.0}, "name": "fixture"});
    assert_eq!(PlanFile::digest_of(&plan.items, &shuffled), plan.digest);
    let renamed = PlanFile::new("other", plan.items.clone(), plan.blocks.clone(), &shuffled).unwrap();
    assert_eq!(renamed.digest, plan.digest);
    let mut other = fixture::spec();
    other["seed"] = 43.into();
    assert_ne!(PlanFile::digest_of(&plan.items, &other), plan.digest);
    assert_ne!(PlanFile::digest_of(&plan.items[1..], &shuffled), plan.digest);
}

#[test]
fn a_plan_holds_every_item_in_one_block() {
    let plan = fixture::plan();
    let reason = |items: Vec<_>, blocks: Vec<_>| {
        PlanFile::new("p", items, blocks, &fixture::spec()).unwrap_err().to_string()
    };
    assert!(reason(plan.items.clone(), plan.blocks[..2].to_vec()).contains("is in no block"));
    assert!(reason(plan.items.clone(), plan.blocks[1..].to_vec()).contains("block 1 is at place 0"));
    assert!(reason(plan.items[1..].to_vec(), plan.blocks.clone()).contains("not one of its items"));
    let mut twice = plan.blocks.clone();
    let key = twice[0].items[0].clone();
    twice[0].items.push(key);
    assert!(reason(plan.items.clone(), twice).contains("twice"));
}

#[test]
fn a_count_that_the_trace_of_its_attempt_contradicts_is_not_merged() {
    type Change = fn(&mut Record);
    let changes: [(&str, Change); 7] = [
        ("`n_steps` is 3, its steps in steps.jsonl give 2", |record| record.n_steps += 1),
        ("`accepted` is 3, its steps in steps.jsonl give 2", |record| record.accepted += 1),
        ("`emitted` is 3, its steps in steps.jsonl give 4", |record| record.emitted -= 1),
        ("`skipped_steps` is 1, its steps in steps.jsonl give 0", |record| record.skipped_steps += 1),
        ("`skipped_tokens` is 1, its steps in steps.jsonl give 0", |record| record.skipped_tokens += 1),
        ("`nfe` is 4, its steps in steps.jsonl give 3", |record| record.nfe = Some(4)),
        ("`n_draft_forwards` is 0, its steps in steps.jsonl give 2", |record| record.n_draft_forwards = 0),
    ];
    for (expected, change) in changes {
        let folder = tempfile::tempdir().unwrap();
        let (run, plan) = (fixture::new_run(folder.path()), fixture::plan());
        let mut records: Vec<Record> = plan.items.iter().map(fixture::record).collect();
        change(&mut records[3]);
        fixture::attempt(&run, 0, 0, &records);
        let said = merge(&run, &plan).unwrap_err().to_string();
        let place = format!("records.jsonl:4: {}: {expected}", records[3].key);
        assert!(said.contains(&place), "{place}: {said}");
        assert!(!run.merged_records().exists() && !run.merged_steps().exists());
    }
}

/// A row of times of an item, in the attempt and block 0 at this place.
fn time(item: &Item, order: u32) -> TimingRow {
    TimingRow {
        schema: SCHEMA,
        key: item.key.clone(),
        attempt: 0,
        block: 0,
        order,
        warmup: false,
        phases_ns: Phases::default(),
        decode_ns: 5,
        e2e_ns: 5,
        told_ns: None,
        batch: None,
    }
}

#[test]
fn times_that_are_not_in_the_order_of_the_work_are_not_merged() {
    let plan = fixture::plan();
    type Change = fn(&mut Vec<TimingRow>);
    let changes: [(&str, Change); 9] = [
        ("", |_| {}),
        ("", |rows| rows[2].block = 1),
        (":1: ", |rows| rows[0].order = 1),
        (":2: ", |rows| rows[1].order = 0),
        (":3: ar/naïve", |rows| rows[2].order = 3),
        (":2: ", |rows| rows[1].block = 1),
        (":3: ", |rows| (rows[1].block, rows[1].order) = (1, 0)),
        ("`attempt` is 1, in a file of attempt 0", |rows| rows[1].attempt = 1),
        ("it has two rows of times in one attempt", |rows| rows[1].key = rows[0].key.clone()),
    ];
    for (expected, change) in changes {
        let folder = tempfile::tempdir().unwrap();
        let run = fixture::new_run(folder.path());
        let records: Vec<Record> = plan.items.iter().map(fixture::record).collect();
        fixture::attempt(&run, 0, 0, &records);
        let mut rows: Vec<TimingRow> = (0..).zip(&plan.items[..3]).map(|(at, item)| time(item, at)).collect();
        if expected.is_empty() {
            (rows[2].block, rows[2].order) = (1, 0);
        }
        change(&mut rows);
        let mut times = Appender::create(&run.attempt_timing(0, 0), Durability::OnFinish).unwrap();
        rows.iter().for_each(|row| times.append(row).unwrap());
        times.finish().unwrap();
        match (expected, merge(&run, &plan)) {
            ("", merged) => drop(merged.unwrap()),
            (expected, merged) => {
                let said = merged.unwrap_err().to_string();
                let expected = expected.replace("ar/naïve", "ar/na%C3%AFve");
                assert!(said.contains("timing.jsonl:") && said.contains(&expected), "{expected}: {said}");
            }
        }
    }
}

#[test]
fn a_place_in_the_order_may_be_left_out_where_an_item_failed() {
    let folder = tempfile::tempdir().unwrap();
    let (run, plan) = (fixture::new_run(folder.path()), fixture::plan());
    let mut records: Vec<Record> = plan.items.iter().map(fixture::record).collect();
    records[1] = Record::failed(&plan.items[1], "no memory");
    fixture::attempt(&run, 0, 0, &records);
    let mut times = Appender::create(&run.attempt_timing(0, 0), Durability::OnFinish).unwrap();
    [(0, 0), (2, 2), (3, 3)]
        .iter()
        .for_each(|&(at, order)| times.append(&time(&plan.items[at], order)).unwrap());
    times.finish().unwrap();
    assert_eq!(merge(&run, &plan).unwrap().n_failed, 1);
}

#[test]
fn an_image_without_time_is_no_row() {
    let item = &fixture::plan().items[0];
    for (decode_ns, e2e_ns) in [(0, 5), (6, 5), (0, 0)] {
        let row = TimingRow { decode_ns, e2e_ns, ..time(item, 0) };
        let said = specimen_record::Document::check(&row).unwrap_err();
        assert!(said.contains(&format!("`decode_ns` is {decode_ns}, expected more than 0")), "{said}");
    }
}
