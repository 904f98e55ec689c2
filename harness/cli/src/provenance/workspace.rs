//! What git says of a folder, for the build script.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Whether the workspace is the root of a repository that has it: an archive may be unpacked inside another one.
pub(crate) fn is_repository(root: &Path) -> bool {
    let top = git(root, &["rev-parse", "--show-toplevel"]).map(PathBuf::from);
    let is_root = top.and_then(|top| top.canonicalize().ok()) == root.canonicalize().ok();
    is_root && git(root, &["ls-files", "--error-unmatch", "Cargo.toml"]).is_some()
}

/// What git answers; nothing where it fails or is absent.
pub(crate) fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Whether one of `sources`, below `root`, differs from the commit; nothing where git does not say.
pub(crate) fn is_changed(root: &Path, sources: &[&str]) -> Option<bool> {
    // Refreshing the index would be a change that a build has made itself.
    let status = ["--no-optional-locks", "status", "--porcelain", "--untracked-files=no", "--"];
    git(root, &[&status[..], sources].concat()).map(|changes| !changes.is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use std::fs;

    use super::*;

    /// A folder that is a repository with this file in a commit.
    fn repository(root: &Path, file: &str) {
        fs::create_dir_all(root).unwrap();
        fs::write(root.join(file), "1").unwrap();
        for arguments in [
            &["init", "--quiet"][..],
            &["add", file],
            &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "one"],
        ] {
            assert!(git(root, arguments).is_some(), "{arguments:?}");
        }
    }

    #[test]
    fn a_source_that_differs_from_the_commit_is_seen_and_other_files_are_not() {
        let root = tempfile::tempdir().unwrap();
        repository(root.path(), "Cargo.toml");
        let found = || is_changed(root.path(), &["Cargo.toml", "harness"]);
        fs::write(root.path().join("README.md"), "another file").unwrap();
        assert_eq!(found(), Some(false));
        fs::write(root.path().join("Cargo.toml"), "2").unwrap();
        assert_eq!(found(), Some(true));
        assert_eq!(is_changed(&root.path().join("nowhere"), &["Cargo.toml"]), None);
    }

    #[test]
    fn an_archive_within_another_repository_is_none_of_its_own() {
        let root = tempfile::tempdir().unwrap();
        repository(root.path(), "Cargo.toml");
        assert!(is_repository(root.path()));
        let archive = root.path().join("unpacked");
        fs::create_dir(&archive).unwrap();
        fs::write(archive.join("Cargo.toml"), "1").unwrap();
        assert!(!is_repository(&archive), "it is in a folder of the other one");
        let other = tempfile::tempdir().unwrap();
        repository(other.path(), "paper.tex");
        fs::write(other.path().join("Cargo.toml"), "1").unwrap();
        assert!(!is_repository(other.path()), "it is in the root of the other one, which does not have it");
    }
}
