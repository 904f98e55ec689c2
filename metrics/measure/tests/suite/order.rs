//! The same digits whatever the order of files, the number of decoding threads, the cut into passes, and the kind of
//! source. The network is a stand-in whose row depends on nothing but its picture; a real one may move in its last digits
//! with the size of a pass, which is why that is part of the cache's key.

use std::path::Path;

use specimen_measure::images::{BATCH, Event};
use specimen_measure::meter::{Meter, Settings};
use specimen_measure::metrics::fid::fid;
use specimen_measure::metrics::kid::kid;
use specimen_measure::protocol::Protocol;
use specimen_stats::npy_write::{Values, write_npy};

use crate::stand_in::{StandIns, folder_of, names, pictures};

fn settings(batch: usize) -> Settings {
    Settings { cache: None, keep_going: false, interval: false, batch }
}

/// FID and KID between two sources, to the last digit.
fn values(real: &Path, generated: &Path, batch: usize) -> [f64; 2] {
    let networks = StandIns::default();
    let mut meter = Meter::with(Protocol::named("pytorch-fid").unwrap(), &networks, settings(batch));
    [fid(&mut meter, real, generated).unwrap().value, kid(&mut meter, real, generated).unwrap().value]
}

#[test]
fn a_set_is_at_distance_zero_from_itself() {
    let root = tempfile::tempdir().unwrap();
    let folder = folder_of(root.path(), "real", 40);
    let networks = StandIns::default();
    let mut meter = Meter::new(Protocol::named("clean").unwrap(), &networks);
    let measured = fid(&mut meter, &folder, &folder).unwrap();
    // Of the traces only rounding may be left.
    assert!(measured.value < 1e-9, "{}", measured.value);
    assert_eq!(measured.details["mean_term"], 0.0);
    assert_eq!(measured.n, [Some(40), Some(40)]);
}

#[test]
fn threads_and_the_cut_into_passes_change_no_digit() {
    let root = tempfile::tempdir().unwrap();
    let (real, generated) = (folder_of(root.path(), "real", 37), folder_of(root.path(), "generated", 23));
    let expected = values(&real, &generated, BATCH);
    for batch in [1, 5, 64] {
        assert_eq!(values(&real, &generated, batch), expected, "{batch} in a pass");
    }
    for n_threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        assert_eq!(pool.install(|| values(&real, &generated, BATCH)), expected, "{n_threads} threads");
    }
}

#[test]
fn the_order_of_files_and_lines_changes_no_digit() {
    let root = tempfile::tempdir().unwrap();
    let (real, generated) = (folder_of(root.path(), "real", 21), folder_of(root.path(), "generated", 21));
    let expected = values(&real, &generated, BATCH);
    let mut listed = names("real_", 21);
    listed.reverse();
    let lines: Vec<String> = listed.iter().map(|name| format!("real/{name}")).collect();
    std::fs::write(root.path().join("real.txt"), lines.join("\n")).unwrap();
    assert_eq!(values(&root.path().join("real.txt"), &generated, BATCH), expected);
    // Written in the reverse order, a folder may list them so.
    let reversed: Vec<&str> = listed.iter().map(String::as_str).collect();
    let copy = pictures(&root.path().join("copy"), &reversed);
    assert_eq!(values(&copy, &generated, BATCH), expected);
}

