//! What a process is asked to do by signals, or by the driver at the other end of its stdin.
//!
//! One SIGINT, SIGTERM or SIGUSR1 asks it to finish the image under way and stop; a second SIGINT to stop at
//! once. A worker of this machine also stops when its stdin closes, as it does when its driver dies.

use std::{
    io::Read,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
    time::Duration,
};

use signal_hook::{
    consts::{SIGINT, SIGTERM, SIGUSR1, SIGXFSZ},
    iterator::Signals,
};

use specimen_foundation::{failure, failure::FailureKind};

use crate::error::RunError;

/// How long a process may take to notice that it is to stop at once.
const GRACE: Duration = Duration::from_secs(2);

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Request {
    /// Continue.
    Continue,
    /// Finish the image under way.
    Finish,
    /// StopRequest at once.
    Abort,
}

/// The latest request, shared between threads. It never goes back.
#[derive(Clone, Debug)]
pub struct StopRequest(Arc<AtomicU8>);

impl StopRequest {
    /// No request, and no signal is listened to.
    pub fn never() -> Self {
        Self(Arc::new(AtomicU8::new(Request::Continue as u8)))
    }

    /// Listens to the signals of this process from now on, in place of their usual effect.
    pub fn on_signals() -> Result<Self, RunError> {
        let stop = Self::never();
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGUSR1])
            .map_err(|e| failure!(Environment: "cannot listen to signals: {e}"))?;
        let asked = stop.clone();
        std::thread::spawn(move || {
            let mut n_interrupts = 0;
            for signal in signals.forever() {
                n_interrupts += u32::from(signal == SIGINT);
                asked.ask(if n_interrupts > 1 { Request::Abort } else { Request::Finish });
                if n_interrupts > 1 {
                    // Code that looks at requests does so at once; a long computation that does not is ended.
                    std::thread::sleep(GRACE);
                    std::process::exit(FailureKind::Aborted.exit_code().into());
                }
            }
        });
        Ok(stop)
    }

    /// From now on a write beyond the limit of a file's size (`ulimit -f`) fails, in place of ending the process without a word.
    pub fn survive_file_limit() -> Result<(), RunError> {
        let handled = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
        handled.map(drop).map_err(|e| failure!(Environment: "cannot listen to signals: {e}").into())
    }

    /// Asks to finish, too, when stdin closes.
    pub fn on_end_of_stdin(&self) {
        let asked = self.clone();
        std::thread::spawn(move || {
            let mut byte = [0_u8];
            let mut stdin = std::io::stdin().lock();
            while stdin.read(&mut byte).is_ok_and(|n| n > 0) {}
            asked.ask(Request::Finish);
        });
    }

    /// Asks for this at least.
    pub fn ask(&self, request: Request) {
        self.0.fetch_max(request as u8, Ordering::Relaxed);
    }

    /// What is asked now.
    pub fn now(&self) -> Request {
        match self.0.load(Ordering::Relaxed) {
            0 => Request::Continue,
            1 => Request::Finish,
            _ => Request::Abort,
        }
    }

    /// Fails once a stop was requested.
    pub fn check(&self) -> Result<(), RunError> {
        match self.now() {
            Request::Continue => Ok(()),
            Request::Finish => Err(RunError::Interrupted),
            Request::Abort => Err(RunError::Aborted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_never_taken_back() {
        let stop = StopRequest::never();
        assert_eq!(stop.now(), Request::Continue);
        stop.ask(Request::Abort);
        stop.clone().ask(Request::Finish);
        assert_eq!(stop.now(), Request::Abort);
        assert!(matches!(stop.check(), Err(RunError::Aborted)));
    }
}
