//! The program with another libtorch than it was built for: the loaded one is recorded, and a sentence says so once.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{ffi::OsStr, fs, path::PathBuf, process::Output};

use specimen_weights::libtorch::{BUILT_FOR, loaded};

use crate::support::{Desk, recorded};

/// No libtorch has this version.
const OTHER: &str = "1.99.0+made";

const SPEC: &str = r#"
schema   = 1
name     = "other"
seed     = 1
analysis = "which libtorch is recorded"
dataset  = { name = "scenes-val", limit = 1 }
model    = { name = "stub", dtype = "f32" }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 2.0 }
timing   = { warmup = 1, blocks = 1 }
cell     = [{ name = "ar" }]
"#;

/// A folder `lib` with the libraries of this test's libtorch, below a file that says another version.
fn made_other(desk: &Desk) -> PathBuf {
    let lib = desk.path("torch/lib");
    fs::create_dir_all(&lib).unwrap();
    for entry in fs::read_dir(loaded().unwrap().folder.join("lib")).unwrap() {
        let path = entry.unwrap().path();
        let at = lib.join(path.file_name().unwrap());
        if path.file_name() != Some(OsStr::new("libtorch_cpu.so")) {
            std::os::unix::fs::symlink(&path, &at).unwrap();
        } else if fs::hard_link(&path, &at).is_err() {
            // Another file system. A link would be seen through.
            fs::copy(&path, &at).unwrap();
        }
    }
    fs::write(desk.path("torch/build-version"), format!("{OTHER}\n")).unwrap();
    lib
}

#[test]
fn the_libtorch_that_is_loaded_is_recorded_and_another_one_is_said_once() {
    let desk = Desk::new();
    let lib = made_other(&desk);
    let spec = desk.file("other.toml", SPEC);
    let run = |args: &[&str]| {
        let Output { status, stdout, stderr } =
            desk.command(args).env("LD_LIBRARY_PATH", &lib).output().unwrap();
        (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    };
    let (code, _, said) = run(&["run", &spec, "--out", desk.path("run").to_str().unwrap()]);
    assert_eq!(code, Some(0), "{said}");
    let sentence = format!("built against {BUILT_FOR}; run `make libtorch build` again");
    let warnings: Vec<&str> = said.lines().filter(|line| line.contains("libtorch")).collect();
    assert_eq!(warnings.len(), 1, "{said}");
    assert!(
        warnings[0].starts_with(&format!("warning: libtorch {OTHER} from "))
            && warnings[0].ends_with(&sentence),
        "{said}"
    );
    for (name, libtorch) in [("env.json", "/libtorch"), ("manifest.json", "/software/libtorch")] {
        assert_eq!(recorded(&desk.path("run"), name, libtorch), [OTHER], "{name}");
    }
    // The steps of the cell were no graphs, and that is recorded too.
    assert_eq!(recorded(&desk.path("run"), "env.json", "/steps/0/ran"), ["eager"]);

    let (code, found, said) = run(&["doctor"]);
    assert_eq!(code, Some(6), "{found}");
    assert!(!said.contains("warning:"), "{said}");
    assert!(found.contains("FAILED  libtorch") && found.contains(&sentence), "{found}");
}
