//! What a clone must bring, what it must not, and how heavy it may be.

use std::path::Path;

use walkdir::WalkDir;

/// Bytes that all committed weights may take together.
pub const MAX_WEIGHTS_BYTES: u64 = 14_000_000;

/// Folders of committed weights.
pub const WEIGHTS: [&str; 2] = ["harness/models/weights", "metrics/extract/weights"];

/// Files that every clone has.
const PRESENT: [&str; 18] = [
    "Cargo.lock",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "THIRD-PARTY.txt",
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "METHODOLOGY.md",
    "CHANGELOG.md",
    "CITATION.cff",
    "Makefile",
    "deny.toml",
    "clippy.toml",
    "rustfmt.toml",
    ".gitignore",
    ".ci/run",
    ".github/workflows/ci.yml",
    "scripts/libtorch.sh",
];

/// Files that would pin a toolchain; any stable Rust from `rust-version` on must do.
const ABSENT: [&str; 2] = ["rust-toolchain", "rust-toolchain.toml"];

/// Complaints about files below `root` that are missing, unwanted or kept out of git.
pub fn check_files(root: &Path) -> Vec<String> {
    let missing = PRESENT.iter().filter(|path| !root.join(path).is_file());
    let missing = missing.map(|path| format!("{path}: missing; every clone must have it"));
    let unwanted = ABSENT.iter().filter(|path| root.join(path).exists());
    let unwanted = unwanted
        .map(|path| format!("{path}: pins a toolchain; remove it, `rust-version` says what is needed"));
    let ignored = std::fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
    let lock = ignored.lines().find(|line| line.trim().trim_start_matches('/') == "Cargo.lock");
    let lock = lock.map(|_| {
        ".gitignore: lists Cargo.lock; remove the line, builds must be the same everywhere".to_owned()
    });
    missing.chain(unwanted).chain(lock).collect()
}

/// Complaint about the weight of all committed weights together; a missing folder weighs nothing.
pub fn check_weights(root: &Path) -> Option<String> {
    let files = WEIGHTS.iter().flat_map(|folder| WalkDir::new(root.join(folder)).into_iter().flatten());
    let sizes =
        files.filter_map(|entry| entry.metadata().ok()).filter(|meta| meta.is_file()).map(|meta| meta.len());
    let total: u64 = sizes.sum();
    (total > MAX_WEIGHTS_BYTES).then(|| {
        format!(
            "{}: {total} bytes together, at most {MAX_WEIGHTS_BYTES}; store bf16, or train a smaller network",
            WEIGHTS.join(" and ")
        )
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use std::fs;

    use super::*;

    #[test]
    fn weights_count_together_and_a_missing_folder_is_empty() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(check_weights(root.path()), None);
        for folder in WEIGHTS {
            let folder = root.path().join(folder).join("net");
            fs::create_dir_all(&folder).unwrap();
            fs::File::create(folder.join("a.safetensors")).unwrap().set_len(MAX_WEIGHTS_BYTES / 2).unwrap();
        }
        assert_eq!(check_weights(root.path()), None);
        fs::write(root.path().join(WEIGHTS[0]).join("b.json"), "{").unwrap();
        assert!(check_weights(root.path()).unwrap().contains("14000001 bytes"));
    }

    #[test]
    fn a_missing_file_a_pinned_toolchain_and_an_ignored_lock_file_are_named() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("rust-toolchain.toml"), "").unwrap();
        fs::write(root.path().join(".gitignore"), "/target\n/Cargo.lock\n").unwrap();
        let found = check_files(root.path()).join("\n");
        for part in ["LICENSE-MIT: missing", "rust-toolchain.toml: pins", ".gitignore: lists Cargo.lock"] {
            assert!(found.contains(part), "{part} in {found}");
        }
        assert!(!found.contains(".gitignore: missing"), "{found}");
    }
}
