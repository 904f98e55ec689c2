//! The pipeline's filters beside the warpers of transformers, over `golden/samplers.json` (`golden/samplers.py` makes
//! it): temperature, top-k and top-p in the order of `generate`, and top-p first, as EAGLE and LANTERN run them.
//!
//! Two differences are meant. A token with exactly `top_p` of mass above it is kept here, as in LlamaGen
//! (`cumulative - own > top_p` removes), and removed there (`1 - top_p` or less from below). Of equal logits across
//! the boundary the lowest ids are kept here, the highest there.

use std::collections::BTreeMap;

use serde::Deserialize;
use specimen_decode::pipeline::{FilterOrder, Sampling, distribution};

const GOLDEN: &str = include_str!("../golden/samplers.json");

#[derive(Deserialize)]
struct Golden {
    rows: BTreeMap<String, Vec<f32>>,
    cases: Vec<Case>,
    edges: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
struct Case {
    row: String,
    temperature: f64,
    top_k: u32,
    top_p: f64,
    order: String,
    /// Probabilities of the tokens that are left, by id.
    kept: BTreeMap<usize, f32>,
}

#[derive(Deserialize)]
struct Edge {
    what: String,
    logits: Vec<f32>,
    top_p: f64,
    probs: Vec<f32>,
}

fn golden() -> Golden {
    serde_json::from_str(GOLDEN).unwrap()
}

fn sampling(temperature: f64, top_k: u32, top_p: f64, filter_order: FilterOrder) -> Sampling {
    Sampling { guidance: 1.0, temperature, top_k, top_p, filter_order, coupled: false }
}

#[test]
fn distributions_are_those_of_the_warpers_of_transformers() {
    let Golden { rows, cases, .. } = golden();
    let mut n_both = BTreeMap::new();
    for case in &cases {
        let order = match case.order.as_str() {
            "top-k-first" => FilterOrder::TopKThenTopP,
            "top-p-first" => FilterOrder::TopPThenTopK,
            other => panic!("order {other}"),
        };
        let row = &rows[&case.row];
        let found = distribution(row, None, &sampling(case.temperature, case.top_k, case.top_p, order));
        for (id, &p) in found.probs().iter().enumerate() {
            let expected = case.kept.get(&id).copied();
            assert_eq!(expected.is_some(), 0.0 < p, "token {id} of {case:?}");
            assert!((expected.unwrap_or(0.0) - p).abs() < 1e-6, "token {id} has {p} in {case:?}");
        }
        *n_both.entry(case.order.clone()).or_insert(0) += usize::from(case.top_k > 0 && case.top_p < 1.0);
    }
    // Both orders with both filters on, and a tie at the k-th value, or the fixture says little.
    assert!(n_both.len() == 2 && n_both.values().all(|&n| 80 < n), "{n_both:?}");
    assert!(
        cases
            .iter()
            .any(|case| 1 < case.top_k && case.top_p == 1.0 && (case.top_k as usize) < case.kept.len())
    );
}

#[test]
fn at_the_boundary_of_top_p_both_differences_are_the_documented_ones() {
    let ours = |edge: &Edge| {
        distribution(&edge.logits, None, &sampling(1.0, 0, edge.top_p, FilterOrder::TopKThenTopP))
            .probs()
            .to_vec()
    };
    let edges = golden().edges;
    let edge = |what: &str| edges.iter().find(|edge| edge.what == what).unwrap();
    let exact = edge("exact");
    let third = 1.0 / 3.0;
    assert_eq!(
        (exact.probs.as_slice(), ours(exact)),
        (&[0.0, 0.0, 0.5, 0.5][..], vec![third, third, third, 0.0])
    );
    let tie = edge("tie");
    let found = ours(tie);
    let kept = |probs: &[f32]| probs.iter().map(|&p| 0.0 < p).collect::<Vec<_>>();
    assert_eq!(kept(&tie.probs), [false, true, false, true, false]);
    assert_eq!(kept(&found), [true, true, false, false, false]);
    assert!((found[0] - tie.probs[3]).abs() < 1e-6 && (found[1] - tie.probs[1]).abs() < 1e-6);
}
