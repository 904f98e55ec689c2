//! Where the images of a run were made: on the driver's machine, or on the nodes of a cluster, which the attempts name.

use std::collections::{BTreeMap, BTreeSet};

use specimen_record::{Environment, Hardware, RunDir, read_document};

use crate::error::RunError;

/// What computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Workplace {
    /// Model name of the CPU; several are joined by " and ".
    pub(crate) cpu_model: String,
    /// CPU features that decide speed and rounding, those that every machine has.
    pub(crate) cpu_features: Vec<String>,
    /// The GPUs, each model once.
    pub(crate) gpus: Vec<String>,
    /// By shard and number of the attempt: what a ratio of times must not mix.
    pub(crate) devices: BTreeMap<(u32, u32), String>,
}

impl Workplace {
    /// That of a run whose driver runs on `driver`. Where tasks of a cluster have made rows, theirs is the machine; a
    /// driver on a login node has computed nothing.
    ///
    /// # Errors
    /// An attempt's environment that cannot be read.
    pub(crate) fn of(run: &RunDir, driver: &Hardware) -> Result<Self, RunError> {
        let (mut devices, mut nodes) = (BTreeMap::new(), Vec::new());
        for shard in run.shards()? {
            for attempt in run.attempts(shard)? {
                let path = run.attempt_env(shard, attempt);
                if !path.is_file() {
                    continue;
                }
                let environment: Environment = read_document(&path)?;
                devices.insert((shard, attempt), model_of(&environment));
                let rows = std::fs::metadata(run.attempt_records(shard, attempt));
                let has_made = rows.is_ok_and(|rows| rows.len() > 0);
                if environment.allocation.is_some() && has_made {
                    nodes.push(environment);
                }
            }
        }
        Ok(Self { devices, ..Self::of_nodes(&nodes, driver) })
    }

    fn of_nodes(nodes: &[Environment], driver: &Hardware) -> Self {
        let devices = BTreeMap::new();
        let Some(first) = nodes.first() else {
            let Hardware { cpu_model, cpu_features, gpus, .. } = driver.clone();
            return Self { cpu_model, cpu_features, gpus, devices };
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
        }
    }

    /// That attempts ran on devices of several models, in words; `None` where they did not.
    pub(crate) fn several(&self) -> Option<String> {
        let models: BTreeSet<&String> = self.devices.values().collect();
        (models.len() > 1).then(|| {
            let names = models.into_iter().map(String::as_str).collect::<Vec<_>>().join("; ");
            format!(
                "attempts of this run computed on devices of several models ({names}): their times are not put into \
                 one ratio, and equal bytes are promised for one model only"
            )
        })
    }
}

/// The model of what computed in an attempt: two GPUs of one model may share a ratio. Where the index alone tells which
/// GPU it was, or nothing is known of it, it stays as the spec has it.
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
    use specimen_record::Allocation;

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
        let here = Workplace::of_nodes(&[], &driver());
        assert_eq!(
            (here.cpu_model.as_str(), here.cpu_features, here.gpus),
            ("Login", driver().cpu_features, vec![])
        );
        let nodes = [
            node("B", &["avx2", "fma", "avx512f"], Some("cuda (H100)")),
            node("A", &["avx2", "avx512f"], Some("cuda (A100)")),
            node("B", &["avx2", "fma", "avx512f"], Some("cuda (H100)")),
        ];
        let there = Workplace::of_nodes(&nodes, &driver());
        assert_eq!(there.cpu_model, "A and B");
        assert_eq!(
            (there.cpu_features.join(" "), there.gpus.join(", ")),
            ("avx2 avx512f".to_owned(), "cuda (A100), cuda (H100)".to_owned())
        );
        assert_eq!(Workplace::of_nodes(&nodes[..1], &driver()).cpu_model, "B");
    }

    #[test]
    fn gpus_of_one_model_are_one_device_and_an_index_counts_where_nothing_else_tells() {
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
    fn several_models_are_told_and_one_is_not() {
        let devices = |models: [&str; 2]| (0..).map(|k| (k, 0)).zip(models.map(str::to_owned)).collect();
        let of = |models| Workplace { devices: devices(models), ..Workplace::of_nodes(&[], &driver()) };
        assert_eq!(of(["H100", "H100"]).several(), None);
        assert!(of(["H100", "A100"]).several().is_some_and(|told| told.contains("(A100; H100)")));
    }
}
