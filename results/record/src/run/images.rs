//! Which images of a run are there, from the names in its shards' folders: one listing a shard instead of one
//! question an image.

use std::collections::BTreeSet;

use crate::checks::pixels::MAX_IMAGE_BYTES;
use crate::files::atomic::write_atomic;
use crate::run::run_dir::entries;
use crate::{Record, RecordError, RunDir, read_bounded, visit_rows};

/// The names of one shard's images.
pub(crate) struct Images<'r> {
    run: &'r RunDir,
    names: BTreeSet<String>,
}

impl<'r> Images<'r> {
    /// Those of shard `k`.
    pub(crate) fn of_shard(run: &'r RunDir, k: u32) -> Result<Images<'r>, RecordError> {
        let paths = entries(&run.images_dir(k))?;
        let name = |path: &std::path::PathBuf| Some(path.file_name()?.to_str()?.to_owned());
        Ok(Images { run, names: paths.iter().filter_map(name).collect() })
    }

    /// Whether the shard lists the image.
    pub(crate) fn lists(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Whether the image is there, in this shard or in another one.
    pub(crate) fn has(&self, name: &str) -> Result<bool, RecordError> {
        Ok(self.lists(name) || self.run.find_image(name)?.is_some())
    }
}

/// Copies into shard `k` the images that its records name and only another shard has: one that was lost and
/// was made again after the plan had been cut otherwise. Says how many.
pub fn restore_images(run: &RunDir, k: u32) -> Result<u64, RecordError> {
    let images = Images::of_shard(run, k)?;
    let mut absent = BTreeSet::new();
    for n in run.attempts(k)? {
        let path = run.attempt_records(k, n);
        if path.is_file() {
            visit_rows(&path, |record: Record| {
                absent.extend(record.image.filter(|name| !images.lists(name)));
            })?;
        }
    }
    let mut n_restored = 0;
    for name in absent {
        let path = run.image(k, &name)?;
        if path.is_file() {
            continue;
        }
        if let Some(other) = run.find_image(&name)? {
            let bytes = read_bounded(&other, MAX_IMAGE_BYTES)?;
            write_atomic(&path, &bytes)?;
            n_restored += 1;
        }
    }
    Ok(n_restored)
}
