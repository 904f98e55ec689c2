//! Odd and broken files among the pictures: named, or left out and counted; never a panic.

use serde_json::Value;
use specimen_measure::images::BATCH;
use specimen_measure::meter::{Meter, Settings};
use specimen_measure::metrics::fid::fid;
use specimen_measure::protocol::Protocol;

use crate::stand_in::{N_DIMS, StandIns, folder_of};

fn keeps_going(networks: &StandIns) -> Meter<'_> {
    let settings = Settings { cache: None, keep_going: true, interval: false, batch: BATCH };
    Meter::with(Protocol::named("clean").unwrap(), networks, settings)
}

#[test]
fn the_first_broken_picture_in_the_order_of_names_ends_it() {
    let root = tempfile::tempdir().unwrap();
    let folder = folder_of(root.path(), "real", 40);
    for name in ["real_0012.ppm", "real_0031.ppm"] {
        std::fs::write(folder.join(name), "P6 9 9 255\nshort").unwrap();
    }
    let networks = StandIns::default();
    let mut meter = Meter::new(Protocol::named("clean").unwrap(), &networks);
    let message = fid(&mut meter, &folder, &folder).unwrap_err().to_string();
    assert!(message.contains("real_0012.ppm"), "{message}");
}

#[test]
fn broken_pictures_are_left_out_listed_and_counted() {
    let root = tempfile::tempdir().unwrap();
    let folder = folder_of(root.path(), "real", 40);
    let whole = folder_of(root.path(), "whole", 3);
    std::fs::write(folder.join("real_0012.ppm"), "P6 9 9 255\nshort").unwrap();
    std::fs::write(folder.join("extra.png"), "not a picture").unwrap();
    let networks = StandIns::default();
    let mut meter = keeps_going(&networks);
    let measured = fid(&mut meter, &folder, &whole).unwrap();
    assert_eq!(measured.n, [Some(39), Some(3)]);
    let keys: Vec<&str> = meter.broken().iter().map(|(_, broken)| broken.key.as_str()).collect();
    assert_eq!(keys, ["extra.png", "real_0012.ppm"]);
    assert!(meter.broken()[0].1.why.contains("extra.png: expected a JPEG"), "{:?}", meter.broken()[0]);
    assert_eq!(measured.left_out, meter.left_out());
    let first = &serde_json::to_value(&measured).unwrap()["left_out"][0];
    assert_eq!(first["file"], "extra.png");
    assert_eq!(first["of"], folder.to_str().unwrap());
    assert_eq!(first["why"], meter.broken()[0].1.why);
}

#[test]
fn nothing_but_broken_pictures_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a.png"), "").unwrap();
    let networks = StandIns::default();
    let message = keeps_going(&networks).rows(root.path(), "kid").unwrap_err().to_string();
    assert!(
        message.contains("no picture is left, 1 picture cannot be read") && message.contains("a.png"),
        "{message}"
    );
}

#[test]
fn odd_files_have_the_outcome_of_pillow() {
    let Some(folder) = specimen_testdata::find("odd_files_have_the_outcome_of_pillow", "edge") else {
        return;
    };
    let expect: Value = serde_json::from_slice(&std::fs::read(folder.join("expect.json")).unwrap()).unwrap();
    let images = expect["images"].as_array().unwrap();
    let mut refused: Vec<&str> = images
        .iter()
        .filter(|image| image["pil"] != "ok")
        .map(|image| image["file"].as_str().unwrap())
        .collect();
    refused.sort_unstable();
    let networks = StandIns::default();
    let mut meter = keeps_going(&networks);
    let rows = meter.rows(&folder, "kid").unwrap();
    let mut broken: Vec<&str> = meter.broken().iter().map(|(_, broken)| broken.key.as_str()).collect();
    broken.sort_unstable();
    assert_eq!(rows.features.d(), N_DIMS);
    assert_eq!(rows.features.n() + broken.len(), images.len());
    assert_eq!(broken, refused);
    assert!(meter.broken().iter().all(|(_, broken)| broken.why.contains(&broken.key)));
}

#[test]
fn rows_that_are_all_equal_are_noted_and_others_are_not() {
    let root = tempfile::tempdir().unwrap();
    let (folder, networks) = (folder_of(root.path(), "real", 12), StandIns::default());
    let same = root.path().join("same");
    std::fs::create_dir(&same).unwrap();
    for name in ["1.ppm", "2.ppm", "3.ppm"] {
        std::fs::write(same.join(name), b"P6 2 1 255\n\x01\x02\x03\x04\x05\x06").unwrap();
    }
    let mut meter = keeps_going(&networks);
    let notes = fid(&mut meter, &folder, &same).unwrap().notes;
    let expected = format!(
        "{}: all rows are equal, as of a network whose weights were not loaded: look at the pictures and at the weights",
        same.display()
    );
    assert!(notes.contains(&expected), "{notes:?}");
    // Of a file of statistics they are asked for without a value.
    assert_eq!(meter.notes(&[&same]), [expected]);
    assert_eq!(meter.notes(&[&folder]), [""; 0]);
    let notes = fid(&mut keeps_going(&networks), &folder, &folder).unwrap().notes;
    assert!(!notes.iter().any(|note| note.contains("all rows are equal")), "{notes:?}");
}
