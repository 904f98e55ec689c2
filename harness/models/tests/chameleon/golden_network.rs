//! The transformer against transformers' Chameleon: a prompt padded on the left in one row, a chain, a tree over the
//! cache; every shape of the norms, both key layouts, both places of the norms.

use std::rc::Rc;

use specimen_decode::{
    dist::TokenId,
    generation::{Generation, Scores},
    tree::{NodeId, Proposal, TokenTree},
};
use specimen_models::{
    families::chameleon::{ChameleonConfig, ChameleonImage, ChameleonNetwork, KeyLayout, QkNormShape},
    llama::{layer::causal_mask, padded::Padding},
    seam::{
        backbone::Backbone,
        distributions::distributions,
        generation::ModelGeneration,
        kv::{KvCache, KvShape},
        static_steps::StepBuffers,
    },
};
use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Device, Kind, Tensor, no_grad};

use crate::{
    reference::{
        N_CHAIN, N_PREFIX, N_TREE, PADS, config, distance, expected, golden, image, image_words, network,
        tree_mask,
    },
    rule::{ByRule, values},
    support::{GUIDED, MAX_TREE},
};

/// Features and logits of prompt and chain, then of the tree: `[2, n, ..]` each.
fn run(image: &ChameleonImage, cache: &mut KvCache) -> [Tensor; 4] {
    no_grad(|| {
        let n = N_PREFIX + N_CHAIN;
        let embed = |tokens: &Tensor| image.embed(tokens, tokens).unsqueeze(0).expand([2, -1, -1], false);
        let prompt = image.network().embed_words(&expected("prompt"));
        let x = Tensor::cat(&[prompt, embed(&expected("chain"))], 1);
        let positions = Tensor::arange(n, (Kind::Int64, x.device()));
        let chain = image.forward(&x, &positions, cache, Some(&causal_mask(n, cache.kind())));
        cache.keep(&(0..n).collect::<Vec<_>>());
        let at = expected("depth") + n;
        let tree = image.forward(&embed(&expected("tree")), &at, cache, Some(&tree_mask(0)));
        let (of_chain, of_tree) = (image.logits(&chain), image.logits(&tree));
        [chain, of_chain, tree, of_tree]
    })
}

const PARTS: [&str; 4] = ["chain.features", "chain.logits", "tree.features", "tree.logits"];

#[track_caller]
fn check(network: ChameleonNetwork, name: &str) {
    let (image, mut cache) = image(network, Kind::Float);
    for (found, part) in run(&image, &mut cache).iter().zip(PARTS) {
        let first = if part.starts_with("chain") { PADS[1] } else { 0 };
        let distance = distance(found, &expected(&format!("{name}.{part}")), first);
        // f32 sums of 16 to 24 products in two layers, logits of scale 5.
        assert!(distance < 1e-4, "{name}, {part}: {distance}");
    }
}

#[test]
fn features_and_logits_are_those_of_transformers() {
    check(network(QkNormShape::Rows(2), false, Kind::Float), "rows");
}

#[test]
fn one_row_of_norms_serves_all_heads_in_either_shape() {
    check(network(QkNormShape::Rows(1), false, Kind::Float), "shared");
    check(network(QkNormShape::Vector, false, Kind::Float), "shared");
}

#[test]
fn a_row_of_norms_serves_a_run_of_neighbouring_heads() {
    /// As the rule, with each of two rows of norms twice in a row.
    struct Twice;
    impl ParamSource for Twice {
        fn param(&mut self, name: &str, shape: &[i64], _: Init) -> Result<Tensor, LoadError> {
            let is_norm = name.contains("q_norm") || name.contains("k_norm");
            let rows = || values(name, &[2, 4]).index_select(0, &Tensor::from_slice(&[0_i64, 0, 1, 1]));
            Ok(if is_norm { rows() } else { values(name, shape) })
        }
    }
    let four = |rows| ChameleonConfig { n_heads: 4, d_head: 4, ..config(QkNormShape::Rows(rows), false) };
    let network = |source: &mut dyn ParamSource, rows| {
        ChameleonNetwork::new(source, &four(rows), KeyLayout::Hf, &image_words()).unwrap()
    };
    let run = |network: ChameleonNetwork| {
        let image = ChameleonImage::new(Rc::new(network), Padding::new(PADS.to_vec()));
        let shape = KvShape { n_layers: 2, n_rows: 2, n_heads: 4, d_head: 4, capacity: 32 };
        run(&image, &mut KvCache::new(shape, Kind::Float, Device::Cpu))
    };
    let [found, expected] = [run(network(&mut ByRule(Kind::Float), 2)), run(network(&mut Twice, 4))];
    for (found, expected) in found.iter().zip(&expected) {
        assert!(distance(found, expected, 0) < 1e-6);
    }
}

#[test]
fn what_is_tapped_is_what_enters_a_layer() {
    let (image, mut cache) = image(network(QkNormShape::Rows(2), false, Kind::Float), Kind::Float);
    let x = no_grad(|| image.network().embed_words(&expected("prompt")));
    let at = Tensor::arange(N_PREFIX, (Kind::Int64, x.device()));
    let mask = causal_mask(N_PREFIX, Kind::Float);
    let tapped = no_grad(|| image.forward_tapped(&x, &at, &mut cache, Some(&mask), &[0, 1]));
    assert_eq!((tapped.inner.len(), &tapped.inner[0]), (2, &x));
    assert_ne!(tapped.inner[1], x);
}

#[test]
fn norms_behind_the_branches_are_those_of_transformers() {
    check(network(QkNormShape::Rows(2), true, Kind::Float), "swin");
}

