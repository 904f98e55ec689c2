//! The folder below which all data is.

use std::path::{Path, PathBuf};

use specimen_foundation::folders::data_folder;

/// Where a development checkout keeps its data, from the workspace root.
const BESIDE_WORKSPACE: [&str; 3] = ["..", "shared", "data"];

/// The folder below which all data is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataRoot(PathBuf);

impl DataRoot {
    /// The folder at this path, whether or not it exists.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The folder named by `SPECIMEN_DATA` when that is set and not empty; otherwise the data folder beside
    /// the Cargo workspace that contains `start`, when it exists; otherwise none.
    pub fn find(start: &Path) -> Option<Self> {
        data_folder().map(Self::new).or_else(|| Self::beside_workspace(start))
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A path of a spec: below `root`; as it is where it is absolute or there is no root.
    pub fn place(root: Option<&Self>, path: &str) -> PathBuf {
        root.map_or_else(|| PathBuf::from(path), |root| root.path().join(path))
    }

    fn beside_workspace(start: &Path) -> Option<Self> {
        let is_workspace = |folder: &&Path| {
            std::fs::read_to_string(folder.join("Cargo.toml"))
                .is_ok_and(|toml| toml.lines().any(|line| line.trim() == "[workspace]"))
        };
        let workspace = start.ancestors().find(is_workspace)?;
        let folder = BESIDE_WORKSPACE.iter().fold(workspace.to_path_buf(), |path, part| path.join(part));
        folder.is_dir().then_some(Self(folder))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn data_is_looked_for_beside_the_workspace_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let member = folder.path().join("workspace/member/src");
        std::fs::create_dir_all(&member).unwrap();
        std::fs::write(folder.path().join("workspace/member/Cargo.toml"), "[package]\n").unwrap();
        assert_eq!(DataRoot::beside_workspace(&member), None);
        std::fs::write(folder.path().join("workspace/Cargo.toml"), "[workspace]\nmembers = []\n").unwrap();
        assert_eq!(DataRoot::beside_workspace(&member), None);
        let data = folder.path().join(BESIDE_WORKSPACE[1..].iter().collect::<PathBuf>());
        std::fs::create_dir_all(&data).unwrap();
        let found = DataRoot::beside_workspace(&member).unwrap();
        assert_eq!(found.path().canonicalize().unwrap(), data.canonicalize().unwrap());
    }
}
