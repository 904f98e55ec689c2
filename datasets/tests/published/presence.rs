//! Published data for a test, or a word that it is absent.

use specimen_datasets::data_root::DataRoot;

/// The data folder, when it has all of `places`; otherwise `test` is skipped.
pub(crate) fn root_with(test: &str, places: &[&str]) -> Option<DataRoot> {
    specimen_testdata::folder_with(test, places).map(DataRoot::new)
}

/// The data folder, when it has at least one of `places`; otherwise `test` is skipped.
pub(crate) fn root_with_any(test: &str, places: &[&str]) -> Option<DataRoot> {
    specimen_testdata::folder_with_any(test, places).map(DataRoot::new)
}
