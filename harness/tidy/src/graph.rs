//! The crate graph: a crate uses crates of lower levels only, and heavy libraries stay where they belong.
//!
//! The levels and the edges are those of the table in ARCHITECTURE.md; a row reads
//! `| harness/models | 1 | decode, weights | ... |`.

use crate::workspace::Member;

/// Heavy libraries, and the crates whose manifest may name them.
const CONFINED: [(&str, &[&str]); 4] = [
    ("tch", &["weights", "models", "operators", "extract", "train", "runner"]),
    ("polars", &["report"]),
    ("plotters", &["report"]),
    ("plotters-backend", &["report"]),
];

/// The crate that tests of every level may use, and nothing else may.
const OF_TESTS: &str = "testdata";

/// What ARCHITECTURE.md says about one crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Folder relative to the root.
    pub folder: String,
    /// 0 for a crate that uses none of the others.
    pub level: u32,
    /// Short names of the crates it uses, sorted.
    pub uses: Vec<String>,
}

/// The rows of the table of crates in ARCHITECTURE.md.
pub fn rows(architecture: &str) -> Vec<Row> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        let level = cells.get(1)?.parse().ok()?;
        let mut uses: Vec<String> = cells.get(2)?.split(',').map(|name| name.trim().to_owned()).collect();
        uses.retain(|name| !name.is_empty());
        uses.sort_unstable();
        Some(Row { folder: cells[0].trim_matches('`').to_owned(), level, uses })
    };
    architecture.lines().filter(|line| line.starts_with('|')).filter_map(row).collect()
}

/// Complaints about names, levels and edges of `members`, compared with `rows`.
pub fn check_edges(members: &[Member], rows: &[Row]) -> Vec<String> {
    let mut complaints = Vec::new();
    for row in rows {
        if !members.iter().any(|member| member.folder == row.folder) {
            complaints.push(format!(
                "ARCHITECTURE.md: the table has `{}`, Cargo.toml has no such member; remove the row",
                row.folder
            ));
        }
    }
    for member in members {
        let Some(row) = rows.iter().find(|row| row.folder == member.folder) else {
            complaints.push(format!(
                "{}: no row in the table of crates in ARCHITECTURE.md; add one with its level and edges",
                member.folder
            ));
            continue;
        };
        let mut used = siblings(member, "dependencies");
        used.extend(siblings(member, "build-dependencies"));
        used.sort_unstable();
        if used != row.uses {
            complaints.push(format!(
                "{}/Cargo.toml: uses [{}], ARCHITECTURE.md says [{}]; add the sentence for a new edge there, or drop it",
                member.folder,
                used.join(", "),
                row.uses.join(", ")
            ));
        }
        if used.iter().any(|name| name == OF_TESTS) {
            complaints.push(format!(
                "{}/Cargo.toml: `{OF_TESTS}` is for tests; list it in dev-dependencies",
                member.folder
            ));
        }
        used.extend(siblings(member, "dev-dependencies"));
        used.retain(|name| name != OF_TESTS);
        complaints.extend(used.iter().filter_map(|name| upward(row, name, rows)));
    }
    complaints
}

/// Complaints about heavy libraries in the manifests of crates that must do without them.
pub fn check_confined(members: &[Member]) -> Vec<String> {
    let mut complaints = Vec::new();
    for member in members {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            for (library, allowed) in CONFINED {
                if member.dependencies(kind).contains(&library) && !allowed.contains(&member.short_name()) {
                    complaints.push(format!(
                        "{}/Cargo.toml: `{library}` in {kind}; only [{}] may have it, go through one of them",
                        member.folder,
                        allowed.join(", ")
                    ));
                }
            }
        }
    }
    complaints
}

/// Crates that `make packages` packs, as the makefile names them after `specimen-`. Cargo finds one of them for another
/// only if both may be published; publishing stays a command of its own.
const PACKAGED: [&str; 4] = ["foundation", "stats", "pixels", "decode"];

/// Complaints about package names and about lints and metadata that are not the workspace's.
pub fn check_manifests(members: &[Member]) -> Vec<String> {
    let mut complaints = Vec::new();
    for member in members {
        let place = format!("{}/Cargo.toml", member.folder);
        let package = member.manifest.get("package").and_then(toml::Value::as_table);
        let name = package.and_then(|p| p.get("name")).and_then(toml::Value::as_str).unwrap_or_default();
        let expected = format!("specimen-{}", member.short_name());
        if name != expected {
            complaints.push(format!("{place}: the package is `{name}`, expected `{expected}`; rename it"));
        }
        let is_packaged = PACKAGED.contains(&member.short_name());
        let publish = package.and_then(|p| p.get("publish")).and_then(toml::Value::as_bool);
        if is_packaged && publish != Some(true) {
            complaints.push(format!("{place}: `make packages` packs it; write `publish = true`"));
        }
        let inherited = ["version", "edition", "rust-version", "license", "publish"];
        for key in inherited.into_iter().filter(|key| *key != "publish" || !is_packaged) {
            let inherited = package.and_then(|p| p.get(key)).and_then(|value| value.get("workspace"));
            if inherited.and_then(toml::Value::as_bool) != Some(true) {
                complaints
                    .push(format!("{place}: `{key}` is not the workspace's; write `{key}.workspace = true`"));
            }
        }
        let lints = member.manifest.get("lints").and_then(|lints| lints.get("workspace"));
        if lints.and_then(toml::Value::as_bool) != Some(true) {
            complaints.push(format!(
                "{place}: the lints are not the workspace's; write `[lints] workspace = true`"
            ));
        }
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            for name in member.dependencies(kind) {
                let inherited = member.manifest[kind][name].get("workspace").and_then(toml::Value::as_bool);
                if inherited != Some(true) {
                    complaints.push(format!(
                        "{place}: `{name}` has a version of its own; list it in [workspace.dependencies] and inherit it"
                    ));
                }
            }
        }
    }
    complaints
}

