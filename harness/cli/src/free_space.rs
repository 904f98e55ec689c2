//! Whether what is to be written fits on the disk it is written to.

use std::path::Path;

/// What to say when at most `most` bytes will be written and `free` are left.
pub(crate) fn complaint(most: Option<u64>, free: Option<u64>) -> Option<String> {
    let (most, free) = (most?, free?);
    (most > free).then(|| {
        format!(
            "the images and rows take at most {} MB and the disk has {} MB left; free some, or choose another --out",
            mb(most),
            mb(free)
        )
    })
}

/// Why an export of features that still takes `most` bytes in `folder` does not begin when `free` are left.
pub(crate) fn refusal(most: u64, free: Option<u64>, folder: &Path) -> Option<String> {
    let free = free.filter(|free| most > *free)?;
    Some(format!(
        "{}: the features take {} MB and the disk has {} MB left; free some, choose another --out, or train without \
         features: the target then runs in every step",
        folder.display(),
        mb(most),
        mb(free)
    ))
}

fn mb(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_too_small_is_reported_and_an_unknown_one_is_not() {
        let reported = complaint(Some(5_000_001), Some(4_000_000));
        assert!(
            reported
                .is_some_and(|reported| reported.contains("at most 6 MB") && reported.contains("4 MB left"))
        );
        assert_eq!(
            [complaint(Some(1), Some(1)), complaint(None, Some(1)), complaint(Some(1), None)],
            [None, None, None]
        );
    }

    #[test]
    fn an_export_that_does_not_fit_is_refused_with_both_sizes_and_the_ways_out() {
        let refused = refusal(5_000_001, Some(4_000_000), Path::new("f"));
        let expected =
            "f: the features take 6 MB and the disk has 4 MB left; free some, choose another --out";
        assert!(
            refused.is_some_and(|why| why.starts_with(expected) && why.contains("train without features"))
        );
        assert_eq!([refusal(1, Some(1), Path::new("f")), refusal(1, None, Path::new("f"))], [None, None]);
    }
}
