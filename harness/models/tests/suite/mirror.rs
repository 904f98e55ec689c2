//! The norm of decoding is the norm that training sees.

use specimen_models::llama::{
    layer::rms_norm,
    mirror::{MirrorNorm, Mirrored},
};
use tch::{Device, Kind, Tensor};

const EPS: f64 = 1e-5;

/// A stream with a mean far from 0, `[2, 3, 48]`, and a weight, `[48]`.
fn stream_and_weight(kind: Kind) -> (Tensor, Tensor) {
    let ramp = |n: i64, step: f64| (Tensor::arange(n, (Kind::Float, Device::Cpu)) * step).sin();
    ((ramp(2 * 3 * 48, 0.7) * 2.0 + 1.5).view([2, 3, 48]).to_kind(kind), (ramp(48, 0.3) + 1.2).to_kind(kind))
}

fn check(kind: Kind, tolerance: f64) {
    let (x, weight) = stream_and_weight(kind);
    let exact = rms_norm(&x.to_kind(Kind::Double), &weight.to_kind(Kind::Double), EPS);
    for stream in [Mirrored::new(&x), Mirrored::plain(&x)] {
        let found = MirrorNorm::new(&weight, EPS).forward(&stream);
        assert_eq!((found.size(), found.kind()), (x.size(), kind));
        let error =
            ((found.to_kind(Kind::Double) - &exact) / (exact.abs() + 0.1)).abs().max().double_value(&[]);
        assert!(error < tolerance, "{kind:?}: {error}");
    }
}

#[test]
fn in_f32_it_is_the_root_mean_square_norm() {
    check(Kind::Float, 1e-6);
}

#[test]
fn in_bf16_it_rounds_once() {
    check(Kind::BFloat16, 1.0 / 256.0);
}

#[test]
fn a_branch_is_added_to_the_stream_and_to_its_negation() {
    let (x, _) = stream_and_weight(Kind::BFloat16);
    let branch = x.flip([2]);
    let sum = Mirrored::new(&x).plus(&branch);
    assert_eq!(sum.value(), &x + &branch);
    assert_eq!(Mirrored::plain(&x).plus(&branch).value(), &x + &branch);
    let weight = Tensor::ones([48], (Kind::BFloat16, Device::Cpu));
    let norm = MirrorNorm::new(&weight, EPS);
    assert_eq!(norm.forward(&sum), norm.forward(&Mirrored::new(&(x + branch))));
}
