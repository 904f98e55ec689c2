//! Folders that look like libtorch and like the Python packages it comes in, with texts for libraries.

use crate::sandbox::Sandbox;

/// The libraries without which nothing links.
pub(crate) const LIBS: [&str; 3] = ["libtorch_cpu.so", "libtorch.so", "libc10.so"];

/// A libtorch of `version` in `folder` that can also pass for the Python package `torch`, built for CUDA.
pub(crate) fn write_libtorch(sandbox: &Sandbox, folder: &str, version: &str) {
    for lib in LIBS {
        sandbox.write(&format!("{folder}/lib/{lib}"), "stands on libcudart.so.13");
    }
    sandbox.write(&format!("{folder}/lib/libgomp.so.1"), "");
    sandbox.write(&format!("{folder}/include/torch/csrc/api/include/torch/torch.h"), "");
    sandbox.write(&format!("{folder}/build-version"), &format!("{version}\n"));
}

/// The folder `nvidia` of a `site-packages`, with one library that only CUDA needs.
pub(crate) fn write_nvidia(sandbox: &Sandbox, site: &str) {
    for lib in ["libcudart.so.13", "libcupti.so.13", "libcublas.so.13"] {
        sandbox.write(&format!("{site}/nvidia/cu13/lib/{lib}"), "");
    }
}
