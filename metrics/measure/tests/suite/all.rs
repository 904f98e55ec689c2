//! All metrics of a protocol over one pass, settings of metrics, and what is said of small sets and intervals.

use std::path::{Path, PathBuf};

use specimen_measure::all::all;
use specimen_measure::images::{BATCH, Event};
use specimen_measure::meter::{Meter, Settings};
use specimen_measure::metrics::cmmd::cmmd;
use specimen_measure::metrics::fid::fid;
use specimen_measure::metrics::inception_score::inception_score;
use specimen_measure::metrics::kid::kid;
use specimen_measure::metrics::prdc::prdc;
use specimen_measure::network::NoNetworks;
use specimen_measure::protocol::{MetricSettings, Protocol};
use specimen_stats::gaussian::Gaussian;
use specimen_stats::npy_write::{Values, write_npy, write_npy_bytes};

use crate::golden::path;
use crate::stand_in::{StandIns, folder_of};

fn small_subsets() -> MetricSettings {
    MetricSettings { subset_size: Some(10), n_subsets: Some(4), ..MetricSettings::default() }
}

fn tf1() -> Protocol {
    Protocol::named("tf1").unwrap().with_settings(&small_subsets()).unwrap()
}

#[test]
fn all_metrics_of_a_protocol_take_one_pass_and_have_the_values_of_each_alone() {
    let root = tempfile::tempdir().unwrap();
    let (real, generated) = (folder_of(root.path(), "real", 20), folder_of(root.path(), "generated", 20));
    let networks = StandIns::default();
    let mut meter = Meter::new(tf1(), &networks);
    let together = all(&mut meter, &real, &generated).unwrap();
    assert!(together.failed.is_empty(), "{:?}", together.failed);
    // Two passes a side; the logits of the generated side come from the same ones as its features.
    assert_eq!((networks.passes(), meter.n_forward()), (4, 40));

    let apart = StandIns::default();
    let meter = || Meter::new(tf1(), &apart);
    let mut expected =
        vec![fid(&mut meter(), &real, &generated).unwrap(), kid(&mut meter(), &real, &generated).unwrap()];
    expected.extend(prdc(&mut meter(), &real, &generated).unwrap());
    expected.push(inception_score(&mut meter(), &generated).unwrap());
    assert_eq!(together.measured, expected);
}

#[test]
fn one_pass_fills_the_cache_that_each_metric_alone_takes() {
    let root = tempfile::tempdir().unwrap();
    let (real, generated) = (folder_of(root.path(), "real", 20), folder_of(root.path(), "generated", 20));
    let cache = Some(root.path().join("cache"));
    let settings = Settings { cache, keep_going: false, interval: false, batch: BATCH };
    let networks = StandIns::default();
    let meter = || Meter::with(tf1(), &networks, settings.clone());
    let first = all(&mut meter(), &real, &generated).unwrap().measured;
    assert_eq!(networks.passes(), 4);
    assert_eq!(fid(&mut meter(), &real, &generated).unwrap(), first[0]);
    assert_eq!(inception_score(&mut meter(), &generated).unwrap(), *first.last().unwrap());
    assert_eq!(all(&mut meter(), &real, &generated).unwrap().measured, first);
    assert_eq!(networks.passes(), 4);
}

#[test]
fn a_metric_that_cannot_be_measured_leaves_the_others() {
    let root = tempfile::tempdir().unwrap();
    let (real, generated) = (folder_of(root.path(), "real", 20), folder_of(root.path(), "generated", 20));
    let networks = StandIns::default();
    // Subsets of 1,000 of 20 pictures.
    let mut meter = Meter::new(Protocol::named("tf1").unwrap(), &networks);
    let came = all(&mut meter, &real, &generated).unwrap();
    assert_eq!(came.measured.len(), 6);
    assert_eq!((came.failed.len(), came.failed[0].0), (1, "kid"));
    // Features that were given are of one layer, which is not that of the logits; statistics have no rows.
    let statistics = path("a_pytorch_fid_compressed.npz");
    let came = all(&mut Meter::new(tf1(), &NoNetworks), &statistics, &path("b.npy")).unwrap();
    let failed: Vec<&str> = came.failed.iter().map(|(metric, _)| *metric).collect();
    assert_eq!((came.measured.len(), failed), (1, vec!["kid", "prdc", "is"]));
    assert!(came.failed[2].1.to_string().contains("takes those of `logits-unbiased`"));
    let clip = Protocol::named("clipscore").unwrap();
    let message = all(&mut Meter::new(clip, &NoNetworks), &path("a.npy"), &path("b.npy")).unwrap_err();
    assert!(message.to_string().contains("specimen clip-score IMAGES CAPTIONS"), "{message}");
}

