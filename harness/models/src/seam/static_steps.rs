//! Steps over buffers that stay where they are, as a CUDA graph needs them.
//!
//! Such a step is a function of one block of ids, positions, places and a mask, and of a cache of which a fixed part is read.
//! That part grows in buckets, so that few steps serve a whole image, and the buffers serve one image after the other. On a
//! CPU the same steps run without a graph: what a graph computes is tested there.
//!
//! Several images can share the buffers, each in a lane of its own: the guidance rows of the first, then those of the second.
//! A step then has a fixed number of slots a lane, so that no image changes what is computed of another.

use std::{
    cell::RefCell,
    collections::{BTreeMap, btree_map::Entry},
    rc::Rc,
};

use specimen_decode::pipeline::Sampling;
use specimen_weights::cuda_graph::Graph;
use tch::{Device, Kind, Tensor};

use crate::llama::fused::FewShapes;
use crate::seam::{
    backbone::{Backbone, Tapped},
    captures::{Captures, Capturing},
    distributions::{DistributionRows, distributions},
    kv::{KvCache, KvShape},
    mask::{Mask, Sight, stacked},
    transfers::Packed,
};

/// Entries by which the part of a cache that is read grows.
const BUCKET: i64 = 256;
/// The same where several images share a step. The attention kernel of a CPU takes keys in pieces of so many, and a piece of
/// which nothing is seen adds nothing: how far a neighbour is has no effect on the sums.
const BUCKET_OF_LANES: i64 = 512;
/// Buffers that wait for an image at most: methods differ in the size of their trees, and so of their caches.
const MOST_UNUSED: usize = 2;

/// Buffers of one model that no image uses.
#[derive(Default)]
pub struct StepBuffers {
    unused: RefCell<Vec<Buffers>>,
    capturing: Capturing,
}

/// Images that share buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lanes {
    /// At least 1.
    pub(crate) n: usize,
    /// Slots of each in a step; of a single image as many as it has.
    pub(crate) n_slots: usize,
}

impl Lanes {
    /// One image with the buffers to itself.
    pub(crate) const ONE: Self = Self { n: 1, n_slots: 0 };

    fn bucket(self) -> i64 {
        if self.n == 1 { BUCKET } else { BUCKET_OF_LANES }
    }
}

impl StepBuffers {
    /// Why the first step that could not be captured runs without a CUDA graph. This is said once, however many follow. A CPU
    /// has no graphs.
    pub fn take_refusal(&self) -> Option<String> {
        self.capturing.take_refusal()
    }

    /// What was captured so far.
    pub fn captures(&self) -> Captures {
        self.capturing.captures()
    }

    /// Buffers whose steps are never captured as graphs.
    pub fn eager() -> Self {
        Self { capturing: Capturing::never(), ..Self::default() }
    }

    /// Buffers whose steps are refused as graphs, on any device: `refuse` says why, and may run the step as a capture does.
    pub fn refused_by(refuse: impl Fn(&mut dyn FnMut()) -> String + 'static) -> Self {
        Self { capturing: Capturing::refused_by(refuse), ..Self::default() }
    }

    /// Buffers for `lanes`, and the empty cache of each, of `shape` or a little more. `shape` is that of one lane.
    pub(crate) fn lend(
        self: &Rc<Self>,
        lanes: Lanes,
        shape: KvShape,
        sampling: &Sampling,
        kind: Kind,
        device: Device,
    ) -> (Rc<RefCell<StaticSteps>>, Vec<KvCache>) {
        let bucket = lanes.bucket();
        // The last entry of a lane is no image's: slots that have no token write there.
        let of_lane = KvShape { capacity: (shape.capacity + bucket) / bucket * bucket, ..shape };
        let n_rows = shape.n_rows;
        let shape = KvShape { n_rows: lanes.n as i64 * n_rows, ..of_lane };
        let mut unused = self.unused.borrow_mut();
        let fits =
            |buffers: &Buffers| (buffers.shape, buffers.lanes, buffers.sampling) == (shape, lanes, *sampling);
        let mut buffers = match unused.iter().position(fits) {
            Some(at) => unused.remove(at),
            None => Buffers::new(shape, lanes, *sampling, KvCache::new(shape, kind, device).memory()),
        };
        let _ = buffers.entries.zero_();
        let _ = buffers.columns.zero_();
        buffers.has_pads = false;
        let lane = |at: i64| KvCache::over(buffers.entries.narrow(1, at * n_rows, n_rows), of_lane);
        let caches = (0..lanes.n as i64).map(lane).collect();
        (Rc::new(RefCell::new(StaticSteps { home: self.clone(), buffers: Some(buffers) })), caches)
    }
}

