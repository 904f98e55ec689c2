//! The clock of timed decoding: the host's monotonic clock, read after the device has finished its queue.

use specimen_decode::clock::{Clock, MonotonicClock};
use tch::{Cuda, Device};

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
