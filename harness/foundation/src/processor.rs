//! What the processor of this machine can do.

/// Whether this CPU has bf16 multiply instructions (AVX-512 BF16 or AMX); without them bf16 decodes no
/// faster than f32 and speculation gains less.
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
