//! Rows and documents survive a crash, refuse what they do not know, and say where an error lies.

use crate::fixture;

use std::fs;
use std::io::Write;

use specimen_record::{
    Appender, Durability, Record, RecordError, RunDir, StepsRow, encode_part, read_bounded, read_document,
    read_rows, write_document,
};

#[test]
fn rows_come_back_as_they_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/records.jsonl");
    let records: Vec<Record> = fixture::plan().items.iter().map(fixture::record).collect();
    let mut out = Appender::create(&path, Durability::EachRow).unwrap();
    for record in &records {
        out.append(record).unwrap();
    }
    out.finish().unwrap();
    let read = read_rows::<Record>(&path).unwrap();
    assert_eq!((read.rows, read.torn), (records, None));
}

#[test]
fn a_torn_last_line_is_dropped_and_reported_wherever_it_was_torn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("steps.jsonl");
    let plan = fixture::plan();
    let mut out = Appender::create(&path, Durability::OnFinish).unwrap();
    for item in &plan.items[..2] {
        out.append(&fixture::steps(item)).unwrap();
    }
    out.finish().unwrap();
    let whole = fs::read(&path).unwrap();
    let first = whole.iter().position(|&b| b == b'\n').unwrap() + 1;
    for end in first..=whole.len() {
        fs::write(&path, &whole[..end]).unwrap();
        let read = read_rows::<StepsRow>(&path).unwrap();
        if end == first || end == whole.len() {
            assert_eq!((read.rows.len(), read.torn), (1 + usize::from(end > first), None));
            continue;
        }
        assert_eq!(read.rows, [fixture::steps(&plan.items[0])]);
        let torn = read.torn.unwrap();
        assert_eq!((torn.line, torn.n_bytes), (2, end - first));
        assert!(torn.to_string().contains("steps.jsonl:2: dropped"), "{torn}");
    }
}

#[test]
fn a_bad_line_in_the_middle_is_an_error_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("steps.jsonl");
    let good = r#"{"schema":1,"key":"ar/a/0","steps":[]}"#;
    for (bad, column, reason) in [
        (r#"{"schema":1,"key":"ar/a/0","steps":[}"#, 37, "expected value"),
        (r#"{"schema":1,"key":"ar//0","steps":[]}"#, 25, "prompt id is not in canonical"),
        (r#"{"schema":1,"key":"ar/a/0","steps":[],"more":1}"#, 44, "unknown key `more`"),
        (r#"{"schema":1,"key":"ar/a/0"}"#, 27, "`steps` is missing"),
        ("", 0, "EOF while parsing"),
    ] {
        fs::write(&path, format!("{good}\n{bad}\n{good}\n")).unwrap();
        let error = read_rows::<StepsRow>(&path).unwrap_err();
        let message = error.to_string();
        let RecordError::Syntax { line, column: found, .. } = error else { panic!("{message}") };
        assert_eq!((line, found), (2, column), "{message}");
        assert!(message.contains(reason) && !message.contains("at line"), "{message}");
        assert!(message.contains(&format!("steps.jsonl:2:{column}: not a valid steps row")), "{message}");
    }
}

#[test]
fn a_row_and_a_document_beyond_their_bounds_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.jsonl");
    // A file of zeros, which is one row without an end.
    fs::File::create(&path).unwrap().set_len((64 << 20) + 2).unwrap();
    let message = read_rows::<StepsRow>(&path).unwrap_err().to_string();
    assert!(message.contains("a row of more than 67108864 bytes, which no run has"), "{message}");
    assert!(
        read_bounded(&path, 1 << 20).unwrap_err().to_string().contains("a file of more than 1048576 bytes")
    );
    let message = read_bounded(std::path::Path::new("/dev/zero"), 1 << 20).unwrap_err().to_string();
    assert!(message.contains("/dev/zero: cannot read: it is a device"), "{message}");
}

#[test]
fn a_newer_schema_is_refused_whatever_else_it_brings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("steps.jsonl");
    for row in [r#"{"schema":2,"key":"ar/a/0","steps":[]}"#, r#"{"schema":2,"novel":{"steps":7}}"#] {
        fs::write(&path, format!("{row}\n")).unwrap();
        let error = read_rows::<StepsRow>(&path).unwrap_err();
        assert!(matches!(error, RecordError::NewerSchema { line: 1, found: 2, supported: 1, .. }), "{error}");
        assert!(error.to_string().contains("a newer one"), "{error}");
    }
    fs::write(&path, "{\"schema\":0,\"key\":\"ar/a/0\",\"steps\":[]}\n").unwrap();
    assert!(read_rows::<StepsRow>(&path).unwrap_err().to_string().contains("schema 0"));
}

#[test]
fn a_row_that_contradicts_itself_is_neither_written_nor_read() {
    let folder = tempfile::tempdir().unwrap();
    let item = &fixture::plan().items[0];
    let good = fixture::record(item);
    let cases = [
        (Record { err: Some("x".into()), ..good.clone() }, "`err` must be there exactly when"),
        (Record { n_tokens: 5, ..good.clone() }, "n_tokens is 5, 4 tokens follow"),
        (Record { tokens: vec![1, 2, 3, 4], ..good.clone() }, "tokens_digest is not"),
        (Record { image_digest: None, ..good.clone() }, "come together"),
        (Record { sample: 1, ..good.clone() }, "does not fit its cell"),
        (Record { accepted_by_depth: vec![3, 1], ..good.clone() }, "accepted_by_depth"),
        (Record { image: good.image.clone(), ..Record::failed(item, "x") }, "has no image"),
        (Record { schema: 2, ..good.clone() }, "its schema is 2"),
    ];
    for (at, (record, reason)) in cases.into_iter().enumerate() {
        let path = folder.path().join(format!("{at}.jsonl"));
        let mut out = Appender::create(&path, Durability::OnFinish).unwrap();
        let error = out.append(&record).unwrap_err().to_string();
        assert!(error.contains("refusing to write a record") && error.contains(reason), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"");
        if record.schema == 1 {
            fs::write(&path, format!("{}\n", serde_json::to_string(&record).unwrap())).unwrap();
            let error = read_rows::<Record>(&path).unwrap_err().to_string();
            assert!(error.contains(".jsonl:1: not a valid record") && error.contains(reason), "{error}");
        }
    }
}

#[test]
fn a_nan_is_never_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut record = fixture::record(&fixture::plan().items[0]);
    record.tvd_spent = f64::NAN;
    let path = folder.path().join("records.jsonl");
    let mut out = Appender::create(&path, Durability::OnFinish).unwrap();
    let error = out.append(&record).unwrap_err().to_string();
    assert!(error.contains("`tvd_spent` is NaN"), "{error}");
    record.tvd_spent = 0.5;
    out.append(&record).unwrap();
    assert_eq!(read_rows::<Record>(&path).unwrap().rows, [record]);
}

