//! `scripts/test.sh` closes with what was skipped and with the counts of all test binaries and of the Python tests
//! together, and keeps cargo's exit status, then that of the tests that run beside it.

use std::path::{Path, PathBuf};

use crate::sandbox::{Outcome, Sandbox};

const PASSES: &str = "echo 'test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out'\n";
const FAILS: &str = "echo 'test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out'\n";
const SKIPS: &str = "echo 'SKIPPED: b: no photos' >> \"$SPECIMEN_SKIP_LOG\"\n\
                     echo 'SKIPPED: a: no captions' >> \"$SPECIMEN_SKIP_LOG\"\n";

/// A Python that has every package, and whose tests pass.
const PYTHON: &str = "case \"$2\" in pytest) echo 'test result: ok. 3 passed; 0 failed; 0 skipped';; esac\n";
/// A Python without packages, which makes a virtual environment with all of them.
const BARE_PYTHON: &str = r#"case "$0 $2" in
*/python\ pytest) echo 'test result: ok. 3 passed; 0 failed; 0 skipped' ;;
*/python3\ venv) for folder; do :; done; mkdir -p "$folder/bin"; cp "$0" "$folder/bin/python" ;;
*/python3\ pip) echo "pip: $*" ;;
*/python3\ import*) exit 1 ;;
esac
"#;

fn run(cargo: &str) -> Outcome {
    run_with(cargo, Some(PYTHON), &[])
}

fn run_with(cargo: &str, python: Option<&str>, env: &[(&str, &str)]) -> Outcome {
    run_beside(cargo, "true", python, env)
}

/// `cargo` is what the tests print that run alone, `slurm` what those on a cluster do, which run beside them.
fn run_beside(cargo: &str, slurm: &str, python: Option<&str>, env: &[(&str, &str)]) -> Outcome {
    let sandbox = Sandbox::new();
    sandbox.stub(
        "cargo",
        &format!("case \"$*\" in *--no-run*) exit 0;; *--test\\ slurm*) {slurm}; exit;; esac\n{cargo}"),
    );
    if let Some(python) = python {
        sandbox.stub("python3", python);
    }
    // A virtual environment is made there.
    let target = sandbox.path("target");
    let env = [&[("CARGO_TARGET_DIR", target.to_str().unwrap())][..], env].concat();
    sandbox.run("bash", &[&script()], &env)
}

fn script() -> PathBuf {
    specimen_tidy::workspace::root().join("scripts/test.sh")
}

