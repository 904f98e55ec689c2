//! Which sources the program was built from, as the build script found them. A crate of its own, so that another commit
//! builds nothing anew but the binary that names it.

// The build script has it; here are its tests.
#[cfg(test)]
mod workspace;

/// Version and commit, as `--version` shows them.
pub const VERSION: &str = env!("SPECIMEN_VERSION");

/// The commit; `None` after a build outside of the program's own repository.
pub fn commit() -> Option<&'static str> {
    Some(env!("SPECIMEN_COMMIT")).filter(|commit| !commit.is_empty())
}

/// Whether sources differed from the commit; `None` where that is not known.
pub fn is_changed() -> Option<bool> {
    match env!("SPECIMEN_CHANGED") {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_names_the_commit_or_says_that_it_is_unknown() {
        let short = commit().map(|commit| commit.get(..12).unwrap_or(commit));
        let expected = short.map_or("(commit unknown)".to_owned(), |short| format!("(commit {short}"));
        assert!(VERSION.starts_with(env!("CARGO_PKG_VERSION")) && VERSION.contains(&expected), "{VERSION}");
        assert_eq!(is_changed() == Some(true), VERSION.contains("sources changed"), "{VERSION}");
        assert!(commit().is_some() || is_changed().is_none());
    }
}
