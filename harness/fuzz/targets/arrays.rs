//! NumPy's files: an archive of statistics or features, and a bare array, whole and row by row.
#![no_main]

use libfuzzer_sys::fuzz_target;
use specimen_stats::{
    npy, npy_rows,
    npy_rows::NpyRows,
    statistics_file::{self, StatisticsFile},
};

fuzz_target!(|bytes: &[u8]| {
    let _ = statistics_file::read_statistics(bytes);
    if let Ok(mut file) = StatisticsFile::open(std::io::Cursor::new(bytes)) {
        let _ = file.features();
    }
    let _ = npy::read_npy_text(bytes);
    let _ = npy_rows::element_type(&mut &*bytes);
    if let Ok(matrix) = npy::read_npy(bytes) {
        assert_eq!(matrix.values.len(), matrix.n_rows * matrix.n_columns, "a matrix is full");
    }
    if let Ok(mut rows) = NpyRows::open(bytes) {
        while rows.next_rows(64).is_ok_and(|values| !values.is_empty()) {}
    }
});
