//! Reading `.npy` files: both orders, both widths, and named refusals.
#![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]

use specimen_stats::StatsError;
use specimen_stats::npy::{read_npy, read_npy_text};
use specimen_stats::npy_write::{Values, write_npy, write_npy_text};

/// A version 1 file with this header dictionary and data.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(data);
    bytes
}

fn f64_bytes(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

#[test]
fn c_and_fortran_order_read_as_the_same_matrix() {
    let c = file(
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n",
        &f64_bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    );
    let fortran = file(
        "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }\n",
        &f64_bytes(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]),
    );
    let matrix = read_npy(&c).unwrap();
    assert_eq!((matrix.n_rows, matrix.n_columns), (2, 3));
    assert_eq!(matrix, read_npy(&fortran).unwrap());
    assert!(matrix.to_f32().is_err());
}

#[test]
fn f32_files_widen_exactly_and_narrow_back() {
    let data: Vec<u8> = [0.1_f32, -3.5].iter().flat_map(|x| x.to_le_bytes()).collect();
    let vector =
        read_npy(&file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", &data)).unwrap();
    assert_eq!((vector.n_rows, vector.n_columns), (1, 2));
    assert_eq!(vector.values, [f64::from(0.1_f32), -3.5]);
    assert_eq!(vector.to_f32().unwrap(), [0.1, -3.5]);
}

#[test]
fn whole_numbers_and_single_numbers_read_exactly_or_not_at_all() {
    let scalar = |n: i64| {
        read_npy(&file("{'descr': '<i8', 'fortran_order': False, 'shape': (), }\n", &n.to_le_bytes()))
    };
    let matrix = scalar(5000).unwrap();
    assert_eq!((matrix.n_rows, matrix.n_columns, &matrix.values[..]), (1, 1, &[5000.0][..]));
    assert!(matrix.to_f32().is_err());
    assert!(matches!(scalar(1 << 53), Err(StatsError::Npy { what: "whole number", .. })));
}

#[test]
fn what_is_written_reads_back_with_the_bytes_that_numpy_writes() {
    let matrix = read_npy(&write_npy(&[2, 3], Values::F32(&[0.1, 2.0, 3.0, 4.0, 5.0, -6.5]))).unwrap();
    assert_eq!((matrix.n_rows, matrix.n_columns), (2, 3));
    assert_eq!(matrix.to_f32().unwrap(), [0.1, 2.0, 3.0, 4.0, 5.0, -6.5]);
    assert_eq!(read_npy(&write_npy(&[], Values::I64(&[300]))).unwrap().values, [300.0]);
    // The shipped matrix was saved by numpy.save.
    let saved = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/c_lowrank.npy")).unwrap();
    let values = read_npy(&saved).unwrap();
    let written = write_npy(&[values.n_rows, values.n_columns], Values::F32(&values.to_f32().unwrap()));
    assert!(written == saved);
}

#[test]
fn what_is_not_read_is_refused_by_name() {
    let refused = |bytes: &[u8]| match read_npy(bytes) {
        Err(StatsError::Npy { what, .. }) => what,
        other => panic!("expected a refusal, got {other:?}"),
    };
    let good = file("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }\n", &f64_bytes(&[1.0, 2.0]));
    assert!(read_npy(&good).is_ok());
    assert_eq!(refused(b"PK\x03\x04"), "magic");
    assert_eq!(refused(&good[..30]), "header");
    assert_eq!(refused(&good[..good.len() - 1]), "data length");
    let header = |text: &str| refused(&file(text, &f64_bytes(&[1.0, 2.0])));
    assert_eq!(header("{'descr': '>f8', 'fortran_order': False, 'shape': (1, 2), }"), "element type");
    assert_eq!(header("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 1), }"), "shape");
    assert_eq!(header("{'descr': '<f8', 'fortran_order': False, 'shape': (), }"), "data length");
    assert_eq!(header("{'descr': '<f8', 'shape': (1, 2), }"), "header");
    let mut version_nine = good.clone();
    version_nine[6] = 9;
    assert_eq!(refused(&version_nine), "version");
}

#[test]
fn a_text_of_another_length_than_it_says_is_refused() {
    let whole = write_npy_text("abc");
    assert_eq!(read_npy_text(&whole).unwrap(), "abc");
    let cut = read_npy_text(&whole[..whole.len() - 4]);
    assert!(cut.unwrap_err().to_string().contains("one text of 3 characters"));
}

#[test]
fn data_begins_at_a_multiple_of_64_whatever_the_header_says() {
    for n in 0..80 {
        let shape = vec![1; n];
        let file = write_npy(&shape, Values::F32(&[1.0]));
        let n_header = usize::from(u16::from_le_bytes([file[8], file[9]]));
        assert_eq!((10 + n_header) % 64, 0, "{n} axes");
        assert_eq!((file[9 + n_header], file.len()), (b'\n', 14 + n_header), "{n} axes");
    }
}
