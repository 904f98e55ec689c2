//! Distributions on tensors equal the plain-Rust reference, setting by setting.

use specimen_decode::{
    dist::Dist,
    pipeline::{self, FilterOrder, Sampling},
    rng::{Purpose, Uniforms},
};
use specimen_models::seam::distributions::{DistributionRows, distributions, likeliest};
use tch::Tensor;

use crate::support::{PLAIN, check_distribution};

const N_ROWS: usize = 6;
const N_VOCAB: usize = 40;

/// `[n_guidance_rows, 6, 40]` logits; half the rows are rounded, so that they are full of ties.
fn logits(n_guidance_rows: usize) -> Vec<Vec<Vec<f32>>> {
    let uniforms = Uniforms::new(8);
    let value = |b: usize, row: usize, v: usize| {
        let x = 8.0 * uniforms.uniform(Purpose::Init, (b * N_ROWS + row) as u32, v as u32) - 4.0;
        (if row.is_multiple_of(2) { x } else { x.round() }) as f32
    };
    let row = |b, row| (0..N_VOCAB).map(|v| value(b, row, v)).collect();
    (0..n_guidance_rows).map(|b| (0..N_ROWS).map(|i| row(b, i)).collect()).collect()
}

fn check(sampling: Sampling) {
    let n_guidance_rows = if sampling.guidance == 1.0 { 1 } else { 2 };
    let logits = logits(n_guidance_rows);
    let flat: Vec<f32> = logits.iter().flatten().flatten().copied().collect();
    let tensor = Tensor::from_slice(&flat).view([n_guidance_rows as i64, N_ROWS as i64, N_VOCAB as i64]);
    let found = DistributionRows::new(distributions(&tensor, &sampling)).all();
    for (i, found) in found.iter().enumerate() {
        let unconditional = logits.get(1).map(|rows| rows[i].as_slice());
        let expected = pipeline::distribution(&logits[0][i], unconditional, &sampling);
        check_distribution(found, expected.probs(), 1e-5, &format!("row {i} under {sampling:?}"));
        let support = |probs: &[f32]| probs.iter().map(|p| *p > 0.0).collect::<Vec<_>>();
        assert_eq!(
            support(found.probs()),
            support(expected.probs()),
            "support of row {i} under {sampling:?}"
        );
    }
}

#[test]
fn distributions_on_tensors_equal_the_reference_for_every_setting() {
    for guidance in [1.0, 3.0, 7.5, 0.0] {
        for temperature in [1.0, 0.7, 1.9] {
            for top_k in [0, 1, 3, 10, 39, 40, 1000] {
                for top_p in [1.0, 0.93, 0.5, 0.1] {
                    for filter_order in [FilterOrder::TopKThenTopP, FilterOrder::TopPThenTopK] {
                        check(Sampling { guidance, temperature, top_k, top_p, filter_order, coupled: false });
                    }
                }
            }
        }
    }
}

#[test]
fn greedy_distributions_are_the_reference_argmax_ties_included() {
    for guidance in [1.0, 3.0] {
        for temperature in [0.0, 1e-5] {
            check(Sampling { guidance, temperature, top_k: 5, top_p: 0.5, ..PLAIN });
        }
    }
}

/// Logits of a network that has broken down.
/// Probabilities in eighths, so that most are as large as another.
#[test]
fn the_most_probable_tokens_are_found_on_the_device_as_on_the_host_ties_included() {
    let rows =
        [[1.0, 3.0, 0.0, 3.0, 1.0, 0.0], [2.0, 2.0, 2.0, 2.0, 0.0, 0.0], [0.0, 0.0, 8.0, 0.0, 0.0, 0.0]];
    let rows = rows.map(|row| row.map(|eighths: f32| eighths / 8.0));
    let on_device = Tensor::from_slice(&rows.concat()).view([3, 6]);
    for k in [1, 2, 3, 5, 6, 9] {
        let found = likeliest(&on_device, k);
        let expected = rows.map(|row| Dist::from_probs(row.to_vec()).likeliest(k));
        assert_eq!(found, expected, "the first {k}");
    }
}

fn broken_distributions(temperature: f64) {
    let logits = Tensor::from_slice(&[0.0, f32::NAN, 1.0]).view([1, 1, 3]);
    let _ = DistributionRows::new(distributions(&logits, &Sampling { temperature, ..PLAIN })).row(0);
}

#[test]
#[should_panic(expected = "a distribution sums to 1")]
fn a_nan_is_noticed_when_sampling() {
    broken_distributions(1.0);
}

#[test]
#[should_panic(expected = "a distribution sums to 1")]
fn a_nan_is_noticed_when_greedy() {
    broken_distributions(0.0);
}
