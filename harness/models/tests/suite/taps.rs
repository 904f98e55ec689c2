//! What a head reads of the target's inner layers: the same values on both ways through the network, and no
//! tapping without a head that asks for it.

use std::{cell::RefCell, rc::Rc};

use specimen_models::{
    heads::draft_head::DraftHead,
    llama::layer::{Turns, causal_mask},
    seam::{
        backbone::{Backbone, BackboneShape, Tapped},
        generation::ModelGeneration,
        kv::{KvCache, KvShape},
    },
};
use tch::{Kind, Tensor, no_grad};

use crate::support::{
    Choices, EVERY_HEAD, GUIDED, MAX_TREE, caption_rows, draft_for, igpt_backbone, random_history,
    tiny_backbone,
};

/// Notes which layers each forward was asked for.
struct Noting<B> {
    network: B,
    asked: Rc<RefCell<Vec<Vec<usize>>>>,
}

impl<B: Backbone> Backbone for Noting<B> {
    fn shape(&self) -> BackboneShape {
        self.network.shape()
    }

    fn kind(&self) -> Kind {
        self.network.kind()
    }

    fn embed(&self, tokens: &Tensor, positions: &Tensor) -> Tensor {
        self.network.embed(tokens, positions)
    }

    fn forward_tapped(
        &self,
        x: &Tensor,
        positions: &Tensor,
        cache: &mut KvCache,
        mask: Option<&Tensor>,
        layers: &[usize],
    ) -> Tapped {
        self.asked.borrow_mut().push(layers.to_vec());
        self.network.forward_tapped(x, positions, cache, mask, layers)
    }

    fn logits(&self, features: &Tensor) -> Tensor {
        self.network.logits(features)
    }

    fn turns(&self) -> Option<&Turns> {
        self.network.turns()
    }
}

/// What the forwards of one image were asked for, with this head or none.
fn asked(head: Option<Rc<dyn DraftHead>>) -> Vec<Vec<usize>> {
    let (network, asked) = (tiny_backbone(), Rc::default());
    let prefix = no_grad(|| network.embed_caption(&caption_rows(2)));
    let noting = Rc::new(Noting { network, asked: Rc::clone(&asked) });
    let mut generation = ModelGeneration::new(noting, GUIDED, prefix, 16, MAX_TREE);
    let _draft = head.map(|head| draft_for(head, &generation));
    random_history(&mut generation, 1, |_, _, _| {});
    asked.take()
}

#[test]
fn inner_layers_are_tapped_for_a_head_that_reads_them_and_for_nothing_else() {
    assert!(asked(None).iter().all(Vec::is_empty));
    for (name, head) in EVERY_HEAD {
        let asked = asked(Some(head()));
        assert!(asked.len() > 3, "{name}");
        assert!(asked.iter().all(|layers| layers == head().taps()), "{name}: {asked:?}");
    }
}

/// Everything `network` hands out for `x` behind an empty cache, tapped at `layers`.
fn tapped(network: &dyn Backbone, x: &Tensor, layers: &[usize]) -> Tapped {
    let BackboneShape { n_layers, n_heads, d_head, .. } = network.shape();
    let (n_rows, n, _) = x.size3().unwrap();
    let kv = KvShape { n_layers, n_rows, n_heads, d_head, capacity: n };
    let mut cache = KvCache::new(kv, network.kind(), tch::Device::Cpu);
    let positions = Tensor::arange(n, (Kind::Int64, tch::Device::Cpu));
    let mask = causal_mask(n, cache.kind());
    no_grad(|| network.forward_tapped(x, &positions, &mut cache, Some(&mask), layers))
}

fn distance(a: &Tensor, b: &Tensor) -> f64 {
    (a - b).abs().max().double_value(&[])
}

#[test]
fn the_first_layer_is_entered_by_the_input_and_every_layer_changes_it() {
    let tiny = tiny_backbone();
    let captions = no_grad(|| tiny.embed_caption(&caption_rows(2)));
    let igpt = igpt_backbone(2);
    let networks: [(&dyn Backbone, &Tensor); 2] = [(&tiny, &captions), (&igpt, &igpt.prefix())];
    for (network, x) in networks {
        let out = tapped(network, x, &[0, 0, 1]);
        assert_eq!(out.inner.len(), 3);
        assert_eq!((distance(&out.inner[0], x), distance(&out.inner[1], x)), (0.0, 0.0));
        assert!(distance(&out.inner[2], x) > 1e-2);
        assert_eq!(distance(&out.features, &tapped(network, x, &[]).features), 0.0);
    }
}

#[test]
fn decoding_and_training_tap_the_same_values() {
    let network = tiny_backbone();
    let mut choices = Choices::new(3);
    let tokens: Vec<i64> = (0..16).map(|_| i64::from(choices.token(11).0)).collect();
    let tokens = Tensor::from_slice(&tokens).unsqueeze(0).expand([2, -1], false);
    let of_training = no_grad(|| network.features_tapped(&caption_rows(2), &tokens, &[0, 1]));
    let fed = tokens.narrow(1, 0, 15);
    let x = no_grad(|| Tensor::cat(&[network.embed_caption(&caption_rows(2)), network.embed_batch(&fed)], 1));
    let of_decoding = tapped(&network, &x, &[0, 1]);
    for (a, b) in of_training.inner.iter().zip(&of_decoding.inner) {
        assert!(distance(a, &b.narrow(1, 2, 16)) < 1e-4);
    }
    assert!(distance(&of_training.features, &of_decoding.features.narrow(1, 2, 16)) < 1e-4);
}

#[test]
#[should_panic(expected = "layers [0, 2] are tapped, in a network of 2")]
fn a_layer_that_is_not_there_is_not_tapped() {
    let network = tiny_backbone();
    let captions = no_grad(|| network.embed_caption(&caption_rows(2)));
    tapped(&network, &captions, &[0, 2]);
}
