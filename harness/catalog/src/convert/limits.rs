//! What a file may ask for. The sizes of published checkpoints stay far below; a file beyond them is refused, not tried.

/// Bounds on the work and memory that one file can cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one pickle; those of published checkpoints have at most a few million.
    pub pickle_bytes: u64,
    /// Operations of one pickle. Each makes at most one value of some 40 bytes.
    pub operations: u64,
    /// Places in all containers of a pickle together, copies included.
    pub cells: u64,
    /// Values that a pickle may keep for later use.
    pub memo: usize,
    /// Values on the stack of a pickle.
    pub stack: usize,
    /// Open marks, and how deep containers that are walked through may be nested.
    pub depth: usize,
    /// Containers and values that are looked at in search of tensors: what is shared counts each time it is reached.
    pub visits: u64,
    /// Entries of an archive, shards of an index, and tensors of a checkpoint.
    pub entries: usize,
    /// How many times the size of its files a checkpoint's tensors may take together: views of one storage repeat its
    /// bytes, and a stride of 0 repeats one number.
    pub expansion: u64,
}

impl Limits {
    /// Generous for every published checkpoint: about 500 MB of memory at the worst.
    pub const PUBLISHED: Self = Self {
        pickle_bytes: 256 << 20,
        operations: 4_000_000,
        cells: 16_000_000,
        memo: 2_000_000,
        stack: 1_000_000,
        depth: 128,
        visits: 4_000_000,
        entries: 200_000,
        expansion: 8,
    };
}
