//! What is said of the machine and of the quality of times fits itself, or is refused.

use crate::fixture;

use specimen_record::{
    Appender, CellTimingQuality, Durability, ItemKey, MOST_OUTLIERS, MachineRow, OtherStep, PlainStep,
    Summary, TimingQuality, read_document, read_rows, write_document,
};

fn row() -> MachineRow {
    MachineRow {
        schema: 1,
        block: 3,
        seconds: 12.5,
        load_average: Some([1.0, 0.5, 0.25]),
        cpu_mhz: Some(2596.132),
        busy: Some(0.75),
        own: Some(0.5),
        others: Some(0.25),
    }
}

#[test]
fn machine_rows_come_back_and_shares_lie_between_0_and_1() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::new_run(folder.path());
    let mut out = Appender::create(&run.attempt_machine(0, 2), Durability::OnFinish).unwrap();
    out.append(&row()).unwrap();
    for (wrong, reason) in [
        (MachineRow { busy: Some(1.5), ..row() }, "`busy` is 1.5"),
        (MachineRow { own: Some(-0.1), ..row() }, "`own` is -0.1"),
        (MachineRow { others: Some(f64::NAN), ..row() }, "`others` is NaN"),
        (MachineRow { seconds: -1.0, ..row() }, "before the attempt began"),
    ] {
        let message = out.append(&wrong).unwrap_err().to_string();
        assert!(message.contains(reason), "{message}");
    }
    out.finish().unwrap();
    let path = run.attempt_machine(0, 2);
    assert!(path.ends_with("shards/0/attempts/2/machine.jsonl"));
    assert_eq!(read_rows::<MachineRow>(&path).unwrap().rows, [row()]);
}

fn summary() -> Summary {
    serde_json::from_str(include_str!("summary.json")).unwrap()
}

#[test]
fn the_quality_of_times_survives_a_round_trip_or_is_absent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("summary.json");
    let mut with = summary();
    let why = [(specimen_record::TimingQuantity::OthersBusyMean, "the system does not report it".to_owned())]
        .into();
    with.timing_quality = Some(TimingQuality {
        drift: Some(1.02),
        short_sessions: None,
        others_busy_mean: None,
        plain_steps: Vec::new(),
        why,
    });
    with.cells[0].timing_quality =
        Some(CellTimingQuality { n_timed: 100, n_outliers: 1, outliers: vec![ItemKey::new("ar", "7", 0)] });
    write_document(&path, &with).unwrap();
    assert_eq!(read_document::<Summary>(&path).unwrap(), with);
    write_document(&path, &summary()).unwrap();
    assert!(!std::fs::read_to_string(&path).unwrap().contains("timing_quality"));
}

#[test]
fn a_quality_that_contradicts_itself_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("summary.json");
    let key = |n: usize| ItemKey::new("ar", &n.to_string(), 0);
    let keys = |n: usize| (0..n).map(key).collect::<Vec<_>>();
    for (n_timed, n_outliers, n_named, fits) in [
        (100, 0, 0, true),
        (100, 3, 3, true),
        (100, 30, MOST_OUTLIERS, true),
        (2, 3, 3, false),
        (100, 3, 2, false),
        (100, 30, MOST_OUTLIERS + 1, false),
    ] {
        let mut summary = summary();
        let outliers = keys(n_named);
        summary.cells[0].timing_quality = Some(CellTimingQuality { n_timed, n_outliers, outliers });
        assert_eq!(write_document(&path, &summary).is_ok(), fits, "{n_timed} {n_outliers} {n_named}");
    }
    let mut summary = summary();
    summary.timing_quality = Some(TimingQuality {
        drift: None,
        short_sessions: None,
        others_busy_mean: Some(0.0),
        plain_steps: Vec::new(),
        why: [].into(),
    });
    let message = write_document(&path, &summary).unwrap_err().to_string();
    assert!(message.contains("timing_quality: `drift` has neither a value nor a `why`"), "{message}");
}

#[test]
fn a_baseline_that_is_slow_here_says_over_what() {
    let step = |bound_s: Option<f64>, other_s: Option<f64>| PlainStep {
        cell: "ar".to_owned(),
        model: "tiny".to_owned(),
        dtype: "bf16".to_owned(),
        step_s: 0.01,
        bound_s,
        other: Some(OtherStep {
            dtype: "f32".to_owned(),
            step_s: other_s,
            why: other_s.is_none().then(|| "no room".to_owned()),
        }),
    };
    let slow = ": speedups are over a slow baseline";
    for (bound, other, warning) in [
        (None, None, None),
        (Some(0.005), Some(0.0092), None),
        (None, Some(0.0043), Some(format!("ar runs at 43 % of what f32 reaches here{slow}"))),
        (Some(0.0049), Some(0.02), Some(format!("ar runs at 49 % of what memory bandwidth allows{slow}"))),
        (
            Some(0.001),
            Some(0.005),
            Some(format!(
                "ar runs at 50 % of what f32 reaches here, and at 10 % of what memory bandwidth allows{slow}"
            )),
        ),
    ] {
        assert_eq!(step(bound, other).warning(), warning);
    }
    let words = step(Some(0.004), Some(0.005)).words();
    let expected =
        "a plain step of tiny in bf16 takes 10.000 ms, 5.000 ms in f32, 40 % of what memory bandwidth allows";
    assert_eq!(words, expected);
    assert!(step(None, None).words().ends_with(", in f32 not timed (no room)"));
    let folder = tempfile::tempdir().unwrap();
    let mut summary = summary();
    summary.timing_quality = Some(TimingQuality {
        drift: Some(1.0),
        short_sessions: None,
        others_busy_mean: Some(0.0),
        plain_steps: vec![step(None, Some(0.0))],
        why: [].into(),
    });
    let message = write_document(&folder.path().join("s.json"), &summary).unwrap_err().to_string();
    assert!(message.contains("ar: a plain step of 0 seconds"), "{message}");
}

#[test]
fn a_drift_is_told_with_its_direction() {
    let said = |drift: Option<f64>| {
        TimingQuality {
            drift,
            short_sessions: None,
            others_busy_mean: None,
            plain_steps: Vec::new(),
            why: [].into(),
        }
        .drift_in_words("the baseline's")
        .unwrap_or_default()
    };
    assert!(said(Some(0.981)).starts_with("the baseline's median time fell by 1.9 % from the first"));
    assert!(said(Some(1.27)).starts_with("the baseline's median time rose by 27.0 % from the first"));
    assert!(said(Some(1.0001)).starts_with("the baseline's median time did not change"));
    assert_eq!(said(None), "");
    let of_several = TimingQuality {
        drift: Some(1.0),
        short_sessions: Some(2),
        others_busy_mean: None,
        plain_steps: Vec::new(),
        why: [].into(),
    };
    let words = of_several.drift_in_words("the baseline's").unwrap();
    assert!(
        words.ends_with("moved most (of 2 sessions of fewer than three blocks it is not known)"),
        "{words}"
    );
}
