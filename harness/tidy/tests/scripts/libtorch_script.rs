//! `scripts/libtorch.sh` fills `.libtorch` from each of its sources, says in one sentence why it cannot, and
//! never leaves something half-made. Nothing is fetched: pip is a stub here, and the real one next door in
//! `libtorch_wheels.rs` reads wheels from a folder.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use crate::sandbox::{Outcome, Sandbox};
use crate::torch::{LIBS, write_libtorch, write_nvidia};

/// A python3 without torch whose pip is `pip`, shell text that sees the arguments of pip.
fn python_with_pip(sandbox: &Sandbox, pip: &str) {
    python(sandbox, "", 0, pip);
}

/// A python3 that answers the questions the script asks: where torch lies, whether it is 3.10 or later, pip.
fn python(sandbox: &Sandbox, torch: &str, old: i32, pip: &str) {
    let body = format!(
        "case \"$*\" in\n*find_spec*) echo '{torch}' ;;\n*version_info*) exit {old} ;;\n\
         *python_version*) echo 3.8.10 ;;\n*'-m pip'*) {pip} ;;\nesac"
    );
    sandbox.stub("python3", &body);
}

fn script() -> PathBuf {
    specimen_tidy::workspace::root().join("scripts/libtorch.sh")
}

fn run(sandbox: &Sandbox, env: &[(&str, &str)]) -> Outcome {
    sandbox.run("sh", &[&script(), &sandbox.path("out")], env)
}

/// The run fails with one sentence that holds every one of `parts`, and `out` is not filled.
#[track_caller]
fn check_failure(sandbox: &Sandbox, env: &[(&str, &str)], parts: &[&str]) {
    let outcome = run(sandbox, env);
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    assert!(outcome.stderr.starts_with("libtorch: "), "{}", outcome.stderr);
    for part in parts {
        assert!(outcome.stderr.contains(part), "{part:?} in {}", outcome.stderr);
    }
    check_nothing_half_made(&sandbox.path("out"));
}

#[track_caller]
fn check_nothing_half_made(out: &Path) {
    let entries = fs::read_dir(out).into_iter().flatten().flatten();
    let names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    assert!(names.is_empty(), "{names:?}");
}

#[track_caller]
fn check_filled(sandbox: &Sandbox, outcome: &Outcome) {
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{}", outcome.stdout);
    let out = sandbox.path("out");
    assert_eq!(fs::read_to_string(out.join("build-version")).unwrap(), "2.13.0\n");
    for part in LIBS {
        assert!(out.join("lib").join(part).is_file(), "{part}");
    }
    assert!(out.join("include/torch/csrc/api/include/torch/torch.h").is_file());
    assert_eq!(fs::read_dir(&out).unwrap().count(), 3, "build-version, include and lib, and nothing else");
}

#[test]
fn a_filled_folder_is_left_alone() {
    let sandbox = Sandbox::new();
    write_libtorch(&sandbox, "out", "2.13.0");
    let outcome = run(&sandbox, &[]);
    check_filled(&sandbox, &outcome);
    assert_eq!(outcome.stdout, "");
}

#[test]
fn a_good_libtorch_variable_is_linked() {
    let sandbox = Sandbox::new();
    write_libtorch(&sandbox, "mine", "2.13.0+cpu");
    let outcome = run(&sandbox, &[("LIBTORCH", sandbox.path("mine").to_str().unwrap())]);
    check_filled(&sandbox, &outcome);
    assert_eq!(fs::read_link(sandbox.path("out/lib")).unwrap(), sandbox.path("mine/lib"));
}

#[test]
fn a_bad_libtorch_variable_is_named_with_what_is_wrong() {
    let sandbox = Sandbox::new();
    write_libtorch(&sandbox, "older", "2.9.1");
    write_libtorch(&sandbox, "torn", "2.13.0");
    fs::remove_file(sandbox.path("torn/lib/libc10.so")).unwrap();
    fs::create_dir(sandbox.path("empty")).unwrap();
    let at = |name: &str| sandbox.path(name).to_str().unwrap().to_owned();
    check_failure(&sandbox, &[("LIBTORCH", &at("older"))], &[&at("older"), "2.9.1", "expected 2.11 to 2.13"]);
    check_failure(&sandbox, &[("LIBTORCH", &at("torn"))], &["lacks lib/libc10.so"]);
    check_failure(&sandbox, &[("LIBTORCH", &at("empty"))], &["no build-version"]);
    check_failure(&sandbox, &[("LIBTORCH", &at("absent"))], &["is not a folder"]);
    check_failure(&sandbox, &[("LIBTORCH", "older")], &["not an absolute path"]);
    check_failure(&sandbox, &[("LIBTORCH", &at("torn")), ("CUDA", "1")], &["lacks lib/libc10.so"]);
}

