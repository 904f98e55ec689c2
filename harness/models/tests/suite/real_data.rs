//! Real weights and images, or a loud skip.

use std::{io::Write, path::Path};

use specimen_datasets::{data_root::DataRoot, mnist::Mnist};
use specimen_models::igpt::{IgptModel, IgptWeights};
use tch::{Device, Kind};

/// The real data folder, if it holds the weights and images; otherwise says that `test` is skipped.
pub(crate) fn data(test: &str) -> Option<DataRoot> {
    let root = DataRoot::find(Path::new(env!("CARGO_MANIFEST_DIR")));
    let weights = IgptWeights::ALL.map(IgptWeights::file);
    let needed =
        [weights[0], weights[1], "mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz"];
    let holds = |root: &DataRoot| needed.iter().all(|file| root.path().join(file).is_file());
    let found = root.filter(holds);
    if found.is_none() {
        skip(&format!("SKIPPED: {test}: not all of {needed:?} are below SPECIMEN_DATA"));
    }
    found
}

/// The real data folder, if it holds `file`; otherwise says that `test` is skipped.
pub(crate) fn file_below(test: &str, file: &str) -> Option<DataRoot> {
    let root = DataRoot::find(Path::new(env!("CARGO_MANIFEST_DIR")));
    let found = root.filter(|root| root.path().join(file).is_file());
    if found.is_none() {
        skip(&format!("SKIPPED: {test}: {file} is not below SPECIMEN_DATA"));
    }
    found
}

#[allow(clippy::print_stderr)] // A skipped test must be seen.
fn skip(line: &str) {
    assert!(std::env::var("STRICT").as_deref() != Ok("1"), "{line}");
    eprintln!("{line}");
    if let Some(log) = std::env::var_os("SPECIMEN_SKIP_LOG") {
        let mut log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        writeln!(log, "{line}").unwrap();
    }
}

pub(crate) fn mnist(root: &DataRoot) -> Mnist {
    let file = |name: &str| root.path().join("mnist").join(name);
    Mnist::read(&file("t10k-images-idx3-ubyte.gz"), &file("t10k-labels-idx1-ubyte.gz")).unwrap()
}

pub(crate) fn igpt(root: &DataRoot, which: IgptWeights) -> IgptModel {
    IgptModel::open(which, Some(root.path()), Kind::Float, Device::Cpu).unwrap()
}
