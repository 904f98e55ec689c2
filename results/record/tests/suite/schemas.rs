//! The published schemas are those of the types, and what the program writes is valid under them.

use crate::fixture;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use fixture::old_run::old_run;
use serde::Serialize;
use serde_json::{Value, json};
use specimen_record::{
    Allocation, CellTimingQuality, Checksums, Document, Done, Environment, ItemKey, Lease, MachineRow,
    Manifest, MetricFile, ModelSteps, PlanFile, Record, StepKind, Submissions, SubmittedArray, Summary,
    TimingQuality, TimingRow, WorkerEnd, read_document, read_rows, read_timings, schemas,
};

fn schema(file: &str) -> Value {
    schemas().into_iter().find(|published| published.file == file).unwrap().schema
}

/// The complaints of a validator, in words.
fn complaints(file: &str, document: &Value) -> Vec<String> {
    let validator = jsonschema::draft202012::new(&schema(file)).unwrap();
    validator.iter_errors(document).map(|error| error.to_string()).collect()
}

fn check_valid(file: &str, document: &impl Serialize) {
    let document = serde_json::to_value(document).unwrap();
    assert_eq!(complaints(file, &document), [""; 0], "{file}: {document}");
    let refused = |edit: &dyn Fn(&mut Value)| {
        let mut edited = document.clone();
        edit(&mut edited);
        assert_ne!(complaints(file, &edited), [""; 0], "{file}: {edited}");
    };
    refused(&|d| d["schema"] = json!(specimen_record::SUMMARY_SCHEMA + 1));
    refused(&|d| d["novel"] = json!(1));
    refused(&|d| {
        d.as_object_mut().unwrap().remove("schema");
    });
}

#[test]
fn the_committed_schemas_are_those_of_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema");
    let how = "run `cargo run --release -p specimen-record --example publish_schemas`";
    let mut expected = BTreeSet::new();
    for published in schemas() {
        let text = fs::read_to_string(folder.join(published.file)).unwrap_or_default();
        let made = serde_json::to_string_pretty(&published.schema).unwrap() + "\n";
        assert_eq!(text, made, "{} is out of date; {how}", published.file);
        expected.insert(published.file.to_owned());
    }
    let listed = fs::read_dir(&folder).unwrap();
    let found: BTreeSet<String> = listed.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(found, expected);
}

#[test]
fn what_is_written_is_valid_under_its_schema() {
    let run = old_run();
    check_valid("manifest.schema.json", &read_document::<Manifest>(&run.manifest()).unwrap());
    check_valid("plan.schema.json", &read_document::<PlanFile>(&run.plan()).unwrap());
    check_valid("plan.schema.json", &fixture::plan());
    check_valid("checksums.schema.json", &Checksums::of_run(&run).unwrap());
    check_valid("lease.schema.json", &read_document::<Lease>(&run.lease(0)).unwrap());
    check_valid("done.schema.json", &read_document::<Done>(&run.done(0)).unwrap());
    check_valid("env.schema.json", &read_document::<Environment>(&run.attempt_env(0, 0)).unwrap());
    for record in read_rows::<Record>(&run.merged_records()).unwrap().rows {
        check_valid("record.schema.json", &record);
    }
    for item in &fixture::plan().items {
        check_valid("record.schema.json", &fixture::record(item));
        check_valid("record.schema.json", &Record::failed(item, "out of memory"));
        check_valid("steps.schema.json", &fixture::steps(item));
    }
    let timings: Vec<TimingRow> =
        read_timings(&run).unwrap().rows.into_iter().map(|timed| timed.row).collect();
    check_valid("timing.schema.json", &timings[0]);
    let idle = MachineRow {
        schema: 1,
        block: 0,
        seconds: 0.5,
        load_average: None,
        cpu_mhz: None,
        busy: None,
        own: None,
        others: None,
    };
    check_valid("machine.schema.json", &idle);
    check_valid("machine.schema.json", &MachineRow { load_average: Some([1.0; 3]), busy: Some(1.0), ..idle });
    let environment: Environment = read_document(&run.attempt_env(0, 0)).unwrap();
    let allocation =
        Allocation { job: 7, n_restarts: 1, cores: Some(4), gpus: Some("0".to_owned()), neighbours: None };
    let gpus = Some(vec!["cuda:0 (NVIDIA H200)".to_owned()]);
    let steps = ModelSteps {
        model: "tiny".to_owned(),
        dtype: "bf16".to_owned(),
        device: "cuda:0".to_owned(),
        ran: StepKind::Graphs,
        n_captured: 3,
        n_refused: 0,
        n_while_timed: 1,
        ns_while_timed: 2_000_000,
    };
    let steps = Some(vec![steps]);
    check_valid("env.schema.json", &Environment { gpus, steps, allocation: Some(allocation), ..environment });
    let end = WorkerEnd { schema: 1, job: None, code: 75, why: "interrupted".to_owned() };
    check_valid("end.schema.json", &end);
    check_valid("end.schema.json", &WorkerEnd { job: Some(12), ..end });
    check_valid("submissions.schema.json", &submissions());
    for path in run.metric_files().unwrap() {
        check_valid("metric.schema.json", &read_document::<MetricFile>(&path).unwrap());
    }
    let rows = |n: u32| specimen_record::FeatureRows {
        key: ItemKey::new("ar", "1", 0),
        n_rows: n,
        n_cols: 1,
        neighbours: Some(0.68),
        between: vec![1.0; (n * n) as usize],
        last_row: vec![1.0],
    };
    let diagnostic = specimen_record::DiagnosticFile {
        feature_rows: vec![rows(2)],
        ..specimen_record::DiagnosticFile::new("feature-rows", "ar")
    };
    check_valid("diagnostic.schema.json", &diagnostic);
    assert_eq!(diagnostic.check(), Ok(()));
    let torn = specimen_record::FeatureRows { n_rows: 3, ..rows(2) };
    assert!(
        specimen_record::DiagnosticFile { feature_rows: vec![torn], ..diagnostic.clone() }.check().is_err()
    );
    assert!(specimen_record::DiagnosticFile { feature_rows: vec![], ..diagnostic }.check().is_err());
    let mut summary: Summary = serde_json::from_str(include_str!("summary.json")).unwrap();
    check_valid("summary.schema.json", &summary);
    let why = [(specimen_record::TimingQuantity::Drift, "one block".to_owned())].into();
    summary.timing_quality = Some(TimingQuality {
        drift: None,
        short_sessions: None,
        others_busy_mean: Some(0.1),
        plain_steps: Vec::new(),
        why,
    });
    let outliers = vec![ItemKey::new("ar", "", 0)];
    summary.cells[0].timing_quality = Some(CellTimingQuality { n_timed: 2, n_outliers: 1, outliers });
    check_valid("summary.schema.json", &summary);
}

