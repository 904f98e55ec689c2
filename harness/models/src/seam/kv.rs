//! Keys and values of one image under way, preallocated: nodes are appended at the end, accepted ones are
//! gathered to the front, the rest is forgotten by moving a counter. Nothing grows while an image is
//! decoded: what does not fit is a bug.

use tch::{Device, Kind, Tensor};

use crate::seam::transfers::upload;

/// The cache of all layers; entries `0..len` are valid.
pub struct KvCache {
    layers: Vec<LayerCache>,
    /// `[n_layers, b, 2 * n_heads, capacity, d_head]`, heads in the order of [`Order`]; the layers hold views of it. A head's
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

/// Where the values of a head are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Behind the keys of all heads, as a projection gives them.
    KeysFirst,
    /// Behind the keys of their head: keys of all rows are then one axis of a product, as those of values are.
    ByHead,
}

impl Order {
    fn on(device: Device) -> Self {
        if device == Device::Cpu { Self::KeysFirst } else { Self::ByHead }
    }
}

/// One layer's keys and values.
pub struct LayerCache {
    /// `[b, 2 * n_heads, capacity, d_head]`
    entries: Tensor,
    order: Order,
    n_heads: i64,
    len: i64,
    capacity: i64,
    places: Option<Places>,
}

/// Where entries of a layer go.
pub(crate) struct CacheTarget<'c> {
    /// `[b, 2 * n_heads, capacity, d_head]`
    pub(crate) entries: Tensor,
    /// `[n]` or `[b, n]`, i64; absent where they follow one another.
    pub(crate) places: Option<&'c Tensor>,
    /// The first entry where they do.
    pub(crate) first: i64,
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
    pub fn new(shape: KvShape, kind: Kind, device: Device) -> Self {
        let kind = if device == Device::Cpu { Kind::Float } else { kind };
        let KvShape { n_layers, n_rows, n_heads, d_head, capacity } = shape;
        let all = Tensor::zeros([n_layers, n_rows, 2 * n_heads, capacity, d_head], (kind, device));
        Self::over(all, shape)
    }

    /// An empty cache in the memory of `all`, `[n_layers, b, 2 * n_heads, capacity, d_head]`.
    pub(crate) fn over(all: Tensor, shape: KvShape) -> Self {
        let order = Order::on(all.device());
        Self::ordered(all, shape, order)
    }

    fn ordered(all: Tensor, shape: KvShape, order: Order) -> Self {
        let KvShape { n_layers, n_heads, capacity, .. } = shape;
        let layer =
            |i: i64| LayerCache { entries: all.get(i), order, n_heads, len: 0, capacity, places: None };
        Self { layers: (0..n_layers).map(layer).collect(), all, n_left_out: 0, len: 0, places: None }
    }

    /// A cache of entries that are all valid, over memory as in [`KvCache::over`]: for [`KvCache::at_places`].
    pub(crate) fn filled(all: Tensor, shape: KvShape) -> Self {
        Self { len: shape.capacity, ..Self::over(all, shape) }
    }

    /// Element kind of keys, values and masks.
    pub fn kind(&self) -> Kind {
        self.all.kind()
    }

    /// Number of positions that are filled.
    pub fn len(&self) -> i64 {
        self.len
    }

    /// The position of the slot that comes next: one for every slot so far, left out or not.
    pub fn next_position(&self) -> i64 {
        self.n_left_out + self.len
    }

    /// Whether nothing is cached yet.
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
    pub fn kind(&self) -> Kind {
        self.entries.kind()
    }

    /// Writes `kv` (`[b, 2 * n_heads, n, d_head]`, key heads first, whatever the cache has) behind the end and returns all keys and
    /// all values up to there, `[b, n_heads, len + n, d_head]` each.
    ///
    /// # Panics
    /// If there is no room for them.
    pub fn append(&mut self, kv: &Tensor) -> (Tensor, Tensor) {
        let by_head = match self.order {
            Order::KeysFirst => None,
            Order::ByHead => {
                let mut size = kv.size();
                let halves = kv.reshape([size[0], 2, self.n_heads, size[2], size[3]]).transpose(1, 2);
                size[1] = 2 * self.n_heads;
                Some(halves.reshape(size))
            }
        };
        let kv = by_head.as_ref().unwrap_or(kv);
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

    /// Where the next `n` entries go, for what writes them itself, values behind the keys of their head; `None` where they are
    /// elsewhere.
    ///
    /// # Panics
    /// If there is no room for them.
    pub(crate) fn target(&self, n: i64) -> Option<CacheTarget<'_>> {
        if self.order != Order::ByHead {
            return None;
        }
        let (len, capacity) = (self.len, self.capacity);
        let places = self.places.as_ref().map(|places| &places.written);
        let has_room = places.is_some() || len + n <= capacity;
        assert!(has_room, "a cache of {capacity} entries that holds {len} has no room for {n}");
        Some(CacheTarget { entries: self.entries.shallow_clone(), places, first: len })
    }

    /// All keys and all values up to `n` entries that were just written, as from [`LayerCache::append`].
    pub(crate) fn with_next(&self, n: i64) -> (Tensor, Tensor) {
        self.heads(self.places.as_ref().map_or(self.len + n, |places| places.n_read))
    }

    /// Keys and values of the first `n` entries, `[b, n_heads, n, d_head]` each.
    fn heads(&self, n: i64) -> (Tensor, Tensor) {
        let seen = self.entries.narrow(2, 0, n);
        match self.order {
            Order::KeysFirst => (seen.narrow(1, 0, self.n_heads), seen.narrow(1, self.n_heads, self.n_heads)),
            Order::ByHead => {
                let part = |at: i64| seen.slice(1, at, 2 * self.n_heads, 2);
                (part(0), part(1))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_come_out_as_they_went_in_whatever_their_order() {
        let shape = KvShape { n_layers: 2, n_rows: 2, n_heads: 3, d_head: 4, capacity: 7 };
        let options = (Kind::Float, Device::Cpu);
        let kv = |from: i64, n: i64| (Tensor::arange(2 * 6 * n * 4, options) + from).view([2, 6, n, 4]);
        let orders = [Order::KeysFirst, Order::ByHead].map(|order| {
            let all = Tensor::zeros([2, 2, 6, 7, 4], options);
            let mut cache = KvCache::ordered(all, shape, order);
            let (first, _) = cache.layers()[1].append(&kv(0, 3));
            assert_eq!(first.get(1).get(0), kv(0, 3).get(1).get(0));
            let moved = cache.keep(&[0, 2]);
            assert!(moved.is_some());
            let (k, v) = cache.layers()[1].append(&kv(500, 2));
            assert_eq!((k.size(), v.size()), (vec![2, 3, 4, 4], vec![2, 3, 4, 4]));
            let places = Tensor::from_slice(&[6_i64, 5]);
            let filled = cache.at_places(&places, 7, |cache| cache.layers()[1].append(&kv(900, 2)));
            (k, v, filled.0, filled.1)
        });
        assert_eq!(orders[0], orders[1]);
        // Both hold the keys of the second row's last head.
        assert_eq!(orders[0].0.get(1).get(2).get(3), kv(500, 2).get(1).get(2).get(1));
        assert_eq!(orders[0].1.get(1).get(2).get(3), kv(500, 2).get(1).get(5).get(1));
        // Heads of all rows are one axis where values are behind the keys of their head.
        let all = Tensor::zeros([2, 2, 6, 7, 4], options);
        let (k, _) = KvCache::ordered(all, shape, Order::ByHead).layers()[0].append(&kv(0, 3));
        assert_eq!(k.stride()[0], 3 * k.stride()[1]);
    }
}
