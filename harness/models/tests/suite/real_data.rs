//! Real weights and images, or a loud skip.

use specimen_catalog::{entry, hub::Places};
use specimen_datasets::{data_root::DataRoot, mnist::Mnist};
use specimen_decode::dist::TokenId;
use specimen_models::{
    families::igpt::{self, Palette},
    seam::loaded_model::LoadedModel,
};
use specimen_weights::Checkpoint;
use tch::{Device, Kind};

/// The real data folder, if it holds the weights and images; otherwise `test` is skipped.
pub(crate) fn data(test: &str) -> Option<DataRoot> {
    let [mnist, fashion] = NAMES.map(file);
    let needed = [mnist, fashion, "mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz"];
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

/// The Image-GPTs of the catalog.
pub(crate) const NAMES: [&str; 2] = ["igpt-mnist", "igpt-fmnist"];

/// The weights file of the Image-GPT `name`, below a data folder.
pub(crate) fn file(name: &str) -> &'static str {
    entry(name).unwrap().files[0].converted.as_deref().unwrap()
}

pub(crate) fn igpt(root: &DataRoot, name: &str) -> LoadedModel {
    igpt::open(entry(name).unwrap(), &only(root), Kind::Float, Device::Cpu).unwrap()
}

/// The grey levels of the Image-GPT `name`.
pub(crate) fn palette(root: &DataRoot, name: &str) -> Palette {
    let path = root.path().join(file(name));
    let mut checkpoint = Checkpoint::open(&path, Some(Kind::Float), Device::Cpu).unwrap();
    Palette::load(&mut checkpoint, 16).unwrap()
}

/// The token of nearest intensity for each grey byte, ties to the lowest id.
pub(crate) fn tokenize(palette: &Palette, grey: &[u8]) -> Vec<TokenId> {
    let distance = |byte: u8, token: usize| (palette.centroids()[token] - f32::from(byte) / 255.0).abs();
    let nearest = |byte: u8| (0..16).min_by(|&a, &b| distance(byte, a).total_cmp(&distance(byte, b)));
    grey.iter().map(|&byte| TokenId(nearest(byte).unwrap() as u32)).collect()
}
