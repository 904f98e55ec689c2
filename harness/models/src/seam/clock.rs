//! The clock of timed decoding: the host's monotonic clock, read after the device has finished its queue.

use specimen_decode::clock::{Clock, MonotonicClock};
use tch::{Cuda, Device, Kind, Tensor};

/// Reads time on one device.
pub struct DeviceClock {
    host: MonotonicClock,
    device: Device,
}

impl DeviceClock {
    /// A clock that starts at 0.
    pub fn new(device: Device) -> Self {
        Self { host: MonotonicClock::new(), device }
    }
}

impl Clock for DeviceClock {
    fn now_ns(&self) -> u64 {
        if let Device::Cuda(index) = self.device {
            Cuda::synchronize(i64::try_from(index).expect("a device index is small"));
        }
        self.host.now_ns()
    }
}

/// Bytes a second that this process, or the GPU, reads from memory: the sum of 256 MiB of ones, of 4 GiB on a GPU, the
/// fastest of nine times.
pub fn memory_bandwidth(device: Device) -> f64 {
    let n = if device == Device::Cpu { 1 << 26 } else { 1 << 30 };
    let ones = Tensor::ones([n], (Kind::Float, device));
    let clock = DeviceClock::new(device);
    let once = || {
        let started = clock.now_ns();
        let _sum = ones.sum(Kind::Float);
        clock.now_ns() - started
    };
    let fastest = (0..9).map(|_| once()).min().expect("nine times are several");
    (ones.numel() * 4) as f64 / fastest as f64 * 1e9
}

/// What copies between the host's pageable memory and a device cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CopyCosts {
    /// Seconds of a copy of 4 KiB to the device.
    pub small_to_device_s: f64,
    /// Seconds of one to the host.
    pub small_to_host_s: f64,
    /// Bytes a second of a copy of 64 MiB to the device.
    pub to_device_bytes_per_s: f64,
    /// Bytes a second of one to the host.
    pub to_host_bytes_per_s: f64,
}

/// Times copies between the host and `device`, medians of nine; `None` for a CPU, which has no copies.
pub fn copy_costs(device: Device) -> Option<CopyCosts> {
    (device != Device::Cpu).then(|| copies(device))
}

fn copies(device: Device) -> CopyCosts {
    const SMALL: i64 = 4 << 10;
    const LARGE: i64 = 64 << 20;
    let clock = DeviceClock::new(device);
    let seconds = |n_bytes: i64, from: Device, to: Device| {
        let from = Tensor::ones([n_bytes], (Kind::Uint8, from));
        let mut to = Tensor::zeros([n_bytes], (Kind::Uint8, to));
        let mut once = || {
            let started = clock.now_ns();
            to.copy_(&from);
            (clock.now_ns() - started).max(1)
        };
        // The first maps the memory.
        once();
        let mut all: Vec<u64> = (0..9).map(|_| once()).collect();
        all.sort_unstable();
        all[4] as f64 * 1e-9
    };
    CopyCosts {
        small_to_device_s: seconds(SMALL, Device::Cpu, device),
        small_to_host_s: seconds(SMALL, device, Device::Cpu),
        to_device_bytes_per_s: LARGE as f64 / seconds(LARGE, Device::Cpu, device),
        to_host_bytes_per_s: LARGE as f64 / seconds(LARGE, device, Device::Cpu),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_timed_and_a_cpu_has_none() {
        assert_eq!(copy_costs(Device::Cpu), None);
        // Within the host.
        let CopyCosts { small_to_device_s, small_to_host_s, to_device_bytes_per_s, to_host_bytes_per_s } =
            copies(Device::Cpu);
        for (small, large) in
            [(small_to_device_s, to_device_bytes_per_s), (small_to_host_s, to_host_bytes_per_s)]
        {
            assert!(small > 0.0 && small < 67_108_864.0 / large, "{small} s, {large} bytes/s");
        }
    }
}
