//! The binary `specimen`; everything is in the library of this crate.

use std::process::ExitCode;

/// Replaces malloc for libtorch too: a decode step makes hundreds of small tensors, a training step frees large
/// ones that glibc would give back to the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    specimen_cli::main()
}
