//! When the queue is asked next: two seconds after the first time, then ever more seldom up to once a minute,
//! each interval a little longer or shorter by chance, so that many drivers do not ask at once.

use std::time::{Duration, Instant};

use specimen_decode::rng::{Purpose, Uniforms};

const SHORTEST_S: f64 = 2.0;
const LONGEST_S: f64 = 60.0;
const GROWTH: f64 = 1.5;
/// Largest part of an interval that chance adds or takes.
const JITTER: f64 = 0.2;

/// The intervals between questions.
pub(crate) struct PollInterval {
    chance: Uniforms,
    n_asked: u32,
    interval_s: f64,
    due: Instant,
}

impl PollInterval {
    /// Due at once; `seed` decides the chance.
    pub(crate) fn new(seed: u64) -> Self {
        Self { chance: Uniforms::new(seed), n_asked: 0, interval_s: SHORTEST_S, due: Instant::now() }
    }

    /// Whether it is time to ask; if so the next time is set.
    pub(crate) fn is_due(&mut self) -> bool {
        if Instant::now() < self.due {
            return false;
        }
        self.due = Instant::now() + self.next();
        true
    }

    /// Short intervals again, after something was submitted.
    pub(crate) fn quicken(&mut self) {
        self.interval_s = SHORTEST_S;
        self.due = Instant::now() + self.next();
    }

    fn next(&mut self) -> Duration {
        let draw = self.chance.uniform(Purpose::Init, self.n_asked, 0);
        self.n_asked += 1;
        let interval_s = self.interval_s * (1.0 + JITTER * (2.0 * draw - 1.0));
        self.interval_s = (self.interval_s * GROWTH).min(LONGEST_S);
        Duration::from_secs_f64(interval_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_grow_from_two_seconds_to_a_minute_with_jitter() {
        let intervals = |seed| {
            let mut poll = PollInterval::new(seed);
            (0..20).map(|_| poll.next().as_secs_f64()).collect::<Vec<_>>()
        };
        let found = intervals(1);
        assert!((1.6..=2.4).contains(&found[0]), "{found:?}");
        assert!(found[12..].iter().all(|s| (48.0..=72.0).contains(s)), "{found:?}");
        assert!(found != intervals(2), "two drivers ask at different times");
    }
}
