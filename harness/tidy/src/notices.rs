//! The notices of third-party software name every package that the program is made of, and no other.

use std::{collections::BTreeSet, path::Path};

use crate::features::cargo_tree;

/// The file that `scripts/notices.py` writes.
pub const NOTICES: &str = "THIRD-PARTY.txt";

/// The packages of the program, as `name version`, that are not of this workspace.
pub fn packages(root: &Path) -> Result<BTreeSet<String>, String> {
    let words = ["--package", "specimen-cli", "--edges", "normal", "--target", "x86_64-unknown-linux-gnu"];
    Ok(parse(&cargo_tree(root, &words)?))
}

/// The packages in the lines of `cargo tree`; those of this workspace are followed by their folder.
fn parse(tree: &str) -> BTreeSet<String> {
    let published = tree.lines().filter(|line| !line.contains("(/"));
    let named = published.filter_map(|line| {
        let (name, rest) = line.split_once(" v")?;
        Some(format!("{name} {}", rest.split(' ').next()?))
    });
    named.collect()
}

/// A complaint for each package of the program that `notices` does not list with a text that is there, and for each that
/// it lists in vain.
pub fn check(packages: &BTreeSet<String>, notices: &str) -> Vec<String> {
    let n_texts = notices.lines().filter(|line| heading(line).is_some()).count();
    let list = notices.lines().skip_while(|line| *line != "Packages").skip(1);
    let listed: Vec<(&str, bool)> =
        list.take_while(|line| !line.is_empty()).map(|line| entry(line, n_texts)).collect();
    let names: BTreeSet<&str> = listed.iter().map(|(name, _)| *name).collect();
    let missing = packages.iter().filter(|package| !names.contains(package.as_str()));
    let missing = missing.map(|package| format!("{package}: not in {NOTICES}; run `make notices`"));
    let left = names.iter().filter(|name| !packages.contains(**name));
    let left = left.map(|name| format!("{name}: in {NOTICES}, and not in the program; run `make notices`"));
    let bare = listed.iter().filter(|(_, has_texts)| !has_texts);
    let bare =
        bare.map(|(name, _)| format!("{name}: no text of its licence is in {NOTICES}; run `make notices`"));
    missing.chain(left).chain(bare).collect()
}

/// `name version` of a line `name version (licence): 1, 2`, and whether all its texts are there.
fn entry(line: &str, n_texts: usize) -> (&str, bool) {
    let name = line.split(" (").next().unwrap_or(line);
    let numbers = line.rsplit("): ").next().unwrap_or_default();
    let is_there = |number: &str| number.parse().is_ok_and(|number: usize| (1..=n_texts).contains(&number));
    (name, numbers.split(", ").all(is_there))
}

/// The number in a line that begins a text.
fn heading(line: &str) -> Option<&str> {
    line.strip_prefix("==================== ")?.strip_suffix(" ====================")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "Packages\na 1.0 (MIT): 1\nb 2.0 (A OR (B AND C)): 1, 2\n\n==================== 1 ====================\ntext\n\n\
                        ==================== 2 ====================\ntext\n";

    fn check_with(tree: &str, file: &str) -> Vec<String> {
        check(&parse(tree), file)
            .iter()
            .map(|line| line.split(';').next().expect("a line has a beginning").to_owned())
            .collect()
    }

    #[test]
    fn all_packages_that_are_published_are_named_with_their_texts() {
        assert!(
            check_with("specimen-cli v0.1.0 (/here)\na v1.0\nb v2.0 (proc-macro) (*)\n", FILE).is_empty()
        );
    }

    #[test]
    fn a_package_too_few_another_version_and_a_lost_text_are_complaints() {
        assert_eq!(check_with("a v1.0\nb v2.0\nc v3.0\n", FILE), ["c 3.0: not in THIRD-PARTY.txt"]);
        assert_eq!(
            check_with("a v1.1\nb v2.0\n", FILE),
            ["a 1.1: not in THIRD-PARTY.txt", "a 1.0: in THIRD-PARTY.txt, and not in the program"]
        );
        let cut = FILE.split("==================== 2").next().expect("a text has a beginning");
        assert_eq!(
            check_with("a v1.0\nb v2.0\n", cut),
            ["b 2.0: no text of its licence is in THIRD-PARTY.txt"]
        );
    }
}