/// What a batch of images, mostly of one, computes with.
struct Buffers {
    /// Of all lanes.
    shape: KvShape,
    lanes: Lanes,
    sampling: Sampling,
    /// Memory of the caches, rows of the first lane first.
    entries: Tensor,
    /// All lanes' entries as one cache.
    cache: KvCache,
    /// 0, or minus infinity in the columns of pads, `[b, 1, 1, capacity]`, in the kind of the cache.
    columns: Tensor,
    has_pads: bool,
    steps: BTreeMap<StepKey, Step>,
}

impl Buffers {
    fn new(shape: KvShape, lanes: Lanes, sampling: Sampling, entries: &Tensor) -> Self {
        let columns = Tensor::zeros([shape.n_rows, 1, 1, shape.capacity], (entries.kind(), entries.device()));
        let entries = entries.shallow_clone();
        let cache = KvCache::filled(entries.shallow_clone(), shape);
        Self { shape, lanes, sampling, entries, cache, columns, has_pads: false, steps: BTreeMap::new() }
    }

    /// Guidance rows of a lane.
    fn n_rows(&self) -> i64 {
        self.shape.n_rows / self.lanes.n as i64
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
    Yes(Graph, Computed),
}

/// What a step computes, of all lanes.
struct Computed {
    /// After the final norm, `[b, n, d]`.
    features: Tensor,
    /// What the tap is to get, `[b, n, w]`.
    tapped: Tensor,
    /// `[lanes * n, n_vocab]`
    distributions: Tensor,
}

impl Computed {
    /// A copy that the next replay does not write over.
    fn copied(&self) -> Self {
        let [features, tapped, distributions] =
            [&self.features, &self.tapped, &self.distributions].map(Tensor::copy);
        Self { features, tapped, distributions }
    }
}

/// What a step gives of one lane.
pub(crate) struct Outputs {
    /// After the final norm, `[b, n, d]`.
    pub(crate) features: Tensor,
    /// What the tap is to get, `[b, n, w]`.
    pub(crate) tapped: Tensor,
    /// `n` rows.
    pub(crate) distributions: DistributionRows,
}

/// What one lane runs: tokens behind the valid entries of its cache.
pub(crate) struct LaneStep<'a> {
    pub(crate) lane: usize,
    /// Valid entries of its cache.
    pub(crate) n_cached: i64,
    pub(crate) tokens: &'a [i64],
    pub(crate) positions: &'a [i64],
    /// As from [`tree_mask`](crate::seam::mask::tree_mask).
    pub(crate) mask: Option<&'a Mask>,
}

