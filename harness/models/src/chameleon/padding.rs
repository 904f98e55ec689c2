//! Masks for guidance rows of different length: the shorter prefix is padded on the left, and its padding is seen
//! by nobody. A padded slot sees itself alone, so that it stays finite; what comes of it is never read.

use tch::{Kind, Tensor};

/// Padded slots at the front of each guidance row, caption row first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Padding(Vec<i64>);

impl Padding {
    /// One count a row.
    #[must_use]
    pub fn new(n_pads: Vec<i64>) -> Self {
        Self(n_pads)
    }

    /// The mask that `n` slots need behind `n_before` entries: `mask` (additive `[n, n_before + n]`; absent when
    /// everything is visible) with the padding of every row hidden, `[b, 1, n, n_before + n]`; or as it is, where
    /// no row is padded. Like `mask`, in `kind` on the device of `like`.
    #[must_use]
    pub fn hide(
        &self,
        mask: Option<&Tensor>,
        n: i64,
        n_before: i64,
        kind: Kind,
        like: &Tensor,
    ) -> Option<Tensor> {
        if self.0.iter().all(|&n_pad| n_pad == 0) {
            return mask.map(Tensor::shallow_clone);
        }
        let options = (kind, like.device());
        let open = mask.map_or_else(|| Tensor::zeros([n, n_before + n], options), Tensor::shallow_clone);
        let rows: Vec<Tensor> = self.0.iter().map(|&n_pad| hidden(&open, n, n_before, n_pad)).collect();
        Some(Tensor::stack(&rows, 0).unsqueeze(1))
    }
}

/// `open` (`[n, n_before + n]`) with the first `n_pad` columns hidden from all but themselves.
fn hidden(open: &Tensor, n: i64, n_before: i64, n_pad: i64) -> Tensor {
    if n_pad == 0 {
        return open.shallow_clone();
    }
    let hidden = open.copy();
    let _ = hidden.narrow(1, 0, n_pad).fill_(f64::NEG_INFINITY);
    let n_padded = (n_pad - n_before).clamp(0, n);
    if n_padded > 0 {
        let _ = hidden.narrow(0, 0, n_padded).diagonal(n_before, 0, 1).fill_(0.0);
    }
    hidden
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::llama::causal_mask;

    const HIDDEN: f32 = f32::NEG_INFINITY;

    /// The row of `padding` with `n_pad` pads, entry by entry.
    fn second_row(mask: Option<&Tensor>, n: i64, n_before: i64, n_pad: i64) -> Vec<f32> {
        let like = Tensor::zeros([1], (Kind::Float, tch::Device::Cpu));
        let all = Padding::new(vec![0, n_pad]).hide(mask, n, n_before, Kind::Float, &like).unwrap();
        assert_eq!(all.size(), [2, 1, n, n_before + n]);
        Vec::try_from(all.get(1).reshape([-1])).unwrap()
    }

    #[test]
    fn padding_is_seen_by_itself_alone() {
        let causal = causal_mask(3, Kind::Float);
        let expected = [[0.0, HIDDEN, HIDDEN], [HIDDEN, 0.0, HIDDEN], [HIDDEN, HIDDEN, 0.0]];
        assert_eq!(second_row(Some(&causal), 3, 0, 2), expected.concat());
        assert_eq!(second_row(Some(&causal), 3, 0, 3), expected.concat());
        let behind = Tensor::cat(
            &[Tensor::zeros([2, 2], (Kind::Float, causal.device())), causal_mask(2, Kind::Float)],
            1,
        );
        let expected = [[HIDDEN, HIDDEN, 0.0, HIDDEN], [HIDDEN, HIDDEN, HIDDEN, 0.0]];
        assert_eq!(second_row(Some(&behind), 2, 2, 3), expected.concat());
        assert_eq!(second_row(None, 1, 3, 2), [HIDDEN, HIDDEN, 0.0, 0.0]);
    }

    #[test]
    fn without_padding_a_mask_stays_as_it_is() {
        let causal = causal_mask(3, Kind::Float);
        let hide = |mask| Padding::new(vec![0, 0]).hide(mask, 3, 0, Kind::Float, &causal);
        assert_eq!(hide(Some(&causal)), Some(causal.shallow_clone()));
        assert!(hide(None).is_none());
    }
}
