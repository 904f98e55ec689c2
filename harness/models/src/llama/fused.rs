//! What a decoder layer does for few nodes, as a handful of kernels on a GPU: see `fused.cu`. Each function here gives `None`
//! where it has no kernel, on a CPU first of all, and the caller computes by operations of libtorch.

use std::{
    cell::Cell,
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use specimen_weights::{
    compiled_kernels::{Argument, Kernel, Spread, compiled},
    cuda::CudnnAttention,
};
use tch::{Device, Kind, Tensor};

use crate::{
    llama::{layer::Activation, linear},
    seam::kv::{CacheTarget, LayerCache},
};

/// The kernels, for the compiler of the GPU at hand.
const SOURCE: &str = include_str!("fused.cu");
/// The least and the most threads of a block.
const N_THREADS: [u64; 2] = [32, 1024];
/// Numbers of a row that the threads of a block share: their memory is 48 KiB without asking for more.
const LONGEST_ROW: i64 = 10_000;
/// Bytes that a thread reads at once.
const PACK: i64 = 16;
/// Rows and columns up to which a product by a kernel of this file is faster than libtorch's, which splits such matrices badly.
const LARGEST_PRODUCT: [i64; 2] = [4, 2_048];
/// Bytes that a thread of a product copies ahead: two times two packs of two columns.
const COPIED_BYTES: u32 = 128;
/// Rows up to which the same holds of twice as many columns.
const FEWEST_ROWS: i64 = 2;
/// Shares of a row of attention are a multiple of so many.
const SHARES: u64 = 16;
/// Rows of queries of a head up to which attention keeps all its scores; above they are too many to be kept.
const MOST_QUERIES: i64 = 256;

/// The kernels in one kind of number.
struct Kernels {
    add_norm: Kernel,
    gated: Kernel,
    masked_softmax: Kernel,
    /// For up to 1, 2 and 4 rows.
    rows: [Kernel; 3],
    turned: Kernel,
}

/// Or why they cannot be made.
type Made = Result<Kernels, String>;

/// LayerNorm of query and key heads.
pub(crate) struct HeadNorm<'a> {
    /// `[heads, d_head]`, f32
    pub(crate) weight: &'a Tensor,
    /// `[heads, d_head]`, f32
    pub(crate) bias: &'a Tensor,
    pub(crate) eps: f64,
}

/// Heads of a layer as one projection gives them.
#[derive(Clone, Copy)]
pub(crate) struct Heads {
    /// Heads of queries, the first.
    pub(crate) n_queries: i64,
    /// Heads of keys behind them, and as many of values behind these.
    pub(crate) n_keys: i64,
    pub(crate) d_head: i64,
}

/// Why the GPU `device` runs without these kernels; `None` where it has them. To be asked once a tensor of it was made.
pub fn absent(device: Device) -> Option<String> {
    [Kind::BFloat16, Kind::Float].into_iter().find_map(|kind| made(device, kind).as_ref().err().cloned())
}

/// The kernels for `x`; `None` on a CPU, in training, in another kind, and where they cannot be made.
fn kernels(x: &Tensor) -> Option<&'static Kernels> {
    let is_served = matches!(x.device(), Device::Cuda(_))
        && matches!(x.kind(), Kind::BFloat16 | Kind::Float)
        && !x.requires_grad();
    is_served.then(|| made(x.device(), x.kind()).as_ref().ok()).flatten()
}

/// The kernels of a GPU in `kind`, compiled when they are first asked for; they stay until the process ends.
fn made(device: Device, kind: Kind) -> &'static Made {
    static MADE: Mutex<BTreeMap<(usize, bool), &Made>> = Mutex::new(BTreeMap::new());
    let make = |defines: &[&str]| {
        let names = ["add_norm", "gated", "masked_softmax", "turned", "rows_1", "rows_2", "rows_4"];
        let [add_norm, gated, masked_softmax, turned, one, two, four] =
            compiled(device, SOURCE, defines, names)?;
        Ok(Kernels { add_norm, gated, masked_softmax, turned, rows: [one, two, four] })
    };
    let index = if let Device::Cuda(index) = device { index } else { 0 };
    let is_wide = kind == Kind::Float;
    let mut all = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    all.entry((index, is_wide))
        .or_insert_with(|| Box::leak(Box::new(if is_wide { make(&["WIDE"]) } else { make(&[]) })))
}

