//! Memory that libtorch did not get: recognised in the text of its error, with what is known of the device.
//!
//! libtorch throws, which tch passes on as a panic with the whole text; nothing else of the error survives.

use std::{any::Any, fmt};

/// An allocation that failed. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Index of the GPU; `None`: the memory of the CPU.
    pub gpu: Option<u32>,
    /// What was asked for in one piece.
    pub asked: Option<u64>,
    /// What was free.
    pub free: Option<u64>,
    /// What the device has.
    pub total: Option<u64>,
    /// What this process had of it.
    pub own: Option<u64>,
}

impl OutOfMemory {
    /// What a panic's payload says of it; `None` where the panic is about something else.
    pub fn of_panic(payload: &(dyn Any + Send)) -> Option<Self> {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        Self::of_message(text.or_else(|| payload.downcast_ref::<&str>().copied())?)
    }

    /// What libtorch's `text` says of it; `None` where the text is about something else. Of the CPU's memory the text
    /// tells only what was asked for; the rest is what the system says now.
    pub fn of_message(text: &str) -> Option<Self> {
        if text.contains("CUDA out of memory") {
            let size = |before: &str, after: &str| size_between(text, before, after);
            let gpu =
                text.split_once(". GPU ").and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
            return Some(Self {
                gpu: Some(gpu.unwrap_or(0)),
                asked: size("Tried to allocate ", ". "),
                free: size(" of which ", " is free"),
                total: size("total capacity of ", " of which"),
                own: size("this process has ", " memory in use"),
            });
        }
        if !text.contains("DefaultCPUAllocator") && !text.contains("std::bad_alloc") {
            return None;
        }
        let asked = text.split_once("you tried to allocate ").and_then(|(_, rest)| {
            let (n_bytes, _) = rest.split_once(" bytes")?;
            n_bytes.parse().ok()
        });
        let line = |file: &str, name: &str| {
            let text = std::fs::read_to_string(file).ok()?;
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib << 10)
        };
        Some(Self {
            gpu: None,
            asked,
            free: line("/proc/meminfo", "MemAvailable:"),
            total: line("/proc/meminfo", "MemTotal:"),
            own: line("/proc/self/status", "VmRSS:"),
        })
    }

    /// What this process could have in all: what is free and what it has already; the whole device where the error
    /// does not tell. `None` where neither is known, or a limit that is not known is lower.
    pub fn room(&self) -> Option<u64> {
        if self.is_limited() {
            return None;
        }
        let left = self.free.zip(self.own).map(|(free, own)| free + own);
        left.map(|left| left.min(self.total.unwrap_or(left))).or(self.total)
    }
}

impl OutOfMemory {
    /// Whether as much was free as was asked for on the CPU: then something else than the machine bounds the process.
    fn is_limited(&self) -> bool {
        self.gpu.is_none() && self.asked.zip(self.free).is_some_and(|(asked, free)| asked <= free)
    }
}

/// How the words for a failed allocation begin.
const WORDS: &str = "out of memory on ";

impl OutOfMemory {
    /// Whether the message of another process is about a failed allocation.
    pub fn is_named_in(message: &str) -> bool {
        message.contains(WORDS) || Self::of_message(message).is_some()
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(WORDS)?;
        match self.gpu {
            Some(index) => write!(f, "cuda:{index}")?,
            None => f.write_str("the CPU")?,
        }
        let of = |what: &str, bytes: Option<u64>| bytes.map(|bytes| format!("{what} {}", in_units(bytes)));
        let facts = [of("asked for", self.asked), of("free", self.free), of("in all", self.total)];
        let facts: Vec<String> =
            facts.into_iter().chain([of("held by this process", self.own)]).flatten().collect();
        if !facts.is_empty() {
            write!(f, " ({})", facts.join(", "))?;
        }
        if self.is_limited() {
            f.write_str(", so a limit of this process or of its control group is lower (`ulimit -v`)")?;
        }
        Ok(())
    }
}

/// Decimal units, one digit after the point.
pub fn in_units(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match UNITS.iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) => format!("{:.1} {unit}", bytes as f64 / *size as f64),
        None => format!("{bytes} B"),
    }
}

