//! The EAGLE-1 head against `fc` and transformers' Chameleon layer over whole sequences, prompt included, one row
//! padded: first the slots taken in, then a tree, node by node.

use specimen_models::{
    families::chameleon::{ChameleonHead, QkNormShape},
    heads::draft_head::{DraftHead, Head},
    llama::{layer::causal_mask, padded::Padding},
    seam::{
        backbone::Backbone,
        kv::{KvCache, KvShape},
    },
};
use tch::{Device, Kind, Tensor, no_grad};

use crate::{
    reference::{N_CHAIN, N_PREFIX, N_TREE, PADS, config, distance, expected, image, network, tree_mask},
    rule::ByRule,
};

#[test]
fn predicted_features_are_those_of_transformers_with_the_prompt_in_sight() {
    no_grad(|| {
        let config = config(QkNormShape::Rows(2), false);
        let (image, mut cache) = image(network(QkNormShape::Rows(2), false, Kind::Float), Kind::Float);
        let prompt = image.network().embed_words(&expected("prompt"));
        let embed = |tokens: &Tensor| image.embed(tokens, tokens).unsqueeze(0).expand([2, -1, -1], false);
        let chain = embed(&expected("chain"));
        let n = N_PREFIX + N_CHAIN;
        let at = |from: i64, n: i64| Tensor::arange_start(from, from + n, (Kind::Int64, Device::Cpu));
        let x = Tensor::cat(&[&prompt, &chain], 1);
        let features = image.forward(&x, &at(0, n), &mut cache, Some(&causal_mask(n, Kind::Float)));

        let head = ChameleonHead::new(&mut ByRule(Kind::Float), &config, true).unwrap();
        let shape = KvShape { n_layers: 1, n_rows: 2, n_heads: 2, d_head: 8, capacity: 32 };
        let mut cache = KvCache::new(shape, Kind::Float, Device::Cpu);
        let padding = Padding::new(PADS.to_vec());
        let turns = |at: &Tensor| image.turns().unwrap().at(at, [4, 2]);

        // Each word but the first goes with the feature before it.
        let n_pairs = n - 1;
        let following = x.narrow(1, 1, n_pairs);
        let mask = padding.hide(Some(&causal_mask(n_pairs, Kind::Float)), n_pairs, 0, Kind::Float, &x);
        let paired = features.narrow(1, 0, n_pairs);
        let turns_of_pairs = turns(&at(1, n_pairs));
        let taken = head.step(&following, &paired, &turns_of_pairs, &mut cache.layers()[0], mask.as_ref());
        let taken = taken.narrow(1, N_PREFIX - 1, N_CHAIN);
        cache.keep(&(0..n_pairs).collect::<Vec<_>>());
        let of_image = |x: &Tensor| x.narrow(1, N_PREFIX - 1, N_CHAIN);
        check("chain.features", &taken, &of_image(&expected("head.chain.features")));
        check("chain.logits", &head.logits(&*image, &taken), &of_image(&expected("head.chain.logits")));

        let (mask, tokens, depth) = (tree_mask(N_PREFIX), embed(&expected("tree")), expected("depth"));
        let parents = [None, Some(0), Some(0), Some(1), Some(2), Some(4)];
        let mut predicted: Vec<Tensor> = Vec::new();
        for (node, parent) in (0..N_TREE).zip(parents) {
            let joined = match parent {
                None => features.narrow(1, n - 1, 1),
                Some(parent) => predicted[parent as usize].shallow_clone(),
            };
            let turns = turns(&(depth.narrow(0, node, 1) + n));
            let seen = mask.narrow(0, node, 1).narrow(1, 0, N_CHAIN + node + 1);
            let in_front = Tensor::zeros([1, N_PREFIX - 1], (Kind::Float, Device::Cpu));
            let seen = Tensor::cat(&[in_front, seen], 1);
            let seen = padding.hide(Some(&seen), 1, n_pairs + node, Kind::Float, &x);
            let layer = &mut cache.layers_from(n_pairs + node)[0];
            predicted.push(head.step(&tokens.narrow(1, node, 1), &joined, &turns, layer, seen.as_ref()));
        }
        let predicted = Tensor::cat(&predicted, 1);
        check("tree.features", &predicted, &expected("head.tree.features"));
        check("tree.logits", &head.logits(&*image, &predicted), &expected("head.tree.logits"));
    });
}

#[track_caller]
fn check(part: &str, found: &Tensor, expected: &Tensor) {
    let distance = distance(found, expected, 0);
    // f32 sums of 16 to 32 products in a layer, logits of scale 5.
    assert!(distance < 1e-4, "{part}: {distance}");
}
