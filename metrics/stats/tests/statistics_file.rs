//! Statistics files of pytorch-fid and clean-fid: read, written, merged, and refused.
#![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]

mod features;

use std::io::Cursor;

use features::{expected, golden, number, set};
use specimen_stats::features::FeatureRows;
use specimen_stats::frechet::frechet_distance;
use specimen_stats::gaussian::Gaussian;
use specimen_stats::moments::Moments;
use specimen_stats::npy::read_npy_text;
use specimen_stats::npy_write::{Values, write_npy, write_npy_text};
use specimen_stats::npz::{Npz, Packing, write_npz};
use specimen_stats::statistics_file::{
    Content, Origin, StatisticsFile, read_statistics, write_features, write_statistics,
};
use specimen_stats::{Statistic, StatsError};

fn file(name: &str) -> Vec<u8> {
    std::fs::read(golden(name)).unwrap()
}

fn moments(rows: &FeatureRows) -> Moments {
    Moments::of_rows(rows.values(), rows.d()).unwrap()
}

fn distance(first: &Gaussian, second: &Gaussian) -> f64 {
    frechet_distance(first, second).unwrap().value()
}

#[test]
fn deflated_stored_and_fortran_files_give_the_distance_of_pytorch_fid() {
    let theirs = number(&expected(), "/pairs/a|b/pytorch_fid");
    let second = read_statistics(&file("b_pytorch_fid_compressed.npz")).unwrap();
    for name in ["a_pytorch_fid_compressed.npz", "a_cleanfid_uncompressed.npz", "a_fortran.npz"] {
        let first = read_statistics(&file(name)).unwrap();
        assert_eq!(first.n(), None);
        let got = distance(&first, &second);
        assert!((got / theirs - 1.0).abs() < 1e-10, "{name}: {got}, expected {theirs}");
    }
}

#[test]
fn statistics_kept_in_f32_give_the_distance_to_their_rounding() {
    let exact = read_statistics(&file("a_cleanfid_uncompressed.npz")).unwrap();
    let narrow = |values: &[f64]| values.iter().map(|&x| x as f32).collect::<Vec<f32>>();
    let arrays = [
        ("mu", write_npy(&[64], Values::F32(&narrow(exact.mean())))),
        ("sigma", write_npy(&[64, 64], Values::F32(&narrow(exact.covariance())))),
    ];
    let first = read_statistics(&write_npz(&arrays, Packing::Deflated).unwrap()).unwrap();
    let got = distance(&first, &read_statistics(&file("b_pytorch_fid_compressed.npz")).unwrap());
    assert!((got / number(&expected(), "/pairs/a|b/pytorch_fid") - 1.0).abs() < 1e-5, "{got}");
}

#[test]
fn arrays_are_written_with_the_bytes_of_numpy_and_files_repeat_theirs() {
    let theirs = file("a_cleanfid_uncompressed.npz");
    let statistics = read_statistics(&theirs).unwrap();
    let ours = write_statistics(&statistics, None, Packing::Stored).unwrap();
    let holds = |npy: &[u8]| theirs.windows(npy.len()).any(|window| window == npy);
    assert!(holds(&write_npy(&[64], Values::F64(statistics.mean()))));
    assert!(holds(&write_npy(&[64, 64], Values::F64(statistics.covariance()))));
    assert_eq!(ours, write_statistics(&statistics, None, Packing::Stored).unwrap());
    assert_eq!(Npz::open(&ours).unwrap().names(), ["mu", "sigma"]);
}

fn read_features(bytes: &[u8]) -> FeatureRows {
    StatisticsFile::open(Cursor::new(bytes)).unwrap().features().unwrap().features
}

fn read_origin(bytes: &[u8]) -> Option<Origin> {
    StatisticsFile::open(Cursor::new(bytes)).unwrap().origin().cloned()
}

#[test]
fn what_is_written_reads_back_the_same_in_either_packing() {
    let statistics = moments(&set("b")).value().unwrap();
    for packing in [Packing::Stored, Packing::Deflated] {
        assert_eq!(
            read_statistics(&write_statistics(&statistics, None, packing).unwrap()).unwrap(),
            statistics
        );
        let rows = set("c_lowrank");
        assert_eq!(read_features(&write_features(&rows, None, packing).unwrap()), rows);
    }
    assert_eq!(statistics.n(), Some(256));
}

