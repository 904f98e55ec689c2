//! Keys and values of one image under way, preallocated: nodes are appended at the end, accepted ones are
//! gathered to the front, the rest is forgotten by moving a counter. Nothing grows while an image is
//! decoded: what does not fit is a bug.

use tch::{Device, Kind, Tensor};

use crate::seam::transfers::upload;

/// The cache of all layers; entries `0..len` are valid.
pub struct KvCache {
    layers: Vec<LayerCache>,
    /// `[n_layers, b, 2 * n_heads, n_front + capacity, d_head]`, keys before values; the layers hold views of it. A head's
    /// entries are side by side, as the attention kernel reads them.
    all: Tensor,
    /// As [`LayerCache::n_front`].
    n_front: i64,
    len: i64,
}

/// One layer's keys and values.
pub struct LayerCache {
    /// `[b, 2 * n_heads, n_front + capacity, d_head]`
    entries: Tensor,
    n_heads: i64,
    /// Entries before the first that is counted, see [`KvCache::with_front`].
    n_front: i64,
    is_front_filled: bool,
    len: i64,
    capacity: i64,
}

/// Sizes of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvShape {
    /// Transformer layers.
    pub n_layers: i64,
    /// Rows decoded together: 2 under guidance, else 1.
    pub n_rows: i64,
    /// Heads of keys and values.
    pub n_heads: i64,
    /// Width of a head.
    pub d_head: i64,
    /// Entries: prefix, image and one whole tree.
    pub capacity: i64,
}

impl KvCache {
    /// An empty cache, zero-filled, for weights of `kind`. On a CPU it is f32 whatever they are: there the
    /// attention kernel for bf16 is several times slower at few rows, and rounds its scores.
    #[must_use]
    pub fn new(shape: KvShape, kind: Kind, device: Device) -> Self {
        Self::with_front(shape, 0, kind, device)
    }

    /// The same with `n_front` entries before those that are counted: every slot sees them, and a head fills them once
    /// with what it made of a prompt.
    #[must_use]
    pub fn with_front(shape: KvShape, n_front: i64, kind: Kind, device: Device) -> Self {
        let kind = if device == Device::Cpu { Kind::Float } else { kind };
        let KvShape { n_layers, n_rows, n_heads, d_head, capacity } = shape;
        let n_entries = n_front + capacity;
        let all = Tensor::zeros([n_layers, n_rows, 2 * n_heads, n_entries, d_head], (kind, device));
        let layer = |i: i64| LayerCache {
            entries: all.get(i),
            n_heads,
            n_front,
            is_front_filled: false,
            len: 0,
            capacity,
        };
        Self { layers: (0..n_layers).map(layer).collect(), all, n_front, len: 0 }
    }

    /// Element kind of keys, values and masks.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.all.kind()
    }

    /// Number of positions that are filled.
    #[must_use]
    pub fn len(&self) -> i64 {
        self.len
    }

    /// Whether nothing is cached yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The layer views, for a forward that appends behind the valid entries.
    pub fn layers(&mut self) -> &mut [LayerCache] {
        let len = self.len;
        self.layers.iter_mut().for_each(|layer| layer.len = len);
        &mut self.layers
    }

    /// Layer views that append behind entry `at` instead, leaving the valid length alone.
    pub fn layers_from(&mut self, at: i64) -> &mut [LayerCache] {
        self.layers.iter_mut().for_each(|layer| layer.len = at);
        &mut self.layers
    }

    /// Makes the entries `offsets` (relative to the valid end, ascending) the next valid ones. Returns them on the device where
    /// they are not the first ones.
    pub fn keep(&mut self, offsets: &[i64]) -> Option<Tensor> {
        let n = offsets.len() as i64;
        let mut moved = None;
        if offsets.iter().enumerate().any(|(i, &offset)| offset != i as i64) {
            let from: Vec<i64> = offsets.iter().map(|offset| self.n_front + self.len + offset).collect();
            let ([index, offsets], _) = upload([&from, offsets], None, self.all.kind(), self.all.device());
            moved = Some(offsets);
            // Source and destination overlap: index_select copies first.
            let kept = self.all.index_select(3, &index);
            self.all.narrow(3, self.n_front + self.len, n).copy_(&kept);
        }
        self.len += n;
        moved
    }

    /// Forgets every entry from `len` on.
    pub fn truncate(&mut self, len: i64) {
        assert!(len <= self.len, "a cache is truncated to a length it has");
        self.len = len;
    }
}

impl LayerCache {
    /// Element kind of keys and values.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.entries.kind()
    }

    /// Whether [`LayerCache::fill_front`] ran.
    #[must_use]
    pub fn is_front_filled(&self) -> bool {
        self.is_front_filled
    }

    /// Writes the entries before those that are counted. `kv`: `[b, 2 * n_heads, n_front, d_head]`, key heads first.
    pub fn fill_front(&mut self, kv: &Tensor) {
        self.entries.narrow(2, 0, self.n_front).copy_(kv);
        self.is_front_filled = true;
    }

    /// Writes `kv` (`[b, 2 * n_heads, n, d_head]`, key heads first) behind the end and returns all keys and
    /// all values up to there, those of the front included, `[b, n_heads, n_front + len + n, d_head]` each.
    ///
    /// # Panics
    /// If there is no room for them.
    pub fn append(&mut self, kv: &Tensor) -> (Tensor, Tensor) {
        let n = kv.size()[2];
        let (len, capacity) = (self.len, self.capacity);
        assert!(len + n <= capacity, "a cache of {capacity} entries that holds {len} has no room for {n}");
        self.entries.narrow(2, self.n_front + len, n).copy_(kv);
        let seen = self.entries.narrow(2, 0, self.n_front + len + n);
        (seen.narrow(1, 0, self.n_heads), seen.narrow(1, self.n_heads, self.n_heads))
    }
}
