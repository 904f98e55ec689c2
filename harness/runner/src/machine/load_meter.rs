//! How busy the machine is, and with what: shares of all cores between two readings of the system's counters.

use std::fs;

/// Shares of all cores since the reading before, in `[0, 1]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shares {
    /// All processes.
    pub(crate) busy: f64,
    /// This process.
    pub(crate) own: f64,
    /// All others.
    pub(crate) others: f64,
}

/// Keeps the reading before.
pub(crate) struct LoadMeter {
    last: Option<Reading>,
}

/// Ticks since the machine and since the process started.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reading {
    total: u64,
    idle: u64,
    own: u64,
}

impl LoadMeter {
    /// Begins to measure.
    pub(crate) fn new() -> Self {
        Self { last: read() }
    }

    /// The shares since the call before; `None` where the system does not tell, or no tick has passed.
    pub(crate) fn shares(&mut self) -> Option<Shares> {
        let now = read();
        let shares = self.last.zip(now).and_then(|(last, now)| between(last, now));
        self.last = now;
        shares
    }
}

fn between(last: Reading, now: Reading) -> Option<Shares> {
    let ticks = |of: fn(&Reading) -> u64| of(&now).saturating_sub(of(&last)) as f64;
    let total = ticks(|reading| reading.total);
    if total == 0.0 {
        return None;
    }
    let share = |ticks: f64| (ticks / total).clamp(0.0, 1.0);
    let busy = share(total - ticks(|reading| reading.idle));
    // The two files are read one after the other, so the process may seem busier than the machine.
    let own = share(ticks(|reading| reading.own)).min(busy);
    Some(Shares { busy, own, others: busy - own })
}

fn read() -> Option<Reading> {
    parse(&fs::read_to_string("/proc/stat").ok()?, &fs::read_to_string("/proc/self/stat").ok()?)
}

/// `machine`: user, nice, system, idle, waiting for disks, interrupts and stolen ticks of all cores, in the
/// first line. `process`: user and system ticks are the 14th and 15th field; the 2nd may hold spaces and ends
/// with the last parenthesis.
fn parse(machine: &str, process: &str) -> Option<Reading> {
    let line = machine.lines().next()?.strip_prefix("cpu ")?;
    // Guests are counted in user time already.
    let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|field| field.parse().ok()).collect();
    let idle = ticks.get(3)? + ticks.get(4)?;
    let fields: Vec<&str> = process.get(process.rfind(')')? + 1..)?.split_whitespace().collect();
    let field = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Reading { total: ticks.iter().sum(), idle, own: field(11)? + field(12)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROCESS: &str = "12 (a (b) c) R 1 2 3 4 5 6 7 8 9 10 30 12 0 0 20 0 1 0 99";

    #[test]
    fn shares_are_those_of_the_ticks_between_two_readings() {
        let last = parse("cpu  100 0 50 800 50 0 0 0 7 0\ncpu0 1 2 3\n", PROCESS);
        assert_eq!(last, Some(Reading { total: 1000, idle: 850, own: 42 }));
        let now = Reading { total: 1200, idle: 900, own: 102 };
        let shares = last.and_then(|last| between(last, now));
        assert_eq!(shares, Some(Shares { busy: 0.75, own: 0.3, others: 0.45 }));
        assert_eq!(between(now, now), None);
    }

    #[test]
    fn this_machine_has_the_counters() {
        assert!(read().is_none_or(|reading| reading.total > reading.idle));
        assert_eq!(parse("intr 1 2", PROCESS), None);
        assert_eq!(parse("cpu  1 2 3 4 5 6 7 8", "12 (cut"), None);
    }
}
