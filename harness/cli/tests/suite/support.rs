//! Runs the binary in a folder of its own, where it finds no data unless a test says where.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may panic, and says when it skips")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Arc, Mutex, OnceLock},
};

use serde_json::Value;
use tempfile::TempDir;

/// The content of every file of a run, by its path in there.
type RunFiles = BTreeMap<PathBuf, Vec<u8>>;

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
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    #[track_caller]
    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    /// A file of JSON.
    #[track_caller]
    pub(crate) fn document(&self, name: &str) -> Value {
        serde_json::from_slice(&self.bytes(name)).unwrap()
    }

    /// A file with a JSON value a line.
    #[track_caller]
    pub(crate) fn rows(&self, name: &str) -> Vec<Value> {
        self.text(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// A finished run of the stub spec with these arguments at `out`: made once, and copied for every test that only reads it
    /// or changes it afterwards.
    pub(crate) fn made(&self, args: &[&str], out: &str) {
        static MADE: Mutex<BTreeMap<Vec<String>, Arc<OnceLock<RunFiles>>>> = Mutex::new(BTreeMap::new());
        let key = args.iter().map(|&arg| arg.to_owned()).collect();
        let known = MADE.lock().unwrap().entry(key).or_default().clone();
        let files = known.get_or_init(|| {
            let desk = Self::new();
            desk.succeeds(&[&["run", &spec("ci/stub.toml"), "--out", "r", "-q"], args].concat());
            let run = desk.path("r");
            let in_run =
                |path: PathBuf| (path.strip_prefix(&run).unwrap().to_owned(), fs::read(path).unwrap());
            files_below(&run).into_iter().map(in_run).collect()
        });
        for (name, bytes) in files {
            let path = self.path(out).join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }

    /// Copies the images of a run to a folder for each of its cells.
    pub(crate) fn images_by_cell(&self, run: &str) {
        for path in files_below(&self.path(run).join("shards"))
            .iter()
            .filter(|path| path.extension().is_some_and(|ending| ending == "png"))
        {
            let (cell, rest) = path.file_name().unwrap().to_str().unwrap().split_once('+').unwrap();
            fs::create_dir_all(self.path(cell)).unwrap();
            fs::copy(path, self.path(cell).join(rest)).unwrap();
        }
    }

    /// The images of a cell of a run in a folder of its name, by the ids of their prompts; path of a file of the captions.
    pub(crate) fn captioned(&self, run: &str, cell: &str) -> String {
        self.images_by_cell(run);
        let mut captions = String::from("id,caption\n");
        let plan = self.document(&format!("{run}/plan.json"));
        for item in plan["items"].as_array().unwrap().iter().filter(|item| item["cell"] == cell) {
            let (id, prompt) = (item["prompt_id"].as_str().unwrap(), item["prompt"].as_str().unwrap());
            captions += &format!("{id},\"{prompt}\"\n");
            let image = |name: String| self.path(cell).join(name);
            fs::rename(image(format!("{id}+0.png")), image(format!("{id}.png"))).unwrap();
        }
        self.file("captions.csv", &captions)
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
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let ran = self.succeeds(&[args, &["--format", "json"]].concat());
        assert_eq!(ran.err, "", "{args:?}");
        serde_json::from_str(&ran.out).unwrap()
    }
}

/// A path below the root of the workspace.
pub(crate) fn workspace(path: &str) -> PathBuf {
    let is_root = |folder: &&Path| {
        fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| text.contains("[workspace]"))
    };
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().find(is_root).unwrap().join(path)
}

/// A committed spec, as an argument.
pub(crate) fn spec(name: &str) -> String {
    workspace("experiments/specs").join(name).to_str().unwrap().to_owned()
}

/// Every file below `folder`, sorted.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found.into_iter().flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// The files called `name` below `folder`.
pub(crate) fn all_named(folder: &Path, name: &str) -> Vec<PathBuf> {
    files_below(folder).into_iter().filter(|path| path.ends_with(name)).collect()
}

/// What stands at `pointer` in each of the files called `name` below `folder`.
pub(crate) fn recorded(folder: &Path, name: &str, pointer: &str) -> Vec<Value> {
    let documents = all_named(folder, name).into_iter().map(|path| fs::read(path).unwrap());
    let values = documents.map(|bytes| serde_json::from_slice::<Value>(&bytes).unwrap());
    values.map(|document| document.pointer(pointer).unwrap().clone()).collect()
}

/// The cell `id` of a summary.
#[track_caller]
pub(crate) fn cell<'s>(summary: &'s Value, id: &str) -> &'s Value {
    let found = summary["cells"].as_array().unwrap().iter().find(|cell| cell["id"] == id);
    found.unwrap_or_else(|| panic!("there is no cell {id} in {summary:#}"))
}

/// What a summary says of the metric `name` of the cell `id`.
#[track_caller]
pub(crate) fn metric<'s>(summary: &'s Value, id: &str, name: &str) -> &'s Value {
    let found = cell(summary, id)["metrics"].as_array().unwrap().iter().find(|one| one["metric"] == name);
    found.unwrap_or_else(|| panic!("{id} has no {name} in {summary:#}"))
}