#[test]
fn the_counts_of_all_binaries_are_added_up() {
    let outcome = run(&format!("{PASSES}{PASSES}"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.ends_with("\nskipped: 0\n13 passed, 0 failed, 0 skipped\n"), "{}", outcome.stdout);
}

#[test]
fn what_was_skipped_is_listed_once_in_order() {
    let outcome = run(&format!("{PASSES}{SKIPS}{SKIPS}"));
    let expected =
        "\nskipped: 2\nSKIPPED: a: no captions\nSKIPPED: b: no photos\n8 passed, 0 failed, 2 skipped\n";
    assert!(outcome.stdout.ends_with(expected), "{}", outcome.stdout);
    assert_eq!(outcome.code, Some(0));
}

#[test]
fn a_failure_keeps_the_status_of_cargo_and_is_counted() {
    let outcome = run(&format!("{PASSES}{FAILS}exit 101"));
    assert!(outcome.stdout.ends_with("\n10 passed, 1 failed, 0 skipped\n"), "{}", outcome.stdout);
    assert_eq!(outcome.code, Some(101));
}

#[test]
fn all_tests_of_the_workspace_run_in_release_without_stopping_at_a_failure() {
    let outcome = run("echo \"cargo $*\"");
    let rest = "cargo test --release --workspace --no-fail-fast -- --skip on_slurm::\n";
    assert!(outcome.stdout.starts_with(rest), "{}", outcome.stdout);
}

#[test]
fn tests_on_a_cluster_run_beside_the_rest_and_are_counted() {
    let (passes, fails) = (PASSES.trim_end(), format!("{}; exit 101", FAILS.trim_end()));
    let outcome = run_beside(PASSES, passes, Some(PYTHON), &[]);
    assert!(outcome.stdout.ends_with("\n13 passed, 0 failed, 0 skipped\n"), "{}", outcome.stdout);
    assert_eq!(outcome.code, Some(0));
    let outcome = run_beside(PASSES, &fails, Some(PYTHON), &[]);
    assert!(outcome.stdout.ends_with("\n10 passed, 1 failed, 0 skipped\n"), "{}", outcome.stdout);
    assert_eq!(outcome.code, Some(101));
}

#[test]
fn what_does_not_compile_is_a_failure_without_a_test() {
    let outcome = run_with("exit 3", Some(PYTHON), &[]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.stdout);
    let sandbox = Sandbox::new();
    sandbox.stub("cargo", "case \"$*\" in *--no-run) exit 101;; esac\necho ran");
    let outcome = sandbox.run("bash", &[&script()], &[]);
    assert_eq!(
        (outcome.code, outcome.stdout.as_str()),
        (Some(101), "\nskipped: 0\n0 passed, 0 failed, 0 skipped\n")
    );
}

#[test]
fn a_python_test_that_fails_is_counted_and_is_a_failure() {
    let python =
        "case \"$2\" in pytest) echo 'test result: FAILED. 2 passed; 1 failed; 0 skipped'; exit 1;; esac";
    let outcome = run_with(PASSES, Some(python), &[]);
    assert!(outcome.stdout.ends_with("\n7 passed, 1 failed, 0 skipped\n"), "{}", outcome.stdout);
    assert_eq!(outcome.code, Some(1));
    assert_eq!(run_with(&format!("{FAILS}exit 101"), Some(python), &[]).code, Some(101));
}

#[test]
fn without_python_its_tests_are_skipped_by_name_and_fail_where_that_is_strict() {
    let outcome = run_with(PASSES, None, &[]);
    let expected = "\nskipped: 1\nSKIPPED: the tests of harness/python: no python3 on PATH\n5 passed, 0 failed, 1 skipped\n";
    assert!(outcome.stdout.ends_with(expected), "{}", outcome.stdout);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let strict = run_with(PASSES, None, &[("STRICT", "1")]);
    assert_eq!(strict.code, Some(1), "{}", strict.stderr);
    assert!(strict.stdout.ends_with("\nskipped: 0\n5 passed, 1 failed, 0 skipped\n"), "{}", strict.stdout);
    assert!(strict.stdout.contains("no python3 on PATH"), "{}", strict.stdout);
}

#[test]
fn a_python_without_pytest_gets_it_in_a_virtual_environment() {
    let outcome = run_with(PASSES, Some(BARE_PYTHON), &[]);
    assert!(outcome.stdout.contains("pip: -m pip install "), "{}", outcome.stdout);
    let listed = " --require-hashes --requirement scripts/wheels/python-tests.txt\n";
    assert!(outcome.stdout.contains(listed), "{}", outcome.stdout);
    assert!(outcome.stdout.ends_with("\n8 passed, 0 failed, 0 skipped\n"), "{}", outcome.stdout);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

#[test]
fn arguments_choose_tests_of_rust_and_leave_out_those_of_python() {
    let sandbox = Sandbox::new();
    sandbox.stub("cargo", "echo \"cargo $*\"");
    sandbox.stub("python3", PYTHON);
    let outcome = sandbox.run("bash", &[&script(), Path::new("-p"), Path::new("specimen-tidy")], &[]);
    let expected =
        "cargo test --release --workspace --no-fail-fast -p specimen-tidy\n\nskipped: 0\n0 passed, ";
    assert!(outcome.stdout.starts_with(expected), "{}", outcome.stdout);
}