/// `x + branch`, and its RMSNorm with `weight` (`[d]`); of `x` itself without a branch. `x`, `branch`: `[.., d]`.
pub(crate) fn add_norm(
    x: &Tensor,
    branch: Option<&Tensor>,
    weight: &Tensor,
    eps: f64,
) -> Option<(Tensor, Tensor)> {
    let kernels = kernels(x)?;
    let d = *x.size().last()?;
    let (x, branch) = (x.contiguous(), branch.map(Tensor::contiguous));
    let mut all = [Some(&x), branch.as_ref(), Some(weight)].into_iter().flatten();
    let is_trained = weight.requires_grad() || branch.as_ref().is_some_and(Tensor::requires_grad);
    if is_trained || d > LONGEST_ROW || !all.all(|each| is_packed(each, x.kind())) {
        return None;
    }
    let normed = x.empty_like();
    let sum = if branch.is_some() { x.empty_like() } else { x.shallow_clone() };
    let n_packs = n_packs(d, x.kind());
    let spread = Spread {
        blocks: [(x.numel() as i64 / d) as u32, 1, 1],
        n_threads: threads(n_packs),
        n_shared_bytes: 4 * (32 + d as u32),
    };
    let arguments = [
        Argument::of(&x),
        branch.as_ref().map_or(Argument::NONE, Argument::of),
        Argument::of(weight),
        Argument::of(&sum),
        Argument::of(&normed),
        Argument::Int(n_packs as i32),
        Argument::Float(eps as f32),
    ];
    #[expect(unsafe_code, reason = "all tensors have the shapes that the kernel takes")]
    unsafe {
        kernels.add_norm.run(spread, &arguments);
    }
    Some((sum, normed))
}

/// `x` times the transpose of `weight`, as [`linear::linear`]. `x`: `[.., d]`; `weight`: `[n, d]`; returns `[.., n]`.
pub(crate) fn linear(x: &Tensor, weight: &Tensor) -> Tensor {
    few_rows(x, weight).unwrap_or_else(|| linear::linear(x, weight, None))
}

fn few_rows(x: &Tensor, weight: &Tensor) -> Option<Tensor> {
    let kernels = kernels(x)?;
    let (n_columns, d) = weight.size2().ok()?;
    let n_rows = x.numel() as i64 / d;
    let x = x.contiguous();
    let [most_rows, most_columns] = LARGEST_PRODUCT;
    let is_small = n_columns <= most_columns && n_rows <= most_rows;
    let is_served = (is_small || n_columns <= 2 * most_columns && n_rows <= FEWEST_ROWS)
        && n_columns % 2 == 0
        && !weight.requires_grad()
        && is_packed(&x, x.kind())
        && is_packed(weight, x.kind());
    if !is_served {
        return None;
    }
    let mut size = x.size();
    *size.last_mut()? = n_columns;
    let out = Tensor::empty(size.as_slice(), (x.kind(), x.device()));
    let which = (n_rows as usize).next_power_of_two().trailing_zeros();
    // Where columns are many, fewer threads for two of them keep the memory busy.
    let n_threads = if n_columns <= most_columns { 128 } else { 64 };
    let spread = Spread {
        blocks: [(n_columns / 2) as u32, 1, 1],
        n_threads,
        n_shared_bytes: n_threads * COPIED_BYTES + (32 << which),
    };
    let arguments = [
        Argument::of(&x),
        Argument::of(weight),
        Argument::of(&out),
        Argument::Int(n_rows as i32),
        Argument::Int(n_packs(d, x.kind()) as i32),
        Argument::Int(n_columns as i32),
    ];
    #[expect(unsafe_code, reason = "all tensors have the shapes that the kernel takes")]
    unsafe {
        kernels.rows[which as usize].run(spread, &arguments);
    }
    Some(out)
}

/// The gate of `hidden` through `activation`, times its other half. `hidden`: `[.., 2 * d_ffn]`, gate first; returns
/// `[.., d_ffn]`.
pub(crate) fn gated(hidden: &Tensor, activation: Activation) -> Option<Tensor> {
    let kernels = kernels(hidden)?;
    let hidden = hidden.contiguous();
    let mut size = hidden.size();
    let d_ffn = *size.last()? / 2;
    *size.last_mut()? = d_ffn;
    let out = Tensor::empty(size.as_slice(), (hidden.kind(), hidden.device()));
    let n_rows = hidden.numel() as i64 / (2 * d_ffn);
    let n_threads = 256;
    let blocks = [(d_ffn as u32).div_ceil(n_threads), n_rows as u32, 1];
    let which = match activation {
        Activation::Silu => 0,
        Activation::GeluTanh => 1,
    };
    let arguments =
        [Argument::of(&hidden), Argument::of(&out), Argument::Int(d_ffn as i32), Argument::Int(which)];
    #[expect(unsafe_code, reason = "both tensors have the shapes that the kernel takes")]
    unsafe {
        kernels.gated.run(Spread { blocks, n_threads, n_shared_bytes: 0 }, &arguments);
    }
    Some(out)
}

