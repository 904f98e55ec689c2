//! `scripts/site.sh` gives mdBook the pages of `docs/`, with links out of that folder led to the repository if there is
//! one, and fails where mdBook warns.

use std::fs;

use crate::sandbox::{Outcome, Sandbox};

/// Copies the pages where the site belongs.
const BUILDS: &str = "[ \"$1 $3\" = 'build --dest-dir' ] && cp -R \"$2\" \"$4\"";

fn run(mdbook: Option<&str>, repository: &str) -> (Sandbox, Outcome) {
    let sandbox = Sandbox::new();
    let script = specimen_tidy::workspace::root().join("scripts/site.sh");
    sandbox.write("scripts/site.sh", &fs::read_to_string(script).unwrap());
    sandbox.write("docs/book.toml", "[book]\n");
    sandbox.write("docs/page.md", "[a](../experiments/specs) [b](other.md#there) [c](records/one.md)\n");
    sandbox.write("docs/records/one.md", "[d](../page.md) [e](../../CONTRIBUTING.md#fuzzing)\n");
    if let Some(mdbook) = mdbook {
        sandbox.stub("mdbook", mdbook);
    }
    let outcome = sandbox.run("sh", &[&sandbox.path("scripts/site.sh")], &[("REPOSITORY", repository)]);
    (sandbox, outcome)
}

#[test]
fn links_out_of_the_book_lead_to_the_repository_and_others_stay() {
    let main = "https://host.example/name/blob/main";
    let (sandbox, outcome) = run(Some(BUILDS), main);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let page = |path: &str| fs::read_to_string(sandbox.path("target/site").join(path)).unwrap();
    assert_eq!(
        page("page.md"),
        format!("[a]({main}/experiments/specs) [b](other.md#there) [c](records/one.md)\n")
    );
    assert_eq!(page("records/one.md"), format!("[d](../page.md) [e]({main}/CONTRIBUTING.md#fuzzing)\n"));
    assert!(!sandbox.path("target/site/book.toml").exists());
    let sources = fs::read_to_string(sandbox.path("docs/page.md")).unwrap();
    assert!(
        sources.starts_with("[a](../experiments/specs)"),
        "the pages themselves stay as they are: {sources}"
    );
}

#[test]
fn without_a_repository_links_out_of_the_book_are_none() {
    let (sandbox, outcome) = run(Some(BUILDS), "");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let page = |path: &str| fs::read_to_string(sandbox.path("target/site").join(path)).unwrap();
    assert_eq!(
        page("page.md"),
        "<span title=\"experiments/specs\">a</span> [b](other.md#there) [c](records/one.md)\n"
    );
    assert_eq!(page("records/one.md"), "[d](../page.md) <span title=\"CONTRIBUTING.md#fuzzing\">e</span>\n");
}

#[test]
fn a_warning_of_mdbook_is_a_failure() {
    let (_, outcome) = run(Some(&format!("{BUILDS}; echo ' WARN no such page' >&2")), "");
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("WARN no such page"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("site: mdbook warned; correct the page"), "{}", outcome.stderr);
}

#[test]
fn without_mdbook_the_message_names_the_command() {
    let (_, outcome) = run(None, "");
    assert_eq!(outcome.code, Some(1));
    assert_eq!(outcome.stderr, "site: no mdbook on PATH; run `cargo install mdbook`\n");
}
