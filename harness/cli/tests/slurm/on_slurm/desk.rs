//! A folder with prompts, and the program run in it beside a cluster.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use specimen_record::{Manifest, RunDir, read_document};
use tempfile::TempDir;

use crate::on_slurm::cluster::Cluster;

/// Prompts of a run that takes no time.
pub(crate) const QUICK: &str = "a circle\na square\na star\na hill\na moon\na tree\na house\na lake\n";

/// A working folder beside a cluster.
pub(crate) struct Desk<'c> {
    pub(crate) cluster: &'c Cluster,
    folder: TempDir,
}

/// How the program ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl<'c> Desk<'c> {
    /// With `prompts` one a line.
    pub(crate) fn new(cluster: &'c Cluster, prompts: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("prompts.txt"), prompts).unwrap();
        fs::write(
            folder.path().join("fast.toml"),
            "[slurm]\nlag_s = 1\ncpus = 1\nmax_attempts = 3\n[slurm.timing]\ngres = \"gpu:1\"\n",
        )
        .unwrap();
        Self { cluster, folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program with these arguments, in the folder and beside the cluster.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_specimen"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_remove("SPECIMEN_DATA")
            .env_remove("NO_COLOR");
        command.envs(self.cluster.environment()).env("SPECIMEN_LEASE_S", "3");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// `run` of the stub network on the folder's prompts.
    pub(crate) fn run_command(&self, out: &str, more: &[&str]) -> Command {
        let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/specs/ci/stub.toml");
        let set = format!("dataset.name={:?}", self.path("prompts.txt"));
        let fixed = ["run", spec.to_str().unwrap(), "--set", &set, "--set", "timing.blocks=2", "--out", out];
        self.command(&[&fixed, more].concat())
    }

    pub(crate) fn run(&self, out: &str, more: &[&str]) -> Ended {
        ended(self.run_command(out, more).spawn().unwrap())
    }

    /// The same on the cluster, in `n` shards.
    pub(crate) fn arrays(&self, out: &str, n: &str, more: &[&str]) -> Command {
        let fixed = ["--executor", "slurm", "--profile", "fast.toml", "--shards", n];
        self.run_command(out, &[&fixed, more].concat())
    }

    /// The digest of the merged records of a finished run.
    pub(crate) fn digest(&self, out: &str) -> String {
        let run = RunDir::open(self.path(out)).unwrap();
        let manifest: Manifest = read_document(&run.manifest()).unwrap();
        manifest.sealed.unwrap().result_digest.to_string()
    }

    /// Waits for something to come true, five minutes at most, which no machine needs.
    pub(crate) fn wait_for(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let started = Instant::now();
        while !is_so() {
            assert!(started.elapsed() < Duration::from_secs(300), "{what} did not come");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Records that lie on disk, torn ones included.
    pub(crate) fn n_records(&self, out: &str) -> usize {
        let Ok(run) = RunDir::open(self.path(out)) else { return 0 };
        let shards = run.shards().unwrap_or_default();
        let files = shards.into_iter().flat_map(|k| {
            let attempts = run.attempts(k).unwrap_or_default().into_iter();
            attempts.map(|n| run.attempt_records(k, n)).collect::<Vec<_>>()
        });
        files.map(|file| fs::read_to_string(file).unwrap_or_default().lines().count()).sum()
    }
}

pub(crate) fn ended(child: Child) -> Ended {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}
