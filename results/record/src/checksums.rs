//! `checksums.json`: the digest of every file of a finished run that no other digest covers, written
//! after the manifest was sealed. Metrics, summary and report may be made again and are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::plain_document;
use crate::{Digest, RecordError, RunDir, SCHEMA};

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

impl Checksums {
    /// The checksums of a run as it lies on disk: manifest, plan, merged rows, and of each shard its
    /// marker and what its attempts wrote. Images are covered by the marker of their shard.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn of_run(run: &RunDir) -> Result<Checksums, RecordError> {
        let mut files = BTreeMap::new();
        for path in covered(run)? {
            files.insert(name_of(run, &path), Digest::of_file(&path)?);
        }
        Ok(Checksums { schema: SCHEMA, files })
    }

    /// Every file that is gone, is new or was changed since.
    pub(crate) fn complaints(&self, run: &RunDir) -> Vec<RecordError> {
        let present = match covered(run) {
            Ok(paths) => paths,
            Err(error) => return vec![error],
        };
        let mut complaints = Vec::new();
        for path in &present {
            let name = name_of(run, path);
            match (Digest::of_file(path), self.files.get(&name)) {
                (Err(error), _) => complaints.push(error),
                (Ok(_), None) => complaints.push(RecordError::NotListed { path: path.clone() }),
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
        let gone = self.files.keys().filter(|name| !present.contains(*name));
        complaints.extend(gone.map(|name| RecordError::Gone { path: run.root().join(name) }));
        complaints
    }
}

/// The files that are there and covered, sorted.
fn covered(run: &RunDir) -> Result<Vec<PathBuf>, RecordError> {
    let mut paths = vec![run.manifest(), run.plan(), run.merged_records(), run.merged_steps()];
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
