//! The EAGLE-1 head against `fc` and transformers' Chameleon layer over whole sequences, prompt included, one row
//! padded: first the slots taken in, then a tree, node by node.

use std::rc::Rc;

use specimen_models::{
    families::chameleon::{ChameleonHead, ImageHead, QkNormShape},
    heads::draft_head::{DraftHead, Head},
    llama::layer::causal_mask,
    seam::{
        backbone::Backbone,
        kv::{KvCache, KvShape},
    },
};
use tch::{Device, Kind, Tensor, no_grad};

use crate::{
    reference::{N_CHAIN, N_PREFIX, N_TREE, config, distance, expected, image, network, tree_mask},
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

        let head = Rc::new(ChameleonHead::new(&mut ByRule(Kind::Float), &config, true).unwrap());
        let head = ImageHead::new(head, image.clone());
        let shape = KvShape { n_layers: 1, n_rows: 2, n_heads: 2, d_head: 8, capacity: 16 };
        let mut cache = KvCache::with_front(shape, head.n_front(), Kind::Float, Device::Cpu);
        let turns = |at: &Tensor| image.turns().unwrap().at(at, 2);

        // All see the entries of the prompt.
        let in_front = Tensor::zeros([N_CHAIN.max(N_TREE), head.n_front()], (Kind::Float, Device::Cpu));
        let whole = |mask: &Tensor| Tensor::cat(&[&in_front.narrow(0, 0, mask.size()[0]), mask], 1);
        // The first image token goes with the last feature of the prompt.
        let mask = whole(&causal_mask(N_CHAIN, Kind::Float));
        let paired = features.narrow(1, N_PREFIX - 1, N_CHAIN);
        let taken =
            head.step(&chain, &paired, &turns(&at(N_PREFIX, N_CHAIN)), &mut cache.layers()[0], Some(&mask));
        cache.keep(&(0..N_CHAIN).collect::<Vec<_>>());
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
            let mask = whole(&mask.narrow(0, node, 1).narrow(1, 0, N_CHAIN + node + 1));
            let layer = &mut cache.layers_from(N_CHAIN + node)[0];
            predicted.push(head.step(&tokens.narrow(1, node, 1), &joined, &turns, layer, Some(&mask)));
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
