//! The layout of a run directory: every path in it has one function here and is spelled nowhere else.

use std::fs::DirEntry;
use std::path::{Component, Path, PathBuf};

use specimen_foundation::{fail, text::first_named};

use crate::files::regular::check_regular;
use crate::{RecordError, encode_part};

/// A run directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir {
    root: PathBuf,
}

impl RunDir {
    /// Makes the folder of a new run, with its parents.
    pub fn create(path: impl Into<PathBuf>) -> Result<RunDir, RecordError> {
        let run = RunDir { root: path.into() };
        for (file, found) in [(run.manifest(), "manifest.json"), (run.plan(), "plan.json")] {
            if file.exists() {
                return Err(crate::error::run_exists(&run.root, found));
            }
        }
        check_regular(&run.root)?;
        create_folder(&run.root)?;
        Ok(run)
    }

    /// A run that is there, whoever made it.
    pub fn open(path: impl Into<PathBuf>) -> Result<RunDir, RecordError> {
        let run = RunDir { root: path.into() };
        match run.manifest().symlink_metadata().is_ok() {
            true => check_regular(&run.root).map(|()| run),
            false if !run.root.exists() => {
                fail!(Missing: "{}: there is no such folder; name the folder of a run, such as \
                    results/runs/NAME", run.root.display())
            }
            false => {
                let runs = runs_below(&run.root);
                Err(crate::error::not_a_run(&run.root, "manifest.json", runs))
            }
        }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `manifest.json`
    pub fn manifest(&self) -> PathBuf {
        self.root.join("manifest.json")
    }

    /// `plan.json`
    pub fn plan(&self) -> PathBuf {
        self.root.join("plan.json")
    }

    /// `checksums.json`
    pub fn checksums(&self) -> PathBuf {
        self.root.join("checksums.json")
    }

    /// `lock`, held by the driver.
    pub fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }

    /// `shards`
    pub fn shards_dir(&self) -> PathBuf {
        self.root.join("shards")
    }

    /// `shards/<k>`
    pub fn shard(&self, k: u32) -> PathBuf {
        self.shards_dir().join(k.to_string())
    }

    /// `shards/<k>/lease.json`
    pub fn lease(&self, k: u32) -> PathBuf {
        self.shard(k).join("lease.json")
    }

    /// `shards/<k>/done.json`
    pub fn done(&self, k: u32) -> PathBuf {
        self.shard(k).join("done.json")
    }

    /// `shards/<k>/lock`, held by the worker.
    pub fn shard_lock(&self, k: u32) -> PathBuf {
        self.shard(k).join("lock")
    }

    /// `shards/<k>/worker.log`: what the shard's workers said, one after the other.
    pub fn worker_log(&self, k: u32) -> PathBuf {
        self.shard(k).join("worker.log")
    }

    /// `shards/<k>/heartbeat`, which the worker that holds the shard changes again and again.
    pub fn heartbeat(&self, k: u32) -> PathBuf {
        self.shard(k).join("heartbeat")
    }

    /// `shards/<k>/end.json`: why the last worker ended too early, if it could say so.
    pub fn worker_end(&self, k: u32) -> PathBuf {
        self.shard(k).join("end.json")
    }

    /// `slurm`: scripts, submissions, and what the cluster says of each task.
    pub fn slurm_dir(&self) -> PathBuf {
        self.root.join("slurm")
    }

    /// `slurm/submissions.json`
    pub fn submissions(&self) -> PathBuf {
        self.slurm_dir().join("submissions.json")
    }

    /// `shards/<k>/images`
    pub fn images_dir(&self, k: u32) -> PathBuf {
        self.shard(k).join("images")
    }

    /// `shards/<k>/attempts/<n>`
    pub fn attempt(&self, k: u32, n: u32) -> PathBuf {
        self.shard(k).join("attempts").join(n.to_string())
    }

    /// `records.jsonl` of an attempt.
    pub fn attempt_records(&self, k: u32, n: u32) -> PathBuf {
        self.attempt(k, n).join("records.jsonl")
    }

    /// `steps.jsonl` of an attempt.
    pub fn attempt_steps(&self, k: u32, n: u32) -> PathBuf {
        self.attempt(k, n).join("steps.jsonl")
    }

    /// `timing.jsonl` of an attempt.
    pub fn attempt_timing(&self, k: u32, n: u32) -> PathBuf {
        self.attempt(k, n).join("timing.jsonl")
    }

    /// `machine.jsonl` of an attempt.
    pub fn attempt_machine(&self, k: u32, n: u32) -> PathBuf {
        self.attempt(k, n).join("machine.jsonl")
    }

    /// `env.json` of an attempt.
    pub fn attempt_env(&self, k: u32, n: u32) -> PathBuf {
        self.attempt(k, n).join("env.json")
    }

    /// `begun` of an attempt: the key of the image under way, of a worker whose events no driver reads.
    pub fn attempt_begun(&self, k: u32, n: u32) -> PathBuf {
        self.attempt(k, n).join("begun")
    }

    /// `merged`
    pub fn merged_dir(&self) -> PathBuf {
        self.root.join("merged")
    }

    /// `merged/records.jsonl`
    pub fn merged_records(&self) -> PathBuf {
        self.merged_dir().join("records.jsonl")
    }

