//! Linear maps while decoding.

use specimen_foundation::processor;
use tch::{Device, Kind, Tensor};

/// Rows from which a product in f32 repays that any weight is converted for it: `docs/measurements/2026-11-27-bf16-in-f32.md`.
const ENOUGH_ROWS: i64 = 14;
/// The same of a weight of [`FEW_NUMBERS`] at most, which stays in the processor's cache.
const ENOUGH_ROWS_OF_FEW: i64 = 2;
/// 2 MiB in bf16.
const FEW_NUMBERS: i64 = 1 << 20;

/// `x` times the transpose of `weight`, plus `bias`, as [`Tensor::linear`]. `x`: `[.., d]`; `weight`: `[n, d]`; `bias`: `[n]`.
/// Returns `[.., n]`.
///
/// On a processor that multiplies no bf16, libtorch takes products of several rows in bf16 number by number. There they are taken
/// in f32 and rounded to bf16 once. libtorch adds them up in f32 too, in another order.
pub(crate) fn linear(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Tensor {
    let is_slow = || x.device() == Device::Cpu && x.kind() == Kind::BFloat16 && !processor::has_bf16();
    if is_slow() && repays(x, weight) { in_f32(x, weight, bias) } else { x.linear(weight, bias) }
}

/// Whether the product is worth a conversion of `weight`.
fn repays(x: &Tensor, weight: &Tensor) -> bool {
    let n_rows = x.numel() as i64 / x.size().last().copied().unwrap_or(1).max(1);
    let enough = if weight.numel() as i64 <= FEW_NUMBERS { ENOUGH_ROWS_OF_FEW } else { ENOUGH_ROWS };
    n_rows >= enough
}

/// The product of bf16 numbers in f32, rounded once.
fn in_f32(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Tensor {
    let [of_x, of_weight] = [x, weight].map(|each| each.to_kind(Kind::Float));
    of_x.linear(&of_weight, bias.map(|bias| bias.to_kind(Kind::Float))).to_kind(x.kind())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without a pattern that a product could follow.
    fn uneven(shape: [i64; 2]) -> Tensor {
        let n = shape[0] * shape[1];
        let angles = Tensor::arange(n, (Kind::Double, Device::Cpu)).square();
        (angles.sin() * 2.0).view(shape).to_kind(Kind::BFloat16)
    }

    /// One unit in the last place of bf16 has 2^-8 of a number at most: sums in another order may round to a neighbour.
    #[test]
    fn products_in_f32_are_those_of_bf16_but_for_a_rounding() {
        let _guard = tch::no_grad_guard();
        let (x, weight, bias) = (uneven([14, 160]), uneven([480, 160]), uneven([1, 480]).view([480]));
        for bias in [None, Some(&bias)] {
            let (native, ours) = (x.linear(&weight, bias), in_f32(&x, &weight, bias));
            assert_eq!((ours.size(), ours.kind()), (native.size(), Kind::BFloat16));
            let exact = x.to_kind(Kind::Double).matmul(&weight.to_kind(Kind::Double).transpose(0, 1))
                + bias.map_or_else(
                    || Tensor::zeros([480], (Kind::Double, Device::Cpu)),
                    |b| b.to_kind(Kind::Double),
                );
            let error = |found: &Tensor| {
                let share = (found.to_kind(Kind::Double) - &exact).abs() / (exact.abs() + 0.05);
                share.max().double_value(&[])
            };
            let [of_native, of_ours] = [&native, &ours].map(error);
            assert!(of_ours <= 1.0 / 256.0, "{of_ours} against {of_native} of libtorch's");
        }
    }

    #[test]
    fn a_large_weight_is_converted_for_many_rows_only() {
        let zeros = |shape: [i64; 2]| Tensor::zeros(shape, (Kind::BFloat16, Device::Cpu));
        let (small, large) = (zeros([1024, 160]), zeros([2048, 1024]));
        let of = |weight: &Tensor, n_rows: i64| repays(&zeros([n_rows, weight.size()[1]]), weight);
        assert_eq!([1, 2, 13, 14].map(|n| of(&small, n)), [false, true, true, true]);
        assert_eq!([1, 2, 13, 14].map(|n| of(&large, n)), [false, false, false, true]);
    }
}
