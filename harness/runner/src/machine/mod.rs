//! What the manifest and the attempts say of the computer, read from the system's own files. What cannot be
//! read is absent.

pub(crate) mod allocation;
pub(crate) mod gpus;
pub(crate) mod load_meter;
pub(crate) mod provenance;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use specimen_experiments::spec::Spec;
use specimen_foundation::gpus::NVIDIA_DRIVER;
use specimen_record::{EnvironmentFlag, Hardware, Software};
use specimen_weights::libtorch;

/// Environment variables this program reads.
const VARIABLES: [&str; 14] = [
    "CUDA_VISIBLE_DEVICES",
    "HF_ENDPOINT",
    "HF_HOME",
    "HF_HUB_CACHE",
    "HF_HUB_OFFLINE",
    "HF_TOKEN",
    "LIBTORCH",
    "NO_COLOR",
    "OMP_NUM_THREADS",
    "SPECIMEN_CACHE",
    "SPECIMEN_DATA",
    "SPECIMEN_OFFLINE",
    "SPECIMEN_RUNNER",
    "XDG_CACHE_HOME",
];

/// CPU features that decide speed and rounding, as the kernel names them.
const FEATURES: [&str; 6] = ["avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16", "amx_tile"];

fn cpu_info(field: &str) -> Vec<String> {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let values = text.lines().filter_map(|line| line.split_once(':'));
    values.filter(|(name, _)| name.trim() == field).map(|(_, value)| value.trim().to_owned()).collect()
}

/// Model name of the CPU, or `unknown`.
pub fn cpu_model() -> String {
    cpu_info("model name").into_iter().next().unwrap_or_else(|| "unknown".to_owned())
}

/// The model of what computes on `device`: of the GPU with its driver, or of the CPU.
pub fn computed_on(device: &str) -> String {
    if device == "cpu" { cpu_model() } else { gpus::words(device, &gpus::of_driver(NVIDIA_DRIVER)) }
}

/// Which of the features that decide speed and rounding the CPU has.
pub(crate) fn cpu_features() -> Vec<String> {
    let flags = cpu_info("flags").into_iter().next().unwrap_or_default();
    let has = |name: &&str| flags.split_whitespace().any(|flag| flag == *name);
    FEATURES.iter().filter(|name| has(name)).map(|&name| name.to_owned()).collect()
}

/// Current frequency of each core, where the kernel shows it.
pub fn cpu_mhz() -> Vec<f64> {
    cpu_info("cpu MHz").iter().filter_map(|value| value.parse().ok()).collect()
}

/// Load over 1, 5 and 15 minutes.
pub fn load_average() -> Option<[f64; 3]> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    let mut values = text.split_whitespace().map(str::parse::<f64>);
    let mut next = || values.next()?.ok();
    Some([next()?, next()?, next()?])
}

/// Largest resident size of this process so far, in mebibytes.
pub fn peak_memory_mb() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib / 1024)
}

/// Bytes of memory that are free; `None` where the system does not tell.
pub fn free_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}

/// The machine, with the GPUs that a cell of `spec` computes on.
pub fn hardware(spec: &Spec) -> Hardware {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = memory.lines().find(|line| line.starts_with("MemTotal:"));
    let kib = total.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let devices = spec.cells.iter().map(|cell| cell.model.device.as_str());
    let used: BTreeSet<&str> = devices.filter(|device| *device != "cpu").collect();
    Hardware {
        cpu_model: cpu_model(),
        cores,
        cpu_features: cpu_features(),
        memory_mb: kib.unwrap_or(0) / 1024,
        gpus: used.into_iter().map(|device| gpus::words(device, &gpus::of_driver(NVIDIA_DRIVER))).collect(),
    }
}

/// Versions of the program and of the libtorch that is loaded.
pub fn software() -> Software {
    Software {
        specimen: env!("CARGO_PKG_VERSION").to_owned(),
        libtorch: Some(libtorch::version()),
        rustc: None,
    }
}

/// Which of the variables this program reads are set.
pub fn environment() -> BTreeMap<String, EnvironmentFlag> {
    let flag = |name: &&str| {
        if std::env::var_os(name).is_some() { EnvironmentFlag::Set } else { EnvironmentFlag::Unset }
    };
    VARIABLES.iter().map(|name| ((*name).to_owned(), flag(name))).collect()
}

/// Name of this computer in its network, or `an unnamed machine`; for messages only, never for records.
pub fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "an unnamed machine".to_owned() } else { name.to_owned() }
}
