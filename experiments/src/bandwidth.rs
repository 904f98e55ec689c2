//! How long a plan takes where memory bandwidth is all that counts: the least that a GPU needs for forwards over a few
//! tokens, known before anything has run. A device that is never waited for, drafts that cost and save nothing.

use serde::{Deserialize, Serialize};

use crate::{
    estimate::Footprint,
    spec::{ModelSpec, Spec},
};

/// A device by the bandwidth of its memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bandwidth {
    /// What it is.
    pub device: String,
    /// Bytes a second, as its maker states them.
    pub bytes_per_second: f64,
}

/// A device as its maker states it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Device {
    /// What it is.
    pub name: &'static str,
    /// Bytes of memory a second.
    pub bytes_per_second: f64,
    /// Multiplications and additions a second, in bf16 on dense matrices.
    pub operations_per_second: f64,
}

/// Devices that the papers used, and what is bought now.
pub const DEVICES: [Device; 5] = [
    device("NVIDIA H200", 4.8e12, 989e12),
    device("NVIDIA H100 SXM", 3.35e12, 989e12),
    device("NVIDIA A100 80GB SXM", 2.039e12, 312e12),
    device("one of two chips of an AMD MI250", 1.64e12, 181e12),
    device("NVIDIA RTX 4090", 1.008e12, 165e12),
];

const fn device(name: &'static str, bytes_per_second: f64, operations_per_second: f64) -> Device {
    Device { name, bytes_per_second, operations_per_second }
}

/// What a plan takes on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeBound {
    /// The device.
    pub at: Bandwidth,
    /// Seconds of work in total.
    pub seconds: f64,
}

/// What [`TimeBound`] takes for granted, in words.
pub const ASSUMED: &str = "one forward a token, as without drafts; each reads the weights once, and the keys and values \
                           of half an image; nothing for text, pictures and metrics";

impl Bandwidth {
    /// The devices that an estimate names.
    pub fn known() -> Vec<Self> {
        let of = |device: Device| Self {
            device: device.name.to_owned(),
            bytes_per_second: device.bytes_per_second,
        };
        DEVICES.map(of).to_vec()
    }

    /// A device of which only its bandwidth is known, in bytes a second.
    pub fn given(bytes_per_second: f64) -> Self {
        Self { device: "as given".to_owned(), bytes_per_second }
    }
}

/// Seconds on each of `devices` for the images of `n_prompts` prompts. `streamed`: bytes that one forward of a model reads.
/// Empty where that or a footprint is unknown for a model, and without prompts.
pub fn time_bounds(
    spec: &Spec,
    n_prompts: usize,
    devices: Vec<Bandwidth>,
    footprint: impl Fn(&ModelSpec) -> Option<Footprint>,
    streamed: impl Fn(&ModelSpec) -> Option<u64>,
) -> Vec<TimeBound> {
    let n_images = (n_prompts * spec.dataset.samples as usize) as f64;
    let of_cell = |model| Some(footprint(model)?.n_tokens as f64 * streamed(model)? as f64 * n_images);
    let bytes: Option<f64> = spec.cells.iter().map(|cell| of_cell(&cell.model)).sum();
    let Some(bytes) = bytes.filter(|bytes| *bytes > 0.0) else { return Vec::new() };
    let of = |at: Bandwidth| TimeBound { seconds: bytes / at.bytes_per_second, at };
    devices.into_iter().map(of).collect()
}
