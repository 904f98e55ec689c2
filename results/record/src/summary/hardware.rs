//! What the images of a run were made on: the driver's machine, or the nodes of a cluster, which the attempts
//! name.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Environment, Hardware, PlainStep, RunDir, read_document, summary::error::SummaryError};

/// What computed in each attempt, by shard and number of the attempt.
pub type Devices = BTreeMap<(u32, u32), String>;

/// The hardware that made the images of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunHardware {
    /// Model name of the CPU; several are joined by " and ".
    pub cpu_model: String,
    /// CPU features that decide speed and rounding, those that every machine has.
    pub cpu_features: Vec<String>,
    /// The GPUs, each model once.
    pub gpus: Vec<String>,
    /// By shard and number of the attempt: what a ratio of times must not mix.
    pub devices: Devices,
    /// How fast each timed baseline decodes, of the attempts the middle one.
    pub plain_steps: Vec<PlainStep>,
}

impl RunHardware {
    /// That of a run whose driver runs on `driver`. Where tasks of a cluster have made rows, their nodes
    /// count; a driver on a login node has computed nothing.
    pub fn of(run: &RunDir, driver: &Hardware) -> Result<Self, SummaryError> {
        let (mut devices, mut nodes, mut plain_steps) = (BTreeMap::new(), Vec::new(), Vec::new());
        for shard in run.shards()? {
            for attempt in run.attempts(shard)? {
                let path = run.attempt_env(shard, attempt);
                if !path.is_file() {
                    continue;
                }
                let environment: Environment = read_document(&path)?;
                devices.insert((shard, attempt), model_of(&environment));
                plain_steps.extend(environment.plain_steps.iter().cloned());
                let rows = std::fs::metadata(run.attempt_records(shard, attempt));
                let has_made = rows.is_ok_and(|rows| rows.len() > 0);
                if environment.allocation.is_some() && has_made {
                    nodes.push(environment);
                }
            }
        }
        Ok(Self { devices, plain_steps: middle_steps(plain_steps), ..Self::of_nodes(&nodes, driver) })
    }

    fn of_nodes(nodes: &[Environment], driver: &Hardware) -> Self {
        let (devices, plain_steps) = (BTreeMap::new(), Vec::new());
        let Some(first) = nodes.first() else {
            let Hardware { cpu_model, cpu_features, gpus, .. } = driver.clone();
            return Self { cpu_model, cpu_features, gpus, devices, plain_steps };
        };
        let cpus: BTreeSet<&str> = nodes.iter().map(|node| node.host_cpu.as_str()).collect();
        let gpus: BTreeSet<&String> = nodes.iter().flat_map(|node| &node.gpus).flatten().collect();
        let has = |node: &Environment, feature: &String| {
            node.cpu_features.as_ref().is_some_and(|features| features.contains(feature))
        };
        let of_first = first.cpu_features.clone().unwrap_or_default();
        Self {
            cpu_model: cpus.into_iter().collect::<Vec<_>>().join(" and "),
            cpu_features: of_first.into_iter().filter(|f| nodes.iter().all(|node| has(node, f))).collect(),
            gpus: gpus.into_iter().cloned().collect(),
            devices,
            plain_steps,
        }
    }

    /// That attempts ran on devices of several models, in words; `None` where they did not.
    pub fn several_models(&self) -> Option<String> {
        let models: BTreeSet<&String> = self.devices.values().collect();
        (models.len() > 1).then(|| {
            let names = models.into_iter().map(String::as_str).collect::<Vec<_>>().join("; ");
            format!(
                "attempts of this run computed on devices of several models ({names}): their times form no ratio, and \
                 equal bytes are promised for one model only"
            )
        })
    }
}

/// Of each cell the step whose time is the middle one.
fn middle_steps(all: Vec<PlainStep>) -> Vec<PlainStep> {
    let mut by_cell: BTreeMap<String, Vec<PlainStep>> = BTreeMap::new();
    all.into_iter().for_each(|step| by_cell.entry(step.cell.clone()).or_default().push(step));
    let middle = |mut steps: Vec<PlainStep>| {
        steps.sort_by(|a, b| a.step_s.total_cmp(&b.step_s));
        steps.swap_remove(steps.len() / 2)
    };
    by_cell.into_values().map(middle).collect()
}