#[test]
fn a_wrong_libtorch_variable_is_an_error_even_beside_a_filled_folder() {
    let sandbox = Sandbox::new();
    write_libtorch(&sandbox, "out", "2.13.0");
    write_libtorch(&sandbox, "older", "2.9.1");
    let outcome = run(&sandbox, &[("LIBTORCH", sandbox.path("older").to_str().unwrap())]);
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("2.9.1"), "{}", outcome.stderr);
}

#[test]
fn a_link_to_another_version_is_an_error_and_its_target_is_not_touched() {
    let sandbox = Sandbox::new();
    write_libtorch(&sandbox, "older", "2.9.1");
    symlink(sandbox.path("older"), sandbox.path("out")).unwrap();
    let outcome = run(&sandbox, &[]);
    assert_eq!((outcome.code, outcome.stderr.lines().count()), (Some(1), 1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("remove the link"), "{}", outcome.stderr);
    assert_eq!(fs::read_to_string(sandbox.path("older/build-version")).unwrap(), "2.9.1\n");
}

#[test]
fn an_older_version_in_the_folder_is_replaced() {
    let sandbox = Sandbox::new();
    write_libtorch(&sandbox, "out", "2.9.1");
    write_libtorch(&sandbox, "mine", "2.13.0");
    let outcome = run(&sandbox, &[("LIBTORCH", sandbox.path("mine").to_str().unwrap())]);
    check_filled(&sandbox, &outcome);
}

#[test]
fn another_platform_is_told_to_set_libtorch() {
    let sandbox = Sandbox::new();
    sandbox.stub("uname", "case $1 in -s) echo Darwin ;; -m) echo arm64 ;; esac");
    check_failure(&sandbox, &[], &["x86-64 Linux", "Darwin arm64", "set LIBTORCH"]);
}

#[test]
fn a_machine_without_python_a_python_without_pip_and_an_old_python_are_named() {
    let sandbox = Sandbox::new();
    check_failure(&sandbox, &[], &["no python3 on PATH"]);
    python_with_pip(&sandbox, "exit 1");
    check_failure(&sandbox, &[], &["bin/python3 has no pip", "python3-pip"]);
    python(&sandbox, "", 1, "exit 0");
    check_failure(&sandbox, &[], &["is Python 3.8.10", "3.10 or later"]);
}

#[test]
fn a_pip_that_fails_is_quoted_with_its_last_line() {
    let sandbox = Sandbox::new();
    write_libtorch(&sandbox, "site/torch", "2.9.1");
    let pip = "case \"$*\" in *download*) echo 'WARNING: retrying' >&2; echo 'ERROR: no network' >&2; exit 1 ;; esac";
    python_with_pip(&sandbox, pip);
    check_failure(&sandbox, &[], &["ERROR: no network\n"]);
    check_failure(&sandbox, &[("CUDA", "1")], &["ERROR: no network\n"]);
    python(&sandbox, sandbox.path("site/torch").to_str().unwrap(), 0, pip);
    check_failure(&sandbox, &[], &["ERROR: no network (torch 2.9.1 in", "site/torch"]);
}

#[test]
fn a_full_disk_is_noticed_before_anything_is_fetched() {
    let sandbox = Sandbox::new();
    python_with_pip(&sandbox, "echo fetched; exit 1");
    sandbox.stub("df", "echo 'Filesystem 1024-blocks Used Available'; echo 'disk 9000000 8000000 1000000'");
    check_failure(&sandbox, &[], &["takes 1300 MB", "1000 MB are free"]);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let sandbox = Sandbox::new();
    write_libtorch(&sandbox, "mine", "2.13.0");
    sandbox.write("file", "");
    let mine = sandbox.path("mine");
    let outcome =
        sandbox.run("sh", &[&script(), &sandbox.path("file/out")], &[("LIBTORCH", mine.to_str().unwrap())]);
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.contains("cannot create") && outcome.stderr.lines().count() == 1,
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_python_with_torch_is_linked_without_its_cuda_part_and_without_pip() {
    let sandbox = Sandbox::new();
    write_libtorch(&sandbox, "a site/torch", "2.13.0");
    write_nvidia(&sandbox, "a site");
    sandbox.write("a site/torch/lib/libtorch_cuda.so", "");
    python(&sandbox, sandbox.path("a site/torch").to_str().unwrap(), 0, "exit 1");
    let outcome = run(&sandbox, &[]);
    check_filled(&sandbox, &outcome);
    for lib in ["libcudart.so.13", "libcupti.so.13"] {
        assert!(sandbox.path("out/lib").join(lib).is_file(), "{lib}");
    }
    assert!(!sandbox.path("out/lib/libtorch_cuda.so").exists());

    let outcome = run(&sandbox, &[("CUDA", "1")]);
    check_filled(&sandbox, &outcome);
    assert!(sandbox.path("out/lib/libtorch_cuda.so").is_file());
    assert!(sandbox.path("out/lib/libcublas.so.13").is_file());
}

#[test]
fn a_build_of_torch_for_cpus_needs_nothing_of_nvidia() {
    let sandbox = Sandbox::new();
    write_libtorch(&sandbox, "site/torch", "2.13.0");
    sandbox.write("site/torch/lib/libtorch_cpu.so", "stands on libgomp.so.1");
    python(&sandbox, sandbox.path("site/torch").to_str().unwrap(), 0, "exit 1");
    let outcome = run(&sandbox, &[]);
    check_filled(&sandbox, &outcome);
    assert!(!sandbox.path("out/lib/libcudart.so.13").exists());
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    let sandbox = Sandbox::new();
    python_with_pip(
        &sandbox,
        "case \"$*\" in *download*) echo x > \"$TMPDIR/x\"; kill -TERM $PPID; exit 1 ;; esac",
    );
    let outcome = run(&sandbox, &[]);
    assert_eq!(outcome.code, Some(143), "{}", outcome.stderr);
    check_nothing_half_made(&sandbox.path("out"));
}

#[test]
fn what_a_killed_run_left_is_cleared_by_the_next() {
    let sandbox = Sandbox::new();
    python_with_pip(
        &sandbox,
        "case \"$*\" in *download*) echo x > \"$TMPDIR/x\"; kill -KILL $PPID; exit 1 ;; esac",
    );
    assert_eq!(run(&sandbox, &[]).code, None);
    assert!(!sandbox.path("out/build-version").exists());
    assert_eq!(fs::read_dir(sandbox.path("out")).unwrap().count(), 1, "its temporary folder is still there");
    write_libtorch(&sandbox, "mine", "2.13.0");
    let outcome = run(&sandbox, &[("LIBTORCH", sandbox.path("mine").to_str().unwrap())]);
    check_filled(&sandbox, &outcome);
}

/// The folder is filled with an older libtorch: the marker that tch does not read, and a `torch.h` that includes the
/// folder's own and declares what it lacks.
#[track_caller]
fn check_older(sandbox: &Sandbox, own: &str, version: &str) {
    let out = sandbox.path("out");
    assert_eq!(fs::read_to_string(out.join("older-version")).unwrap(), format!("{version}\n"));
    assert!(!out.join("build-version").exists());
    let header = "include/torch/csrc/api/include/torch/torch.h";
    let text = fs::read_to_string(out.join(header)).unwrap();
    let include = format!("#include \"{}\"", sandbox.path(own).join(header).display());
    assert!(text.contains(&include) && text.contains("_philox_key_split"), "{text}");
    // Headers beside it are those of the folder.
    let beside = out.join("include/torch/csrc/api/include/torch/nn.h");
    assert_eq!(fs::read_to_string(beside).unwrap(), "nn");
    assert_eq!(fs::read_to_string(out.join("include/ATen/ATen.h")).unwrap(), "ATen");
}

fn write_older(sandbox: &Sandbox, folder: &str, version: &str) {
    write_libtorch(sandbox, folder, version);
    sandbox.write(&format!("{folder}/include/torch/csrc/api/include/torch/nn.h"), "nn");
    sandbox.write(&format!("{folder}/include/ATen/ATen.h"), "ATen");
}

#[test]
fn an_older_torch_of_python_is_taken_with_headers_that_are_completed() {
    let sandbox = Sandbox::new();
    write_older(&sandbox, "site/torch", "2.11.0+cu130");
    write_nvidia(&sandbox, "site");
    let torch = sandbox.path("site/torch");
    python(&sandbox, torch.to_str().unwrap(), 0, "exit 1");
    let outcome = run(&sandbox, &[]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{}", outcome.stdout);
    check_older(&sandbox, "site/torch", "2.11.0");
    // What was filled stays, and may be named.
    let out = sandbox.path("out");
    let again = run(&sandbox, &[("LIBTORCH", out.to_str().unwrap())]);
    assert_eq!((again.code, again.stdout.as_str(), again.stderr.as_str()), (Some(0), "", ""));
}

#[test]
fn an_older_libtorch_variable_fills_the_folder_and_has_to_be_unset() {
    let sandbox = Sandbox::new();
    write_older(&sandbox, "mine", "2.12.1");
    let mine = sandbox.path("mine");
    let outcome = run(&sandbox, &[("LIBTORCH", mine.to_str().unwrap())]);
    assert_eq!((outcome.code, outcome.stderr.lines().count()), (Some(1), 1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("unset LIBTORCH"), "{}", outcome.stderr);
    check_older(&sandbox, "mine", "2.12.1");
    let beside = run(&sandbox, &[("LIBTORCH", mine.to_str().unwrap())]);
    assert!(beside.stderr.contains("is filled already"), "{}", beside.stderr);
    assert_eq!(run(&sandbox, &[]).code, Some(0));
}