#[test]
fn settings_of_a_metric_are_another_recipe_and_the_name_says_so() {
    let named = |name: &str| Protocol::named(name).unwrap();
    let with = |name: &str, settings: MetricSettings| named(name).with_settings(&settings);
    let none = MetricSettings::default();
    let changed = with("tf1", MetricSettings { subset_size: Some(50), seed: Some(7), ..none }).unwrap();
    assert_eq!(changed.name(), "tf1+subset-size-50+seed-7");
    // Only the metrics that the setting is of have another digest.
    let digest = |protocol: &Protocol, metric: &str| protocol.digest_of(metric);
    for (metric, is_same) in [("fid", true), ("prdc", true), ("kid", false), ("is", false)] {
        assert_eq!(digest(&changed, metric) == digest(&named("tf1"), metric), is_same, "{metric}");
    }
    // The protocol's own values are no change.
    let own = MetricSettings { subset_size: Some(1000), n_subsets: Some(100), k: Some(3), seed: Some(2020) };
    assert_eq!(with("tf1", own).unwrap(), named("tf1"));
    assert_eq!(with("prdc", MetricSettings { k: Some(3), ..none }).unwrap().name(), "prdc+k-3");
    for (name, settings, part) in [
        ("pytorch-fid", small_subsets(), "has no subsets; take `tf1`"),
        ("pytorch-fid", MetricSettings { k: Some(3), ..none }, "no table `[prdc]`"),
        ("prdc", MetricSettings { seed: Some(1), ..none }, "has no seed"),
        ("prdc", MetricSettings { k: Some(0), ..none }, "-k 0"),
        ("tf1", MetricSettings { subset_size: Some(1), ..none }, "at least 2"),
        ("tf1", MetricSettings { n_subsets: Some(0), ..none }, "at least 1"),
    ] {
        let message = with(name, settings).unwrap_err().to_string();
        assert!(message.contains(part) && message.contains(&format!("`{name}`")), "{message}");
    }
}

#[test]
fn a_distance_of_few_pictures_says_so() {
    let meter = || Meter::new(Protocol::named("pytorch-fid").unwrap(), &NoNetworks);
    let measured = fid(&mut meter(), &path("a.npy"), &path("b.npy")).unwrap();
    assert_eq!(measured.notes.len(), 2);
    assert!(measured.notes[0].contains("a.npy: 300 pictures or rows"), "{}", measured.notes[0]);
    let root = tempfile::tempdir().unwrap();
    let many = |n: usize| {
        let file = root.path().join(format!("{n}.npy"));
        let rows: Vec<f32> = (0..2 * n).map(|at| (at * at % 101) as f32).collect();
        std::fs::write(&file, write_npy(&[n, 2], Values::F32(&rows))).unwrap();
        file
    };
    let (enough, few) = (many(2048), many(2047));
    assert!(fid(&mut meter(), &enough, &enough).unwrap().notes.is_empty());
    let notes = fid(&mut meter(), &enough, &few).unwrap().notes;
    assert!(notes.len() == 1 && notes[0].contains("2047.npy"), "{notes:?}");
}

/// Two sets of which the second is the first but for a little.
fn near_sets(root: &Path) -> [PathBuf; 2] {
    ["one", "two"].map(|name| {
        let file = root.join(format!("{name}.npy"));
        let shift = if name == "two" { 1e-3 } else { 0.0 };
        let row = |at: usize| [(at * at % 97 + 1) as f32, (at * 7 % 31) as f32 + shift];
        let rows: Vec<f32> = (0..60).flat_map(row).collect();
        std::fs::write(&file, write_npy(&[60, 2], Values::F32(&rows))).unwrap();
        file
    })
}

#[test]
fn the_interval_of_a_distance_ends_at_zero() {
    let root = tempfile::tempdir().unwrap();
    let [one, two] = near_sets(root.path());
    let settings = Settings { cache: None, keep_going: false, interval: true, batch: BATCH };
    let meter = |name: &str| Meter::with(Protocol::named(name).unwrap(), &NoNetworks, settings.clone());
    for measured in
        [fid(&mut meter("pytorch-fid"), &one, &two).unwrap(), cmmd(&mut meter("cmmd"), &one, &two).unwrap()]
    {
        let [lower, upper] = measured.ci95.unwrap();
        assert!(lower == 0.0 && upper >= measured.value, "{measured:?}");
    }
    // An unbiased estimate is below 0 as often as above, and so is its interval.
    let measured = kid(&mut meter("pytorch-fid"), &one, &two).unwrap();
    assert!(measured.value < 0.0 && measured.ci95.unwrap()[0] < measured.value, "{measured:?}");
}

