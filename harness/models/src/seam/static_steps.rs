//! Steps over buffers that stay where they are, as a CUDA graph needs them.
//!
//! Such a step is a function of one block of ids, positions, places and a mask, and of a cache of which a fixed part is read.
//! That part grows in buckets, so that few steps serve a whole image, and the buffers serve one image after the other. On a
//! CPU the same steps run without a graph: what a graph computes is tested there.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use specimen_decode::pipeline::Sampling;
use specimen_weights::cuda_graph::Graph;
use tch::{Device, Kind, Tensor};

use crate::seam::{
    backbone::{Backbone, Tapped},
    distributions::distributions,
    kv::{KvCache, KvShape},
    mask::{Mask, widened},
    transfers::Packed,
};

/// Entries by which the part of a cache that is read grows.
const BUCKET: i64 = 256;
/// Buffers that wait for an image at most: methods differ in the size of their trees, and so of their caches.
const MOST_UNUSED: usize = 2;

/// Buffers of one model that no image uses.
#[derive(Default)]
pub struct StepBuffers {
    unused: RefCell<Vec<Buffers>>,
    /// Why a step was not captured.
    refusal: RefCell<Option<String>>,
}

impl StepBuffers {
    /// Why a step of this size and all like it run without a CUDA graph; a reason is given once. A CPU has no graphs.
    #[must_use]
    pub fn take_refusal(&self) -> Option<String> {
        self.refusal.borrow_mut().take()
    }

    /// Buffers for one image, and its empty cache of `shape` or a little more.
    pub(crate) fn lend(
        self: &Rc<Self>,
        shape: KvShape,
        sampling: &Sampling,
        kind: Kind,
        device: Device,
    ) -> (StaticSteps, KvCache) {
        let shape = KvShape { capacity: (shape.capacity + BUCKET - 1) / BUCKET * BUCKET, ..shape };
        let mut unused = self.unused.borrow_mut();
        let fits = |buffers: &Buffers| buffers.shape == shape && buffers.sampling == *sampling;
        let mut buffers = match unused.iter().position(fits) {
            Some(at) => unused.remove(at),
            None => Buffers::new(shape, *sampling, KvCache::new(shape, kind, device).memory()),
        };
        let _ = buffers.entries.zero_();
        buffers.has_pads = false;
        let cache = KvCache::over(buffers.entries.shallow_clone(), shape, 0);
        (StaticSteps { home: self.clone(), buffers: Some(buffers) }, cache)
    }
}

/// What one image at a time computes with.
struct Buffers {
    shape: KvShape,
    sampling: Sampling,
    /// Memory of the cache.
    entries: Tensor,
    /// 0, or minus infinity in the columns of pads, `[b, 1, 1, capacity]`, in the kind of the cache.
    columns: Tensor,
    has_pads: bool,
    steps: BTreeMap<StepKey, Step>,
}

impl Buffers {
    fn new(shape: KvShape, sampling: Sampling, entries: &Tensor) -> Self {
        let columns = Tensor::zeros([shape.n_rows, 1, 1, shape.capacity], (entries.kind(), entries.device()));
        let entries = entries.shallow_clone();
        Self { shape, sampling, entries, columns, has_pads: false, steps: BTreeMap::new() }
    }
}

/// What decides the operations of a step.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct StepKey {
    n: usize,
    n_read: i64,
    has_pads: bool,
    layers: Vec<usize>,
}

/// Buffers of a step.
struct Step {
    block: Tensor,
    /// Views of the block: ids, positions, and places in the cache, `[n]` each.
    lists: [Tensor; 3],
    /// A view of the block, `[n, n_read]`, f32.
    mask: Tensor,
    graph: Captured,
}

enum Captured {
    /// Not tried yet.
    Untried,
    /// There is none: a CPU, or it could not be captured.
    No,
    /// The graph, and where it writes.
    Yes(Graph, Outputs),
}

/// What a step gives.
pub(crate) struct Outputs {
    /// After the final norm, `[b, n, d]`.
    pub(crate) features: Tensor,
    /// What the tap is to get, `[b, n, w]`.
    pub(crate) tapped: Tensor,
    /// `[n, n_vocab]`
    pub(crate) distributions: Tensor,
}

