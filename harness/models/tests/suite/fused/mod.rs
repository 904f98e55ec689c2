//! The kernels between products of matrices compute what operations of libtorch do: their source is compiled for threads of
//! the processor.

use std::{ffi::c_void, fs, process::Command, ptr::null_mut, sync::LazyLock};

use libloading::os::unix::{Library, Symbol};
use specimen_models::llama::layer::rms_norm;
use tch::{Device, Kind, Tensor};

const EPS: f32 = 1e-5;

type AddNorm = unsafe extern "C" fn(i32, i32, P, P, P, P, P, i32, f32);
type Rows = unsafe extern "C" fn(i32, i32, P, P, P, i32, i32, i32);
type MaskedSoftmax = unsafe extern "C" fn(i32, i32, i32, i32, P, P, i64, i64, f32, P, i32, i32);
type Gated = unsafe extern "C" fn(i32, i32, P, P, i32, i32);
type Turned = unsafe extern "C" fn(
    i32,
    i32,
    i32,
    i32,
    P,
    P,
    i64,
    i64,
    i64,
    P,
    P,
    f32,
    P,
    i32,
    i32,
    P,
    i64,
    i64,
    P,
    i64,
    i64,
    i32,
);
type P = *mut c_void;

/// The kernels in one kind of number.
struct Kernels {
    library: Library,
    kind: Kind,
}

/// The library of one kind of number.
fn compiled(kind: Kind) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (source, made) = (folder.path().join("kernels.cc"), folder.path().join("kernels.so"));
    let wide = if kind == Kind::Float { "#define WIDE\n" } else { "" };
    let parts = [
        wide,
        include_str!("threads.h"),
        include_str!("../../../src/llama/fused.cu"),
        include_str!("entries.h"),
    ];
    fs::write(&source, parts.concat()).unwrap();
    let mut compiler = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned()));
    compiler.args(["-std=c++20", "-O1", "-pthread", "-fPIC", "-shared", "-o"]).arg(&made).arg(&source);
    let out = compiler.output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    fs::read(made).unwrap()
}

impl Kernels {
    /// A copy of `library`, whose threads share no memory with those of another test.
    fn new(kind: Kind, library: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("kernels.so");
        fs::write(&copy, library).unwrap();
        #[expect(unsafe_code, reason = "the library was compiled by this process")]
        let library = unsafe { Library::open(Some(&copy), libloading::os::unix::RTLD_NOW) }.unwrap();
        Self { library, kind }
    }

    #[expect(unsafe_code, reason = "the entries have the types that the callers name")]
    fn entry<T>(&self, name: &str) -> Symbol<T> {
        unsafe { self.library.get(name.as_bytes()) }.unwrap()
    }

    /// Numbers that differ, of this kind.
    fn tensor(&self, size: &[i64], step: f64) -> Tensor {
        let n = size.iter().product::<i64>();
        ((Tensor::arange(n, (Kind::Float, Device::Cpu)) * step).sin() * 1.7 + 0.2)
            .view(size)
            .to_kind(self.kind)
    }

    /// Packs of 16 bytes that `d` numbers are.
    fn n_packs(&self, d: i64) -> i32 {
        (d / if self.kind == Kind::Float { 4 } else { 8 }) as i32
    }

    fn empty(&self, size: &[i64]) -> Tensor {
        Tensor::full(size, f64::NAN, (self.kind, Device::Cpu))
    }

    /// Alike to `steps` units of the last place of the kind, of numbers around 1: sums and products lose some where they cancel.
    fn check(&self, found: &Tensor, expected: &Tensor, steps: f64) {
        assert_eq!((found.size(), found.kind()), (expected.size(), expected.kind()));
        let unit = if self.kind == Kind::Float { 2.0_f64.powi(-23) } else { 2.0_f64.powi(-8) };
        let (found, expected) = (found.to_kind(Kind::Double), expected.to_kind(Kind::Double));
        let error = ((&found - &expected) / (expected.abs() + 0.5)).abs().max().double_value(&[]);
        assert!(error <= steps * unit, "{:?}: {error}", self.kind);
    }
}

fn both(check: impl Fn(&Kernels)) {
    const KINDS: [Kind; 2] = [Kind::Float, Kind::BFloat16];
    static COMPILED: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| KINDS.map(compiled));
    KINDS.into_iter().zip(&*COMPILED).for_each(|(kind, library)| check(&Kernels::new(kind, library)));
}

