//! Names of GPUs and the version of their driver, from the files that NVIDIA's kernel module shows.

use std::{fs, path::Path};

use specimen_foundation::gpus::gpu_folders;

/// What the kernel module shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Driver {
    /// Model names in the order of PCI addresses; which of them a process sees as `cuda:0` is its
    /// `CUDA_VISIBLE_DEVICES`.
    models: Vec<String>,
    /// Version of the driver.
    version: Option<String>,
}

/// Reads the files below `root`; nothing where there is no such module.
pub(crate) fn of_driver(root: impl AsRef<Path>) -> Driver {
    let root = root.as_ref();
    let folders = gpu_folders(root);
    let model = |folder: &std::path::PathBuf| {
        let text = fs::read_to_string(folder.join("information")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Model:"))?;
        Some(line.trim().to_owned())
    };
    let version = fs::read_to_string(root.join("version")).unwrap_or_default();
    let is_version = |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    Driver {
        models: folders.iter().filter_map(model).collect(),
        version: version.split_whitespace().find(is_version).map(str::to_owned),
    }
}

/// A device of a spec with what is known of it: `cuda:0 (NVIDIA H100 80GB HBM3, driver 550.54.15)`. Where the
/// machine has GPUs of several models, all are named: the index alone does not tell which it is.
pub(crate) fn words(device: &str, driver: &Driver) -> String {
    let mut models = driver.models.clone();
    models.sort();
    models.dedup();
    let version = driver.version.as_ref().map(|version| format!("driver {version}"));
    let known: Vec<String> =
        (!models.is_empty()).then(|| models.join(" or ")).into_iter().chain(version).collect();
    if known.is_empty() { device.to_owned() } else { format!("{device} ({})", known.join(", ")) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_named_with_its_driver_as_far_as_the_module_shows_them() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(words("cuda:0", &of_driver(root.path())), "cuda:0");
        let gpu = root.path().join("gpus/0000:65:00.0");
        fs::create_dir_all(&gpu).unwrap();
        fs::write(gpu.join("information"), "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 120\n").unwrap();
        let version =
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 2024\nGCC version:  12\n";
        fs::write(root.path().join("version"), version).unwrap();
        assert_eq!(
            words("cuda:0", &of_driver(root.path())),
            "cuda:0 (NVIDIA H100 80GB HBM3, driver 550.54.15)"
        );
    }
}
