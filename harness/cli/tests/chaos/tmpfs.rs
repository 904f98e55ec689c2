//! A disk that can be full: a tmpfs of 300 kB, where this user may mount one.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{path::Path, process::Command, time::Duration};

/// A small file system of its own, unmounted when dropped.
pub(crate) struct Tmpfs {
    folder: tempfile::TempDir,
}

impl Tmpfs {
    /// Of 300 kB; `None`, said aloud, where this user may not mount.
    pub(crate) fn mount(test: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=300k", "specimen-chaos"])
            .arg(folder.path())
            .output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self { folder });
        }
        specimen_testdata::note(test, "the right to mount a tmpfs");
        None
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Mounts it again with other options. While a process that is ending has files open there, it is busy: that is waited for,
    /// a minute at most.
    pub(crate) fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        for tries_left in (0..600).rev() {
            let done = Command::new("mount").args(["-o", &options]).arg(self.path()).output().unwrap();
            if done.status.success() {
                return;
            }
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(said.contains("busy") && tries_left > 0, "{said}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        // A file system that is busy stays until the machine restarts; it holds less than a megabyte.
        let _ = Command::new("umount").arg(self.path()).output();
    }
}
