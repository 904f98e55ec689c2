//! What `golden/make.py` wrote down, and the sizes of its network.

use std::{path::Path, rc::Rc};

use specimen_models::{
    families::chameleon::{
        ChameleonConfig, ChameleonImage, ChameleonNetwork, ImageWords, KeyLayout, QkNormShape,
    },
    llama::padded::Padding,
    seam::kv::{KvCache, KvShape},
};
use specimen_weights::Checkpoint;
use tch::{Device, Kind, Tensor};

use crate::rule::ByRule;

pub(crate) const N_PREFIX: i64 = 9;
pub(crate) const PADS: [i64; 2] = [0, 4];
pub(crate) const N_CHAIN: i64 = 3;
pub(crate) const N_TREE: i64 = 6;
const CODES: [i64; 8] = [7, 4, 11, 9, 5, 10, 6, 8];

/// A file of the folder `golden`.
pub(crate) fn golden(file: &str) -> Checkpoint {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/chameleon/golden").join(file);
    Checkpoint::open(&path, None, Device::Cpu).unwrap()
}

/// The tensor `name` of the expected values.
pub(crate) fn expected(name: &str) -> Tensor {
    let mut file = golden("expected.safetensors");
    let shape = file.shape(name).unwrap().to_vec();
    file.take(name, &shape).unwrap()
}

/// Sizes of the network of `make.py`.
pub(crate) fn config(qk_norm: QkNormShape, swin_norm: bool) -> ChameleonConfig {
    ChameleonConfig {
        n_words: 48,
        d_model: 16,
        n_layers: 2,
        n_heads: 2,
        d_head: 8,
        d_ffn: 24,
        rope_base: 10_000.0,
        norm_eps: 1e-5,
        swin_norm,
        n_positions: 64,
        qk_norm,
    }
}

/// The words that are codes, in the order of the codebook.
pub(crate) fn image_words() -> ImageWords {
    ImageWords { codes: CODES.to_vec(), structural: Vec::new() }
}

/// A network with weights by the rule.
pub(crate) fn network(qk_norm: QkNormShape, swin_norm: bool, kind: Kind) -> ChameleonNetwork {
    let config = config(qk_norm, swin_norm);
    ChameleonNetwork::new(&mut ByRule(kind), &config, KeyLayout::Hf, &image_words()).unwrap()
}

/// An image over `network` behind the prompt of `make.py`, and an empty cache for it.
pub(crate) fn image(network: ChameleonNetwork, kind: Kind) -> (Rc<ChameleonImage>, KvCache) {
    let image = ChameleonImage::new(Rc::new(network), Padding::new(PADS.to_vec()));
    let shape = KvShape { n_layers: 2, n_rows: 2, n_heads: 2, d_head: 8, capacity: 32 };
    (Rc::new(image), KvCache::new(shape, kind, Device::Cpu))
}

/// The mask of the tree of `make.py` for entries from `from` on: `[n_tree, n_prefix + n_chain + n_tree - from]`.
pub(crate) fn tree_mask(from: i64) -> Tensor {
    let visible = expected("tree_visible");
    let visible = visible.narrow(1, from, visible.size()[1] - from);
    visible.zeros_like().to_kind(Kind::Float).masked_fill(&visible.eq(0), f64::NEG_INFINITY)
}

/// Largest entry-wise distance between `found` and `expected` (`[2, n, ..]`), where slots before `first` in the
/// second row are padding that nobody sees.
pub(crate) fn distance(found: &Tensor, expected: &Tensor, first: i64) -> f64 {
    assert_eq!(found.size(), expected.size());
    let difference = (found.to_kind(Kind::Double) - expected.to_kind(Kind::Double)).abs();
    let seen = difference.get(1).narrow(0, first, difference.size()[1] - first);
    difference.get(0).max().double_value(&[]).max(seen.max().double_value(&[]))
}
