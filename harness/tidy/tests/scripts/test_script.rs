//! `scripts/test.sh` closes with what was skipped and with the counts of all test binaries together, and keeps
//! cargo's exit status.

use crate::sandbox::{Outcome, Sandbox};

const PASSES: &str = "echo 'test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out'\n";
const FAILS: &str = "echo 'test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out'\n";
const SKIPS: &str = "echo 'SKIPPED: b: no photos' >> \"$SPECIMEN_SKIP_LOG\"\n\
                     echo 'SKIPPED: a: no captions' >> \"$SPECIMEN_SKIP_LOG\"\n";

fn run(cargo: &str) -> Outcome {
    let sandbox = Sandbox::new();
    sandbox.stub("cargo", cargo);
    let script = specimen_tidy::workspace::root().join("scripts/test.sh");
    sandbox.run("bash", &[&script], &[])
}

#[test]
fn the_counts_of_all_binaries_are_added_up() {
    let outcome = run(&format!("{PASSES}{PASSES}"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.ends_with("\nskipped: 0\n10 passed, 0 failed, 0 skipped\n"), "{}", outcome.stdout);
}

#[test]
fn what_was_skipped_is_listed_once_in_order() {
    let outcome = run(&format!("{PASSES}{SKIPS}{SKIPS}"));
    let expected =
        "\nskipped: 2\nSKIPPED: a: no captions\nSKIPPED: b: no photos\n5 passed, 0 failed, 2 skipped\n";
    assert!(outcome.stdout.ends_with(expected), "{}", outcome.stdout);
    assert_eq!(outcome.code, Some(0));
}

#[test]
fn a_failure_keeps_the_status_of_cargo_and_is_counted() {
    let outcome = run(&format!("{PASSES}{FAILS}exit 101"));
    assert!(outcome.stdout.ends_with("\n7 passed, 1 failed, 0 skipped\n"), "{}", outcome.stdout);
    assert_eq!(outcome.code, Some(101));
}

#[test]
fn all_tests_of_the_workspace_run_in_release_without_stopping_at_a_failure() {
    let outcome = run("echo \"cargo $*\"");
    assert!(
        outcome.stdout.starts_with("cargo test --release --workspace --no-fail-fast\n"),
        "{}",
        outcome.stdout
    );
}