#[test]
fn what_made_the_features_is_written_beside_them_and_read_back() {
    let origin = Origin { extractor: "inception-fid-2048-f32@1a2b".into(), pixels: "00ff".repeat(16) };
    let statistics = moments(&set("b")).value().unwrap();
    let rows = set("c_lowrank");
    for file in [
        write_statistics(&statistics, Some(&origin), Packing::Deflated).unwrap(),
        write_features(&rows, Some(&origin), Packing::Stored).unwrap(),
    ] {
        assert_eq!(read_origin(&file).as_ref(), Some(&origin));
    }
    let plain = write_features(&rows, None, Packing::Stored).unwrap();
    assert_eq!(read_origin(&plain), None);
    assert_eq!(read_origin(&file("a_pytorch_fid_compressed.npz")), None);
    let half = [("feats", write_npy(&[1, 1], Values::F32(&[0.5]))), ("pixels", write_npy_text("00ff"))];
    let half = write_npz(&half, Packing::Stored).unwrap();
    assert!(StatisticsFile::open(Cursor::new(&half)).is_err());
    // What NumPy 2.4 saves of numpy.array("né").
    let header = "{'descr': '<U2', 'fortran_order': False, 'shape': (), }";
    let mut saved = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    saved.extend(format!("{header:<117}\n").into_bytes());
    saved.extend([0x6e, 0, 0, 0, 0xe9, 0, 0, 0]);
    assert_eq!(write_npy_text("né"), saved);
    assert_eq!(read_npy_text(&saved).unwrap(), "né");
}

#[test]
fn files_of_shards_merge_to_the_statistics_of_the_whole() {
    let a = set("a");
    let shard = |rows: std::ops::Range<usize>| {
        let moments = moments(&a.select(&rows.collect::<Vec<_>>()));
        let file = write_statistics(&moments.value().unwrap(), None, Packing::Deflated).unwrap();
        Moments::of_gaussian(&read_statistics(&file).unwrap()).unwrap()
    };
    let mut merged = shard(0..70);
    merged.merge(&shard(70..190)).unwrap();
    merged.merge(&shard(190..300)).unwrap();
    let (merged, whole) = (merged.value().unwrap(), moments(&a).value().unwrap());
    assert_eq!(merged.n(), Some(300));
    let gaps = merged.covariance().iter().zip(whole.covariance()).map(|(x, y)| (x - y).abs());
    assert!(gaps.fold(0.0, f64::max) < 1e-13);
    let b = moments(&set("b")).value().unwrap();
    assert!((distance(&merged, &b) / distance(&whole, &b) - 1.0).abs() < 1e-12);
}

#[test]
fn statistics_of_other_tools_do_not_merge_because_they_hide_their_count() {
    let refused =
        Moments::of_gaussian(&read_statistics(&file("a_pytorch_fid_compressed.npz")).unwrap()).unwrap_err();
    assert!(refused.to_string().contains("number of rows is not known"), "{refused}");
}

#[test]
fn features_of_clean_fid_and_dgm_eval_are_read_beside_what_is_not() {
    assert_eq!(read_features(&file("a_cleanfid_kid.npz")), set("a"));
    let reps = [0.5, -2.0, 3.25, 4.0];
    let pickled = b"\x80\x04 objects that are never unpacked".to_vec();
    let npy = write_npy(&[2, 2], Values::F64(&reps));
    let bytes = write_npz(&[("hparams", pickled), ("reps", npy)], Packing::Deflated).unwrap();
    assert_eq!(read_features(&bytes).row(1), [3.25, 4.0]);
    let finer = write_npz(&[("feats", write_npy(&[1, 1], Values::F64(&[0.1])))], Packing::Stored).unwrap();
    let read = StatisticsFile::open(Cursor::new(&finer)).unwrap().features().unwrap();
    assert_eq!((read.features.row(0), read.n_rounded), (&[0.1_f32][..], 1));
}

/// A `.npy` of zeros whose header says `shape`, and which has `n` numbers of four bytes.
fn zeros(shape: &str, n: usize) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    npy.extend(header.bytes());
    npy.resize(npy.len() + 4 * n, 0);
    npy
}

/// Counts what is read of a file.
#[derive(Debug)]
struct Reading<'a>(Cursor<&'a [u8]>, &'a std::cell::Cell<u64>);

impl std::io::Read for Reading<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = self.0.read(into)?;
        self.1.set(self.1.get() + n as u64);
        Ok(n)
    }
}

