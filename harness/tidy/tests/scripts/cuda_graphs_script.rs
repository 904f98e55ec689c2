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
