//! What decides the bytes of an image besides plan and weights: the program, its libtorch and the CPU. Where
//! a run is resumed on another machine or with another build, the driver reports that equal bytes are not
//! promised.

use std::{path::Path, sync::LazyLock};

use specimen_record::{Digest, Environment, RunDir, file_digest, read_document};
use specimen_weights::libtorch;

use crate::{error::RunError, machine};

/// The running program, digested once.
static PROGRAM: LazyLock<Option<Digest>> = LazyLock::new(|| file_digest(Path::new("/proc/self/exe")).ok());

/// The program and machine that make images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Provenance {
    /// Digest of the program's file; `None` where the system does not show it.
    pub(crate) program: Option<Digest>,
    /// Version of the loaded libtorch.
    pub(crate) libtorch: String,
    /// Model name of the CPU.
    pub(crate) host_cpu: String,
    /// CPU features that decide rounding.
    pub(crate) cpu_features: Vec<String>,
}

impl Provenance {
    /// This process.
    pub(crate) fn this() -> Self {
        Self {
            program: PROGRAM.clone(),
            libtorch: libtorch::version(),
            host_cpu: machine::cpu_model(),
            cpu_features: machine::cpu_features(),
        }
    }

    /// How the provenance of an attempt differs from this one, in words; what the attempt did not note counts
    /// as equal.
    fn differences(&self, then: &Environment) -> Vec<String> {
        let mut found = Vec::new();
        let mut compare = |what: &str, now: &str, then: Option<&str>| {
            if let Some(then) = then.filter(|then| *then != now) {
                found.push(format!("{what} {then} then, {now} now"));
            }
        };
        let short = |digest: &Digest| digest.to_string()[..12].to_owned();
        if let (Some(now), Some(before)) = (&self.program, &then.program) {
            compare("program", &short(now), Some(&short(before)));
        }
        compare("libtorch", &self.libtorch, then.libtorch.as_deref());
        compare("CPU", &self.host_cpu, Some(&then.host_cpu));
        let features = then.cpu_features.as_ref().map(|features| features.join(" "));
        compare("CPU features", &self.cpu_features.join(" "), features.as_deref());
        found
    }
}

/// In what the makers of a run's images so far differ from this process, each difference once.
pub(crate) fn differences(run: &RunDir) -> Result<Vec<String>, RunError> {
    let now = Provenance::this();
    let mut found = Vec::new();
    for shard in run.shards()? {
        for attempt in run.attempts(shard)? {
            let path = run.attempt_env(shard, attempt);
            if path.is_file() {
                found.extend(now.differences(&read_document(&path)?));
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn another_build_and_another_cpu_are_reported_and_missing_facts_are_not() {
        let now = Provenance::this();
        let mut then = Environment {
            schema: 1,
            host_cpu: now.host_cpu.clone(),
            cpu_features: Some(now.cpu_features.clone()),
            program: now.program.clone(),
            libtorch: Some(now.libtorch.clone()),
            gpus: None,
            allocation: None,
            steps: None,
            plain_steps: Vec::new(),
            load_average: None,
            cpu_mhz: Vec::new(),
            peak_memory_mb: None,
            seconds: 0.0,
        };
        assert!(now.program.is_some());
        assert_eq!(now.differences(&then), [""; 0]);
        (then.libtorch, then.cpu_features, then.program) = (None, None, None);
        assert_eq!(now.differences(&then), [""; 0]);
        then.program = Some(Digest::of(b"another build"));
        then.host_cpu = "Example CPU".to_owned();
        let found = now.differences(&then);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].starts_with("program ") && found[1].starts_with("CPU Example CPU then, "),
            "{found:?}"
        );
    }
}
