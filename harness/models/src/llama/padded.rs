//! A network behind a prefix that is padded on the left: nobody but pads looks at a pad. What a pad sees of the others
//! changes its own features alone, which nothing but a draft head reads.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use tch::{Kind, Tensor};

use crate::{
    llama::layer::Turns,
    seam::{
        backbone::{Backbone, BackboneShape, Tapped},
        kv::KvCache,
    },
};

/// A prompt as words: guidance rows of one length, the shorter ones padded on the left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptRows {
    /// Words of each row, caption row first, all of one length.
    pub rows: Vec<Vec<i64>>,
    /// Padding at the front of each.
    pub n_pads: Vec<i64>,
}

impl PromptRows {
    /// Pads the shorter of `rows` with the word `padding`.
    pub fn padded(mut rows: Vec<Vec<i64>>, padding: i64) -> Self {
        let n = rows.iter().map(Vec::len).max().unwrap_or(0);
        let n_pads = rows.iter().map(|row| (n - row.len()) as i64).collect();
        for row in &mut rows {
            row.splice(0..0, std::iter::repeat_n(padding, n - row.len()));
        }
        Self { rows, n_pads }
    }
}

/// What a slot that is a pad sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PadView {
    /// Itself and nothing else, as in LlamaGen's own code.
    #[default]
    Itself,
    /// Itself and the pads before it, as in LANTERN's.
    EarlierPads,
}

/// Pads at the front of each guidance row, caption row first, and the masks that hide them.
pub struct Padding {
    n_pads: Vec<i64>,
    /// 0, or minus infinity in the columns of pads, `[b, 1, 1, n_slots]`, for the widest forward so far; made when it
    /// is first needed.
    columns: RefCell<Option<Tensor>>,
    view: Cell<PadView>,
}

impl Padding {
    /// One count a row; a pad sees itself alone.
    pub fn new(n_pads: Vec<i64>) -> Self {
        Self { n_pads, columns: RefCell::default(), view: Cell::default() }
    }

    /// Says what pads see from now on.
    pub fn set_view(&self, view: PadView) {
        self.view.set(view);
    }

    /// Pads at the front of each row.
    pub(crate) fn n_pads(&self) -> &[i64] {
        &self.n_pads
    }

    /// As [`Padding::hide`] for the slots `x` (`[b, n, d]`) behind the entries of `cache`; the mask as it is where that hides
    /// them already.
    pub fn hide_before(&self, mask: Option<&Tensor>, x: &Tensor, cache: &KvCache) -> Option<Tensor> {
        match cache.hides_pads() {
            true => mask.map(Tensor::shallow_clone),
            false => self.hide(mask, x.size()[1], cache.len(), cache.kind(), x),
        }
    }

    /// The mask that `n` slots need behind `n_before` entries: `mask` (additive `[n, n_before + n]`; absent when
    /// everything is visible) with the pads of every row hidden, `[b, 1, n, n_before + n]`, where `n` may be 1; or as
    /// it is, where no row is padded. In `kind`, which is that of `mask`, on the device of `like`.
    ///
    /// # Panics
    /// If there are more pads than slots.
    pub fn hide(
        &self,
        mask: Option<&Tensor>,
        n: i64,
        n_before: i64,
        kind: Kind,
        like: &Tensor,
    ) -> Option<Tensor> {
        let most = self.n_pads.iter().copied().max().unwrap_or(0);
        if most == 0 {
            return mask.map(Tensor::shallow_clone);
        }
        let hidden = self.columns(n_before + n, kind, like);
        let hidden = match mask {
            None => hidden,
            Some(mask) => mask + hidden,
        };
        if n_before >= most {
            return Some(hidden);
        }
        let hidden = hidden.expand([-1, -1, n, -1], false).contiguous();
        match self.view.get() {
            // A row of a softmax without any entry would be undefined.
            PadView::Itself => {
                let _ = hidden.diagonal(n_before, -2, -1).fill_(0.0);
            }
            PadView::EarlierPads => self.show_earlier_pads(&hidden, mask, n_before),
        }
        Some(hidden)
    }

    /// Lets every pad among the slots behind `n_before` entries see the pads that `mask` shows it. `hidden`:
    /// `[b, 1, n, n_before + n]`, changed in place.
    fn show_earlier_pads(&self, hidden: &Tensor, mask: Option<&Tensor>, n_before: i64) {
        let (n, width) = (hidden.size()[2], hidden.size()[3]);
        for (row, &n_pads) in (0..).zip(&self.n_pads) {
            let n_slots = (n_pads - n_before).min(n);
            if n_slots <= 0 {
                continue;
            }
            let of_pads = |x: &Tensor| x.narrow(-2, 0, n_slots).narrow(-1, 0, n_pads.min(width));
            let mut seen = of_pads(&hidden.get(row));
            match mask {
                None => {
                    let _ = seen.zero_();
                }
                Some(mask) => seen.copy_(&of_pads(mask)),
            }
        }
    }

