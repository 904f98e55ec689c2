//! Runs the binary in a folder of its own, where it finds no data unless a test says where.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may panic, and says when it skips")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;

/// A working folder.
pub(crate) struct Desk {
    folder: TempDir,
    data: Option<PathBuf>,
}

/// What the binary did.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), data: None }
    }

    /// The same with published data, if it is on this machine; otherwise the test `name` is skipped.
    pub(crate) fn with_data(name: &str, needed: &str) -> Option<Self> {
        let root = specimen_testdata::folder_with(name, &[needed])?;
        Some(Self { data: Some(root), ..Self::new() })
    }

    /// The folder itself is the data folder.
    pub(crate) fn as_data_folder() -> Self {
        let mut desk = Self::new();
        desk.data = Some(desk.folder.path().to_owned());
        desk
    }

    /// What lies below the data folder, as an argument.
    pub(crate) fn data(&self, part: &str) -> String {
        let root = self.data.as_ref().unwrap().canonicalize().unwrap();
        root.join(part).to_str().unwrap().to_owned()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file, with its folders, and returns its path as an argument.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_specimen"));
        command.args(args).current_dir(self.folder.path()).env_remove("SPECIMEN_DATA").env_remove("NO_COLOR");
        command.env("SPECIMEN_CACHE", self.folder.path().join("cache"));
        if let Some(data) = &self.data {
            command.env("SPECIMEN_DATA", data.canonicalize().unwrap());
        }
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let Output { status, stdout, stderr } = self.command(args).output().unwrap();
        Ran {
            code: status.code().unwrap(),
            out: String::from_utf8(stdout).unwrap(),
            err: String::from_utf8(stderr).unwrap(),
        }
    }

    /// Runs what must fail with `code`, with all of `parts` in stderr from the line on that begins with `error: `.
    #[track_caller]
    pub(crate) fn fails(&self, args: &[&str], code: i32, parts: &[&str]) {
        let ran = self.run(args);
        assert_eq!(ran.code, code, "{args:?}: {}{}", ran.out, ran.err);
        let lines = ran.err.split_inclusive('\n').skip_while(|line| !line.starts_with("error: "));
        let error: String = lines.collect();
        for part in parts {
            assert!(error.contains(part), "`{part}` is not in `{error}` ({args:?})");
        }
    }

    /// Runs what must end well.
    #[track_caller]
    pub(crate) fn succeeds(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.out, ran.err);
        ran
    }

    /// Runs what must end well with one JSON value on stdout and nothing on stderr.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> serde_json::Value {
        let ran = self.succeeds(&[args, &["--format", "json"]].concat());
        assert_eq!(ran.err, "", "{args:?}");
        serde_json::from_str(&ran.out).unwrap()
    }
}

/// A path below the root of the workspace.
pub(crate) fn workspace(path: &str) -> PathBuf {
    let is_root = |folder: &&Path| {
        std::fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| text.contains("[workspace]"))
    };
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().find(is_root).unwrap().join(path)
}

/// A committed spec, as an argument.
pub(crate) fn spec(name: &str) -> String {
    workspace("experiments/specs").join(name).to_str().unwrap().to_owned()
}

/// What stands at `pointer` in each of the files called `name` below `folder`.
pub(crate) fn recorded(folder: &Path, name: &str, pointer: &str) -> Vec<serde_json::Value> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(recorded(&path, name, pointer));
        } else if path.file_name() == Some(std::ffi::OsStr::new(name)) {
            let document: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
            found.push(document.pointer(pointer).unwrap().clone());
        }
    }
    found
}
