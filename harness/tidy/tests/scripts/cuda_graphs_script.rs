//! `scripts/cuda_graphs.sh` compiles the library of CUDA graphs beside the program, and says what it lacks.

use crate::sandbox::{Outcome, Sandbox};

/// Writes its arguments, and the file after `-o`.
const COMPILES: &str = "echo \"$@\" >&2; while [ \"$1\" != -o ]; do shift; done; echo library >\"$2\"";

fn run(sandbox: &Sandbox, cuda_home: &str) -> Outcome {
    let script = specimen_tidy::workspace::root().join("scripts/cuda_graphs.sh");
    let (torch, out) = (sandbox.path("torch"), sandbox.path("out"));
    let home = sandbox.path(cuda_home);
    let env = [("CUDA_HOME", home.to_str().unwrap())];
    sandbox.run("sh", &[script.as_path(), torch.as_path(), out.as_path()], &env)
}

#[test]
fn the_library_is_made_beside_the_program() {
    let sandbox = Sandbox::new();
    sandbox.write("torch/include/ATen/cuda/CUDAGraph.h", "");
    sandbox.write("cuda/include/cuda_runtime_api.h", "");
    sandbox.stub("c++", COMPILES);
    let outcome = run(&sandbox, "cuda");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let made = sandbox.path("out/libspecimen_graphs.so");
    assert_eq!(outcome.stdout, format!("cuda_graphs: {}\n", made.display()));
    assert!(
        made.is_file() && !sandbox.path("torch/lib").exists(),
        "a libtorch of another's is left as it is"
    );
    assert!(outcome.stderr.contains("graphs/cuda_graphs.cc"), "{}", outcome.stderr);
}

#[test]
fn a_library_of_the_same_source_and_torch_is_left_as_it_is() {
    let sandbox = Sandbox::new();
    sandbox.write("torch/include/ATen/cuda/CUDAGraph.h", "");
    sandbox.write("cuda/include/cuda_runtime_api.h", "");
    let version = |text: &str| {
        let header =
            format!("#pragma once\n#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION \\\n  \"{text}\"\n");
        sandbox.write("torch/include/torch/headeronly/version.h", &header);
    };
    version("2.13.0");
    sandbox.stub("c++", &COMPILES.replace("echo library", "echo specimen graphs of torch 2.13.0"));
    assert!(run(&sandbox, "cuda").stdout.starts_with("cuda_graphs: "));
    let again = run(&sandbox, "cuda");
    assert_eq!((again.code, again.stdout.as_str(), again.stderr.as_str()), (Some(0), "", ""));
    version("2.11.0");
    assert!(run(&sandbox, "cuda").stdout.starts_with("cuda_graphs: "), "another torch needs another library");
}

#[test]
fn a_compiler_that_fails_leaves_no_library() {
    let sandbox = Sandbox::new();
    sandbox.write("torch/include/ATen/cuda/CUDAGraph.h", "");
    sandbox.write("cuda/include/cuda_runtime_api.h", "");
    sandbox.stub("c++", "echo 'no such header' >&2; exit 1");
    let outcome = run(&sandbox, "cuda");
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.ends_with("cuda_graphs: the compiler failed; the reason is above\n"),
        "{}",
        outcome.stderr
    );
    assert!(!sandbox.path("out").exists());
}

#[test]
fn the_command_that_brings_the_cuda_part_makes_the_library_too() {
    let listed = |words: &[&str]| {
        let mut make = std::process::Command::new("make");
        make.args(["--dry-run", "libtorch"]).args(words).current_dir(specimen_tidy::workspace::root());
        let ran = make.env_remove("CUDA").env_remove("MAKEFLAGS").output().unwrap();
        String::from_utf8(ran.stdout).unwrap()
    };
    assert!(listed(&["CUDA=1"]).contains("scripts/cuda_graphs.sh"));
    assert!(listed(&[]).contains("scripts/libtorch.sh") && !listed(&[]).contains("cuda_graphs"));
}

#[test]
fn what_is_missing_is_named() {
    let sandbox = Sandbox::new();
    let outcome = run(&sandbox, "cuda");
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("no libtorch with headers; scripts/libtorch.sh"), "{}", outcome.stderr);
    sandbox.write("torch/include/ATen/cuda/CUDAGraph.h", "");
    let outcome = run(&sandbox, "cuda");
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("there is no C++ compiler c++"), "{}", outcome.stderr);
    sandbox.stub("c++", COMPILES);
    sandbox.stub("python3", "echo 'no network' >&2; exit 1");
    let outcome = run(&sandbox, "cuda");
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("CUDA's headers: no network; set CUDA_HOME"), "{}", outcome.stderr);
    assert!(!sandbox.path("out").exists());
}
