//! How often the 95 % intervals of a comparison hold the truth, counted over many simulated comparisons: the long form
//! of what `tests/paired.rs` checks. Takes minutes; the arguments are the number of comparisons and of prompts, of which there
//! are no intervals below six:
//!
//! ```sh
//! cargo run --release -p specimen-stats --example coverage -- 20000 60
//! ```
#![allow(clippy::print_stdout, reason = "an example answers on stdout")]

use specimen_stats::StatsError;
use specimen_stats::bootstrap::{BootstrapPlan, Interval, MIN_RESAMPLES};
use specimen_stats::counter_rng::CounterRng;
use specimen_stats::normal::normal_quantile;
use specimen_stats::paired::Paired;

/// Log-normal times: a difficulty that the sides share (deviation 0.5), noise on each (0.2 and 0.3), the method twice as
/// fast.
fn simulated(dataset: u64, n: u64) -> Result<Paired<u64>, StatsError> {
    let rng = CounterRng::new(dataset);
    let normal = |counter: u64| normal_quantile(rng.uniform(counter).max(1e-12));
    let side = |side: u64, scale: f64, noise: f64| -> Result<Vec<(u64, f64)>, StatsError> {
        (0..n)
            .map(|i| Ok((i, scale * (0.5 * normal(3 * i)? + noise * normal(3 * i + side)?).exp())))
            .collect()
    };
    Paired::join(side(1, 2.0, 0.2)?, side(2, 1.0, 0.3)?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let n_datasets: u64 = arguments.next().as_deref().unwrap_or("20000").parse()?;
    let n: u64 = arguments.next().as_deref().unwrap_or("60").parse()?;
    let truths = [
        ("ratio of mean times", 2.0 * (-0.025_f64).exp()),
        ("geometric mean ratio", 2.0),
        ("median ratio", 2.0),
        ("mean difference", (0.17_f64).exp() - 2.0 * (0.145_f64).exp()),
    ];
    let mut n_covered = [0_u64; 4];
    for dataset in 0..n_datasets {
        let plan = BootstrapPlan::new(dataset, MIN_RESAMPLES, 0.95)?;
        let pairs = simulated(300_000 + dataset, n)?;
        let intervals: [Option<Interval>; 4] = [
            pairs.ratio_of_sums(&plan)?.interval,
            pairs.geometric_mean_ratio(&plan)?.interval,
            Some(pairs.median_ratio(0.95)?.interval),
            pairs.mean_difference(&plan)?.interval,
        ];
        for ((covered, interval), (name, truth)) in n_covered.iter_mut().zip(intervals).zip(truths) {
            let ends = interval.ok_or_else(|| format!("{name}: {n} prompts have no interval"))?;
            *covered += u64::from((ends.lower..=ends.upper).contains(&truth));
        }
    }
    for (covered, (name, _)) in n_covered.iter().zip(truths) {
        let share = *covered as f64 / n_datasets as f64;
        println!("{name}: {:.2} % of {n_datasets} intervals of {n} prompts hold the truth", 100.0 * share);
    }
    Ok(())
}