/// The use of the buffers by the images of their lanes; they go back when these are done.
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

    /// Hides the first `n_pads[row]` entries of each guidance row of `lane`.
    pub(crate) fn hide_pads(&mut self, lane: usize, n_pads: &[i64]) {
        let buffers = self.buffers();
        buffers.has_pads |= n_pads.iter().any(|&n| n > 0);
        for (row, &n) in (lane as i64 * buffers.n_rows()..).zip(n_pads) {
            let _ = buffers.columns.get(row).narrow(2, 0, n).fill_(f64::NEG_INFINITY);
        }
    }

    /// Runs what `present` lanes ask for, in rising order, in one forward; the entries stay invalid. `layers` as in
    /// [`Backbone::forward_tapped`].
    ///
    /// # Panics
    /// If a lane asks for more than its slots or its cache has room for.
    pub(crate) fn run(
        &mut self,
        backbone: &dyn Backbone,
        present: &[LaneStep<'_>],
        layers: &[usize],
    ) -> Vec<Outputs> {
        let buffers = self.buffers();
        let n_rows = buffers.n_rows();
        let n = if buffers.lanes.n == 1 { present[0].tokens.len() } else { buffers.lanes.n_slots };
        let Computed { features, tapped, distributions } = self.compute(backbone, present, n, layers);
        let distributions = DistributionRows::new(distributions);
        let of_lane = |LaneStep { lane, tokens, .. }: &LaneStep<'_>| {
            let part =
                |x: &Tensor| x.narrow(0, *lane as i64 * n_rows, n_rows).narrow(1, 0, tokens.len() as i64);
            Outputs {
                features: part(&features),
                tapped: part(&tapped),
                distributions: distributions.part(lane * n, tokens.len()),
            }
        };
        present.iter().map(of_lane).collect()
    }

    /// `n` slots of every lane.
    fn compute(
        &mut self,
        backbone: &dyn Backbone,
        present: &[LaneStep<'_>],
        n: usize,
        layers: &[usize],
    ) -> Computed {
        let home = self.home.clone();
        let buffers = self.buffers();
        let (lanes, capacity) = (buffers.lanes, buffers.shape.capacity);
        let ends = present.iter().map(|step| step.n_cached + step.tokens.len() as i64);
        let (end, bucket) = (ends.max().expect("a step has a lane"), lanes.bucket());
        let n_read = (end + bucket - 1) / bucket * bucket;
        assert!(n_read <= capacity, "a cache of {capacity} entries has no room for {end}");
        let packed = packed(present, lanes.n, n, n_read, capacity - 1);
        let key = StepKey { n, n_read, has_pads: buffers.has_pads, layers: layers.to_vec() };
        let device = buffers.columns.device();
        let mut steps = std::mem::take(&mut buffers.steps);
        let step = match steps.entry(key) {
            Entry::Occupied(known) => {
                let step = known.into_mut();
                packed.upload_into(&mut step.block);
                step
            }
            Entry::Vacant(free) => free.insert(Step::new(&packed, device)),
        };
        let Step { lists, mask, graph, .. } = step;
        let mut compute = || buffers.forward(backbone, lists, mask, n_read, layers);
        if let Captured::Untried = graph {
            *graph = match home.capturing.capture(device, &mut compute) {
                Some((graph, outputs)) => Captured::Yes(graph, outputs),
                None => Captured::No,
            };
        }
        let computed = match graph {
            Captured::Yes(graph, outputs) => {
                graph.replay();
                outputs.copied()
            }
            Captured::Untried | Captured::No => compute(),
        };
        buffers.steps = steps;
        computed
    }
}

impl Buffers {
    /// Runs ids, positions and places (`[lanes * n]` each) under `mask`, `[lanes * n, n_read]`.
    fn forward(
        &mut self,
        backbone: &dyn Backbone,
        [ids, positions, places]: &[Tensor; 3],
        mask: &Tensor,
        n_read: i64,
        layers: &[usize],
    ) -> Computed {
        let _few = FewShapes::on(ids.device());
        let (n_lanes, n_rows, n) = (self.lanes.n as i64, self.n_rows(), ids.size()[0] / self.lanes.n as i64);
        let x = backbone.embed(ids, positions);
        let mask = mask.to_kind(self.cache.kind());
        // Where there are several lanes, each has its own, for all its guidance rows.
        let of_rows = |of_lanes: &Tensor, shape: &[i64]| {
            let tail = &shape[1..];
            let lanes = of_lanes.view([&[n_lanes, 1], tail].concat().as_slice());
            lanes.expand([&[n_lanes, n_rows], tail].concat(), false).reshape(shape)
        };
        let n_all = n_lanes * n_rows;
        let (x, positions, places, mask) = match n_lanes {
            1 => {
                let x = x.unsqueeze(0).expand([n_rows, -1, -1], false);
                (x, positions.shallow_clone(), places.shallow_clone(), mask)
            }
            _ => (
                of_rows(&x, &[n_all, n, x.size()[1]]),
                of_rows(positions, &[n_all, n]),
                of_rows(places, &[n_all, n]),
                of_rows(&mask, &[n_all, 1, n, n_read]),
            ),
        };
        let mask = if self.has_pads { mask + self.columns.narrow(3, 0, n_read) } else { mask };
        let Tapped { features, inner } = self.cache.at_places(&places, n_read, |cache| {
            backbone.forward_tapped(&x, &positions, cache, Some(&mask), layers)
        });
        let tapped = if inner.is_empty() { features.shallow_clone() } else { Tensor::cat(&inner, -1) };
        // Guidance rows first, so that laws are made of all lanes at once.
        let by_row = match n_lanes {
            1 => features.shallow_clone(),
            _ => {
                let d = features.size()[2];
                features.view([n_lanes, n_rows, n, d]).transpose(0, 1).reshape([n_rows, n_lanes * n, d])
            }
        };
        let distributions = distributions(&backbone.logits(&by_row), &self.sampling);
        Computed { features, tapped, distributions }
    }
}

