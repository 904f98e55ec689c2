//! The embedding that a head's file repeats: the target's, but for the rounding of the element types that the two were
//! stored in.

use tch::{Kind, Tensor};

/// What a repeated table is beside the target's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Repeated {
    /// The same numbers.
    Same,
    /// Numbers that rounding explains, at most this far apart.
    Rounded(f64),
    /// Others, this far apart at most.
    Other(f64),
}

/// Rows that are compared at a time: a whole table of doubles would take 2 GB.
const N_ROWS: i64 = 4096;

/// Compares `ours` with `theirs` (`[n, d]`, in one kind), which were stored in `stored` and cast.
///
/// A table was rounded when it was stored and once more when it was cast, by at most half of the last place each time.
pub(crate) fn compare(ours: &Tensor, theirs: &Tensor, stored: [Kind; 2]) -> Repeated {
    if ours == theirs {
        return Repeated::Same;
    }
    let cast = half_place(ours.kind());
    let each = stored.map(half_place);
    let relative = each[0].0 + each[1].0 + 2.0 * cast.0;
    let absolute = each[0].1 + each[1].1 + 2.0 * cast.1;
    let n = ours.size()[0];
    let (mut largest, mut is_rounding) = (0.0_f64, true);
    for at in (0..n).step_by(N_ROWS as usize) {
        let rows = |x: &Tensor| x.narrow(0, at, N_ROWS.min(n - at)).to_kind(Kind::Double);
        let (ours, theirs) = (rows(ours), rows(theirs));
        let apart = (&ours - &theirs).abs();
        // To first order in the roundings; the rest is below a hundredth of them.
        let bound = ours.abs().maximum(&theirs.abs()) * (1.01 * relative) + absolute;
        largest = largest.max(apart.max().double_value(&[]));
        is_rounding &= apart.le_tensor(&bound).all().int64_value(&[]) == 1;
    }
    if is_rounding { Repeated::Rounded(largest) } else { Repeated::Other(largest) }
}

/// Half of the last place of a kind: relative to a number, and of the smallest ones.
fn half_place(kind: Kind) -> (f64, f64) {
    let (n_bits, smallest) = match kind {
        Kind::BFloat16 => (8, -133),
        Kind::Half => (11, -24),
        _ => (24, -149),
    };
    (2_f64.powi(-n_bits), 2_f64.powi(smallest - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of `values` stored as `stored` and cast to f32.
    fn table(values: &[f32], stored: Kind) -> Tensor {
        Tensor::from_slice(values).view([-1, 1]).to_kind(stored).to_kind(Kind::Float)
    }

    #[test]
    fn what_rounding_does_is_told_from_another_table() {
        let values: Vec<f32> = (0..5000).map(|i| (i as f32 * 0.37).sin() * 1e-3 * (1.0 + i as f32)).collect();
        let ours = table(&values, Kind::Float);
        let found = |theirs: &Tensor, kind| compare(&ours, theirs, [Kind::Float, kind]);
        assert_eq!(found(&table(&values, Kind::Float), Kind::Float), Repeated::Same);
        for kind in [Kind::Half, Kind::BFloat16] {
            let theirs = table(&values, kind);
            let wide = |x: &Tensor| x.to_kind(Kind::Double);
            let expected = (wide(&ours) - wide(&theirs)).abs().max().double_value(&[]);
            assert_eq!(found(&theirs, kind), Repeated::Rounded(expected), "{kind:?}");
        }
        // A table of half the precision is not explained by a file that says f32.
        assert!(matches!(found(&table(&values, Kind::Half), Kind::Float), Repeated::Other(_)));
        // One number of the last rows, off by two places of bf16.
        let mut other = values.clone();
        other[4990] *= 1.0 + 2_f32.powi(-6);
        let apart = f64::from((other[4990] - values[4990]).abs());
        let Repeated::Other(largest) = found(&table(&other, Kind::Float), Kind::BFloat16) else {
            panic!("it is another number")
        };
        assert!((largest - apart).abs() <= 1e-6 * apart, "{largest} {apart}");
    }
}
