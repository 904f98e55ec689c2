//! `checksums.json`: the digest of every file of a finished run, the last of them to be written. The seal in
//! the manifest has the digest of this list, so neither can be taken away or exchanged alone. Images are
//! covered by the marker of their shard; the report is drawn from what is listed and may be drawn again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::atomic::is_unfinished;
use crate::files::document::plain_document;
use crate::files::read::file_digest;
use crate::run::run_dir::entries;
use crate::{Digest, RecordError, RunDir, SCHEMA};

/// The manifest's own entry, which no digest in the manifest can cover.
const MANIFEST: &str = "manifest.json";

/// What the files of a finished run hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checksums {
    /// Schema number.
    pub schema: u32,
    /// Digest of each file's bytes, by its path from the run directory, with `/` between folders.
    pub files: BTreeMap<String, Digest>,
}

plain_document!(Checksums, "checksum list");

/// Which files of a run a command reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Manifest and summary.
    Summary,
    /// Manifest and summary, the merged records, times and metrics.
    Values,
    /// All that are listed.
    All,
}

impl Part {
    /// Whether the file of this name is read.
    pub(crate) fn covers(self, name: &str) -> bool {
        let is_summary = name == MANIFEST || name == "merged/summary.json";
        match self {
            Part::Summary => is_summary,
            Part::Values => {
                let is_value = name == "merged/records.jsonl" || name.starts_with("metrics/");
                is_summary || is_value || name.ends_with("/timing.jsonl")
            }
            Part::All => true,
        }
    }
}

impl Checksums {
    /// The checksums of a run as it is on disk: manifest, plan, merged rows, summary, metrics, diagnostics,
    /// and of each shard its marker and what its attempts wrote.
    pub fn of_run(run: &RunDir) -> Result<Checksums, RecordError> {
        let mut files = BTreeMap::new();
        for path in covered(run, true)? {
            files.insert(name_of(run, &path), file_digest(&path)?);
        }
        Ok(Checksums { schema: SCHEMA, files })
    }

    /// The same list with the manifest as it is on disk now.
    pub fn with_manifest(mut self, run: &RunDir) -> Result<Checksums, RecordError> {
        self.files.insert(MANIFEST.to_owned(), file_digest(&run.manifest())?);
        Ok(self)
    }

    /// Digest of the lines `<name> <digest>` of every file but the manifest, sorted by name.
    pub fn digest(&self) -> Digest {
        let mut hasher = blake3::Hasher::new();
        for (name, digest) in self.files.iter().filter(|(name, _)| *name != MANIFEST) {
            hasher.update(format!("{name} {digest}\n").as_bytes());
        }
        Digest::from(hasher.finalize())
    }

    /// Every file of `part` that is gone, is new or was changed since. Lists of earlier versions have no
    /// results (`has_results` is false).
    pub(crate) fn complaints(&self, run: &RunDir, part: Part, has_results: bool) -> Vec<RecordError> {
        let mut present = match covered(run, has_results) {
            Ok(paths) => paths,
            Err(error) => return vec![error],
        };
        present.retain(|path| part.covers(&name_of(run, path)));
        let mut complaints = Vec::new();
        for path in &present {
            let name = name_of(run, path);
            match (file_digest(path), self.files.get(&name)) {
                (Err(error), _) => complaints.push(error),
                (Ok(_), None) => complaints.push(RecordError::Seal {
                    path: path.clone(),
                    what: "the checksums do not list it; it came after the run was finished",
                }),
                (Ok(found), Some(expected)) if found != *expected => {
                    complaints.push(RecordError::DigestMismatch {
                        path: path.clone(),
                        what: "the file",
                        expected: expected.clone(),
                        found,
                    });
                }
                (Ok(_), Some(_)) => {}
            }
        }
        let present: BTreeSet<String> = present.iter().map(|path| name_of(run, path)).collect();
        let gone = self.files.keys().filter(|name| part.covers(name) && !present.contains(*name));
        complaints.extend(gone.map(|name| RecordError::Seal {
            path: run.root().join(name),
            what: "the file is gone; the checksums list it",
        }));
        complaints
    }
}

/// The files that are there and covered, sorted; with summary, metrics and diagnostics if `has_results`.
fn covered(run: &RunDir, has_results: bool) -> Result<Vec<PathBuf>, RecordError> {
    let mut paths = vec![run.manifest(), run.plan(), run.merged_records(), run.merged_steps()];
    if has_results {
        paths.push(run.summary());
        paths.extend(run.metric_files()?);
        for folder in entries(&run.diagnostics_dir())? {
            if folder.is_dir() {
                paths.extend(entries(&folder)?.into_iter().filter(|path| !is_unfinished(path)));
            }
        }
    }
    for k in run.shards()? {
        paths.push(run.done(k));
        for n in run.attempts(k)? {
            paths.extend([
                run.attempt_records(k, n),
                run.attempt_steps(k, n),
                run.attempt_timing(k, n),
                run.attempt_machine(k, n),
                run.attempt_env(k, n),
            ]);
        }
    }
    paths.retain(|path| path.is_file());
    paths.sort();
    Ok(paths)
}

fn name_of(run: &RunDir, path: &Path) -> String {
    let inside = path.strip_prefix(run.root()).expect("every path of a run begins with its folder");
    let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}
