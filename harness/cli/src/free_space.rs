//! Whether what a plan writes fits on the disk it is written to.

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
}
