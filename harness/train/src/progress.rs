//! How far a long loop is, a line on stderr with the time left.

use std::{
    io::{self, Write},
    time::Instant,
};

/// A loop over things that are counted.
pub(crate) struct Progress {
    what: &'static str,
    n: usize,
    n_made: usize,
    started: Instant,
}

impl Progress {
    /// Over `n` of `what`, as in `image`; nothing is made yet.
    pub(crate) fn new(what: &'static str, n: usize) -> Self {
        Self { what, n, n_made: 0, started: Instant::now() }
    }

    /// The first `reached` are there, `more` of which were made since the last line. What was there before this process
    /// began says nothing of its speed.
    pub(crate) fn reached(&mut self, reached: usize, more: usize) -> io::Result<()> {
        self.n_made += more;
        let left = self.n.saturating_sub(reached) as f64;
        let left = self.started.elapsed().as_secs_f64() / self.n_made.max(1) as f64 * left;
        writeln!(io::stderr().lock(), "{} {reached}/{}  {left:.0} s left", self.what, self.n)
    }
}