impl Outputs {
    /// A copy that the next replay does not write over.
    fn copied(&self) -> Self {
        let [features, tapped, distributions] =
            [&self.features, &self.tapped, &self.distributions].map(Tensor::copy);
        Self { features, tapped, distributions }
    }
}

/// One image's use of the buffers, which go back when it is done.
pub(crate) struct StaticSteps {
    home: Rc<StepBuffers>,
    /// Absent only while they go back.
    buffers: Option<Buffers>,
}

impl Drop for StaticSteps {
    fn drop(&mut self) {
        let mut unused = self.home.unused.borrow_mut();
        unused.extend(self.buffers.take());
        if unused.len() > MOST_UNUSED {
            unused.remove(0);
        }
    }
}

impl StaticSteps {
    fn buffers(&mut self) -> &mut Buffers {
        self.buffers.as_mut().expect("buffers go back at the end only")
    }

    /// Hides the first `n_pads[row]` entries of each row of the cache.
    pub(crate) fn hide_pads(&mut self, n_pads: &[i64]) {
        let buffers = self.buffers();
        buffers.has_pads = n_pads.iter().any(|&n| n > 0);
        let _ = buffers.columns.zero_();
        for (row, &n) in (0..).zip(n_pads) {
            let _ = buffers.columns.get(row).narrow(2, 0, n).fill_(f64::NEG_INFINITY);
        }
    }

    /// Runs `tokens` at `positions` behind the valid entries of `cache`, which is the one that was lent; the entries stay
    /// invalid. `mask` as from [`tree_mask`](crate::seam::mask::tree_mask), `layers` as in [`Backbone::forward_tapped`].
    pub(crate) fn run(
        &mut self,
        backbone: &dyn Backbone,
        cache: &mut KvCache,
        [tokens, positions]: [&[i64]; 2],
        mask: Option<&Mask>,
        layers: &[usize],
    ) -> Outputs {
        let home = self.home.clone();
        let Buffers { shape, sampling, columns, has_pads, steps, .. } = self.buffers();
        let (first, n) = (cache.len(), tokens.len());
        let end = first + n as i64;
        let n_read = (end + BUCKET - 1) / BUCKET * BUCKET;
        assert!(n_read <= shape.capacity, "a cache of {} entries has no room for {end}", shape.capacity);
        let places: Vec<i64> = (first..end).collect();
        let wide = widened(mask, end, n_read);
        let packed = Packed::new([tokens, positions, &places], Some(&wide));
        let key = StepKey { n, n_read, has_pads: *has_pads, layers: layers.to_vec() };
        let device = columns.device();
        let step = match steps.get_mut(&key) {
            Some(step) => {
                packed.upload_into(&mut step.block);
                step
            }
            None => {
                let step = Step::new(&packed, device);
                steps.entry(key).or_insert(step)
            }
        };
        let [ids, positions, places] = &step.lists;
        let pads = has_pads.then(|| columns.narrow(3, 0, n_read));
        let mut compute = || {
            let mask = step.mask.to_kind(cache.kind());
            let mask = pads.as_ref().map_or_else(|| mask.shallow_clone(), |pads| &mask + pads);
            let x = backbone.embed(ids, positions).unsqueeze(0).expand([shape.n_rows, -1, -1], false);
            let Tapped { features, inner } = cache.at_places(places, n_read, |cache| {
                backbone.forward_tapped(&x, positions, cache, Some(&mask), layers)
            });
            let tapped = if inner.is_empty() { features.shallow_clone() } else { Tensor::cat(&inner, -1) };
            let distributions = distributions(&backbone.logits(&features), sampling);
            Outputs { features, tapped, distributions }
        };
        if let (Captured::Untried, Device::Cuda(_)) = (&step.graph, device) {
            step.graph = match Graph::capture(&mut compute) {
                Ok((graph, outputs)) => Captured::Yes(graph, outputs),
                Err(why) => {
                    home.refusal.borrow_mut().get_or_insert(why);
                    Captured::No
                }
            };
        }
        match &step.graph {
            Captured::Yes(graph, outputs) => {
                graph.replay();
                outputs.copied()
            }
            Captured::Untried | Captured::No => compute(),
        }
    }
}

impl Step {
    fn new(packed: &Packed<3>, device: Device) -> Self {
        let block = packed.upload(device);
        let (lists, mask) = packed.views(&block);
        let mask = mask.expect("a step has a mask");
        Self { block, lists, mask, graph: Captured::Untried }
    }
}