/// Bytes of a size such as `12.94 MiB` between two texts.
fn size_between(text: &str, before: &str, after: &str) -> Option<u64> {
    let (size, _) = text.split_once(before)?.1.split_once(after)?;
    let (number, unit) = size.trim().split_once(' ')?;
    let scale = match unit {
        "bytes" => 1.0,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    let bytes = number.parse::<f64>().ok()? * scale;
    (bytes.is_finite() && 0.0 <= bytes).then_some(bytes as u64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use tch::{Device, Kind, Tensor};

    use super::*;

    /// As libtorch 2.13 words it, with the address of the call that tch adds.
    const CUDA: &str = "called `Result::unwrap()` on an `Err` value: Torch(\"CUDA out of memory. Tried to allocate \
        20.00 MiB. GPU 1 has a total capacity of 23.50 GiB of which 12.94 MiB is free. Process 4211 has 9.00 GiB \
        memory in use. Including non-PyTorch memory, this process has 14.48 GiB memory in use. Of the allocated \
        memory 14.00 GiB is allocated by PyTorch, and 130.00 MiB is reserved by PyTorch but unallocated.\")";

    const GIB: u64 = 1 << 30;

    #[test]
    fn a_gpu_that_is_full_is_told_with_its_sizes() {
        let found = OutOfMemory::of_message(CUDA).unwrap();
        let expected = OutOfMemory {
            gpu: Some(1),
            asked: Some(20 << 20),
            free: Some(13_568_573),
            total: Some(23 * GIB + GIB / 2),
            own: Some((14.48 * GIB as f64) as u64),
        };
        assert_eq!(found, expected);
        assert_eq!(found.room(), Some(13_568_573 + expected.own.unwrap()));
        assert_eq!(
            found.to_string(),
            "out of memory on cuda:1 (asked for 21.0 MB, free 13.6 MB, in all 25.2 GB, held by this process 15.5 GB)"
        );
    }

    #[test]
    fn what_the_text_does_not_tell_is_left_out() {
        let found = OutOfMemory::of_message("CUDA out of memory.").unwrap();
        assert_eq!(found.to_string(), "out of memory on cuda:0");
        assert_eq!(found.room(), None);
        assert_eq!(OutOfMemory::of_message("mat1 and mat2 shapes cannot be multiplied"), None);
        assert_eq!(OutOfMemory::of_message("CUDA error: an illegal memory access was encountered"), None);
    }

    #[test]
    fn a_real_failure_of_the_cpu_is_recognised_with_what_the_machine_has() {
        let asked = 1_i64 << 50;
        let made = std::panic::catch_unwind(|| Tensor::zeros([asked], (Kind::Uint8, Device::Cpu)));
        let found = OutOfMemory::of_panic(&*made.unwrap_err()).unwrap();
        assert_eq!((found.gpu, found.asked), (None, Some(asked as u64)));
        assert!(found.free.unwrap() <= found.total.unwrap() && 0 < found.own.unwrap(), "{found}");
        assert!(found.room().unwrap() <= found.total.unwrap());
        assert!(
            found.to_string().starts_with("out of memory on the CPU (asked for 1125.9 TB, free "),
            "{found}"
        );
    }

    #[test]
    fn a_limit_below_what_is_free_is_named_and_gives_no_room() {
        let text =
            "DefaultCPUAllocator: can't allocate memory: you tried to allocate 4096 bytes. Error code 12";
        let found = OutOfMemory::of_message(text).unwrap();
        assert_eq!((found.asked, found.room()), (Some(4096), None));
        assert!(
            found.to_string().starts_with("out of memory on the CPU (asked for 4.1 kB, free "),
            "{found}"
        );
        assert!(found.to_string().contains("a limit of this process"), "{found}");
    }

    #[test]
    fn a_message_about_memory_is_known_whether_it_is_ours_or_libtorchs() {
        let ours = format!("{}; `liquid-7b` in bf16 takes", OutOfMemory::of_message(CUDA).unwrap());
        assert!(OutOfMemory::is_named_in(&ours) && OutOfMemory::is_named_in(CUDA));
        assert!(!OutOfMemory::is_named_in("there is no GPU"));
    }

    #[test]
    fn another_panic_is_not_about_memory() {
        let payload = std::panic::catch_unwind(|| panic!("a row of {} logits", 3)).unwrap_err();
        assert_eq!(OutOfMemory::of_panic(&*payload), None);
    }
}
