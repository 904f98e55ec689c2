//! The only way time is read.

use std::time::Instant;

/// A monotonic clock that first waits for the device, so that queued work is counted where it was asked for.
pub trait Clock {
    /// Nanoseconds since an arbitrary, fixed moment.
    fn now_ns(&self) -> u64;
}

/// The host's clock, for models that compute on the host.
pub struct MonotonicClock(Instant);

impl MonotonicClock {
    /// A clock that starts at 0.
    #[must_use]
    pub fn new() -> Self {
        Self(Instant::now())
    }
}

impl Default for MonotonicClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for MonotonicClock {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).expect("2^64 ns are 584 years")
    }
}

/// Splits a stretch of time into consecutive laps.
pub(crate) struct Laps<'a> {
    clock: &'a dyn Clock,
    last_ns: u64,
}

impl<'a> Laps<'a> {
    pub(crate) fn start(clock: &'a dyn Clock) -> Self {
        Self { last_ns: clock.now_ns(), clock }
    }

    /// Nanoseconds since the start or the previous lap.
    pub(crate) fn lap_ns(&mut self) -> u64 {
        let now_ns = self.clock.now_ns();
        now_ns - std::mem::replace(&mut self.last_ns, now_ns)
    }
}
