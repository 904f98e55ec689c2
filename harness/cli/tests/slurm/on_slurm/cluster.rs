//! A cluster for a test: a real one of one node, if Slurm is installed, or programs of the same names that start the
//! tasks themselves and count what they are asked.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

/// Programs that a real cluster needs.
const PROGRAMS: [&str; 6] = ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel"];

/// A cluster that ends with the test.
pub(crate) enum Cluster {
    /// Slurm itself.
    Real(TempDir),
    /// Programs of the same names.
    Counted(TempDir),
}

impl Cluster {
    /// A real cluster, or none with a word to the log of skipped tests.
    pub(crate) fn real(test: &str) -> Option<Self> {
        let is_there = |name: &&str| {
            let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
            path.split(':').any(|folder| Path::new(folder).join(name).is_file())
        };
        if let Some(absent) = PROGRAMS.iter().find(|name| !is_there(name)) {
            let needed = format!("Slurm (no `{absent}`; Debian: slurmctld slurmd slurm-client munge)");
            assert!(std::env::var_os("STRICT_SLURM").is_none(), "{test}: {needed}");
            specimen_testdata::note(test, &needed);
            return None;
        }
        let cluster = Self::Real(tempfile::tempdir().unwrap());
        cluster.manage(&["start"], &[("GPUS", "2"), ("KILL_WAIT", "2")]);
        Some(cluster)
    }

    /// Programs that start tasks as processes, at most `n` at a time being none of their business.
    pub(crate) fn counted() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in
            [("sbatch", SBATCH), ("squeue", SQUEUE), ("scontrol", SCONTROL), ("scancel", SCANCEL)]
        {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self::Counted(folder)
    }

    /// The same, but a task begins only once the queue was asked after its array: on the fastest machine too an array
    /// is there to be looked at.
    pub(crate) fn counted_and_asked() -> Self {
        let cluster = Self::counted();
        fs::write(cluster.file("hold"), "").unwrap();
        cluster
    }

    fn folder(&self) -> &Path {
        match self {
            Self::Real(folder) | Self::Counted(folder) => folder.path(),
        }
    }

    /// What a command needs to find the cluster.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let folder = self.folder().to_str().unwrap();
        match self {
            Self::Real(_) => vec![("SLURM_CONF", format!("{folder}/slurm.conf"))],
            Self::Counted(_) => {
                let path = std::env::var("PATH").unwrap_or_default();
                vec![("PATH", format!("{folder}:{path}")), ("COUNTED", folder.to_owned())]
            }
        }
    }

    /// Has `scripts/slurm-cluster.sh` do something.
    pub(crate) fn manage(&self, verb: &[&str], environment: &[(&str, &str)]) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/slurm-cluster.sh");
        let port = free_ports().to_string();
        let mut command = Command::new(script);
        command.arg(verb[0]).arg(self.folder()).args(&verb[1..]).env("PORT", port);
        let done = command.envs(environment.iter().copied()).output().unwrap();
        assert!(done.status.success(), "{verb:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// Asks one of the cluster's programs.
    pub(crate) fn ask(&self, program: &str, arguments: &[&str]) -> String {
        let mut command = Command::new(program);
        command.args(arguments).envs(self.environment());
        let said = command.output().unwrap();
        assert!(said.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap()
    }

    /// Lines that the counted programs wrote about themselves: `seconds program arguments`.
    pub(crate) fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder().join("calls")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Makes `squeue` fail, or answer again.
    pub(crate) fn silence(&self, is_silent: bool) {
        let path = self.folder().join("silent");
        if is_silent {
            fs::write(path, "").unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }

    /// A file of the cluster's own.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Self::Real(folder) = self {
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/slurm-cluster.sh");
            // A panic on the way out of a failed test would hide why it failed.
            let _ = Command::new(script).arg("stop").arg(folder.path()).output();
        }
    }
}

/// Two ports beside each other that nobody listens on now.
fn free_ports() -> u16 {
    for _ in 0..100 {
        let first = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = first.local_addr().unwrap().port();
        if port < u16::MAX && TcpListener::bind(("127.0.0.1", port + 1)).is_ok() {
            return port;
        }
    }
    panic!("no two free ports beside each other");
}

/// Starts each task of `--array` as a process of its own session and notes who it is.
const SBATCH: &str = r#"#!/bin/sh
echo "$(date +%s.%N) sbatch $*" >>"$COUNTED/calls"
if [ -e "$COUNTED/refuse" ]; then cat "$COUNTED/refuse" >&2; exit 1; fi
job=$(($(cat "$COUNTED/last" 2>/dev/null || echo 40) + 1)); echo $job >"$COUNTED/last"
for word; do
    case $word in
    --array=*) tasks=${word#--array=} ;;
    --job-name=*) echo "${word#--job-name=}" >"$COUNTED/name-$job" ;;
    esac
done
for part in $(echo "${tasks%%%*}" | tr , ' '); do
    for task in $(seq "${part%-*}" "${part#*-}"); do
        SLURM_ARRAY_JOB_ID=$job SLURM_ARRAY_TASK_ID=$task SLURM_JOB_ID=$job$task ASKED="$COUNTED/asked-$job" \
            setsid sh -c 'while [ -e "$COUNTED/hold" ] && [ ! -e "$ASKED" ]; do sleep 0.05; done; exec sh "$0"' "$word" \
            >/dev/null 2>&1 &
        echo $! >"$COUNTED/task-$job-$task"
    done
done
echo $job
"#;

const SQUEUE: &str = r#"#!/bin/sh
echo "$(date +%s.%N) squeue $*" >>"$COUNTED/calls"
job=; before=
for word; do [ "$before" = --jobs ] && job=$word; before=$word; done
[ -z "$job" ] || : >"$COUNTED/asked-$job"
if [ -e "$COUNTED/silent" ]; then echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1; fi
[ -n "$job" ] || exit 0
[ -e "$COUNTED/name-$job" ] || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }
for file in "$COUNTED/task-$job-"*; do
    state=COMPLETED
    case $(cut -d' ' -f3 "/proc/$(cat "$file")/stat" 2>/dev/null) in '' | Z) ;; *) state=RUNNING ;; esac
    echo "${file##*-}|$state|None|$(cat "$COUNTED/name-$job")"
done
"#;

const SCONTROL: &str = r#"#!/bin/sh
echo "$(date +%s.%N) scontrol $*" >>"$COUNTED/calls"
echo "MaxArraySize            = $(cat "$COUNTED/size" 2>/dev/null || echo 1001)"
"#;

const SCANCEL: &str = r#"#!/bin/sh
echo "$(date +%s.%N) scancel $*" >>"$COUNTED/calls"
"#;
