//! Statistics files: what is written is read back, and parts merge to the whole.

use std::path::Path;

use specimen_measure::meter::Meter;
use specimen_measure::metrics::fid::{fid, fid_saving};
use specimen_measure::network::Dtype;
use specimen_measure::network::NoNetworks;
use specimen_measure::protocol::Protocol;
use specimen_measure::statistics::{collect, collect_rows, write, write_rows};
use specimen_stats::npy_write::{Values, write_npy};
use specimen_stats::statistics_file::{StatisticsFile, read_statistics};

use crate::golden::path;
use crate::stand_in::{StandIns, folder_of};

fn meter() -> Meter<'static> {
    Meter::new(Protocol::named("pytorch-fid").unwrap(), &NoNetworks)
}

fn opened(bytes: &[u8]) -> StatisticsFile<std::io::Cursor<&[u8]>> {
    StatisticsFile::open(std::io::Cursor::new(bytes)).unwrap()
}

#[test]
fn written_statistics_are_at_distance_zero_from_their_rows() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("a.npz");
    write(&collect(&mut meter(), &[&path("a.npy")]).unwrap().0, None, &file).unwrap();
    let measured = fid(&mut meter(), &file, &path("a.npy")).unwrap();
    assert!(measured.value < 1e-9, "{}", measured.value);
    assert_eq!(measured.n, [Some(300), Some(300)]);
}

#[test]
fn parts_merge_to_the_statistics_of_the_whole() {
    let root = tempfile::tempdir().unwrap();
    let (a, b) = (path("a.npy"), path("b.npy"));
    let part = root.path().join("a.npz");
    write(&collect(&mut meter(), &[&a]).unwrap().0, None, &part).unwrap();
    let (merged, _) = collect(&mut meter(), &[&part, &b]).unwrap();
    let rows = collect_rows(&mut meter(), &[&a, &b]).unwrap().features;
    let whole = root.path().join("whole.npy");
    std::fs::write(&whole, write_npy(&[rows.n(), rows.d()], Values::F32(rows.values()))).unwrap();
    let (together, _) = collect(&mut meter(), &[&whole]).unwrap();
    assert_eq!(merged.n(), Some(556));
    for (merged, whole) in [(merged.mean(), together.mean()), (merged.covariance(), together.covariance())] {
        let worst = merged.iter().zip(whole).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-12, "{worst}");
    }
}

#[test]
fn statistics_without_a_count_do_not_merge_and_say_why() {
    let sources = [path("a_pytorch_fid_compressed.npz"), path("b.npy")];
    let message = collect(&mut meter(), &[&sources[0], &sources[1]]).unwrap_err().to_string();
    assert!(message.contains("a_pytorch_fid_compressed.npz"), "{message}");
    assert!(message.contains("the number of rows is not known"), "{message}");
    // Alone they pass through as they are.
    assert_eq!(collect(&mut meter(), &[&sources[0]]).unwrap().0.n(), None);
}

#[test]
fn features_are_written_as_clean_fid_keeps_them() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("a_kid.npz");
    let rows = collect_rows(&mut meter(), &[&path("a.npy")]).unwrap();
    write_rows(&rows, &file).unwrap();
    assert_eq!(opened(&std::fs::read(&file).unwrap()).features().unwrap().features, rows.features);
    assert_eq!(collect_rows(&mut meter(), &[&path("a_cleanfid_kid.npz")]).unwrap(), rows);
}

#[test]
fn the_reference_of_one_comparison_is_saved_for_the_next() {
    let root = tempfile::tempdir().unwrap();
    let (real, generated) = (folder_of(root.path(), "real", 30), folder_of(root.path(), "generated", 30));
    let saved = root.path().join("real.npz");
    let networks = StandIns::default();
    let mut meter = Meter::new(Protocol::named("pytorch-fid").unwrap(), &networks);
    let first = fid_saving(&mut meter, &real, &generated, Some(&saved)).unwrap();
    let again = fid(&mut meter, &saved, &generated).unwrap();
    assert!((first.value - again.value).abs() <= 1e-9 * first.value, "{} {}", first.value, again.value);
    assert_eq!((again.n, again.extractor, again.made_by), (first.n, first.extractor, first.made_by));
}

