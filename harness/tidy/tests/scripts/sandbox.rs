//! A temporary folder with a PATH of its own, in which a script meets only the programs that a test gives it.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

/// Programs that the scripts take for granted.
const TOOLS: [&str; 21] = [
    "awk", "bash", "cat", "cp", "cut", "df", "dirname", "env", "grep", "ln", "mkdir", "mktemp", "mv", "rm",
    "sed", "sh", "sleep", "sort", "tail", "tee", "uname",
];

/// What a script did.
pub(crate) struct Outcome {
    /// Exit status; `None` after a signal.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The temporary folder.
pub(crate) struct Sandbox {
    dir: tempfile::TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let sandbox = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(sandbox.path("bin")).unwrap();
        for tool in TOOLS {
            symlink(
                find(tool).unwrap_or_else(|| panic!("{tool} is on PATH")),
                sandbox.path("bin").join(tool),
            )
            .unwrap();
        }
        sandbox
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join(relative)
    }

    /// Puts the shell script `body` on the PATH as `name`, in place of a tool of that name.
    pub(crate) fn stub(&self, name: &str, body: &str) {
        let path = self.path("bin").join(name);
        // Writing through a link to a tool would overwrite the tool.
        if path.symlink_metadata().is_ok() {
            fs::remove_file(&path).unwrap();
        }
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Writes a file and the folders above it.
    pub(crate) fn write(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Runs `program` of this PATH with exactly the environment `env`.
    pub(crate) fn run(&self, program: &str, args: &[&Path], env: &[(&str, &str)]) -> Outcome {
        let output = Command::new(self.path("bin").join(program))
            .args(args)
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", self.dir.path())
            .envs(env.iter().copied())
            .current_dir(self.dir.path())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Outcome { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }
}

/// Where the program `name` lies on the PATH of the tests.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}