fn siblings(member: &Member, kind: &str) -> Vec<String> {
    let names = member.dependencies(kind).into_iter();
    names.filter_map(|name| name.strip_prefix("specimen-")).map(str::to_owned).collect()
}

fn upward(row: &Row, used: &str, rows: &[Row]) -> Option<String> {
    let below = rows.iter().find(|other| other.folder.rsplit('/').next() == Some(used))?;
    (below.level >= row.level).then(|| {
        format!(
            "{}/Cargo.toml: level {} uses `{used}` of level {}; a crate uses lower levels only, move what it needs down",
            row.folder, row.level, below.level
        )
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    const TABLE: &str =
        "| crate | level | uses |\n|---|---|---|\n| `a/low` | 0 | |\n| `a/high` | 1 | low |\n";

    fn member(folder: &str, manifest: &str) -> Member {
        Member { folder: folder.to_owned(), manifest: manifest.parse().unwrap() }
    }

    fn complaints(low: &str, high: &str) -> String {
        let members = [member("a/low", low), member("a/high", high)];
        [check_edges(&members, &rows(TABLE)), check_confined(&members)].concat().join("\n")
    }

    #[test]
    fn the_table_is_read_row_by_row() {
        let high = Row { folder: "a/high".to_owned(), level: 1, uses: vec!["low".to_owned()] };
        assert_eq!(rows(TABLE)[1], high);
        assert_eq!(rows(TABLE).len(), 2);
    }

    #[test]
    fn an_edge_downwards_that_is_written_down_is_fine() {
        assert_eq!(complaints("", "[dependencies]\nspecimen-low = {}\ntoml = {}"), "");
    }

    #[test]
    fn an_edge_upwards_is_named_even_among_dev_dependencies() {
        let found = complaints("[dev-dependencies]\nspecimen-high = {}", "[dependencies]\nspecimen-low = {}");
        assert!(found.contains("a/low/Cargo.toml: level 0 uses `high` of level 1"), "{found}");
    }

    #[test]
    fn tests_of_any_crate_may_use_what_finds_their_data_and_nothing_else_may() {
        let edge = |kind: &str| {
            let low = format!("[{kind}]\nspecimen-testdata = {{}}");
            let members = [member("a/low", &low), member("a/testdata", "")];
            let row = |folder: &str| Row { folder: folder.to_owned(), level: 0, uses: Vec::new() };
            check_edges(&members, &[row("a/low"), row("a/testdata")]).join("\n")
        };
        assert_eq!(edge("dev-dependencies"), "");
        assert!(edge("dependencies").contains("`testdata` is for tests"), "{}", edge("dependencies"));
    }

    #[test]
    fn an_edge_missing_from_the_table_is_named() {
        let found = complaints("", "");
        assert!(found.contains("a/high/Cargo.toml: uses [], ARCHITECTURE.md says [low]"), "{found}");
    }

    #[test]
    fn a_member_without_a_row_and_a_row_without_a_member_are_named() {
        let found = check_edges(&[member("a/new", "")], &rows(TABLE)).join("\n");
        assert!(found.contains("a/new: no row"), "{found}");
        assert!(found.contains("has `a/low`, Cargo.toml has no such member"), "{found}");
    }

    #[test]
    fn a_heavy_library_in_a_light_crate_is_named() {
        let found = complaints("[dependencies]\ntch = {}", "[dependencies]\nspecimen-low = {}");
        assert!(found.contains("a/low/Cargo.toml: `tch` in dependencies"), "{found}");
    }

    #[test]
    fn a_manifest_on_its_own_is_named_in_every_respect() {
        let manifest = "[package]\nname = \"low\"\nversion.workspace = true\n[dependencies]\nserde = \"1\"";
        let found = check_manifests(&[member("a/low", manifest)]).join("\n");
        for part in ["expected `specimen-low`", "`edition`", "the lints are not", "`serde` has a version"] {
            assert!(found.contains(part), "{part} in {found}");
        }
        assert!(!found.contains("`version` is not"), "{found}");
    }
}