/// One array that owes two of five shards.
fn submissions() -> Submissions {
    let array = SubmittedArray {
        job: 12,
        submitted: "2026-11-22T01:00:00Z".parse().unwrap(),
        first_shard: 3,
        owed: [(3, 2), (4, 1)].into(),
    };
    Submissions {
        schema: 1,
        run_id: "0a1b2c3d".to_owned(),
        timed: 4,
        untimed: 1,
        arrays: vec![array],
        bad_ends: [(1, 2)].into(),
        given_up: [(0, "ran out of memory".to_owned())].into(),
        deaths: [(ItemKey::new("ar", "3", 0), 1)].into(),
    }
}

#[test]
fn submissions_that_contradict_themselves_are_refused() {
    let reported = |edit: &dyn Fn(&mut Submissions)| {
        let mut list = submissions();
        edit(&mut list);
        list.check().unwrap_err()
    };
    assert_eq!(submissions().check(), Ok(()));
    assert!(reported(&|list| list.run_id = "0a1b".to_owned()).contains("eight hex digits"));
    assert!(reported(&|list| list.untimed = 0).contains("owes shard 4"));
    assert!(reported(&|list| list.arrays[0].first_shard = 4).contains("owes shard 3"));
    assert!(
        reported(&|list| {
            let twice = list.arrays[0].clone();
            list.arrays.push(twice);
        })
        .contains("two arrays owe shard 3")
    );
}

#[test]
fn files_on_disk_are_valid_under_the_schema_of_their_place() {
    let run = old_run();
    for (file, path) in [
        ("manifest.schema.json", run.manifest()),
        ("plan.schema.json", run.plan()),
        ("done.schema.json", run.done(0)),
        ("env.schema.json", run.attempt_env(0, 0)),
    ] {
        let document: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        assert_eq!(complaints(file, &document), [""; 0], "{file}");
    }
}

#[test]
fn keys_digests_and_seeds_have_their_patterns() {
    let record = serde_json::to_value(fixture::record(&fixture::plan().items[0])).unwrap();
    for (field, value) in [
        ("key", json!("ar/x")),
        ("key", json!("ar/x/01")),
        ("tokens_digest", json!("AF13")),
        ("seed", json!("1")),
        ("seed", json!(1)),
        ("status", json!("fine")),
        ("n_tokens", json!(-1)),
    ] {
        let mut edited = record.clone();
        edited[field] = value;
        assert_ne!(complaints("record.schema.json", &edited), [""; 0], "{field}");
    }
}