/// While this is kept, forwards are of few shapes, which come again and again.
pub(crate) struct FewShapes(CudnnAttention);

impl FewShapes {
    /// Until it is dropped, on a GPU.
    pub(crate) fn on(device: Device) -> Option<Self> {
        let is_gpu = matches!(device, Device::Cuda(_));
        is_gpu.then(|| {
            IS_OF_FEW_SHAPES.set(true);
            Self(CudnnAttention::allowed())
        })
    }
}

impl Drop for FewShapes {
    fn drop(&mut self) {
        IS_OF_FEW_SHAPES.set(false);
    }
}

thread_local! {
    static IS_OF_FEW_SHAPES: Cell<bool> = const { Cell::new(false) };
}

/// What queries read of keys and values, `[b, heads, n, d_head]` each, where shapes are few: attention as libtorch has it,
/// by two products and a softmax. libtorch's own kernels use little of a GPU at 2 to 256 queries a head. `mask`: additive, in the kind of the queries, `[1 or n, n_keys]` or
/// `[b, 1, ..]`; a query that sees nothing reads zeros.
pub(crate) fn attention(q: &Tensor, k: &Tensor, v: &Tensor, mask: Option<&Tensor>) -> Option<Tensor> {
    let kernels = kernels(q)?;
    let (b, n_heads, n, d_head) = q.size4().ok()?;
    let n_keys = k.size()[2];
    // Heads of all rows are side by side in the cache, so that they are one axis without a copy.
    let is_one_axis = |x: &Tensor| b == 1 || x.stride()[0] == n_heads * x.stride()[1];
    // The kernel of cuDNN for one query is the fastest. It has none in f32.
    let is_alone = n == 1 && q.kind() == Kind::BFloat16;
    let is_served = IS_OF_FEW_SHAPES.get()
        && !is_alone
        && n <= MOST_QUERIES
        && n_keys <= LONGEST_ROW
        && [k, v]
            .into_iter()
            .all(|x| x.kind() == q.kind() && x.size() == [b, n_heads, n_keys, d_head] && is_one_axis(x))
        && mask.is_none_or(|mask| {
            let size = mask.size();
            let fits = |from_end: usize, n: i64| {
                let axis = size.len().checked_sub(from_end).map_or(1, |at| size[at]);
                axis == 1 || axis == n
            };
            mask.kind() == q.kind()
                && mask.stride().last() == Some(&1)
                && size.last() == Some(&n_keys)
                && fits(2, n)
                && fits(3, 1)
                && fits(4, b)
                && size.len() <= 4
        });
    if !is_served {
        return None;
    }
    let [q, k, v] = [q, k, v].map(|x| x.flatten(0, 1));
    let keys = k.transpose(1, 2);
    let scores = if q.kind() == Kind::Float { q.bmm(&keys) } else { q.bmm_dtype(&keys, Kind::Float) };
    // Rows that begin where products read them fast.
    let n_padded = (n_keys as u64).next_multiple_of(SHARES) as i64;
    let shares = Tensor::empty([b * n_heads, n, n_padded], (q.kind(), q.device()));
    let step = |mask: &Tensor, from_end: usize| {
        let at = mask.dim().checked_sub(from_end);
        at.filter(|&at| mask.size()[at] > 1).map_or(0, |at| mask.stride()[at])
    };
    let arguments = [
        Argument::of(&scores),
        mask.map_or(Argument::NONE, Argument::of),
        Argument::Long(mask.map_or(0, |mask| step(mask, 4))),
        Argument::Long(mask.map_or(0, |mask| step(mask, 2))),
        Argument::Float((d_head as f64).powf(-0.5) as f32),
        Argument::of(&shares),
        Argument::Int(n_keys as i32),
        Argument::Int(n_padded as i32),
    ];
    let spread = Spread {
        blocks: [n as u32, n_heads as u32, b as u32],
        n_threads: threads(n_keys / 8),
        n_shared_bytes: 4 * (32 + n_keys as u32),
    };
    #[expect(unsafe_code, reason = "all tensors have the shapes that the kernel takes")]
    unsafe {
        kernels.masked_softmax.run(spread, &arguments);
    }
    Some(shares.narrow(2, 0, n_keys).bmm(&v).view([b, n_heads, n, d_head]))
}