#[test]
fn progress_reaches_the_number_of_pictures_and_never_goes_back() {
    let root = tempfile::tempdir().unwrap();
    let folder = folder_of(root.path(), "real", 50);
    let networks = StandIns::default();
    let mut seen = Vec::new();
    {
        let mut meter = Meter::new(Protocol::named("clean").unwrap(), &networks);
        meter.listen(|_, event| {
            if let Event::Done { n_done, n_kept, n_left_out, n_all } = event {
                assert_eq!((n_kept, n_left_out), (0, 0));
                seen.push((n_done, n_all));
            }
        });
        meter.rows(&folder, "kid").unwrap();
        assert_eq!(meter.n_forward(), 50);
    }
    assert!(seen.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    assert_eq!(seen.last(), Some(&(50, 50)));
    assert_eq!(networks.passes(), 50_usize.div_ceil(BATCH));
}

#[test]
fn a_broken_picture_is_left_out_and_not_kept_from_before() {
    let root = tempfile::tempdir().unwrap();
    let folder = folder_of(root.path(), "real", 20);
    for broken in ["real_0003.ppm", "real_0017.ppm"] {
        std::fs::write(folder.join(broken), "P6 no picture").unwrap();
    }
    let cache = root.path().join("cache");
    let networks = StandIns::default();
    // What is there after the last picture: of 20 done, how many were kept and left out.
    let reported = |cache: Option<&Path>| {
        let mut last = None;
        {
            let keep_going = Settings { keep_going: true, cache: cache.map(Path::to_owned), ..settings(4) };
            let mut meter = Meter::with(Protocol::named("clean").unwrap(), &networks, keep_going);
            meter.listen(|_, event| {
                if let Event::Done { n_done, n_kept, n_left_out, .. } = event {
                    last = Some((n_done, n_kept, n_left_out));
                }
            });
            meter.rows(&folder, "kid").unwrap();
        }
        last.unwrap()
    };
    assert_eq!(reported(None), (20, 0, 2));
    assert_eq!(reported(Some(&cache)), (20, 0, 2));
    assert_eq!(reported(Some(&cache)), (20, 18, 2));
}

#[test]
fn where_nothing_is_left_every_broken_picture_is_still_listed() {
    let root = tempfile::tempdir().unwrap();
    let folder = folder_of(root.path(), "real", 3);
    for at in 0..3 {
        std::fs::write(folder.join(format!("real_{at:04}.ppm")), "P6 no picture").unwrap();
    }
    let networks = StandIns::default();
    let keep_going = Settings { keep_going: true, ..settings(4) };
    let mut meter = Meter::with(Protocol::named("clean").unwrap(), &networks, keep_going);
    let message = meter.rows(&folder, "kid").unwrap_err().to_string();
    assert!(message.contains("no picture is left, 3 pictures cannot be read"), "{message}");
    assert_eq!(meter.left_out().len(), 3);
}

#[test]
fn another_width_is_refused_with_both_files() {
    let root = tempfile::tempdir().unwrap();
    let networks = StandIns::default();
    let folder = folder_of(root.path(), "real", 4);
    let golden = crate::golden::path("a.npy");
    let mut meter = Meter::new(Protocol::named("pytorch-fid").unwrap(), &networks);
    for message in [
        fid(&mut meter, &folder, &golden).unwrap_err().to_string(),
        kid(&mut meter, &folder, &golden).unwrap_err().to_string(),
    ] {
        assert!(message.contains("a.npy: 64 features a row"), "{message}");
        assert!(message.contains("has 6; were they made by the same network"), "{message}");
    }
}

#[test]
fn what_is_wrong_with_the_second_side_is_told_before_the_first_is_gone_through() {
    let root = tempfile::tempdir().unwrap();
    let networks = StandIns::default();
    let folder = folder_of(root.path(), "real", 4);
    let absent = root.path().join("absent");
    let statistics = crate::golden::path("a_pytorch_fid_compressed.npz");
    let settings = Settings { interval: true, ..settings(4) };
    let mut meter = Meter::with(Protocol::named("pytorch-fid").unwrap(), &networks, settings);
    for message in [
        fid(&mut meter, &folder, &absent).unwrap_err().to_string(),
        kid(&mut meter, &folder, &absent).unwrap_err().to_string(),
    ] {
        assert!(message.contains("absent"), "{message}");
    }
    let message = fid(&mut meter, &folder, &statistics).unwrap_err().to_string();
    assert!(message.contains("the interval of fid needs features"), "{message}");
    assert!(kid(&mut meter, &folder, &statistics).is_err());
    assert_eq!(networks.passes(), 0);
}

#[test]
fn rows_of_a_width_that_the_network_has_not_are_told() {
    let networks = StandIns::default();
    let seen = std::cell::RefCell::new(Vec::new());
    let mut meter = Meter::new(Protocol::named("pytorch-fid").unwrap(), &networks);
    meter.listen(|path, event| seen.borrow_mut().push((path.to_path_buf(), event)));
    let (rows, statistics) =
        (crate::golden::path("b.npy"), crate::golden::path("a_pytorch_fid_compressed.npz"));
    fid(&mut meter, &statistics, &rows).unwrap();
    drop(meter);
    let layer = "inception-fid, layer 2048,".to_owned();
    let event = Event::OtherWidth { found: 64, layer, expected: 6 };
    assert_eq!(*seen.borrow(), [(statistics, event.clone()), (rows, event)]);
}

#[test]
fn a_feature_that_is_no_number_is_told_by_row_and_column() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("a.npy");
    let mut rows = vec![0.5_f32; 300 * 6];
    rows[270 * 6 + 4] = f32::NAN;
    std::fs::write(&path, write_npy(&[300, 6], Values::F32(&rows))).unwrap();
    let networks = StandIns::default();
    let mut meter = Meter::new(Protocol::named("pytorch-fid").unwrap(), &networks);
    let message = fid(&mut meter, &path, &path).unwrap_err().to_string();
    assert!(message.contains("a.npy: row 270, column 4 (from 0) is NaN"), "{message}");
}
