//! What a cluster gave this process, from the environment that Slurm sets, and who else was on the node when
//! timed work began.

use std::time::Duration;

use specimen_record::Allocation;

use crate::{process::stop_request::StopRequest, slurm::command::ask};

/// How long the queue may take to say who else is there. Nothing depends on it, and a worker holds a GPU
/// meanwhile.
const PATIENCE: Duration = Duration::from_secs(10);

/// What this task was given; `None` outside of a cluster. For timed work the queue is asked once who else is
/// there, before the first image; a task of untimed cells asks nothing.
pub(crate) fn of_this_process(is_timed: bool, stop: &StopRequest) -> Option<Allocation> {
    let variable = |name: &str| std::env::var(name).ok();
    let mut allocation = read(variable)?;
    if is_timed {
        allocation.neighbours =
            variable("SLURMD_NODENAME").and_then(|node| neighbours(&node, allocation.job, stop));
    }
    Some(allocation)
}

fn read(variable: impl Fn(&str) -> Option<String>) -> Option<Allocation> {
    let number = |name: &str| variable(name)?.parse().ok();
    Some(Allocation {
        job: variable("SLURM_JOB_ID")?.parse().ok()?,
        n_restarts: number("SLURM_RESTART_COUNT").unwrap_or(0),
        cores: number("SLURM_CPUS_ON_NODE"),
        gpus: variable("CUDA_VISIBLE_DEVICES").filter(|gpus| !gpus.is_empty()),
        neighbours: None,
    })
}

/// Other jobs than `job` that run on `node`; `None` where the queue does not answer.
fn neighbours(node: &str, job: u64, stop: &StopRequest) -> Option<u32> {
    let asked = ["--noheader", "--array", "--states=RUNNING", "--nodelist", node, "--format=%A"];
    Some(others(&ask("squeue", &asked, PATIENCE, stop).ok()?, job))
}

fn others(text: &str, job: u64) -> u32 {
    text.lines().filter(|line| line.trim().parse::<u64>().is_ok_and(|other| other != job)).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_told_by_its_variables_and_a_process_without_them_is_none() {
        let variables = [("SLURM_JOB_ID", "12"), ("SLURM_CPUS_ON_NODE", "4"), ("CUDA_VISIBLE_DEVICES", "1")];
        let known =
            |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
        let expected = Allocation {
            job: 12,
            n_restarts: 0,
            cores: Some(4),
            gpus: Some("1".to_owned()),
            neighbours: None,
        };
        assert_eq!(read(known), Some(expected));
        assert_eq!(read(|_| None), None);
    }

    #[test]
    fn neighbours_are_all_but_oneself() {
        assert_eq!(others("12\n13\n 14\n\n", 12), 2);
    }
}
