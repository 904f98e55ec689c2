//! Time a drafter spends in its own forwards, kept apart from growing the tree on the host.

use std::{cell::Cell, rc::Rc};

use specimen_decode::clock::Clock;
use tch::Device;

use crate::seam::clock::DeviceClock;

/// A running total, shared between a drafter and whoever reports it.
#[derive(Clone)]
pub struct DraftTime(Rc<Total>);

struct Total {
    clock: DeviceClock,
    ns: Cell<u64>,
}

impl DraftTime {
    /// Nothing yet, on a drafter that computes on `device`.
    pub fn new(device: Device) -> Self {
        Self(Rc::new(Total { clock: DeviceClock::new(device), ns: Cell::new(0) }))
    }

    /// Nanoseconds so far.
    pub fn ns(&self) -> u64 {
        self.0.ns.get()
    }

    pub(crate) fn measure<T>(&self, work: impl FnOnce() -> T) -> T {
        let started = self.0.clock.now_ns();
        let value = work();
        self.0.ns.set(self.ns() + self.0.clock.now_ns() - started);
        value
    }
}
