//! Keys and values of one image under way, preallocated: nodes are appended at the end, accepted ones are
//! gathered to the front, the rest is forgotten by moving a counter. Nothing grows while an image is
//! decoded: what does not fit is a bug.

use tch::{Device, Kind, Tensor};

use crate::seam::transfers::upload;

/// The cache of all layers; entries `0..len` are valid.
pub struct KvCache {
    layers: Vec<LayerCache>,
    /// `[n_layers, b, 2 * n_heads, capacity, d_head]`, keys before values; the layers hold views of it. A head's
    /// entries are side by side, as the attention kernel reads them.
    all: Tensor,
    /// Slots whose entries were left out, see [`KvCache::begin`].
    n_left_out: i64,
    len: i64,
    /// See [`KvCache::at_places`].
    places: Option<Places>,
}

/// Where a forward writes, and what it reads, as data on the device.
struct Places {
    /// Entries, `[n]`, or `[b, n]` where rows have different ones; i64.
    written: Tensor,
    /// The first so many are read, whatever they hold.
    n_read: i64,
}

/// One layer's keys and values.
pub struct LayerCache {
    /// `[b, 2 * n_heads, capacity, d_head]`
    entries: Tensor,
    n_heads: i64,
    len: i64,
    capacity: i64,
    places: Option<Places>,
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
        let kind = if device == Device::Cpu { Kind::Float } else { kind };
        let KvShape { n_layers, n_rows, n_heads, d_head, capacity } = shape;
        let all = Tensor::zeros([n_layers, n_rows, 2 * n_heads, capacity, d_head], (kind, device));
        Self::over(all, shape)
    }

    /// An empty cache in the memory of `all`, `[n_layers, b, 2 * n_heads, capacity, d_head]`.
    pub(crate) fn over(all: Tensor, shape: KvShape) -> Self {
        let KvShape { n_layers, n_heads, capacity, .. } = shape;
        let layer = |i: i64| LayerCache { entries: all.get(i), n_heads, len: 0, capacity, places: None };
        Self { layers: (0..n_layers).map(layer).collect(), all, n_left_out: 0, len: 0, places: None }
    }

    /// A cache of entries that are all valid, over memory as in [`KvCache::over`]: for [`KvCache::at_places`].
    pub(crate) fn filled(all: Tensor, shape: KvShape) -> Self {
        Self { len: shape.capacity, ..Self::over(all, shape) }
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

    /// The position of the slot that comes next: one for every slot so far, left out or not.
    #[must_use]
    pub fn next_position(&self) -> i64 {
        self.n_left_out + self.len
    }

    /// Whether nothing is cached yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The layer views, for a forward that appends behind the valid entries.
    pub fn layers(&mut self) -> &mut [LayerCache] {
        let len = self.len;
        for layer in &mut self.layers {
            layer.len = len;
            layer.places = self.places.as_ref().map(Places::shallow_clone);
        }
        &mut self.layers
    }

    /// Runs a forward that writes at `places` (`[n]` or `[b, n]`, i64, on the device) and reads the first `n_read` entries,
    /// whatever they hold: no number of the host decides what it does. Its mask hides what is not valid, pads included.
    pub fn at_places<T>(&mut self, places: &Tensor, n_read: i64, forward: impl FnOnce(&mut Self) -> T) -> T {
        self.places = Some(Places { written: places.shallow_clone(), n_read });
        let given = forward(self);
        self.places = None;
        given
    }

    /// Whether pads are hidden already: left out, or by the mask of [`KvCache::at_places`].
    #[must_use]
    pub fn hides_pads(&self) -> bool {
        self.n_left_out > 0 || self.places.is_some()
    }

    /// Memory of all layers, as in [`KvCache::over`].
    pub(crate) fn memory(&self) -> &Tensor {
        &self.all
    }

    /// Layer views that append behind entry `at` instead, leaving the valid length alone.
    pub fn layers_from(&mut self, at: i64) -> &mut [LayerCache] {
        self.layers.iter_mut().for_each(|layer| layer.len = at);
        &mut self.layers
    }

    /// Makes the first `n` entries valid but for those of the first `n_pads` slots, which no later slot sees.
    ///
    /// # Panics
    /// If something is cached already.
    pub(crate) fn begin(&mut self, n_pads: i64, n: i64) {
        assert!(self.is_empty(), "a prefix begins a cache");
        self.keep(&(n_pads..n).collect::<Vec<_>>());
        self.n_left_out = n_pads;
    }

    /// Makes the entries `offsets` (relative to the valid end, ascending) the next valid ones. Returns them on the device where
    /// they are not the first ones.
    pub fn keep(&mut self, offsets: &[i64]) -> Option<Tensor> {
        let n = offsets.len() as i64;
        let mut moved = None;
        if offsets.iter().enumerate().any(|(i, &offset)| offset != i as i64) {
            let from: Vec<i64> = offsets.iter().map(|offset| self.len + offset).collect();
            let ([index, offsets], _) = upload([&from, offsets], None, self.all.kind(), self.all.device());
            moved = Some(offsets);
            // Source and destination overlap: index_select copies first.
            let kept = self.all.index_select(3, &index);
            self.all.narrow(3, self.len, n).copy_(&kept);
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

impl Places {
    fn shallow_clone(&self) -> Self {
        Self { written: self.written.shallow_clone(), n_read: self.n_read }
    }
}

impl LayerCache {
    /// Element kind of keys and values.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.entries.kind()
    }

    /// Writes `kv` (`[b, 2 * n_heads, n, d_head]`, key heads first) behind the end and returns all keys and
    /// all values up to there, `[b, n_heads, len + n, d_head]` each.
    ///
    /// # Panics
    /// If there is no room for them.
    pub fn append(&mut self, kv: &Tensor) -> (Tensor, Tensor) {
        if let Some(Places { written, n_read }) = &self.places {
            let (mut entries, kv) = (self.entries.shallow_clone(), kv.to_kind(self.entries.kind()));
            let _ = match written.dim() {
                1 => entries.index_copy_(2, written, &kv),
                _ => entries.scatter_(2, &written.unsqueeze(1).unsqueeze(-1).expand_as(&kv), &kv),
            };
            return self.heads(*n_read);
        }
        let n = kv.size()[2];
        let (len, capacity) = (self.len, self.capacity);
        assert!(len + n <= capacity, "a cache of {capacity} entries that holds {len} has no room for {n}");
        self.entries.narrow(2, len, n).copy_(kv);
        self.heads(len + n)
    }

    /// Keys and values of the first `n` entries, `[b, n_heads, n, d_head]` each.
    fn heads(&self, n: i64) -> (Tensor, Tensor) {
        let seen = self.entries.narrow(2, 0, n);
        (seen.narrow(1, 0, self.n_heads), seen.narrow(1, self.n_heads, self.n_heads))
    }
}
