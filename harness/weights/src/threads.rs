//! How many threads libtorch may use.

/// Sets the intra-operation threads of the calling thread's tensor work to `n` (at least 1).
///
/// Decoding uses one: two OpenMP threads on a busy machine spin against each other, and one thread makes
/// the bytes independent of the machine's load.
pub fn use_threads(n: usize) {
    tch::set_num_threads(i32::try_from(n.max(1)).unwrap_or(i32::MAX));
}
