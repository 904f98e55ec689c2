//! The checkout as the rules see it: its text files and its crates, in a stable order. Build output, libtorch
//! and the results of runs are not part of it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use walkdir::WalkDir;

/// Folders, relative to the root, that hold nothing of the project's own.
const OUTSIDE: [&str; 4] = [".git", ".libtorch", "target", "results/runs"];

/// Endings of the files that people write; `Makefile` and `run` have none.
const TEXT: [&str; 8] = ["rs", "toml", "md", "sh", "yml", "cff", "json", "csv"];

/// One text file.
#[derive(Clone, Debug)]
pub struct TextFile {
    /// Path relative to the root, with `/` between its parts.
    pub path: String,
    /// Everything in it.
    pub text: String,
}

impl TextFile {
    /// Whether it is Rust.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// One crate of the workspace.
#[derive(Clone, Debug)]
pub struct Member {
    /// Folder relative to the root, such as `harness/decode`.
    pub folder: String,
    /// The parsed `Cargo.toml`.
    pub manifest: toml::Table,
}

impl Member {
    /// Last part of the folder, such as `decode`.
    pub fn short_name(&self) -> &str {
        self.folder.rsplit('/').next().unwrap_or(&self.folder)
    }

    /// Names in the manifest's table `kind` (`dependencies`, `dev-dependencies`, `build-dependencies`), sorted.
    pub fn dependencies(&self, kind: &str) -> Vec<&str> {
        let table = self.manifest.get(kind).and_then(toml::Value::as_table);
        let mut names: Vec<&str> = table.into_iter().flat_map(|t| t.keys().map(String::as_str)).collect();
        names.sort_unstable();
        names
    }
}

/// The root of the workspace that this crate was compiled in.
///
/// # Panics
/// If no folder above this crate has a `Cargo.toml` with a `[workspace]`.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_root = |dir: &&Path| {
        fs::read_to_string(dir.join("Cargo.toml")).is_ok_and(|text| text.lines().any(|l| l == "[workspace]"))
    };
    here.ancestors().find(is_root).expect("this crate is in a workspace").to_owned()
}

/// The crates of the workspace in `root`, in the order of `members`.
///
/// # Panics
/// If a member has no readable `Cargo.toml`.
pub fn members(root: &Path) -> Vec<Member> {
    let manifest = parse(&root.join("Cargo.toml"));
    let folders = manifest["workspace"]["members"].as_array().expect("`members` is a list");
    let folder = |value: &toml::Value| value.as_str().expect("a member is a string").to_owned();
    folders
        .iter()
        .map(folder)
        .map(|folder| Member { manifest: parse(&root.join(&folder).join("Cargo.toml")), folder })
        .collect()
}

/// All text files below `root`, sorted by path.
///
/// # Panics
/// If a folder or file cannot be read.
pub fn text_files(root: &Path) -> Vec<TextFile> {
    let inside = |entry: &walkdir::DirEntry| {
        let path = relative(root, entry.path());
        !OUTSIDE.contains(&path.as_str()) && !path.starts_with("target")
    };
    let mut files = Vec::new();
    for entry in WalkDir::new(root).sort_by_file_name().into_iter().filter_entry(inside) {
        let entry = entry.expect("a folder of the checkout can be listed");
        if !entry.file_type().is_file() || !is_text(entry.path()) {
            continue;
        }
        // A file that another program removes between listing and reading is no part of the checkout.
        if let Ok(bytes) = fs::read(entry.path()) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            files.push(TextFile { path: relative(root, entry.path()), text });
        }
    }
    files
}

fn is_text(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match path.extension() {
        Some(ending) => TEXT.iter().any(|text| ending == *text),
        None => name == "Makefile" || name == "run",
    }
}

fn relative(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).expect("the walk stays below the root");
    path.to_string_lossy().replace('\\', "/")
}

fn parse(path: &Path) -> toml::Table {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
