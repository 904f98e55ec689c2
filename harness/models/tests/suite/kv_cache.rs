//! P16 and P17: whatever was accepted, rejected and skipped before, distributions are those of one fresh forward.

use std::rc::Rc;

use specimen_decode::{
    dist::{Dist, TokenId},
    generation::Generation,
    tree::TokenTree,
};
use specimen_models::seam::kv::{KvCache, KvShape};
use tch::{Device, Kind, Tensor};

use crate::support::{
    EVERY_NETWORK, F32, check_distribution, fresh_distribution, path_tokens, random_history, skipping_history,
};

#[test]
fn distributions_after_any_history_equal_those_of_a_fresh_forward() {
    for (name, open) in EVERY_NETWORK {
        let fresh = open();
        for seed in 0..4 {
            random_history(&mut open(), seed, |tokens, tree, dists| {
                for (node, dist) in tree.ids().zip(dists) {
                    // A node in the image's last position has no distribution.
                    if tokens.len() + tree[node].depth < fresh.n_tokens() {
                        let all = [&tokens[..tokens.len() - 1], &path_tokens(tree, node)].concat();
                        check_distribution(dist, &fresh_distribution(&fresh, &all), F32, name);
                    }
                }
            });
        }
    }
}

#[test]
fn the_forward_after_a_skip_writes_the_missing_keys_and_values() {
    for (name, open) in EVERY_NETWORK {
        let fresh = open();
        let mut n_skips = 0;
        for seed in 0..6 {
            let check = |tokens: &[TokenId], tree: &TokenTree, dists: &[Rc<Dist>]| {
                for (node, dist) in tree.ids().zip(dists) {
                    if tokens.len() + tree[node].depth < fresh.n_tokens() {
                        let all = [&tokens[..tokens.len() - 1], &path_tokens(tree, node)].concat();
                        check_distribution(dist, &fresh_distribution(&fresh, &all), F32, name);
                    }
                }
            };
            n_skips += skipping_history(&mut open(), seed, |_, _| {}, check);
        }
        assert!(n_skips > 5, "{name}: {n_skips} skips show nothing");
    }
}

#[test]
fn the_prefill_gives_the_distribution_of_the_first_token() {
    for (name, open) in EVERY_NETWORK {
        check_distribution(&open().prefill(), &fresh_distribution(&open(), &[]), F32, name);
    }
}

/// A cache of one layer, head and dimension; entry `i` is written as `values[i]`.
fn cache_of(values: &[f32], capacity: i64) -> KvCache {
    let shape = KvShape { n_layers: 1, n_rows: 1, n_heads: 1, d_head: 1, capacity };
    let mut cache = KvCache::new(shape, Kind::Float, Device::Cpu);
    let entries = Tensor::from_slice(values).view([1, 1, -1, 1]);
    let _ = cache.layers()[0].append(&Tensor::cat(&[&entries, &-&entries], 1));
    cache
}

/// All valid keys, with one more entry `next` behind them.
fn keys_before(cache: &mut KvCache, next: f32) -> Vec<f32> {
    let entry = Tensor::from_slice(&[next]).view([1, 1, 1, 1]);
    let (keys, values) = cache.layers()[0].append(&Tensor::cat(&[&entry, &-&entry], 1));
    assert_eq!(keys, -values);
    Vec::try_from(keys.reshape([-1])).unwrap()
}

#[test]
fn kept_entries_move_to_the_front_and_the_rest_is_overwritten() {
    let mut cache = cache_of(&[0.0, 1.0, 2.0, 3.0, 4.0], 8);
    cache.keep(&[0, 2, 3]);
    assert_eq!((cache.len(), keys_before(&mut cache, 9.0)), (3, vec![0.0, 2.0, 3.0, 9.0]));
    cache.truncate(1);
    assert_eq!((cache.len(), keys_before(&mut cache, 8.0)), (1, vec![0.0, 8.0]));
}

#[test]
#[should_panic(expected = "a cache of 3 entries that holds 3 has no room for 1")]
fn a_cache_never_grows() {
    let mut cache = cache_of(&[0.0, 1.0, 2.0], 3);
    cache.keep(&[0, 1]);
    assert_eq!(keys_before(&mut cache, 7.0), [0.0, 1.0, 7.0]);
    cache.keep(&[0]);
    let _ = keys_before(&mut cache, 8.0);
}
