//! A second metric runs no network; what is damaged is made again, and told.

use std::path::{Path, PathBuf};

use specimen_measure::images::{BATCH, Event};
use specimen_measure::meter::{Meter, Settings};
use specimen_measure::metrics::fid::fid;
use specimen_measure::metrics::kid::kid;
use specimen_measure::metrics::vendi::vendi;
use specimen_measure::protocol::Protocol;

use crate::stand_in::{StandIns, folder_of};

fn meter<'a>(networks: &'a StandIns, cache: &Path, protocol: &str) -> Meter<'a> {
    let settings =
        Settings { cache: Some(cache.to_owned()), keep_going: false, interval: false, batch: BATCH };
    Meter::with(Protocol::named(protocol).unwrap(), networks, settings)
}

fn entries(cache: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![cache.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

#[test]
fn a_second_metric_over_the_same_pictures_runs_no_network() {
    let root = tempfile::tempdir().unwrap();
    let cache = root.path().join("cache");
    let (real, generated) = (folder_of(root.path(), "real", 20), folder_of(root.path(), "generated", 20));
    let networks = StandIns::default();
    let first = fid(&mut meter(&networks, &cache, "pytorch-fid"), &real, &generated).unwrap();
    assert_eq!(networks.passes(), 4);
    assert_eq!(entries(&cache).len(), 40);

    let mut again = meter(&networks, &cache, "pytorch-fid");
    assert_eq!(fid(&mut again, &real, &generated).unwrap(), first);
    kid(&mut again, &real, &generated).unwrap();
    vendi(&mut again, &generated).unwrap();
    assert_eq!((again.n_forward(), networks.passes()), (0, 4));
    // sjd has the same steps and the same network under another name.
    let sjd = fid(&mut meter(&networks, &cache, "sjd"), &real, &generated).unwrap();
    assert_eq!((sjd.value, networks.passes()), (first.value, 4));
    // Other steps make other features.
    fid(&mut meter(&networks, &cache, "clean"), &real, &generated).unwrap();
    assert_eq!(networks.passes(), 8);
}

#[test]
fn a_copy_under_another_name_is_the_same_picture() {
    let root = tempfile::tempdir().unwrap();
    let cache = root.path().join("cache");
    let real = folder_of(root.path(), "real", 5);
    let networks = StandIns::default();
    meter(&networks, &cache, "clean").rows(&real, "kid").unwrap();
    let copy = root.path().join("elsewhere");
    std::fs::create_dir(&copy).unwrap();
    for (at, file) in std::fs::read_dir(&real).unwrap().enumerate() {
        std::fs::copy(file.unwrap().path(), copy.join(format!("{at}.ppm"))).unwrap();
    }
    meter(&networks, &cache, "clean").rows(&copy, "kid").unwrap();
    assert_eq!(networks.passes(), 1);
}

#[test]
fn a_damaged_entry_is_told_and_made_again_and_the_value_stays() {
    let root = tempfile::tempdir().unwrap();
    let cache = root.path().join("cache");
    let folder = folder_of(root.path(), "real", 20);
    let networks = StandIns::default();
    let rows = meter(&networks, &cache, "clean").rows(&folder, "kid").unwrap();
    let victims = entries(&cache);
    let whole = std::fs::read(&victims[3]).unwrap();
    std::fs::write(&victims[3], &whole[..whole.len() / 2]).unwrap();
    std::fs::write(&victims[7], b"").unwrap();

    let mut damaged = Vec::new();
    {
        let mut again = meter(&networks, &cache, "clean");
        again.listen(|_, event| {
            if let Event::Damaged { path } = event {
                damaged.push(path);
            }
        });
        assert_eq!(again.rows(&folder, "kid").unwrap(), rows);
        assert_eq!(again.n_forward(), 2);
    }
    damaged.sort();
    assert_eq!(damaged, [victims[3].clone(), victims[7].clone()]);
    assert_eq!(std::fs::read(&victims[3]).unwrap(), whole);
    assert_eq!(meter(&networks, &cache, "clean").rows(&folder, "kid").unwrap(), rows);
}

#[test]
fn a_cache_that_cannot_be_written_is_told_once_and_the_value_stays() {
    let root = tempfile::tempdir().unwrap();
    let not_a_folder = root.path().join("file");
    std::fs::write(&not_a_folder, "").unwrap();
    // Three passes.
    let folder = folder_of(root.path(), "real", 40);
    let networks = StandIns::default();
    let mut reported = Vec::new();
    {
        let mut meter = meter(&networks, &not_a_folder, "clean");
        meter.listen(|_, event| {
            if let Event::NotKept { why } = event {
                reported.push(why);
            }
        });
        assert_eq!(meter.rows(&folder, "kid").unwrap().features.n(), 40);
    }
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(reported[0].contains("cannot make the folder"), "{reported:?}");
}
