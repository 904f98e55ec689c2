//! Devices that a plan asks for and this machine does not have. A plan is for other machines too, so each is a note.

use std::path::Path;

use specimen_experiments::spec::Spec;
use specimen_foundation::gpus::{NVIDIA_DRIVER, gpu_folders};
use specimen_foundation::text::counted;

/// A note for each GPU that `spec` asks for and that is not seen on this machine.
pub(crate) fn device_notes(spec: &Spec) -> Vec<String> {
    let of_cells = spec.cells.iter().map(|cell| cell.model.device.as_str());
    let of_metrics = spec.metrics.iter().filter_map(|metric| metric.device.as_deref());
    notes(of_cells.chain(of_metrics), gpu_folders(Path::new(NVIDIA_DRIVER)).len())
}

/// A note for each of these devices that is not seen, on a machine with `n_gpus`.
fn notes<'d>(devices: impl Iterator<Item = &'d str>, n_gpus: usize) -> Vec<String> {
    let mut asked: Vec<&str> = devices.filter(|device| !has(device, n_gpus)).collect();
    asked.sort_unstable();
    asked.dedup();
    let seen = match n_gpus {
        0 => "no GPU is".to_owned(),
        1 => "only 1 GPU is".to_owned(),
        n => format!("only {} are", counted(n, "GPU")),
    };
    let note = |device: &str| format!("device {device}: {seen} seen here; this plan needs it to run");
    asked.into_iter().map(note).collect()
}

/// Whether a machine with `n_gpus` has this device. `cuda` is any GPU; another name than a GPU's is none of ours.
fn has(device: &str, n_gpus: usize) -> bool {
    match device {
        "cuda" => n_gpus > 0,
        other => other.strip_prefix("cuda:").and_then(|n| n.parse::<usize>().ok()).is_none_or(|n| n < n_gpus),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_gpu_that_is_not_seen_has_one_note() {
        let asked = ["cpu", "cuda", "cuda:1", "cuda"];
        let of = |n_gpus| notes(asked.into_iter(), n_gpus);
        assert_eq!(
            of(0),
            [
                "device cuda: no GPU is seen here; this plan needs it to run",
                "device cuda:1: no GPU is seen here; this plan needs it to run"
            ]
        );
        assert_eq!(of(1), ["device cuda:1: only 1 GPU is seen here; this plan needs it to run"]);
        assert!(of(2).is_empty() && notes(["cpu"].into_iter(), 0).is_empty());
    }
}