/// The model of what computed in an attempt: two GPUs of one model may share a ratio. Where only the index
/// identifies the GPU, or nothing is known of it, the name is that of the spec.
fn model_of(environment: &Environment) -> String {
    let model = |gpu: &String| match gpu.split_once(" (").map(|(_, known)| known.trim_end_matches(')')) {
        Some(known) if !known.contains(" or ") && !known.starts_with("driver ") => known.to_owned(),
        _ => gpu.clone(),
    };
    match environment.gpus.as_deref() {
        None | Some([]) => environment.device(),
        Some(gpus) => {
            let models: BTreeSet<String> = gpus.iter().map(model).collect();
            models.into_iter().collect::<Vec<_>>().join(" and ")
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Allocation;

    use super::*;

    fn node(cpu: &str, features: &[&str], gpu: Option<&str>) -> Environment {
        Environment {
            schema: 1,
            host_cpu: cpu.to_owned(),
            cpu_features: Some(features.iter().map(|&feature| feature.to_owned()).collect()),
            program: None,
            libtorch: None,
            gpus: Some(gpu.into_iter().map(str::to_owned).collect()),
            allocation: Some(Allocation { job: 7, n_restarts: 0, cores: None, gpus: None, neighbours: None }),
            steps: None,
            plain_steps: Vec::new(),
            load_average: None,
            cpu_mhz: Vec::new(),
            peak_memory_mb: None,
            seconds: 0.0,
        }
    }

    fn driver() -> Hardware {
        let (cpu_model, cpu_features) = ("Login".to_owned(), vec!["avx2".to_owned()]);
        Hardware { cpu_model, cores: 4, cpu_features, memory_mb: 1, gpus: Vec::new() }
    }

    #[test]
    fn without_a_cluster_it_is_the_drivers_machine_and_with_one_the_nodes() {
        let here = RunHardware::of_nodes(&[], &driver());
        assert_eq!(
            (here.cpu_model.as_str(), here.cpu_features, here.gpus),
            ("Login", driver().cpu_features, vec![])
        );
        let nodes = [
            node("B", &["avx2", "fma", "avx512f"], Some("cuda (H100)")),
            node("A", &["avx2", "avx512f"], Some("cuda (A100)")),
            node("B", &["avx2", "fma", "avx512f"], Some("cuda (H100)")),
        ];
        let there = RunHardware::of_nodes(&nodes, &driver());
        assert_eq!(there.cpu_model, "A and B");
        assert_eq!(
            (there.cpu_features.join(" "), there.gpus.join(", ")),
            ("avx2 avx512f".to_owned(), "cuda (A100), cuda (H100)".to_owned())
        );
        assert_eq!(RunHardware::of_nodes(&nodes[..1], &driver()).cpu_model, "B");
    }

    #[test]
    fn gpus_of_one_model_are_one_device_and_an_index_counts_where_nothing_else_is_known() {
        let of = |gpu| model_of(&node("B", &[], gpu));
        assert_eq!(of(Some("cuda:0 (H100, driver 5.1)")), of(Some("cuda:1 (H100, driver 5.1)")));
        assert_ne!(
            of(Some("cuda:0 (A100 or H100, driver 5.1)")),
            of(Some("cuda:1 (A100 or H100, driver 5.1)"))
        );
        assert_ne!(of(Some("cuda:0 (driver 5.1)")), of(Some("cuda:1 (driver 5.1)")));
        assert_eq!((of(Some("cuda:0")), of(None)), ("cuda:0".to_owned(), "B".to_owned()));
    }

    #[test]
    fn several_models_are_reported_and_one_is_not() {
        let devices = |models: [&str; 2]| (0..).map(|k| (k, 0)).zip(models.map(str::to_owned)).collect();
        let of = |models| RunHardware { devices: devices(models), ..RunHardware::of_nodes(&[], &driver()) };
        assert_eq!(of(["H100", "H100"]).several_models(), None);
        assert!(of(["H100", "A100"]).several_models().is_some_and(|what| what.contains("(A100; H100)")));
    }
}