#[test]
fn metas_layout_is_the_same_network() {
    let mut file = golden("meta.safetensors");
    let config = config(QkNormShape::Vector, false);
    let network = ChameleonNetwork::new(&mut file, &config, KeyLayout::Meta, &image_words()).unwrap();
    file.ignore(|name| KeyLayout::Meta.is_beside(name));
    file.finish().unwrap();
    check(network, "shared");
}

/// Decodes the chain of `make.py` token by token, then scores its tree. Features of the caption's row, and distributions:
/// `[n, ..]` each, of chain and tree.
fn decoded(network: ChameleonNetwork, steps: Option<&Rc<StepBuffers>>) -> [Tensor; 2] {
    let tokens = |name: &str| Vec::<i64>::try_from(expected(name)).unwrap();
    let token = |id: i64| TokenId(id as u32);
    let (image, _) = image(network, Kind::Float);
    let prefix = no_grad(|| image.network().embed_words(&expected("prompt")));
    let mut generation = ModelGeneration::over(image, GUIDED, prefix, (16, MAX_TREE), steps);
    generation.prefill();
    let (mut features, mut laws): (Vec<f32>, Vec<f32>) = (Vec::new(), Vec::new());
    let mut read = |scores: &dyn Scores, n: usize| {
        for node in (0..n).map(NodeId) {
            features.extend_from_slice(&scores.feature(node));
            laws.extend_from_slice(scores.dist(node).probs());
        }
    };
    for id in tokens("chain") {
        read(&*generation.score(&TokenTree::new(token(id))), 1);
        generation.commit(&[TokenTree::ROOT]);
    }
    let ids = tokens("tree");
    let mut tree = TokenTree::new(token(ids[0]));
    for (parent, id) in [0, 0, 1, 2, 4].into_iter().zip(&ids[1..]) {
        tree.push(NodeId(parent), token(*id), Proposal::Chosen);
    }
    read(&*generation.score(&tree), ids.len());
    let n = N_CHAIN + N_TREE;
    [features, laws].map(|values| Tensor::from_slice(&values).view([n, -1]))
}

/// What `make.py` has of the slots of chain and tree: `[2, n, ..]`.
fn of_decoded(name: &str, part: &str) -> Tensor {
    let [chain, tree] = ["chain", "tree"].map(|slots| expected(&format!("{name}.{slots}.{part}")));
    Tensor::cat(&[chain.narrow(1, N_PREFIX, N_CHAIN), tree], 1)
}

#[test]
fn decoding_over_buffers_or_without_has_the_features_and_distributions_of_transformers() {
    for (name, norms, is_behind) in [
        ("rows", QkNormShape::Rows(2), false),
        ("shared", QkNormShape::Vector, false),
        ("swin", QkNormShape::Rows(2), true),
    ] {
        let laws = distributions(&of_decoded(name, "logits"), &GUIDED);
        for steps in [None, Some(Rc::default())] {
            let network = network(norms, is_behind, Kind::Float);
            let [features, found] = decoded(network, steps.as_ref());
            let distance = |a: &Tensor, b: &Tensor| (a - b).abs().max().double_value(&[]);
            let (of_features, of_laws) =
                (distance(&features, &of_decoded(name, "features").get(0)), distance(&found, &laws));
            // As for features and logits; guidance adds logits up to 2.5 times, a probability moves less than its logit.
            assert!(of_features < 1e-4, "{name}, over buffers {}: {of_features}", steps.is_some());
            assert!(of_laws < 1e-4, "{name}, over buffers {}: {of_laws}", steps.is_some());
        }
    }
}

/// bf16 rounds to 8 significant bits: a relative error of at most `2^-8` each time, uniform, so `2^-8 / sqrt(3)` in
/// the mean square. On the way to a logit values are rounded at the embedding, in each layer at 2 norms, 7 products of
/// rounded weights (twice each), the activation, its product and 2 sums, and at the last norm and the head (twice): 42
/// roundings. Errors of different places add in squares, none is amplified by the norms, so the relative error is
/// about `2^-8 sqrt(42 / 3)` = 1.5 % in the mean square; a factor 2 is left for attention, which is steeper than
/// linear.
#[test]
fn bf16_stays_within_the_error_of_its_roundings() {
    let network = network(QkNormShape::Rows(2), false, Kind::BFloat16);
    let (image, mut cache) = image(network, Kind::Float);
    for (found, part) in
        run(&image, &mut cache).iter().zip(PARTS).filter(|(_, part)| part.ends_with("logits"))
    {
        let expected = expected(&format!("rows.{part}"));
        let first = if part.starts_with("chain") { PADS[1] } else { 0 };
        let seen = |x: &Tensor| x.narrow(1, first, x.size()[1] - first).to_kind(Kind::Double);
        let norm = |x: &Tensor| x.square().mean(Kind::Double).sqrt().double_value(&[]);
        let error = norm(&(seen(found) - seen(&expected))) / norm(&seen(&expected));
        let bound = 2.0 * 2_f64.powi(-8) * (42.0_f64 / 3.0).sqrt();
        assert!(0.0 < error && error < bound, "{part}: {error}, bound {bound}");
    }
}

/// The same bound on what decoding reads of them: features are a product away from logits.
#[test]
fn features_in_bf16_over_buffers_stay_within_the_error_of_their_roundings() {
    let network = network(QkNormShape::Rows(2), false, Kind::BFloat16);
    let [features, _] = decoded(network, Some(&Rc::default()));
    let expected = of_decoded("rows", "features").get(0);
    let norm = |x: &Tensor| x.square().mean(Kind::Double).sqrt().double_value(&[]);
    let (error, bound) =
        (norm(&(features - &expected)) / norm(&expected), 2.0 * 2_f64.powi(-8) * (42.0_f64 / 3.0).sqrt());
    assert!(0.0 < error && error < bound, "{error}, bound {bound}");
}
