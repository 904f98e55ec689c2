//! What the processor of this machine can do.

/// Whether libtorch's products of bf16 are slower than those of f32 on this CPU: where it does not multiply bf16 (no AVX-512
/// BF16), and where it has tiles for it (AMX), for which libtorch arranges the weights anew in each product.
#[must_use]
pub fn is_slow_in_bf16() -> bool {
    !has_bf16() || has_tiles()
}

/// Whether this CPU has AMX-BF16.
fn has_tiles() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__cpuid, __cpuid_count};
        __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & 1 << 22 != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Whether this CPU multiplies bf16 (AVX-512 BF16).
#[must_use]
pub fn has_bf16() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx512bf16")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}