#[test]
fn doubles_and_fortran_order_give_the_value_of_the_same_rows_and_rounding_is_told() {
    let root = tempfile::tempdir().unwrap();
    let (n, d) = (40, 3);
    let number = |row: usize, column: usize| ((row * 13 + column * 29) % 17) as f64 / 10.0;
    let rows: Vec<f64> = (0..n).flat_map(|row| (0..d).map(move |column| number(row, column))).collect();
    let columns = (0..d).flat_map(|column| (0..n).map(move |row| number(row, column)));
    let bytes: Vec<u8> = columns.flat_map(f64::to_le_bytes).collect();
    let narrow: Vec<f32> = rows.iter().map(|&x| x as f32).collect();
    let file = |name: &str, bytes: Vec<u8>| {
        let file = root.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        file
    };
    let single = file("single.npy", write_npy(&[n, d], Values::F32(&narrow)));
    let double = file("double.npy", write_npy(&[n, d], Values::F64(&rows)));
    let fortran = write_npy_bytes(&[n, d], "<f8", &bytes);
    let at = fortran.windows(5).position(|window| window == b"False").unwrap();
    let fortran = file("fortran.npy", [&fortran[..at], b"True ", &fortran[at + 5..]].concat());
    let mut reported = Vec::new();
    {
        let mut meter = Meter::new(Protocol::named("pytorch-fid").unwrap(), &NoNetworks);
        meter.listen(|path, event| {
            if let Event::Rounded { n } = event {
                reported.push((path.to_path_buf(), n));
            }
        });
        let expected = meter.rows(&single, "kid").unwrap();
        for given in [&double, &fortran] {
            assert_eq!(meter.rows(given, "kid").unwrap(), expected, "{}", given.display());
            assert_eq!(meter.rows(given, "vendi").unwrap(), expected, "{}", given.display());
        }
    }
    let n_rounded = rows.iter().filter(|&&x| f64::from(x as f32) != x).count() as u64;
    assert!(n_rounded > 0);
    // Each once, however often it is read.
    assert_eq!(reported, [(double, n_rounded), (fortran, n_rounded)]);
}

#[test]
fn what_a_network_says_names_it_once() {
    use specimen_measure::MeasureError;
    let of = |text: &str| MeasureError::Network { network: "inception-fid".into(), source: text.into() };
    assert_eq!(of("inception-fid has no layer `x`").to_string(), "inception-fid has no layer `x`");
    assert_eq!(of("no weights").to_string(), "inception-fid: no weights");
    assert_eq!(of("no weights of inception-fid: x").to_string(), "no weights of inception-fid: x");
}

#[test]
fn statistics_of_no_spread_and_of_whole_numbers_are_noted_and_taken() {
    let root = tempfile::tempdir().unwrap();
    let identity = |scale: f64| (0..16).map(|at| if at % 5 == 0 { scale } else { 0.0 }).collect::<Vec<f64>>();
    let written = |name: &str, mean: f64, covariance: Vec<f64>| {
        let path = root.path().join(name);
        let gaussian = Gaussian::new(vec![mean; 4], covariance, None).unwrap();
        specimen_measure::statistics::write(&gaussian, None, &path).unwrap();
        path
    };
    for (name, mean, covariance, said) in [
        ("zeros.npz", 0.5, identity(0.0), Some("sigma is 0 everywhere")),
        ("whole.npz", 2.0, identity(3.0), Some("whole numbers")),
        ("plain.npz", 0.5, identity(0.25), None),
    ] {
        let path = written(name, mean, covariance);
        let mut noted = Vec::new();
        {
            let mut meter = Meter::new(Protocol::named("pytorch-fid").unwrap(), &NoNetworks);
            meter.listen(|path, event| {
                if let Event::OddStatistics { what } = event {
                    noted.push((path.to_path_buf(), what));
                }
            });
            for _ in 0..2 {
                meter.side(&path).unwrap();
            }
        }
        let expected = said.map(|_| path);
        assert_eq!(
            noted.iter().map(|(path, _)| path).collect::<Vec<_>>(),
            expected.iter().collect::<Vec<_>>()
        );
        assert!(noted.iter().all(|(_, what)| said.is_some_and(|said| what.contains(said))), "{noted:?}");
    }
}
