//! Real weights and images, or a loud skip.

use specimen_datasets::{data_root::DataRoot, mnist::Mnist};
use specimen_hub::Places;
use specimen_models::igpt::{IgptModel, IgptWeights};
use tch::{Device, Kind};

/// The real data folder, if it holds the weights and images; otherwise `test` is skipped.
pub(crate) fn data(test: &str) -> Option<DataRoot> {
    let weights = IgptWeights::ALL.map(IgptWeights::file);
    let needed =
        [weights[0], weights[1], "mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz"];
    specimen_testdata::folder_with(test, &needed).map(DataRoot::new)
}

/// The real data folder, if it holds `file`; otherwise `test` is skipped.
pub(crate) fn file_below(test: &str, file: &str) -> Option<DataRoot> {
    specimen_testdata::folder_with(test, &[file]).map(DataRoot::new)
}

pub(crate) fn mnist(root: &DataRoot) -> Mnist {
    let file = |name: &str| root.path().join("mnist").join(name);
    Mnist::read(&file("t10k-images-idx3-ubyte.gz"), &file("t10k-labels-idx1-ubyte.gz")).unwrap()
}

/// The data folder and no other place: what the user's caches hold has no say in a test.
pub(crate) fn only(root: &DataRoot) -> Places {
    Places { own: vec![root.path().to_owned()], ..Places::default() }
}

pub(crate) fn igpt(root: &DataRoot, which: IgptWeights) -> IgptModel {
    IgptModel::open(which, &only(root), Kind::Float, Device::Cpu).unwrap()
}
