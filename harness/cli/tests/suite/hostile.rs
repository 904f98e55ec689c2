//! Prompts and names that mean to be markup, formulas, paths or terminal controls, through every command that prints them
//! and every file that holds them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{fs, path::PathBuf};

use crate::support::{Desk, files_below, spec};

/// Closes tags, begins formulas, clears screens, sets titles, turns the order of reading, leaves folders.
const PROMPTS: &str = concat!(
    "id,prompt\n",
    "..a,</script><script>alert(1)</script>\n",
    "=1+1,=cmd|' /C calc'!A0\n",
    "\u{202e}c,\u{1b}]0;title\u{7} \u{9b}31m \u{202e}desrever\n",
    "\"a,b\",\"\\input{/etc/passwd} | a | `b` [c](javascript:x) <img src=x onerror=y>\"\n",
);

#[track_caller]
fn check_drives_no_terminal(what: &str, text: &str) {
    let found = text.chars().find(|c| {
        (c.is_control() && !"\n\t\r".contains(*c))
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    });
    assert_eq!(found, None, "{what}: {}", text.escape_debug());
}

#[test]
fn hostile_prompts_are_text_in_every_answer_and_every_file() {
    let desk = Desk::new();
    let prompts = desk.file("prompts.csv", PROMPTS);
    let set = format!("dataset.name=\"{prompts}\"");
    let args = |command: &'static str| {
        vec![command.to_owned(), spec("ci/stub.toml"), "--set".to_owned(), set.clone()]
    };
    let said = |args: &[&str]| {
        let ran = desk.run(args);
        check_drives_no_terminal(&args.join(" "), &(ran.out.clone() + &ran.err));
        ran
    };
    let all = |command: &'static str, more: &[&'static str]| {
        let args = args(command);
        let args: Vec<&str> = args.iter().map(String::as_str).chain(more.iter().copied()).collect();
        said(&args)
    };
    // An id is part of file names.
    for id in ["../../a", "/a", "\u{1b}[2J"] {
        desk.file("prompts.csv", &PROMPTS.replace("..a", id));
        let ran = all("plan", &["--items"]);
        assert!(ran.code == 4 && ran.err.contains("line 2, column 1"), "{}", ran.err);
    }
    desk.file("prompts.csv", PROMPTS);
    assert_eq!(all("plan", &["--items", "--limit", "4"]).code, 0);
    assert_eq!(all("plan", &["--items", "--limit", "4", "--format", "json"]).code, 0);
    let ran = all("run", &["--limit", "4", "--out", "run"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for command in [
        &["status", "run"][..],
        &["report", "run"],
        &["report", "run", "--format", "json"],
        &["verify", "run", "--format", "json"],
        &["verify", "run", "--replay", "3", "--seed", "1", "-v"],
        &["compare", "run", "\u{1b}]0;x\u{7}"],
        &["fid", "\u{1b}[2J", "\u{9b}31m"],
        &["grid", "run"],
    ] {
        said(command);
    }

    for log in files_below(&desk.path("run/shards")).into_iter().filter(|path| path.ends_with("worker.log")) {
        check_drives_no_terminal("worker.log", &fs::read_to_string(log).unwrap());
    }

    // No name leaves its folder.
    let outside: Vec<PathBuf> =
        files_below(&desk.path(".")).into_iter().filter(|path| path.ends_with("a")).collect();
    assert_eq!(outside, Vec::<PathBuf>::new());
    let mut n_read = 0;
    for path in files_below(&desk.path("run/report")) {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_owned();
        let Ok(text) = fs::read_to_string(&path) else { continue };
        n_read += 1;
        if ending != "json" {
            check_drives_no_terminal(&path.display().to_string(), &text);
        }
        match ending.as_str() {
            "html" | "svg" | "md" => {
                for markup in ["<script>alert", "<img src=x", "onerror=y>"] {
                    assert!(!text.contains(markup), "{}: {markup}", path.display());
                }
            }
            "csv" => {
                let formula = text
                    .lines()
                    .flat_map(|line| line.split(','))
                    .find(|field| field.trim_matches('"').trim_start().starts_with(['=', '@']));
                assert_eq!(formula, None, "{}", path.display());
            }
            "tex" => assert!(!text.contains("\\input"), "{}", path.display()),
            _ => {}
        }
    }
    assert!(n_read >= 5, "the report was written");
}

#[test]
fn hostile_image_names_are_text_in_the_complaints_about_them() {
    let desk = Desk::new();
    for name in ["\u{1b}[31m1.png", "2\u{202e}.png", "<script>3.png"] {
        desk.file(&format!("images/{name}"), "no picture");
    }
    for args in [&["fid", "images", "images"][..], &["stats", "images", "-o", "s.npz"]] {
        let ran = desk.run(args);
        assert_ne!(ran.code, 0);
        check_drives_no_terminal(&args.join(" "), &(ran.out + &ran.err));
    }
}

#[test]
fn lists_beyond_every_limit_are_refused_before_they_are_worked_on() {
    let desk = Desk::new();
    let text = fs::read_to_string(spec("ci/stub.toml")).unwrap();
    let shape = "shape = \"chain\", depth = 2";
    let paths: String = (0..200_000).map(|at| format!("[{at}],")).collect();
    let tree = text.replace(shape, &format!("shape = \"static\", tree = [{paths}]"));
    let rules = "{kind=\"lantern\",k=10,delta=0.1},".repeat(100_000);
    let accept =
        text.replace("name    = \"sd-chain2\"", &format!("name = \"sd-chain2\"\naccept = [{rules}]"));
    for (name, text, expected) in [
        ("tree.toml", tree, "a static tree has 200000 nodes, at most 1023 are supported"),
        ("accept.toml", accept, "`accept` has 100000 rules, at most 64 are supported"),
    ] {
        let (path, begun) = (desk.file(name, &text), std::time::Instant::now());
        desk.fails(&["plan", &path], 3, &[name, expected]);
        // They took 36 s and more than a minute.
        assert!(begun.elapsed().as_secs() < 20, "{name}: {:?}", begun.elapsed());
    }
}

#[test]
fn a_limit_on_the_size_of_files_ends_a_run_with_a_sentence_and_nothing_is_lost() {
    let desk = Desk::new();
    let stub = spec("ci/stub.toml");
    let run = ["run", &stub, "--limit", "2", "--set", "timing.blocks=1", "--out", "run"];
    // Blocks of 512 or 1,024 bytes; the manifest has more.
    let limited = "ulimit -f 4; exec \"$0\" \"$@\"";
    let plain = desk.command(&run);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", limited]).arg(plain.get_program()).args(run).current_dir(desk.path("."));
    let ran = command.output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(6), "{:?}: {said}", ran.status);
    assert!(said.contains("ulimit -f") && said.contains("raise the limit"), "{said}");
    let again = if desk.path("run/manifest.json").exists() { &["--resume"][..] } else { &[] };
    desk.succeeds(&[&run[..], again].concat());
    desk.succeeds(&["verify", "--deep", "run"]);
}
