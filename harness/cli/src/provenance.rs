//! Which sources the program was built from, as the build script found them, and its command, as a manifest has them.

use specimen_record::Git;

// The build script has it; here are its tests.
#[cfg(test)]
mod workspace;

/// Version and commit, as `--version` shows them.
pub(crate) const VERSION: &str = env!("SPECIMEN_VERSION");

/// The commit; `None` after a build outside of the program's own repository.
fn commit() -> Option<&'static str> {
    Some(env!("SPECIMEN_COMMIT")).filter(|commit| !commit.is_empty())
}

/// Whether sources differed from the commit; `None` where that is not known.
fn is_changed() -> Option<bool> {
    match env!("SPECIMEN_CHANGED") {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// The sources that the program was built from.
pub(crate) fn sources() -> Git {
    Git { sha: commit().map(str::to_owned), dirty: is_changed() }
}

/// The command line as it was typed.
pub(crate) fn argv() -> Vec<String> {
    std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect()
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
