//! `scripts/count-code.py` counts what is written and runs, and CHANGELOG says how much of that there may be.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use specimen_tidy::workspace;

/// What stands before the number in CHANGELOG.
const ALLOWED: &str = "Product code: at most ";

/// The last line of the count below `folder`, which is a git checkout.
fn counted(folder: &Path) -> usize {
    let script = workspace::root().join("scripts/count-code.py");
    let ran = Command::new("python3").arg(script).current_dir(folder).output().unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    let last = text.lines().last().unwrap_or_default();
    let number = last.split_whitespace().next().and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&ran.stderr)))
}

#[test]
fn lines_that_do_something_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = |path: &str, text: &str| {
        let path: PathBuf = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let text = "//! A crate.\n\n/// A number. /* open\nconst A: &str = \"// {\"; // three\n/* two\nlines /* in */ one */\nfn f() {\n    let c = '{';\n}\n\
                #[cfg(test)]\nmod tests {\n    fn g() {}\n}\nfn h() {}\n";
    file("one/src/lib.rs", text);
    file("one/tests/suite/main.rs", "fn t() {}\n");
    for arguments in [&["init", "-q"][..], &["add", "."]] {
        assert!(Command::new("git").args(arguments).current_dir(folder.path()).status().unwrap().success());
    }
    // The constant, three lines of `f`, and `h`.
    assert_eq!(counted(folder.path()), 5);
}

#[test]
fn there_is_no_more_code_than_the_changelog_says_and_buys() {
    let root = workspace::root();
    let changelog = std::fs::read_to_string(root.join("CHANGELOG.md")).unwrap();
    let allowed = changelog.split_once(ALLOWED).map(|(_, rest)| rest.split(' ').next().unwrap_or_default());
    let allowed = allowed.and_then(|number| number.replace(',', "").parse::<usize>().ok());
    let allowed = allowed.unwrap_or_else(|| panic!("CHANGELOG.md: no `{ALLOWED}N lines`"));
    let n = counted(&root);
    assert!(
        n <= allowed,
        "{n} lines of product code (scripts/count-code.py), and CHANGELOG.md allows {allowed}: make something simpler, or raise \
         the number there and say what the lines buy"
    );
}
