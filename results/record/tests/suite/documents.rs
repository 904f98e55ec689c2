//! Every document survives a round trip, and a value that is absent brings its reason.

use crate::fixture;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;
use specimen_record::{
    DatasetDigest, Digest, Document, Done, EnvironmentFlag, FileDigest, Git, Hardware, ImportedScores,
    ItemKey, Lease, Manifest, MetricFile, Phases, PlanFile, Reading, RunDir, Seal, Software, Summary,
    Timestamp, TimingRow, WeightsDigest, canonical_json, read_document, read_timings, verify_plan,
    write_document,
};

fn check_round_trip<T: Document + PartialEq + Debug>(document: &T) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("document.json");
    write_document(&path, document).unwrap();
    assert_eq!(&read_document::<T>(&path).unwrap(), document);
    assert!(std::fs::read_to_string(&path).unwrap().ends_with("}\n"));
}

fn manifest() -> Manifest {
    let digest = Digest::of(b"x");
    let moment = Timestamp::from(UNIX_EPOCH + Duration::from_secs(1_800_000_000));
    Manifest {
        schema: 1,
        name: "q".into(),
        argv: vec!["specimen".into(), "run".into()],
        spec: json!({"z": 1, "a": [1.5, null]}),
        spec_digest: digest.clone(),
        plan_digest: digest.clone(),
        git: Git { sha: None, dirty: Some(true) },
        weights: vec![WeightsDigest {
            name: "target".into(),
            file: "t.safetensors".into(),
            blake3: digest.clone(),
        }],
        weights_notes: vec!["another commit".into()],
        datasets: vec![DatasetDigest {
            name: "scenes-val".into(),
            digest: digest.clone(),
            n: 32,
            caption: Some("longest".into()),
            files: vec![FileDigest { file: "captions.json".into(), blake3: digest.clone() }],
        }],
        hardware: Hardware {
            cpu_model: "x".into(),
            cores: 2,
            cpu_features: vec!["avx512_bf16".into()],
            memory_mb: 4096,
            gpus: Vec::new(),
        },
        software: Software { specimen: "0.1.0".into(), libtorch: None, rustc: Some("1.95.0".into()) },
        dtype: "bf16".into(),
        device: "cpu".into(),
        threads: 1,
        environment: BTreeMap::from([
            ("OMP_NUM_THREADS".into(), EnvironmentFlag::Set),
            ("SPECIMEN_DATA".into(), EnvironmentFlag::Unset),
        ]),
        started: moment.clone(),
        sealed: Some(Seal {
            finished: moment,
            n_records: 6,
            result_digest: digest.clone(),
            files_digest: Some(digest),
        }),
    }
}

fn metric() -> MetricFile {
    MetricFile {
        schema: 1,
        protocol: "target-nll@v1".into(),
        cell: "ar".into(),
        metric: "target-nll".into(),
        value: Some(0.1 + 0.2),
        ci95: Some([f64::MIN_POSITIVE, 1e300]),
        n: 32,
        unit: "nat/token".into(),
        higher_is_better: Some(false),
        why: None,
        notes: vec!["all scores are equal".into()],
        extractor: None,
        per_item: Some(BTreeMap::from([(ItemKey::new("ar", "7", 0), 1.0 / 3.0)])),
        extra: BTreeMap::from([("bias".into(), -0.0)]),
        imported: None,
    }
}

const SUMMARY: &str = include_str!("summary.json");

fn summary() -> Summary {
    serde_json::from_str(SUMMARY).unwrap()
}

#[test]
fn a_cut_manifest_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("manifest.json");
    std::fs::write(&path, "{\"schema\": 1, \"na").unwrap();
    let said = specimen_record::read_document::<specimen_record::Manifest>(&path).unwrap_err().to_string();
    assert!(
        said.contains("manifest.json:1:") && said.contains("; bring the file back from a copy"),
        "{said}"
    );
}

#[test]
fn the_shape_that_scripts_rely_on_does_not_move() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("summary.json");
    write_document(&path, &summary()).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), SUMMARY);
}

#[test]
fn every_document_survives_a_round_trip() {
    let digest = Digest::of(b"x");
    check_round_trip(&metric());
    let files = vec![FileDigest { file: "results.jsonl".into(), blake3: digest.clone() }];
    let groups = Some(BTreeMap::from([("7".to_owned(), "counting".to_owned())]));
    check_round_trip(&MetricFile { imported: Some(ImportedScores { files, groups }), ..metric() });
    check_round_trip(&summary());
    check_round_trip(&Lease { schema: 1, shard: 3, attempt: 1, holder: "a".into() });
    check_round_trip(&Done {
        schema: 1,
        n_records: 3,
        records_digest: digest.clone(),
        images_digest: digest,
    });
    check_round_trip(&manifest());
}