    /// The first `width` columns, `[b, 1, 1, width]`.
    fn columns(&self, width: i64, kind: Kind, like: &Tensor) -> Tensor {
        let mut columns = self.columns.borrow_mut();
        if columns.as_ref().is_none_or(|made| made.size()[3] < width || made.kind() != kind) {
            // With room for the forwards that follow.
            let n_slots = width + width / 2;
            let made = Tensor::zeros([self.n_pads.len() as i64, 1, 1, n_slots], (kind, like.device()));
            for (row, &n) in (0..).zip(&self.n_pads) {
                let _ = made.get(row).narrow(2, 0, n).fill_(f64::NEG_INFINITY);
            }
            *columns = Some(made);
        }
        columns.as_ref().expect("it was just made").narrow(3, 0, width)
    }
}

/// One image's view of a network: the same network, with the pads of its prefix hidden from the slots behind them, unless
/// the cache has left them out.
pub struct Padded {
    inner: Rc<dyn Backbone>,
    padding: Padding,
}

impl Padded {
    /// Hides the first `n_pads[row]` slots of each guidance row.
    pub fn new(inner: Rc<dyn Backbone>, n_pads: Vec<i64>) -> Self {
        Self { inner, padding: Padding::new(n_pads) }
    }
}

impl Backbone for Padded {
    fn shape(&self) -> BackboneShape {
        self.inner.shape()
    }

    fn kind(&self) -> Kind {
        self.inner.kind()
    }

    fn embed(&self, tokens: &Tensor, positions: &Tensor) -> Tensor {
        self.inner.embed(tokens, positions)
    }

    fn forward_tapped(
        &self,
        x: &Tensor,
        positions: &Tensor,
        cache: &mut KvCache,
        mask: Option<&Tensor>,
        layers: &[usize],
    ) -> Tapped {
        let mask = self.padding.hide_before(mask, x, cache);
        self.inner.forward_tapped(x, positions, cache, mask.as_ref(), layers)
    }

    fn logits(&self, features: &Tensor) -> Tensor {
        self.inner.logits(features)
    }

    fn turns(&self) -> Option<&Turns> {
        self.inner.turns()
    }

    fn pads(&self) -> &[i64] {
        self.padding.n_pads()
    }

    fn set_pad_view(&self, view: PadView) {
        self.padding.set_view(view);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::llama::layer::causal_mask;

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
    fn a_pad_sees_those_before_it_where_it_is_to() {
        let like = Tensor::zeros([1], (Kind::Float, tch::Device::Cpu));
        let rows = |mask: Option<&Tensor>, n: i64, n_before: i64| {
            let padding = Padding::new(vec![1, 3]);
            padding.set_view(PadView::EarlierPads);
            let all = padding.hide(mask, n, n_before, Kind::Float, &like).unwrap();
            [0, 1].map(|row| Vec::<f32>::try_from(all.get(row).reshape([-1])).unwrap())
        };
        let causal = causal_mask(4, Kind::Float);
        let one = [[0.0, HIDDEN, HIDDEN, HIDDEN], [HIDDEN, 0.0, HIDDEN, HIDDEN]];
        let [first, second] = rows(Some(&causal), 4, 0);
        assert_eq!(first[..8], one.concat());
        assert_eq!(first[8..], [HIDDEN, 0.0, 0.0, HIDDEN, HIDDEN, 0.0, 0.0, 0.0]);
        let three = [[0.0, HIDDEN, HIDDEN, HIDDEN], [0.0, 0.0, HIDDEN, HIDDEN], [0.0, 0.0, 0.0, HIDDEN]];
        assert_eq!(second[..12], three.concat());
        assert_eq!(second[12..], [HIDDEN, HIDDEN, HIDDEN, 0.0]);
        // One slot behind two: the last pad of the second row, the second word of the first.
        let [first, second] = rows(None, 1, 2);
        assert_eq!((first, second), (vec![HIDDEN, 0.0, 0.0], vec![0.0, 0.0, 0.0]));
    }

    #[test]
    fn without_padding_a_mask_stays_as_it_is() {
        let causal = causal_mask(3, Kind::Float);
        let hide = |mask| Padding::new(vec![0, 0]).hide(mask, 3, 0, Kind::Float, &causal);
        assert_eq!(hide(Some(&causal)), Some(causal.shallow_clone()));
        assert!(hide(None).is_none());
    }
}