impl std::io::Seek for Reading<'_> {
    fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
        self.0.seek(to)
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused_by_their_headers_before_the_numbers_are_unpacked() {
    const N: usize = 4 << 20;
    let long = format!("({N},)");
    let cases = [
        // 16 MB of `mu`, and a `sigma` that is not its covariance.
        (vec![("mu", zeros(&long, N)), ("sigma", zeros("(2, 2)", 4))], "shape of `sigma`"),
        (vec![("mu", zeros("(2,)", 2)), ("sigma", zeros("(2048, 2048)", N))], "shape of `sigma`"),
        (
            vec![("mu", zeros("(1,)", 1)), ("sigma", zeros("(1, 1)", 1)), ("n", zeros(&long, N))],
            "shape of `n`",
        ),
        // Entries that are larger than their headers say.
        (vec![("mu", zeros("(2,)", N)), ("sigma", zeros("(2, 2)", 4))], "array size"),
        (vec![("feats", zeros("(2, 2)", N))], "array size"),
        (vec![("extractor", zeros("()", N)), ("feats", zeros("(2, 2)", 4))], "array size"),
    ];
    for (arrays, part) in cases {
        let bytes = write_npz(&arrays, Packing::Stored).unwrap();
        let n_read = std::cell::Cell::new(0);
        let message = StatisticsFile::open(Reading(Cursor::new(&bytes), &n_read)).unwrap_err().to_string();
        assert!(message.contains(part), "{part}: {message}");
        // The directory and the headers.
        assert!(n_read.get() < 400_000, "{part}: {} of {} bytes were read", n_read.get(), bytes.len());
    }
}

#[test]
fn what_a_file_is_of_is_known_before_its_numbers_are_read() {
    let rows = set("a");
    let features = write_features(&rows, None, Packing::Stored).unwrap();
    let mut opened = StatisticsFile::open(Cursor::new(&features)).unwrap();
    assert_eq!((opened.content(), opened.d(), opened.origin()), (Content::Features("feats"), 64, None));
    assert!(opened.statistics().is_err());
    assert_eq!(opened.features().unwrap().features, rows);
    let statistics = file("a_fortran.npz");
    let mut opened = StatisticsFile::open(Cursor::new(&statistics)).unwrap();
    assert_eq!((opened.content(), opened.d()), (Content::Statistics, 64));
    assert!(opened.features().is_err());
    assert_eq!(opened.statistics().unwrap(), read_statistics(&statistics).unwrap());
}

#[test]
fn files_that_are_something_else_are_refused_by_what_they_hold() {
    let refused = |bytes: &[u8]| match read_statistics(bytes) {
        Err(StatsError::Npz { what, found, .. }) => (what, found),
        other => panic!("expected a refusal, got {other:?}"),
    };
    assert_eq!(refused(b"\x93NUMPY").0, "archive");
    assert_eq!(refused(&file("a_cleanfid_kid.npz")), ("arrays", "`feats`".to_owned()));
    assert_eq!(refused(&write_npz(&[], Packing::Stored).unwrap()), ("arrays", "none".to_owned()));
    let good = file("a_cleanfid_uncompressed.npz");
    assert_eq!(refused(&good[..good.len() / 2]).0, "archive");
    let with = |mu: &[usize], sigma: &[usize], n: Option<f64>| {
        let ones = [1.0; 9];
        let array = |shape: &[usize]| write_npy(shape, Values::F64(&ones[..shape.iter().product()]));
        let mut arrays = vec![("mu", array(mu)), ("sigma", array(sigma))];
        arrays.extend(n.map(|n| ("n", write_npy(&[1], Values::F64(&[n])))));
        write_npz(&arrays, Packing::Stored).unwrap()
    };
    assert!(read_statistics(&with(&[3], &[3, 3], Some(5.0))).is_ok());
    assert_eq!(refused(&with(&[2], &[3, 3], None)).0, "shape of `sigma`");
    assert_eq!(refused(&with(&[3, 1], &[3, 3], None)).0, "shape of `mu`");
    assert_eq!(refused(&with(&[3], &[3, 3], Some(2.5))).0, "`n`");
    assert!(matches!(read_statistics(&with(&[3], &[3, 3], Some(1.0))), Err(StatsError::TooFew { .. })));
}

#[test]
fn a_flipped_bit_is_found_by_the_checksum() {
    let mut bytes = file("a_cleanfid_uncompressed.npz");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    assert!(matches!(read_statistics(&bytes), Err(StatsError::Npz { what: "entry", .. })));
}

#[test]
fn an_array_that_declares_more_than_the_limit_is_refused_unread() {
    let mut bytes = write_npz(&[("mu", write_npy(&[1], Values::F64(&[1.0])))], Packing::Stored).unwrap();
    // The size in the central directory, 24 bytes behind its signature.
    let entry = bytes.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    let declare =
        |bytes: &mut Vec<u8>, size: u32| bytes[entry + 24..entry + 28].copy_from_slice(&size.to_le_bytes());
    declare(&mut bytes, (2 << 30) + 1);
    let reported = |bytes: &[u8]| Npz::open(bytes).unwrap().array("mu").err().unwrap().to_string();
    assert!(reported(&bytes).contains("at most 2147483648 bytes"), "{}", reported(&bytes));
    declare(&mut bytes, 2 << 30);
    assert!(!reported(&bytes).contains("at most"), "{}", reported(&bytes));
}