    /// `merged/steps.jsonl`
    pub fn merged_steps(&self) -> PathBuf {
        self.merged_dir().join("steps.jsonl")
    }

    /// `merged/summary.json`
    pub fn summary(&self) -> PathBuf {
        self.merged_dir().join("summary.json")
    }

    /// `metrics`
    pub fn metrics_dir(&self) -> PathBuf {
        self.root.join("metrics")
    }

    /// `metrics/<protocol>/<cell>.json`, both names percent-encoded.
    pub fn metrics(&self, protocol: &str, cell: &str) -> PathBuf {
        self.metrics_dir().join(encode_part(protocol)).join(format!("{}.json", encode_part(cell)))
    }

    /// `diagnostics`
    pub fn diagnostics_dir(&self) -> PathBuf {
        self.root.join("diagnostics")
    }

    /// `diagnostics/<name>/<cell>.json`, both names percent-encoded.
    pub fn diagnostic(&self, name: &str, cell: &str) -> PathBuf {
        let folder = self.diagnostics_dir().join(encode_part(name));
        folder.join(format!("{}.json", encode_part(cell)))
    }

    /// `report`
    pub fn report(&self) -> PathBuf {
        self.root.join("report")
    }

    /// Indices of the shards that have a folder, ascending.
    pub fn shards(&self) -> Result<Vec<u32>, RecordError> {
        numbered_folders(&self.shards_dir())
    }

    /// Numbers of the attempts of shard `k` that have a folder, ascending.
    pub fn attempts(&self, k: u32) -> Result<Vec<u32>, RecordError> {
        numbered_folders(&self.shard(k).join("attempts"))
    }

    /// The files under `metrics`, sorted by path.
    pub fn metric_files(&self) -> Result<Vec<PathBuf>, RecordError> {
        let mut files = Vec::new();
        for protocol in entries(&self.metrics_dir())? {
            if protocol.is_dir() {
                let inside = entries(&protocol)?;
                files.extend(inside.into_iter().filter(|p| p.extension().is_some_and(|e| e == "json")));
            }
        }
        files.sort();
        Ok(files)
    }

    /// Where shard `k` keeps the image of this name.
    pub fn image(&self, k: u32, name: &str) -> Result<PathBuf, RecordError> {
        let plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if plain && !name.is_empty() {
            Ok(self.images_dir(k).join(name))
        } else {
            fail!(Bug: "image name `{name}` is not a plain relative path; it must stay inside its images \
                folder")
        }
    }

    /// Where the image that a record names is, in the first shard that has it; `None` when no shard
    /// does.
    pub fn find_image(&self, name: &str) -> Result<Option<PathBuf>, RecordError> {
        for k in self.shards()? {
            let path = self.image(k, name)?;
            if path.is_file() {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }
}

/// Makes a folder and its parents.
pub(crate) fn create_folder(path: &Path) -> Result<(), RecordError> {
    std::fs::create_dir_all(path).map_err(RecordError::io(path, "create the folder"))
}

/// The largest number that a shard or an attempt may have; a plan has no more items.
pub const LAST_NUMBER: u32 = (1 << 24) - 1;

/// Numbers of the sub-folders whose names are numbers; none when the folder is absent.
fn numbered_folders(path: &Path) -> Result<Vec<u32>, RecordError> {
    let mut numbers = Vec::new();
    for entry in entries(path)? {
        let name = entry.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_number = name == "0" || (!name.starts_with('0') && !name.is_empty());
        if !is_number || !name.bytes().all(|byte| byte.is_ascii_digit()) || !entry.is_dir() {
            continue;
        }
        match name.parse() {
            Ok(number) if number <= LAST_NUMBER => numbers.push(number),
            _ => {
                fail!(Missing: "{}: no shard and no attempt has a number above {}; remove the folder",
                    entry.display(), LAST_NUMBER);
            }
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// What is in a folder, in no order; nothing when it is absent.
pub(crate) fn entries(path: &Path) -> Result<Vec<PathBuf>, RecordError> {
    Ok(listed(path)?.iter().map(DirEntry::path).collect())
}

/// The same as the folder lists them.
pub(crate) fn listed(path: &Path) -> Result<Vec<DirEntry>, RecordError> {
    let listing = match std::fs::read_dir(path) {
        Ok(listing) => listing,
        Err(absent) if absent.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(RecordError::io(path, "list the folder")(source)),
    };
    listing.map(|entry| entry.map_err(RecordError::io(path, "list the folder"))).collect()
}

/// The runs directly below a folder that is none, such as those of a tuning, in words after a semicolon; empty where there
/// are none.
fn runs_below(folder: &Path) -> String {
    const MAX_NAMED: usize = 6;
    // This is advice: a folder that cannot be listed has none.
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_run = |entry: &std::fs::DirEntry| entry.path().join("manifest.json").is_file();
    let names =
        entries.filter(is_run).map(|entry| entry.file_name().to_string_lossy().escape_debug().to_string());
    let mut names: Vec<String> = names.collect();
    names.sort();
    match names.is_empty() {
        true => String::new(),
        false => format!("; runs in it: {}", first_named(&names, MAX_NAMED)),
    }
}
