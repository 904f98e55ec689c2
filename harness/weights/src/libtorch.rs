//! Which libtorch this process has loaded. The library has no call that tells; the system knows the file, and
//! the files beside it know the version.

use std::path::{Path, PathBuf};

/// The libtorch whose headers this program was built with, `2.13.0`; `unknown` where the build did not find it.
pub const BUILT_FOR: &str = env!("SPECIMEN_LIBTORCH");

/// What helps where another libtorch is loaded.
pub const REMEDY: &str = "run `make libtorch build` again";

/// A loaded libtorch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The folder above `lib`.
    pub folder: PathBuf,
    /// As the distribution writes it, `2.13.0+cpu`.
    pub version: Option<String>,
}

impl Loaded {
    /// Whether it is of the version that this program was built for; `None` where its version is unknown.
    pub fn is_built_for(&self) -> Option<bool> {
        self.version.as_ref().map(|version| numbers_of(version) == BUILT_FOR)
    }
}

/// The loaded version, as records of what computed name it.
pub fn version() -> String {
    loaded()
        .and_then(|loaded| loaded.version)
        .unwrap_or_else(|| format!("of unknown version, built for {BUILT_FOR}"))
}

/// Which other libtorch is loaded than the one that this program was built for, and from where.
pub fn other() -> Option<String> {
    let loaded = loaded()?;
    let version = loaded.version.as_ref().filter(|_| loaded.is_built_for() == Some(false))?;
    Some(format!("{version} from {}, built against {BUILT_FOR}", loaded.folder.display()))
}

/// A version without what follows its numbers, such as `+cpu`.
pub(crate) fn numbers_of(version: &str) -> &str {
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.');
    &version[..end.unwrap_or(version.len())]
}

/// The libtorch of this process; `None` where the system does not list its libraries.
pub fn loaded() -> Option<Loaded> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let folder = folder_in(&maps)?;
    let version = version_in(&folder);
    Some(Loaded { folder, version })
}

/// The folder above the `lib` in which `libtorch_cpu` lies.
fn folder_in(maps: &str) -> Option<PathBuf> {
    let path = maps.lines().find_map(|line| {
        let path = line.split_once('/').map(|(_, path)| Path::new("/").join(path))?;
        path.file_name()?.to_str()?.starts_with("libtorch_cpu.").then_some(path)
    })?;
    Some(path.parent()?.parent()?.to_owned())
}

/// What `build-version` (an unpacked archive) or `version.py` (a wheel) says.
fn version_in(folder: &Path) -> Option<String> {
    let stated = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    // `older-version` is what `scripts/libtorch.sh` writes in place of the other.
    if let Some(text) = stated("older-version").or_else(|| stated("build-version")) {
        return Some(text.trim().to_owned());
    }
    let text = std::fs::read_to_string(folder.join("version.py")).ok()?;
    let line = text.lines().find(|line| line.starts_with("__version__"))?;
    line.split(['\'', '"']).nth(1).map(str::to_owned)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_read_from_the_list_of_mapped_files() {
        let maps = "7f00-7f01 r--p 00000000 fd:00 12   /opt/a b/lib/libc10.so\n\
                    7f02-7f03 r-xp 00000000 fd:00 13   /opt/a b/lib/libtorch_cpu.so\n";
        assert_eq!(folder_in(maps).unwrap(), Path::new("/opt/a b"));
        assert_eq!(folder_in("7f00-7f01 r--p 00000000 00:00 0   [heap]\n"), None);
    }

    #[test]
    fn archive_and_wheel_both_say_their_version() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(version_in(folder.path()), None);
        std::fs::write(folder.path().join("version.py"), "from x import y\n__version__ = '2.13.0+cpu'\n")
            .unwrap();
        assert_eq!(version_in(folder.path()).unwrap(), "2.13.0+cpu");
        std::fs::write(folder.path().join("build-version"), "2.13.0\n").unwrap();
        assert_eq!(version_in(folder.path()).unwrap(), "2.13.0");
    }

    #[test]
    fn a_suffix_is_no_other_version_and_another_number_is() {
        let of = |version: Option<String>| Loaded { folder: PathBuf::from("/opt/torch"), version };
        assert_eq!(of(Some(format!("{BUILT_FOR}+cu130"))).is_built_for(), Some(true));
        assert_eq!(of(Some(format!("{BUILT_FOR}1"))).is_built_for(), Some(false));
        assert_eq!(of(Some("1.0.0".to_owned())).is_built_for(), Some(false));
        assert_eq!(of(None).is_built_for(), None);
    }

    #[test]
    fn tests_run_with_the_libtorch_that_they_were_built_for() {
        assert_eq!(other(), None);
        assert_eq!(numbers_of(&version()), BUILT_FOR);
    }
}
