//! Time of a Frechet distance, of precision to coverage, and of KID, on features made here.
//!
//! Run with `cargo bench --profile release -p specimen-stats`, or with `-- 1000 256` at its end for 1000 rows of 256
//! features instead of 5000 of 2048. One run each, on one thread and on all: wall time, and where the system tells it
//! (Linux) the processor's time of all threads, which a busy machine changes less.
#![allow(clippy::print_stdout)] // Printing is what this program is for.

use std::time::Instant;

use rayon::ThreadPoolBuilder;
use specimen_stats::Statistic;
use specimen_stats::counter_rng::CounterRng;
use specimen_stats::features::FeatureRows;
use specimen_stats::frechet::frechet_distance;
use specimen_stats::kid::kid_of_rows;
use specimen_stats::moments::Moments;
use specimen_stats::prdc::prdc;

/// Directions in which the features vary most.
const N_FACTORS: usize = 64;

/// Features at least 0 with a few strong directions and noise in all, like those of a pooled network.
fn features(seed: u64, n: usize, d: usize, scale: f32, shift: f32) -> FeatureRows {
    let (mixing, own) = (CounterRng::new(0), CounterRng::new(seed));
    let centred = |rng: &CounterRng, i: usize| rng.uniform(i as u64) as f32 - 0.5;
    let mix: Vec<f32> = (0..N_FACTORS * d).map(|i| 0.45 * centred(&mixing, i)).collect();
    let mut rows = Vec::with_capacity(n * d);
    for i in 0..n {
        let at = i * (N_FACTORS + d);
        let mut row: Vec<f32> = (0..d).map(|j| shift + 0.35 * centred(&own, at + N_FACTORS + j)).collect();
        for (k, direction) in mix.chunks_exact(d).enumerate() {
            let weight = scale * 3.5 * centred(&own, at + k);
            row.iter_mut().zip(direction).for_each(|(x, part)| *x += weight * part);
        }
        rows.extend(row.into_iter().map(|x| x.max(0.0)));
    }
    FeatureRows::new(rows, d).expect("the rows are whole and finite")
}

/// Prints the time of `run` on one thread and on all, and what it returned.
fn report<T: std::fmt::Debug + Send>(name: &str, run: impl Fn() -> T + Sync) {
    for n_threads in [1, 0] {
        let pool = ThreadPoolBuilder::new().num_threads(n_threads).build().expect("threads can be started");
        let (start, start_processor) = (Instant::now(), processor_s());
        let value = pool.install(&run);
        let wall = start.elapsed().as_secs_f64();
        let processor = match (start_processor, processor_s()) {
            (Some(start), Some(end)) => format!("{:7.2} s", end - start),
            _ => "not told".to_owned(),
        };
        let n_threads = pool.current_num_threads();
        println!("{name:28} {n_threads} thread(s)  wall {wall:7.2} s  processor {processor}  {value:?}");
    }
}

/// Processor time of this process so far; `/proc/self/stat` counts it in hundredths of a second.
fn processor_s() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Fields follow the program's name in brackets; user and system time are the 12th and 13th of them.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: Vec<f64> =
        fields.split_whitespace().skip(11).take(2).map_while(|field| field.parse().ok()).collect();
    (ticks.len() == 2).then(|| ticks.iter().sum::<f64>() / 100.0)
}

fn main() {
    let sizes: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let (n, d) = if let [n, d] = sizes[..] { (n, d) } else { (5000, 2048) };
    println!("{n} rows a side, {d} features");
    let (real, generated) = (features(1, n, d, 1.0, 0.0), features(2, n, d, 0.97, 0.01));
    let moments = |rows: &FeatureRows| Moments::of_rows(rows.values(), d).expect("the rows are finite");
    report("moments", || moments(&real).n());
    let gaussian = |rows| moments(rows).value().expect("there are two rows");
    let (first, second) = (gaussian(&real), gaussian(&generated));
    report("frechet distance", || frechet_distance(&first, &second).expect("both are covariances").value());
    report("precision to coverage, k = 3", || prdc(&real, &generated, 3).expect("there are four rows").open);
    report("kid over all rows", || kid_of_rows(&real, &generated).expect("there are two rows"));
}
