//! The script of an array and the flags it is submitted with. The script ends in `exec`, so that the signal
//! before the time limit reaches the worker and not a shell that dies of it.

use std::{path::Path, time::Duration};

use specimen_datasets::data_root::DataRoot;
use specimen_experiments::slurm::{Ask, SlurmSpec};
use specimen_foundation::{fail, failure};
use specimen_record::{ItemKey, RunDir};

use crate::{error::RunError, plan::shard_map::ShardMap, process::shell_quoted};

/// What the script runs.
pub(crate) struct Script<'a> {
    pub(crate) program: &'a Path,
    pub(crate) run: &'a RunDir,
    pub(crate) data_root: Option<&'a DataRoot>,
    pub(crate) settings: &'a SlurmSpec,
    pub(crate) map: ShardMap,
    /// Task 0 is this shard.
    pub(crate) first_shard: u32,
    /// How long a write may wait for disk space.
    pub(crate) disk_wait: Option<Duration>,
    /// Items that are left alone.
    pub(crate) skip: &'a [ItemKey],
}

impl Script<'_> {
    /// The text.
    pub(crate) fn text(&self) -> Result<String, RunError> {
        let root = absolute(self.run.root())?;
        let program = absolute(self.program)?;
        let here = std::env::current_dir().map_err(RunError::io(Path::new("."), "find the folder"))?;
        let shard = match self.first_shard {
            0 => "$SLURM_ARRAY_TASK_ID".to_owned(),
            first => format!("$(({first} + SLURM_ARRAY_TASK_ID))"),
        };
        let mut lines = vec![
            "#!/bin/sh".to_owned(),
            "# A worker of specimen; written by `specimen run --executor slurm`.".to_owned(),
            // Bytes do not depend on the cores a task is given.
            "export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1".to_owned(),
        ];
        if let Some(data) = self.data_root {
            lines.push(format!("export SPECIMEN_DATA={}", shell_quoted(&absolute(data.path())?)));
        }
        lines.extend(self.settings.setup.iter().cloned());
        lines.push(format!("cd {} || exit 6", shell_quoted(&text_of(&here)?)));
        lines.push(format!("run={}", shell_quoted(&root)));
        let skip: String =
            self.skip.iter().map(|key| format!(" --skip {}", shell_quoted(key.as_str()))).collect();
        let wait = self.disk_wait.map_or_else(String::new, |wait| format!(" --disk-wait {}", wait.as_secs()));
        lines.push(format!(
            "exec {} shard run \"$run\" \"{shard}\" --timed-shards {} --untimed-shards {} --unattended{wait}{skip} \
             2>>\"$run/shards/{shard}/worker.log\"",
            shell_quoted(&program),
            self.map.timed,
            self.map.untimed,
        ));
        Ok(lines.join("\n") + "\n")
    }
}

/// The flags of `sbatch`, the script last.
pub(crate) fn arguments(
    name: &str,
    ask: &Ask,
    settings: &SlurmSpec,
    tasks: &[u32],
    logs: &Path,
    script: &Path,
) -> Result<Vec<String>, RunError> {
    let throttle = ask.throttle.map_or_else(String::new, |most| format!("%{most}"));
    let mut flags = vec![
        "--parsable".to_owned(),
        format!("--job-name={name}"),
        format!("--array={}{throttle}", ranges(tasks)),
        "--open-mode=append".to_owned(),
        "--requeue".to_owned(),
        format!("--signal=B:USR1@{}", settings.signal_s),
        format!("--output={}/%A_%a.log", pattern(&absolute(logs)?)?),
    ];
    let words = [
        ("partition", &ask.partition),
        ("account", &ask.account),
        ("qos", &ask.qos),
        ("constraint", &ask.constraint),
        ("gres", &ask.gres),
        ("time", &ask.time),
        ("mem", &ask.mem),
    ];
    flags
        .extend(words.iter().filter_map(|(flag, word)| word.as_ref().map(|word| format!("--{flag}={word}"))));
    flags.extend(ask.cpus.map(|n| format!("--cpus-per-task={n}")));
    flags.extend(ask.exclusive.then(|| "--exclusive".to_owned()));
    flags.extend(ask.extra.iter().cloned());
    flags.push(absolute(script)?);
    Ok(flags)
}

/// `0-3,7` for ascending numbers.
pub(crate) fn ranges(numbers: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let word = |&(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    runs.iter().map(word).collect::<Vec<_>>().join(",")
}

fn absolute(path: &Path) -> Result<String, RunError> {
    let whole = std::path::absolute(path).map_err(RunError::io(path, "find the whole path of"))?;
    text_of(&whole)
}

fn text_of(path: &Path) -> Result<String, RunError> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        failure!(Environment: "{}: the path is not UTF-8, which a batch script needs", path.display()).into()
    })
}

/// A path in which `sbatch` replaces nothing.
fn pattern(path: &str) -> Result<String, RunError> {
    if path.contains('\\') {
        fail!(Environment: "{path}: sbatch reads a backslash otherwise; choose another --out");
    }
    Ok(path.replace('%', "%%"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn script(first_shard: u32, skip: &[ItemKey]) -> String {
        let run = RunDir::create(std::env::temp_dir().join("it's a run")).unwrap();
        let settings =
            SlurmSpec { setup: vec!["module load cuda".to_owned()], ..SlurmSpec::of_the_cluster() };
        let map = ShardMap { timed: 4, untimed: 2 };
        let program = Path::new("/opt/specimen");
        Script {
            program,
            run: &run,
            data_root: None,
            settings: &settings,
            map,
            first_shard,
            disk_wait: None,
            skip,
        }
        .text()
        .unwrap()
    }

    #[test]
    fn the_script_ends_in_exec_of_the_worker_and_quotes_what_it_names() {
        let text = script(0, &[]);
        let last = text.lines().last().unwrap();
        assert_eq!(
            last,
            "exec '/opt/specimen' shard run \"$run\" \"$SLURM_ARRAY_TASK_ID\" --timed-shards 4 --untimed-shards 2 \
             --unattended 2>>\"$run/shards/$SLURM_ARRAY_TASK_ID/worker.log\""
        );
        assert!(text.contains("\nmodule load cuda\n") && text.contains(r"it'\''s a run"), "{text}");
        let later = script(1000, &[ItemKey::new("ar", "3", 0)]);
        assert!(
            later.contains("\"$((1000 + SLURM_ARRAY_TASK_ID))\" ") && later.contains("--skip 'ar/3/0'"),
            "{later}"
        );
    }

    #[test]
    fn tasks_are_named_in_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(ranges(&[9]), "9");
    }

    #[test]
    fn what_the_spec_asks_for_are_flags() {
        let mut settings = SlurmSpec::of_the_cluster();
        settings.timing.gres = Some("gpu:1".to_owned());
        settings.timing.throttle = Some(8);
        settings.timing.exclusive = true;
        settings.timing.extra = vec!["--reservation=mine".to_owned()];
        let flags = arguments(
            "specimen-0a1b2c3d",
            &settings.timing,
            &settings,
            &[0, 1],
            Path::new("/r%1/slurm"),
            Path::new("/r/s.sh"),
        );
        let flags = flags.unwrap().join(" ");
        assert_eq!(
            flags,
            "--parsable --job-name=specimen-0a1b2c3d --array=0-1%8 --open-mode=append --requeue --signal=B:USR1@120 \
             --output=/r%%1/slurm/%A_%a.log --gres=gpu:1 --exclusive --reservation=mine /r/s.sh"
        );
    }
}
