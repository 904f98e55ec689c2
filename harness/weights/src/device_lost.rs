//! A GPU that this process cannot use any more: recognised in the text of CUDA's error.
//!
//! After such an error every later call fails as well, until the process ends. libtorch throws, which tch passes on
//! as a panic with the whole text; nothing else of the error survives.

use std::any::Any;

/// How libtorch begins what CUDA says.
const BEFORE: &str = "CUDA error: ";
/// What `cudaGetErrorString` says of errors that last, in the order of their codes.
const LASTING: [&str; 16] = [
    "CUDA-capable device(s) is/are busy or unavailable",
    "no CUDA-capable device is detected",
    "uncorrectable ECC error encountered",
    "uncorrectable NVLink error detected during the execution",
    "an illegal memory access was encountered",
    "the launch timed out and was terminated",
    "unspecified launch failure in prior launch",
    "device-side assert triggered",
    "hardware stack error",
    "an illegal instruction was encountered",
    "misaligned address",
    "operation not supported on global/shared address space",
    "invalid program counter",
    "unspecified launch failure",
    "driver shutting down",
    "unknown error",
];

/// A GPU that was lost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the GPU cannot be used any more by this process (CUDA error: {what}); start the command again, a run with \
     --resume; if it fails again, look at `nvidia-smi` and at the messages of the kernel (`dmesg`)"
)]
pub struct DeviceLost {
    /// What CUDA says.
    what: &'static str,
}

impl DeviceLost {
    /// What a panic's payload says of it; `None` where the panic is about something else.
    pub fn of_panic(payload: &(dyn Any + Send)) -> Option<Self> {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        Self::of_message(text.or_else(|| payload.downcast_ref::<&str>().copied())?)
    }

    /// What libtorch's `text` says of it; `None` where the text is about something else.
    pub fn of_message(text: &str) -> Option<Self> {
        let mut said = text.split(BEFORE).skip(1);
        said.find_map(|said| LASTING.into_iter().find(|what| said.starts_with(what)))
            .map(|what| Self { what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As libtorch words it, in tch's panic.
    fn panic_of(what: &str) -> String {
        format!(
            "called `Result::unwrap()` on an `Err` value: Torch(\"CUDA error: {what}\\nCUDA kernel errors might be \
             asynchronously reported at some other API call, so the stacktrace below might be incorrect.\\nFor \
             debugging consider passing CUDA_LAUNCH_BLOCKING=1\\nCompile with `TORCH_USE_CUDA_DSA` to enable \
             device-side assertions.\\n\")"
        )
    }

    #[test]
    fn an_error_that_lasts_is_told_in_one_sentence_with_the_remedy() {
        for what in [
            "an illegal memory access was encountered",
            "unspecified launch failure",
            "device-side assert triggered",
            "uncorrectable ECC error encountered",
            "CUDA-capable device(s) is/are busy or unavailable",
            "no CUDA-capable device is detected",
            "the launch timed out and was terminated",
            "misaligned address",
            "unknown error",
        ] {
            let found = DeviceLost::of_message(&panic_of(what)).map(|lost| lost.to_string());
            let expected =
                format!("by this process (CUDA error: {what}); start the command again, a run with --resume");
            assert!(found.as_ref().is_some_and(|said| said.contains(&expected)), "{what}: {found:?}");
        }
        let payload = std::panic::catch_unwind(|| panic!("{}", panic_of("unspecified launch failure")));
        assert!(payload.is_err_and(|payload| DeviceLost::of_panic(&*payload).is_some()));
    }

    #[test]
    fn an_error_after_which_the_gpu_works_is_another() {
        for what in [
            "out of memory",
            "invalid device ordinal",
            "invalid argument",
            "no kernel image is available for execution on the device",
            "operation not permitted when stream is capturing",
        ] {
            assert_eq!(DeviceLost::of_message(&panic_of(what)), None, "{what}");
        }
        let others =
            ["CUDA out of memory. Tried to allocate 20.00 MiB.", "unknown error", "a row of 3 logits", ""];
        assert!(others.into_iter().all(|text| DeviceLost::of_message(text).is_none()));
    }
}
