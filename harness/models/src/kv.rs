//! Keys and values of one image under way, preallocated: nodes are appended at the end, accepted ones are
//! gathered to the front, the rest is forgotten by moving a counter (algorithms 1.4).

use tch::{Device, Kind, Tensor};

/// The cache of all layers; entries `0..len` are valid.
pub struct KvCache {
    layers: Vec<LayerCache>,
    /// `[n_layers * 2, b, n_heads, capacity, d_head]`; the layers hold views of it.
    all: Tensor,
    len: i64,
}

/// Views of one layer's keys and values, `[b, n_heads, capacity, d_head]` each.
pub struct LayerCache {
    keys: Tensor,
    values: Tensor,
    len: i64,
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
    /// An empty cache, zero-filled.
    #[must_use]
    pub fn new(shape: KvShape, kind: Kind, device: Device) -> Self {
        let KvShape { n_layers, n_rows, n_heads, d_head, capacity } = shape;
        let all = Tensor::zeros([n_layers * 2, n_rows, n_heads, capacity, d_head], (kind, device));
        let layer = |i: i64| LayerCache { keys: all.get(2 * i), values: all.get(2 * i + 1), len: 0 };
        Self { layers: (0..n_layers).map(layer).collect(), all, len: 0 }
    }

    /// Valid entries.
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

    /// Makes the entries `offsets` (relative to the valid end, ascending) the next valid ones.
    pub fn keep(&mut self, offsets: &[i64]) {
        let n = offsets.len() as i64;
        if offsets.iter().enumerate().any(|(i, &offset)| offset != i as i64) {
            let from: Vec<i64> = offsets.iter().map(|offset| self.len + offset).collect();
            let index = Tensor::from_slice(&from).to_device(self.all.device());
            // Source and destination overlap: index_select copies first.
            let kept = self.all.index_select(3, &index);
            self.all.narrow(3, self.len, n).copy_(&kept);
        }
        self.len += n;
    }

    /// Makes room for `n_entries` in all, keeping every entry, those behind the valid ones included.
    pub fn reserve(&mut self, n_entries: i64) {
        let mut size = self.all.size();
        let capacity = size[3];
        if n_entries <= capacity {
            return;
        }
        size[3] = n_entries.max(capacity + capacity / 2);
        let grown = Tensor::zeros(&size, (self.all.kind(), self.all.device()));
        grown.narrow(3, 0, capacity).copy_(&self.all);
        self.all = grown;
        for (i, layer) in (0..).zip(&mut self.layers) {
            (layer.keys, layer.values) = (self.all.get(2 * i), self.all.get(2 * i + 1));
        }
    }

    /// Forgets every entry from `len` on.
    pub fn truncate(&mut self, len: i64) {
        assert!(len <= self.len, "a cache is truncated to a length it has");
        self.len = len;
    }
}

impl LayerCache {
    /// Writes `k`, `v` (`[b, n_heads, n, d_head]`) behind the end and returns all entries up to them.
    pub fn append(&mut self, k: &Tensor, v: &Tensor) -> (Tensor, Tensor) {
        let n = k.size()[2];
        self.keys.narrow(2, self.len, n).copy_(k);
        self.values.narrow(2, self.len, n).copy_(v);
        (self.keys.narrow(2, 0, self.len + n), self.values.narrow(2, 0, self.len + n))
    }
}
