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
    #[must_use]
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
#[must_use]
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
