//! A network behind a prefix that is padded on the left: nobody looks at a pad but the pad itself, which sees
//! nothing else.

use std::rc::Rc;

use tch::{Device, Kind, Tensor};

use crate::{
    backbone::{Backbone, BackboneShape, Tapped},
    kv::KvCache,
    llama::Turns,
};

/// One image's view of a network: the same network, with the pads of its prefix hidden.
pub struct Padded {
    inner: Rc<dyn Backbone>,
    /// 0, or minus infinity in the columns of pads, `[b, 1, 1, n_slots]`, in the kind of the cache.
    hidden: Tensor,
    /// Pads of the row that has most.
    n_pads: i64,
}

impl Padded {
    /// Hides the first `n_pads[row]` slots of each guidance row. `n_slots`: slots that a forward usually sees.
    ///
    /// # Panics
    /// If there are more pads than slots.
    #[must_use]
    pub fn new(inner: Rc<dyn Backbone>, n_pads: &[i64], n_slots: i64, device: Device) -> Self {
        let kind = if device == Device::Cpu { Kind::Float } else { inner.kind() };
        let hidden = Tensor::zeros([n_pads.len() as i64, 1, 1, n_slots], (kind, device));
        for (row, &n) in (0..).zip(n_pads) {
            let _ = hidden.get(row).narrow(2, 0, n).fill_(f64::NEG_INFINITY);
        }
        Self { inner, hidden, n_pads: n_pads.iter().copied().max().unwrap_or(0) }
    }

    /// `mask` with the pads hidden, for `n` slots behind `n_cached`; `[b, 1, n or 1, n_cached + n]`.
    fn hide(&self, mask: Option<&Tensor>, n_cached: i64, n: i64) -> Tensor {
        let (width, n_slots) = (n_cached + n, self.hidden.size()[3]);
        let hidden = if width <= n_slots {
            self.hidden.narrow(3, 0, width)
        } else {
            self.hidden.constant_pad_nd([0, width - n_slots])
        };
        let mask = match mask {
            None => hidden,
            Some(mask) => mask + hidden,
        };
        if n_cached < self.n_pads {
            // Every slot sees itself, pads too; a row of a softmax without any entry would be undefined.
            let mask = mask.expand([-1, -1, n, -1], false).contiguous();
            let _ = mask.diagonal(n_cached, -2, -1).fill_(0.0);
            return mask;
        }
        mask
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
        let mask = self.hide(mask, cache.len(), x.size()[1]);
        self.inner.forward_tapped(x, positions, cache, Some(&mask), layers)
    }

    fn logits(&self, features: &Tensor) -> Tensor {
        self.inner.logits(features)
    }

    fn turns(&self) -> Option<&Turns> {
        self.inner.turns()
    }
}