#[test]
fn an_attempt_never_appends_to_the_file_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.jsonl");
    Appender::<Record>::create(&path, Durability::OnFinish).unwrap().finish().unwrap();
    let error = Appender::<Record>::create(&path, Durability::OnFinish).unwrap_err();
    assert!(error.to_string().contains("records.jsonl: cannot make the file"), "{error}");
}

#[test]
fn a_refused_document_leaves_the_old_file_whole_and_no_other_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.json");
    let plan = fixture::plan();
    write_document(&path, &plan).unwrap();
    let mut worse = plan.clone();
    worse.items[1] = worse.items[0].clone();
    assert!(write_document(&path, &worse).unwrap_err().to_string().contains("is there twice"));
    assert_eq!(read_document::<specimen_record::PlanFile>(&path).unwrap(), plan);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_document_names_the_line_and_column_of_its_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.json");
    write_document(&path, &fixture::plan()).unwrap();
    let text = fs::read_to_string(&path).unwrap().replacen("\"sample\": 0", "\"sample\": -1", 1);
    let line = text.lines().position(|l| l.contains("-1")).unwrap() + 1;
    fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
    let message = read_document::<specimen_record::PlanFile>(&path).unwrap_err().to_string();
    assert!(message.contains(&format!("plan.json:{line}:")), "{message}");
}

#[test]
fn no_path_of_a_run_leaves_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::new_run(folder.path());
    let path = run.metrics("fid@../..", "/etc/passwd");
    assert_eq!(path, run.metrics_dir().join("fid%40..%2F..").join("%2Fetc%2Fpasswd.json"));
    assert_eq!(encode_part(".."), "%2E.");
    for name in ["", "../x.png", "/x.png", "a/../../x.png", "./x.png"] {
        let refused = run.image(0, name).unwrap_err().to_string();
        assert!(refused.contains("is not a plain relative path"), "{refused}");
    }
    assert_eq!(run.image(3, "ar/x.png").unwrap(), run.images_dir(3).join("ar/x.png"));
}

#[test]
fn a_run_is_made_once_and_opened_only_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::new_run(folder.path());
    assert!(RunDir::open(run.root()).unwrap_err().to_string().contains("not a run directory"));
    let nowhere = RunDir::open(folder.path().join("nowhere")).unwrap_err().to_string();
    assert!(nowhere.contains("no such folder"), "{nowhere}");
    fs::write(run.manifest(), "{}").unwrap();
    assert_eq!(RunDir::open(run.root()).unwrap(), run);
    let error = RunDir::create(run.root()).unwrap_err().to_string();
    assert!(error.contains("a run is here already (manifest.json)"), "{error}");
}

#[test]
fn shards_and_attempts_are_listed_as_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::new_run(folder.path());
    assert!(run.shards().unwrap().is_empty());
    for (k, n) in [(10, 0), (9, 2), (9, 11), (0, 1)] {
        fs::create_dir_all(run.attempt(k, n)).unwrap();
    }
    fs::create_dir_all(run.shards_dir().join("007")).unwrap();
    fs::write(run.shards_dir().join("5"), "a file").unwrap();
    assert_eq!(run.shards().unwrap(), [0, 9, 10]);
    assert_eq!(run.attempts(9).unwrap(), [2, 11]);
}

#[test]
fn forwards_that_are_not_reported_are_0_on_disk_and_absent_in_memory() {
    let known = fixture::record(&fixture::plan().items[0]);
    let unknown = Record { nfe: None, ..known.clone() };
    for (record, on_disk) in [(known, 3), (unknown, 0)] {
        let row = serde_json::to_value(&record).unwrap();
        assert_eq!(row["nfe"], on_disk);
        assert_eq!(serde_json::from_value::<Record>(row).unwrap().nfe, record.nfe);
    }
}
