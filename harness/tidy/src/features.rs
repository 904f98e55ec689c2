//! Tests ask for no feature of a library that the binary does without.
//!
//! Cargo builds a library once for each set of features. A dev-dependency that asks one of polars' libraries for one
//! more feature makes `cargo test` build polars a second time, which is most of the time of a fresh checkout.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

/// Each package with the sets of features it is built with.
pub type Features = BTreeMap<String, BTreeSet<String>>;

/// `cargo tree`'s view of the workspace at `root` along `edges` (`normal,build`, say), as package → sets of features
/// (more than one where a build script needs the package too).
pub fn features(root: &Path, edges: &str) -> Result<Features, String> {
    cargo_tree(root, &["--workspace", "--format", "{p}|{f}", "--edges", edges]).map(|tree| parse(&tree))
}

/// What `cargo tree` answers in the workspace at `root`, one package a line.
pub fn cargo_tree(root: &Path, words: &[&str]) -> Result<String, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root)
        .args(["tree", "--offline", "--prefix", "none"])
        .args(words)
        .output()
        .map_err(|error| format!("cargo tree did not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo tree failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The lines `name version|feature,feature` of `cargo tree`; ` (*)` marks a package that was shown before.
pub fn parse(tree: &str) -> Features {
    let mut features = Features::new();
    for (package, named) in tree.lines().filter_map(|line| line.split_once('|')) {
        features.entry(package.to_owned()).or_default().insert(named.trim_end_matches(" (*)").to_owned());
    }
    features
}

/// A complaint for each package that `tests` builds with features that `binary` does without.
pub fn check_same(binary: &Features, tests: &Features) -> Vec<String> {
    let mut complaints = Vec::new();
    for (package, built) in binary {
        for asked in tests.get(package).into_iter().flatten().filter(|asked| !built.contains(*asked)) {
            complaints.push(format!(
                "{package}: the tests ask for the features {asked}, so `cargo test` builds it and all that uses it a \
                 second time; name them for the binary too (see results/report/Cargo.toml)"
            ));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_only_tests_ask_for_is_named() {
        let binary = parse("a v1|std\nb v1|\nc v2|x (*)\n");
        let tests = parse("a v1|i128,std\nb v1|\nc v2|x\nd v1|only-tests\n");
        let complaints = check_same(&binary, &tests);
        assert_eq!(complaints.len(), 1);
        assert!(
            complaints[0].starts_with("a v1: the tests ask for the features i128,std,"),
            "{}",
            complaints[0]
        );
    }
}