/// What is wrong with comparing `real` with `generated` under `protocol`.
fn refusal(protocol: Protocol, real: &Path, generated: &Path) -> String {
    let networks = StandIns::default();
    fid(&mut Meter::new(protocol, &networks), real, generated).unwrap_err().to_string()
}

#[test]
fn statistics_of_another_protocol_network_or_layer_are_refused_by_name() {
    let root = tempfile::tempdir().unwrap();
    let (real, generated) = (folder_of(root.path(), "real", 8), folder_of(root.path(), "generated", 8));
    let named = |name: &str| Protocol::named(name).unwrap();
    let saved = |name: &str, protocol: Protocol| {
        let (path, networks) = (root.path().join(name), StandIns::default());
        fid_saving(&mut Meter::new(protocol, &networks), &real, &generated, Some(&path)).unwrap();
        path
    };
    let clean = saved("clean.npz", named("clean"));
    // Other pixels under the same network, given as either side and on both.
    for (real, generated) in [(&clean, &generated), (&real, &clean), (&clean, &clean)] {
        let message = refusal(named("pytorch-fid"), real, generated);
        assert!(
            message.contains("clean.npz: its features were made by inception-fid-2048-f32@"),
            "{message}"
        );
        assert!(message.contains("`pytorch-fid` takes inception-fid-2048-f32 behind pixels"), "{message}");
    }
    let bf16 = saved("bf16.npz", named("clean").with_dtype(Dtype::Bf16));
    assert!(refusal(named("clean"), &bf16, &generated).contains("inception-fid-2048-bf16@"));
    let layer = saved("layer.npz", named("clean").with_layer("768", "fid"));
    assert!(refusal(named("clean"), &layer, &generated).contains("inception-fid-768-f32@"));
    // Other weights of the same network.
    let bytes = std::fs::read(&clean).unwrap();
    let mut origin = opened(&bytes).origin().unwrap().clone();
    origin.extractor = origin.extractor.replace("0123456789ab", "ba9876543210");
    let other = root.path().join("other.npz");
    write(&read_statistics(&bytes).unwrap(), Some(&origin), &other).unwrap();
    let message = refusal(named("clean"), &clean, &other);
    for part in ["clean.npz", "other.npz", "@0123456789ab", "@ba9876543210", "cannot be compared"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let networks = StandIns::default();
    let sources: [&Path; 2] = [&clean, &other];
    let message = collect(&mut Meter::new(named("clean"), &networks), &sources).unwrap_err().to_string();
    assert!(message.contains("cannot be compared"), "{message}");
}

#[test]
fn a_side_that_does_not_say_what_made_it_is_unknown() {
    let root = tempfile::tempdir().unwrap();
    let folder = folder_of(root.path(), "real", 8);
    let networks = StandIns::default();
    let meter = || Meter::new(Protocol::named("clean").unwrap(), &networks);
    let rows = collect_rows(&mut meter(), &[&folder]).unwrap();
    let (npy, npz) = (root.path().join("rows.npy"), root.path().join("rows.npz"));
    let values = Values::F32(rows.features.values());
    std::fs::write(&npy, write_npy(&[rows.features.n(), rows.features.d()], values)).unwrap();
    write_rows(&rows, &npz).unwrap();
    let measured = fid(&mut meter(), &npz, &npy).unwrap();
    assert_eq!(measured.extractor.as_deref(), Some("inception-fid-2048-f32@0123456789ab"));
    assert!(measured.made_by[0].starts_with("inception-fid-2048-f32@0123456789ab behind pixels "));
    assert_eq!(measured.made_by[1], "unknown");
    // What is merged of both does not say it either.
    assert_eq!(collect_rows(&mut meter(), &[&npz, &npy]).unwrap().origin, None);
    assert_eq!(collect_rows(&mut meter(), &[&npz, &folder]).unwrap().origin, rows.origin);
}

#[test]
fn memory_of_statistics_does_not_need_the_rows_of_a_file_at_once() {
    use specimen_measure::sample::Spread;
    // More rows than features pass into moments; fewer stay rows, which are exact without full rank.
    let mut spread = Spread::new(3).unwrap();
    for i in 0..1000_u16 {
        let x = f32::from(i);
        spread.push(&[x.sin(), x.cos(), (x * 0.5).sin()]).unwrap();
    }
    let factored = spread.factored().unwrap();
    assert_eq!((factored.n, factored.factored.rank()), (Some(1000), 3));
}
