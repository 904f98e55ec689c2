//! What the processor of this machine can do.

/// Whether this CPU multiplies bf16 (AVX-512 BF16). Without it a forward of several tokens is slow in bf16.
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
