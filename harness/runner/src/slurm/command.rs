//! One question to one program of the cluster: its answer, or its error, within a time and a
//! size. When a controller is away its clients hang; this program does not hang with them.

use std::{
    io::Read,
    process::{Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use specimen_foundation::text::joined_lines;

use crate::process::stop_request::StopRequest;

const PAUSE: Duration = Duration::from_millis(20);
/// Most bytes of an answer: a million tasks have 60 bytes each.
const MOST_BYTES: u64 = 64 << 20;

/// Runs `program` to its end, `patience` at most and no longer than until `stop` is requested. Returns its
/// output.
pub(crate) fn ask(
    program: &str,
    arguments: &[&str],
    patience: Duration,
    stop: &StopRequest,
) -> Result<String, String> {
    let mut command = Command::new(program);
    // The formats that are asked for count; a user's own would change them.
    for variable in ["SQUEUE_FORMAT", "SQUEUE_FORMAT2", "SQUEUE_STATES", "SQUEUE_NAMES", "SQUEUE_SORT"] {
        command.env_remove(variable);
    }
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("cannot start `{program}`: {e}"))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (out, err) = (read_all(out), read_all(err));
    let started = Instant::now();
    let silent = || format!("`{program}` did not answer in {:.0} s", started.elapsed().as_secs_f64());
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if started.elapsed() < patience && stop.check().is_ok() => std::thread::sleep(PAUSE),
            _ => {
                // It is our own child, and there is nothing else to do about it.
                let _ = child.kill();
                let _ = child.wait();
                return Err(silent());
            }
        }
    };
    // What it started may hold its pipes open after its end.
    let output = |pipe: Receiver<Output>| pipe.recv_timeout(patience).map_err(|_| silent());
    let (out, err) = (output(out)?, output(err)?);
    if out.is_cut {
        return Err(format!("`{program}` answered more than {} MiB", MOST_BYTES >> 20));
    }
    if status.success() { Ok(out.text) } else { Err(format!("`{program}`: {}", complaint(&err.text))) }
}

/// What came through a pipe.
struct Output {
    text: String,
    /// Whether there was more.
    is_cut: bool,
}

/// Reads the pipe in a thread until it closes or has given too much.
fn read_all(pipe: Option<impl Read + Send + 'static>) -> Receiver<Output> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // What was read before a failure counts.
            let _ = pipe.take(MOST_BYTES + 1).read_to_end(&mut bytes);
        }
        let is_cut = bytes.len() as u64 > MOST_BYTES;
        // The caller may have stopped waiting.
        let _ = sender.send(Output { text: String::from_utf8_lossy(&bytes).into_owned(), is_cut });
    });
    receiver
}

/// The error output of a failed program, as one line.
fn complaint(text: &str) -> String {
    let text = joined_lines(text, "; ");
    if text.is_empty() { "it failed without a message".to_owned() } else { text }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use crate::process::stop_request::Request;

    use super::*;

    fn shell(line: &str, patience_ms: u64, stop: &StopRequest) -> Result<String, String> {
        ask("sh", &["-c", line], Duration::from_millis(patience_ms), stop)
    }

    #[test]
    fn an_answer_a_refusal_and_an_absent_program_are_distinguished() {
        let stop = StopRequest::never();
        assert_eq!(shell("echo 7", 60_000, &stop).unwrap(), "7\n");
        assert_eq!(shell("echo no >&2; exit 1", 60_000, &stop).unwrap_err(), "`sh`: no");
        let absent = ask("no-such-program", &[], Duration::from_secs(1), &stop);
        assert!(absent.unwrap_err().starts_with("cannot start `no-such-program`: "));
    }

    #[test]
    fn a_program_that_hangs_is_ended_when_patience_is_and_when_one_is_asked_to_stop() {
        let stop = StopRequest::never();
        let started = Instant::now();
        let ended = shell("exec sleep 600", 200, &stop).unwrap_err();
        assert!(ended.contains("did not answer in"), "{ended}");
        // What it left behind holds the pipe, and is not waited for either.
        assert!(shell("sleep 5 & echo 7", 200, &stop).is_err());
        stop.ask(Request::Finish);
        assert!(shell("exec sleep 600", 600_000, &stop).is_err());
        assert!(started.elapsed() < Duration::from_secs(300));
    }

    #[test]
    fn an_answer_without_end_is_an_error() {
        let ended = shell("exec yes", 600_000, &StopRequest::never()).unwrap_err();
        assert_eq!(ended, "`sh` answered more than 64 MiB");
    }
}
