//! Documents in step with the manifests: every dependency is used and has its reason.

use crate::workspace::Member;

/// Complaints about dependencies of the workspace that none of `members` uses.
pub fn check_used(manifest: &toml::Table, members: &[Member]) -> Vec<String> {
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let used =
        |name: &&str| members.iter().any(|m| kinds.iter().any(|kind| m.dependencies(kind).contains(name)));
    let unused = names(manifest).into_iter().filter(|name| !used(name));
    unused
        .map(|name| format!("Cargo.toml: no crate uses `{name}`; remove it from [workspace.dependencies]"))
        .collect()
}

/// Complaints about dependencies of the workspace that `architecture` gives no reason for, and about reasons
/// for dependencies that are gone. A reason is a row `| name | why |` below the heading `## Dependencies`.
pub fn check_dependencies(manifest: &toml::Table, architecture: &str) -> Vec<String> {
    let mut names = names(manifest);
    names.retain(|name| !name.starts_with("specimen-"));
    let explained = explained(architecture);
    let unexplained = names.iter().filter(|name| !explained.contains(name)).map(|name| {
        format!("Cargo.toml: `{name}` has no row under Dependencies in ARCHITECTURE.md; say why it is needed")
    });
    let gone = explained.iter().filter(|name| !names.contains(name)).map(|name| {
        format!("ARCHITECTURE.md: `{name}` is explained, [workspace.dependencies] has no such entry; remove the row")
    });
    unexplained.chain(gone).collect()
}

fn names(manifest: &toml::Table) -> Vec<&str> {
    let table = manifest.get("workspace").and_then(|w| w.get("dependencies")).and_then(toml::Value::as_table);
    table.into_iter().flat_map(|table| table.keys().map(String::as_str)).collect()
}

fn explained(architecture: &str) -> Vec<&str> {
    let section = architecture.split("\n## Dependencies\n").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let names =
        section.lines().filter(|line| line.starts_with("| `")).filter_map(|line| line.split('`').nth(1));
    names.collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn each_dependency_has_its_reason_and_each_reason_its_dependency() {
        let manifest =
            "[workspace.dependencies]\nserde = \"1\"\ntoml = \"1\"\nspecimen-decode = {}".parse().unwrap();
        let text = "\n## Dependencies\n| name | why |\n|---|---|\n| `serde` | rows |\n| `gone` | was |\n\n## Next\n| `x` | |";
        let found = check_dependencies(&manifest, text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].contains("`toml` has no row") && found[1].contains("`gone` is explained"),
            "{found:?}"
        );
    }

    #[test]
    fn a_dependency_that_no_crate_uses_is_named() {
        let manifest = "[workspace.dependencies]\nserde = \"1\"\ntoml = \"1\"".parse().unwrap();
        let member = "[dev-dependencies]\nserde.workspace = true".parse().unwrap();
        let found = check_used(&manifest, &[Member { folder: "a/b".to_owned(), manifest: member }]);
        assert_eq!(found, ["Cargo.toml: no crate uses `toml`; remove it from [workspace.dependencies]"]);
    }
}
