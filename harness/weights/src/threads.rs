//! How many threads libtorch may use, and whether this CPU multiplies bf16 natively.

/// Sets the intra-operation threads of the calling thread's tensor work to `n` (at least 1).
///
/// Decoding uses one: two OpenMP threads on a busy machine spin against each other, and one thread makes
/// the bytes independent of the machine's load.
pub fn use_threads(n: usize) {
    tch::set_num_threads(i32::try_from(n.max(1)).unwrap_or(i32::MAX));
}

/// Whether this CPU has bf16 multiply instructions (AVX-512 BF16 or AMX); without them bf16 decodes no
/// faster than f32 and speculation gains less.
#[must_use]
pub fn cpu_has_bf16() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx512bf16")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}
