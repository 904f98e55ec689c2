//! Whether what a plan writes fits on the disk it is written to.

use std::path::Path;

/// Bytes that an ordinary user may still write to the disk on which `folder` lies or will lie; `None` where the system
/// does not tell.
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let whole = std::path::absolute(folder).ok()?;
    let there = whole.ancestors().find(|path| path.exists())?;
    let disk = rustix::fs::statvfs(there).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

/// What to say when at most `most` bytes will be written and `free` are left.
pub(crate) fn complaint(most: Option<u64>, free: Option<u64>) -> Option<String> {
    let (most, free) = (most?, free?);
    let mb = |bytes: u64| bytes.div_ceil(1_000_000);
    (most > free).then(|| {
        format!(
            "the images and rows take at most {} MB and the disk has {} MB left; free some, or choose another --out",
            mb(most),
            mb(free)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_too_small_is_told_and_silence_is_not() {
        let told = complaint(Some(5_000_001), Some(4_000_000));
        assert!(told.is_some_and(|told| told.contains("at most 6 MB") && told.contains("4 MB left")));
        assert_eq!(
            [complaint(Some(1), Some(1)), complaint(None, Some(1)), complaint(Some(1), None)],
            [None, None, None]
        );
    }

    #[test]
    fn the_disk_of_a_folder_that_is_not_there_yet_is_that_of_its_parent() {
        assert!(free_bytes(Path::new("no/such/folder")).is_some());
    }
}
