//! The marker of a finished shard, made from the files on disk; `verify` checks it later.

use crate::files::append::write_row;
use crate::files::canonical_row::OpenFiles;
use crate::files::read::file_digest;
use crate::merging::attempts::Index;
use crate::{Digest, Done, Record, RecordError, RunDir, SCHEMA};

impl Done {
    /// The marker that fits shard `k` as it is on disk; the caller writes it once every item of the
    /// shard has a record.
    pub fn of_shard(run: &RunDir, k: u32) -> Result<Done, RecordError> {
        let index = Index::of_shards(run, &[k])?;
        let (mut records, mut images) = (blake3::Hasher::new(), blake3::Hasher::new());
        let (mut files, mut row) = (OpenFiles::default(), Vec::new());
        for winner in index.winners.values() {
            let path = index.path(winner);
            let record: Record = files.row(&path, winner.place)?;
            write_row(&path, &record, &mut row)?;
            records.update(&row);
            if let Some(name) = &record.image {
                let digest = file_digest(&run.image(k, name)?)?;
                images.update(format!("{name} {digest}\n").as_bytes());
            }
        }
        Ok(Done {
            schema: SCHEMA,
            n_records: index.winners.len() as u64,
            records_digest: Digest::from(records.finalize()),
            images_digest: Digest::from(images.finalize()),
        })
    }
}
