//! A process is started, asked, timed and ended: shell scripts stand for programs that behave and that do
//! not.
#![allow(clippy::unwrap_used)] // a test may panic

use std::{
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use specimen_runner::external::{
    Answer, ExternalError, PROTOCOL, Process, Request, Sampling, Start, message::Model,
};

fn request(id: &str) -> Request {
    let filter_order = "top-k-then-top-p".to_owned();
    Request {
        protocol: PROTOCOL,
        id: id.to_owned(),
        prompt: "a red bus".to_owned(),
        seed: 7,
        sampling: Sampling { temperature: 1.0, top_k: 0, top_p: 1.0, guidance: 3.0, filter_order },
        model: Model { name: "tiny".to_owned(), dtype: "bf16".to_owned(), device: "cpu".to_owned() },
        folder: "/".to_owned(),
    }
}

fn start(script: &str, timeout: Duration) -> Process {
    let command = ["sh", "-c", script].map(str::to_owned);
    Process::start(Start {
        command: &command,
        cwd: Path::new("/"),
        env: &[("SPECIMEN_TEST".to_owned(), "1.png".to_owned())],
        stderr: Stdio::null(),
        start_timeout: timeout,
        timeout,
    })
    .unwrap()
}

const PATIENCE: Duration = Duration::from_secs(60);

/// Answers each request with its id and the image that a variable names.
const ECHO: &str = r#"while read -r line; do
    id=${line#*\"id\":\"}; id=${id%%\"*}
    echo "{\"protocol\": 1, \"id\": \"$id\", \"image\": \"$SPECIMEN_TEST\"}"
done"#;

#[test]
fn a_process_answers_one_request_after_the_other_and_ends_with_its_input() {
    let mut process = start(ECHO, PATIENCE);
    for id in ["a/1/0", "a/2/0", "a/3/0"] {
        let answered = process.ask(&request(id)).unwrap();
        let Answer::Made(made) = answered.answer else { panic!("it made an image") };
        assert_eq!((made.image.as_str(), made.tokens), ("1.png", None));
        assert!(answered.wall_ns > 0);
    }
    let before = Instant::now();
    drop(process);
    assert!(before.elapsed() < Duration::from_secs(2), "it ended by itself");
}

#[test]
fn the_wall_time_spans_what_the_process_does() {
    let script = ECHO.replace("id=${line", "sleep 0.2; id=${line");
    let answered = start(&script, PATIENCE).ask(&request("a/1/0")).unwrap();
    assert!((200_000_000..20_000_000_000).contains(&answered.wall_ns), "{}", answered.wall_ns);
}

#[track_caller]
fn check_fails(script: &str, timeout: Duration, parts: &[&str]) {
    let message = start(script, timeout).ask(&request("a/1/0")).unwrap_err().to_string();
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in `{message}`");
    }
}

#[test]
fn an_end_a_crash_and_a_closed_output_are_told_apart() {
    check_fails("exit 3", PATIENCE, &["ended (exit code 3)", "shards/<k>/worker.log"]);
    check_fails("read -r line; kill -s SEGV $$", PATIENCE, &["ended (signal 11)"]);
    check_fails("exec >&-; sleep 60", PATIENCE, &["closed its output and went on"]);
    // A line without its end was never finished.
    check_fails("read -r line; printf '{\"protocol\": 1'; exit 0", PATIENCE, &["ended (exit code 0)"]);
}

#[test]
fn what_is_no_answer_is_named_with_its_line() {
    check_fails("echo 'loading model'; cat", PATIENCE, &["line 1", "expected", "found `loading model`"]);
    check_fails(
        "read -r line; head -c 5000000 /dev/zero; cat",
        PATIENCE,
        &["line 1", "at most 4194304 bytes"],
    );
}

#[test]
fn a_second_line_for_one_request_is_not_taken_for_the_next_answer() {
    let script = ECHO.replace("done", "echo surplus\ndone");
    let mut process = start(&script, PATIENCE);
    process.ask(&request("a/1/0")).unwrap();
    let message = process.ask(&request("a/2/0")).unwrap_err().to_string();
    assert!(message.contains("line 2") && message.contains("found `surplus`"), "{message}");
}

#[test]
fn a_process_that_takes_too_long_is_ended_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("child");
    // The child ignores the gentle signal, and outlives its parent unless the group is ended.
    let script =
        format!("(trap '' TERM; echo begun > '{}'; sleep 600) & read -r line; sleep 600", mark.display());
    let mut process = start(&script, Duration::from_secs(2));
    let since = Instant::now();
    let error = process.ask(&request("a/1/0")).unwrap_err();
    assert!(matches!(error, ExternalError::TimedOut { key: "start_timeout_s", .. }), "{error}");
    assert!(since.elapsed() < Duration::from_secs(30));
    assert!(mark.exists(), "the child had begun");
    let is_left = || {
        let found = std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        let name = mark.to_string_lossy().into_owned();
        found.into_iter().any(|line| String::from_utf8_lossy(&line).contains(&name))
    };
    while is_left() {
        assert!(since.elapsed() < Duration::from_secs(30), "its child is still there");
        std::thread::yield_now();
    }
}

#[test]
fn a_command_that_is_not_there_is_an_error_that_names_it() {
    let command = ["no-such-program-of-specimen".to_owned()];
    let (start_timeout, timeout) = (PATIENCE, PATIENCE);
    let stderr = Stdio::null();
    let start = Start { command: &command, cwd: Path::new("/"), env: &[], stderr, start_timeout, timeout };
    let message = Process::start(start).unwrap_err().to_string();
    assert!(message.starts_with("cannot start `no-such-program-of-specimen`: "), "{message}");
}

#[test]
fn lines_between_requests_stay_in_the_pipe_and_out_of_memory() {
    let desk = tempfile::tempdir().unwrap();
    let count = desk.path().join("count");
    // Each line has 100,000 bytes; a pipe holds less than one.
    let flood = format!(
        "line=$(head -c 100000 /dev/zero | tr '\\0' x); n=0; while echo \"$line\"; do n=$((n + 1)); echo $n >{}; done",
        count.display()
    );
    let mut process = start(
        &format!(
            "read -r line; id=${{line#*\\\"id\\\":\\\"}}; id=${{id%%\\\"*}}
        echo \"{{\\\"protocol\\\": 1, \\\"id\\\": \\\"$id\\\", \\\"image\\\": \\\"1.png\\\"}}\"; {flood}"
        ),
        PATIENCE,
    );
    process.ask(&request("a/1/0")).unwrap();
    let n_written = || std::fs::read_to_string(&count).unwrap_or_default().trim().parse::<u64>().unwrap_or(0);
    let begun = Instant::now();
    while n_written() == 0 && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    // Thousands of lines, if nothing held it up.
    std::thread::sleep(Duration::from_secs(1));
    let n_written = n_written();
    assert!((1..=5).contains(&n_written), "{n_written} lines were taken");
    let message = process.ask(&request("a/2/0")).unwrap_err().to_string();
    assert!(message.contains("one line a request, and nothing else"), "{message}");
}