#[test]
fn a_sum_and_its_norm_are_those_of_two_operations() {
    both(|kernels| {
        let add_norm = kernels.entry::<AddNorm>("run_add_norm");
        // A row that is no multiple of the threads.
        let (n_rows, d) = (3, 296);
        let n_packs = kernels.n_packs(d);
        let (x, branch) = (kernels.tensor(&[n_rows, d], 0.7), kernels.tensor(&[n_rows, d], 1.3));
        let weight = kernels.tensor(&[d], 0.3);
        let run = |branch: P, sum: &Tensor, normed: &Tensor| {
            #[expect(unsafe_code, reason = "all have `n_rows` rows of `d`")]
            unsafe {
                add_norm(
                    n_rows as i32,
                    32,
                    x.data_ptr(),
                    branch,
                    weight.data_ptr(),
                    sum.data_ptr(),
                    normed.data_ptr(),
                    n_packs,
                    EPS,
                );
            }
        };
        let (sum, normed) = (kernels.empty(&[n_rows, d]), kernels.empty(&[n_rows, d]));
        run(branch.data_ptr(), &sum, &normed);
        let expected = &x + &branch;
        assert_eq!(sum, expected);
        kernels.check(&normed, &rms_norm(&expected, &weight, f64::from(EPS)), 4.0);
        // Without a branch there is no sum.
        let (untouched, alone) = (kernels.tensor(&[n_rows, d], 0.1), kernels.empty(&[n_rows, d]));
        let before = untouched.copy();
        run(null_mut(), &untouched, &alone);
        assert_eq!(untouched, before);
        kernels.check(&alone, &rms_norm(&x, &weight, f64::from(EPS)), 4.0);
    });
}

#[test]
fn products_of_few_rows_are_those_of_linear() {
    both(|kernels| {
        let rows = kernels.entry::<Rows>("run_rows");
        // Rows that are more packs than a block copies ahead, and one that is fewer than its threads.
        for (n_threads, n_rows, most_rows, n_columns, d) in
            [(128, 1, 1, 4, 2_120), (64, 2, 2, 6, 4_104), (128, 3, 4, 2, 296), (64, 4, 4, 2, 1_024)]
        {
            let weight = kernels.tensor(&[n_columns, d], 0.31) * 0.05;
            let x = kernels.tensor(&[n_rows, d], 0.77);
            let out = kernels.empty(&[n_rows, n_columns]);
            #[expect(unsafe_code, reason = "all have the shapes that are given")]
            unsafe {
                let (x, weight, out) = (x.data_ptr(), weight.data_ptr(), out.data_ptr());
                rows(
                    most_rows,
                    n_threads,
                    x,
                    weight,
                    out,
                    n_rows as i32,
                    kernels.n_packs(d),
                    n_columns as i32,
                );
            }
            // Sums of so many products, in another order.
            kernels.check(
                &out,
                &x.linear(&weight, None::<&Tensor>),
                if kernels.kind == Kind::Float { 60.0 } else { 8.0 },
            );
        }
    });
}

/// Two rows with masks of their own, or one mask for both; keys that are no multiple of the threads.
#[test]
fn shares_are_those_of_a_masked_softmax() {
    const HEADS: i64 = 2;
    const SEEN: i64 = 45;
    const PADDED: i64 = 48;
    both(|kernels| {
        let softmax = kernels.entry::<MaskedSoftmax>("run_masked_softmax");
        let scores = (Tensor::arange(B * HEADS * N * SEEN, (Kind::Float, Device::Cpu)) * 0.83).sin() * 9.0;
        let scores = scores.view([B, HEADS, N, SEEN]);
        let mask = Tensor::zeros([B, 1, N, SEEN], (kernels.kind, Device::Cpu));
        for row in 0..B {
            for slot in 0..N {
                let hidden = mask.get(row).select(1, slot).narrow(1, 7 * slot + row, SEEN - 7 * slot - row);
                let _ = hidden.shallow_clone().fill_(f64::NEG_INFINITY);
            }
        }
        // The first slot of the first row sees nothing.
        let unseen = mask.get(0).select(1, 0);
        assert_eq!(unseen.isinf().sum(Kind::Int64).int64_value(&[]), SEEN);
        let one = mask.get(1);
        for (given, by_row, by_slot) in [(Some(&mask), N * SEEN, SEEN), (Some(&one), 0, SEEN), (None, 0, 0)] {
            let shares = kernels.empty(&[B, HEADS, N, PADDED]);
            let pointer = given.map_or(null_mut(), Tensor::data_ptr);
            #[expect(unsafe_code, reason = "all have the shapes that are given")]
            unsafe {
                let (scores, shares) = (scores.data_ptr(), shares.data_ptr());
                let [b, heads, n, seen, padded] = [B, HEADS, N, SEEN, PADDED].map(|n| n as i32);
                softmax(b, heads, n, 32, scores, pointer, by_row, by_slot, 0.25, shares, seen, padded);
            }
            let masked = &scores * 0.25
                + given.map_or_else(|| Tensor::from(0.0_f32), |mask| mask.to_kind(Kind::Float));
            let expected = masked.softmax(-1, None::<Kind>).nan_to_num(0.0, None::<f64>, None::<f64>);
            kernels.check(&shares.narrow(3, 0, SEEN).contiguous(), &expected.to_kind(kernels.kind), 4.0);
            // Nothing is written behind what is seen.
            assert_eq!(shares.isnan().sum(Kind::Int64).int64_value(&[]), B * HEADS * N * (PADDED - SEEN));
        }
    });
}

