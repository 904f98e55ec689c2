//! The folders and switches that the environment names.

use std::{
    env,
    path::{Path, PathBuf},
};

/// The folder with datasets and published weights.
pub const DATA_VARIABLE: &str = "SPECIMEN_DATA";
/// The folder with what can be made or fetched again.
pub const CACHE_VARIABLE: &str = "SPECIMEN_CACHE";

/// The value of an environment variable as a path; `None` when it is unset or empty.
#[must_use]
pub fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The folder that `SPECIMEN_DATA` names.
#[must_use]
pub fn data_folder() -> Option<PathBuf> {
    variable(DATA_VARIABLE)
}

/// The user's cache folder by the XDG base directory specification: `XDG_CACHE_HOME` where it is an absolute path (the
/// specification says to ignore others), else `.cache` below `HOME`.
pub fn user_cache_folder(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|path| !path.as_os_str().is_empty());
    let xdg = set("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    xdg.or_else(|| Some(set("HOME")?.join(".cache")))
}

/// Where this program keeps what it can make or fetch again: `SPECIMEN_CACHE`, else `specimen` below the user's cache
/// folder. `None` without any of the variables. `variable` reads the environment; tests pass their own.
pub fn cache_folder_by(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let own = variable(CACHE_VARIABLE).filter(|path| !path.as_os_str().is_empty());
    own.or_else(|| Some(user_cache_folder(&variable)?.join("specimen")))
}

/// As [`cache_folder_by`], of this process's environment.
#[must_use]
pub fn cache_folder() -> Option<PathBuf> {
    cache_folder_by(variable)
}

/// The folder of the Hugging Face hub's cache: `HF_HUB_CACHE`, `HF_HOME/hub`, or `huggingface/hub` in the user's cache
/// folder.
pub fn hub_cache_folder(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|path| !path.as_os_str().is_empty());
    set("HF_HUB_CACHE")
        .or_else(|| Some(set("HF_HOME")?.join("hub")))
        .or_else(|| Some(user_cache_folder(&variable)?.join(Path::new("huggingface/hub"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Folder = fn(&dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf>;

    fn check(folder: Folder, set: &[(&str, &str)], expected: Option<&str>) {
        let variable =
            |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        assert_eq!(folder(&variable), expected.map(PathBuf::from), "{set:?}");
    }

    #[test]
    fn the_cache_is_where_the_environment_says() {
        let cache: Folder = |variable| cache_folder_by(variable);
        check(cache, &[], None);
        check(cache, &[("HOME", "/h")], Some("/h/.cache/specimen"));
        check(cache, &[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")], Some("/x/specimen"));
        // The XDG specification says to ignore relative paths.
        check(cache, &[("HOME", "/h"), ("XDG_CACHE_HOME", "x")], Some("/h/.cache/specimen"));
        check(cache, &[("XDG_CACHE_HOME", "x")], None);
        check(cache, &[("HOME", "/h"), ("SPECIMEN_CACHE", "here")], Some("here"));
        check(cache, &[("HOME", "/h"), ("SPECIMEN_CACHE", "")], Some("/h/.cache/specimen"));
    }

    #[test]
    fn the_hubs_cache_is_where_the_hub_puts_it() {
        let hub: Folder = |variable| hub_cache_folder(variable);
        check(hub, &[("HOME", "/h")], Some("/h/.cache/huggingface/hub"));
        check(hub, &[("HOME", "/h"), ("HF_HOME", "/f")], Some("/f/hub"));
        check(hub, &[("HF_HOME", "/f"), ("HF_HUB_CACHE", "/c")], Some("/c"));
    }
}
