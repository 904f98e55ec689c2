//! `scripts/libtorch.sh` with a real Python and its pip: wheels from a folder, and no network at all.

#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::{fs, path::Path, process::Command};

use crate::sandbox::{Outcome, Sandbox, find};
use crate::torch::{LIBS, write_libtorch, write_nvidia};

/// Makes the wheel `argv[1]`-`argv[2]` in `argv[3]` of everything below `argv[4]`.
const MAKE_WHEEL: &str = r#"
import pathlib, sys, zipfile
name, version, out, folder = sys.argv[1:]
info = f"{name}-{version}.dist-info"
with zipfile.ZipFile(pathlib.Path(out) / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.is_file():
            wheel.write(path, path.relative_to(folder).as_posix())
    wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(f"{info}/licenses/third_party/LICENSE", f"of {name}")
    wheel.writestr(f"{info}/RECORD", "")
"#;

/// Writes the lists that the script downloads by, with the digests of the wheels that are there now.
const WRITE_LISTS: &str = r#"
import hashlib, pathlib, sys
wheels, lists = map(pathlib.Path, sys.argv[1:])
digest = lambda path: hashlib.sha256(path.read_bytes()).hexdigest()
line = lambda path: "{}=={} --hash=sha256:{}\n".format(*path.name.split("-")[:2], digest(path))
of = {True: "torch-2.13.0.txt", False: "cuda-libraries.txt"}
lists.mkdir(exist_ok=True)
for is_torch, name in of.items():
    found = [path for path in sorted(wheels.glob("*.whl")) if path.name.startswith("torch-") == is_torch]
    (lists / name).write_text("".join(map(line, found)))
"#;

/// Adds to the wheel `argv[1]` the entry `argv[2]`.
const ADD_ENTRY: &str = r#"
import sys, zipfile
zipfile.ZipFile(sys.argv[1], "a").writestr(sys.argv[2], "out of its folder")
"#;

/// A sandbox with this machine's Python on its PATH and a folder `wheels`, or `None` where there is no pip.
fn with_python(test: &str) -> Option<Sandbox> {
    let works = |python: &&&str| {
        let check = "import sys; import pip; sys.exit(sys.version_info < (3, 10))";
        Command::new(python).args(["-c", check]).output().is_ok_and(|output| output.status.success())
    };
    let Some(python) = ["python3", "python"].iter().find(works) else {
        specimen_testdata::skip(test, "Python 3.10 or newer with pip");
        return None;
    };
    let sandbox = Sandbox::new();
    let asked =
        Command::new(find(python).unwrap()).args(["-c", "import sys; print(sys.executable)"]).output();
    // -S and -E keep this machine's own torch and settings out; pip is found beside the interpreter.
    let pip =
        Command::new(python).args(["-c", "import os, pip; print(os.path.dirname(pip.__path__[0]))"]).output();
    let line = |output: std::io::Result<std::process::Output>| {
        String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
    };
    let (executable, pip) = (line(asked), line(pip));
    fs::create_dir_all(sandbox.path("site")).unwrap();
    std::os::unix::fs::symlink(Path::new(&pip).join("pip"), sandbox.path("site/pip")).unwrap();
    let site = sandbox.path("site");
    sandbox.stub("python3", &format!("PYTHONPATH='{}' exec '{executable}' -S \"$@\"", site.display()));
    fs::create_dir(sandbox.path("wheels")).unwrap();
    Some(sandbox)
}

fn wheel(sandbox: &Sandbox, name: &str, version: &str, folder: &str) {
    let (out, folder) = (sandbox.path("wheels"), sandbox.path(folder));
    let args = [
        "-c".as_ref(),
        MAKE_WHEEL.as_ref(),
        name.as_ref(),
        version.as_ref(),
        out.as_path(),
        folder.as_path(),
    ];
    let outcome = sandbox.run("python3", &args, &[]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

/// The wheels of torch and of the two libraries it cannot be loaded without.
fn write_wheels(sandbox: &Sandbox) {
    write_libtorch(sandbox, "unpacked/torch", "2.13.0");
    sandbox.write("unpacked/torch/lib/libtorch_cuda.so", "");
    sandbox.write("unpacked/torch/lib/libtorch_python.so", "");
    wheel(sandbox, "torch", "2.13.0", "unpacked");
    write_nvidia(sandbox, "runtime");
    wheel(sandbox, "nvidia_cuda_runtime", "13.0.1", "runtime");
    wheel(sandbox, "nvidia_cuda_cupti", "13.0.1", "runtime");
    write_lists(sandbox);
}

fn write_lists(sandbox: &Sandbox) {
    let (wheels, lists) = (sandbox.path("wheels"), sandbox.path("lists"));
    let args = ["-c".as_ref(), WRITE_LISTS.as_ref(), wheels.as_path(), lists.as_path()];
    let outcome = sandbox.run("python3", &args, &[]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

fn run(sandbox: &Sandbox, env: &[(&str, &str)]) -> Outcome {
    let script = specimen_tidy::workspace::root().join("scripts/libtorch.sh");
    let lists = sandbox.path("lists");
    let own = lists.is_dir().then_some(("WHEEL_HASHES", lists.to_str().unwrap()));
    let env: Vec<(&str, &str)> = env.iter().copied().chain(own).collect();
    sandbox.run("sh", &[&script, &sandbox.path("out")], &env)
}

fn libs(sandbox: &Sandbox) -> Vec<String> {
    let entries = fs::read_dir(sandbox.path("out/lib")).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn wheels_are_unpacked_to_what_is_needed() {
    let Some(sandbox) = with_python("wheels_are_unpacked_to_what_is_needed") else { return };
    write_wheels(&sandbox);
    let wheels = sandbox.path("wheels");
    let offline = [("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", wheels.to_str().unwrap())];
    let outcome = run(&sandbox, &offline);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{}", outcome.stdout);
    let mut expected = [LIBS.as_slice(), &["libcudart.so.13", "libcupti.so.13", "libgomp.so.1"]].concat();
    expected.sort_unstable();
    assert_eq!(libs(&sandbox), expected);
    assert!(sandbox.path("out/include/torch/csrc/api/include/torch/torch.h").is_file());
    let licence = fs::read_to_string(sandbox.path("out/licences/torch-2.13.0/third_party/LICENSE")).unwrap();
    assert_eq!(licence, "of torch");
    assert!(sandbox.path("out/licences/nvidia_cuda_cupti-13.0.1/third_party/LICENSE").is_file());
    assert_eq!(fs::read_dir(sandbox.path("out")).unwrap().count(), 4, "nothing temporary is left");
}

#[test]
fn a_wheel_with_other_bytes_or_an_entry_that_leads_out_is_refused_and_leaves_nothing() {
    let Some(sandbox) = with_python("a_wheel_with_other_bytes_or_an_entry_that_leads_out") else { return };
    let wheels = sandbox.path("wheels");
    let offline = [("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", wheels.to_str().unwrap())];
    for entry in ["torch/include/../../../../escaped", "torch-2.13.0.dist-info/licenses/../../../../escaped"]
    {
        write_wheels(&sandbox);
        let torch = wheels.join("torch-2.13.0-py3-none-any.whl");
        let args = ["-c".as_ref(), ADD_ENTRY.as_ref(), torch.as_path(), Path::new(entry)];
        assert_eq!(sandbox.run("python3", &args, &[]).code, Some(0));
        // Its digest is not the one of the list.
        let outcome = run(&sandbox, &offline);
        assert_eq!(outcome.code, Some(1), "{}", outcome.stdout);
        assert!(outcome.stderr.contains("pip could not download torch 2.13.0"), "{}", outcome.stderr);
        write_lists(&sandbox);
        let outcome = run(&sandbox, &offline);
        assert_eq!(outcome.code, Some(1), "{}", outcome.stdout);
        for part in [entry, "leads out of its folder"] {
            assert!(outcome.stderr.contains(part), "`{part}` is not in `{}`", outcome.stderr);
        }
        assert_eq!(fs::read_dir(sandbox.path("out")).unwrap().count(), 0);
        assert!(!sandbox.path("escaped").exists());
    }
}

#[test]
fn a_torch_without_its_cuda_runtime_gets_it_by_pip() {
    let Some(sandbox) = with_python("a_torch_without_its_cuda_runtime_gets_it_by_pip") else { return };
    write_wheels(&sandbox);
    fs::remove_file(sandbox.path("wheels/torch-2.13.0-py3-none-any.whl")).unwrap();
    write_libtorch(&sandbox, "site/torch", "2.13.0");
    sandbox.write("site/torch-2.13.0.dist-info/licenses/LICENSE", "of torch");
    sandbox.write("site/torch/__init__.py", "raise SystemExit('the script must not import torch')");
    let wheels = sandbox.path("wheels");
    let outcome = run(&sandbox, &[("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", wheels.to_str().unwrap())]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{}", outcome.stdout);
    assert!(fs::symlink_metadata(sandbox.path("out/lib/libtorch_cpu.so")).unwrap().is_symlink());
    assert!(sandbox.path("out/lib/libcudart.so.13").is_file());
    assert!(sandbox.path("out/lib/libcupti.so.13").is_file());
    assert!(sandbox.path("out/licences/torch-2.13.0/LICENSE").is_file());
    assert!(sandbox.path("out/licences/nvidia_cuda_runtime-13.0.1/third_party/LICENSE").is_file());
}

#[test]
fn no_network_is_one_sentence_with_the_last_line_of_pip() {
    let Some(sandbox) = with_python("no_network_is_one_sentence_with_the_last_line_of_pip") else { return };
    let unreachable = [("PIP_INDEX_URL", "http://127.0.0.1:9"), ("PIP_RETRIES", "0")];
    for env in [unreachable.as_slice(), &[("PIP_NO_INDEX", "1")]] {
        let outcome = run(&sandbox, env);
        assert_eq!((outcome.code, outcome.stderr.lines().count()), (Some(1), 1), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("pip could not download torch 2.13.0"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("No matching distribution found"), "{}", outcome.stderr);
        assert_eq!(fs::read_dir(sandbox.path("out")).unwrap().count(), 0);
    }
}
