//! What a plan becomes on a cluster: arrays, tasks, and what the time is in hours of GPUs.

use std::fmt;

use serde::Serialize;

use crate::{
    plan::Plan,
    slurm::{Ask, SlurmSpec},
};

/// The first number that no task of an array may have, where the cluster does not say otherwise: Slurm's own default.
pub const MAX_ARRAY_SIZE: u32 = 1001;

/// The size that `scontrol show config` tells; `None` where it tells none above 1.
pub fn max_array_size(config: &str) -> Option<u32> {
    let line = config.lines().find(|line| line.starts_with("MaxArraySize"))?;
    line.split('=').nth(1)?.trim().parse().ok().filter(|&size| size > 1)
}

/// What a plan becomes on a cluster.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArrayShape {
    /// Arrays of timed blocks, then of the others; those without a block are left out.
    pub kinds: Vec<KindShape>,
    /// The size of arrays that was reckoned with.
    pub max_array_size: u32,
}

/// The arrays of one kind of block.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindShape {
    /// Whether its blocks are timed.
    pub timed: bool,
    /// Tasks, one a shard.
    pub n_tasks: u32,
    /// Arrays that they take.
    pub n_arrays: u32,
    /// Tasks at a time, where that is limited.
    pub throttle: Option<u32>,
    /// What a task is given.
    pub gres: Option<String>,
    /// GPUs of a task.
    pub n_gpus: u32,
    /// GPU-hours, or hours of tasks where they have no GPU; absent where the time is not known.
    pub hours: Option<f64>,
}

impl ArrayShape {
    /// The shape of `plan` cut into `n_shards` of each kind. `seconds` is the work of all timed and of all other
    /// cells, warm-up apart, where it is known.
    pub fn new(
        plan: &Plan,
        settings: &SlurmSpec,
        n_shards: u32,
        max_array_size: u32,
        seconds: Option<[f64; 2]>,
    ) -> Self {
        let n_timed = plan.blocks.iter().filter(|block| block.timed).count();
        let counts =
            [(true, n_timed, &settings.timing), (false, plan.blocks.len() - n_timed, &settings.quality)];
        let mut first = 0;
        let mut kind = |(at, (timed, n_blocks, ask)): (usize, (bool, usize, &Ask))| {
            // There are at most as many tasks as shards, whose number is of this type.
            let n_tasks = n_blocks.min(n_shards as usize) as u32;
            // An array holds the shards between two multiples of its size; timed ones come first.
            let array_of = |shard: u32| shard / max_array_size;
            let n_arrays = match n_tasks {
                0 => 0,
                n => array_of(first + n - 1) - array_of(first) + 1,
            };
            first += n_tasks;
            let n_gpus = ask.gres.as_deref().map_or(0, gpus);
            KindShape {
                timed,
                n_tasks,
                n_arrays,
                throttle: ask.throttle,
                gres: ask.gres.clone(),
                n_gpus,
                hours: seconds.map(|seconds| seconds[at] * f64::from(n_gpus.max(1)) / 3600.0),
            }
        };
        let kinds: Vec<KindShape> = counts.into_iter().enumerate().map(&mut kind).collect();
        Self { kinds: kinds.into_iter().filter(|kind| kind.n_tasks > 0).collect(), max_array_size }
    }
}

/// GPUs in a `--gres`: `gpu`, `gpu:2`, `gpu:h100:2`.
fn gpus(gres: &str) -> u32 {
    let count = |part: &str| {
        let mut words = part.split(':');
        (words.next()? == "gpu").then(|| words.next_back().and_then(|n| n.parse().ok()).unwrap_or(1))
    };
    gres.split(',').filter_map(count).sum()
}

impl fmt::Display for ArrayShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for kind in &self.kinds {
            let KindShape { n_tasks, n_arrays, n_gpus, .. } = kind;
            let what = if kind.timed { "timed" } else { "untimed" };
            write!(f, "slurm   {n_tasks} task(s) of {what} blocks in {n_arrays} array(s)")?;
            if let Some(most) = kind.throttle {
                write!(f, ", {most} at a time")?;
            }
            if let Some(gres) = &kind.gres {
                write!(f, ", each with {gres}")?;
            }
            let unit = if *n_gpus > 0 { "GPU-hours" } else { "task-hours" };
            match kind.hours {
                Some(hours) => writeln!(f, ": about {hours:.2} {unit}")?,
                None => writeln!(f, ": {unit} unknown, there is no earlier run to judge by; see --probe")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_arrays_is_read_from_the_configuration() {
        let config = "MaxArraySize            = 1001\nMaxJobCount             = 10000\n";
        assert_eq!(max_array_size(config), Some(1001));
        assert_eq!(max_array_size("MaxArraySize = 0\n"), None);
    }

    #[test]
    fn gpus_are_counted_in_every_spelling() {
        assert_eq!(["gpu", "gpu:2", "gpu:h100:4", "shard:3", "shard:1,gpu:1"].map(gpus), [1, 2, 4, 0, 1]);
    }
}
