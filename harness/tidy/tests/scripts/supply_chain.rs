//! What scripts and workflows download is named by its digest: wheels, crates and actions.

use std::{fs, path::PathBuf};

fn files(folder: &str, ending: &str) -> Vec<(PathBuf, String)> {
    let folder = specimen_tidy::workspace::root().join(folder);
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

fn is_hex(text: &str, n: usize) -> bool {
    text.len() == n && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[test]
fn every_list_of_wheels_has_the_sha256_of_each() {
    let lists = files("scripts/wheels", ".txt");
    for (path, text) in &lists {
        let joined = text.replace("\\\n", " ");
        let lines: Vec<&str> = joined.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(!lines.is_empty(), "{}", path.display());
        for line in lines {
            let digests: Vec<&str> = line.split("--hash=sha256:").skip(1).map(str::trim).collect();
            let is_sound =
                line.contains("==") && !digests.is_empty() && digests.iter().all(|one| is_hex(one, 64));
            assert!(is_sound, "{}: {line}", path.display());
        }
    }
    assert!(lists.len() >= 7, "{} lists", lists.len());
}

#[test]
fn no_script_takes_a_wheel_without_its_sha256() {
    for (path, text) in files("scripts", ".sh") {
        let joined = text.replace("\\\n", " ");
        for line in joined
            .lines()
            .filter(|line| line.contains("-m pip download") || line.trim().starts_with("install '"))
        {
            assert!(line.contains("--require-hashes"), "{}: {line}", path.display());
        }
        // Lists that a script names are there.
        for name in text.split("scripts/wheels/").skip(1) {
            let name: String =
                name.chars().take_while(|c| !c.is_whitespace() && !"\"'}$;".contains(*c)).collect();
            let list = specimen_tidy::workspace::root().join("scripts/wheels").join(&name);
            assert!(name.is_empty() || list.is_file(), "{}: {name}", path.display());
        }
    }
}

#[test]
fn every_action_is_named_by_its_commit_and_the_program_is_built_as_it_is_locked() {
    for (path, text) in files(".github/workflows", ".yml") {
        for line in text.lines().filter(|line| line.contains("uses:")) {
            let commit = line.split_once('@').and_then(|(_, rest)| rest.split_whitespace().next());
            assert!(commit.is_some_and(|commit| is_hex(commit, 40)), "{}: {line}", path.display());
        }
    }
    let makefile = fs::read_to_string(specimen_tidy::workspace::root().join("Makefile")).unwrap();
    for line in makefile.lines().filter(|line| line.starts_with("\tcargo build")) {
        assert!(line.contains("--locked"), "{line}");
    }
}