#[test]
fn a_quantity_without_a_value_needs_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.json");
    let refused = |edit: fn(&mut Summary)| {
        let mut summary = summary();
        edit(&mut summary);
        write_document(&path, &summary).unwrap_err().to_string()
    };
    fn of<'s>(summary: &'s mut Summary, measure: &str) -> &'s mut Reading {
        summary.cells[0].measures.get_mut(measure).unwrap()
    }
    for (message, name) in [
        (refused(|s| of(s, "nfe").value = None), "nfe"),
        (refused(|s| *of(s, "tvd_spent") = Reading::absent(" ")), "tvd_spent"),
        (refused(|s| s.cells[0].metrics[1].why = None), "fid"),
    ] {
        let expected = format!("cell `ar`: `{name}` has neither a value nor a `why`");
        assert!(message.contains(&expected), "{message}");
    }
    // What no other tool computed has no trace of one: files of earlier versions are read and written as they were.
    let text = serde_json::to_string(&metric()).unwrap();
    assert!(!text.contains("imported"), "{text}");
    let nameless = MetricFile { value: None, ..metric() };
    assert!(write_document(&path, &nameless).is_err());
}

#[test]
fn a_nan_in_a_summary_is_refused_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let mut summary = summary();
    summary.cells[0].metrics[0].ci95 = Some([0.0, f64::NAN]);
    let message = write_document(&folder.path().join("s.json"), &summary).unwrap_err().to_string();
    assert!(message.contains("`cells[0].metrics[0].ci95[1]` is NaN"), "{message}");
}

#[test]
fn two_cells_of_one_name_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut summary = summary();
    summary.cells.push(summary.cells[0].clone());
    let message = write_document(&folder.path().join("s.json"), &summary).unwrap_err().to_string();
    assert!(message.contains("cell `ar` is there twice"), "{message}");
}

#[test]
fn a_cell_is_a_baseline_when_it_is_its_own() {
    let summary = summary();
    let mut cell = summary.cell("ar").unwrap().clone();
    assert!(cell.is_baseline());
    cell.baseline = None;
    assert!(!cell.is_baseline());
    cell.baseline = Some("another ar".into());
    assert!(!cell.is_baseline());
    assert_eq!(summary.cell("none of them"), None);
}

#[test]
fn timings_of_all_attempts_come_with_their_shard() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunDir::create(folder.path().join("run")).unwrap();
    let phases_ns = Phases {
        text_encode: 1,
        prefill: 2,
        draft: 3,
        schedule: 9,
        target: 4,
        verify: 5,
        update: 6,
        vq_decode: 7,
        save: 8,
    };
    let row = |attempt, warmup| TimingRow {
        schema: 1,
        key: ItemKey::new("ar", "1", 0),
        attempt,
        block: 0,
        order: 0,
        warmup,
        phases_ns,
        decode_ns: u64::MAX,
        e2e_ns: u64::MAX,
        told_ns: None,
        batch: None,
    };
    for (shard, attempt) in [(1, 0), (0, 10), (0, 2)] {
        let path = run.attempt_timing(shard, attempt);
        let mut out =
            specimen_record::Appender::create(&path, specimen_record::Durability::OnFinish).unwrap();
        out.append(&row(attempt, true)).unwrap();
        out.append(&row(attempt, false)).unwrap();
        out.finish().unwrap();
    }
    std::fs::create_dir_all(run.attempt(2, 0)).unwrap(); // An attempt that died at once.
    let timings = read_timings(&run).unwrap();
    let order: Vec<(u32, u32, bool)> =
        timings.rows.iter().map(|t| (t.shard, t.row.attempt, t.row.warmup)).collect();
    assert_eq!(
        order,
        [(0, 2, true), (0, 2, false), (0, 10, true), (0, 10, false), (1, 0, true), (1, 0, false)]
    );
    assert_eq!(timings.rows[5].row, row(0, false));
    assert!(timings.torn.is_empty());
}