#[test]
fn a_gate_is_that_of_two_operations() {
    both(|kernels| {
        let gated = kernels.entry::<Gated>("run_gated");
        let (n_rows, d_ffn) = (2, 70);
        let hidden = kernels.tensor(&[n_rows, 2 * d_ffn], 0.37) * 3.0;
        let [gate, other] = [0, d_ffn].map(|from| hidden.narrow(1, from, d_ffn));
        for (which, opened) in [gate.silu(), gate.gelu("tanh")].into_iter().enumerate() {
            let out = kernels.empty(&[n_rows, d_ffn]);
            #[expect(unsafe_code, reason = "both have `n_rows` rows of the sizes that are given")]
            unsafe {
                gated(n_rows as i32, 32, hidden.data_ptr(), out.data_ptr(), d_ffn as i32, which as i32);
            }
            kernels.check(&out, &(opened * &other), 6.0);
        }
    });
}

// Two query heads for each of two key heads, which values follow; five slots of two rows.
const B: i64 = 2;
const N: i64 = 5;
const N_QUERIES: i64 = 4;
const N_KEYS: i64 = 2;
const D: i64 = 12;
const CAPACITY: i64 = 9;

#[test]
fn heads_are_turned_and_put_where_the_cache_has_their_places() {
    both(|kernels| {
        let turned = kernels.entry::<Turned>("run_turned");
        let (n_heads, n_turned) = (N_QUERIES + 2 * N_KEYS, N_QUERIES + N_KEYS);
        let qkv = kernels.tensor(&[B, N, n_heads, D], 0.61);
        let turns = |size: &[i64]| {
            let n = size.iter().product::<i64>();
            let angles = (Tensor::arange(n, (Kind::Float, Device::Cpu)) * 0.9).view(size);
            Tensor::complex(&angles.cos(), &angles.sin())
        };
        // One for all heads and rows, or one each.
        let half = D / 2;
        let shared = (turns(&[N, 1, half]), [0, half, 0]);
        let own = (turns(&[B, N, n_heads, half]), [N * n_heads * half, n_heads * half, half]);
        let norm = [0.4, 0.8].map(|step| kernels.tensor(&[n_turned, D], step).to_kind(Kind::Float));
        // The same for both rows, or others for the second.
        let places = Tensor::from_slice(&[7_i64, 0, 3, 1, 8, 2, 4, 8, 0, 5]).view([B, N]);
        // Rows of a larger cache, as images that share steps have them.
        let all = kernels.empty(&[B, 2 * N_KEYS, CAPACITY, D]);
        for (with_norm, with_places, (turns, [by_row, by_slot, by_head]), places_by_row) in [
            (false, true, &shared, 0),
            (true, false, &shared, 0),
            (true, true, &own, N),
            (false, false, &own, 0),
        ] {
            let (queries, cache) = (kernels.empty(&[B, N_QUERIES, N, D]), all.copy());
            let pointer = |x: &Tensor, is_given: bool| if is_given { x.data_ptr() } else { null_mut() };
            let strides = cache.stride();
            #[expect(unsafe_code, reason = "all have the shapes that are given")]
            unsafe {
                turned(
                    B as i32,
                    N as i32,
                    n_heads as i32,
                    32,
                    qkv.data_ptr(),
                    turns.data_ptr(),
                    *by_row,
                    *by_slot,
                    *by_head,
                    pointer(&norm[0], with_norm),
                    pointer(&norm[1], with_norm),
                    EPS,
                    queries.data_ptr(),
                    N_QUERIES as i32,
                    n_turned as i32,
                    cache.data_ptr(),
                    strides[0],
                    strides[1],
                    pointer(&places, with_places),
                    places_by_row,
                    2,
                    D as i32,
                );
            }
            let mut heads = qkv.narrow(2, 0, n_turned).to_kind(Kind::Float);
            if with_norm {
                let plain = heads.layer_norm([D], None::<&Tensor>, None::<&Tensor>, f64::from(EPS), false);
                heads = norm[1].addcmul(&plain, &norm[0]);
            }
            let complex = heads.view([B, N, n_turned, D / 2, 2]).view_as_complex()
                * turns.narrow(-2, 0, n_turned.min(turns.size()[turns.dim() - 2]));
            let heads = complex.view_as_real().view([B, N, n_turned, D]).to_kind(kernels.kind);
            kernels.check(&queries, &heads.narrow(2, 0, N_QUERIES).transpose(1, 2).contiguous(), 12.0);
            // Values follow the keys of their head.
            let kv = [heads.narrow(2, N_QUERIES, N_KEYS), qkv.narrow(2, n_turned, N_KEYS)];
            let kv = Tensor::stack(&kv, 3).view([B, N, 2 * N_KEYS, D]);
            for row in 0..B {
                let places = match with_places {
                    true => places.get(if places_by_row == 0 { 0 } else { row }),
                    false => Tensor::arange(N, (Kind::Int64, Device::Cpu)) + 2,
                };
                let (found, expected) =
                    (cache.get(row).index_select(1, &places), kv.get(row).transpose(0, 1));
                kernels.check(&found, &expected.contiguous(), 12.0);
            }
            // Nothing else was written.
            let n_written = B * 2 * N_KEYS * N * D;
            assert_eq!(
                cache.isnan().sum(Kind::Int64).int64_value(&[]),
                B * 2 * N_KEYS * CAPACITY * D - n_written
            );
        }
    });
}
