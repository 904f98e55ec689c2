//! The shape of a Rust source file: short, opened by a module doc, and reached from its crate's root.

use std::path::Path;

use crate::workspace::TextFile;

/// Lines that a source file may have.
pub const MAX_LINES: usize = 600;

/// Lines that the file of a method may have: it is read next to its paper.
pub const MAX_METHOD_LINES: usize = 350;

/// Where methods are.
const METHODS: &str = "harness/decode/src/methods/";

/// Files that are tables of values and may be longer.
const TABLES: [&str; 0] = [];

/// Complaints about the length of `file`.
pub fn check_length(file: &TextFile) -> Option<String> {
    let n_lines = file.text.lines().count();
    let most = if file.path.starts_with(METHODS) { MAX_METHOD_LINES } else { MAX_LINES };
    let long = file.is_rust() && n_lines > most && !TABLES.contains(&file.path.as_str());
    long.then(|| format!("{}: {n_lines} lines, at most {most}; split it by idea", file.path))
}

/// Complaints about a missing module doc in `file`.
pub fn check_module_doc(file: &TextFile) -> Option<String> {
    let opened = file.text.lines().next().is_some_and(|line| line.starts_with("//! "));
    (file.is_rust() && !opened).then(|| {
        format!(
            "{}: does not begin with `//! ` and a sentence; say what the file is for in 2-6 lines",
            file.path
        )
    })
}

/// Complaints about source files that no `mod` line reaches, which the compiler silently leaves out.
pub fn check_declared(files: &[TextFile]) -> Vec<String> {
    let below =
        |file: &&TextFile| ["/src/", "/tests/", "/benches/"].iter().any(|part| file.path.contains(part));
    let rust = files.iter().filter(|file| file.is_rust()).filter(below);
    rust.filter(|file| !is_target(&file.path) && !is_declared(&file.path, files))
        .map(|file| {
            format!(
                "{}: no parent file says `mod` for it, so it is never compiled; declare or remove it",
                file.path
            )
        })
        .collect()
}

/// Whether cargo finds the file without a declaration.
fn is_target(path: &str) -> bool {
    let path = Path::new(path);
    let parent = |n: usize| path.ancestors().nth(n).and_then(Path::file_name).and_then(|name| name.to_str());
    let name = path.file_name().and_then(|name| name.to_str());
    let direct = matches!(parent(1), Some("tests" | "benches" | "bin"));
    let root = matches!(parent(1), Some("src")) && matches!(name, Some("lib.rs" | "main.rs"));
    let folder = matches!(parent(2), Some("tests" | "benches" | "bin")) && name == Some("main.rs");
    direct || root || folder
}

fn is_declared(path: &str, files: &[TextFile]) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.trim_end_matches(".rs");
    // `a/mod.rs` is the module `a` and is declared one folder further up.
    let (folder, module) =
        if stem == "mod" { folder.rsplit_once('/').unwrap_or(("", folder)) } else { (folder, stem) };
    let declares = |file: &TextFile| {
        file.text.lines().any(|line| {
            let line = line.trim_start();
            let rest = line.strip_prefix("pub").map_or(line, |rest| {
                rest.trim_start_matches("(crate)").trim_start_matches("(super)").trim_start()
            });
            let declared = rest.strip_prefix("mod ").and_then(|rest| rest.split([';', ' ']).next());
            declared == Some(module) || line.starts_with("#[path") && line.contains(&format!("{stem}.rs\""))
        })
    };
    let is_parent = |other: &TextFile| {
        let (place, parent) = other.path.rsplit_once('/').unwrap_or(("", &other.path));
        let same = place == folder
            && (matches!(parent, "lib.rs" | "main.rs" | "mod.rs") || folder.ends_with("tests"));
        other.path != path && other.is_rust() && (same || other.path == format!("{folder}.rs"))
    };
    files.iter().any(|other| is_parent(other) && declares(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_file_may_have_600_lines_and_no_more() {
        assert_eq!(check_length(&file("a/src/x.rs", &"x\n".repeat(MAX_LINES))), None);
        assert!(check_length(&file("a/src/x.rs", &"x\n".repeat(MAX_LINES + 1))).is_some());
        assert_eq!(check_length(&file("a/golden.json", &"x\n".repeat(MAX_LINES + 1))), None);
    }

    #[test]
    fn a_method_may_have_350_lines_and_no_more() {
        let method = |n_lines: usize| file("harness/decode/src/methods/x.rs", &"x\n".repeat(n_lines));
        assert_eq!(check_length(&method(350)), None);
        assert!(check_length(&method(351)).is_some_and(|why| why.contains("at most 350")));
    }

    #[test]
    fn a_file_begins_with_its_module_doc() {
        assert_eq!(check_module_doc(&file("x.rs", "//! Says it.\n")), None);
        assert!(check_module_doc(&file("x.rs", "use std::fs;\n//! Too late.\n")).is_some());
        assert!(check_module_doc(&file("x.rs", "")).is_some());
    }

    #[test]
    fn every_way_of_declaring_a_module_counts() {
        let files = [
            file("a/src/lib.rs", "pub mod one;\nmod two;\npub(crate) mod three;\nmod four;"),
            file("a/src/one.rs", ""),
            file("a/src/two/mod.rs", "mod deep;"),
            file("a/src/two/deep.rs", ""),
            file("a/src/three.rs", "mod inner;"),
            file("a/src/three/inner.rs", ""),
            file("a/src/four.rs", ""),
            file("a/tests/suite/main.rs", "mod part;"),
            file("a/tests/suite/part.rs", ""),
            file("a/tests/alone.rs", "mod fixture;"),
            file("a/tests/fixture/mod.rs", ""),
        ];
        assert_eq!(check_declared(&files), Vec::<String>::new());
    }

    #[test]
    fn a_file_that_nothing_declares_is_named() {
        let files = [file("a/src/lib.rs", "// mod lost;\nmod lost_too;"), file("a/src/lost.rs", "mod lost;")];
        assert!(check_declared(&files)[0].starts_with("a/src/lost.rs: "), "{:?}", check_declared(&files));
    }
}