#[test]
fn times_of_an_interrupted_block_count_only_until_it_is_timed_again() {
    use specimen_record::{Appender, Durability, MachineRow};
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::new_run(folder.path());
    let timing = |attempt, cell: &str, prompt: &str| TimingRow {
        schema: 1,
        key: ItemKey::new(cell, prompt, 0),
        attempt,
        block: 3,
        order: 0,
        warmup: false,
        phases_ns: Phases::default(),
        decode_ns: 1,
        e2e_ns: 1,
        told_ns: None,
        batch: None,
    };
    let write = |attempt, items: &[(&str, &str)], is_ended: bool| {
        let mut out = Appender::create(&run.attempt_timing(0, attempt), Durability::OnFinish).unwrap();
        items.iter().for_each(|(cell, prompt)| out.append(&timing(attempt, cell, prompt)).unwrap());
        out.finish().unwrap();
        let mut out = Appender::create(&run.attempt_machine(0, attempt), Durability::OnFinish).unwrap();
        if is_ended {
            let (load_average, cpu_mhz, busy) = (None, None, None);
            let row = MachineRow {
                schema: 1,
                block: 3,
                seconds: 1.0,
                load_average,
                cpu_mhz,
                busy,
                own: None,
                others: None,
            };
            out.append(&row).unwrap();
        }
        out.finish().unwrap();
    };
    let attempts = || -> Vec<(u32, String)> {
        read_timings(&run).unwrap().rows.into_iter().map(|t| (t.row.attempt, t.row.key.to_string())).collect()
    };
    let named = |attempt, items: &[(&str, &str)]| -> Vec<(u32, String)> {
        items.iter().map(|(cell, prompt)| (attempt, ItemKey::new(cell, prompt, 0).to_string())).collect()
    };
    // Interrupted: all that is known.
    write(0, &[("ar", "1"), ("sjd", "1"), ("untimed", "1")], false);
    assert_eq!(attempts(), named(0, &[("ar", "1"), ("sjd", "1"), ("untimed", "1")]));
    // Timed again as a whole; what was not timed again stays.
    write(1, &[("ar", "1"), ("sjd", "1"), ("ar", "2"), ("sjd", "2")], true);
    let mut expected = named(0, &[("untimed", "1")]);
    expected.extend(named(1, &[("ar", "1"), ("sjd", "1"), ("ar", "2"), ("sjd", "2")]));
    assert_eq!(attempts(), expected);
    // A run that grew times the block in one more attempt: both count.
    write(2, &[("ar", "1"), ("sjd", "1"), ("gsd", "1")], true);
    expected.extend(named(2, &[("ar", "1"), ("sjd", "1"), ("gsd", "1")]));
    assert_eq!(attempts(), expected);
}

#[test]
fn digests_and_seeds_have_one_spelling() {
    assert_eq!(Digest::of(b"").as_str(), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
    assert_eq!(Digest::of_tokens(&[1, 258]), Digest::of(&[1, 0, 0, 0, 2, 1, 0, 0]));
    for text in ["", "AF1349", &Digest::of(b"").as_str().to_uppercase()] {
        assert!(text.parse::<Digest>().is_err(), "{text}");
    }
    let seed = specimen_record::Seed(0x0123_4567_89ab_cdef);
    assert_eq!(serde_json::to_string(&seed).unwrap(), "\"0123456789abcdef\"");
    assert_eq!("0123456789abcdef".parse(), Ok(seed));
    for text in ["", "1", "0123456789ABCDEF", "+123456789abcdef", "0123456789abcdef0"] {
        assert!(text.parse::<specimen_record::Seed>().is_err(), "{text}");
    }
}

#[test]
fn a_plan_is_checked_against_the_manifest_it_was_made_with() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::new_run(folder.path());
    let plan = fixture::plan();
    let spec = fixture::spec();
    let spec_digest = Digest::of(canonical_json(&spec).as_bytes());
    let good = Manifest { spec, spec_digest, plan_digest: plan.digest.clone(), ..manifest() };
    write_document(&run.plan(), &plan).unwrap();
    write_document(&run.manifest(), &good).unwrap();
    assert_eq!(verify_plan(&run).unwrap(), plan);

    let other = Digest::of(b"other");
    let refused = |manifest: &Manifest, plan: &PlanFile| {
        write_document(&run.manifest(), manifest).unwrap();
        write_document(&run.plan(), plan).unwrap();
        verify_plan(&run).unwrap_err().to_string()
    };
    let changed = PlanFile { digest: other.clone(), ..plan.clone() };
    assert!(refused(&good, &changed).contains("plan.json: the plan: the digest is"));
    let spec = json!({"name": "edited"});
    assert!(
        refused(&Manifest { spec, ..good.clone() }, &plan).contains("manifest.json: the spec: the digest is")
    );
    assert!(
        refused(&Manifest { plan_digest: other, ..good.clone() }, &plan)
            .contains("the plan of this manifest")
    );
}
