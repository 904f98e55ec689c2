//! Space on a disk: how much is free, and whether an error is a full disk.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Bytes that an ordinary user may still write to the disk of `path`, which need not exist yet; `None` where
/// the system does not report it. A quota may leave less.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let whole = std::path::absolute(path).ok()?;
    let there = whole.ancestors().find(|path| path.exists())?;
    let disk = rustix::fs::statvfs(there).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

/// The system's error, if `error` comes from a full disk or a used-up quota.
pub fn disk_full<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e io::Error> {
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(said) = cause.downcast_ref::<io::Error>().filter(|said| is_disk_full(said)) {
            return Some(said);
        }
        next = cause.source();
    }
    None
}

pub(crate) fn is_disk_full(said: &io::Error) -> bool {
    matches!(said.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordError;

    #[test]
    fn the_disk_of_a_folder_that_is_not_there_yet_is_that_of_its_parent() {
        assert!(free_bytes(Path::new("no/such/folder")).is_some());
    }

    #[test]
    fn a_full_disk_and_a_used_up_quota_are_found_below_other_errors() {
        let of = |kind: ErrorKind| RecordError::io(Path::new("a"), "append to")(kind.into());
        assert!(disk_full(&of(ErrorKind::StorageFull)).is_some());
        assert!(disk_full(&of(ErrorKind::QuotaExceeded)).is_some());
        assert!(disk_full(&of(ErrorKind::ReadOnlyFilesystem)).is_none());
        assert!(disk_full(&crate::error::broken("a")).is_none());
    }
}