/// Ids, positions, places and mask of a step with `n` slots a lane. Slots without a token write to the entry `spare`.
fn packed(present: &[LaneStep<'_>], n_lanes: usize, n: usize, n_read: i64, spare: i64) -> Packed<3> {
    let mut lists = [vec![0; n_lanes * n], vec![0; n_lanes * n], vec![spare; n_lanes * n]];
    let mut sights = vec![None; n_lanes];
    for &LaneStep { lane, n_cached, tokens, positions, mask } in present {
        assert!(tokens.len() <= n, "{} tokens are run in {n} slots", tokens.len());
        let end = n_cached + tokens.len() as i64;
        let places: Vec<i64> = (n_cached..end).collect();
        for (list, of_lane) in lists.iter_mut().zip([tokens, positions, &places]) {
            list[lane * n..][..of_lane.len()].copy_from_slice(of_lane);
        }
        sights[lane] = Some(Sight { mask, n_seen: end });
    }
    Packed::new(lists.each_ref().map(Vec::as_slice), Some(&stacked(&sights, n, n_read)))
}

impl Step {
    fn new(packed: &Packed<3>, device: Device) -> Self {
        let block = packed.upload(device);
        let (lists, mask) = packed.views(&block);
        let mask = mask.expect("a step has a mask");
        Self { block, lists, mask, graph: Captured::Untried }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use specimen_decode::pipeline::FilterOrder;

    use super::*;
    use crate::{llama::layer::Turns, seam::backbone::BackboneShape};

    const SHAPE: KvShape = KvShape { n_layers: 1, n_rows: 1, n_heads: 1, d_head: 2, capacity: 1200 };

    /// A network that computes nothing and notes how many entries each forward reads.
    #[derive(Default)]
    struct Reads(RefCell<Vec<i64>>);

    impl Backbone for Reads {
        fn shape(&self) -> BackboneShape {
            BackboneShape { d_model: 2, n_layers: 1, n_heads: 1, d_head: 2, n_vocab: 2, n_positions: 1200 }
        }

        fn kind(&self) -> Kind {
            Kind::Float
        }

        fn embed(&self, tokens: &Tensor, _: &Tensor) -> Tensor {
            Tensor::zeros([tokens.size()[0], 2], (Kind::Float, Device::Cpu))
        }

        fn forward_tapped(
            &self,
            x: &Tensor,
            _: &Tensor,
            _: &mut KvCache,
            mask: Option<&Tensor>,
            _: &[usize],
        ) -> Tapped {
            self.0.borrow_mut().push(*mask.unwrap().size().last().unwrap());
            Tapped { features: x.shallow_clone(), inner: Vec::new() }
        }

        fn logits(&self, features: &Tensor) -> Tensor {
            features.shallow_clone()
        }

        fn turns(&self) -> Option<&Turns> {
            None
        }
    }

    /// How many entries each step reads that runs one token of the last lane behind `n_cached` entries.
    fn n_read(lanes: Lanes, n_cached: &[i64]) -> Vec<i64> {
        let (network, buffers) = (Reads::default(), Rc::new(StepBuffers::default()));
        let (temperature, top_p, filter_order) = (1.0, 1.0, FilterOrder::TopKThenTopP);
        let sampling = Sampling { temperature, top_k: 0, top_p, guidance: 1.0, filter_order, coupled: false };
        let (steps, _) = buffers.lend(lanes, SHAPE, &sampling, Kind::Float, Device::Cpu);
        for &n_cached in n_cached {
            let lane = lanes.n - 1;
            let asked = LaneStep { lane, n_cached, tokens: &[1], positions: &[n_cached], mask: None };
            steps.borrow_mut().run(&network, &[asked], &[]);
        }
        network.0.into_inner()
    }

    #[test]
    fn a_step_reads_whole_buckets_and_not_the_whole_cache() {
        assert_eq!(n_read(Lanes::ONE, &[0, 255, 256, 600, 1199]), [256, 256, 512, 768, 1280]);
    }

    #[test]
    fn steps_of_lanes_read_whole_pieces_of_the_attention_kernel() {
        assert_eq!(
            n_read(Lanes { n: 2, n_slots: 1 }, &[0, 255, 256, 600, 1199]),
            [512, 512, 512, 1024, 1536]
        );
    }
}
