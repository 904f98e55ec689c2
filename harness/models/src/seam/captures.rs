//! Which steps become CUDA graphs, what was captured so far, and why a step was not.

use std::cell::{Cell, RefCell};

use specimen_decode::clock::{Clock, MonotonicClock};
use specimen_weights::cuda_graph::Graph;
use tch::Device;

/// CUDA graphs that were captured for the steps of a model so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captures {
    /// Graphs. Buffers that were given up are counted with theirs.
    pub n_captured: u64,
    /// Steps that could not be captured; they run kernel by kernel.
    pub n_refused: u64,
    /// Nanoseconds that capturing took, refused steps included.
    pub ns: u64,
}

/// The capturing of the steps of one model.
#[derive(Default)]
pub(crate) struct Capturing {
    tried: Tried,
    captures: Cell<Captures>,
    refusal: RefCell<Refusal>,
}

/// Which steps are to be captured.
#[derive(Default)]
enum Tried {
    /// Those on a GPU.
    #[default]
    OnGpu,
    /// None.
    Never,
    /// All, and each is refused.
    Refused(Box<Refuse>),
}

/// Why a step is refused. It may run the step, as a capture does.
type Refuse = dyn Fn(&mut dyn FnMut()) -> String;

/// Why steps were not captured.
#[derive(Default)]
enum Refusal {
    #[default]
    None,
    Untold(String),
    Told,
}

impl Capturing {
    pub(crate) fn never() -> Self {
        Self { tried: Tried::Never, ..Self::default() }
    }

    pub(crate) fn refused_by(refuse: impl Fn(&mut dyn FnMut()) -> String + 'static) -> Self {
        Self { tried: Tried::Refused(Box::new(refuse)), ..Self::default() }
    }

    /// The graph of `step` on `device` with where it writes; `None` where the step is to run kernel by kernel.
    pub(crate) fn capture<T>(&self, device: Device, mut step: impl FnMut() -> T) -> Option<(Graph, T)> {
        match (&self.tried, device) {
            (Tried::OnGpu, Device::Cuda(_)) => self.counted(|| Graph::capture(device, step)),
            (Tried::OnGpu, _) | (Tried::Never, _) => None,
            (Tried::Refused(refuse), _) => self.counted(|| Err(refuse(&mut || drop(step())))),
        }
    }

    /// What `capture` gives, counted with its time; nothing where the step is refused.
    fn counted<T>(&self, capture: impl FnOnce() -> Result<T, String>) -> Option<T> {
        let clock = MonotonicClock::new();
        let captured = capture();
        let Captures { n_captured, n_refused, ns } = self.captures.get();
        let (more, less) = if captured.is_ok() { (1, 0) } else { (0, 1) };
        self.captures.set(Captures {
            n_captured: n_captured + more,
            n_refused: n_refused + less,
            ns: ns + clock.now_ns(),
        });
        captured.map_err(|why| self.refuse(why)).ok()
    }

    /// Notes why a step was not captured, if no step was refused before.
    fn refuse(&self, why: String) {
        let mut refusal = self.refusal.borrow_mut();
        if matches!(*refusal, Refusal::None) {
            *refusal = Refusal::Untold(why);
        }
    }

    /// As [`StepBuffers::take_refusal`](crate::seam::static_steps::StepBuffers::take_refusal).
    pub(crate) fn take_refusal(&self) -> Option<String> {
        let mut refusal = self.refusal.borrow_mut();
        let Refusal::Untold(why) = &mut *refusal else { return None };
        let why = std::mem::take(why);
        *refusal = Refusal::Told;
        Some(why)
    }

    pub(crate) fn captures(&self) -> Captures {
        self.captures.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_cannot_be_captured_are_said_once() {
        let capturing = Capturing::default();
        assert_eq!(capturing.take_refusal(), None);
        for why in ["first", "second"] {
            capturing.refuse(why.to_owned());
        }
        assert_eq!(capturing.take_refusal().as_deref(), Some("first"));
        // A step of another size.
        capturing.refuse("third".to_owned());
        assert_eq!(capturing.take_refusal(), None);
    }

    #[test]
    fn captured_and_refused_steps_are_counted_with_their_time() {
        let capturing = Capturing::default();
        assert_eq!(capturing.captures(), Captures::default());
        let slow = || {
            std::thread::sleep(std::time::Duration::from_millis(2));
            Ok(7)
        };
        assert_eq!(capturing.counted(slow), Some(7));
        let first = capturing.captures();
        assert_eq!((first.n_captured, first.n_refused), (1, 0));
        assert!(first.ns >= 2_000_000, "{first:?}");
        assert_eq!(capturing.counted(|| Err::<u8, _>("too large".to_owned())), None);
        assert_eq!(capturing.take_refusal().as_deref(), Some("too large"));
        let second = capturing.captures();
        assert_eq!((second.n_captured, second.n_refused), (1, 1));
        assert!(second.ns >= first.ns);
    }

    #[test]
    fn a_step_is_tried_on_a_gpu_and_runs_kernel_by_kernel_elsewhere() {
        for capturing in [Capturing::default(), Capturing::never()] {
            let step = || panic!("only a capture runs a step here");
            assert!(capturing.capture::<()>(Device::Cpu, step).is_none());
            assert_eq!((capturing.captures(), capturing.take_refusal()), (Captures::default(), None));
        }
        let mut n_run = 0;
        let refused = Capturing::refused_by(|step| {
            step();
            "no memory".to_owned()
        });
        assert!(refused.capture(Device::Cpu, || n_run += 1).is_none());
        assert_eq!((n_run, refused.captures().n_refused), (1, 1));
        assert_eq!(refused.take_refusal().as_deref(), Some("no memory"));
    }
}
