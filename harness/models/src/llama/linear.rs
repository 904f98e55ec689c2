//! Linear maps while decoding.

use specimen_foundation::processor;
use tch::{Device, Kind, Tensor};

/// The most numbers of a weight that [`held`] keeps in f32: all of LlamaGen-XL, and of 7 billion only the smallest, for
/// which twice the memory would not do.
const MOST_HELD: usize = 1 << 25;
/// Rows from which a product in f32 repays that a larger weight is converted for it: `docs/measurements/2026-11-27-bf16-in-f32.md`.
const ENOUGH_ROWS: i64 = 14;

/// A weight as [`linear`] reads it fastest: one of bf16 in f32, where products of bf16 are slow. It depends on the processor
/// and the size alone, so a product has the same bits whenever it is taken: `docs/measurements/2026-11-29-bf16-held-in-f32.md`.
pub(crate) fn held(weight: &Tensor) -> Tensor {
    let is_slow = is_slow(weight.kind(), weight.device()) && processor::is_slow_in_bf16();
    if is_slow && weight.numel() <= MOST_HELD && !weight.requires_grad() {
        return weight.to_kind(Kind::Float);
    }
    weight.shallow_clone()
}

fn is_slow(kind: Kind, device: Device) -> bool {
    device == Device::Cpu && kind == Kind::BFloat16
}

/// `x` times the transpose of `weight`, plus `bias`, as [`Tensor::linear`]. `x`: `[.., d]`; `weight`: `[n, d]`, as of the source or
/// as [`held`]; `bias`: `[n]`. Returns `[.., n]` in the kind of `x`.
///
/// On a processor that multiplies no bf16, libtorch takes products of several rows in bf16 number by number. There they are taken
/// in f32 and rounded to bf16 once. libtorch adds them up in f32 too, in another order.
pub(crate) fn linear(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Tensor {
    let is_converted = || is_slow(x.kind(), x.device()) && !processor::has_bf16() && repays(x);
    if x.kind() != weight.kind() || is_converted() { in_f32(x, weight, bias) } else { x.linear(weight, bias) }
}

/// Whether the product is worth a conversion of a large weight.
fn repays(x: &Tensor) -> bool {
    ENOUGH_ROWS <= x.numel() as i64 / x.size().last().copied().unwrap_or(1).max(1)
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
    fn a_weight_that_is_held_in_f32_gives_the_same_product() {
        let _guard = tch::no_grad_guard();
        for n_rows in [1, 2, 14, 61] {
            let (x, weight) = (uneven([n_rows, 160]), uneven([480, 160]));
            let held = linear(&x, &weight.to_kind(Kind::Float), None);
            assert_eq!((held.kind(), held.size()), (Kind::BFloat16, vec![n_rows, 480]));
            assert!(held.equal(&in_f32(&x, &weight, None)), "{n_rows}");
        }
    }

    #[test]
    fn what_is_held_depends_on_processor_kind_and_size() {
        let kind = |n_rows: i64, kind: Kind| held(&Tensor::zeros([n_rows, 1024], (kind, Device::Cpu))).kind();
        let slow = if processor::is_slow_in_bf16() { Kind::Float } else { Kind::BFloat16 };
        assert_eq!([kind(8, Kind::BFloat16), kind(1 << 15, Kind::BFloat16)], [slow; 2]);
        assert_eq!(kind((1 << 15) + 1, Kind::BFloat16), Kind::BFloat16);
        assert_eq!([kind(8, Kind::Float), kind(8, Kind::Half)], [Kind::Float, Kind::Half]);
    }

    #[test]
    fn a_large_weight_is_converted_for_many_rows_only() {
        let of = |n_rows: i64| repays(&Tensor::zeros([n_rows, 160], (Kind::BFloat16, Device::Cpu)));
        assert_eq!([1, 2, 13, 14].map(of), [false, false, false, true]);
    }
}