/// Turns queries and keys, puts keys and values into the cache, and gives the queries, `[b, n_queries, n, d_head]`. `qkv`:
/// `[b, n, heads, d_head]`; `turns`: complex, `[n, 1 or heads, d_head / 2]` or `[b, n, ..]`. The entries of the cache stay
/// as many as they were.
pub(crate) fn turned(
    qkv: &Tensor,
    turns: &Tensor,
    norm: Option<HeadNorm<'_>>,
    heads: Heads,
    cache: &mut LayerCache,
) -> Option<Tensor> {
    let kernels = kernels(qkv)?;
    let Heads { n_queries, n_keys, d_head } = heads;
    let (b, n) = (qkv.size()[0], qkv.size()[1]);
    let CacheTarget { entries, places, first } = cache.target(n)?;
    let strides = entries.stride();
    let n_all = n_queries + 2 * n_keys;
    let is_vector =
        |x: &Tensor| x.kind() == Kind::Float && x.is_contiguous() && x.size() == [n_queries + n_keys, d_head];
    let is_served = qkv.size() == [b, n, n_all, d_head]
        && entries.kind() == qkv.kind()
        && entries.size()[..2] == [b, 2 * n_keys]
        && entries.size()[3] == d_head
        && turns.kind() == Kind::ComplexFloat
        && turns.size().last() == Some(&(d_head / 2))
        && norm.as_ref().is_none_or(|norm| is_vector(norm.weight) && is_vector(norm.bias))
        && places.is_none_or(|places| {
            places.kind() == Kind::Int64 && (places.size() == [n] || places.size() == [b, n])
        })
        && strides[3] == 1
        && strides[2] == d_head
        && turns.stride().last() == Some(&1)
        && d_head / 2 <= N_THREADS[1] as i64;
    if !is_served {
        return None;
    }
    let qkv = qkv.contiguous();
    let queries = Tensor::empty([b, n_queries, n, d_head], (qkv.kind(), qkv.device()));
    let of_turns = turns.stride();
    let by = |from_end: usize| {
        let at = turns.dim().checked_sub(from_end);
        at.filter(|&at| turns.size()[at] > 1).map_or(0, |at| of_turns[at])
    };
    let places = places.map(Tensor::contiguous);
    let places_by_row = places.as_ref().map_or(0, |places| if places.dim() == 2 { n } else { 0 });
    let (weight, bias, eps) = norm.as_ref().map_or((Argument::NONE, Argument::NONE, 0.0), |norm| {
        (Argument::of(norm.weight), Argument::of(norm.bias), norm.eps)
    });
    let arguments = [
        Argument::of(&qkv),
        Argument::of(turns),
        Argument::Long(by(4)),
        Argument::Long(by(3)),
        Argument::Long(by(2)),
        weight,
        bias,
        Argument::Float(eps as f32),
        Argument::of(&queries),
        Argument::Int(n_queries as i32),
        Argument::Int((n_queries + n_keys) as i32),
        Argument::of(&entries),
        Argument::Long(strides[0]),
        Argument::Long(strides[1]),
        places.as_ref().map_or(Argument::NONE, Argument::of),
        Argument::Long(places_by_row),
        Argument::Long(first),
        Argument::Int(d_head as i32),
    ];
    let spread = Spread {
        blocks: [n_all as u32, n as u32, b as u32],
        n_threads: threads(d_head / 2),
        n_shared_bytes: 4 * 32,
    };
    #[expect(
        unsafe_code,
        reason = "all tensors have the shapes that the kernel takes, and the cache has room"
    )]
    unsafe {
        kernels.turned.run(spread, &arguments);
    }
    Some(queries)
}

/// Bytes of a number.
fn size_of(kind: Kind) -> i64 {
    if kind == Kind::Float { 4 } else { 2 }
}

/// Packs that `d` numbers are.
fn n_packs(d: i64, kind: Kind) -> i64 {
    d * size_of(kind) / PACK
}

/// Whether rows of `x` begin where a thread can read several numbers at once.
fn is_packed(x: &Tensor, kind: Kind) -> bool {
    let d = x.size().last().copied().unwrap_or(1);
    x.kind() == kind
        && x.is_contiguous()
        && d * size_of(kind) % PACK == 0
        && Argument::is_aligned(x, PACK as usize)
}

/// A power of two, of at least `n` threads where a block has so many.
fn threads(n: i64) -> u32 {
    n.unsigned_abs().next_power_of_two().clamp(N_THREADS[0], N_THREADS[1]) as u32
}
