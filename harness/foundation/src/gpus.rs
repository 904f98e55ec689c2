//! The GPUs of this machine, without any library: those that NVIDIA's kernel module shows.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Where the kernel module shows itself.
pub const NVIDIA_DRIVER: &str = "/proc/driver/nvidia";

/// The folder of each GPU below `driver`, in the order of PCI addresses; none where there is no such module.
#[must_use]
pub fn gpu_folders(driver: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(driver.join("gpus")).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort();
    folders
}
