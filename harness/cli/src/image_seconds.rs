//! How long an image of each cell of a run took.

use specimen_record::{RunDir, read_timings};

/// Mean seconds of an image, warm-ups apart, for every cell that has images.
pub(crate) fn seconds_per_image(run: &RunDir) -> anyhow::Result<Vec<(String, f64)>> {
    let mut sums: Vec<(String, u64, u64)> = Vec::new();
    for timed in read_timings(run)?.rows.iter().filter(|timed| !timed.row.warmup) {
        let cell = timed.row.key.cell();
        match sums.iter_mut().find(|(name, _, _)| *name == cell) {
            Some((_, ns, n)) => (*ns, *n) = (*ns + timed.row.e2e_ns, *n + 1),
            None => sums.push((cell, timed.row.e2e_ns, 1)),
        }
    }
    Ok(sums.into_iter().map(|(name, ns, n)| (name, ns as f64 * 1e-9 / n as f64)).collect())
}
