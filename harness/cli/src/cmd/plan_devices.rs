//! What a plan asks of this machine that it does not have: devices, and instructions for bf16. A plan is for other machines
//! too, so each is a note.

use std::path::Path;

use specimen_experiments::spec::{Cell, Dtype, Spec};
use specimen_foundation::gpus::{NVIDIA_DRIVER, gpu_folders};
use specimen_foundation::processor;
use specimen_foundation::text::counted;

/// A note for each GPU that `spec` asks for and that is not seen on this machine.
pub(crate) fn device_notes(spec: &Spec) -> Vec<String> {
    let of_cells = spec.cells.iter().map(|cell| cell.model.device.as_str());
    let of_metrics = spec.metrics.iter().filter_map(|metric| metric.device.as_deref());
    notes(of_cells.chain(of_metrics), gpu_folders(Path::new(NVIDIA_DRIVER)).len())
}

/// A note where cells are timed in bf16 on a CPU that multiplies no bf16: the plan's speedups are then others than on a CPU that
/// does, and mostly below 1.
pub(crate) fn bf16_note(spec: &Spec) -> Option<String> {
    bf16_words(spec)
        .map(|words| format!("{words}; --set \"model.dtype='f32'\" measures what drafting gains here"))
}

/// The same without what to do, for a command that takes no other kind of number.
pub(crate) fn bf16_words(spec: &Spec) -> Option<String> {
    is_slow(spec, processor::has_bf16()).then(|| format!("bf16: {WITHOUT_BF16}: {SLOW_BF16}"))
}

/// Whether `spec` times bf16 on a CPU that has no such instructions.
fn is_slow(spec: &Spec, has_bf16: bool) -> bool {
    let is_of_cpu = |cell: &Cell| {
        cell.timed
            && !cell.is_of_another_program()
            && cell.model.dtype == Dtype::Bf16
            && cell.model.device == "cpu"
    };
    !has_bf16 && spec.cells.iter().any(is_of_cpu)
}

/// What a CPU lacks, and what follows.
pub(crate) const WITHOUT_BF16: &str = "this CPU has no bf16 instructions";
pub(crate) const SLOW_BF16: &str =
    "one token at a time is fast in bf16, several at once are slow, so that drafting loses time";

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
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

    use specimen_experiments::parse::SpecText;

    use super::*;

    #[test]
    fn bf16_is_slow_where_it_is_timed_on_a_cpu_that_lacks_it() {
        const SPEC: &str = r#"
schema = 1
name = "s"
seed = 1
dataset = { name = "scenes-val", limit = 6 }
model = { name = "tiny", dtype = "bf16" }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 3.0 }
timing = { warmup = 1, blocks = 4 }
[[cell]]
name = "ar"
"#;
        let slow = |text: &str, has_bf16: bool| {
            let spec = SpecText::parse("s.toml", text).unwrap().resolve().unwrap();
            is_slow(&spec, has_bf16)
        };
        assert!(slow(SPEC, false) && !slow(SPEC, true));
        assert!(!slow(&SPEC.replace("bf16", "f32"), false));
        assert!(!slow(&format!("{SPEC}timed = false\n"), false));
    }

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
